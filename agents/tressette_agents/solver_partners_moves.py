"""The moves of the four-seat solver: which cards are tried, in which order, and which are spared.

Names as in ``solver_partners_search``; compiled.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tressette_agents import solver_partners_bounds, solver_partners_table, solver_table
from tressette_agents.solver_partners_bounds import YES
from tressette_agents.solver_partners_table import HANDS, MOVES, RUNS, strongest_of
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
from tressette_env.cards import ALL_CARDS, NUM_SUITS, bit_count, suit_set
from tressette_env.compiling import compiled

__all__ = ["SCORE_SHIFT", "WON_BY", "bring_best", "drop_equals", "fill_moves"]

Function = TypeVar("Function", bound=Callable[..., Any])

SCORE_SHIFT = 40  # a move is a score above its card
# Beside the ranks and YES, an answer within a trick says which sides win it in the lines looked at.
WON_BY = 41

# What is known of the trick whichever card of a run is played.
_OPEN = 0
_OURS = 1  # of the side to act
_THEIRS = 2


def _compiled(function: Function) -> Function:
    modules = (solver_partners_bounds, solver_partners_table, solver_table, cards)
    return compiled(function, sys.modules[__name__], *modules)


@_compiled
def _outcome(
    run: int, position: int, led: int, best: int, is_partners: bool, left: int, partner: int
) -> int:
    """Who wins the trick if a card of a run is played: ours, theirs, or open.

    ``left`` and ``partner`` are the hands of the next seat and of the one after it.
    """
    weakest = lowest_bit(run)
    beats = run & led != 0 and weakest > best
    if position == 3:
        return _OURS if beats or is_partners else _THEIRS
    if position == 2:
        if not beats and not is_partners:
            return _THEIRS
        return _OURS if max(weakest if beats else 0, best) > left & led else _OPEN
    if beats:
        return _OURS if weakest > left & led else _OPEN
    return _THEIRS if best > partner & led else _OPEN


@_compiled
def _open_score(
    run: int,
    rank: int,
    position: int,
    led: int,
    best: int,
    hand: int,
    partner: int,
    opponents: int,
) -> tuple[int, int]:
    """Score of a card of a run while the trick is open, and what each third of it adds."""
    suit = suit_around(lowest_bit(run))
    if position == 0:
        if partner & suit <= opponents & suit:
            return 330 + 3 * rank, -20
        return 418 - 2 * rank + 10 * bit_count(hand & suit) - 12 * bit_count(opponents & suit), 29
    beats = run & led != 0 and run > best
    if position == 2:
        return 400 + 2 * rank if beats else 320 - 6 * rank, -20
    if beats:
        return 340 - 2 * rank - 10 * bit_count(opponents & suit), -20
    return 360 - 2 * rank, -29


@_compiled
def _same_worth(card: int, run: int) -> int:
    """Cards of a run that are worth as much as one of them."""
    if card & ACES:
        return card
    return run & ONES if card & ONES else run & BLANKS


@_compiled
def fill_moves(
    memory: Any, turn: int, position: int, led: int, best: int, winner: int, first: int
) -> int:
    """Put the moves among which a best one is sure to be, and their runs, from ``first`` on.

    A run are cards of one hand and suit with no other live card between them; of the cards on the
    table only the best counts as live. Of a run the dearest is best for a trick that is won, the
    cheapest for one that is lost; else one of each worth. Returns how many moves there are.
    """
    hand = memory[HANDS + turn]
    left = memory[HANDS + (turn + 1 & 3)]
    partner = memory[HANDS + (turn + 2 & 3)]
    right = memory[HANDS + (turn + 3 & 3)]
    others = left | partner | right | best
    legal = hand & led if hand & led else hand
    is_partners = (winner ^ turn) & 1 == 0
    count = 0
    for suit in range(NUM_SUITS):
        mine = legal & suit_set(suit)
        while mine:
            weakest = lowest_bit(mine)
            above = others & suit_set(suit) & ~(weakest | (weakest - 1))
            run = mine & lowest_bit(above) - 1 if above else mine
            mine ^= run
            if position == 0:
                outcome = _OURS if weakest > (left | right) & suit_set(suit) else _OPEN
            else:
                outcome = _outcome(run, position, led, best, is_partners, left, partner)
            rank = bit_count((weakest - 1) & suit_set(suit))
            if outcome == _OURS:
                chosen = _same_worth(dearest_of(run), run)
                score = 500 - (6 * rank if position else 0)
                step = 40
            elif outcome == _THEIRS:
                chosen = _same_worth(cheapest_of(run), run)
                score = 300 - (9 if position == 3 else 2) * rank
                step = -40
            else:
                chosen = run
                score, step = _open_score(
                    run, rank, position, led, best, hand, partner, left | right
                )
            while chosen:
                # Of equal cards the strongest: an answer that rests on its rank asks for less.
                same = _same_worth(lowest_bit(chosen), chosen)
                chosen ^= same
                card = strongest_of(same >> 10 * suit) << 10 * suit
                score_now = score + step * worth_of(card)
                memory[MOVES + first + count] = score_now << SCORE_SHIFT | card
                memory[RUNS + first + count] = run
                count += 1
    return count


@_compiled
def drop_equals(memory: Any, first: int, tried: int, count: int, turn: int, answer: int) -> int:
    """Drop moves that are answered like the last one tried; return how many moves are left.

    The answer holds for every card of the suit and the same worth, if it rests on neither rank.
    A dearer one is no better where all lines lose the trick, a cheaper one where all win it.
    """
    card = memory[MOVES + first + tried - 1] & ALL_CARDS
    suit = suit_around(card)
    weakest = lowest_bit(answer & suit)
    limit = weakest if weakest else YES
    if card >= limit:
        return count
    worth = worth_of(card)
    is_ours = answer >> WON_BY + (turn & 1) & 1
    is_theirs = answer >> WON_BY + 1 - (turn & 1) & 1
    place = tried
    while place < count:
        other = memory[MOVES + first + place] & ALL_CARDS
        more = worth_of(other) - worth
        if (
            other & suit
            and other < limit
            and (more == 0 or (more > 0 and not is_ours) or (more < 0 and not is_theirs))
        ):
            count -= 1
            memory[MOVES + first + place] = memory[MOVES + first + count]
            memory[RUNS + first + place] = memory[RUNS + first + count]
        else:
            place += 1
    return count


@_compiled
def bring_best(memory: Any, first: int, place: int, count: int) -> None:
    """Swap the move with the highest score, of those from ``place`` on, to ``place``."""
    best = place
    for other in range(place + 1, count):
        if memory[MOVES + first + other] > memory[MOVES + first + best]:
            best = other
    for column in (MOVES + first, RUNS + first):
        kept = memory[column + best]
        memory[column + best] = memory[column + place]
        memory[column + place] = kept
