"""``X+endings``: plays as agent X while the stock lasts, and exactly once it is empty.

The last tricks of a two-seat deal are then a game of perfect information, which ``solver`` plays
for most thirds. Of equally good cards it takes the one worth least, then the lowest number.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tressette_agents.champions import ChampionAgent
from tressette_agents.solver import EndingSolver
from tressette_env.errors import RulesError
from tressette_env.policies import Agent
from tressette_env.randomness import check_seed
from tressette_env.rulesets import RuleSet
from tressette_env.view import View
from tressette_env.view_checks import check_views, to_record

__all__ = ["EndingsAgent", "add", "check_solvable", "exact_cards", "plays_endings_exactly"]


def check_solvable(spec: str, rules: RuleSet) -> None:
    """Raise ``RulesError`` if the endings of these rules are not what the solver plays."""
    if rules.seats != 2:
        raise RulesError(
            f"agent {spec!r} does not play {rules.name!r}: it solves endings of two seats, and "
            f"these rules have {rules.seats}"
        )
    if rules.fewest_wins:
        raise RulesError(
            f"agent {spec!r} does not play {rules.name!r}: it solves endings for most thirds, and "
            "in these rules less wins"
        )


def exact_cards(views: npt.NDArray[np.void], solver: EndingSolver) -> npt.NDArray[np.int64]:
    """Best cards of two-seat views with an empty stock whose seats are to act, int64[B]."""
    last = np.maximum(views["ply"].astype(np.int64) - 1, 0)
    on_table = views["plays"][np.arange(len(views)), last].astype(np.int64)
    led = np.where(views["table_size"] == 1, on_table, -1)
    return solver.best_cards(views["hand"], views["unseen"] | views["known"][:, 1], led)


class EndingsAgent(Agent):
    """An agent whose endings are played by the solver.

    Parameters
    ----------
    base : Agent
        Plays while the stock lasts.
    spec : str, optional
        For a base that says by itself that its endings are exact; by default the base's, with
        ``+endings``.
    """

    def __init__(self, base: Agent, spec: str | None = None) -> None:
        self.spec = spec or f"{base.spec}+endings"
        self.base = base
        self.ignores_seed = base.ignores_seed
        self._solver = EndingSolver()

    def check_rules(self, rules: RuleSet) -> None:
        """Raise ``RulesError`` unless two seats play for most, and the base agent plays, too."""
        check_solvable(self.spec, rules)
        self.base.check_rules(rules)

    def act(self, view: View, seed: int) -> int:
        """Return a card from one view: the base agent's, or the solver's.

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
        """Return a card for each view: the base agent's, or the solver's."""
        seeds = check_views(views, rules, seeds)
        check_solvable(self.spec, rules)
        chosen = np.full(len(views), -1, np.int64)
        is_ending = (views["stock_left"] == 0) & (views["legal"] != 0)
        at = np.flatnonzero(is_ending)
        if len(at):
            chosen[at] = exact_cards(views[at], self._solver)
        at = np.flatnonzero((views["stock_left"] != 0) & (views["legal"] != 0))
        if len(at):
            chosen[at] = self.base.act_batch(views[at], rules, seeds[at])
        return chosen

    def probabilities(
        self, views: npt.NDArray[np.void], rules: RuleSet
    ) -> npt.NDArray[np.float64] | None:
        """Return the base agent's probabilities, 1 for the solver's card in endings."""
        check_views(views, rules, np.zeros(len(views), np.int64))
        check_solvable(self.spec, rules)
        is_ending = views["stock_left"] == 0
        chosen = np.zeros((len(views), rules.num_actions))
        at = np.flatnonzero(~is_ending)
        if len(at):
            of_base = self.base.probabilities(views[at], rules)
            if of_base is None:
                return None
            chosen[at] = of_base
        at = np.flatnonzero(is_ending)
        if len(at):
            chosen[at, exact_cards(views[at], self._solver)] = 1.0
        return chosen


def plays_endings_exactly(agent: Agent, rules: RuleSet) -> bool:
    """Whether the solver is known to play an agent's endings; False: it may err there, or not.

    Raises
    ------
    RulesError
        If the agent does not play the rules.
    """
    if isinstance(agent, ChampionAgent):
        agent = agent.agent_for(rules)
    return isinstance(agent, EndingsAgent)


def add(base: Agent) -> EndingsAgent:
    """Make the agent of a spec ``X+endings`` from agent X."""
    return EndingsAgent(base)
