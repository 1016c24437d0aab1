"""The compiled doors of the solver: values and best cards of endings, one or many.

``takes`` of ``solver_search`` answers yes or no; here a few such questions make a value, from a
guess (MTD(f): A. Plaat and others, "Best-first fixed-depth minimax algorithms", Artificial
Intelligence 87, 1996). The names are those of that module; it loads numba.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tressette_agents import solver_search, solver_table
from tressette_agents.solver_search import takes
from tressette_agents.solver_table import SUMS, cheapest_of, suit_case
from tressette_env import cards
from tressette_env.cards import bit_count, card_worth, set_worth, suit_of, suit_set
from tressette_env.compiling import compiled
from tressette_env.rulesets import LAST_TRICK_THIRDS

__all__ = ["TO_LEAD", "best_cards", "card_values", "ending_value", "guess", "values"]

Function = TypeVar("Function", bound=Callable[..., Any])

TO_LEAD = -1  # in place of a led card: the player to act leads


def _compiled(function: Function) -> Function:
    return compiled(function, sys.modules[__name__], solver_search, solver_table, cards)


@_compiled
def guess(own: int, other: int, rows: Any) -> int:
    """Guess the leader's thirds: least squares on 4,000 random ten-card endings, error 1.6."""
    own_sums = 0
    other_sums = 0
    for suit in range(4):
        own_suit = own >> 10 * suit & 0x3FF
        other_suit = other >> 10 * suit & 0x3FF
        own_sums += rows[suit_case(own_suit, other_suit), SUMS]
        other_sums += rows[suit_case(other_suit, own_suit), SUMS]
    cashed = 40 * (own_sums >> 7 & 127) - 34 * (other_sums >> 7 & 127)
    return (cashed + 34 * set_worth(own) + 29 * set_worth(other) + 127) >> 6


@_compiled
def _thirds_left(own: int, other: int) -> int:
    """Thirds left when a trick begins, the last trick's included."""
    return set_worth(own | other) + LAST_TRICK_THIRDS


@_compiled
def _leader_thirds(own: int, other: int, lower: int, upper: int, rows: Any, table: Any) -> int:
    """Thirds that the leader takes, which are known to lie between two bounds."""
    rest = _thirds_left(own, other)
    count = bit_count(own)
    target = guess(own, other, rows)
    while lower < upper:
        target = min(max(target, lower + 1), upper)
        if takes(own, other, target, rest, count, rows, table):
            lower = target
            target += 1
        else:
            target -= 1
            upper = target
    return lower


@_compiled
def _legal(own: int, led: int) -> int:
    """Legal cards of the player to act (R5, R6)."""
    same_suit = own & suit_set(suit_of(led)) if led != TO_LEAD else 0
    return same_suit if same_suit else own


@_compiled
def _reply_thirds(
    own: int, other: int, led: int, card: int, least: int, rows: Any, table: Any
) -> int:
    """Thirds for a follower who replies ``card`` to ``led`` if more than ``least``.

    Otherwise a number that is not more than ``least``. ``own`` holds the card, ``other`` no longer
    the led one.
    """
    gain = card_worth(led) + card_worth(card)
    own ^= 1 << card
    rest = _thirds_left(own, other)
    count = bit_count(own)
    if suit_of(card) == suit_of(led) and card > led:
        lower = max(least - gain, 0)
        if lower < rest and takes(own, other, lower + 1, rest, count, rows, table):
            lower = _leader_thirds(own, other, lower + 1, rest, rows, table)
        return gain + lower
    # The opponent leads again; more for the follower is less than ``upper`` for the leader.
    upper = rest - least
    if upper <= 0 or takes(other, own, upper, rest, count, rows, table):
        return min(least, rest)
    return rest - _leader_thirds(other, own, 0, upper - 1, rows, table)


@_compiled
def _follower_thirds(own: int, other: int, led: int, least: int, rows: Any, table: Any) -> int:
    """Thirds that the follower takes if more than ``least``, the led card's trick included."""
    best = least
    legal = _legal(own, led)
    for card in range(cards.NUM_CARDS):
        if legal >> card & 1:
            best = max(best, _reply_thirds(own, other, led, card, best, rows, table))
    return best


@_compiled
def ending_value(own: int, other: int, led: int, rows: Any, table: Any) -> int:
    """Thirds that the player to act takes; for other compiled functions, which check the cards."""
    if led != TO_LEAD:
        return _follower_thirds(own, other, led, 0, rows, table)
    return _leader_thirds(own, other, 0, _thirds_left(own, other), rows, table)


@_compiled
def _card_value(own: int, other: int, led: int, card: int, rows: Any, table: Any) -> int:
    """Thirds for the player to act after playing ``card``."""
    if led != TO_LEAD:
        return _reply_thirds(own, other, led, card, 0, rows, table)
    rest = _thirds_left(own, other)
    return rest - _follower_thirds(other, own ^ 1 << card, card, 0, rows, table)


@_compiled
def _is_best(own: int, other: int, led: int, card: int, value: int, rows: Any, table: Any) -> bool:
    """Whether ``card`` keeps the value of the ending."""
    if led != TO_LEAD:
        return _reply_thirds(own, other, led, card, max(value - 1, 0), rows, table) == value
    most = _thirds_left(own, other) - value
    return _follower_thirds(other, own ^ 1 << card, card, most, rows, table) == most


@_compiled
def values(own: Any, other: Any, led: Any, out: Any, rows: Any, table: Any) -> None:
    """Thirds for the player to act of each ending into ``out`` (int64[N]).

    ``own`` and ``other`` (int64[N]) are the cards of the player to act and of the opponent,
    ``led`` (int64[N]) the opponent's card on the table or ``TO_LEAD``.
    """
    for row in range(len(own)):
        out[row] = ending_value(own[row], other[row], led[row], rows, table)


@_compiled
def card_values(own: Any, other: Any, led: Any, out: Any, rows: Any, table: Any) -> None:
    """Thirds of every card of each ending into ``out`` (int64[N, 40]); -1: not legal."""
    for row in range(len(own)):
        legal = _legal(own[row], led[row])
        for card in range(cards.NUM_CARDS):
            out[row, card] = -1
            if legal >> card & 1:
                out[row, card] = _card_value(own[row], other[row], led[row], card, rows, table)


@_compiled
def best_cards(own: Any, other: Any, led: Any, out: Any, rows: Any, table: Any) -> None:
    """Best card of each ending into ``out`` (int64[N]): of equals the least worth, then number."""
    for row in range(len(own)):
        value = ending_value(own[row], other[row], led[row], rows, table)
        choice = _legal(own[row], led[row])
        out[row] = -1
        while choice and out[row] < 0:
            bit = cheapest_of(choice)
            choice ^= bit
            card = bit_count(bit - 1)
            if _is_best(own[row], other[row], led[row], card, value, rows, table):
                out[row] = card
