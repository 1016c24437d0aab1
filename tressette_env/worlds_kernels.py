"""The compiled loops over worlds; ``worlds_plan`` and ``worlds_sampling`` as they stand.

Importing this module also lets other compiled functions call those modules' functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tressette_env import worlds_plan, worlds_sampling, worlds_splits
from tressette_env.cards import NUM_CARDS
from tressette_env.compiling import compiled, register_module

__all__ = ["plan_view", "sample_many", "sample_planned"]

for _module in (worlds_splits, worlds_plan, worlds_sampling):
    register_module(_module)


@compiled
def plan_view(views: Any, rules_row: Any, plans: Any, states: Any) -> int:
    """Plan the first view (VIEW_DTYPE) into the first plan and public state; return its weight."""
    worlds_plan.write_public(views[0], rules_row[0], states[0])
    return worlds_plan.make_plan(views[0], rules_row[0], plans[0])


@compiled
def sample_planned(plans: Any, public: Any, seed: int, first: int, out: Any) -> None:
    """Worlds ``first``, ``first + 1``, ... of a seed from the first plan, into ``out``.

    Parameters
    ----------
    plans : PLAN_DTYPE[1]
    public : STATE_DTYPE[1]
        What all worlds share.
    seed : int
    first : int
    out : STATE_DTYPE[W]
        Filled.
    """
    stream = np.zeros(4, np.int64)
    scratch = np.zeros(NUM_CARDS, np.int64)
    for world in range(len(out)):
        worlds_sampling.start_stream(stream, seed, first + world)
        out[world] = public[0]
        worlds_sampling.deal_hidden(plans[0], stream, scratch, out[world])


@compiled
def sample_many(views: Any, rules_row: Any, seeds: Any, plans: Any, public: Any, out: Any) -> int:
    """Worlds 0, 1, ... of each view's seed; return the first view that is impossible, or -1.

    Parameters
    ----------
    views : VIEW_DTYPE[B]
    rules_row : RULES_DTYPE[1]
    seeds : int64[B]
    plans : PLAN_DTYPE[1]
        Overwritten.
    public : STATE_DTYPE[1]
        Overwritten.
    out : STATE_DTYPE[B, W]
        Filled.
    """
    for row in range(len(views)):
        worlds_plan.write_public(views[row], rules_row[0], public[0])
        if worlds_plan.make_plan(views[row], rules_row[0], plans[0]) == 0:
            return row
        sample_planned(plans, public, seeds[row], 0, out[row])
    return -1
