"""The game: golden deals, every rule of play, and what holds in every deal (R4-R10)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tressette_env import (
    PRESETS,
    BatchTable,
    IllegalCardError,
    RuleSet,
    SingleSeatEnv,
    View,
    tressette_v0,
)
from tressette_env.card_notation import card_text, parse_card, parse_deck, parse_hand
from tressette_env.cards import bit_count, card_list, card_set, card_worth, suit_of, suit_set
from tressette_env.deals import deck_of, first_leader
from tressette_env.observation import layout_for
from tressette_env.rules import (
    DEAL_OVER,
    ILLEGAL,
    ON_TABLE,
    TRICK_OVER,
    deal,
    is_over,
    legal_cards,
    play_card,
    side_of,
    trick_winner,
)
from tressette_env.rulesets import playable_presets
from tressette_env.state import State, new_state, state_to_record
from tressette_env.view import view_of

PLAYABLE = playable_presets()
FULL_DECK = [name for name in PLAYABLE if PRESETS[name].deck_size == 40]
TWO_SEATS = [name for name in PLAYABLE if PRESETS[name].seats == 2]

# ------------------------------------------------------------ golden

# For each trick: seat and card in the order played | who takes it, thirds of both sides | draws.
GOLDEN_DEALS = {
    # Two seats, suit must be followed, hidden draws.
    "playmore": """
hand 0: D:AKJ C:7 S:AKQ64 B:4
hand 1: D:3Q65 C:J54 S:- B:KJ7
stock: 2C 3B 2S 7D 2D 3S KC 5S 4D 5B 3C 6B 6C JS QB 2B AC QC 7S AB
 1. 0 6S  1 3D | 0 takes, 1-0 | 0 draws 2C, 1 draws 3B
 2. 0 4B  1 JB | 1 takes, 1-1 | 1 draws 2S, 0 draws 7D
 3. 1 QD  0 KD | 0 takes, 3-1 | 0 draws 2D, 1 draws 3S
 4. 0 4S  1 3S | 1 takes, 3-2 | 1 draws KC, 0 draws 5S
 5. 1 5D  0 AD | 0 takes, 6-2 | 0 draws 4D, 1 draws 5B
 6. 0 QS  1 2S | 1 takes, 6-4 | 1 draws 3C, 0 draws 6B
 7. 1 KC  0 2C | 0 takes, 8-4 | 0 draws 6C, 1 draws JS
 8. 0 4D  1 6D | 1 takes, 8-4 | 1 draws QB, 0 draws 2B
 9. 1 5B  0 6B | 0 takes, 8-4 | 0 draws AC, 1 draws QC
10. 0 AS  1 JS | 0 takes, 12-4 | 0 draws 7S, 1 draws AB
11. 0 2D  1 7B | 0 takes, 13-4
12. 0 6C  1 5C | 0 takes, 13-4
13. 0 KS  1 AB | 0 takes, 17-4
14. 0 AC  1 QC | 0 takes, 21-4
15. 0 7D  1 4C | 0 takes, 21-4
16. 0 7C  1 JC | 1 takes, 21-5
17. 1 3C  0 5S | 1 takes, 21-6
18. 1 3B  0 2B | 1 takes, 21-8
19. 1 KB  0 7S | 1 takes, 21-9
20. 1 QB  0 JD | 1 takes, 21-14
""",
    # Two seats, suit must be followed, draws shown: the cards every seat knows stand last.
    "cuperativa": """
