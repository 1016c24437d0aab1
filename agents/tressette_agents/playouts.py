"""What the agents that search share: the quick rules that play on in a world."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_agents.counting import counting_card
from tressette_agents.greedy import greedy_card
from tressette_agents.options import ROLLOUTS

__all__ = ["ESTIMATE", "PLAY_OUT", "leaf_code", "rollout_card", "suit_rows"]

# How the value of a line of play is found: a quick rule plays on ...
PLAY_OUT = 0  # ... to the end of the deal;
ESTIMATE = 1  # two seats: ... until the stock is empty; the rest is the solver's first guess.

_GREEDY = ROLLOUTS.index("greedy")


def rollout_card(view: Any, rules: Any, rollout: int) -> int:
    """Card by the rule with the given place in ``ROLLOUTS``."""
    if rollout == _GREEDY:
        return greedy_card(view, rules)
    return counting_card(view, rules)


def leaf_code(leaf: str, seats: int) -> int:
    """How lines end for an option of ``LEAVES``; with four seats there is nothing to estimate."""
    return ESTIMATE if leaf == "estimate" and seats == 2 else PLAY_OUT


@cache
def suit_rows() -> npt.NDArray[np.int64]:
    """Return the solver's table of suits, made once a process."""
    from tressette_agents import solver_search  # loads numba

    return solver_search.suit_rows()
