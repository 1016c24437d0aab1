"""The compiled tree search of ``ismcts``; loads numba.

Names: ``arrays`` are those of a ``rollouts.Workspace``. A tree is ``children`` (int32[N, 40]: node
after each card, 0: none yet), ``counts`` (int64[N, 2]: visits, and how often the node was there to
be chosen) and ``sums`` (float64[N]: margins of the side that chose it). Node 0 is the root.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tressette_agents import counting, greedy, playouts, search_kernels, solver_kernels
from tressette_agents.counting import cheapest_card
from tressette_agents.playouts import PLAY_OUT, rollout_card
from tressette_agents.search_kernels import deal_world, finish, plan_worlds
from tressette_env import cards, rollouts, rules, worlds_kernels
from tressette_env.cards import NUM_CARDS
from tressette_env.compiling import compiled

__all__ = ["best_cards"]

Function = TypeVar("Function", bound=Callable[..., Any])

_MAX_PATH = 40
_VISITS = 0
_AVAILABLE = 1


def _compiled(function: Function) -> Function:
    own = (counting, greedy, playouts, search_kernels, solver_kernels)
    return compiled(function, sys.modules[__name__], *own, worlds_kernels, rollouts, rules, cards)


def _chosen_child(
    node: int, legal: int, explore: float, children: Any, counts: Any, sums: Any
) -> int:
    """Card with the largest upper confidence bound; every legal card has a child."""
    best = -1
    best_bound = 0.0
    choice = legal
    while choice:
        card = cheapest_card(choice)
        choice ^= 1 << card
        child = children[node, card]
        visits = counts[child, _VISITS]
        counts[child, _AVAILABLE] += 1
        bound = sums[child] / visits
        bound += explore * math.sqrt(math.log(counts[child, _AVAILABLE]) / visits)
        if best < 0 or bound > best_bound:
            best = card
            best_bound = bound
    return best


def _untried(node: int, legal: int, children: Any) -> int:
    """Legal cards without a child."""
    found = 0
    for card in range(NUM_CARDS):
        if legal >> card & 1 and children[node, card] == 0:
            found |= 1 << card
    return found


def _new_child(node: int, card: int, legal: int, size: int, tree: Any) -> None:
    """Add node number ``size`` after a card; its legal siblings were there to be chosen, too."""
    children, counts, sums = tree
    for other in range(NUM_CARDS):
        if legal >> other & 1 and children[node, other]:
            counts[children[node, other], _AVAILABLE] += 1
    children[node, card] = size
    children[size, :] = 0
    counts[size, _VISITS] = 0
    counts[size, _AVAILABLE] = 1
    sums[size] = 0.0


@_compiled
def _search(
    view: Any,
    rule: Any,
    seed: int,
    first: int,
    end: int,
    explore: float,
    rollout: int,
    leaf: int,
    rows: Any,
    arrays: Any,
    tree: Any,
    path: Any,
) -> int:
    plans, public, world, line, looks, stream, scratch = arrays
    children, counts, sums = tree
    if plan_worlds(view, rule, plans, public) == 0:
        return -2
    if view.stock_left == 0:
        leaf = PLAY_OUT  # the tree reaches to the end
    if first == 0:
        children[0, :] = 0
    size = first + 1  # no iteration before has added more than one node
    side = view.seat & 1
    for number in range(first, end):
        deal_world(plans, public, seed, number, stream, scratch, world)
        rollouts.copy_world(world, line)
        node = 0
        depth = 0
        while not rollouts.is_finished(line, rule):
            if leaf != PLAY_OUT and rollouts.stock_is_empty(line, rule):
                break
            rollouts.look(line, rule, looks)
            legal = looks[0].legal
            untried = _untried(node, legal, children)
            if untried:
                card = rollout_card(looks[0], rule, rollout)
                if not untried >> card & 1:
                    card = cards.nth_card(untried, rollouts.pick(stream, cards.bit_count(untried)))
                _new_child(node, card, legal, size, tree)
                size += 1
            else:
                card = _chosen_child(node, legal, explore, children, counts, sums)
            node = children[node, card]
            path[depth, 0] = node
            path[depth, 1] = 1 - 2 * (rollouts.mover(line) & 1 ^ side)
            depth += 1
            rollouts.play(line, rule, card)
            if untried:
                break
        finish(line, rule, looks, rollout, leaf, rows)
        reward = rollouts.margin(line, rule, view.seat) / rule.total_thirds
        for place in range(depth):
            counts[path[place, 0], _VISITS] += 1
            sums[path[place, 0]] += reward * path[place, 1]
    best = -1
    choice = view.legal
    while choice:
        card = cheapest_card(choice)
        choice ^= 1 << card
        child = children[0, card]
        if child and (best < 0 or counts[child, 0] > counts[children[0, best], 0]):
            best = card
    return best


@_compiled
def best_cards(
    views: Any,
    rules_row: Any,
    seeds: Any,
    first: int,
    end: int,
    explore: float,
    rollout: int,
    leaf: int,
    rows: Any,
    arrays: Any,
    tree: Any,
    path: Any,
    out: Any,
) -> None:
    """Most visited card for each view into ``out``; -2: an impossible view.

    Iterations ``first`` to ``end - 1``; unless ``first`` is 0, those before have just been done in
    this tree, for the one view that there is.
    """
    for row in range(len(views)):
        view = views[row]
        if view.legal & (view.legal - 1) == 0:
            out[row] = cheapest_card(view.legal)  # the only card, or -1
        else:
            out[row] = _search(
                view,
                rules_row[0],
                seeds[row],
                first,
                end,
                explore,
                rollout,
                leaf,
                rows,
                arrays,
                tree,
                path,
            )
