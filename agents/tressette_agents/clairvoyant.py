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
from tressette_agents.shared_work import SharedWork
from tressette_env.cards import NUM_CARDS
from tressette_env.policies import CheatingAgent, parse_options
from tressette_env.rollouts import Workspace
from tressette_env.rulesets import RuleSet

__all__ = ["ClairvoyantAgent", "make"]

_DRAWS_FOLLOWED = 4  # tricks with a draw that are solved where suit must be followed ...
_DRAWS_FREE = 2  # ... and where any card may be played (R6)
_TRICKS = 8  # four seats
_STATES_A_CALL = 16  # some tenths of a second


Solved = dict[bool, SolvedWorlds]  # by whether suit must be followed


class ClairvoyantAgent(CheatingAgent, SharedWork[tuple[Workspace, Solved]]):
    """Plays on the true deal; houses in which more wins. The seeds are not used."""

    spec = "clairvoyant"

    def __init__(self) -> None:
        SharedWork.__init__(self, threads=1)

    def new_part(self) -> tuple[Workspace, Solved]:
        """See ``SharedWork.new_part``."""
        draws = {True: _DRAWS_FOLLOWED, False: _DRAWS_FREE}
        return Workspace(), {follow: SolvedWorlds(draws[follow], _TRICKS) for follow in draws}

    def check_rules(self, rules: RuleSet) -> None:
        """Raise ``RulesError`` where less wins."""
        check_most_wins(self.spec, rules)

    def act_on_states(
        self, states: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return a card for the seat to act of each state; -1 where the deal is over."""
        self.check_rules(rules)
        rows = np.ascontiguousarray(states)
        chosen = np.empty(len(rows), np.int64)

        def work(part: tuple[Workspace, Solved], low: int, high: int) -> None:
            workspace, solved = part
            kernels, depth, solver = solved[rules.follow_always].kernels(rules.seats)
            kernels.true_cards(
                rows[low:high],
                rules.row,
                ROLLOUTS.index(DEFAULT_ROLLOUT),
                depth,
                solver,
                workspace.arrays,
                np.zeros(NUM_CARDS, np.int64),
                chosen[low:high],
            )

        self.share(work, len(rows), rows_a_call=_STATES_A_CALL)
        return chosen


def make(options: str) -> ClairvoyantAgent:
    """Make the agent of a spec ``clairvoyant``; it has no options."""
    parse_options("clairvoyant", options, {})
    return ClairvoyantAgent()
