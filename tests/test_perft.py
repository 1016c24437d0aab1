"""Counts of legal sequences, against a brute force that shares nothing with the rules engine."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from tressette_env import PRESETS, RuleSet
from tressette_env.card_notation import card_text, parse_deck
from tressette_env.deals import deck_of, first_leader
from tressette_env.errors import OptionError
from tressette_env.perft import divide, interpreted_perft, perft
from tressette_env.rules import deal, is_over, play_card
from tressette_env.rulesets import playable_presets
from tressette_env.state import State, new_state, state_to_record

# ------------------------------------------------------------ brute force

Card = tuple[str, str]  # suit, rank
WEAKEST_FIRST = ["4", "5", "6", "7", "J", "Q", "K", "A", "2", "3"]
THIRDS = {"A": 3, "2": 1, "3": 1, "K": 1, "Q": 1, "J": 1}


@dataclass
class Game:
    """A deal as lists of (suit, rank), written from the rules' text alone."""

    hands: list[list[Card]]
    stock: list[Card]
    turn: int
    must_always_follow: bool
    table: list[tuple[int, Card]] = field(default_factory=list)  # who played what
    thirds: list[int] = field(default_factory=lambda: [0, 0])
    last_winner: int = -1

    def copy(self) -> Game:
        return Game(
            [list(hand) for hand in self.hands],
            list(self.stock),
            self.turn,
            self.must_always_follow,
            list(self.table),
            list(self.thirds),
            self.last_winner,
        )

    def allowed(self) -> list[Card]:
        hand = self.hands[self.turn]
        if self.table and (self.must_always_follow or not self.stock):
            led_suit = self.table[0][1][0]
            following = [card for card in hand if card[0] == led_suit]
            if following:
                return following
        return list(hand)

    def play(self, card: Card) -> None:
        self.hands[self.turn].remove(card)
        self.table.append((self.turn, card))
        seats = len(self.hands)
        self.turn = (self.turn + 1) % seats
        if len(self.table) < seats:
            return
        led_suit = self.table[0][1][0]
        following = [(seat, card) for seat, card in self.table if card[0] == led_suit]
        winner, _ = max(following, key=lambda played: WEAKEST_FIRST.index(played[1][1]))
        self.thirds[winner % 2] += sum(THIRDS.get(rank, 0) for _, (_, rank) in self.table)
        if not any(self.hands) and not self.stock:
            self.thirds[winner % 2] += 3
        self.table = []
        if self.stock:
            for place in range(seats):
                self.hands[(winner + place) % seats].append(self.stock.pop(0))
        self.turn = self.last_winner = winner


def brute_force(game: Game, depth: int) -> int:
    if depth == 0:
        return 1
    count = 0
    for card in game.allowed():
        following = game.copy()
        following.play(card)
        count += brute_force(following, depth - 1)
    return count


def pair_of(card: int) -> Card:
    text = card_text(card)
    return text[1], text[0]


def both(rules: RuleSet, deck: tuple[int, ...], leader: int) -> tuple[State, Game]:
    """The same deal for the rules engine and for the brute force."""
    state = new_state()
    deal(state, rules, deck, leader)
    cards = [pair_of(card) for card in deck]
    size, seats = rules.hand_size, rules.seats
    hands = [cards[size * seat : size * seat + size] for seat in range(seats)]
    return state, Game(hands, cards[size * seats :], leader, rules.follow == "always")


def after(rules: RuleSet, seed: int, plies: int) -> tuple[State, Game]:
    """The same position for both, after random cards chosen by the brute force."""
    state, game = both(rules, deck_of(rules, seed, 0), first_leader(rules, seed, 0))
    rng = random.Random(seed)
    for _ in range(plies):
        card = rng.choice(sorted(game.allowed()))
        game.play(card)
        number = next(number for number in range(40) if pair_of(number) == card)
        assert play_card(state, rules, number) >= 0
    return state, game


# ------------------------------------------------------------ counts

FULL = [name for name in playable_presets() if PRESETS[name].deck_size == 40]
MINIS = [name for name in playable_presets() if PRESETS[name].deck_size < 40]
# Plies played before the count, and its depth: the deal, mid-trick, around the last draws, the end.
TWO_SEATS = [(0, 3), (1, 3), (9, 4), (14, 4), (17, 4), (18, 4), (19, 4), (20, 5), (27, 6), (34, 6)]
FOUR_SEATS = [(0, 4), (1, 4), (2, 4), (3, 4), (13, 5), (22, 6), (31, 9), (36, 4)]


def check(state: State, game: Game, rules: RuleSet, depth: int) -> int:
    """Compare all three counts, and the separate ones; return the count."""
    expected = brute_force(game, depth)
    assert perft(state, rules, depth) == expected
    assert interpreted_perft(state, rules, depth) == expected
    separate = {pair_of(card): count for card, count in divide(state, rules, depth).items()}
    for card in game.allowed():
        following = game.copy()
        following.play(card)
        assert separate.pop(card) == brute_force(following, depth - 1)
    assert not separate
    return expected


