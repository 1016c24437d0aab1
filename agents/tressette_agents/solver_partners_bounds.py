"""Bounds of the four-seat solver: what a side can cash without risk, compiled.

Names: ``memory`` is the int64 array of ``solver_partners_table.new_memory``, ``count`` the cards in
each hand at the start of a trick. A bound that suffices is returned as ``YES`` with the set of
cards whose ranks it rests on, else 0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tressette_agents import solver_partners_table, solver_table
from tressette_agents.solver_partners_table import (
    CHEAPEST,
    DEAREST,
    HANDS,
    SIZES,
    nth_strongest,
    strongest_of,
    up_to,
)
from tressette_agents.solver_table import ACES, ONES
from tressette_env import cards
from tressette_env.cards import NUM_SUITS, bit_count, suit_set
from tressette_env.compiling import compiled

__all__ = ["YES", "cashes", "denies"]

Function = TypeVar("Function", bound=Callable[..., Any])

YES = 1 << 40


def _compiled(function: Function) -> Function:
    modules = (sys.modules[__name__], solver_partners_table, solver_table, cards)
    return compiled(function, *modules)


@_compiled
def _discard_worth(spare: int, number: int) -> int:
    """Worth of the ``number`` dearest cards of a set."""
    aces = min(bit_count(spare & ACES), number)
    return 3 * aces + min(bit_count(spare & ONES), number - aces)


@_compiled
def _winners(holder: int, first: int, second: int, third: int) -> int:
    """Winners of a suit, led from the top: all that beat the three other hands, or the suit."""
    top = holder & ~up_to(first | second | third)
    number = SIZES[top]
    if number >= SIZES[first] and number >= SIZES[second] and number >= SIZES[third]:
        return holder if top else 0
    return top


@_compiled
def _ranks_of(holder: int, number: int, first: int, second: int, third: int) -> int:
    """Weakest winner whose rank counts: once the others are out of the suit, length wins."""
    needed = min(number, max(SIZES[first], SIZES[second], SIZES[third]))
    return nth_strongest(holder, needed) if needed else 0


@_compiled
def cashes(memory: Any, leader: int, need: int, count: int) -> int:
    """Whether the side on lead gets ``need`` thirds by leading winners, whatever is played.

    First the leader's own; then, if the leader holds a card of a suit that the partner heads and
    the partner could keep all winners so far, the partner's in suits in which the leader has none.
    The partner gives the dearest cards, the opponents lose at least the cheapest of each suit.
    """
    own = memory[HANDS + leader]
    left = memory[HANDS + (leader + 1 & 3)]
    partner = memory[HANDS + (leader + 2 & 3)]
    right = memory[HANDS + (leader + 3 & 3)]
    thirds = 0
    ranks = 0
    tricks = 0
    followed = 0  # of these, to which the partner follows
    more_thirds = 0  # the same for the partner's winners
    more_ranks = 0
    more_tricks = 0
    more_followed = 0
    can_cross = False
    spare = 0  # partner's cards in suits that the leader does not cash
    spare_losers = 0  # of these, the ones that are no winners
    own_losers = 0  # leader's cards in suits that nobody cashes
    for suit in range(NUM_SUITS):
        shift = 10 * suit
        suit_own = own >> shift & 0x3FF
        suit_partner = partner >> shift & 0x3FF
        suit_left = left >> shift & 0x3FF
        suit_right = right >> shift & 0x3FF
        winners = _winners(suit_own, suit_left, suit_partner, suit_right)
        if winners:
            number = SIZES[winners]
            given = CHEAPEST[suit_left] >> 4 * number & 15
            given += CHEAPEST[suit_right] >> 4 * number & 15
            given += DEAREST[suit_partner] >> 4 * number & 15
            thirds += given + (DEAREST[winners] >> 40)
            ranks |= _ranks_of(suit_own, number, suit_left, suit_partner, suit_right) << shift
            tricks += number
            followed += min(number, SIZES[suit_partner])
            if thirds >= need:
                return ranks | YES
            continue
        winners = _winners(suit_partner, suit_left, suit_own, suit_right)
        spare |= suit_partner << shift
        spare_losers |= (suit_partner & ~winners) << shift
        if not winners:
            own_losers |= suit_own << shift
            continue
        number = SIZES[winners]
        given = CHEAPEST[suit_left] >> 4 * number & 15
        given += CHEAPEST[suit_right] >> 4 * number & 15
        given += DEAREST[suit_own] >> 4 * number & 15
        more_thirds += given + (DEAREST[winners] >> 40)
        more_ranks |= _ranks_of(suit_partner, number, suit_left, suit_own, suit_right) << shift
        more_tricks += number
        more_followed += min(number, SIZES[suit_own])
        can_cross = can_cross or suit_own != 0
    if tricks >= count:
        return ranks | YES
    discards = tricks - followed
    if can_cross and discards <= count - followed - more_tricks:
        spare = spare_losers
        ranks |= more_ranks
        thirds += more_thirds + _discard_worth(own_losers, more_tricks - more_followed)
        if tricks + more_tricks >= count:
            return ranks | YES
    thirds += _discard_worth(spare, discards)
    return ranks | YES if thirds >= need else 0


@_compiled
def denies(memory: Any, leader: int, need: int, count: int) -> int:
    """Whether the side not on lead gets ``need`` thirds, for it heads every suit of the leader's.

    Whatever is led, an opponent can win it with a card that was to be cashed anyway.
    """
    own = memory[HANDS + leader]
    ours = own | memory[HANDS + (leader + 2 & 3)]
    left = memory[HANDS + (leader + 1 & 3)]
    right = memory[HANDS + (leader + 3 & 3)]
    ranks = 0
    by_left = False
    by_right = False
    for suit in range(NUM_SUITS):
        whole = suit_set(suit)
        if not own & whole:
            continue
        head = max(left & whole, right & whole)
        if ours & whole > head:
            return 0
        if left & whole > right & whole:
            by_left = True
        else:
            by_right = True
        ranks |= strongest_of(head >> 10 * suit) << 10 * suit
    if by_left:
        cashed = cashes(memory, leader + 1 & 3, need, count)
        if not cashed:
            return 0
        ranks |= cashed
    if by_right:
        cashed = cashes(memory, leader + 3 & 3, need, count)
        if not cashed:
            return 0
        ranks |= cashed
    return ranks | YES
