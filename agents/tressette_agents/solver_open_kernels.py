"""The compiled doors of the search for the last draws: values of positions and of every card.

``open_takes`` of ``solver_open_search`` answers yes or no; a few such questions from a guess make a
value (MTD(f), as in ``solver_kernels``). Names as in these modules; it loads numba.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tressette_agents import solver_kernels, solver_open_search, solver_search, solver_table
from tressette_agents.solver_kernels import TO_LEAD, guess
from tressette_agents.solver_open_search import best_among, legal_set, next_stock, open_takes
from tressette_agents.solver_table import dearest_of
from tressette_env import cards
from tressette_env.cards import bit_count, card_worth, set_worth, suit_of
from tressette_env.compiling import compiled
from tressette_env.rulesets import LAST_TRICK_THIRDS

__all__ = ["open_card_values", "open_value", "open_values"]

Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(function: Function) -> Function:
    modules = (solver_kernels, solver_open_search, solver_search, solver_table, cards)
    return compiled(function, sys.modules[__name__], *modules)


@_compiled
def _rest(own: int, other: int, place: int, stock: Any) -> int:
    """Thirds left when a trick begins, stock and last trick included."""
    rest = set_worth(own | other) + LAST_TRICK_THIRDS
    for drawn in range(place, len(stock)):
        rest += card_worth(stock[drawn])
    return rest


@_compiled
def _variable(number: int) -> int:
    """Return a constant as a variable.

    numba compiles a function anew for constants that it is called with; forms of a recursive
    function that call each other cannot be read back from the disk.
    """
    return number + 0


@_compiled
def _leader_value(
    own: int,
    other: int,
    place: int,
    lower: int,
    upper: int,
    follow: int,
    stock: Any,
    rows: Any,
    table: Any,
    seen: Any,
    scratch: Any,
) -> int:
    """Thirds that the leader takes, which are known to lie between two bounds."""
    rest = _rest(own, other, place, stock)
    drawn = rest - _rest(own, other, len(stock), stock)
    target = guess(own, other, rows) + (drawn + 1) // 2
    while lower < upper:
        target = min(max(target, lower + 1), upper)
        if open_takes(own, other, place, target, rest, follow, stock, rows, table, seen, scratch):
            lower = target
            target += 1
        else:
            target -= 1
            upper = target
    return lower


@_compiled
def _reply_value(
    own: int,
    other: int,
    led: int,
    card: int,
    least: int,
    follow: int,
    stock: Any,
    rows: Any,
    table: Any,
    seen: Any,
    scratch: Any,
) -> int:
    """Thirds for a follower who replies ``card`` to ``led`` if more than ``least``.

    Otherwise a number that is not more than ``least``. ``own`` holds the card, ``other`` no longer
    the led one.
    """
    gain = card_worth(led) + card_worth(card)
    own ^= 1 << card
    rest = _rest(own, other, 0, stock)
    place = min(2, len(stock))
    if suit_of(card) == suit_of(led) and card > led:
        if place:
            own |= 1 << stock[0]
            other |= 1 << stock[1]
        lower = min(max(least - gain, 0), rest)
        return gain + _leader_value(
            own, other, place, lower, rest, follow, stock, rows, table, seen, scratch
        )
    if place:
        other |= 1 << stock[0]
        own |= 1 << stock[1]
    # The opponent leads again; more for the follower is less than ``upper`` for the leader.
    upper = max(rest - least, 0)
    return rest - _leader_value(
        other, own, place, 0, upper, follow, stock, rows, table, seen, scratch
    )


@_compiled
def _follower_value(
    own: int,
    other: int,
    led: int,
    least: int,
    follow: int,
    stock: Any,
    rows: Any,
    table: Any,
    seen: Any,
    scratch: Any,
) -> int:
    """Thirds that the follower takes if more than ``least``, the led card's trick included."""
    best = least
    live = own | other | 1 << led
    for drawn in range(len(stock)):
        live |= 1 << stock[drawn]
    must_follow = 1 if follow or len(stock) == 0 else 0
    chosen = best_among(own, legal_set(own, 1 << led, must_follow), live, 0, 1 << led, 1)
    while chosen:
        bit = dearest_of(chosen)
        chosen ^= bit
        card = bit_count(bit - 1)
        value = _reply_value(own, other, led, card, best, follow, stock, rows, table, seen, scratch)
        best = max(best, value)
    return best


@_compiled
def open_value(
    own: int,
    other: int,
    led: int,
    follow: int,
    stock: Any,
    rows: Any,
    table: Any,
    seen: Any,
    scratch: Any,
) -> int:
    """Thirds that the player to act takes; for other compiled functions, which check the cards.

    ``led`` is the opponent's card on the table or ``TO_LEAD``. The caller raises
    ``seen[STOCK_NUMBER]`` whenever the stock is another one (see ``next_stock``).
    """
    if led != TO_LEAD:
        return _follower_value(own, other, led, 0, follow, stock, rows, table, seen, scratch)
    rest = _rest(own, other, 0, stock)
    place = _variable(0)
    return _leader_value(own, other, place, 0, rest, follow, stock, rows, table, seen, scratch)


@_compiled
def open_values(
    own: Any,
    other: Any,
    led: Any,
    follow: int,
    stocks: Any,
    out: Any,
    rows: Any,
    table: Any,
    seen: Any,
    scratch: Any,
) -> None:
    """Thirds for the player to act of each position into ``out`` (int64[N]).

    ``own``, ``other`` and ``led`` are int64[N], ``stocks`` is int64[N, M].
    """
    for row in range(len(own)):
        next_stock(seen)
        out[row] = open_value(
            own[row], other[row], led[row], follow, stocks[row], rows, table, seen, scratch
        )


@_compiled
def open_card_values(
    own: Any,
    other: Any,
    led: Any,
    follow: int,
    stocks: Any,
    out: Any,
    rows: Any,
    table: Any,
    seen: Any,
    scratch: Any,
) -> None:
    """Thirds of every card of each position into ``out`` (int64[N, 40]); -1: not legal."""
    for row in range(len(own)):
        next_stock(seen)
        stock = stocks[row]
        must_follow = 1 if follow or len(stock) == 0 else 0
        led_set = 0 if led[row] == TO_LEAD else 1 << led[row]
        legal = legal_set(own[row], led_set, must_follow)
        rest = _rest(own[row], other[row], 0, stock)
        for card in range(cards.NUM_CARDS):
            out[row, card] = -1
            if legal >> card & 1 == 0:
                continue
            if led[row] == TO_LEAD:
                hand = own[row] ^ 1 << card
                out[row, card] = rest - _follower_value(
                    other[row], hand, card, 0, follow, stock, rows, table, seen, scratch
                )
            else:
                out[row, card] = _reply_value(
                    own[row],
                    other[row],
                    led[row],
                    card,
                    0,
                    follow,
                    stock,
                    rows,
                    table,
                    seen,
                    scratch,
                )
