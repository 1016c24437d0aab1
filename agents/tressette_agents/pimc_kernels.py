"""The compiled worlds of ``pimc`` that are solved, two seats; loads numba.

Names: ``arrays`` are those of a ``rollouts.Workspace``, ``solver`` those of ``new_solver``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tressette_agents import (
    counting,
    greedy,
    playouts,
    search_kernels,
    solver_kernels,
    solver_open_kernels,
    solver_open_search,
)
from tressette_agents.playouts import ESTIMATE, rollout_card, suit_rows
from tressette_agents.search_kernels import best_total, deal_world, finish
from tressette_agents.solver_open_search import new_open_table, new_scratch, next_stock
from tressette_agents.solver_search import new_table
from tressette_env import cards, rollouts, rules, worlds_kernels
from tressette_env.cards import NUM_CARDS
from tressette_env.compiling import compiled

__all__ = ["SPREAD", "add_corrections", "new_solver", "true_cards"]

Function = TypeVar("Function", bound=Callable[..., Any])

SPREAD = 8  # worlds of which one is solved

_MAX_STOCK = 20
_TABLE_BITS = 16


def _compiled(function: Function) -> Function:
    own = (counting, greedy, playouts, search_kernels)
    solvers = (solver_kernels, solver_open_kernels, solver_open_search)
    env = (worlds_kernels, rollouts, rules, cards)
    return compiled(function, sys.modules[__name__], *own, *solvers, *env)


def new_solver() -> tuple[npt.NDArray[np.int64], ...]:
    """Return one thread's ``(rows, table, seen, moves, stock)`` for the solvers of two seats."""
    return (
        suit_rows(),
        new_table(_TABLE_BITS),
        new_open_table(_TABLE_BITS),
        new_scratch(_MAX_STOCK),
        np.zeros(_MAX_STOCK, np.int64),
    )


@_compiled
def _solved_margin(
    line: Any, rule: Any, looks: Any, seat: int, rollout: int, draws: int, solver: Any
) -> int:
    """Margin of a seat's side if a quick rule plays on to the last draws, and then the solver.

    The line is left where it is solved. The caller tells ``seen`` when the stock is another one.
    """
    rows, table, seen, moves, stock = solver
    while rollouts.stock_left(line, rule) > 2 * draws:
        rollouts.look(line, rule, looks)
        rollouts.play(line, rule, rollout_card(looks[0], rule, rollout))
    if rollouts.is_finished(line, rule):
        return rollouts.margin(line, rule, seat)
    own, other, led = rollouts.open_cards(line, rule, stock)
    left = rollouts.stock_left(line, rule)
    if left:
        follow = 1 if rule.follow_always else 0
        value = solver_open_kernels.open_value(
            own, other, led, follow, stock[:left], rows, table, seen, moves
        )
    else:
        value = solver_kernels.ending_value(own, other, led, rows, table)
    return rollouts.rest_margin(line, rule, seat, value)


@_compiled
def add_corrections(
    view: Any,
    rule: Any,
    seed: int,
    first: int,
    end: int,
    rollout: int,
    draws: int,
    solver: Any,
    arrays: Any,
    totals: Any,
) -> None:
    """Add ``SPREAD`` times what solving finds beyond the estimate, in one world of ``SPREAD``.

    Worlds ``first`` to ``end - 1``, card by card, to the ``totals`` (int64[40]) of
    ``search_kernels.add_worlds``, which has planned the view.
    """
    plans, public, world, line, looks, stream, scratch = arrays
    for number in range(first, end, SPREAD):
        deal_world(plans, public, seed, number, stream, scratch, world)
        next_stock(solver[2])
        for card in range(NUM_CARDS):
            if view.legal >> card & 1:
                rollouts.copy_world(world, line)
                rollouts.play(line, rule, card)
                more = _solved_margin(line, rule, looks, view.seat, rollout, draws, solver)
                finish(line, rule, looks, rollout, ESTIMATE, solver[0])
                more -= rollouts.margin(line, rule, view.seat)
                totals[card] += SPREAD * more


@_compiled
def true_cards(
    states: Any,
    rules_row: Any,
    rollout: int,
    draws: int,
    solver: Any,
    arrays: Any,
    totals: Any,
    out: Any,
) -> None:
    """Card with the best solved margin in each state itself into ``out`` (int64[B]); -1: over."""
    _plans, _public, _world, line, looks, _stream, _scratch = arrays
    rule = rules_row[0]
    for row in range(len(states)):
        rollouts.copy_world(states[row : row + 1], line)
        rollouts.look(line, rule, looks)
        legal = looks[0].legal
        seat = looks[0].seat
        totals[:] = 0
        next_stock(solver[2])
        for card in range(NUM_CARDS):
            if legal >> card & 1:
                rollouts.copy_world(states[row : row + 1], line)
                rollouts.play(line, rule, card)
                totals[card] = _solved_margin(line, rule, looks, seat, rollout, draws, solver)
        out[row] = best_total(legal, totals)
