"""``pimc:worlds=32``: perfect-information Monte Carlo with exact endings.

For every legal card, plays sampled worlds by a quick rule until little is left, and solves the rest
as if all cards were open: with two seats the last tricks with a draw and those after the stock
(``solver_open``), with four the last tricks (``solver_partners``). It chooses the card with the
best mean margin; all cards meet the same worlds. For each world that is solved seven more are only
estimated, by the quick rule alone, to steady the mean: what the solver finds beyond the estimate is
added to the mean of the estimates, which leaves the expectation that of solved worlds (a control
variate). With two seats and the stock empty there is one world, and play is exact.

``pimc:ms=50`` deals worlds until the time for the decision is up, and so may choose another card
on another run or machine; ``worlds=`` always chooses the same.

M. L. Ginsberg, "GIB: Imperfect information in a computationally challenging game", JAIR 14 (2001).
The method believes that what is unknown now will be known later, so it never plays to find out or
to hide something (I. Frank and D. Basin, "Search in games with incomplete information: a case study
using Bridge card play", Artificial Intelligence 100, 1998).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_agents.endings import exact_cards
from tressette_agents.options import (
    DEFAULT_ROLLOUT,
    ROLLOUTS,
    SHARED_OPTIONS,
    checked_option,
    choice_option,
    count_option,
    spec_text,
)
from tressette_agents.playouts import leaf_code, suit_rows
from tressette_agents.search_agent import SearchAgent
from tressette_agents.shared_work import whole_option
from tressette_agents.solver import EndingSolver
from tressette_env.cards import NUM_CARDS
from tressette_env.errors import AgentSpecError, OptionError, RulesError
from tressette_env.policies import parse_options
from tressette_env.rollouts import Workspace
from tressette_env.rulesets import RuleSet
from tressette_env.view import View

__all__ = ["PimcAgent", "SolvedWorlds", "check_most_wins", "make"]

DEFAULT_WORLDS = 32
DEFAULT_DRAWS = 1
DEFAULT_TRICKS = 5
MAX_WORLDS = 100_000
MAX_MS = 3_600_000
MAX_DRAWS = 4  # one more costs a world three times the time, with free play six times
MAX_TRICKS = 9


def check_most_wins(spec: str, rules: RuleSet) -> None:
    """Raise ``RulesError`` where less wins, which the solvers do not play."""
    if rules.fewest_wins:
        raise RulesError(
            f"agent {spec!r} does not play {rules.name!r}: it solves for most thirds, and in "
            "these rules less wins"
        )


class SolvedWorlds:
    """One thread's solvers and the kernels that use them, made when they are first needed.

    Parameters
    ----------
    draws : int
        Two seats: tricks with a draw that are solved.
    tricks : int
        Four seats: tricks that are solved.
    """

    def __init__(self, draws: int, tricks: int) -> None:
        self.depths = {2: draws, 4: tricks}
        self._solvers: dict[int, tuple[npt.NDArray[np.int64], ...]] = {}

    def kernels(self, seats: int) -> tuple[Any, int, tuple[npt.NDArray[np.int64], ...]]:
        """Return the kernels' module for so many seats, how much it solves, and its arrays."""
        module: Any
        if seats == 2:
            from tressette_agents import pimc_kernels as module  # loads numba
        else:
            from tressette_agents import pimc_partners_kernels as module
        if seats not in self._solvers:
            self._solvers[seats] = module.new_solver()
        return module, self.depths[seats], self._solvers[seats]


class _Memory:
    """What one thread works in."""

    def __init__(self, draws: int, tricks: int) -> None:
        self.workspace = Workspace()
        self.endings = EndingSolver()
        self.solved = SolvedWorlds(draws, tricks)


