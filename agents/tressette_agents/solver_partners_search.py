"""The compiled search for four seats: two sides, every card known, suit must be followed.

Every question is "does side 0 (seats 0 and 2) take at least so many of the thirds that are left?".
An answer comes with the *ranks* it rests on: a set of cards, such that it holds as well when the
cards weaker than the weakest of a suit change hands with others of equal worth. Answers are kept
in a table at the start of a trick. ``docs/solver.md`` has the method.

Importing this module loads numba; the first call on a fresh machine compiles for some seconds.
Names: ``memory`` is the int64 array of ``solver_partners_table.new_memory``; ``turn`` the seat to
act, ``position`` its place in the trick, 0 to 3; ``led`` the led suit as a set of cards (0: to
lead), ``best`` the strongest card of it on the table and ``winner`` its seat. A card is a set of
one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tressette_agents import (
    solver_partners_bounds,
    solver_partners_moves,
    solver_partners_table,
    solver_table,
)
from tressette_agents.solver_partners_bounds import YES, cashes, denies
from tressette_agents.solver_partners_moves import (
    SCORE_SHIFT,
    WON_BY,
    bring_best,
    drop_equals,
    fill_moves,
)
from tressette_agents.solver_partners_table import (
    ENTRY,
    HANDS,
    INDEX_BITS,
    KILLERS,
    MOVES,
    NODES,
    ROOM,
    RUNS,
    TABLE,
    WAYS,
    bucket_of,
    order_masks,
    order_of,
    shape_of,
    strong_counts,
    weakest_ranks,
)
from tressette_agents.solver_table import (
    lowest_bit,
    suit_around,
    worth_of,
)
from tressette_env import cards
from tressette_env.cards import ALL_CARDS, NUM_SUITS, bit_count
from tressette_env.compiling import compiled

__all__ = ["side_takes"]

Function = TypeVar("Function", bound=Callable[..., Any])

_HINT_BONUS = 2000  # for the answer of the same position to another question
_KILLER_BONUS = 30


def _compiled(function: Function) -> Function:
    tables = (solver_partners_table, solver_table, cards)
    return compiled(
        function, sys.modules[__name__], solver_partners_bounds, solver_partners_moves, *tables
    )


@_compiled
def _last_trick(memory: Any, leader: int) -> int:
    """Whether side 0 wins the last trick, one card in each hand."""
    best = memory[HANDS + leader]
    winner = leader
    suit = suit_around(best)
    is_ranked = False
    for offset in range(1, 4):
        card = memory[HANDS + (leader + offset & 3)]
        if card & suit:
            is_ranked = True
            if card > best:
                best = card
                winner = leader + offset
    return (best if is_ranked else 0) | (0 if winner & 1 else YES)


@_compiled
def _store(
    memory: Any,
    entry: int,
    shapes: tuple[int, int],
    orders: tuple[int, int],
    matter: int,
    lower: int,
    upper: int,
    hint: int,
) -> None:
    """Put a bound in front of a bucket, in place of one on the same class or of the oldest."""
    low, high = order_masks(matter)
    way = 0
    while way < WAYS - 1:
        place = entry + way * ENTRY
        if (
            memory[place] == shapes[0]
            and memory[place + 1] == shapes[1]
            and memory[place + 4] & 0xFFFF == matter
            and (memory[place + 2] ^ orders[0]) & low == 0
            and (memory[place + 3] ^ orders[1]) & high == 0
        ):
            lower = max(lower, memory[place + 4] >> 16 & 63)
            upper = min(upper, memory[place + 4] >> 22 & 63)
            break
        way += 1
    for place in range(entry + way * ENTRY + ENTRY - 1, entry + ENTRY - 1, -1):
        memory[place] = memory[place - ENTRY]
    memory[entry] = shapes[0]
    memory[entry + 1] = shapes[1]
    memory[entry + 2] = orders[0]
    memory[entry + 3] = orders[1]
    number = bit_count(hint - 1) + 1 if hint else 0
    memory[entry + 4] = matter | lower << 16 | upper << 22 | number << 28


@_compiled
def side_takes(
    memory: Any,
    turn: int,
    position: int,
    led: int,
    best: int,
    winner: int,
    is_ranked: bool,
    gain: int,
    target: int,
    rest: int,
    count: int,
) -> int:
    """Whether side 0 takes at least ``target`` of the ``rest`` thirds: YES or 0, with the ranks.

    ``gain`` are the thirds on the table (part of ``rest``), ``is_ranked`` says whether another
    card of the led suit than the first lies there, ``count`` are the cards of the seat to act.
    """
    leads = turn & 1 == 0  # side 0 is to act
    shapes = (0, 0)
    orders = (0, 0)
    entry = 0
    hint = 0
    wanted = 0
    live = 0
    if position == 0:
        if target <= 0:
            return YES
        if target > rest:
            return 0
        memory[NODES] += 1
        if count == 1:
            return _last_trick(memory, turn)
        wanted = target if leads else rest - target + 1
        found = cashes(memory, turn, wanted, count)
        if found:
            return found if leads else found ^ YES
        found = denies(memory, turn, rest - wanted + 1, count)
        if found:
            return found ^ YES if leads else found

        hand_0 = memory[HANDS + turn]
        hand_1 = memory[HANDS + (turn + 1 & 3)]
        hand_2 = memory[HANDS + (turn + 2 & 3)]
        hand_3 = memory[HANDS + (turn + 3 & 3)]
        live = hand_0 | hand_1 | hand_2 | hand_3
        shape = 0
        order = 0
        for suit in range(NUM_SUITS):
            shift = 10 * suit
            suit_1 = hand_1 >> shift & 0x3FF
            suit_2 = hand_2 >> shift & 0x3FF
            suit_3 = hand_3 >> shift & 0x3FF
            half = 28 * (suit & 1)
            shape |= shape_of(hand_0 >> shift & 0x3FF, suit_1, suit_2, suit_3) << half
            half = 30 * (suit & 1)
            order |= order_of(suit_1, suit_2, suit_3, live >> shift & 0x3FF, memory) << half
            if suit == 1:
                shapes = (shape, 0)
                orders = (order, 0)
                shape = 0
                order = 0
        shapes = (shapes[0], shape)
        orders = (orders[0], order)
        entry = TABLE + WAYS * ENTRY * bucket_of(shapes[0], shapes[1], memory[INDEX_BITS])
        for way in range(WAYS):
            place = entry + way * ENTRY
            if memory[place] != shapes[0] or memory[place + 1] != shapes[1]:
                continue
            known = memory[place + 4]
            if known >> 28 and not hint:
                hint = 1 << (known >> 28) - 1
            low, high = order_masks(known)
            if (memory[place + 2] ^ orders[0]) & low or (memory[place + 3] ^ orders[1]) & high:
                continue
            if known >> 28:
                hint = 1 << (known >> 28) - 1
            if known >> 16 & 63 >= wanted:
                return weakest_ranks(known, live) | (YES if leads else 0)
            if known >> 22 & 63 < wanted:
                return weakest_ranks(known, live) | (0 if leads else YES)

    ply = 4 * count - position
    first = ROOM * ply
    killer = KILLERS + 4 * ply + turn
    moves = fill_moves(memory, turn, position, led, best, winner, first)
    for place in range(first, first + moves):
        card = memory[MOVES + place] & ALL_CARDS
        if card == hint:
            memory[MOVES + place] += _HINT_BONUS << SCORE_SHIFT
        elif card == memory[killer]:
            memory[MOVES + place] += _KILLER_BONUS << SCORE_SHIFT
    hint = 0
    answer = 0  # of the losing moves together: what their refutations rest on
    tried = 0
    while tried < moves:
        bring_best(memory, first, tried, moves)
        card = memory[MOVES + first + tried] & ALL_CARDS
        run = memory[RUNS + first + tried]
        tried += 1
        memory[HANDS + turn] ^= card
        table_thirds = gain + worth_of(card)
        new_led = led if position else suit_around(card)
        new_best = best
        new_winner = winner
        now_ranked = is_ranked
        if card & new_led:
            now_ranked = position > 0
            if card > best:
                new_best = card
                new_winner = turn
        # One call with variables: numba compiles a function anew for constants that it is called
        # with, and two such forms that call each other cannot be read back from the disk.
        next_turn = turn + 1 & 3
        next_position = position + 1
        next_target = target
        left = rest
        left_count = count
        if position == 3:
            next_turn = new_winner
            next_position = 0
            if new_winner & 1 == 0:
                next_target -= table_thirds
            left -= table_thirds
            left_count -= 1
            table_thirds = 0
            new_led = 0
        found = side_takes(
            memory,
            next_turn,
            next_position,
            new_led,
            new_best if next_position else 0,
            new_winner,
            now_ranked and next_position > 0,
            table_thirds,
            next_target,
            left,
            left_count,
        )
        if position == 3:
            found |= 1 << WON_BY + (new_winner & 1)
            if now_ranked:
                found |= new_best
        memory[HANDS + turn] ^= card
        if (found & YES != 0) == leads:
            answer = found & ~YES
            hint = card
            memory[killer] = card
            break
        if found & run:
            found |= lowest_bit(run)  # the others of the run are refuted in the same way
        answer |= found & ~YES
        moves = drop_equals(memory, first, tried, moves, turn, found)
    takes = leads == (hint != 0)
    if position == 0:
        answer &= ALL_CARDS
        matter = strong_counts(answer, live)
        lower = wanted if takes == leads else 0
        upper = 63 if takes == leads else wanted - 1
        _store(memory, entry, shapes, orders, matter, lower, upper, hint)
    return answer | YES if takes else answer