@pytest.mark.parametrize("name", FULL)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_full_deck_counts_as_the_brute_force_does_anywhere_in_the_deal(
    name: str, seed: int
) -> None:
    rules = PRESETS[name]
    for plies, depth in TWO_SEATS if rules.seats == 2 else FOUR_SEATS:
        is_wide = rules.follow == "stock_empty" and plies < 20
        check(*after(rules, seed, plies), rules, min(depth, 3) if is_wide else depth)


@pytest.mark.parametrize("name", MINIS)
def test_small_decks_count_as_the_brute_force_does_at_every_depth(name: str) -> None:
    rules = PRESETS[name]
    for seed in range(12):
        state, game = both(rules, deck_of(rules, seed, 0), first_leader(rules, seed, 0))
        for depth in range(1, rules.deck_size + 1):
            check(state, game, rules, depth)


@pytest.mark.parametrize("name", playable_presets())
def test_the_same_cards_give_the_same_thirds_and_turns_as_the_brute_force(name: str) -> None:
    rules = PRESETS[name]
    for seed in range(30):
        state, game = after(rules, seed, rules.deck_size - 1)
        card = game.allowed()[0]
        game.play(card)
        play_card(state, rules, next(n for n in range(40) if pair_of(n) == card))
        assert is_over(state, rules)
        assert state.thirds == game.thirds
        assert sum(game.thirds) == rules.total_thirds
        assert state.leader == game.last_winner


PINNED = [  # all but the last three were also counted by the brute force
    ("playmore", 6, 227_722),
    ("gamelake", 5, 100_000),
    ("gamelake_partners", 8, 251_226),
    ("cuperativa", 6, 227_722),
    ("mini_2x4", 8, 20),
    ("mini_2x4_stock_empty", 8, 48),
    ("mini_2x5", 10, 810),
    ("mini_2x5_stock_empty", 10, 1656),
    ("playmore", 8, 5_827_455),
    ("gamelake", 7, 10_000_000),
    ("gamelake_partners", 10, 8_393_628),
]


@pytest.mark.parametrize(("name", "depth", "count"), PINNED)
def test_counts_from_the_first_deal_of_seed_0_stay_as_they_are(
    name: str, depth: int, count: int
) -> None:
    state, _ = after(PRESETS[name], 0, 0)
    assert perft(state, PRESETS[name], depth) == count


def test_a_count_that_can_be_followed_by_hand() -> None:
    """Seat 0 holds 3D AD, seat 1 7D KC, and the stock is 7C AC 3C KD."""
    mini = PRESETS["mini_2x4"]
    state, _ = both(mini, parse_deck("3D AD 7D KC 7C AC 3C KD"), 0)
    assert perft(state, mini, 0) == 1
    assert perft(state, mini, 1) == 2  # 3D or AD
    assert perft(state, mini, 2) == 2  # seat 1 follows with 7D
    assert perft(state, mini, 3) == 4  # seat 0 has won, drew 7C, and leads either card
    assert divide(state, mini, 3) == {7: 2, 9: 2}
    # Seat 1 holds KC AC: it has no denari and may discard either; on 7C it follows with either.
    assert perft(state, mini, 4) == 8
    free = PRESETS["mini_2x4_stock_empty"]
    assert perft(state, free, 2) == 4  # while the stock lasts seat 1 need not follow


# ------------------------------------------------------------ the functions


@pytest.mark.parametrize("name", ["playmore", "gamelake_partners", "mini_2x5"])
def test_counting_leaves_the_position_as_it_was(name: str) -> None:
    rules = PRESETS[name]
    state, _ = after(rules, 4, 5)
    before = state_to_record(state).tobytes()
    perft(state, rules, 3)
    divide(state, rules, 3)
    interpreted_perft(state, rules, 3)
    assert state_to_record(state).tobytes() == before


@pytest.mark.parametrize("name", playable_presets())
def test_beyond_the_end_of_the_deal_there_are_no_sequences(name: str) -> None:
    rules = PRESETS[name]
    state, _ = after(rules, 1, rules.deck_size - 2)
    assert perft(state, rules, 2) == interpreted_perft(state, rules, 2) > 0
    assert perft(state, rules, 3) == interpreted_perft(state, rules, 3) == 0
    assert set(divide(state, rules, 3).values()) == {0}
    over, _ = after(rules, 1, rules.deck_size)
    assert perft(over, rules, 0) == 1
    assert perft(over, rules, 1) == 0
    assert divide(over, rules, 1) == {}


@pytest.mark.parametrize("depth", [-1, 1.0, "3", None, True])
def test_what_is_no_depth_is_refused(depth: Any) -> None:
    state, _ = after(PRESETS["mini_2x4"], 0, 0)
    for count in (perft, interpreted_perft):
        with pytest.raises(OptionError, match="depth: expected an integer from 0 up, got"):
            count(state, PRESETS["mini_2x4"], depth)
    with pytest.raises(OptionError, match="depth: expected an integer from 1 up, got"):
        divide(state, PRESETS["mini_2x4"], depth)
    with pytest.raises(OptionError, match="depth: expected an integer from 1 up, got 0"):
        divide(state, PRESETS["mini_2x4"], 0)
