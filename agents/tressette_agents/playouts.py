"""What the agents that search share: the quick rules that play on in a world, and threads."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_agents.counting import counting_card
from tressette_agents.greedy import greedy_card
from tressette_agents.options import ROLLOUTS
from tressette_env.errors import OptionError
from tressette_env.policies import Agent
from tressette_env.rollouts import Workspace, view_error
from tressette_env.rulesets import RuleSet
from tressette_env.view import View

__all__ = [
    "ESTIMATE",
    "PLAY_OUT",
    "SearchAgent",
    "leaf_code",
    "rollout_card",
    "suit_rows",
]

# How the value of a line of play is found: a quick rule plays on ...
PLAY_OUT = 0  # ... to the end of the deal;
ESTIMATE = 1  # two seats: ... until the stock is empty; the rest is the solver's first guess.

_GREEDY = ROLLOUTS.index("greedy")
_ROWS_A_THREAD = 8  # fewer views are not worth another thread


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


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class SearchAgent(Agent, ABC):
    """Base of the agents that search worlds: shares a call's views among threads.

    A subclass defines ``search``. What it answers depends on the view and the seed, never on the
    other views of a call or on the threads.

    Parameters
    ----------
    threads : int
        Most threads for one call; 0: one for each core that the process may use.
    """

    def __init__(self, threads: int = 0) -> None:
        self.threads = threads or _available_cores()
        self._pool: ThreadPoolExecutor | None = None
        self._workspaces = [Workspace() for _ in range(self.threads)]

    @abstractmethod
    def search(
        self,
        views: npt.NDArray[np.void],
        rules: RuleSet,
        seeds: npt.NDArray[np.int64],
        chosen: npt.NDArray[np.int64],
        part: int,
    ) -> None:
        """Choose a card for each of some views into ``chosen``; -2: no deal can have shown it.

        ``part`` is the number of the thread: no two calls at the same time share it.
        """

    def act(self, view: View, seed: int) -> int:
        """Return a card from one view; -1 if the seat is not to act.

        Raises
        ------
        OptionError
            If no deal of its rules can have shown the view.
        """
        if view.legal == 0:
            return -1
        problem = view_error(view, view.rules)
        if problem:
            raise _impossible(view.rules, problem)
        return super().act(view, seed)

    def act_batch(
        self, views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return a card for each view; -1 where the seat is not to act."""
        self.check_rules(rules)
        rows = np.ascontiguousarray(views)
        numbers = np.ascontiguousarray(seeds, np.int64)
        chosen = np.full(len(rows), -1, np.int64)
        threads = max(1, min(self.threads, len(rows) // _ROWS_A_THREAD))
        bounds = np.linspace(0, len(rows), threads + 1).astype(int).tolist()

        def work(part: int, low: int, high: int) -> None:
            self.search(rows[low:high], rules, numbers[low:high], chosen[low:high], part)

        if threads > 1 and self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1, "tressette-search")
        others = [
            self._pool.submit(work, part, low, high)  # type: ignore[union-attr]
            for part, (low, high) in enumerate(pairwise(bounds[1:]), 1)
        ]
        work(0, bounds[0], bounds[1])
        for other in others:
            other.result()
        if (chosen == -2).any():
            raise _impossible(rules, f"view {int((chosen == -2).argmax())} of {len(rows)}")
        return chosen

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None}


def _impossible(rules: RuleSet, problem: str) -> OptionError:
    return OptionError(
        f"view: expected one that make_view makes of a deal of rules {rules.name!r}; in this "
        f"one: {problem}"
    )
