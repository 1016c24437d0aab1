"""The compiled search for the last draws: two seats, every card and the stock's order known.

Trick by trick like ``solver_search``, whose ``takes`` answers once the stock is empty: "does the
leader take at least so many of the thirds that are left?". Each trick ends with two draws, the
winner's first (R8). ``docs/solver.md`` has the method.

Names as there; further ``stock`` (int64[M], top card first), ``place`` the next card to draw,
``follow`` 1 where suit must be followed while the stock lasts (R6), ``seen`` the int64 table of
``new_open_table``, ``scratch`` the int64[M / 2 + 1, 2, 20] of ``new_scratch``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tressette_agents import solver_kernels, solver_search, solver_table
from tressette_agents.solver_kernels import guess
from tressette_agents.solver_search import takes
from tressette_agents.solver_table import (
    ACES,
    BLANKS,
    ONES,
    cheapest_of,
    dearest_of,
    lowest_bit,
    suit_around,
    worth_of,
)
from tressette_env import cards
from tressette_env.cards import bit_count, set_worth, suit_set
from tressette_env.compiling import compiled

__all__ = [
    "NODES",
    "best_among",
    "legal_set",
    "new_open_table",
    "new_scratch",
    "next_stock",
    "open_takes",
]

Function = TypeVar("Function", bound=Callable[..., Any])

# Places of the table of positions before its entries; each entry is two numbers.
NODES = 0  # positions searched while the stock lasts
INDEX_BITS = 1
STOCK_NUMBER = 2  # tells the positions of one stock from those of another
HEADER = 3
MAX_STOCKS = 1 << 20

_SHIFT = 40  # a move is a score above a set of one card
_SCORE_BASE = 128  # keeps scores positive


def _compiled(function: Function) -> Function:
    return compiled(
        function, sys.modules[__name__], solver_kernels, solver_search, solver_table, cards
    )


def new_open_table(index_bits: int) -> npt.NDArray[np.int64]:
    """Return an empty table for ``2**index_bits`` positions, 16 bytes each.

    An entry holds the leader's hand and the stock's number; the other hand, the place in the
    stock and, in 6 bits each, an upper and a lower bound on the thirds that the leader takes.
    """
    table = np.full(HEADER + (2 << index_bits), -1, np.int64)
    table[NODES] = 0
    table[INDEX_BITS] = index_bits
    table[STOCK_NUMBER] = 0
    return table


def new_scratch(stock_size: int) -> npt.NDArray[np.int64]:
    """Return room for the moves of every trick: leads, then replies."""
    return np.zeros((stock_size // 2 + 1, 2, 20), np.int64)


@_compiled
def _entry_of(own: int, other: int, place: int, stock_number: int, index_bits: int) -> int:
    """Place of a position in the table; products of 31-bit numbers do not overflow."""
    word = ((own ^ own >> 20) & 0x7FFFFFFF) * 0x2545F491
    word ^= ((other ^ other >> 17) & 0x7FFFFFFF) * 0x1B873593
    word ^= (own >> 9 & 0x7FFFFFFF) * 0x19D699A5
    word ^= (other >> 9 & 0x7FFFFFFF) * 0x2C1B3C6D
    word ^= (stock_number << 4 | place) * 0x3C6EF372
    return HEADER + 2 * ((word ^ word >> 23 ^ word >> 41) & (1 << index_bits) - 1)


@_compiled
def best_among(hand: int, legal: int, live: int, other: int, led: int, follow: int) -> int:
    """Cards among which a best one is sure to be, of a player to lead (``led`` 0) or to reply.

    ``live`` are the cards still in play, the stock and the led card included. Of the cards of a
    run (neighbours among these) the dearest is best for a trick that is sure to be won, the
    cheapest for one that is lost; else one of each worth.
    """
    chosen = 0
    for suit in range(cards.NUM_SUITS):
        mine = legal & suit_set(suit)
        others = live & suit_set(suit) & ~hand
        against = other & suit_set(suit)
        while mine:
            weakest = lowest_bit(mine)
            above = others & ~(weakest | (weakest - 1))
            run = mine & lowest_bit(above) - 1 if above else mine
            mine ^= run
            if led:
                wins = bool(run & suit_around(led)) and weakest > led
                chosen |= dearest_of(run) if wins else cheapest_of(run)
            elif weakest > against:
                chosen |= dearest_of(run)
            elif follow and run < lowest_bit(against):
                chosen |= cheapest_of(run)
            else:
                chosen |= lowest_bit(run & BLANKS) | lowest_bit(run & ONES) | run & ACES
    return chosen


@_compiled
def legal_set(hand: int, led: int, follow: int) -> int:
    """Legal cards while the stock lasts (R6); ``led`` is a set of one card, or 0."""
    same_suit = hand & suit_around(led) if led and follow else 0
    return same_suit if same_suit else hand


@_compiled
def _after(own: int, other: int, place: int, card: int, reply: int, stock: Any, rows: Any) -> int:
    """Guess of the leader's thirds from a trick on, but for a number that is equal for all."""
    gain = worth_of(card) + worth_of(reply)
    own ^= card
    other ^= reply
    if reply & suit_around(card) and reply > card:
        other |= 1 << stock[place]
        own |= 1 << stock[place + 1]
        return set_worth(own | other) - guess(other, own, rows) - gain
    own |= 1 << stock[place]
    other |= 1 << stock[place + 1]
    return gain + guess(own, other, rows)


