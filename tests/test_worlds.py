"""Worlds: exactly uniform over the deals that fit, against enumeration; never an impossible one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from math import comb, factorial
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from tressette_env import kernels_views, worlds_kernels, worlds_plan, worlds_sampling
from tressette_env.cards import bit_count, card_list, card_set, suit_of
from tressette_env.compiling import compiled
from tressette_env.errors import OptionError
from tressette_env.rules import ILLEGAL, deal, is_over, legal_cards, play_card
from tressette_env.rulesets import PRESETS, RuleSet, playable_presets
from tressette_env.state import STATE_DTYPE, State, new_state, state_from_record, state_to_record
from tressette_env.view import VIEW_DTYPE, View, view_of
from tressette_env.worlds import WorldSampler, sample_worlds

HOUSES = [PRESETS[name] for name in playable_presets()]
HIDDEN = [
    PRESETS[name].replace(name=f"{name}_hidden", draws="hidden")
    for name in ("mini_2x4", "mini_2x5")
]

Look = Callable[[State, RuleSet, int], Any]


class Game:
    """A deal in progress: its deck, first leader and plays, and the state they lead to."""

    def __init__(self, rules: RuleSet, deck: list[int], leader: int, plays: list[int]) -> None:
        self.rules, self.deck, self.leader, self.plays = rules, deck, leader, plays
        size = rules.hand_size
        # For each seat the places of the deck that it gets: (time, place), with time 0 for the deal
        # and t + 1 for the draw after trick t.
        self.slots = [
            [(0, size * seat + place) for place in range(size)] for seat in range(rules.seats)
        ]
        self.state = new_state()
        deal(self.state, rules, deck, leader)
        for card in plays:
            drawn = self.state.drawn
            assert play_card(self.state, rules, card) != ILLEGAL
            for offset in range(self.state.drawn - drawn):  # the trick's winner draws first
                taker = (self.state.leader + offset) % rules.seats
                place = size * rules.seats + drawn + offset
                self.slots[taker].append((self.state.ply // rules.seats, place))

    def view(self, seat: int) -> View:
        return view_of(self.state, self.rules, seat)

    def seen_by(self, seat: int, look: Look) -> list[Any]:
        """What the seat has seen, from the deal on."""
        _, seen = replay(self, self.deck, seat, look, None)
        return seen


def replay(
    game: Game, deck: Any, seat: int, look: Look, expected: list[Any] | None
) -> tuple[State | None, list[Any]]:
    """Play the game's cards from another deck; None if one is illegal, or what is seen differs."""
    state = new_state()
    deal(state, game.rules, deck, game.leader)
    seen = [look(state, game.rules, seat)]
    if expected and seen[0] != expected[0]:
        return None, seen
    for card in game.plays:
        if play_card(state, game.rules, card) == ILLEGAL:
            return None, seen
        seen.append(look(state, game.rules, seat))
        if expected and seen[-1] != expected[len(seen) - 1]:
            return None, seen
    return state, seen


def hand_and_known(state: State, rules: RuleSet, seat: int) -> tuple[int, ...]:
    """What can differ in a seat's views after the same plays; quicker than whole views."""
    return state.hands[seat], *(state.known & hand for hand in state.hands)


def random_game(rules: RuleSet, rng: random.Random, plies: int) -> Game:
    deck = rng.sample(rules.deck, rules.deck_size)
    leader = rng.randrange(rules.seats)
    state = new_state()
    deal(state, rules, deck, leader)
    plays = []
    for _ in range(plies):
        plays.append(rng.choice(card_list(legal_cards(state, rules))))
        play_card(state, rules, plays[-1])
    return Game(rules, deck, leader, plays)


def hidden_of(state: State, rules: RuleSet, seat: int) -> tuple[Any, ...]:
    """What a world adds to the view of a seat: the other hands, and the stock in order."""
    others = [state.hands[other] for other in range(rules.seats) if other != seat]
    return (*others, *state.stock[state.drawn : rules.stock_size])