class PimcAgent(SearchAgent[_Memory]):
    """Perfect-information Monte Carlo; plays houses in which more wins.

    Parameters
    ----------
    worlds : int
        Solved for each decision; eight times as many are sampled.
    ms : int
        If not 0, milliseconds for each decision instead of a number of worlds.
    rollout : {"counting", "greedy"}
        Who plays until a world is solved.
    draws : int
        Two seats: tricks with a draw that are solved, besides those after the stock; where any card
        may be played (R6), only for decisions in these tricks.
    tricks : int
        Four seats: tricks that are solved.
    threads : int
        Most threads for one call; 0: one for each core.
    """

    def __init__(
        self,
        worlds: int = DEFAULT_WORLDS,
        ms: int = 0,
        rollout: str = DEFAULT_ROLLOUT,
        draws: int = DEFAULT_DRAWS,
        tricks: int = DEFAULT_TRICKS,
        threads: int = 0,
    ) -> None:
        super().__init__(threads)
        self.worlds = whole_option("worlds", worlds, 1, MAX_WORLDS)
        self.ms = whole_option("ms", ms, 0, MAX_MS)
        self.rollout = checked_option("rollout", rollout, choice_option(ROLLOUTS))
        self.draws = whole_option("draws", draws, 0, MAX_DRAWS)
        self.tricks = whole_option("tricks", tricks, 1, MAX_TRICKS)
        others = {
            "rollout": (rollout, DEFAULT_ROLLOUT),
            "draws": (draws, DEFAULT_DRAWS),
            "tricks": (tricks, DEFAULT_TRICKS),
        }
        self.spec = spec_text("pimc", {"ms": ms} if ms else {"worlds": worlds}, others)

    def new_part(self) -> _Memory:
        """See ``SharedWork.new_part``."""
        return _Memory(self.draws, self.tricks)

    def check_rules(self, rules: RuleSet) -> None:
        """Raise ``RulesError`` where less wins."""
        check_most_wins(self.spec, rules)

    def search(
        self,
        views: npt.NDArray[np.void],
        rules: RuleSet,
        seeds: npt.NDArray[np.int64],
        chosen: npt.NDArray[np.int64],
        memory: _Memory,
    ) -> None:
        """See ``SearchAgent.search``."""
        is_ending = (views["stock_left"] == 0) & (rules.seats == 2)
        at = np.flatnonzero((views["legal"] != 0) & is_ending)
        if len(at):
            chosen[at] = exact_cards(views[at], memory.endings)
        for row in np.flatnonzero((views["legal"] != 0) & ~is_ending):
            chosen[row] = self._card(views[row], rules, int(seeds[row]), memory)

    def mean_margins(self, view: View, seed: int) -> Iterator[npt.NDArray[np.float64]]:
        """Watch a decision: what the agent thinks of each card after one solved world, two, ...

        Parameters
        ----------
        view : View
            Of a seat to act, while cards are hidden.
        seed : int
            As in ``act``; the same worlds.

        Yields
        ------
        float64[40]
            The mean margin of the seat's side at the end of the deal, in thirds, if it plays the
            card now; NaN for cards that are not legal. A new array, and no end of them.

        Raises
        ------
        OptionError
            If the seat is not to act, or no deal can have shown the view.
        """
        if not view.legal:
            raise OptionError("view: expected one of the seat to act, got no legal card")
        row = view.to_record()[0]
        is_legal = np.array([view.legal >> card & 1 for card in range(NUM_CARDS)], np.bool_)
        count = 0
        for totals, dealt in self._solve_worlds(row, view.rules, seed, self.new_part()):
            count = dealt
            yield np.where(is_legal, totals / dealt, np.nan)
        if not count:
            raise OptionError(f"view: no deal of rules {view.rules.name!r} can have shown it")

    def _card(self, view: np.void, rules: RuleSet, seed: int, memory: _Memory) -> int:
        from tressette_agents import search_kernels  # loads numba

        legal = int(view["legal"])
        if legal & legal - 1 == 0:
            return legal.bit_length() - 1
        end = time.perf_counter() + self.ms / 1000
        # One solved world in a call of compiled code: then the clock, and Python's signals.
        for number, (totals, _dealt) in enumerate(self._solve_worlds(view, rules, seed, memory), 1):
            is_enough = time.perf_counter() >= end if self.ms else number >= self.worlds
            if is_enough or self.is_stopped:
                return int(search_kernels.best_total(legal, totals))
        return -2

    def _solve_worlds(
        self, view: np.void, rules: RuleSet, seed: int, memory: _Memory
    ) -> Iterator[tuple[npt.NDArray[np.int64], int]]:
        """Yield the totals of margins (int64[40], always the same array) and of how many worlds.

        After each solved world; never, if no deal can have shown the view.
        """
        from tressette_agents import search_kernels  # loads numba
        from tressette_agents.pimc_kernels import SPREAD

        kernels, depth, solver = memory.solved.kernels(rules.seats)
        is_free = rules.seats == 2 and not rules.follow_always
        if is_free and view["stock_left"] > 2 * depth:
            depth = 0  # where any card may be played, it costs much and gains nothing before
        leaf = leaf_code("estimate", rules.seats)
        rollout, rule = ROLLOUTS.index(self.rollout), rules.row[0]
        arrays = memory.workspace.arrays
        totals = np.zeros(NUM_CARDS, np.int64)
        for first in itertools.count(0, SPREAD):
            which = (view, rule, seed, first, first + SPREAD, rollout)
            if not search_kernels.add_worlds(*which, leaf, suit_rows(), arrays, totals):
                return
            kernels.add_corrections(*which, depth, solver, arrays, totals)
            yield totals, first + SPREAD


def make(options: str) -> PimcAgent:
    """Make the agent of a spec such as ``pimc:worlds=32`` or ``pimc:ms=50``."""
    known = {
        "worlds": count_option(1, MAX_WORLDS),
        "ms": count_option(1, MAX_MS),
        "draws": count_option(0, MAX_DRAWS),
        "tricks": count_option(1, MAX_TRICKS),
        **SHARED_OPTIONS,
    }
    given = parse_options("pimc", options, known)
    if "ms" in given and "worlds" in given:
        raise AgentSpecError("agent 'pimc': expected worlds=... or ms=..., got both")
    return PimcAgent(**given)
