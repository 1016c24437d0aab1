"""Base of the agents that search worlds: checks the views, and shares them among threads."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tressette_agents.shared_work import MAX_THREADS, SharedWork
from tressette_env.policies import Agent
from tressette_env.randomness import check_seed
from tressette_env.rulesets import RuleSet
from tressette_env.view import View
from tressette_env.view_checks import check_views, impossible_view, to_record

__all__ = ["SearchAgent"]

_ROWS_A_THREAD = 8  # fewer views are not worth another thread

Memory = TypeVar("Memory")


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class SearchAgent(Agent, SharedWork[Memory]):
    """Base of the agents that search worlds.

    A subclass defines ``search`` and ``new_part``. What it answers depends on the view and the
    seed, never on the other views of a call or on the threads. Python threads that use one agent
    wait for one another.

    Parameters
    ----------
    threads : int
        Most threads for one call, up to 256; 0: one for each core that the process may use.

    Attributes
    ----------
    views_a_call : int
        As many as ``search`` gets through in about half a second.
    """

    views_a_call = 1

    def __init__(self, threads: int = 0) -> None:
        SharedWork.__init__(self, threads or min(_available_cores(), MAX_THREADS))

    @abstractmethod
    def search(
        self,
        views: npt.NDArray[np.void],
        rules: RuleSet,
        seeds: npt.NDArray[np.int64],
        chosen: npt.NDArray[np.int64],
        memory: Memory,
    ) -> None:
        """Choose a card for each of some views into ``chosen``; -2: no deal can have shown it.

        The views are checked; ``chosen`` holds -1. ``memory`` is what ``new_part`` has returned.
        """

    def act(self, view: View, seed: int) -> int:
        """Return a card from one view; -1 if the seat is not to act.

        Raises
        ------
        OptionError
            If no deal of its rules can have shown the view.
        """
        record = to_record(view)
        return int(self.act_batch(record, view.rules, np.array([check_seed(seed)]))[0])

    def act_batch(
        self, views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return a card for each view; -1 where the seat is not to act.

        Raises
        ------
        OptionError
            If no deal of the rules can have shown one of the views.
        """
        numbers = check_views(views, rules, seeds)
        self.check_rules(rules)
        rows = np.ascontiguousarray(views)
        chosen = np.full(len(rows), -1, np.int64)

        def work(memory: Memory, low: int, high: int) -> None:
            self.search(rows[low:high], rules, numbers[low:high], chosen[low:high], memory)

        self.share(work, len(rows), _ROWS_A_THREAD, self.views_a_call)
        if (chosen == -2).any():
            where = f"view {int((chosen == -2).argmax())} of {len(rows)}"
            raise impossible_view(rules, f"no hidden cards fit ({where})")
        return chosen
