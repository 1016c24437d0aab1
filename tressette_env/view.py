"""What one seat may know: the only door from a state to an agent.

Seats in a view are relative: 0 is the viewer, 1 the seat that plays after it, and so on; with four
seats 2 is the partner. Permuting the cards that the seat cannot see leaves its view unchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env.cards import ALL_CARDS, card_list, suit_of
from tressette_env.rules import is_over, legal_cards, side_of, table_size
from tressette_env.rulesets import RuleSet

__all__ = ["VIEW_DTYPE", "View", "copy_plays", "make_view", "seat_of_play", "view_of"]

VIEW_DTYPE = np.dtype(
    [
        ("hand", np.int64),  # card set held
        ("legal", np.int64),  # card set that may be played now; empty when not to act
        ("played", np.int64, 4),  # for each relative seat, card set played in this deal
        ("known", np.int64, 4),  # for each relative seat, cards in its hand that all seats know
        ("unseen", np.int64),  # card set neither held, nor played, nor known: where, is hidden
        ("plays", np.int8, 40),  # cards in the order played; 0 from ``ply`` on
        ("seat", np.int8),  # the viewer's seat at the table
        ("ply", np.int8),  # cards played in this deal
        ("table_size", np.int8),  # cards on the table: the last ``table_size`` plays
        ("turn", np.int8),  # relative seat to act
        ("leader", np.int8),  # relative seat that led, or leads, the current trick
        ("stock_left", np.int8),  # cards still to be drawn
        ("thirds", np.int8, 2),  # thirds taken in this deal: own side, other side
        ("voids", np.uint8, 4),  # for each relative seat, bit suit set: certainly none of it
        ("totals", np.int16, 2),  # match totals before this deal: own side, other side
        ("declared", np.uint8, 4),  # for each relative seat, combinations declared (R17)
    ]
)


class View:
    """A view as a plain object: the fields of ``VIEW_DTYPE``, and the rule set.

    Agents written in Python get one of these. All card sets are integers (bit ``card`` set).
    """

    __slots__ = ("rules", *(VIEW_DTYPE.names or ()))

    rules: RuleSet
    hand: int
    legal: int
    played: list[int]
    known: list[int]
    unseen: int
    plays: list[int]
    seat: int
    ply: int
    table_size: int
    turn: int
    leader: int
    stock_left: int
    thirds: list[int]
    voids: list[int]
    totals: list[int]
    declared: list[int]

    def __init__(self, rules: RuleSet) -> None:
        assert VIEW_DTYPE.fields is not None
        self.rules = rules
        for name, (field, *_) in VIEW_DTYPE.fields.items():
            setattr(self, name, [0] * field.shape[0] if field.shape else 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, View):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in View.__slots__)

    __hash__ = None  # type: ignore[assignment]

    @property
    def legal_cards(self) -> list[int]:
        """Card numbers that may be played now, ascending."""
        return card_list(self.legal)

    @property
    def hand_cards(self) -> list[int]:
        """Card numbers held, ascending."""
        return card_list(self.hand)

    @property
    def table(self) -> list[int]:
        """Cards of the current trick in the order played, the led card first."""
        return self.plays[self.ply - self.table_size : self.ply]

    @property
    def led_suit(self) -> int | None:
        """Suit of the led card; None when leading."""
        return suit_of(self.table[0]) if self.table_size else None

    @classmethod
    def from_record(cls, row: np.void, rules: RuleSet) -> View:
        """Copy one row of ``VIEW_DTYPE``."""
        view = cls(rules)
        for name in VIEW_DTYPE.names or ():
            setattr(view, name, row[name].tolist())
        return view

    def to_record(self) -> npt.NDArray[np.void]:
        """Copy the view into an array of one row of ``VIEW_DTYPE``."""
        rows = np.zeros(1, VIEW_DTYPE)
        for name in VIEW_DTYPE.names or ():
            rows[name] = getattr(self, name)
        return rows


def make_view(state: Any, rules: Any, seat: int, view: Any) -> None:
    """Write what ``seat`` may know into ``view`` (a ``View`` or a record of ``VIEW_DTYPE``)."""
    seats = rules.seats
    hand = state.hands[seat]
    seen = hand
    for relative in range(4):
        if relative < seats:
            other = seat + relative & seats - 1
            known = state.known & state.hands[other]
            view.played[relative] = state.played[other]
            view.known[relative] = known
            view.voids[relative] = state.voids[other]
            view.declared[relative] = state.declared[other]
            seen |= state.played[other] | known
        else:
            view.played[relative] = 0
            view.known[relative] = 0
            view.voids[relative] = 0
            view.declared[relative] = 0
    view.hand = hand
    view.unseen = rules.deck_set & ~seen & ALL_CARDS
    to_act = state.turn == seat and not is_over(state, rules)
    view.legal = legal_cards(state, rules) if to_act else 0
    copy_plays(state.plays, view.plays)
    view.seat = seat
    view.ply = state.ply
    view.table_size = table_size(state, rules)
    view.turn = state.turn - seat & seats - 1
    view.leader = state.leader - seat & seats - 1
    view.stock_left = rules.stock_size - state.drawn
    side = side_of(seat)
    view.thirds[0] = state.thirds[side]
    view.thirds[1] = state.thirds[1 - side]
    view.totals[0] = state.totals[side]
    view.totals[1] = state.totals[1 - side]


def copy_plays(source: Any, target: Any) -> None:
    """Copy the forty plays of a state or view into another."""
    target[:] = source


def seat_of_play(view: Any, card: int) -> int:
    """Relative seat that played a card; -1 if nobody has."""
    for relative in range(4):
        if view.played[relative] >> card & 1:
            return relative
    return -1


def view_of(state: Any, rules: RuleSet, seat: int) -> View:
    """Return a new ``View`` of an interpreted state for ``seat``."""
    view = View(rules)
    make_view(state, rules, seat, view)
    return view
