"""``pimc:worlds=32``: perfect-information Monte Carlo with exact endings.

For every legal card, plays sampled worlds by a quick rule until the stock is empty; the last ten
tricks are then solved (``solver``). It chooses the card with the best mean margin; all cards meet
the same worlds. For each world that is solved seven more are estimated, to steady the mean: what
the solver finds beyond the estimate is added to the mean of the estimates, which leaves the
expectation that of solved worlds. Once the stock is empty it plays exactly.

``pimc:ms=50`` deals worlds until the time for the decision is up, and so may choose another card
on another run or machine; ``worlds=`` always chooses the same.

M. L. Ginsberg, "GIB: Imperfect information in a computationally challenging game", JAIR 14 (2001).
The method believes that what is unknown now will be known later, so it never plays to find out or
to hide something (I. Frank and D. Basin, "Search in games with incomplete information: a case study
using Bridge card play", Artificial Intelligence 100, 1998).
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from tressette_agents.endings import check_solvable, exact_cards
from tressette_agents.playouts import ROLLOUTS, SearchAgent, choice_option, count_option, suit_rows
from tressette_agents.solver import EndingSolver
from tressette_env.cards import NUM_CARDS
from tressette_env.errors import AgentSpecError
from tressette_env.policies import parse_options
from tressette_env.rulesets import RuleSet

__all__ = ["PimcAgent", "make"]

DEFAULT_WORLDS = 32
MAX_WORLDS = 100_000
_TABLE_BITS = 16


class PimcAgent(SearchAgent):
    """Perfect-information Monte Carlo; plays houses of two seats in which more wins.

    Parameters
    ----------
    worlds : int
        Solved for each decision; eight times as many are sampled.
    ms : int
        If not 0, milliseconds for each decision instead of a number of worlds.
    rollout : {"counting", "greedy"}
        Who plays until the stock is empty.
    threads : int
        Most threads for one call; 0: one for each core.
    """

    def __init__(
        self,
        worlds: int = DEFAULT_WORLDS,
        ms: int = 0,
        rollout: str = "counting",
        threads: int = 0,
    ) -> None:
        super().__init__(threads)
        self.worlds = worlds
        self.ms = ms
        self.rollout = rollout
        effort = f"ms={ms}" if ms else f"worlds={worlds}"
        self.spec = f"pimc:{effort}" + (f",rollout={rollout}" if rollout != "counting" else "")
        self._solvers = [EndingSolver() for _ in range(self.threads)]
        self._tables: list[npt.NDArray[np.int64] | None] = [None] * self.threads

    def check_rules(self, rules: RuleSet) -> None:
        """Raise ``RulesError`` unless two seats play for most."""
        check_solvable(self.spec, rules)

    def search(
        self,
        views: npt.NDArray[np.void],
        rules: RuleSet,
        seeds: npt.NDArray[np.int64],
        chosen: npt.NDArray[np.int64],
        part: int,
    ) -> None:
        """See ``SearchAgent.search``."""
        to_act = views["legal"] != 0
        at = np.flatnonzero(to_act & (views["stock_left"] == 0))
        if len(at):
            chosen[at] = exact_cards(views[at], self._solvers[part])
        at = np.flatnonzero(to_act & (views["stock_left"] != 0))
        if len(at):
            chosen[at] = self._stock_cards(views[at], rules, seeds[at], part)

    def _stock_cards(
        self,
        views: npt.NDArray[np.void],
        rules: RuleSet,
        seeds: npt.NDArray[np.int64],
        part: int,
    ) -> npt.NDArray[np.int64]:
        from tressette_agents import search_kernels  # loads numba
        from tressette_agents.solver_search import new_table

        if self._tables[part] is None:
            self._tables[part] = new_table(_TABLE_BITS)
        chosen = np.empty(len(views), np.int64)
        totals = np.zeros(NUM_CARDS, np.int64)
        spread = search_kernels.SPREAD
        how = (
            ROLLOUTS.index(self.rollout),
            search_kernels.EXACT,
            suit_rows(),
            self._tables[part],
            self._workspaces[part].arrays,
            totals,
        )
        if not self.ms:
            search_kernels.best_cards(views, rules.row, seeds, spread * self.worlds, *how, chosen)
            return chosen
        for row, (view, seed) in enumerate(zip(views, seeds, strict=True)):
            end = time.perf_counter() + self.ms / 1000
            totals[:] = 0
            is_possible = 1
            dealt = 0
            while is_possible and (dealt == 0 or time.perf_counter() < end):
                is_possible = search_kernels.add_worlds(
                    view, rules.row[0], seed, dealt, dealt + spread, *how
                )
                dealt += spread
            chosen[row] = search_kernels.best_total(view["legal"], totals) if is_possible else -2
        return chosen


def make(options: str) -> PimcAgent:
    """Make the agent of a spec such as ``pimc:worlds=32`` or ``pimc:ms=50``."""
    known = {
        "worlds": count_option(1, MAX_WORLDS),
        "ms": count_option(1, 3_600_000),
        "rollout": choice_option(ROLLOUTS),
        "threads": count_option(1, 256),
    }
    given = parse_options("pimc", options, known)
    if "ms" in given and "worlds" in given:
        raise AgentSpecError("agent 'pimc': expected worlds=... or ms=..., got both")
    return PimcAgent(**given)
