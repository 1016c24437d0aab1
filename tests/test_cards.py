"""The forty cards: numbers, strength, worth, sets and order in the hand (R1-R3)."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tressette_env.cards import (
    ALL_CARDS,
    NUM_CARDS,
    RANK_LETTERS,
    SUIT_LETTERS,
    SUIT_NAMES,
    bit_count,
    card_list,
    card_set,
    card_worth,
    set_worth,
    sort_cards,
    strength_of,
    suit_of,
    suit_set,
)
from tressette_env.errors import DeckError, TressetteError
from tressette_env.notation import card_text, parse_card

STRONGEST_FIRST = "32AKQJ7654"  # R2, written down once more
WORTH = {"A": 3, "3": 1, "2": 1, "K": 1, "Q": 1, "J": 1, "7": 0, "6": 0, "5": 0, "4": 0}  # R3
CARD_SETS = st.integers(0, ALL_CARDS)


def test_there_are_forty_cards_of_four_suits_and_ten_ranks() -> None:
    texts = {card_text(card) for card in range(NUM_CARDS)}
    assert texts == {rank + suit for suit in "DCSB" for rank in STRONGEST_FIRST}
    assert SUIT_NAMES == ("denari", "coppe", "spade", "bastoni")
    assert [suit_of(card) for card in range(NUM_CARDS)] == [0] * 10 + [1] * 10 + [2] * 10 + [3] * 10


@pytest.mark.parametrize("suit", "DCSB")
def test_strength_falls_from_the_three_to_the_four(suit: str) -> None:
    strengths = [strength_of(parse_card(rank + suit)) for rank in STRONGEST_FIRST]
    assert strengths == list(range(9, -1, -1))
    assert RANK_LETTERS[::-1] == STRONGEST_FIRST


@pytest.mark.parametrize("suit", "DCSB")
@pytest.mark.parametrize("rank", STRONGEST_FIRST)
def test_every_card_is_worth_what_its_rank_is_worth(rank: str, suit: str) -> None:
    card = parse_card(rank + suit)
    assert card_worth(card) == WORTH[rank]
    assert set_worth(1 << card) == WORTH[rank]


def test_a_seven_is_worth_nothing_and_all_forty_cards_32_thirds() -> None:
    assert [card_worth(parse_card("7" + suit)) for suit in SUIT_LETTERS] == [0, 0, 0, 0]
    assert sum(card_worth(card) for card in range(NUM_CARDS)) == 32
    assert set_worth(ALL_CARDS) == 32
    assert [set_worth(suit_set(suit)) for suit in range(4)] == [8, 8, 8, 8]


@given(CARD_SETS)
def test_a_set_is_worth_what_its_cards_are_worth_in_whole_thirds(cards: int) -> None:
    worth = set_worth(cards)
    assert worth == sum(WORTH[card_text(card)[0]] for card in card_list(cards))
    assert type(worth) is int


def test_any_six_court_cards_are_exactly_two_points() -> None:
    courts = [parse_card(rank + suit) for rank in "JQK" for suit in "DCSB"]
    for pile in itertools.combinations(courts, 6):
        assert set_worth(card_set(pile)) == 6
        assert set_worth(card_set(pile)) // 3 == 2


@given(CARD_SETS)
def test_sets_and_lists_of_cards_go_there_and_back(cards: int) -> None:
    assert card_set(card_list(cards)) == cards
    assert card_list(cards) == sorted(card_list(cards))
    assert bit_count(cards) == cards.bit_count() == len(card_list(cards))


@given(st.permutations(range(NUM_CARDS)), st.integers(0, NUM_CARDS))
def test_a_hand_is_sorted_by_suit_then_from_the_three_to_the_four(
    deck: list[int], size: int
) -> None:
    hand = deck[:size]
    in_order = [rank + suit for suit in "DCSB" for rank in STRONGEST_FIRST]
    expected = [text for text in in_order if parse_card(text) in hand]
    assert [card_text(card) for card in sort_cards(hand)] == expected


def test_a_whole_suit_sorts_as_players_hold_it() -> None:
    cards = [parse_card(rank + suit) for suit in "DCSB" for rank in STRONGEST_FIRST]
    mixed = random.Random(0).sample(cards, NUM_CARDS)
    assert sort_cards(mixed) == cards


@pytest.mark.parametrize("wrong", [-1, 40, 41, 1000])
def test_a_number_that_is_no_card_is_refused(wrong: int) -> None:
    with pytest.raises(DeckError, match=f"expected card numbers 0 to 39, got {wrong}"):
        card_set([3, wrong])


def test_the_same_card_twice_in_a_set_is_refused() -> None:
    with pytest.raises(DeckError, match="expected different cards, got card 7 twice") as caught:
        card_set([7, 3, 7])
    assert isinstance(caught.value, TressetteError)
    assert isinstance(caught.value, ValueError)
