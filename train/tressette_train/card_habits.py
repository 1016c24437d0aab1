"""The habits that ``tressette habits`` counts: what a card does, in words that players use.

A habit is a set of cards, given the situation: the cards that count as doing it, among those that
may be played. It is counted only where there was a choice, where some legal card does it and
another does not; so every share has one to be held against, that of a card drawn at random.

Shapes: B decisions. Card sets are int64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tressette_env.cards import NUM_CARDS, NUM_SUITS, card_set, card_worth, suit_set
from tressette_env.rulesets import RuleSet

__all__ = [
    "HABITS",
    "HOLDINGS",
    "RANK_CLASSES",
    "Habit",
    "Situations",
    "class_of_card",
    "holding_of_suit",
    "situations",
]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_WORTH = np.array([card_worth(card) for card in range(NUM_CARDS)])  # thirds
_SUIT_SETS = np.array([suit_set(suit) for suit in range(NUM_SUITS)], np.int64)


def _ranks(*strengths: int) -> int:
    return card_set(10 * suit + strength for suit in range(NUM_SUITS) for strength in strengths)


_THREES, _TWOS, _ACES = _ranks(9), _ranks(8), _ranks(7)
#: Cards of a deck by what they are good for; a figure is worth a third, a blank nothing (R3).
RANK_CLASSES = {
    "3": _THREES,
    "2": _TWOS,
    "ace": _ACES,
    "figure": _ranks(4, 5, 6),
    "blank": _ranks(0, 1, 2, 3),
}
_CLASS_SETS = np.array(list(RANK_CLASSES.values()), np.int64)
_THIRDS = _ACES | _THREES | _TWOS | RANK_CLASSES["figure"]
#: What of the three strongest cards a suit holds: bit 0 the 3, bit 1 the 2, bit 2 the ace.
HOLDINGS = ("none", "3", "2", "3 2", "ace", "3 ace", "2 ace", "3 2 ace")


@dataclass(frozen=True)
class Situations:
    """What some seats had before them when they were to act.

    Attributes
    ----------
    hand, legal : int64[B]
    is_lead : bool[B]
        Nothing is on the table.
    led : int64[B]
        Card set of the suit led, empty when leading.
    beating : int64[B]
        Cards that would take the lead in the trick; all cards when leading.
    partner_wins : bool[B]
        The best card on the table is the partner's.
    table_thirds : int64[B]
        Worth of the cards on the table.
    """

    hand: IntArray
    legal: IntArray
    is_lead: BoolArray
    led: IntArray
    beating: IntArray
    partner_wins: BoolArray
    table_thirds: IntArray

    @property
    def follows(self) -> BoolArray:
        """Whether the seat holds the suit led, bool[B]."""
        return np.asarray((self.hand & self.led) != 0)

    def suits(self) -> IntArray:
        """Cards held of each suit, int64[B, 4]."""
        return self.hand[:, None] & _SUIT_SETS


def situations(views: npt.NDArray[np.void], rules: RuleSet) -> Situations:
    """Read situations from views (VIEW_DTYPE[B]) of seats to act."""
    ply, size = (views[name].astype(np.int64) for name in ("ply", "table_size"))
    rows = np.arange(len(views))
    best = views["plays"][rows, np.maximum(ply - size, 0)].astype(np.int64)
    led = np.where(size > 0, _SUIT_SETS[best // 10], 0)
    thirds, winner = np.zeros((2, len(views)), np.int64)
    for place in range(rules.seats - 1):
        is_there = place < size
        card = views["plays"][rows, np.where(is_there, ply - size + place, 0)].astype(np.int64)
        wins = is_there & (led >> card & 1 == 1) & (card >= best)
        best, winner = np.where(wins, card, best), np.where(wins, place, winner)
        thirds += np.where(is_there, _WORTH[card], 0)
    beating = np.where(size > 0, led & -(np.int64(2) << best), -1)
    return Situations(
        hand=views["hand"].astype(np.int64),
        legal=views["legal"].astype(np.int64),
        is_lead=size == 0,
        led=led,
        beating=beating,
        partner_wins=(size > 0) & (rules.seats == 4) & ((size - winner) % 2 == 0),
        table_thirds=thirds,
    )


def holding_of_suit(cards: IntArray) -> IntArray:
    """Places in ``HOLDINGS`` of cards of one suit each (int64[...])."""
    three, two, ace = ((cards & ranks != 0).astype(np.int64) for ranks in (_THREES, _TWOS, _ACES))
    return np.asarray(three | two << 1 | ace << 2)


def class_of_card(cards: IntArray) -> IntArray:
    """Places in ``RANK_CLASSES`` of card numbers (int64[N])."""
    return np.asarray((_CLASS_SETS >> cards[:, None] & 1).argmax(1))


@dataclass(frozen=True)
class Habit:
    """One thing to do or not to do.

    Attributes
    ----------
    group : {"leads", "follows", "discards"}
    name : str
        What is done, to be read after the group's name.
    cards : callable
        Situations -> int64[B], the card set that does it; empty where the habit does not apply.
    """

    group: str
    name: str
    cards: Callable[[Situations], IntArray]


def _leads(cards: int) -> Callable[[Situations], IntArray]:
    return lambda now: np.where(now.is_lead, cards, 0)


def _from_length(least: int, most: int) -> Callable[[Situations], IntArray]:
    def cards(now: Situations) -> IntArray:
        suits = now.suits()
        lengths = np.bitwise_count(suits)
        is_so_long = (lengths >= least) & (lengths <= most)
        return np.asarray(np.where(is_so_long & now.is_lead[:, None], suits, 0).sum(1))

    return cards


def _from_holding(holding: str) -> Callable[[Situations], IntArray]:
    def cards(now: Situations) -> IntArray:
        suits = now.suits()
        holds = holding_of_suit(suits) == HOLDINGS.index(holding)
        return np.asarray(np.where(holds & now.is_lead[:, None], suits, 0).sum(1))

    return cards


def _takes(least: int, most: int) -> Callable[[Situations], IntArray]:
    """Take the trick from an opponent, where the table holds so many thirds."""

    def cards(now: Situations) -> IntArray:
        on_table = (now.table_thirds >= least) & (now.table_thirds <= most)
        return np.where(now.follows & ~now.partner_wins & on_table, now.beating, 0)

    return cards


def _ace_takes(now: Situations) -> IntArray:
    return np.where(now.follows & ~now.partner_wins, now.beating & now.led & _ACES, 0)


def _ace_falls(now: Situations) -> IntArray:
    return np.where(now.follows & ~now.partner_wins, ~now.beating & now.led & _ACES, 0)


def _discards(cards: int, to_partner: bool = False) -> Callable[[Situations], IntArray]:
    """Discard one of some cards, void in the suit led, on whose trick."""

    def chosen(now: Situations) -> IntArray:
        is_void = ~now.is_lead & ~now.follows & (now.partner_wins == to_partner)
        return np.where(is_void, cards, 0)

    return chosen


def _from_shortest(now: Situations) -> IntArray:
    suits = now.suits()
    lengths = np.bitwise_count(suits).astype(np.int64)
    shortest = np.where(lengths > 0, lengths, 99).min(1)
    cards = np.where(lengths == shortest[:, None], suits, 0).sum(1)
    return np.where(~now.is_lead & ~now.follows, cards, 0)


def _follows_partner(now: Situations) -> IntArray:
    return np.where(now.follows & now.partner_wins, now.led & _THIRDS, 0)


def _off_suit(now: Situations) -> IntArray:
    return np.where(now.follows, ~now.led, 0)


HABITS: Sequence[Habit] = (
    Habit("leads", "a 3", _leads(_THREES)),
    Habit("leads", "a 2", _leads(_TWOS)),
    Habit("leads", "an ace", _leads(_ACES)),
    Habit("leads", "a figure", _leads(RANK_CLASSES["figure"])),
    Habit("leads", "a blank", _leads(RANK_CLASSES["blank"])),
    Habit("leads", "from a single card", _from_length(1, 1)),
    Habit("leads", "from two cards", _from_length(2, 2)),
    Habit("leads", "from three cards", _from_length(3, 3)),
    Habit("leads", "from four cards", _from_length(4, 4)),
    Habit("leads", "from five cards or more", _from_length(5, 10)),
    Habit("leads", "from a suit with 3, 2, ace", _from_holding("3 2 ace")),
    Habit("leads", "from a suit with 3, 2", _from_holding("3 2")),
    Habit("leads", "from a suit with 3, ace", _from_holding("3 ace")),
    Habit("leads", "from a suit with 2, ace", _from_holding("2 ace")),
    Habit("leads", "from a suit with the 3 alone", _from_holding("3")),
    Habit("leads", "from a suit with the 2 alone", _from_holding("2")),
    Habit("leads", "from a suit with the ace alone", _from_holding("ace")),
    Habit("leads", "from a suit without them", _from_holding("none")),
    Habit("follows", "takes a trick of no thirds", _takes(0, 0)),
    Habit("follows", "takes one of 1 or 2 thirds", _takes(1, 2)),
    Habit("follows", "takes one of 3 thirds or more", _takes(3, 99)),
    Habit("follows", "takes it with the ace", _ace_takes),
    Habit("follows", "loses the ace, not a lesser card", _ace_falls),
    Habit("follows", "gives its partner thirds", _follows_partner),
    Habit("follows", "plays another suit, though it could", _off_suit),
    Habit("discards", "an ace", _discards(_ACES)),
    Habit("discards", "a 3 or 2", _discards(_THREES | _TWOS)),
    Habit("discards", "a figure", _discards(RANK_CLASSES["figure"])),
    Habit("discards", "a blank", _discards(RANK_CLASSES["blank"])),
    Habit("discards", "from its shortest suit", _from_shortest),
    Habit("discards", "thirds on its partner's trick", _discards(_THIRDS, to_partner=True)),
)
