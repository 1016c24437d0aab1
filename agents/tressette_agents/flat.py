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

from tressette_agents.options import (
    DEFAULT_LEAF,
    DEFAULT_ROLLOUT,
    LEAVES,
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
from tressette_env.cards import NUM_CARDS
from tressette_env.policies import parse_options
from tressette_env.rollouts import Workspace
from tressette_env.rulesets import RuleSet

__all__ = ["DEFAULT_WORLDS", "MAX_WORLDS", "FlatAgent", "make"]

DEFAULT_WORLDS = 40
MAX_WORLDS = 100_000  # half a second


class FlatAgent(SearchAgent[Workspace]):
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
        rollout: str = DEFAULT_ROLLOUT,
        leaf: str = DEFAULT_LEAF,
        threads: int = 0,
    ) -> None:
        super().__init__(threads)
        self.worlds = worlds = whole_option("worlds", worlds, 1, MAX_WORLDS)
        self.rollout = checked_option("rollout", rollout, choice_option(ROLLOUTS))
        self.leaf = checked_option("leaf", leaf, choice_option(LEAVES))
        others = {"rollout": (rollout, DEFAULT_ROLLOUT), "leaf": (leaf, DEFAULT_LEAF)}
        self.spec = spec_text("flat", {"worlds": worlds}, others)
        self.views_a_call = max(1, MAX_WORLDS // worlds)

    def new_part(self) -> Workspace:
        """See ``SharedWork.new_part``."""
        return Workspace()

    def search(
        self,
        views: npt.NDArray[np.void],
        rules: RuleSet,
        seeds: npt.NDArray[np.int64],
        chosen: npt.NDArray[np.int64],
        memory: Workspace,
    ) -> None:
        """See ``SearchAgent.search``."""
        from tressette_agents import search_kernels  # loads numba

        search_kernels.best_cards(
            views,
            rules.row,
            seeds,
            self.worlds,
            ROLLOUTS.index(self.rollout),
            leaf_code(self.leaf, rules.seats),
            suit_rows(),
            memory.arrays,
            np.zeros(NUM_CARDS, np.int64),
            chosen,
        )


def make(options: str) -> FlatAgent:
    """Make the agent of a spec such as ``flat:worlds=40,rollout=greedy``."""
    known = {
        "worlds": count_option(1, MAX_WORLDS),
        "leaf": choice_option(LEAVES),
        **SHARED_OPTIONS,
    }
    return FlatAgent(**parse_options("flat", options, known))
