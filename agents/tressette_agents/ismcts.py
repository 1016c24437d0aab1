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
    checked_option,
    choice_option,
    count_option,
    number_option,
    spec_text,
)
from tressette_agents.playouts import leaf_code, suit_rows
from tressette_agents.search_agent import SearchAgent
from tressette_agents.shared_work import whole_option
from tressette_env.policies import parse_options
from tressette_env.rollouts import Workspace
from tressette_env.rulesets import RuleSet

__all__ = ["IsmctsAgent", "make"]

DEFAULT_ITERATIONS = 1000
MAX_ITERATIONS = 1_000_000
MAX_EXPLORE = 100
_ITERATIONS_A_CALL = 100_000  # some tenths of a second
EXPLORE = 0.15  # times the square root; margins are counted in whole deals (35 thirds)


Tree = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.float64]]


class IsmctsAgent(SearchAgent[tuple[Workspace, Tree]]):
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
        self.iterations = whole_option("iterations", iterations, 1, MAX_ITERATIONS)
        self.explore = explore = checked_option("explore", explore, number_option(0, MAX_EXPLORE))
        self.rollout = checked_option("rollout", rollout, choice_option(ROLLOUTS))
        self.leaf = checked_option("leaf", leaf, choice_option(LEAVES))
        others = {
            "explore": (explore, EXPLORE),
            "rollout": (rollout, DEFAULT_ROLLOUT),
            "leaf": (leaf, DEFAULT_LEAF),
        }
        self.spec = spec_text("ismcts", {"iterations": iterations}, others)
        self.views_a_call = max(1, _ITERATIONS_A_CALL // iterations)

    def new_part(self) -> tuple[Workspace, Tree]:
        """See ``SharedWork.new_part``; the arrays of a tree are those of ``ismcts_kernels``."""
        size = self.iterations + 1
        children = np.zeros((size, 40), np.int32)
        return Workspace(), (children, np.zeros((size, 2), np.int64), np.zeros(size, np.float64))

    def search(
        self,
        views: npt.NDArray[np.void],
        rules: RuleSet,
        seeds: npt.NDArray[np.int64],
        chosen: npt.NDArray[np.int64],
        memory: tuple[Workspace, Tree],
    ) -> None:
        """See ``SearchAgent.search``."""
        from tressette_agents import ismcts_kernels  # loads numba

        workspace, tree = memory
        for first in range(0, self.iterations, _ITERATIONS_A_CALL):
            if self.is_stopped:
                return
            ismcts_kernels.best_cards(
                views,
                rules.row,
                seeds,
                first,
                min(first + _ITERATIONS_A_CALL, self.iterations),
                self.explore,
                ROLLOUTS.index(self.rollout),
                leaf_code(self.leaf, rules.seats),
                suit_rows(),
                workspace.arrays,
                tree,
                np.zeros((40, 2), np.int64),
                chosen,
            )


def make(options: str) -> IsmctsAgent:
    """Make the agent of a spec such as ``ismcts:iterations=1000``."""
    known = {
        "iterations": count_option(1, MAX_ITERATIONS),
        "explore": number_option(0, MAX_EXPLORE),
        "leaf": choice_option(LEAVES),
        **SHARED_OPTIONS,
    }
    return IsmctsAgent(**parse_options("ismcts", options, known))
