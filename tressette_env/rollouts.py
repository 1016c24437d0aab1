"""Worlds to play on in: the narrow door through which compiled search agents reach full states.

An agent's search deals a world that fits its view, plays cards in it, and asks who won how much.
Whoever decides inside a world gets a view of it, made by ``make_view``, like everybody else. The
worlds come from the searcher's own view alone, so that the real deal stays out of reach.

All functions are plain ones over arrays of one row, compiled within their callers once
``worlds_kernels`` is imported; ``Workspace`` makes the arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env import worlds_plan, worlds_sampling
from tressette_env.cards import NUM_CARDS, bit_count, set_worth
from tressette_env.rules import is_over, play_card, side_of, table_size
from tressette_env.rulesets import LAST_TRICK_THIRDS
from tressette_env.state import STATE_DTYPE
from tressette_env.view import VIEW_DTYPE, make_view
from tressette_env.view_checks import view_error
from tressette_env.worlds_plan import PLAN_DTYPE

__all__ = [
    "Workspace",
    "add_ending",
    "copy_world",
    "deal_world",
    "ending_cards",
    "is_finished",
    "look",
    "margin",
    "mover",
    "open_cards",
    "partners_cards",
    "pick",
    "plan_worlds",
    "play",
    "rest_margin",
    "stock_is_empty",
    "stock_left",
    "tricks_left",
    "view_error",
]


class Workspace:
    """The arrays that one thread's search works in.

    Attributes
    ----------
    plans : PLAN_DTYPE[1]
    public : STATE_DTYPE[1]
        What all worlds of the view share.
    world, line : STATE_DTYPE[1]
        A dealt world, and the copy that a line of play changes.
    looks : VIEW_DTYPE[1]
        The view of whoever decides in the line.
    stream, scratch : int64[4], int64[40]
    """

    def __init__(self) -> None:
        self.plans = np.zeros(1, PLAN_DTYPE)
        self.public = np.zeros(1, STATE_DTYPE)
        self.world = np.zeros(1, STATE_DTYPE)
        self.line = np.zeros(1, STATE_DTYPE)
        self.looks = np.zeros(1, VIEW_DTYPE)
        self.stream = np.zeros(4, np.int64)
        self.scratch = np.zeros(NUM_CARDS, np.int64)

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays in the order ``(plans, public, world, line, looks, stream, scratch)``."""
        return (
            self.plans,
            self.public,
            self.world,
            self.line,
            self.looks,
            self.stream,
            self.scratch,
        )


def plan_worlds(view: Any, rules: Any, plans: Any, public: Any) -> int:
    """Prepare the worlds of a view; return 0 if there are none, as no deal can have shown it."""
    worlds_plan.write_public(view, rules, public[0])
    return worlds_plan.make_plan(view, rules, plans[0])


def deal_world(
    plans: Any, public: Any, seed: int, number: int, stream: Any, scratch: Any, world: Any
) -> None:
    """Deal world ``number`` of a seed into ``world``; the same one whenever it is asked for."""
    worlds_sampling.start_stream(stream, seed, number)
    world[0] = public[0]
    worlds_sampling.deal_hidden(plans[0], stream, scratch, world[0])


def copy_world(world: Any, line: Any) -> None:
    """Start a line of play from a world."""
    line[0] = world[0]


def look(line: Any, rules: Any, looks: Any) -> None:
    """Write what the seat to act may know into ``looks``."""
    make_view(line[0], rules, line[0].turn, looks[0])


def mover(line: Any) -> int:
    """Seat to act, absolute."""
    return line[0].turn  # type: ignore[no-any-return]


def pick(stream: Any, bound: int) -> int:
    """Uniform integer from 0 to ``bound - 1`` from the world's random stream."""
    return worlds_sampling.pick_below(stream, bound)


def play(line: Any, rules: Any, card: int) -> int:
    """Play a card for the seat to act; the code of ``rules.play_card``."""
    return play_card(line[0], rules, card)


def is_finished(line: Any, rules: Any) -> bool:
    """Whether the deal is over."""
    return is_over(line[0], rules)


def stock_is_empty(line: Any, rules: Any) -> bool:
    """Whether the last card has been drawn and no card of the next trick been played."""
    return line[0].drawn == rules.stock_size and table_size(line[0], rules) == 0


def stock_left(line: Any, rules: Any) -> int:
    """Cards still to be drawn."""
    return rules.stock_size - line[0].drawn  # type: ignore[no-any-return]


def tricks_left(line: Any) -> int:
    """Cards in the hand of the seat to act: with the stock empty, tricks still to be decided."""
    return bit_count(line[0].hands[line[0].turn])


def open_cards(line: Any, rules: Any, stock: Any) -> tuple[int, int, int]:
    """Two seats: cards of the seat to act, of the other, and the led card or -1.

    The cards still to be drawn are written to ``stock`` (int64[20]), the top one first.
    """
    for place in range(rules.stock_size - line[0].drawn):
        stock[place] = line[0].stock[line[0].drawn + place]
    led = -1
    if table_size(line[0], rules):
        led = int(line[0].plays[line[0].ply - 1])
    return line[0].hands[line[0].turn], line[0].hands[1 - line[0].turn], led


def partners_cards(line: Any, rules: Any, hands: Any, on_table: Any) -> int:
    """Four seats: write the hands (int64[4]) and the table's cards (int64[3], then -1).

    Returns the seat that led, or leads, the trick.
    """
    for seat in range(4):
        hands[seat] = line[0].hands[seat]
    size = table_size(line[0], rules)
    for place in range(3):
        on_table[place] = line[0].plays[line[0].ply - size + place] if place < size else -1
    return line[0].leader  # type: ignore[no-any-return]


def ending_cards(line: Any) -> tuple[int, int]:
    """Card sets of the leader and of the other seat, two seats, when a trick begins."""
    leader = line[0].turn
    return line[0].hands[leader], line[0].hands[1 - leader]


def add_ending(line: Any, leader_thirds: int) -> None:
    """Give both sides what they take in the rest of a two-seat deal, its cards unplayed."""
    leader = line[0].turn
    left = set_worth(line[0].hands[0] | line[0].hands[1]) + LAST_TRICK_THIRDS
    line[0].thirds[leader] += leader_thirds
    line[0].thirds[1 - leader] += left - leader_thirds


def rest_margin(line: Any, rules: Any, seat: int, mover_thirds: int) -> int:
    """``margin`` at the end of a deal in which the mover's side takes so many thirds of the rest.

    The cards on the table belong to the rest; rules in which more wins.
    """
    side = side_of(line[0].turn)
    ours = line[0].thirds[side] + mover_thirds
    more = 2 * ours - rules.total_thirds
    return more if side_of(seat) == side else -more  # type: ignore[no-any-return]


def margin(line: Any, rules: Any, seat: int) -> int:
    """Thirds of a seat's side less the other's; the other way round where less wins (R19)."""
    side = side_of(seat)
    more = int(line[0].thirds[side]) - int(line[0].thirds[1 - side])
    return -more if rules.fewest_wins else more
