"""``clairvoyant``: sees every hand and the order of the stock. It cheats: an upper bound, no rival.

Like ``pimc`` with the deal itself in place of sampled worlds: for every legal card a quick rule
plays on, as if it saw no more than anyone, and the rest is solved, more of it than ``pimc`` could
for many worlds. Match play shows it the states, and marks its results; everything else refuses it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tressette_agents.options import DEFAULT_ROLLOUT, ROLLOUTS
from tressette_agents.pimc import SolvedWorlds, check_most_wins
from tressette_env.cards import NUM_CARDS
from tressette_env.policies import CheatingAgent, parse_options
from tressette_env.rollouts import Workspace
from tressette_env.rulesets import RuleSet

__all__ = ["ClairvoyantAgent", "make"]

_DRAWS_FOLLOWED = 4  # tricks with a draw that are solved where suit must be followed ...
_DRAWS_FREE = 2  # ... and where any card may be played (R6)
_TRICKS = 8  # four seats


class ClairvoyantAgent(CheatingAgent):
    """Plays on the true deal; houses in which more wins. The seeds are not used."""

    spec = "clairvoyant"

    def __init__(self) -> None:
        self._workspace = Workspace()
        self._solved = {
            follow: SolvedWorlds(draws, _TRICKS)
            for follow, draws in ((True, _DRAWS_FOLLOWED), (False, _DRAWS_FREE))
        }

    def check_rules(self, rules: RuleSet) -> None:
        """Raise ``RulesError`` where less wins."""
        check_most_wins(self.spec, rules)

    def act_on_states(
        self, states: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return a card for the seat to act of each state; -1 where the deal is over."""
        self.check_rules(rules)
        kernels, depth, solver = self._solved[rules.follow_always].kernels(rules.seats)
        chosen = np.empty(len(states), np.int64)
        kernels.true_cards(
            np.ascontiguousarray(states),
            rules.row,
            ROLLOUTS.index(DEFAULT_ROLLOUT),
            depth,
            solver,
            self._workspace.arrays,
            np.zeros(NUM_CARDS, np.int64),
            chosen,
        )
        return chosen


def make(options: str) -> ClairvoyantAgent:
    """Make the agent of a spec ``clairvoyant``; it has no options."""
    parse_options("clairvoyant", options, {})
    return ClairvoyantAgent()
