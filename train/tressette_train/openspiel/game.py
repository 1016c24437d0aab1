"""The game that importing this module registers with OpenSpiel: ``python_tressette``.

``pyspiel.load_game("python_tressette(rules=mini_2x4,leader=0)")``: one deal of a preset's rules.
OpenSpiel's names are kept where it asks for them: a player is a seat, an action a card number.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env.card_notation import card_text
from tressette_env.cards import NUM_CARDS
from tressette_env.errors import OptionError, shown
from tressette_env.rulesets import RuleSet, get_rules
from tressette_env.view import View, view_of
from tressette_train.openspiel.deal import Deal
from tressette_train.openspiel.observers import DealObserver

try:
    pyspiel: Any = importlib.import_module("pyspiel")
except ImportError:
    raise ImportError(
        "OpenSpiel is missing: expected the package open_spiel; pip install 'tressette[openspiel]'"
    ) from None

__all__ = ["SHORT_NAME", "TressetteGame", "TressetteObserver", "TressetteState"]

SHORT_NAME = "python_tressette"
DRAWN = -1  # the leader, if chance draws it

_GAME_TYPE = pyspiel.GameType(
    short_name=SHORT_NAME,
    long_name="Tressette",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=4,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification={"rules": "playmore", "leader": DRAWN},
)


class TressetteGame(pyspiel.Game):  # type: ignore[misc]
    """One deal under a preset's rules; utilities are margins in thirds, equal for partners.

    Parameters
    ----------
    params : dict, optional
        ``rules``, the name of a preset (``"playmore"`` if not given), and ``leader``, the seat that
        leads the first trick (-1 if not given: chance draws it).

    Attributes
    ----------
    rules : RuleSet

    Raises
    ------
    RulesError
        If there is no such preset, or it cannot be played yet.
    OptionError
        If ``leader`` is no seat.
    """

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        params = params or {}
        self.rules: RuleSet = get_rules(params.get("rules", "playmore"))
        leader = params.get("leader", DRAWN)
        seats = self.rules.seats
        if leader not in range(DRAWN, seats):
            raise OptionError(
                f"leader: expected a seat from 0 to {seats - 1}, or {DRAWN} for a drawn one; "
                f"got {shown(leader)}"
            )
        self.start = Deal.start(self.rules, None if leader == DRAWN else leader)
        info = pyspiel.GameInfo(
            num_distinct_actions=NUM_CARDS,
            max_chance_outcomes=NUM_CARDS,
            num_players=seats,
            min_utility=-float(self.rules.total_thirds),
            max_utility=float(self.rules.total_thirds),
            utility_sum=0.0,
            max_game_length=self.rules.deck_size,
        )
        super().__init__(_GAME_TYPE, info, params)

    def new_initial_state(self) -> TressetteState:
        """Return a state of which nothing has been dealt."""
        return TressetteState(self)

    def max_chance_nodes_in_history(self) -> int:
        """Return how often chance acts: for every card of the deck, and for the leader."""
        return self.rules.deck_size + (self.start.leader is None)

    def make_py_observer(
        self, iig_obs_type: Any = None, params: dict[str, Any] | None = None
    ) -> TressetteObserver | None:
        """Return an observer of what one seat knows; None for any other kind of observation."""
        if params:
            raise OptionError(f"observer: expected no parameters, got {shown(params)}")
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        if not kind.public_info or kind.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            return None
        return TressetteObserver(self.rules, kind.perfect_recall)


class TressetteState(pyspiel.State):  # type: ignore[misc]
    """A deal so far.

    Attributes
    ----------
    deal : Deal
    """

    def __init__(self, game: TressetteGame) -> None:
        super().__init__(game)
        self.deal = game.start

    def view(self, player: int) -> View:
        """Return what a seat knows, as the kit's agents get it.

        Raises
        ------
        OptionError
            If the hands are not dealt yet.
        """
        if not self.deal.has_hands:
            raise OptionError("view: expected a state whose hands are dealt")
        return view_of(self.deal.state, self.deal.rules, player)

    def current_player(self) -> int:
        """Seat to act, or one of OpenSpiel's numbers for chance and for the end."""
        if self.deal.is_over:
            return int(pyspiel.PlayerId.TERMINAL)
        if self.deal.is_chance:
            return int(pyspiel.PlayerId.CHANCE)
        return self.deal.state.turn

    def is_terminal(self) -> bool:
        """Whether every card has been played."""
        return self.deal.is_over

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the cards that may be turned up, or the seats that may lead."""
        return self.deal.chances()

    def returns(self) -> list[float]:
        """Margin of every seat's side in thirds at the end; zeros before."""
        seats = range(self.deal.rules.seats)
        return [float(self.deal.margin(seat)) if self.deal.is_over else 0.0 for seat in seats]

    def _legal_actions(self, player: int) -> list[int]:
        return self.deal.legal_cards()

    def _apply_action(self, action: int) -> None:
        is_chance = self.deal.is_chance
        self.deal = self.deal.turned_up(action) if is_chance else self.deal.played(action)

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE and self.deal.leader is None:
            return f"seat {action} leads"
        return card_text(action)

    def __str__(self) -> str:
        deal = self.deal
        cards = " ".join(map(card_text, deal.cards))
        plays = " ".join(map(card_text, deal.state.plays[: deal.state.ply]))
        return f"leader {deal.leader}; deck {cards}; played {plays}"


class TressetteObserver:
    """A ``DealObserver`` under OpenSpiel's names."""

    def __init__(self, rules: RuleSet, perfect_recall: bool) -> None:
        self._observer = DealObserver(rules, perfect_recall)

    @property
    def tensor(self) -> npt.NDArray[np.float32]:
        """What was observed last, float32[N]."""
        return self._observer.tensor

    @property
    def dict(self) -> dict[str, npt.NDArray[np.float32]]:
        """Its parts by name, over the same memory."""
        return self._observer.parts

    def set_from(self, state: TressetteState, player: int) -> None:
        """Write what a seat knows into the tensor."""
        self._observer.observe(state.deal, player)

    def string_from(self, state: TressetteState, player: int) -> str:
        """Say what a seat knows on one line."""
        return self._observer.text(state.deal, player)


pyspiel.register_game(_GAME_TYPE, TressetteGame)
