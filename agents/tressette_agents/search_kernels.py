"""The compiled loops over worlds that are played on by a quick rule; ``flat`` is nothing else.

Importing this module loads numba; the first call on a fresh machine compiles for some seconds.
Names: ``arrays`` are those of a ``rollouts.Workspace``; ``rows`` the solver's table of suits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tressette_agents import counting, greedy, playouts, solver_kernels
from tressette_agents.counting import cheapest_card
from tressette_agents.playouts import PLAY_OUT, rollout_card
from tressette_env import cards, rollouts, rules, worlds_kernels
from tressette_env.cards import NUM_CARDS, set_worth
from tressette_env.compiling import compiled
from tressette_env.rulesets import LAST_TRICK_THIRDS

__all__ = [
    "add_worlds",
    "best_cards",
    "best_total",
    "deal_world",
    "finish",
    "plan_worlds",
]

Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(function: Function) -> Function:
    modules = (counting, greedy, playouts, solver_kernels, worlds_kernels, rollouts, rules, cards)
    return compiled(function, sys.modules[__name__], *modules)


plan_worlds = _compiled(rollouts.plan_worlds)
deal_world = _compiled(rollouts.deal_world)


@_compiled
def _estimate(own: int, other: int, rows: Any) -> int:
    """Thirds that the leader of an ending is likely to take."""
    most = set_worth(own | other) + LAST_TRICK_THIRDS
    return min(max(solver_kernels.guess(own, other, rows), 0), most)


@_compiled
def finish(line: Any, rule: Any, looks: Any, rollout: int, leaf: int, rows: Any) -> None:
    """Play a line on by a quick rule until both sides' thirds of the deal are known, or guessed."""
    while not rollouts.is_finished(line, rule):
        if leaf != PLAY_OUT and rollouts.stock_is_empty(line, rule):
            own, other = rollouts.ending_cards(line)
            rollouts.add_ending(line, _estimate(own, other, rows))
            return
        rollouts.look(line, rule, looks)
        rollouts.play(line, rule, rollout_card(looks[0], rule, rollout))


@_compiled
def add_worlds(
    view: Any,
    rule: Any,
    seed: int,
    first: int,
    end: int,
    rollout: int,
    leaf: int,
    rows: Any,
    arrays: Any,
    totals: Any,
) -> int:
    """Add margins of worlds ``first`` to ``end - 1`` to ``totals`` (int64[40]), card by card.

    Returns 0 if no deal can have shown the view, else 1.
    """
    plans, public, world, line, looks, stream, scratch = arrays
    if plan_worlds(view, rule, plans, public) == 0:
        return 0
    for number in range(first, end):
        deal_world(plans, public, seed, number, stream, scratch, world)
        for card in range(NUM_CARDS):
            if view.legal >> card & 1:
                rollouts.copy_world(world, line)
                rollouts.play(line, rule, card)
                finish(line, rule, looks, rollout, leaf, rows)
                totals[card] += rollouts.margin(line, rule, view.seat)
    return 1


@_compiled
def best_total(legal: int, totals: Any) -> int:
    """Legal card with the largest total, of equals the cheapest; -1 if there is none."""
    best = -1
    choice = legal
    while choice:
        card = cheapest_card(choice)
        choice ^= 1 << card
        if best < 0 or totals[card] > totals[best]:
            best = card
    return best


@_compiled
def best_cards(
    views: Any,
    rules_row: Any,
    seeds: Any,
    num_worlds: int,
    rollout: int,
    leaf: int,
    rows: Any,
    arrays: Any,
    totals: Any,
    out: Any,
) -> None:
    """Card with the best mean margin for each view into ``out``; -2: an impossible view."""
    rule = rules_row[0]
    for row in range(len(views)):
        view = views[row]
        if view.legal & (view.legal - 1) == 0:
            out[row] = cheapest_card(view.legal)  # the only card, or -1
            continue
        # With two seats and the stock empty there is only one world.
        count = 1 if rule.seats == 2 and view.stock_left == 0 else num_worlds
        totals[:] = 0
        if add_worlds(view, rule, seeds[row], 0, count, rollout, leaf, rows, arrays, totals):
            out[row] = best_total(view.legal, totals)
        else:
            out[row] = -2