hand 0: D:K C:A4 S:2AQJ6 B:K4
hand 1: D:2J C:2Q75 S:35 B:QJ
stock: 2B 7D 4S AD 6B 6D 3D 5B 4D 6C KS 7S KC QD 3B JC 5D 7B AB 3C
 1. 1 2C  0 4C | 1 takes, 0-1 | 1 draws 2B, 0 draws 7D | known D:7 C:- S:- B:2
 2. 1 7C  0 AC | 0 takes, 3-1 | 0 draws 4S, 1 draws AD | known D:A7 C:- S:4 B:2
 3. 0 AS  1 5S | 0 takes, 6-1 | 0 draws 6B, 1 draws 6D | known D:A76 C:- S:4 B:26
 4. 0 6S  1 3S | 1 takes, 6-2 | 1 draws 3D, 0 draws 5B | known D:3A76 C:- S:4 B:265
 5. 1 5C  0 5B | 1 takes, 6-2 | 1 draws 4D, 0 draws 6C | known D:3A764 C:6 S:4 B:26
 6. 1 6D  0 7D | 0 takes, 6-2 | 0 draws KS, 1 draws 7S | known D:3A4 C:6 S:K74 B:26
 7. 0 4S  1 7S | 1 takes, 6-2 | 1 draws KC, 0 draws QD | known D:3AQ4 C:K6 S:K B:26
 8. 1 JD  0 KD | 0 takes, 8-2 | 0 draws 3B, 1 draws JC | known D:3AQ4 C:KJ6 S:K B:326
 9. 0 JS  1 KC | 0 takes, 10-2 | 0 draws 5D, 1 draws 7B | known D:3AQ54 C:J6 S:K B:3276
10. 0 KB  1 2B | 1 takes, 10-4 | 1 draws AB, 0 draws 3C | known D:3AQ54 C:3J6 S:K B:3A76
11. 1 QC  0 3C | 0 takes, 12-4 | known D:3AQ54 C:J6 S:K B:3A76
12. 0 3B  1 7B | 0 takes, 13-4 | known D:3AQ54 C:J6 S:K B:A6
13. 0 4B  1 JB | 1 takes, 13-5 | known D:3AQ54 C:J6 S:K B:A6
14. 1 4D  0 5D | 0 takes, 13-5 | known D:3AQ C:J6 S:K B:A6
15. 0 2S  1 AD | 0 takes, 17-5 | known D:3Q C:J6 S:K B:A6
16. 0 6B  1 AB | 1 takes, 17-8 | known D:3Q C:J6 S:K B:-
17. 1 3D  0 QD | 1 takes, 17-10 | known D:- C:J6 S:K B:-
18. 1 2D  0 6C | 1 takes, 17-11 | known D:- C:J S:K B:-
19. 1 JC  0 KS | 1 takes, 17-13 | known none
20. 1 QB  0 QS | 1 takes, 17-18 | known none
""",
    # Two seats, any card while the stock lasts.
    "gamelake": """
hand 0: D:3 C:Q76 S:3AK7 B:AQ
hand 1: D:2K C:32 S:24 B:2K65
stock: 6D 4D JC KC 5D 4C 5C QD JB 5S 7B 4B 6S JS QS AD 3B JD 7D AC
 1. 0 AB  1 5B | 0 takes, 3-0 | 0 draws 6D, 1 draws 4D
 2. 0 6C  1 2D | 0 takes, 4-0 | 0 draws JC, 1 draws KC
 3. 0 JC  1 3C | 1 takes, 4-2 | 1 draws 5D, 0 draws 4C
 4. 1 KC  0 KS | 1 takes, 4-4 | 1 draws 5C, 0 draws QD
 5. 1 2C  0 AS | 1 takes, 4-8 | 1 draws JB, 0 draws 5S
 6. 1 2B  0 7S | 1 takes, 4-9 | 1 draws 7B, 0 draws 4B
 7. 1 JB  0 6D | 1 takes, 4-10 | 1 draws 6S, 0 draws JS
 8. 1 KD  0 5S | 1 takes, 4-11 | 1 draws QS, 0 draws AD
 9. 1 5D  0 3S | 1 takes, 4-12 | 1 draws 3B, 0 draws JD
10. 1 4S  0 QD | 1 takes, 4-13 | 1 draws 7D, 0 draws AC
11. 1 5C  0 4C | 1 takes, 4-13
12. 1 3B  0 QB | 1 takes, 4-15
13. 1 QS  0 JS | 1 takes, 4-17
14. 1 4D  0 AD | 0 takes, 7-17
15. 0 3D  1 7D | 0 takes, 8-17
16. 0 JD  1 7B | 0 takes, 9-17
17. 0 7C  1 KB | 0 takes, 10-17
18. 0 4B  1 6B | 1 takes, 10-17
19. 1 6S  0 AC | 1 takes, 10-20
20. 1 2S  0 QC | 1 takes, 10-25
""",
    # Four seats, 0 and 2 against 1 and 3.
    "gamelake_partners": """
