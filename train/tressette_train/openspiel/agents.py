"""The kit's agents at OpenSpiel's tables: as a policy for its algorithms, as bots for its games."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env.asking import ask
from tressette_env.policies import BatchPolicy, SeatPolicy, as_agent, decision_seed
from tressette_env.randomness import check_seed
from tressette_train.exploit.agent_plans import PolicyReader
from tressette_train.openspiel.game import TressetteGame, TressetteState

__all__ = ["AgentBot", "AgentPolicy"]

pyspiel: Any = importlib.import_module("pyspiel")
policies: Any = importlib.import_module("open_spiel.python.policy")


class AgentPolicy(policies.Policy):  # type: ignore[misc]
    """An agent's probabilities, for every seat.

    Parameters
    ----------
    game : TressetteGame
    agent : str or object with ``act`` or ``act_batch``
    samples : int
        Cards drawn for each view where the agent cannot tell its probabilities.

    Raises
    ------
    AgentSpecError
        If there is no such agent.
    RulesError
        If it does not play the game's rules.
    """

    def __init__(
        self, game: TressetteGame, agent: str | SeatPolicy | BatchPolicy, samples: int = 16
    ) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._read = PolicyReader(as_agent(agent), game.rules, samples)
        # Many information sets look the same to an agent that forgets; it is asked once.
        self._known: dict[bytes, npt.NDArray[np.float64]] = {}

    def action_probabilities(
        self, state: TressetteState, player_id: int | None = None
    ) -> dict[int, float]:
        """Return the probability of every legal card.

        Raises
        ------
        AgentFailedError
            If the agent raises, or answers what is no policy.
        """
        seat = state.current_player() if player_id is None else player_id
        row = state.view(seat).to_record()
        key = row.tobytes()
        if key not in self._known:
            self._known[key] = self._read(row)[0]
        probabilities = self._known[key]
        return {card: float(probabilities[card]) for card in state.legal_actions(seat)}


class AgentBot(pyspiel.Bot):  # type: ignore[misc]
    """An agent that plays one seat of a game.

    Parameters
    ----------
    game : TressetteGame
    player : int
        Its seat.
    agent : str or object with ``act`` or ``act_batch``
    seed : int
        Stands for the agent's dice: each deal and decision has its own number of it.

    Raises
    ------
    AgentSpecError
        If there is no such agent.
    RulesError
        If it does not play the game's rules.
    """

    def __init__(
        self,
        game: TressetteGame,
        player: int,
        agent: str | SeatPolicy | BatchPolicy,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self._player = player
        self._rules = game.rules
        self._agent = as_agent(agent)
        self._agent.check_rules(game.rules)
        self._seed = check_seed(seed)
        self._deals = 0

    def player_id(self) -> int:
        """Seat that the bot plays."""
        return self._player

    def restart(self) -> None:
        """Begin another deal."""
        self._deals += 1

    def restart_at(self, state: TressetteState) -> None:
        """Begin another deal, at a state of it."""
        self._deals += 1

    def step(self, state: TressetteState) -> int:
        """Return the card to play.

        Raises
        ------
        AgentFailedError
            If the agent raises, or plays no legal card.
        """
        view = state.view(self._player)
        seed = decision_seed(self._seed, self._deals, view.ply)
        cards = ask(self._agent, view.to_record(), self._rules, np.array([seed], np.int64))
        return int(cards[0])