@_compiled
def _sort_moves(moves: Any, count: int) -> None:
    """Sort the first ``count`` moves, the highest score first."""
    for place in range(1, count):
        move = moves[place]
        before = place - 1
        while before >= 0 and moves[before] < move:
            moves[before + 1] = moves[before]
            before -= 1
        moves[before + 1] = move


@_compiled
def _fill_replies(
    own: int,
    other: int,
    place: int,
    card: int,
    live: int,
    follow: int,
    stock: Any,
    rows: Any,
    moves: Any,
) -> int:
    """Put the replies to a lead into ``moves``, scored by what they leave the leader; count them.

    ``own`` still holds the led card, a set of one card like the moves.
    """
    legal = legal_set(other, card, follow)
    chosen = best_among(other, legal, live, 0, card, follow)
    count = 0
    while chosen:
        reply = lowest_bit(chosen)
        chosen ^= reply
        score = _SCORE_BASE - _after(own, other, place, card, reply, stock, rows)
        moves[count] = score << _SHIFT | reply
        count += 1
    return count


@_compiled
def _fill_leads(
    own: int, other: int, place: int, live: int, follow: int, stock: Any, rows: Any, scratch: Any
) -> int:
    """Put the leads into ``scratch``, scored by the worst reply to each; count them."""
    chosen = best_among(own, own, live, other, 0, follow)
    count = 0
    while chosen:
        card = lowest_bit(chosen)
        chosen ^= card
        replies = _fill_replies(own, other, place, card, live, follow, stock, rows, scratch[1])
        highest = 0
        for reply in range(replies):
            highest = max(highest, scratch[1, reply] >> _SHIFT)
        scratch[0, count] = (2 * _SCORE_BASE - highest) << _SHIFT | card
        count += 1
    return count


@_compiled
def open_takes(
    own: int,
    other: int,
    place: int,
    target: int,
    rest: int,
    follow: int,
    stock: Any,
    rows: Any,
    table: Any,
    seen: Any,
    scratch: Any,
) -> bool:
    """Whether the leader takes at least ``target`` of the thirds that are left, 1 to ``rest``."""
    if place == len(stock):
        return takes(own, other, target, rest, bit_count(own), rows, table)
    seen[NODES] += 1
    first = own | seen[STOCK_NUMBER] << 40
    entry = _entry_of(own, other, place, seen[STOCK_NUMBER], seen[INDEX_BITS])
    lower = 0
    upper = rest
    second = seen[entry + 1]
    if seen[entry] == first and second & (1 << 45) - 1 == other | place << 40:
        lower = second >> 45 & 63
        upper = second >> 51
        if lower >= target:
            return True
        if upper < target:
            return False

    live = own | other
    for drawn in range(place, len(stock)):
        live |= 1 << stock[drawn]
    depth = place // 2
    leads = _fill_leads(own, other, place, live, follow, stock, rows, scratch[depth])
    _sort_moves(scratch[depth, 0], leads)
    result = False
    for lead in range(leads):
        card = scratch[depth, 0, lead] & cards.ALL_CARDS
        replies = _fill_replies(
            own, other, place, card, live, follow, stock, rows, scratch[depth, 1]
        )
        _sort_moves(scratch[depth, 1], replies)
        result = True
        for number in range(replies):
            reply = scratch[depth, 1, number] & cards.ALL_CARDS
            gain = worth_of(card) + worth_of(reply)
            left = rest - gain
            winners_card = 1 << stock[place]
            losers_card = 1 << stock[place + 1]
            if reply & suit_around(card) and reply > card:
                # The follower leads next and must be kept to ``left - target``.
                if left < target:
                    result = False
                else:
                    result = not open_takes(
                        other ^ reply | winners_card,
                        own ^ card | losers_card,
                        place + 2,
                        left - target + 1,
                        left,
                        follow,
                        stock,
                        rows,
                        table,
                        seen,
                        scratch,
                    )
            elif target > gain:
                result = open_takes(
                    own ^ card | winners_card,
                    other ^ reply | losers_card,
                    place + 2,
                    target - gain,
                    left,
                    follow,
                    stock,
                    rows,
                    table,
                    seen,
                    scratch,
                )
            if not result:
                break
        if result:
            break
    if result:
        lower = target
    else:
        upper = target - 1
    seen[entry] = first
    seen[entry + 1] = other | place << 40 | lower << 45 | upper << 51
    return result


@_compiled
def next_stock(seen: Any) -> None:
    """Tell the positions to come from those of the stocks before; sometimes empties the table."""
    seen[STOCK_NUMBER] += 1
    if seen[STOCK_NUMBER] == MAX_STOCKS:
        seen[HEADER:] = -1
        seen[STOCK_NUMBER] = 0
