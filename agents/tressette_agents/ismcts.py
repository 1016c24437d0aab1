"""``ismcts:iterations=1000``: information-set Monte Carlo tree search, single observer.

One tree for the searching seat, over cards played; every iteration deals another world that fits
what the seat has seen, and walks down the cards that are legal in it. A card is chosen by the upper
confidence bound, counted over the iterations in which it was there to be chosen; below the tree a
quick rule plays on. Draws are part of the world, not of the tree. Played is the most visited card.

P. I. Cowling, E. J. Powley and D. Whitehouse, "Information Set Monte Carlo Tree Search", IEEE
Transactions on Computational Intelligence and AI in Games 4(2), 2012: SO-ISMCTS, algorithm 1.
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
    choice_option,
    count_option,
    number_option,
    spec_text,
)
from tressette_agents.playouts import SearchAgent, leaf_code, suit_rows
from tressette_env.policies import parse_options
from tressette_env.rulesets import RuleSet

__all__ = ["IsmctsAgent", "make"]

DEFAULT_ITERATIONS = 1000
MAX_ITERATIONS = 1_000_000
EXPLORE = 0.15  # times the square root; margins are counted in whole deals (35 thirds)


class IsmctsAgent(SearchAgent):
    """Information-set Monte Carlo tree search; plays every house.

    Parameters
    ----------
    iterations : int
        Worlds dealt, and nodes added, for each decision.
    explore : float
        Weight of the bound's second part.
    rollout : {"counting", "greedy"}
        Who plays on below the tree.
    leaf : {"estimate", "play"}
        With two seats, whether the tricks after the stock are estimated or played.
    threads : int
        Most threads for one call; 0: one for each core.
    """

    def __init__(
        self,
        iterations: int = DEFAULT_ITERATIONS,
        explore: float = EXPLORE,
        rollout: str = DEFAULT_ROLLOUT,
        leaf: str = DEFAULT_LEAF,
        threads: int = 0,
    ) -> None:
        super().__init__(threads)
        self.iterations = iterations
        self.explore = explore
        self.rollout = rollout
        self.leaf = leaf
        others = {
            "explore": (explore, EXPLORE),
            "rollout": (rollout, DEFAULT_ROLLOUT),
            "leaf": (leaf, DEFAULT_LEAF),
        }
        self.spec = spec_text("ismcts", {"iterations": iterations}, others)
        self._trees: list[tuple[npt.NDArray[np.generic], ...] | None] = [None] * self.threads

    def search(
        self,
        views: npt.NDArray[np.void],
        rules: RuleSet,
        seeds: npt.NDArray[np.int64],
        chosen: npt.NDArray[np.int64],
        part: int,
    ) -> None:
        """See ``SearchAgent.search``."""
        from tressette_agents import ismcts_kernels  # loads numba

        tree = self._trees[part]
        if tree is None:
            size = self.iterations + 1
            tree = (
                np.zeros((size, 40), np.int32),
                np.zeros((size, 2), np.int64),
                np.zeros(size, np.float64),
            )
            self._trees[part] = tree
        ismcts_kernels.best_cards(
            views,
            rules.row,
            seeds,
            self.iterations,
            self.explore,
            ROLLOUTS.index(self.rollout),
            leaf_code(self.leaf, rules.seats),
            suit_rows(),
            self._workspaces[part].arrays,
            tree,
            np.zeros((40, 2), np.int64),
            chosen,
        )


def make(options: str) -> IsmctsAgent:
    """Make the agent of a spec such as ``ismcts:iterations=1000``."""
    known = {
        "iterations": count_option(1, MAX_ITERATIONS),
        "explore": number_option(0, 100),
        "leaf": choice_option(LEAVES),
        **SHARED_OPTIONS,
    }
    return IsmctsAgent(**parse_options("ismcts", options, known))
