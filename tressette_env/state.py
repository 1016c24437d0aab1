"""The state of one table: every field once, with its unit.

The compiled functions work on rows of ``STATE_DTYPE``; the interpreted rules work on a ``State``,
a plain object with the same attributes. A batch is an array of rows, a snapshot is a copy of a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["STATE_DTYPE", "State", "new_state", "state_from_record", "state_to_record"]

STATE_DTYPE = np.dtype(
    [
        ("hands", np.int64, 4),  # card set held by each seat
        ("played", np.int64, 4),  # card set played by each seat, cards on the table included
        ("known", np.int64),  # card set: cards in hands that every seat knows (shown draws, R9)
        ("deal_number", np.int64),  # which deal of the seed's stream; -1: a deck given by hand
        ("plays", np.int8, 40),  # cards in the order played; 0 from ``ply`` on
        ("stock", np.int8, 20),  # cards to draw, top card first
        ("ply", np.int8),  # cards played in this deal
        ("turn", np.int8),  # seat to act
        ("leader", np.int8),  # seat that led, or leads, the current trick
        ("drawn", np.int8),  # cards drawn from the stock
        ("dealer", np.int8),  # seat that dealt; the seat after it led the first trick (R14)
        ("match_result", np.int8),  # 0: undecided; 1, 2: side 0, 1 has won; 3: drawn (R13)
        ("thirds", np.int8, 2),  # thirds taken by each side in this deal
        ("voids", np.uint8, 4),  # for each seat, bit suit set: certainly holds none of the suit
        ("totals", np.int16, 2),  # match total of each side before this deal, in the scoring's unit
        ("declared", np.uint8, 4),  # for each seat, combinations declared (R15); not played yet
    ]
)


class State:
    """A table's state as a plain object, for the interpreted rules; same fields as a record."""

    __slots__ = tuple(STATE_DTYPE.names or ())

    hands: list[int]
    played: list[int]
    known: int
    deal_number: int
    plays: list[int]
    stock: list[int]
    ply: int
    turn: int
    leader: int
    drawn: int
    dealer: int
    match_result: int
    thirds: list[int]
    voids: list[int]
    totals: list[int]
    declared: list[int]

    def __init__(self) -> None:
        for name, (field, _) in _fields():
            shape = field.shape
            setattr(self, name, [0] * shape[0] if shape else 0)


def _fields() -> Any:
    assert STATE_DTYPE.fields is not None
    return STATE_DTYPE.fields.items()


def new_state() -> State:
    """Return an empty interpreted state, to be filled by ``rules.deal``."""
    return State()


def state_to_record(state: State) -> np.recarray[Any, Any]:
    """Copy an interpreted state into a record array of one row."""
    rows = np.zeros(1, STATE_DTYPE).view(np.recarray)
    for name, _ in _fields():
        rows[0][name] = getattr(state, name)
    return rows


def state_from_record(row: np.void) -> State:
    """Copy one row of ``STATE_DTYPE`` into an interpreted state."""
    state = State()
    for name, _ in _fields():
        setattr(state, name, row[name].tolist())
    return state