def voids_of_other(game: Game, seat: int) -> list[tuple[int, int]]:
    """(trick, suit) wherever the other of two seats had to follow suit and could not."""
    found = []
    for trick in range(len(game.plays) // 2):
        led, reply = game.plays[2 * trick : 2 * trick + 2]
        if suit_of(led) != suit_of(reply) and not game.state.played[seat] >> reply & 1:
            found.append((trick, suit_of(led)))
    return found


# ------------------------------------------------------------------------------------ enumeration


def decks_with_own_cards(game: Game, seat: int) -> Iterator[list[int]]:
    """Every deck with the seat's cards where it got them; hands dealt to others in one order."""
    rules = game.rules
    deck = list(game.deck)
    own = {place for _, place in game.slots[seat]}
    free = [place for place in range(rules.deck_size) if place not in own]
    cards = [deck[place] for place in free]
    sizes = [rules.hand_size] * (rules.seats - 1)

    def fill(rest: list[int], places: list[int], hands: list[int]) -> Iterator[list[int]]:
        if not hands:
            for order in permutations(rest):
                for place, card in zip(places, order, strict=True):
                    deck[place] = card
                yield deck
            return
        for chosen in combinations(rest, hands[0]):
            for place, card in zip(places, chosen, strict=False):
                deck[place] = card
            left = [card for card in rest if card not in chosen]
            yield from fill(left, places[hands[0] :], hands[1:])

    yield from fill(cards, free, sizes)


def enumerate_worlds(
    game: Game, seat: int, decks: Any, look: Look = hand_and_known
) -> Counter[tuple[Any, ...]]:
    """Worlds of the decks in which the same plays are legal and show the seat the same things."""
    expected = game.seen_by(seat, look)
    counts: Counter[tuple[Any, ...]] = Counter()
    for deck in decks:
        state, _ = replay(game, deck, seat, look, expected)
        if state is not None:
            counts[hidden_of(state, game.rules, seat)] += 1
    return counts


def world_state(game: Game, seat: int, hidden: tuple[Any, ...]) -> State:
    rules = game.rules
    state = state_from_record(state_to_record(game.state)[0])
    others = [other for other in range(rules.seats) if other != seat]
    for other, hand in zip(others, hidden, strict=False):
        state.hands[other] = hand
    state.stock[state.drawn : rules.stock_size] = list(hidden[len(others) :])
    return state


def check_probabilities(game: Game, seat: int, counts: Counter[tuple[Any, ...]]) -> None:
    """The sampler's exact probability of every world is its share of the decks."""
    sampler = WorldSampler(game.view(seat))
    total = sum(counts.values())
    assert counts[hidden_of(game.state, game.rules, seat)]
    for hidden, count in counts.items():
        probability = sampler.probability(world_state(game, seat, hidden))
        assert probability == Fraction(count, total), (game.deck, game.plays, seat, hidden)


def check_frequencies(game: Game, seat: int, counts: Counter[tuple[Any, ...]], n: int) -> float:
    """Chi-square p-value of samples against the decks counted."""
    worlds = WorldSampler(game.view(seat)).sample(n, seed=7)
    hands = np.delete(worlds["hands"][:, : game.rules.seats], seat, axis=1)
    stock = worlds["stock"][:, game.state.drawn : game.rules.stock_size]
    seen = Counter(map(tuple, np.hstack([hands, stock]).tolist()))
    assert not seen.keys() - counts.keys()
    if len(counts) == 1:
        return 1.0
    expected = np.array([counts[hidden] for hidden in counts]) / sum(counts.values()) * n
    return float(chisquare([seen[hidden] for hidden in counts], expected).pvalue)


@pytest.mark.parametrize("rules", [*HOUSES[-4:], *HIDDEN], ids=lambda rules: rules.name)
def test_every_deck_of_a_small_house(rules: RuleSet) -> None:
    """All 8! decks (of ten cards: all with the seat's cards in place) at random positions."""
    rng = random.Random(rules.name)
    for number in range(3 if rules.deck_size == 8 else 8):
        plies = number + 1 if rules.deck_size == 8 else rng.randrange(2, 10)
        game = random_game(rules, rng, plies)
        seat = number % 2
        if rules.deck_size == 8:
            start = rules.hand_size * seat
            own = set(game.deck[start : start + rules.hand_size])
            decks = (
                deck
                for deck in permutations(rules.deck)
                if set(deck[start : start + rules.hand_size]) == own
            )
            counts = enumerate_worlds(game, seat, decks, view_of)
        else:
            counts = enumerate_worlds(game, seat, decks_with_own_cards(game, seat), view_of)
        check_probabilities(game, seat, counts)


def small_rules(rng: random.Random, draws: Any, hand_size: int, stock: int) -> RuleSet:
    """Always follow, hidden draws; two to four suits of a few ranks each, unevenly."""
    suits = rng.randrange(2, 5)
    cards = [10 * suit + rank for suit in range(suits) for rank in range(10)]
    deck = tuple(sorted(rng.sample(cards, 2 * hand_size + stock)))
    return RuleSet(deck=deck, hand_size=hand_size, draws=draws, scoring="thirds", target=None)


@pytest.mark.parametrize("draws", ["hidden", "shown"])
def test_voids_with_draws_in_between(draws: Any) -> None:
    """Random small houses, positions in which the other seat has shown a void; exact shares."""
    rng = random.Random(draws)
    kinds: Counter[str] = Counter()
    p_values = []
    positions = 28 if draws == "hidden" else 16
    while kinds["positions"] < positions:
        rules = small_rules(rng, draws, rng.choice((2, 2, 3)), 8)
        game = random_game(rules, rng, rng.choice((4, 5, 6, 6, 7, 7, 7)))
        seat = rng.randrange(2)
        voids = voids_of_other(game, seat)
        if not voids or (len(game.plays) < 6 and rules.hand_size == 3):
            continue
        first_only = len({suit for _, suit in voids}) == len(voids) == 1
        has_led = bool(len(game.plays) % 2 and game.view(seat).leader)
        if first_only and kinds["one void"] >= positions // 4 and not has_led:
            continue
        if not has_led and kinds["positions"] - kinds["other has led"] >= positions - 5:
            continue
        counts = enumerate_worlds(game, seat, decks_with_own_cards(game, seat))
        kinds["positions"] += 1
        kinds["one void"] += first_only
        kinds["two suits"] += len({suit for _, suit in voids}) > 1
        kinds["same suit again"] += len({suit for _, suit in voids}) < len(voids)
        kinds["other has led"] += has_led
        kinds["uneven"] += len(set(counts.values())) > 1
        check_probabilities(game, seat, counts)
        if len(counts) < 400:
            p_values.append(check_frequencies(game, seat, counts, 4000))
    assert kinds["two suits"] >= 4
    assert kinds["same suit again"] >= 4
    # Hidden draws: hands differ in how many ways they can have come about.
    assert (kinds["uneven"] >= 10) == (draws == "hidden")
    assert min(p_values) > 1e-3 / len(p_values)


def test_four_seats() -> None:
    """Deals to three hidden hands, with voids of one and more seats; exact shares."""
    rng = random.Random(4)
    kinds: Counter[int] = Counter()
    p_values = []
    while sum(kinds.values()) < 30:
        suits = rng.randrange(2, 5)
        cards = [10 * suit + rank for suit in range(suits) for rank in range(10)]
        deck = tuple(sorted(rng.sample(cards, 12)))
        rules = RuleSet(seats=4, deck=deck, hand_size=3, scoring="thirds", target=None)
        game = random_game(rules, rng, rng.randrange(2, 8))
        seat = rng.randrange(4)
        voids = game.view(seat).voids[1:]
        kind = sum(map(bit_count, voids))
        if kind < 2 and kinds[kind] >= 5:
            continue
        kinds[kind] += 1
        counts = enumerate_worlds(game, seat, decks_with_own_cards(game, seat))
        check_probabilities(game, seat, counts)
        p_values.append(check_frequencies(game, seat, counts, 4000))
    assert kinds[2] >= 5
    assert sum(count for kind, count in kinds.items() if kind > 2) >= 5
    assert min(p_values) > 1e-3 / len(p_values)


def test_cards_known_by_other_means_are_held() -> None:
    """The hook for declarations: cards in ``view.known`` are in that hand in every world."""
    rng = random.Random(9)
    done = 0
    while done < 12:
        two = done % 2 == 0
        if two:
            rules = small_rules(rng, "hidden", 2, 8)
            game, seat = random_game(rules, rng, rng.choice((5, 6))), 0
            if not voids_of_other(game, seat):
                continue
        else:
            deck = tuple(sorted(rng.sample(range(40), 12)))
            rules = RuleSet(seats=4, deck=deck, hand_size=3, scoring="thirds", target=None)
            game, seat = random_game(rules, rng, 5), 0
        other = rng.randrange(1, rules.seats)
        if not game.state.hands[other]:
            continue
        counts = enumerate_worlds(game, seat, decks_with_own_cards(game, seat))
        card = card_list(game.state.hands[other])[0]
        game.state.known |= 1 << card
        held = Counter({key: n for key, n in counts.items() if key[other - 1] >> card & 1})
        check_probabilities(game, seat, held)
        for row in WorldSampler(game.view(seat)).sample(50, seed=done):
            assert row["hands"][other] >> card & 1
        done += 1


# ------------------------------------------------------------------------------- the known traps


def follow_off_suit(plays: list[int], rest: list[int]) -> Game:
    """Seat 0 holds the strongest denari and leads; seat 1 is dealt no denaro."""
    own = [9, 8, 7, 6, 30, 31, 32, 33, 34, 35]
    other = [10, 11, 12, 13, 14, 20, 21, 22, 23, 24]
    left = [card for card in range(40) if card not in own + other + rest]
    return Game(PRESETS["playmore"], own + other + rest + left, 0, plays)


def test_no_suit_that_it_did_not_follow_until_it_draws() -> None:
    """One void, one draw: at most one denaro, and exactly 5 chances in 19."""
    game = follow_off_suit([9, 10], [0, 1])
    denari = card_set(range(10))
    unseen = game.view(0).unseen
    assert bit_count(unseen & denari) == 5
    worlds = WorldSampler(game.view(0)).sample(20_000, seed=1)
    held = [bit_count(int(row["hands"][1]) & denari) for row in worlds]
    assert set(held) == {0, 1}
    # Of the 28 cards unseen 23 are no denari. Nine of those were kept from the deal, and the draw
    # is any of the other 19, each alike.
    assert abs(np.mean(held) - 5 / 19) < 4 * (5 / 19 * 14 / 19 / 20_000) ** 0.5
    # Any of the ten cards, or the denaro alone, can be the one drawn.
    hands = comb(23, 9) * 19
    for denari, ways in ((0, 10), (1, 1)):
        world = worlds[held.index(denari)]
        exact = Fraction(ways, hands * factorial(18))
        assert WorldSampler(game.view(0)).probability(world) == exact


def test_a_card_of_the_suit_played_since_used_up_the_draw() -> None:
    """Void, draw, then a denaro played: that was the draw; of later draws only one can be one.

    The naive rule (any hand whose denari are at most as many as its draws since) gives two.
    """
    game = follow_off_suit([9, 10, 8, 1], [0, 1, 2, 3])
    assert voids_of_other(game, 0) == [(0, 0)]
    worlds = WorldSampler(game.view(0)).sample(20_000, seed=2)
    held = [bit_count(int(row["hands"][1]) & card_set(range(10))) for row in worlds]
    # Unseen: 26 cards, 3 of them denari; nine cards come from the deal, 17 may be the last draw.
    assert set(held) == {0, 1}
    assert abs(np.mean(held) - 3 / 17) < 4 * (3 / 17 * 14 / 17 / 20_000) ** 0.5


def test_two_voids_count_from_the_later_one() -> None:
    """Void in denari twice, a draw in between: that draw was no denaro either."""
    game = follow_off_suit([9, 10, 8, 11], [0, 25, 2, 3])
    assert voids_of_other(game, 0) == [(0, 0), (1, 0)]
    assert WorldSampler(game.view(0)).probability(game.state) > 0
    worlds = WorldSampler(game.view(0)).sample(20_000, seed=3)
    held = [bit_count(int(row["hands"][1]) & card_set(range(10))) for row in worlds]
    # Unseen: 26 cards, 4 of them denari, 22 others, nine of which were kept.
    assert set(held) == {0, 1}
    assert abs(np.mean(held) - 4 / 17) < 4 * (4 / 17 * 13 / 17 / 20_000) ** 0.5


# ------------------------------------------------------------------------------- never impossible


def windows(game: Game, seat: int, other: int, hand: int) -> dict[int, tuple[int, int]]:
    """For every card the other seat has had: first and last time at which it can have come."""
    seats = game.rules.seats
    cards = dict.fromkeys(card_list(hand), 99)
    voids: list[tuple[int, int]] = []
    state = new_state()
    deal(state, game.rules, game.deck, game.leader)
    for ply, card in enumerate(game.plays):
        if state.turn == other:
            cards[card] = ply // seats
            led = game.plays[ply - ply % seats]
            follows = game.rules.follow_always or state.drawn == game.rules.stock_size
            if suit_of(led) != suit_of(card) and follows:
                voids.append((ply // seats, suit_of(led)))
        play_card(state, game.rules, card)
    return {
        card: (
            max((t + 1 for t, suit in voids if suit == suit_of(card) and t < last), default=0),
            last,
        )
        for card, last in cards.items()
    }


def match(slots: list[tuple[int, int]], cards: dict[int, tuple[int, int]]) -> dict[int, int] | None:
    """Assign each place of the deck a card by augmenting paths; None if it cannot be done."""
    owner: dict[int, int] = {}  # card of each place

    def find(card: int, tried: set[int]) -> bool:
        for time, place in slots:
            if cards[card][0] <= time <= cards[card][1] and place not in tried:
                tried.add(place)
                if place not in owner or find(owner[place], tried):
                    owner[place] = card
                    return True
        return False

    return owner if all(find(card, set()) for card in cards) and len(owner) == len(slots) else None


def deck_of_world(game: Game, seat: int, state: State) -> list[int]:
    """A deck that leads to the sampled state: a history for it."""
    rules = game.rules
    deck = [-1] * rules.deck_size
    for _, place in game.slots[seat]:
        deck[place] = game.deck[place]
    for other in range(rules.seats):
        if other == seat:
            continue
        slots = list(game.slots[other])
        cards = windows(game, seat, other, state.hands[other])
        if rules.draws_shown:  # the seat saw which cards these were
            for _, place in [slot for slot in slots if slot[0]]:
                deck[place] = game.deck[place]
                del cards[deck[place]]
            slots = [slot for slot in slots if not slot[0]]
        matched = match(slots, cards)
        assert matched is not None, "no history leads to this world"
        for place, card in matched.items():
            deck[place] = card
    start = rules.deck_size - rules.stock_size
    deck[start + state.drawn :] = state.stock[state.drawn : rules.stock_size]
    return deck


FREE_AND_SHOWN = RuleSet("free_and_shown", follow="stock_empty", draws="shown")


@pytest.mark.parametrize("rules", [*HOUSES, FREE_AND_SHOWN], ids=lambda rules: rules.name)
def test_every_world_has_a_history(rules: RuleSet) -> None:
    """A deck is found for each world, and played again shows the seat what it has seen."""
    rng = random.Random(rules.name)
    with_voids = 0
    for number in range(25):
        game = random_game(rules, rng, rng.randrange(rules.deck_size + 1))
        seat = number % rules.seats
        view = game.view(seat)
        seen = game.seen_by(seat, view_of)
        with_voids += bool(rules.seats == 4 or voids_of_other(game, seat))
        for row in WorldSampler(view).sample(4, seed=number):
            state = state_from_record(row)
            deck = deck_of_world(game, seat, state)
            assert sorted(deck) == list(rules.deck)
            again, _ = replay(game, deck, seat, view_of, seen)
            assert again is not None
            assert hidden_of(again, rules, seat) == hidden_of(state, rules, seat)
    assert with_voids >= 3 or rules.deck_size < 40


def count_histories(slots: list[tuple[int, int]], cards: dict[int, tuple[int, int]]) -> int:
    """Ways to fill the draws with cards within their windows; the dealt ten in one order."""
    names = sorted(cards)
    times = sorted((time for time, _ in slots if time), reverse=True)

    @cache
    def fill(place: int, left: int) -> int:
        if place == len(times):
            return int(all(cards[names[i]][0] == 0 for i in range(len(names)) if left >> i & 1))
        return sum(
            fill(place + 1, left & ~(1 << i))
            for i, name in enumerate(names)
            if left >> i & 1 and cards[name][0] <= times[place] <= cards[name][1]
        )

    return fill(0, (1 << len(names)) - 1)


def test_full_deck_probabilities_are_counts_of_histories() -> None:
    """Forty cards, hidden draws: ratios of probabilities against counting by subsets of cards."""
    rules = PRESETS["playmore"]
    rng = random.Random(40)
    done = ratios = 0
    while done < 20:
        game = random_game(rules, rng, rng.randrange(8, 14))
        seat = done % 2
        voids = voids_of_other(game, seat)
        if not voids or (done % 3 and voids[-1][0] == len(game.plays) // 2 - 1):
            continue  # mostly with draws since the last void
        sampler = WorldSampler(game.view(seat))
        pairs = []
        for row in sampler.sample(6, seed=done):
            state = state_from_record(row)
            cards = windows(game, seat, 1 - seat, state.hands[1 - seat])
            pairs.append((sampler.probability(state), count_histories(game.slots[1 - seat], cards)))
        first_probability, first_count = pairs[0]
        for probability, count in pairs:
            assert probability > 0
            assert probability * first_count == first_probability * count
        ratios += len({count for _, count in pairs}) > 1
        done += 1
    assert ratios >= 8


def test_voids_in_three_and_four_suits() -> None:
    """Small hands, a long stock: every hand's exact probability, against counts of histories."""
    rng = random.Random(34)
    kinds: Counter[int] = Counter()
    while kinds[3] < 6 or kinds[4] < 6:
        deck = tuple(sorted(rng.sample(range(40), 26)))
        rules = RuleSet(deck=deck, hand_size=3, scoring="thirds", target=None)
        game = random_game(rules, rng, rng.randrange(10, 20))
        seat = rng.randrange(2)
        kind = len({suit for _, suit in voids_of_other(game, seat)})
        if kind < 3 or kinds[kind] >= 6:
            continue
        kinds[kind] += 1
        view = game.view(seat)
        sampler = WorldSampler(view)
        assert sampler._plans[0]["groups"] == 4
        size = bit_count(game.state.hands[1 - seat])
        counts, probabilities = [], []
        for cards in combinations(card_list(view.unseen), size):
            hand = card_set(cards)
            stock = card_list(view.unseen & ~hand)
            ways = count_histories(game.slots[1 - seat], windows(game, seat, 1 - seat, hand))
            counts.append(ways)
            state = world_state(game, seat, (hand, *stock))
            probabilities.append(sampler.probability(state) * factorial(len(stock)))
        assert probabilities == [Fraction(count, sum(counts)) for count in counts]


def test_four_seats_with_any_voids() -> None:
    """Every pattern of voids, also those that random play seldom shows; all deals alike."""
    rng = random.Random(44)
    groups: Counter[int] = Counter()
    for _ in range(60):
        deck = tuple(sorted(rng.sample(range(40), 12)))
        rules = RuleSet(seats=4, deck=deck, hand_size=3, scoring="thirds", target=None)
        game = random_game(rules, rng, 0)
        view = game.view(0)
        for suit in range(4):  # voids that the true hands allow
            for other in range(1, 4):
                held = any(suit_of(card) == suit for card in card_list(game.state.hands[other]))
                view.voids[other] |= int(not held and rng.random() < 0.8) << suit

        def allowed(cards: tuple[int, ...], other: int, view: View = view) -> bool:
            return not any(view.voids[other] >> suit_of(card) & 1 for card in cards)

        unseen = card_list(view.unseen)
        fitting = []
        for one in combinations(unseen, 3):
            rest = [card for card in unseen if card not in one]
            for two in combinations(rest, 3) if allowed(one, 1) else ():
                three = tuple(card for card in rest if card not in two)
                if allowed(two, 2) and allowed(three, 3):
                    fitting.append((card_set(one), card_set(two), card_set(three)))
        sampler = WorldSampler(view)
        groups[int(sampler._plans[0]["groups"])] += 1
        for hidden in fitting:
            state = world_state(game, 0, hidden)
            assert sampler.probability(state) == Fraction(1, len(fitting))
        for row in sampler.sample(20, seed=1):
            assert hidden_of(state_from_record(row), rules, 0) in fitting
    assert groups[3] >= 5
    assert groups[4] >= 5


# ---------------------------------------------------------------------------------- the interface


@pytest.mark.parametrize("rules", HOUSES, ids=lambda rules: rules.name)
def test_same_view_and_a_deal_that_goes_on(rules: RuleSet) -> None:
    rng = random.Random(rules.name)
    for ply in range(rules.deck_size + 1):
        game = random_game(rules, rng, ply)
        for seat in range(rules.seats):
            view = game.view(seat)
            worlds = WorldSampler(view).sample(8, seed=ply)
            views = np.zeros(8, VIEW_DTYPE)
            kernels_views.make_views(worlds, rules.row, np.full(8, seat), views)
            assert (views == view.to_record()).all()
            public = state_to_record(game.state)[0]
            for name in set(STATE_DTYPE.names or ()) - {"hands", "stock", "match_result"}:
                assert np.array_equal(worlds[0][name], public[name]) or name == "deal_number", name
            assert (worlds["deal_number"] == -1).all()
            state = state_from_record(worlds[0])
            while not is_over(state, rules):
                play_card(state, rules, rng.choice(card_list(legal_cards(state, rules))))
            assert sum(state.thirds) == rules.total_thirds
            assert card_set(card for cards in state.played for card in card_list(cards)) == (
                rules.deck_set
            )


def test_one_world_once_the_stock_is_empty() -> None:
    rng = random.Random(5)
    for house in ("playmore", "gamelake", "cuperativa"):
        game = random_game(PRESETS[house], rng, 22)
        worlds = WorldSampler(game.view(1)).sample(5, seed=0)
        assert (worlds["hands"] == game.state.hands).all()
        assert WorldSampler(game.view(1)).probability(worlds[0]) == 1


def test_world_number_k_depends_on_view_seed_and_k_alone() -> None:
    game = random_game(PRESETS["playmore"], random.Random(8), 12)
    sampler = WorldSampler(game.view(0))
    whole = sampler.sample(10, seed=3)
    parts = [sampler.sample(4, seed=3), sampler.sample(0, 3), sampler.sample(6, seed=3, first=4)]
    assert np.array_equal(np.concatenate(parts), whole)
    assert not np.array_equal(sampler.sample(10, seed=4), whole)
    views = np.concatenate([game.view(1).to_record(), game.view(0).to_record()])
    many = sample_worlds(views, game.rules, 10, [2**63 - 1, 3])
    assert np.array_equal(many[1], whole)
    assert np.array_equal(many[0], WorldSampler(game.view(1)).sample(10, seed=2**63 - 1))
    assert sample_worlds(views[:0], game.rules, 10, []).shape == (0, 10)


def test_interpreted_and_compiled_are_equal() -> None:
    rng = random.Random(6)
    for number in range(60):
        rules = HOUSES[number % len(HOUSES)]
        game = random_game(rules, rng, rng.randrange(rules.deck_size + 1))
        view = game.view(number % 2)
        plans: Any = np.zeros(1, worlds_plan.PLAN_DTYPE).view(np.recarray)
        state = new_state()
        stream, scratch = [0] * 4, [0] * 40
        worlds_plan.write_public(view, rules, state)
        assert worlds_plan.make_plan(view, rules, plans[0]) > 0
        sampler = WorldSampler(view)
        assert np.array_equal(plans, sampler._plans)
        for world, row in enumerate(sampler.sample(3, seed=number)):
            worlds_sampling.start_stream(stream, number, world)
            worlds_sampling.deal_hidden(plans[0], stream, scratch, state)
            assert np.array_equal(state_to_record(state)[0], row)


def known_in_all(views: Any, rules_row: Any, plans: Any, states: Any, seed: int, n: int) -> int:
    """Cards that seat 1 holds in each of ``n`` worlds; as ``docs/worlds.md`` shows it."""
    worlds_kernels.plan_view(views, rules_row, plans, states)
    stream, scratch = np.zeros(4, np.int64), np.zeros(40, np.int64)
    worlds_sampling.start_stream(stream, seed, 0)
    known = -1
    for _ in range(n):
        worlds_sampling.deal_hidden(plans[0], stream, scratch, states[0])
        known &= states[0].hands[1]
    return known


def test_inside_other_compiled_functions() -> None:
    game = random_game(PRESETS["cuperativa"], random.Random(2), 9)
    view = game.view(0)
    plans, states = np.zeros(1, worlds_plan.PLAN_DTYPE), np.zeros(1, STATE_DTYPE)
    known = compiled(known_in_all)(view.to_record(), game.rules.row, plans, states, 1, 2000)
    assert known == view.known[1] != 0


def test_draws_below_a_bound_are_uniform() -> None:
    stream = [0] * 4
    worlds_sampling.start_stream(stream, 1, 0)
    for bound in (1, 2, 3, 7):
        seen = Counter(worlds_sampling.pick_below(stream, bound) for _ in range(3000))
        assert set(seen) == set(range(bound))
        assert bound == 1 or chisquare([seen[i] for i in range(bound)]).pvalue > 1e-4
    # Just above a power of two nearly half of the words are drawn again.
    assert {worlds_sampling.pick_below(stream, 2**30 + 1) >> 30 for _ in range(100)} <= {0, 1}


def test_errors() -> None:
    game = random_game(PRESETS["playmore"], random.Random(3), 6)
    sampler = WorldSampler(game.view(0))
    for arguments in ((-1, 0), (True, 0), (1.5, 0), (1, -1), (1, 2**63), (1, "x"), (1, 0, -1)):
        with pytest.raises(OptionError):
            sampler.sample(*arguments)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="expected a View"):
        WorldSampler(game.state)
    with pytest.raises(OptionError, match="cards are not those of the deck"):
        view = game.view(0)
        view.unseen &= view.unseen - 1
        WorldSampler(view)
    for change in ({"ply": 60}, {"seat": 3}, {"stock_left": 2}, {"hand": 0}, {"unseen": 0}):
        view = game.view(0)
        for name, value in change.items():
            setattr(view, name, value)
        with pytest.raises(OptionError, match="expected one that make_view makes"):
            WorldSampler(view)
    rows = game.view(0).to_record()
    with pytest.raises(OptionError, match="views, seeds"):
        sample_worlds(rows, game.rules, 1, [1, 2])
    with pytest.raises(OptionError, match="seeds"):
        sample_worlds(rows, game.rules, 1, [-1])
    bad_seeds: list[Any] = [1.5, "1", 1 << 63, 1 << 70, True]
    for seed in bad_seeds:
        with pytest.raises(OptionError, match="seeds: expected integers"):
            sample_worlds(rows, game.rules, 1, [seed])
    with pytest.raises(OptionError, match="views, seeds: expected VIEW_DTYPE"):
        sample_worlds([rows[0]], game.rules, 1, [1])  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="rules: expected a RuleSet, got 'playmore'"):
        sample_worlds(rows, "playmore", 1, [1])  # type: ignore[arg-type]
    rows["voids"][:] = 0xF
    sample_worlds(rows, game.rules, 1, [1])  # voids are worked out from the plays
    rows["known"][0, 1] = (1 << 40) - 1
    with pytest.raises(OptionError, match="view 0"):
        sample_worlds(rows, game.rules, 1, [1])


def test_a_contradiction_is_an_error() -> None:
    """Four seats: three hands void in a suit of which cards are unseen."""
    game = random_game(PRESETS["gamelake_partners"], random.Random(3), 6)
    view = game.view(0)
    view.voids = [0, 15, 15, 15]
    with pytest.raises(OptionError, match="cannot be where"):
        WorldSampler(view)


def test_probability_of_what_cannot_be() -> None:
    game = random_game(PRESETS["cuperativa"], random.Random(12), 8)
    sampler = WorldSampler(game.view(0))
    assert sampler.probability(game.state) > 0
    record = state_to_record(game.state)
    assert sampler.probability(record[0]) == sampler.probability(game.state)
    record[0].hands[1] ^= game.state.known & game.state.hands[1]
    assert sampler.probability(record[0]) == 0
    record = state_to_record(game.state)
    record[0].stock[game.state.drawn] = record[0].stock[game.state.drawn + 1]
    with pytest.raises(ValueError, match="twice"):
        sampler.probability(record[0])
