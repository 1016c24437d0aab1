"""The compiled worlds of ``pimc`` that are solved, four seats; loads numba.

Apart from ``pimc_kernels``, so that two seats do not wait for the four-seat solver to compile.
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
    solver_partners_kernels,
)
from tressette_agents.pimc_kernels import SPREAD
from tressette_agents.playouts import PLAY_OUT, rollout_card, suit_rows
from tressette_agents.search_kernels import best_total, deal_world, finish
from tressette_agents.solver_partners_table import new_memory
from tressette_env import cards, rollouts, rules, worlds_kernels
from tressette_env.cards import NUM_CARDS
from tressette_env.compiling import compiled

__all__ = ["add_corrections", "new_solver", "true_cards"]

Function = TypeVar("Function", bound=Callable[..., Any])

_TABLE_BITS = 16


def _compiled(function: Function) -> Function:
    own = (counting, greedy, playouts, search_kernels, solver_kernels, solver_partners_kernels)
    env = (worlds_kernels, rollouts, rules, cards)
    return compiled(function, sys.modules[__name__], *own, *env)


def new_solver() -> tuple[npt.NDArray[np.int64], ...]:
    """Return one thread's ``(rows, memory, hands, on_table)`` for the solver of four seats."""
    return suit_rows(), new_memory(_TABLE_BITS), np.zeros(4, np.int64), np.zeros(3, np.int64)


@_compiled
def _solved_margin(
    line: Any, rule: Any, looks: Any, seat: int, rollout: int, tricks: int, solver: Any
) -> int:
    """Margin of a seat's side if a quick rule plays on to the last tricks, and then the solver.

    The line is left where it is solved.
    """
    _rows, memory, hands, on_table = solver
    while rollouts.tricks_left(line) > tricks:
        rollouts.look(line, rule, looks)
        rollouts.play(line, rule, rollout_card(looks[0], rule, rollout))
    if rollouts.is_finished(line, rule):
        return rollouts.margin(line, rule, seat)
    leader = 0 + rollouts.partners_cards(line, rule, hands, on_table)
    value = solver_partners_kernels.partners_value(hands, leader, on_table, memory)
    return rollouts.rest_margin(line, rule, seat, value)


@_compiled
def add_corrections(
    view: Any,
    rule: Any,
    seed: int,
    first: int,
    end: int,
    rollout: int,
    tricks: int,
    solver: Any,
    arrays: Any,
    totals: Any,
) -> None:
    """Add ``SPREAD`` times what solving finds beyond the play-out; see ``pimc_kernels``."""
    plans, public, world, line, looks, stream, scratch = arrays
    for number in range(first, end, SPREAD):
        deal_world(plans, public, seed, number, stream, scratch, world)
        for card in range(NUM_CARDS):
            if view.legal >> card & 1:
                rollouts.copy_world(world, line)
                rollouts.play(line, rule, card)
                more = _solved_margin(line, rule, looks, view.seat, rollout, tricks, solver)
                finish(line, rule, looks, rollout, PLAY_OUT, solver[0])
                more -= rollouts.margin(line, rule, view.seat)
                totals[card] += SPREAD * more


@_compiled
def true_cards(
    states: Any,
    rules_row: Any,
    rollout: int,
    tricks: int,
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
        for card in range(NUM_CARDS):
            if legal >> card & 1:
                rollouts.copy_world(states[row : row + 1], line)
                rollouts.play(line, rule, card)
                totals[card] = _solved_margin(line, rule, looks, seat, rollout, tricks, solver)
        out[row] = best_total(legal, totals)