hand 0: D:2K7 C:A S:3QJ B:KJ4
hand 1: D:6 C:2Q6 S:26 B:2AQ6
hand 2: D:354 C:KJ75 S:A54 B:-
hand 3: D:AQJ C:34 S:K7 B:375
 1. 0 AC  1 QC  2 7C  3 4C | 0 takes, 4-0
 2. 0 JS  1 2S  2 AS  3 7S | 1 takes, 4-5
 3. 1 6S  2 5S  3 KS  0 3S | 0 takes, 6-5
 4. 0 KD  1 6D  2 5D  3 QD | 0 takes, 8-5
 5. 0 2D  1 QB  2 3D  3 AD | 2 takes, 14-5
 6. 2 JC  3 3C  0 4B  1 2C | 3 takes, 14-8
 7. 3 5B  0 JB  1 6B  2 5C | 0 takes, 15-8
 8. 0 7D  1 AB  2 4D  3 JD | 3 takes, 15-12
 9. 3 7B  0 KB  1 2B  2 4S | 1 takes, 15-14
10. 1 6C  2 KC  3 3B  0 QS | 2 takes, 21-14
""",
}

TRICK = re.compile(
    r" ?(?P<number>\d+)\. (?P<plays>[^|]*) \| (?P<winner>\d) takes, (?P<thirds>\d+-\d+)"
    r"(?: \| (?P<draws>[^|]*draws[^|]*?))?(?: \| known (?P<known>.*))?"
)


def read_golden(text: str) -> tuple[list[int], list[int], list[re.Match[str]]]:
    hands, stock, tricks = [], [], []
    for line in text.strip().splitlines():
        if line.startswith("hand"):
            hands.append(parse_hand(line.partition(": ")[2]))
        elif line.startswith("stock"):
            stock = list(parse_deck(line.partition(": ")[2]))
        else:
            match = TRICK.fullmatch(line)
            assert match, line
            tricks.append(match)
    return hands, stock, tricks


@pytest.mark.parametrize("name", GOLDEN_DEALS)
def test_a_golden_deal_goes_as_it_is_written(name: str) -> None:
    rules = PRESETS[name]
    hands, stock, tricks = read_golden(GOLDEN_DEALS[name])
    deck = [card for hand in hands for card in card_list(hand)] + stock
    leader = int(tricks[0]["plays"][0])
    state = new_state()
    deal(state, rules, deck, leader)
    env = tressette_v0.raw_env(rules=name)
    env.reset(seed=0, options={"deck": deck, "leader": leader})
    assert state.hands[: rules.seats] == hands
    assert len(tricks) == 40 // rules.seats
    for trick in tricks:
        for seat, card_words in re.findall(r"(\d) (\w\w)", trick["plays"]):
            card = parse_card(card_words)
            assert state.turn == int(seat)
            assert env.agent_selection == f"player_{seat}"
            assert env.observe(f"player_{seat}")["action_mask"][card] == 1
            assert play_card(state, rules, card) != ILLEGAL
            env.step(card)
            assert state.played[int(seat)] >> card & 1
        winner = int(trick["winner"])
        assert state.leader == state.turn == winner
        thirds = tuple(map(int, trick["thirds"].split("-")))
        assert tuple(state.thirds) == env.thirds == thirds
        for seat, card_words in re.findall(r"(\d) draws (\w\w)", trick["draws"] or ""):
            assert state.hands[int(seat)] >> parse_card(card_words) & 1
            assert env.view(f"player_{seat}").hand == state.hands[int(seat)]
        first_drawer = (trick["draws"] or trick["winner"])[0]
        assert int(first_drawer) == winner
        known = 0 if trick["known"] in (None, "none") else parse_hand(trick["known"])
        assert state.known == known
    assert is_over(state, rules)
    assert all(env.terminations.values())
    assert sum(state.thirds) == 35


# ------------------------------------------------------------ walks


def new_deal(rules: RuleSet, seed: int, number: int = 0) -> State:
    state = new_state()
    deal(state, rules, deck_of(rules, seed, number), first_leader(rules, seed, number))
    return state


def walk(rules: RuleSet, seed: int, number: int = 0) -> Iterator[tuple[State, int]]:
    """A deal of random cards: the state before each ply, and the card that is played next."""
    state = new_deal(rules, seed, number)
    rng = np.random.default_rng((seed, number))
    while not is_over(state, rules):
        card = int(rng.choice(card_list(legal_cards(state, rules))))
        yield state, card
        play_card(state, rules, card)
    yield state, -1


def bytes_of(state: State) -> bytes:
    return state_to_record(state).tobytes()


# ------------------------------------------------------------ winners


def test_an_off_suit_three_never_takes_a_led_four() -> None:
    deck = parse_deck("4D 3C")
    rules = PRESETS["yeeqia"].replace(deck=tuple(sorted(deck)), hand_size=1)
    state = new_state()
    deal(state, rules, deck, 0)
    assert play_card(state, rules, parse_card("4D")) == ON_TABLE
    assert play_card(state, rules, parse_card("3C")) == DEAL_OVER
    assert state.leader == 0
    assert state.thirds == [4, 0]


def test_of_any_two_cards_the_led_one_takes_unless_a_stronger_one_of_its_suit_follows() -> None:
    order = "4567JQKA23"
    rules = PRESETS["gamelake"]
    for led, followed in itertools.permutations(range(40), 2):
        state = new_state()
        state.plays[:2] = [led, followed]
        state.ply = 2
        state.leader = 1
        (rank, suit), (other_rank, other_suit) = card_text(led), card_text(followed)
        is_taken = suit == other_suit and order.index(other_rank) > order.index(rank)
        assert trick_winner(state, rules) == (0 if is_taken else 1)


@given(st.permutations(range(40)), st.integers(0, 3))
def test_of_four_cards_the_strongest_of_the_led_suit_takes(deck: list[int], leader: int) -> None:
    trick = deck[:4]
    state = new_state()
    state.plays[:4] = trick
    state.ply = 4
    state.leader = leader
    of_led_suit = [card for card in trick if card_text(card)[1] == card_text(trick[0])[1]]
    strongest = min(of_led_suit, key=lambda card: "32AKQJ7654".index(card_text(card)[0]))
    expected = (leader + trick.index(strongest)) % 4
    assert trick_winner(state, PRESETS["gamelake_partners"]) == expected


@pytest.mark.parametrize("name", FULL_DECK)
def test_seats_play_in_order_and_the_winner_leads_next(name: str) -> None:
    rules = PRESETS[name]
    turns: list[int] = []
    for state, _ in walk(rules, 1):
        if state.ply % rules.seats == 0:
            if turns:
                assert turns == [(turns[0] + place) % rules.seats for place in range(rules.seats)]
            assert state.turn == state.leader
            turns.clear()
        turns.append(state.turn)


# ------------------------------------------------------------ thirds


@pytest.mark.parametrize("name", PLAYABLE)
def test_the_last_trick_adds_three_thirds_once_to_its_winner(name: str) -> None:
    """Not once for each card, and not to the seat that happens to play last."""
    rules = PRESETS[name]
    winners = set()
    for seed in range(40):
        before, last_seat = [0, 0], -1
        for state, card in walk(rules, seed):
            if rules.deck_size - state.ply == rules.seats:
                before = list(state.thirds)
            if card >= 0:
                last_seat = state.turn
        worth = sum(map(card_worth, state.plays[rules.deck_size - rules.seats : rules.deck_size]))
        gained = [after - was for after, was in zip(state.thirds, before, strict=True)]
        winning_side = side_of(state.leader)
        assert gained[winning_side] == worth + 3
        assert gained[1 - winning_side] == 0
        winners.add(winning_side == side_of(last_seat))
    assert winners == {True, False}


@pytest.mark.parametrize("name", PLAYABLE)
def test_the_thirds_so_far_are_those_of_the_cards_taken_and_35_at_the_end(name: str) -> None:
    rules = PRESETS[name]
    for number in range(10):
        for state, _ in walk(rules, 2, number):
            finished = state.ply - state.ply % rules.seats
            taken = sum(map(card_worth, state.plays[:finished]))
            bonus = 3 if state.ply == rules.deck_size else 0
            assert sum(state.thirds) == taken + bonus
        assert sum(state.thirds) == rules.total_thirds
    assert rules.total_thirds == (35 if rules.deck_size == 40 else 13)


def test_thirds_are_never_anything_but_integers() -> None:
    for state, _ in walk(PRESETS["playmore"], 3):
        assert all(type(thirds) is int for thirds in state.thirds)


# ------------------------------------------------------------ draws


@pytest.mark.parametrize("winner", [0, 1])
def test_the_winner_draws_the_top_card_and_the_other_the_next(winner: int) -> None:
    """A stock of X, Y: the second seat takes the first trick and draws X, not Y."""
    rules = PRESETS["playmore"]
    for leader in (0, 1):
        state = new_state()
        cards = ["5D", "4D"] if winner == 0 else ["4D", "5D"]
        first_cards = [parse_card(card) for card in cards]
        rest = [card for card in range(40) if card not in first_cards]
        deck = [first_cards[0], *rest[:9], first_cards[1], *rest[9:]]
        deal(state, rules, deck, leader)
        for _ in range(2):
            assert play_card(state, rules, first_cards[state.turn]) != ILLEGAL
        assert state.leader == winner
        top, second = deck[20], deck[21]
        assert state.hands[winner] >> top & 1
        assert state.hands[1 - winner] >> second & 1


@pytest.mark.parametrize("name", TWO_SEATS)
def test_after_every_trick_of_every_deal_the_stock_goes_to_the_winner_first(name: str) -> None:
    rules = PRESETS[name]
    for number in range(20):
        deck = deck_of(rules, 4, number)
        stock = list(deck[2 * rules.hand_size :])
        hands = [set(deck[rules.hand_size * s : rules.hand_size * (s + 1)]) for s in range(2)]
        for state, card in walk(rules, 4, number):
            if state.ply and state.ply % 2 == 0 and stock:
                hands[state.leader].add(stock.pop(0))
                hands[1 - state.leader].add(stock.pop(0))
            assert [set(card_list(hand)) for hand in state.hands[:2]] == hands
            assert rules.stock_size - state.drawn == len(stock)
            if card >= 0:
                hands[state.turn].discard(card)


@pytest.mark.parametrize("name", PLAYABLE)
def test_hands_stay_full_while_the_stock_lasts_and_then_run_out(name: str) -> None:
    rules = PRESETS[name]
    for state, _ in walk(rules, 5):
        if state.ply % rules.seats == 0:
            tricks = state.ply // rules.seats
            draws = rules.stock_size // rules.seats
            left = rules.hand_size - max(0, tricks - draws)
            assert [bit_count(hand) for hand in state.hands[: rules.seats]] == [left] * rules.seats
    assert state.ply == rules.deck_size


@pytest.mark.parametrize("name", TWO_SEATS)
def test_only_shown_draws_are_known_to_both(name: str) -> None:
    rules = PRESETS[name]
    for state, _ in walk(rules, 6):
        drawn = card_set(state.stock[: state.drawn])
        played = state.played[0] | state.played[1]
        assert state.known == (drawn & ~played if rules.draws == "shown" else 0)


# ------------------------------------------------------------ legal cards


def allowed(state: State, rules: RuleSet) -> set[int]:
    """The cards that may be played, said once more."""
    hand = set(card_list(state.hands[state.turn]))
    table = state.plays[state.ply - state.ply % rules.seats : state.ply]
    free = rules.follow == "stock_empty" and state.drawn < rules.stock_size
    if not table or free:
        return hand
    same = {card for card in hand if card // 10 == table[0] // 10}
    return same or hand


@pytest.mark.parametrize("name", PLAYABLE)
def test_every_card_is_accepted_or_refused_as_the_rules_say_and_refusals_change_nothing(
    name: str,
) -> None:
    """Off-suit cards, cards already played, cards of another seat or the stock, and no cards."""
    rules = PRESETS[name]
    for state, _ in walk(rules, 7):
        legal = set() if is_over(state, rules) else allowed(state, rules)
        before = bytes_of(state)
        for card in (*range(40), -1, 40, 63, 64, 1000, -40):
            if card not in legal:
                assert play_card(state, rules, card) == ILLEGAL
        assert bytes_of(state) == before
        if not is_over(state, rules):
            assert set(card_list(legal_cards(state, rules))) == legal


@pytest.mark.parametrize("name", PLAYABLE)
def test_the_environment_refuses_every_card_that_is_not_in_its_mask(name: str) -> None:
    rules = PRESETS[name]
    env = tressette_v0.raw_env(rules=name)
    env.reset(seed=8)
    for state, card in walk(rules, 8):
        if card < 0:
            break
        agent = env.agent_selection
        mask = env.observe(agent)["action_mask"]
        assert set(np.flatnonzero(mask).tolist()) == allowed(state, rules)
        before = (env.state().tobytes(), env.observe(agent)["observation"].tobytes(), env.thirds)
        for wrong in np.flatnonzero(mask == 0).tolist() if state.ply % 7 < 3 else ():
            with pytest.raises(IllegalCardError, match=f"{agent} may play") as caught:
                env.step(wrong)
            assert set(caught.value.legal) == allowed(state, rules)
        after = (env.state().tobytes(), env.observe(agent)["observation"].tobytes(), env.thirds)
        assert after == before
        assert env.agent_selection == agent
        env.step(card)


class LowestCard:
    """An opponent without dice."""

    def act(self, view: View, seed: int) -> int:
        return view.legal_cards[0]


@pytest.mark.parametrize("name", ["playmore", "gamelake", "gamelake_partners", "mini_2x5"])
def test_an_off_suit_card_while_holding_the_led_suit_raises_in_every_interface(name: str) -> None:
    rules = PRESETS[name]
    refused = 0
    for number in range(10):
        env = SingleSeatEnv(LowestCard(), seat=0, rules=name)
        env.table.reset(seed=9)
        observation, _ = env.reset(seed=9, options={"deck": deck_of(rules, 9, number), "leader": 1})
        over = False
        while not over:
            held = observation["observation"][:40]
            wrong = np.flatnonzero(held & ~observation["action_mask"] & 1)
            for card in wrong[:2]:
                before = env.table.state().tobytes()
                with pytest.raises(IllegalCardError) as caught:
                    env.step(card)
                assert card_text(int(card)) in str(caught.value)
                assert env.table.state().tobytes() == before
                refused += 1
            observation, _, over, _, _ = env.step(int(observation["action_mask"].argmax()))
    assert refused > 3


@pytest.mark.parametrize("name", ["playmore", "gamelake_partners", "mini_2x4_stock_empty"])
def test_a_card_played_twice_or_held_by_another_seat_is_refused(name: str) -> None:
    rules = PRESETS[name]
    for state, _ in walk(rules, 10):
        before = bytes_of(state)
        others = [s for s in range(rules.seats) if s != state.turn]
        wrong = [*state.plays[: state.ply]]
        wrong += [card for seat in others for card in card_list(state.hands[seat])]
        wrong += state.stock[state.drawn : rules.stock_size]
        for refused in wrong:
            assert play_card(state, rules, refused) == ILLEGAL
        assert bytes_of(state) == before


@pytest.mark.parametrize("name", PLAYABLE)
def test_the_codes_say_whether_a_trick_or_the_deal_is_over(name: str) -> None:
    rules = PRESETS[name]
    state = new_deal(rules, 11)
    for ply in range(1, rules.deck_size + 1):
        code = play_card(state, rules, card_list(legal_cards(state, rules))[-1])
        if ply == rules.deck_size:
            assert code == DEAL_OVER
        else:
            assert code == (TRICK_OVER if ply % rules.seats == 0 else ON_TABLE)


# ------------------------------------------------------------ houses


def observation_of(env: Any, agent: str, rules: RuleSet) -> dict[str, bytes]:
    features = env.observe(agent)["observation"]
    return {block.name: features[block.slice].tobytes() for block in layout_for(rules).blocks}


def same_position(names: tuple[str, str], seed: int) -> Iterator[tuple[Any, Any, State]]:
    """Both environments, and a state of the first house, ply by ply through the same cards."""
    first, second = (tressette_v0.raw_env(rules=name) for name in names)
    for env in (first, second):
        env.reset(seed=seed)
    for state, card in walk(PRESETS[names[0]], seed):
        yield first, second, state
        if card >= 0:
            first.step(card)
            second.step(card)


@pytest.mark.parametrize("seed", range(5))
def test_following_always_or_with_an_empty_stock_differs_only_where_the_rule_says(
    seed: int,
) -> None:
    strict, free = PRESETS["playmore"], PRESETS["gamelake"]
    fewer = 0
    for first, second, state in same_position(("playmore", "gamelake"), seed):
        stock_lasts = state.drawn < strict.stock_size
        for seat in range(2):
            agent = f"player_{seat}"
            masks = [env.observe(agent)["action_mask"] for env in (first, second)]
            hand = state.hands[seat]
            if seat != state.turn or is_over(state, strict):
                assert not masks[0].any()
                assert not masks[1].any()
            elif state.ply % 2 and stock_lasts:
                led = suit_set(suit_of(state.plays[state.ply - 1]))
                assert card_set(np.flatnonzero(masks[1]).tolist()) == hand
                assert card_set(np.flatnonzero(masks[0]).tolist()) == (hand & led or hand)
                fewer += int(masks[0].sum() < masks[1].sum())
            else:
                assert (masks[0] == masks[1]).all()
            blocks = [
                observation_of(env, agent, rules)
                for env, rules in ((first, strict), (second, free))
            ]
            differing = {name for name in blocks[0] if blocks[0][name] != blocks[1][name]}
            voids_seen = any(first.view(agent).voids[1:]) and stock_lasts
            assert "rules" in differing
            assert differing <= {"rules", "must_follow", "voids"}
            assert ("must_follow" in differing) == stock_lasts
            assert ("voids" in differing) == voids_seen
    assert fewer > 0


@pytest.mark.parametrize("seed", range(5))
def test_hidden_and_shown_draws_differ_only_in_what_is_known(seed: int) -> None:
    hidden, shown = PRESETS["playmore"], PRESETS["cuperativa"]
    differences = set()
    for first, second, state in same_position(("playmore", "cuperativa"), seed):
        for seat in range(2):
            agent = f"player_{seat}"
            one, other = first.observe(agent), second.observe(agent)
            assert (one["action_mask"] == other["action_mask"]).all()
            blocks = [
                observation_of(env, agent, rules)
                for env, rules in ((first, hidden), (second, shown))
            ]
            differing = {name for name in blocks[0] if blocks[0][name] != blocks[1][name]}
            assert "rules" in differing
            assert differing <= {"rules", "known", "unseen", "voids"}
            differences |= differing
            views = first.view(agent), second.view(agent)
            drawn = card_set(state.stock[: state.drawn])
            opponents = drawn & state.hands[1 - seat]
            assert views[0].known == [0, 0, 0, 0]
            assert views[1].known[:2] == [drawn & state.hands[seat], opponents]
            assert views[1].unseen == views[0].unseen & ~opponents
            assert views[0].voids[1] & ~views[1].voids[1] == 0
    assert differences >= {"rules", "known", "unseen"}


@pytest.mark.parametrize("name", ["gamelake_partners", "gamelake_partners_short"])
def test_with_four_seats_suit_is_followed_whatever_the_rule_for_the_stock(name: str) -> None:
    free = PRESETS[name].replace(follow="stock_empty")
    for state, _ in walk(PRESETS[name], 12):
        if not is_over(state, free):
            assert legal_cards(state, free) == legal_cards(state, PRESETS[name])


# ------------------------------------------------------------ always


@st.composite
def deals_to_play(draw: st.DrawFn) -> tuple[str, int, list[int]]:
    name = draw(st.sampled_from(PLAYABLE))
    seed = draw(st.integers(0, 2**63 - 1))
    size = PRESETS[name].deck_size
    return name, seed, draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))


def certain_voids(state: State, rules: RuleSet) -> list[set[int]]:
    """Suits that seats have shown not to hold, from the cards played and drawn alone."""
    voids: list[set[int]] = [set() for _ in range(rules.seats)]
    seat = (state.dealer + 1) % rules.seats
    drawn = 0
    for first in range(0, state.ply, rules.seats):
        trick = state.plays[first : min(first + rules.seats, state.ply)]
        led = trick[0] // 10
        for place, card in enumerate(trick):
            must_follow = rules.follow == "always" or drawn == rules.stock_size
            if card // 10 != led and must_follow:
                voids[(seat + place) % rules.seats].add(led)
        if len(trick) < rules.seats:
            break
        strongest = max(card for card in trick if card // 10 == led)
        seat = (seat + trick.index(strongest)) % rules.seats
        for place in range(rules.seats if drawn < rules.stock_size else 0):
            suits = {state.stock[drawn] // 10} if rules.draws == "shown" else set(range(4))
            voids[(seat + place) % rules.seats] -= suits
            drawn += 1
    return voids


@given(deals_to_play())
def test_in_every_deal_cards_are_conserved_and_what_is_certain_is_true(
    example: tuple[str, int, list[int]],
) -> None:
    name, seed, picks = example
    rules = PRESETS[name]
    state = new_deal(rules, seed)
    for pick in picks:
        legal = card_list(legal_cards(state, rules))
        assert legal  # never empty before the end
        assert play_card(state, rules, legal[pick % len(legal)]) != ILLEGAL
        places = [*state.hands, *state.played]
        stock = card_set(state.stock[state.drawn : rules.stock_size])
        assert sum(map(bit_count, places)) + bit_count(stock) == rules.deck_size
        everything = stock
        for cards in places:
            everything |= cards
        assert everything == rules.deck_set
        assert state.known & ~(state.hands[0] | state.hands[1]) == 0
        for place in range(rules.seats):
            suits = {suit for suit in range(4) if state.voids[place] >> suit & 1}
            assert not any(state.hands[place] & suit_set(suit) for suit in suits)
            assert suits == certain_voids(state, rules)[place]
            view = view_of(state, rules, place)
            assert view.unseen & view.hand == 0
            hidden = bit_count(view.unseen)
            in_hands = sum(map(bit_count, state.hands)) - bit_count(view.hand)
            assert hidden == in_hands + view.stock_left - sum(map(bit_count, view.known[1:]))
    assert is_over(state, rules)
    assert state.hands == [0, 0, 0, 0]
    assert sum(state.thirds) == rules.total_thirds


@pytest.mark.parametrize("name", [name for name in FULL_DECK if PRESETS[name].seats == 2])
def test_once_the_stock_is_empty_the_others_cards_can_be_worked_out(name: str) -> None:
    rules = PRESETS[name]
    for state, _ in walk(rules, 13):
        if state.drawn == rules.stock_size:
            for seat in range(2):
                view = view_of(state, rules, seat)
                assert view.unseen | view.known[1] == state.hands[1 - seat]


# ------------------------------------------------------------ random play


def random_deals(name: str, tables: int) -> tuple[Any, Any]:
    """Whether the first leader won each deal, and by how many thirds."""
    table = BatchTable(tables, name, seed=1)
    leaders = table.seats
    rng = np.random.default_rng(2)
    while True:
        masks = table.legal_masks
        step = table.play((masks * (1 - rng.random(masks.shape))).argmax(1))
        if step.is_over.any():
            assert step.is_over.all()
            margin = (step.thirds[:, 0] - step.thirds[:, 1]) * np.where(leaders % 2, -1, 1)
            return margin > 0, margin


@pytest.mark.parametrize(
    ("name", "win_rate", "margin"),
    [("playmore", 0.506, 0.3), ("cuperativa", 0.506, 0.3), ("gamelake", 0.63, 5.0)],
)
def test_free_play_while_the_stock_lasts_favours_the_first_leader(
    name: str, win_rate: float, margin: float
) -> None:
    """Random play, as published: 50.6 % where suit must be followed, 63 % and 5 thirds if not."""
    wins, margins = random_deals(name, 20_000)
    assert abs(wins.mean() - win_rate) < 0.015  # four standard errors
    assert abs(margins.mean() - margin) < 0.5
