"""The compiled doors of the four-seat solver: values of positions and of every card.

``side_takes`` of ``solver_partners_search`` answers yes or no; a few such questions from a guess
make a value (MTD(f), as in ``solver_kernels``). Names as in that module; it loads numba.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tressette_agents import (
    solver_partners_bounds,
    solver_partners_moves,
    solver_partners_search,
    solver_partners_table,
    solver_table,
)
from tressette_agents.solver_partners_bounds import YES
from tressette_agents.solver_partners_search import side_takes
from tressette_agents.solver_partners_table import HANDS, strongest_of
from tressette_agents.solver_table import lowest_bit, suit_around, worth_of
from tressette_env import cards
from tressette_env.cards import NUM_SUITS, bit_count, set_worth
from tressette_env.compiling import compiled
from tressette_env.rulesets import LAST_TRICK_THIRDS

__all__ = ["partners_card_values", "partners_value", "partners_values"]

Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(function: Function) -> Function:
    search = (solver_partners_bounds, solver_partners_moves, solver_partners_search)
    tables = (solver_partners_table, solver_table, cards)
    return compiled(function, sys.modules[__name__], *search, *tables)


@_compiled
def _guess(memory: Any, turn: int, rest: int) -> int:
    """Guess side 0's thirds: least squares on 350 random ten-trick deals, mean error 2.7."""
    ours = memory[HANDS] | memory[HANDS + 2]
    theirs = memory[HANDS + 1] | memory[HANDS + 3]
    hundredths = -158 if turn & 1 else 158
    for suit in range(NUM_SUITS):
        live = (ours | theirs) >> 10 * suit & 0x3FF
        for weight in (368, 165, 100):
            top = strongest_of(live)
            live ^= top
            if top:
                hundredths += weight if ours >> 10 * suit & top else -weight
    return rest // 2 + hundredths // 100


@_compiled
def _side_value(
    memory: Any,
    turn: int,
    position: int,
    led: int,
    best: int,
    winner: int,
    is_ranked: bool,
    gain: int,
) -> int:
    """Thirds that side 0 takes, those on the table (``gain``) included."""
    count = bit_count(memory[HANDS + turn])
    rest = gain + LAST_TRICK_THIRDS
    for seat in range(4):
        rest += set_worth(memory[HANDS + seat])
    lower = 0
    upper = rest
    target = _guess(memory, turn, rest)
    while lower < upper:
        target = min(max(target, lower + 1), upper)
        found = side_takes(
            memory, turn, position, led, best, winner, is_ranked, gain, target, rest, count
        )
        if found & YES:
            lower = target
            target += 1
        else:
            target -= 1
            upper = target
    return lower


@_compiled
def _rest(memory: Any, hands: Any, on_table: Any) -> int:
    """Take the hands to memory; return the thirds in play, the last trick's included."""
    rest = LAST_TRICK_THIRDS
    for seat in range(4):
        memory[HANDS + seat] = hands[seat]
        rest += set_worth(hands[seat])
    for place in range(3):
        if on_table[place] >= 0:
            rest += worth_of(1 << on_table[place])
    return rest


@_compiled
def _value(memory: Any, leader: int, on_table: Any, card: int) -> int:
    """Thirds that side 0 takes once the seat to act has played ``card`` (a set; 0: nothing yet)."""
    led = 0
    best = 0
    winner = 0
    is_ranked = False
    gain = 0
    position = 0
    for place in range(4):
        played = card if place == 3 or on_table[place] < 0 else 1 << on_table[place]
        if not played:
            break
        gain += worth_of(played)
        if position == 0:
            led = suit_around(played)
        elif played & led:
            is_ranked = True
        if played & led and played > best:
            best = played
            winner = leader + position & 3
        position += 1
        if place == 3 or on_table[place] < 0:
            memory[HANDS + (leader + place & 3)] ^= card
            break
    taken = 0
    turn = leader + position & 3
    if position == 4:
        taken = gain if winner & 1 == 0 else 0
        if memory[HANDS + winner] == 0:
            return taken + (LAST_TRICK_THIRDS if winner & 1 == 0 else 0)
        turn = winner
        position = 0
        led = 0
        best = 0
        is_ranked = False
        gain = 0
    return taken + _side_value(memory, turn, position, led, best, winner, is_ranked, gain)


@_compiled
def _turn_of(leader: int, on_table: Any) -> int:
    turn = leader
    for place in range(3):
        turn += int(on_table[place] >= 0)
    return turn & 3


@_compiled
def partners_value(hands: Any, leader: int, on_table: Any, memory: Any) -> int:
    """Thirds for the side of the seat to act; for compiled functions, which check the cards."""
    rest = _rest(memory, hands, on_table)
    value = _value(memory, leader, on_table, 0)
    return value if _turn_of(leader, on_table) & 1 == 0 else rest - value


@_compiled
def partners_values(hands: Any, leaders: Any, on_tables: Any, out: Any, memory: Any) -> None:
    """Thirds for the side to act of each position into ``out`` (int64[N]).

    ``hands`` int64[N, 4] are card sets by seat, ``leaders`` int64[N] the seats that lead or led the
    trick, ``on_tables`` int64[N, 3] the cards on the table in their order, then -1.
    """
    for row in range(len(out)):
        out[row] = partners_value(hands[row], leaders[row], on_tables[row], memory)


@_compiled
def partners_card_values(hands: Any, leaders: Any, on_tables: Any, out: Any, memory: Any) -> None:
    """Thirds of every card of each position into ``out`` (int64[N, 40]); -1: not legal."""
    for row in range(len(out)):
        turn = _turn_of(leaders[row], on_tables[row])
        legal = hands[row, turn]
        if on_tables[row, 0] >= 0 and legal & suit_around(1 << on_tables[row, 0]):
            legal &= suit_around(1 << on_tables[row, 0])
        for card in range(cards.NUM_CARDS):
            out[row, card] = -1
        while legal:
            card = lowest_bit(legal)
            legal ^= card
            rest = _rest(memory, hands[row], on_tables[row])
            value = _value(memory, leaders[row], on_tables[row], card)
            out[row, bit_count(card - 1)] = value if turn & 1 == 0 else rest - value
