"""A gymnasium vector environment: many tables with one learning seat each, the others inside.

All tables share compiled calls: the learner's cards, then the other seats' cards, batch by batch,
until every table waits for its learner again. Shapes: B environments, F features, A actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from tressette_env import kernels_random
from tressette_env.asking import ask
from tressette_env.batch import BatchTable
from tressette_env.batch_dice import decision_seeds
from tressette_env.batch_views import masks_of
from tressette_env.cards import NUM_CARDS
from tressette_env.deals import check_leader
from tressette_env.errors import AgentFailedError, OptionError, StepOrderError, as_array, shown
from tressette_env.match import house_total
from tressette_env.policies import Agent, BatchPolicy, SeatPolicy, as_agent
from tressette_env.randomness import check_seed, fresh_seed
from tressette_env.rulesets import RuleSet

__all__ = ["TressetteVectorEnv"]

Observations = dict[str, npt.NDArray[np.int8]]


class TressetteVectorEnv(VectorEnv[Observations, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """Tressette for one learning seat at each of many tables.

    After ``reset(seed=s)`` environment i plays deal number i of the seed, then i + B, and so on.

    Parameters
    ----------
    num_envs : int
        B.
    opponent : str, SeatPolicy or BatchPolicy
        Who plays the other seats, the partner's included: a spec string or an agent.
    seat : int, optional
        The learner's seat everywhere; None draws it for every episode.
    rules, episode, reward, observation
        As for ``tressette_v0.raw_env``.
    autoreset_mode : AutoresetMode or str
        ``NEXT_STEP``: the step after an episode's end ignores the action and returns the first
        observation of the next. ``SAME_STEP``: the step that ends it returns that one, and the last
        observation in ``infos["final_obs"]``.
    copy : bool
        False: every call returns the same arrays, overwritten by the next.
    num_threads : int
        Threads for writing observations; results do not depend on it.

    Raises
    ------
    OptionError, RulesError, AgentSpecError
        If an argument is out of range, or the rules cannot be played.
    """

    def __init__(
        self,
        num_envs: int = 1,
        opponent: str | SeatPolicy | BatchPolicy = "greedy",
        seat: int | None = None,
        rules: str | RuleSet = "playmore",
        *,
        episode: str = "deal",
        reward: str = "house",
        observation: str = "flat",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        num_threads: int = 1,
    ) -> None:
        self._options: dict[str, Any] = {
            "episode": episode,
            "observation": observation,
            "num_threads": num_threads,
        }
        self.table = BatchTable(num_envs, rules, 0, **self._options)
        self.rules = self.table.rules
        self.num_envs = self.table.num_tables
        self.opponent: Agent = as_agent(opponent)
        self.opponent.check_rules(self.rules)
        if seat is not None:
            seat = check_leader(seat, self.rules, "seat")
        if reward not in ("house", "tricks"):
            raise OptionError(f"reward: expected 'house' or 'tricks', got {shown(reward)}")
        self._fixed_seat = seat
        self._by_tricks = reward == "tricks"
        # What a margin of one is worth: a trick's thirds, a deal's points or thirds, a match.
        self._unit = 1.0
        if self._by_tricks:
            self._unit = (-1.0 if self.rules.fewest_wins else 1.0) / self.rules.total_thirds
        elif episode == "deal":
            self._unit = 1.0 / house_total(self.rules)
        self._mode = _autoreset_mode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self._mode}
        if not isinstance(copy, bool):
            raise OptionError(f"copy: expected True or False, got {shown(copy)}")
        self._copy = copy
        self._make_spaces()
        self._learners = np.zeros(self.num_envs, np.int64)
        self._thirds = np.zeros((self.num_envs, 2), np.int64)
        self._ended = np.zeros(self.num_envs, np.bool_)  # in the last step (NEXT_STEP)
        self._next_deal: int | None = None  # None before the first reset
        self._is_ready = True  # False once the opponent has failed

    @property
    def seats(self) -> npt.NDArray[np.int64]:
        """The learner's seat in each environment, int64[B], a copy.

        Where the last step ended an episode, already that in the next.
        """
        return self._learners.copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Start every environment anew, up to its learner's first decision.

        Parameters
        ----------
        seed : int, optional
            Starts the seed's stream of deals; None goes on with the stream.
        options : dict, optional
            None are known.
        """
        if options:
            raise OptionError(f"reset: expected no options, got {shown(options)}")
        if seed is not None or self._next_deal is None:
            first, start = (fresh_seed() if seed is None else check_seed(seed)), 0
        else:
            first, start = self.table.seed, int(self.table.deal_numbers.max()) + 1
        super().reset(seed=None if seed is None else int(seed))
        self.table = BatchTable(self.num_envs, self.rules, first, first_deal=start, **self._options)
        self._next_deal = start
        self._is_ready = True
        self._thirds[:] = 0
        self._ended[:] = False
        self._draw_seats(np.arange(self.num_envs))
        nothing = np.zeros(self.num_envs)
        self._play_others(np.zeros(self.num_envs, np.bool_), nothing)
        return self._observe(None), {}

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[
        Observations,
        npt.NDArray[np.float64],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Play the learners' cards, then the others' up to each learner's next decision.

        Parameters
        ----------
        actions : int[B]
            Card numbers; ignored where the last step ended an episode (NEXT_STEP).

        Returns
        -------
        observations, rewards, terminations, truncations, infos
            Rewards (float64[B]) add up everything since the learner's last decision.

        Raises
        ------
        IllegalCardError
            If a card may not be played; nothing has changed.
        StepOrderError
            Before the first reset.
        """
        if self._next_deal is None:
            raise StepOrderError("step: call reset() first")
        if not self._is_ready:
            raise StepOrderError("step: the opponent failed in the last step; call reset()")
        cards = as_array(actions, "actions")
        if cards.shape != (self.num_envs,) or cards.dtype.kind not in "iu":
            raise OptionError(
                f"actions: expected an integer array of shape ({self.num_envs},), one card an "
                f"environment; got {cards.dtype}{cards.shape}"
            )
        rewards = np.zeros(self.num_envs)
        ended = np.zeros(self.num_envs, np.bool_)
        playing = np.flatnonzero(~self._ended)
        self._play(playing, cards[playing].astype(np.int64), ended, rewards)
        self._play_others(ended, rewards)
        infos: dict[str, Any] = {}
        if self._mode is AutoresetMode.NEXT_STEP:
            self._ended[:] = ended
            observations = self._observe(ended)
        else:
            if ended.any():
                infos = self._final_infos(ended)
                self._play_others(np.zeros_like(ended), np.zeros(self.num_envs))
            observations = self._observe(None)
        return observations, rewards, ended.copy(), np.zeros(self.num_envs, np.bool_), infos

    def close_extras(self, **kwargs: Any) -> None:
        """Nothing to release."""

    def _make_spaces(self) -> None:
        size = self.table.layout.size
        self.single_observation_space = spaces.Dict(
            {
                "observation": spaces.Box(0, 1, (size,), np.int8),
                "action_mask": spaces.Box(0, 1, (NUM_CARDS,), np.int8),
            }
        )
        self.single_action_space = spaces.Discrete(NUM_CARDS)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._buffers = (
            np.zeros((self.num_envs, size), np.int8),
            np.zeros((self.num_envs, NUM_CARDS), np.int8),
        )

    def _draw_seats(self, tables: npt.NDArray[np.intp]) -> None:
        if self._fixed_seat is not None:
            self._learners[tables] = self._fixed_seat
            return
        drawn = np.empty(len(tables), np.int64)
        numbers = self.table.deal_numbers[tables]
        kernels_random.drawn_seats(self.table.seed, numbers, self.rules.seats, drawn)
        self._learners[tables] = drawn

    def _play(
        self,
        tables: npt.NDArray[np.intp],
        cards: npt.NDArray[np.int64],
        ended: npt.NDArray[np.bool_],
        rewards: npt.NDArray[np.float64],
    ) -> None:
        """Play cards at some tables; add what the learners gain, mark episodes that ended."""
        step = self.table.play_at(tables, cards)
        sign = 1 - 2 * (self._learners[tables] & 1)
        if self._by_tricks:
            gained = step.thirds - self._thirds[tables]
            rewards[tables] += sign * (gained[:, 0] - gained[:, 1]) * self._unit
            dealt = self.table.plies[tables] == 0
            self._thirds[tables] = np.where(dealt[:, None], 0, step.thirds)
        else:
            rewards[tables] += sign * step.margins * self._unit
        over = tables[step.is_over]
        ended[over] = True

    def _play_others(self, ended: npt.NDArray[np.bool_], rewards: npt.NDArray[np.float64]) -> None:
        """Play until each learner is to act; tables whose episode ended wait."""
        waiting = np.flatnonzero(~ended)
        while True:
            turns = self.table.seats
            waiting = waiting[(turns[waiting] != self._learners[waiting]) & ~ended[waiting]]
            if len(waiting) == 0:
                return
            numbers, plies = self.table.deal_numbers[waiting], self.table.plies[waiting]
            seeds = decision_seeds(self.table.seed, numbers, plies)
            try:
                cards = ask(self.opponent, self.table.views_at(waiting), self.rules, seeds)
            except AgentFailedError:
                self._is_ready = False
                raise
            self._play(waiting, cards, ended, rewards)

    def _observe(self, ended: npt.NDArray[np.bool_] | None) -> Observations:
        """Observations of the learners; where an episode ended, the last one of it."""
        features, masks = self._buffers
        self.table.observe(self._learners, features)
        sets = self.table.legal_sets
        if ended is not None and ended.any():
            features[ended] = self.table.observe(self._learners, last=True)[ended]
            sets[ended] = 0
            self._draw_seats(np.flatnonzero(ended))
        masks[:] = masks_of(sets)
        if self._copy:
            return {"observation": features.copy(), "action_mask": masks.copy()}
        return {"observation": features, "action_mask": masks}

    def _final_infos(self, ended: npt.NDArray[np.bool_]) -> dict[str, Any]:
        last = self.table.observe(self._learners, last=True)
        masks = np.zeros((self.num_envs, NUM_CARDS), np.int8)
        self._draw_seats(np.flatnonzero(ended))
        # As Gymnasium's own vector environments have it: an observation for each environment.
        final = np.full(self.num_envs, None, object)
        for place in np.flatnonzero(ended).tolist():
            final[place] = {"observation": last[place], "action_mask": masks[place]}
        return {
            "final_obs": final,
            "_final_obs": ended.copy(),
            "final_info": {},
            "_final_info": ended.copy(),
        }


def _autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    supported = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
    for known in supported:
        if mode in (known, known.value, known.name):
            return known
    names = " or ".join(f"AutoresetMode.{known.name} ({known.value!r})" for known in supported)
    raise OptionError(f"autoreset_mode: expected {names}, got {shown(mode)}")
