"""The compiled search for endings with the stock empty: two seats, thirds, suit must be followed.

Every question is "does the leader take at least so many of the thirds that are left?" (a zero
window). An answer is a bound on the value, kept in a transposition table. What is left is worth a
known sum, so that a bound for one player is one for the other. ``docs/solver.md`` has the method.

Importing this module loads numba; the first call on a fresh machine compiles for some seconds.
Names: ``own`` and ``other`` are the card sets of leader and follower, ``rest`` the thirds left, the
last trick's included, ``count`` the cards in each hand, ``rows`` the int64[59049, 2] of
``suit_rows``, ``table`` the int64[2 + entries] of ``new_table``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tressette_agents import solver_table
from tressette_agents.solver_table import (
    ACES,
    BLANKS,
    CLASS_BITS,
    NUM_CLASSES,
    NUM_SUIT_CASES,
    ONES,
    ROW_COLUMNS,
    SHAPE,
    SUMS,
    cheapest_of,
    dearest_of,
    ending_key,
    entry_of,
    fill_suit_rows,
    suit_around,
    suit_case,
    worth_of,
)
from tressette_env import cards
from tressette_env.cards import suit_set
from tressette_env.compiling import compiled

__all__ = ["NODES", "new_table", "suit_rows", "takes"]

Function = TypeVar("Function", bound=Callable[..., Any])

# Places of a transposition table before its entries.
NODES = 0  # positions searched
INDEX_BITS = 1
HEADER = 2


def _compiled(function: Function) -> Function:
    return compiled(function, sys.modules[__name__], solver_table, cards)


_fill_suit_rows = _compiled(fill_suit_rows)


def suit_rows() -> npt.NDArray[np.int64]:
    """Return the table of suits, int64[59049, 2]; some milliseconds."""
    rows = np.zeros((NUM_SUIT_CASES, ROW_COLUMNS), np.int64)
    codes = np.zeros(NUM_SUIT_CASES, np.int64)
    _fill_suit_rows(rows, codes)
    different, classes = np.unique(codes, return_inverse=True)
    assert len(different) == NUM_CLASSES
    rows[:, SHAPE] |= classes
    return rows


def new_table(index_bits: int) -> npt.NDArray[np.int64]:
    """Return an empty transposition table for ``2**index_bits`` positions, 8 bytes each.

    Entry ``index`` holds ``key >> index_bits`` and, in 6 bits each, an upper and a lower bound on
    the thirds that the leader takes. Index and entry together give the whole key: no position is
    taken for another.
    """
    table = np.full(HEADER + (1 << index_bits), -1, np.int64)
    table[NODES] = 0
    table[INDEX_BITS] = index_bits
    return table


@_compiled
def _spread(shape_0: int, shape_1: int, shape_2: int, shape_3: int, place: int) -> int:
    """Return set number ``place`` of the four suits' moves, as a set of cards."""
    shift = CLASS_BITS + 10 * place
    return (
        (shape_0 >> shift & 0x3FF)
        | (shape_1 >> shift & 0x3FF) << 10
        | (shape_2 >> shift & 0x3FF) << 20
        | (shape_3 >> shift & 0x3FF) << 30
    )


@_compiled
def _spare_cards(moves: int, opponent: int, dearest: bool) -> int:
    """Return the moves from a pool (suits that the opponent does not hold) but one to try."""
    pool = 0
    for suit in range(cards.NUM_SUITS):
        if not opponent & suit_set(suit):
            pool |= moves & suit_set(suit)
    return pool ^ (dearest_of(pool) if dearest else cheapest_of(pool))


@_compiled
def _stage_leads(stage: int, sure: int, leads: int) -> int:
    """Leads to try together, in the order that needed the fewest positions of those measured."""
    if stage == 0:
        return sure & ACES
    if stage == 1:
        return (sure | leads) & ONES
    if stage == 2:
        return leads & ~ONES
    return sure & BLANKS


@_compiled
def lower_bound(sums: int) -> int:
    """Thirds that the leader gets by leading every sure winner, whatever is discarded."""
    discards_with_worth = (sums >> 14 & 127) - (sums >> 21 & 127)
    return (sums >> 7 & 127) + max(0, discards_with_worth)


@_compiled
def takes(own: int, other: int, target: int, rest: int, count: int, rows: Any, table: Any) -> bool:
    """Whether the leader takes at least ``target`` thirds, 1 to ``rest``.

    Once no cards are left, who is on lead won the last trick and takes its thirds.
    """
    table[NODES] += 1
    case_0 = suit_case(own & 0x3FF, other & 0x3FF)
    case_1 = suit_case(own >> 10 & 0x3FF, other >> 10 & 0x3FF)
    case_2 = suit_case(own >> 20 & 0x3FF, other >> 20 & 0x3FF)
    case_3 = suit_case(own >> 30, other >> 30)
    sums = rows[case_0, SUMS] + rows[case_1, SUMS] + rows[case_2, SUMS] + rows[case_3, SUMS]
    if sums & 127 == count or lower_bound(sums) >= target:
        return True
    shape_0 = rows[case_0, SHAPE]
    shape_1 = rows[case_1, SHAPE]
    shape_2 = rows[case_2, SHAPE]
    shape_3 = rows[case_3, SHAPE]
    key = ending_key(shape_0, shape_1, shape_2, shape_3, sums >> 28)
    entry = HEADER + entry_of(key, table[INDEX_BITS])
    key >>= table[INDEX_BITS]
    lower = 0
    upper = rest
    if table[entry] >> 12 == key:
        lower = table[entry] & 63
        upper = table[entry] >> 6 & 63
        if lower >= target:
            return True
        if upper < target:
            return False

    sure = _spread(shape_0, shape_1, shape_2, shape_3, 0)
    leads = _spread(shape_0, shape_1, shape_2, shape_3, 1)
    winning = _spread(shape_0, shape_1, shape_2, shape_3, 2)
    losing = _spread(shape_0, shape_1, shape_2, shape_3, 3)
    if sums >> 28:
        sure ^= _spare_cards(sure, other, True)
        losing ^= _spare_cards(losing, own, False)

    result = False
    for stage in range(4):
        stage_leads = _stage_leads(stage, sure, leads)
        while stage_leads:
            card = stage_leads & -stage_leads
            stage_leads ^= card
            suit = suit_around(card)
            weaker = card - 1  # with numbers below the card's; of its suit, the weaker ones
            replies = losing
            result = True
            if other & suit:
                replies = losing & suit & weaker
                winners = winning & suit & ~weaker
                while winners:
                    reply = winners & -winners
                    winners ^= reply
                    left = rest - worth_of(card) - worth_of(reply)
                    # The follower leads next and must be kept to ``left - target``.
                    if left < target or takes(
                        other ^ reply, own ^ card, left - target + 1, left, count - 1, rows, table
                    ):
                        result = False
                        break
            while result and replies:
                reply = cheapest_of(replies)
                replies ^= reply
                gain = worth_of(card) + worth_of(reply)
                if target > gain:
                    left = rest - gain
                    result = takes(
                        own ^ card, other ^ reply, target - gain, left, count - 1, rows, table
                    )
            if result:
                break
        if result:
            break
    if result:
        lower = target
    else:
        upper = target - 1
    table[entry] = key << 12 | upper << 6 | lower
    return result
