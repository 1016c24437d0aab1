"""``flat:worlds=40``: flat Monte Carlo.

For every legal card, plays sampled worlds to the end of the deal, all seats by a quick rule, and
chooses the card with the best mean margin. All cards meet the same worlds, so that the luck of the
worlds falls on all alike; of equally good cards it takes the cheapest. A world fits everything that
the seat has seen (``docs/worlds.md``). With the stock empty and two seats there is only one.

T. P. Runarsson and others call this "flat" as no tree is kept; the method is M. L. Ginsberg's,
"GIB: Imperfect information in a computationally challenging game", JAIR 14 (2001), with play-outs
in place of a solver.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tressette_agents.playouts import (
    LEAVES,
    ROLLOUTS,
    SearchAgent,
    choice_option,
    count_option,
    suit_rows,
)
from tressette_env.cards import NUM_CARDS
from tressette_env.policies import parse_options
from tressette_env.rulesets import RuleSet

__all__ = ["DEFAULT_WORLDS", "MAX_WORLDS", "FlatAgent", "make"]

DEFAULT_WORLDS = 40
MAX_WORLDS = 100_000

_NO_TABLE = np.zeros(1, np.int64)  # the solver is not asked


class FlatAgent(SearchAgent):
    """Flat Monte Carlo; plays every house.

    Parameters
    ----------
    worlds : int
        Sampled for each decision.
    rollout : {"counting", "greedy"}
        Who plays on in them.
    leaf : {"estimate", "play"}
        With two seats, whether the tricks after the stock are estimated or played.
    threads : int
        Most threads for one call; 0: one for each core.
    """

    def __init__(
        self,
        worlds: int = DEFAULT_WORLDS,
        rollout: str = "counting",
        leaf: str = "estimate",
        threads: int = 0,
    ) -> None:
        super().__init__(threads)
        self.worlds = worlds
        self.rollout = rollout
        self.leaf = leaf
        self.spec = f"flat:worlds={worlds}"
        self.spec += f",rollout={rollout}" if rollout != "counting" else ""
        self.spec += f",leaf={leaf}" if leaf != "estimate" else ""

    def search(
        self,
        views: npt.NDArray[np.void],
        rules: RuleSet,
        seeds: npt.NDArray[np.int64],
        chosen: npt.NDArray[np.int64],
        part: int,
    ) -> None:
        """See ``SearchAgent.search``."""
        from tressette_agents import search_kernels  # loads numba

        is_estimated = self.leaf == "estimate" and rules.seats == 2
        search_kernels.best_cards(
            views,
            rules.row,
            seeds,
            self.worlds,
            ROLLOUTS.index(self.rollout),
            search_kernels.ESTIMATE if is_estimated else search_kernels.PLAY_OUT,
            suit_rows(),
            _NO_TABLE,
            self._workspaces[part].arrays,
            np.zeros(NUM_CARDS, np.int64),
            chosen,
        )


def make(options: str) -> FlatAgent:
    """Make the agent of a spec such as ``flat:worlds=40,rollout=greedy``."""
    known = {
        "worlds": count_option(1, MAX_WORLDS),
        "rollout": choice_option(ROLLOUTS),
        "leaf": choice_option(LEAVES),
        "threads": count_option(1, 256),
    }
    return FlatAgent(**parse_options("flat", options, known))
