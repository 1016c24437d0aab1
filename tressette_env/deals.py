"""Seeded decks: deal number k of a seed is the same deck on every machine.

A deck depends on nothing but the seed and the deal's number: not on what was played before, nor on
how many tables play at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from itertools import islice
from typing import Any

import numpy as np

from tressette_env.cards import NUM_CARDS
from tressette_env.errors import DeckError, OptionError, shown
from tressette_env.randomness import stream_next, stream_output, threefry
from tressette_env.rulesets import RuleSet

__all__ = ["check_deck", "check_leader", "deck_of", "first_leader", "leader_from", "shuffle"]

_WORD = 0xFFFFFFFF
_LANE = 1 << 30  # in the counter's high word: which pair of words of a deal


def shuffle(deck: Any, size: int, seed: int, deal_number: int) -> int:
    """Shuffle the first ``size`` entries of ``deck`` in place (Fisher-Yates).

    Each word of the stream places two cards; a place's probability is off by less than
    ``40 * 39 / 2**32``.

    Returns
    -------
    int
        One more random word (32 bits), for the leader.
    """
    key_0, key_1 = seed & _WORD, seed >> 32
    low, high = deal_number & _WORD, deal_number >> 32
    s0, s1 = threefry(key_0, key_1, low, high)
    s2, s3 = threefry(key_0, key_1, low, high + _LANE)
    fraction = 0
    for last in range(size - 1, 0, -1):
        if (size - last) & 1:
            fraction = stream_output(s0, s3)
            s0, s1, s2, s3 = stream_next(s0, s1, s2, s3)
        product = fraction * (last + 1)
        place = product >> 32
        fraction = product & _WORD
        card = deck[place]
        deck[place] = deck[last]
        deck[last] = card
    return stream_output(s0, s3)


def leader_from(word: int, seats: int) -> int:
    """Seat that leads if nobody dealt before (R14), from a random word (32 bits)."""
    return word * seats >> 32


def first_leader(rules: RuleSet, seed: int, deal_number: int) -> int:
    """Seat that leads deal number ``deal_number`` of a seed if nobody dealt before it (R14)."""
    deck = list(rules.deck)
    return leader_from(shuffle(deck, len(deck), seed, deal_number), rules.seats)


def deck_of(rules: RuleSet, seed: int, deal_number: int) -> tuple[int, ...]:
    """Deck number ``deal_number`` of a seed: hands seat by seat, then the stock, top card first."""
    deck = list(rules.deck)
    shuffle(deck, len(deck), seed, deal_number)
    return tuple(deck)


def check_deck(deck: Iterable[object], rules: RuleSet) -> tuple[int, ...]:
    """Return the deck as a tuple of ints.

    Raises
    ------
    DeckError
        If it is not every card of the rule set exactly once.
    """
    if not isinstance(deck, Iterable) or isinstance(deck, str | bytes | Set | Mapping):
        raise DeckError(
            f"deck: expected {rules.deck_size} card numbers in order, got {type(deck).__name__}"
        )
    given = list(islice(deck, 4 * NUM_CARDS))  # enough to say what is wrong with an endless one
    where = f"deck for {rules.name!r}"
    for place, card in enumerate(given):
        is_integer = isinstance(card, (int, np.integer)) and not isinstance(card, bool)
        if not is_integer or int(card) not in rules.deck:  # type: ignore[call-overload]
            raise DeckError(
                f"{where}: expected card numbers (integers) from {_ranges(rules.deck)}, "
                f"got {shown(card)} at place {place}"
            )
    cards = [int(card) for card in given]  # type: ignore[call-overload]
    for place, card in enumerate(cards):
        if card in cards[:place]:
            raise DeckError(
                f"{where}: expected each card once, card {card} stands at places "
                f"{cards.index(card)} and {place}"
            )
    if len(cards) != rules.deck_size:
        missing = sorted(set(rules.deck) - set(cards))
        raise DeckError(
            f"{where}: expected {rules.deck_size} cards, got {len(cards)}; missing: "
            f"{', '.join(map(str, missing))}"
        )
    return tuple(cards)


def check_leader(leader: object, rules: RuleSet, name: str = "leader") -> int:
    """Return the leader's seat as an int.

    Raises
    ------
    OptionError
        If it is not a seat of the rule set.
    """
    is_integer = isinstance(leader, (int, np.integer)) and not isinstance(leader, bool)
    if not is_integer or leader not in range(rules.seats):
        raise OptionError(f"{name}: expected a seat, 0 to {rules.seats - 1}; got {shown(leader)}")
    return int(leader)  # type: ignore[call-overload, no-any-return]


def _ranges(deck: tuple[int, ...]) -> str:
    if len(deck) == NUM_CARDS:
        return f"0 to {NUM_CARDS - 1}"
    return ", ".join(map(str, deck))
