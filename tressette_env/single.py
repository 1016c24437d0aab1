"""A gymnasium environment for one learner: the other seats are played inside by an agent.

A step plays the learner's card and every card of the others up to the learner's own next decision,
which is what is returned, with every reward in between added up: also that of a trick that the
others complete, or that the learner wins and leads on.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from tressette_env.asking import ask
from tressette_env.batch_dice import decision_seeds
from tressette_env.deals import check_leader
from tressette_env.errors import StepOrderError
from tressette_env.policies import Agent, BatchPolicy, SeatPolicy, as_agent
from tressette_env.randomness import drawn_seat
from tressette_env.rulesets import RuleSet
from tressette_env.tressette_v0 import raw_env

__all__ = ["SingleSeatEnv"]


class SingleSeatEnv(gymnasium.Env[dict[str, npt.NDArray[np.int8]], np.int64]):
    """Tressette for one learning seat.

    Observations and actions are those of the PettingZoo environment.

    Parameters
    ----------
    opponent : str, SeatPolicy or BatchPolicy
        Who plays the other seats, the partner's included: a spec string or an agent.
    seat : int, optional
        The learner's seat; None draws it for every episode.
    rules, episode, reward, observation, render_mode, reveal
        As for ``tressette_v0.raw_env``.

    Raises
    ------
    OptionError, RulesError, AgentSpecError
        If an argument is out of range, or the rules cannot be played.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "human"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        opponent: str | SeatPolicy | BatchPolicy = "greedy",
        seat: int | None = None,
        rules: str | RuleSet = "playmore",
        **options: Any,
    ) -> None:
        self.table = raw_env(rules=rules, **options)
        self.render_mode = self.table.render_mode
        self.table.render_mode = None  # drawn here, where the learner's seat is known
        self.opponent: Agent = as_agent(opponent)
        self.opponent.check_rules(self.table.rules)
        rules_played = self.table.rules
        self._fixed_seat = None if seat is None else check_leader(seat, rules_played, "seat")
        self._agent: str | None = None
        agent = self.table.possible_agents[0]
        self.observation_space = self.table.observation_space(agent)
        self.action_space = self.table.action_space(agent)

    @property
    def seat(self) -> int | None:
        """The learner's seat in this episode; None before the first reset."""
        return None if self._agent is None else self.table.possible_agents.index(self._agent)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, npt.NDArray[np.int8]], dict[str, Any]]:
        """Deal anew and play up to the learner's first decision; arguments as ``raw_env.reset``."""
        self.table.reset(seed=seed, options=options)
        super().reset(seed=None if seed is None else int(seed))
        self._agent = self.table.possible_agents[self._choose_seat()]
        self._render_human()
        self._play_others()
        return self.table.observe(self._agent), {}

    def step(
        self, action: np.int64 | int
    ) -> tuple[dict[str, npt.NDArray[np.int8]], float, bool, bool, dict[str, Any]]:
        """Play the learner's card, then the others' up to its next decision.

        Returns
        -------
        observation, reward, terminated, truncated, info
            ``reward`` is the sum over every card played in between; ``info`` is empty.

        Raises
        ------
        IllegalCardError
            If the card may not be played; nothing has changed.
        StepOrderError
            Before the first reset and after the end.
        """
        if self._agent is None:
            raise StepOrderError("step: call reset() first")
        if self.table.terminations[self._agent]:
            raise StepOrderError("step: the episode is over; call reset()")
        if self.table.agent_selection != self._agent:
            raise StepOrderError("step: the opponent failed in the last step; call reset()")
        self.table.step(action)  # type: ignore[arg-type]
        self._render_human()
        reward = self.table.rewards[self._agent] + self._play_others()
        over = self.table.terminations[self._agent]
        return self.table.observe(self._agent), reward, over, False, {}

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Legal mask of the learner, bool[40]: what sb3-contrib's MaskablePPO asks for."""
        if self._agent is None:
            raise StepOrderError("action_masks: call reset() first")
        return self.table.observe(self._agent)["action_mask"].astype(np.bool_)

    def render(self) -> str | None:
        """Draw the table as the learner sees it: returned as text, or printed ("human")."""
        if self._agent is None:
            raise StepOrderError("render: call reset() first")
        text = self.table.picture(self._agent)
        if self.render_mode == "human":
            print(text)
            return None
        return text

    def close(self) -> None:
        """Nothing to release."""

    def _choose_seat(self) -> int:
        if self._fixed_seat is not None:
            return self._fixed_seat
        assert self.table.seed is not None
        return drawn_seat(self.table.seed, self.table.deals_dealt - 1, self.table.rules.seats)

    def _render_human(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _play_others(self) -> float:
        """Play until the learner is to act or the episode ends; return the learner's rewards."""
        assert self._agent is not None
        total = 0.0
        while (
            self.table.agent_selection != self._agent and not self.table.terminations[self._agent]
        ):
            view = self.table.view_row(self.table.agent_selection)
            deal, ply = np.array([[self.table.deals_dealt - 1], [view["ply"][0]]], np.int64)
            seeds = decision_seeds(self.table.seed or 0, deal, ply)
            (card,) = ask(self.opponent, view, self.table.rules, seeds)
            self.table.step(int(card))
            self._render_human()
            total += self.table.rewards[self._agent]
        return total
