"""The PettingZoo environment: ``env()`` for users, ``raw_env`` for one's own wrappers.

Seat k is agent ``player_k``. Actions are card numbers. Rewards go to every seat when a trick or
deal ends and add up to zero between the sides; all seats terminate together.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from tressette_env import full_state, kernels, kernels_views, rendering
from tressette_env.cards import NUM_CARDS, card_list
from tressette_env.deals import check_deck, check_leader, deck_of
from tressette_env.errors import IllegalCardError, OptionError, StepOrderError, did_you_mean, shown
from tressette_env.match import MATCH_OPEN, house_margin, house_total, match_margin, opening_leader
from tressette_env.notation import card_text, record_text
from tressette_env.observation import layout_for
from tressette_env.randomness import check_seed, fresh_seed
from tressette_env.records import DealRecord, GameRecord
from tressette_env.rules import DEAL_OVER, ILLEGAL, ON_TABLE, side_of
from tressette_env.rulesets import RuleSet, get_rules
from tressette_env.state import STATE_DTYPE
from tressette_env.view import VIEW_DTYPE, View

__all__ = ["env", "raw_env"]

_RESET_OPTIONS = ("deck", "leader")
_NO_LIST = np.empty((0, NUM_CARDS + 1), np.int64)  # deals come from the seed


class _OrderEnforcing(OrderEnforcingWrapper[str, Any, Any]):
    """PettingZoo's wrapper, with the kit's own errors for a call before reset or after the end."""

    # Asked for at every card: not by way of two look-ups of a missing attribute.

    @property
    def agents(self) -> list[str]:  # type: ignore[override]
        return self._attribute("agents")  # type: ignore[no-any-return]

    @property
    def agent_selection(self) -> str:  # type: ignore[override]
        return self._attribute("agent_selection")  # type: ignore[no-any-return]

    def _attribute(self, name: str) -> Any:
        if not self._has_reset:
            raise AttributeError(f"{name} cannot be accessed before reset")
        return getattr(self.env, name)

    def step(self, action: Any) -> None:
        if not self._has_reset or not self.agents:
            self.env.step(action)  # raises StepOrderError
        super().step(action)

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.env.last(observe)

    def observe(self, agent: str) -> Any:
        return super().observe(agent) if self._has_reset else self.env.observe(agent)

    def state(self) -> npt.NDArray[np.int8]:
        return super().state() if self._has_reset else self.env.state()

    def render(self) -> Any:
        return super().render() if self._has_reset else self.env.render()


def env(**kwargs: Any) -> AECEnv[str, Any, Any]:
    """Make the environment with PettingZoo's order-enforcing wrapper; arguments as ``raw_env``."""
    return _OrderEnforcing(raw_env(**kwargs))


class raw_env(AECEnv[str, Any, Any]):
    """Tressette as an agent-environment cycle.

    Observations are ``{"observation": int8[F], "action_mask": int8[40]}``, new arrays on every
    call; the mask is all zeros for a seat that is not to act.

    Parameters
    ----------
    rules : str or RuleSet
        Preset name or rule set.
    episode : {"deal", "match"}
        One deal, or deals until the match is decided (R13).
    reward : {"house", "tricks"}
        "house": at the end of a deal the side's margin in the house's unit over its total (thirds /
        35, points / 11); with ``episode="match"`` +1 or -1 at the end of the match. "tricks": the
        margin in thirds / 35 as tricks are won.
    observation : {"flat", "leads", "history"}
        "leads" adds the cards that led tricks, "history" the ordered plays.
    render_mode : {"ansi", "human"}, optional
    reveal : bool
        Whether rendering shows every hand.

    Raises
    ------
    OptionError, RulesError
        If an argument is out of range, or the rules cannot be played.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (PettingZoo's attribute)
        "name": "tressette_v0",
        "render_modes": ["ansi", "human"],
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        rules: str | RuleSet = "playmore",
        episode: Literal["deal", "match"] = "deal",
        reward: Literal["house", "tricks"] = "house",
        observation: Literal["flat", "leads", "history"] = "flat",
        render_mode: Literal["ansi", "human"] | None = None,
        reveal: bool = False,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.rules = get_rules(rules)
        self.layout = layout_for(self.rules, episode, observation)
        if reward not in ("house", "tricks"):
            raise OptionError(f"reward: expected 'house' or 'tricks', got {reward!r}")
        if render_mode not in (None, "ansi", "human"):
            raise OptionError(f"render_mode: expected None, 'ansi' or 'human', got {render_mode!r}")
        if not isinstance(reveal, bool):
            raise OptionError(f"reveal: expected True or False, got {shown(reveal)}")
        self.episode = episode
        self.reward = reward
        self.render_mode = render_mode
        self.reveal = reveal
        self.possible_agents = [f"player_{seat}" for seat in range(self.rules.seats)]
        self.agents = []
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(0, 1, (self.layout.size,), np.int8),
                    "action_mask": spaces.Box(0, 1, (self.rules.num_actions,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces = {
            agent: spaces.Discrete(self.rules.num_actions) for agent in self.possible_agents
        }
        self.state_space = spaces.Box(0, 1, (full_state.layout(self.rules).size,), np.int8)
        self._states = np.zeros(1, STATE_DTYPE)
        self._scratch = np.zeros(1, VIEW_DTYPE)
        self._seed: int | None = None
        self._next_number = 0
        self._dealt = 0
        self._has_reset = False
        self._deals: list[DealRecord] = []
        self._given_deck: tuple[int, ...] | None = None

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Space of ``agent``'s observations; the same object on every call."""
        return self.observation_spaces[self._check_agent(agent)]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Space of ``agent``'s actions, the 40 card numbers; the same object on every call."""
        return self.action_spaces[self._check_agent(agent)]

    @property
    def seed(self) -> int | None:
        """Seed of the deals' stream; None before the first reset."""
        return self._seed

    @property
    def deals_dealt(self) -> int:
        """Deals dealt since the seed was set, given decks included."""
        return self._dealt

    @property
    def thirds(self) -> tuple[int, int]:
        """Thirds that each side has taken in this deal."""
        self._require_reset("thirds")
        taken = self._states["thirds"][0]
        return int(taken[0]), int(taken[1])

    @property
    def points(self) -> tuple[int, int]:
        """Whole points that each side has taken in this deal, fractions dropped by side (R12)."""
        first, second = self.thirds
        return first // 3, second // 3

    @property
    def totals(self) -> tuple[int, int]:
        """Match total of each side in the scoring's unit, this deal included once it is over."""
        self._require_reset("totals")
        totals = self._states["totals"][0]
        return int(totals[0]), int(totals[1])

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal anew and start an episode.

        Parameters
        ----------
        seed : int, optional
            Starts the seed's stream of deals at number 0. None goes on with the stream.
        options : dict, optional
            ``deck``: 40 card numbers, seat p is dealt ``deck[10*p : 10*p+10]``, the rest is the
            stock, top card first. ``leader``: seat that leads.

        Raises
        ------
        DeckError, OptionError
            If the seed or an option is not as described; the environment is unchanged.
        """
        new_seed = None if seed is None else check_seed(seed)
        deck, leader = self._check_options({} if options is None else options)
        if new_seed is not None:
            self._seed, self._next_number, self._dealt = new_seed, 0, 0
        elif self._seed is None:
            self._seed = fresh_seed()
        self._deals = []
        self._start_episode(deck, leader)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}
        self._skip_agent_selection: str | None = None  # type: ignore[assignment]
        self.agent_selection = self.possible_agents[self._turn]
        self._has_reset = True
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | None) -> None:
        """Play a card for the seat to act; ``None`` for a seat whose episode is over.

        Raises
        ------
        IllegalCardError
            If the card may not be played; the state is unchanged.
        StepOrderError
            Before the first reset and after the end.
        """
        self._require_reset("step")
        if not self.agents:
            raise StepOrderError("step: the episode is over for every seat; call reset()")
        agent = self.agent_selection
        if self.terminations[agent]:
            if action is not None:
                raise StepOrderError(
                    f"step: the episode is over for {agent}; expected None, got {shown(action)}"
                )
            self._was_dead_step(None)
            return
        card = self._check_card(action)
        before = self.thirds if self.reward == "tricks" else (0, 0)
        result, turn = kernels.play_one(self._states, self.rules.row, card)
        if result == ILLEGAL:
            raise self._illegal_card(card_text(card))
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        if result != ON_TABLE:
            self._give_rewards(result == DEAL_OVER, before)
            self._accumulate_rewards()
            turn = self._turn  # the next deal of a match may have begun
        self.agent_selection = self.possible_agents[turn]
        if self.render_mode == "human":
            self.render()

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Observation, rewards since its last card, and end of the seat to act."""
        self._require_reset("last")
        if not self.agents:
            raise StepOrderError("last: the episode is over for every seat; call reset()")
        return super().last(observe)

    def observe(self, agent: str) -> dict[str, npt.NDArray[np.int8]]:
        """Observation of any possible agent, at any time after the first reset; new arrays."""
        self._require_reset("observe")
        observation = np.empty(self.layout.size, np.int8)
        mask = np.empty(self.rules.num_actions, np.int8)
        kernels_views.observe_one(
            self._states,
            self.rules.row,
            self._seat_of[self._check_agent(agent)],
            self.layout.places,
            self._scratch,
            observation,
            mask,
        )
        return {"observation": observation, "action_mask": mask}

    def view(self, agent: str) -> View:
        """Return what ``agent`` may know, as agents written in Python read it."""
        return View.from_record(self.view_row(agent)[0], self.rules)

    def view_row(self, agent: str) -> npt.NDArray[np.void]:
        """Return what ``agent`` may know, as agents that decide for many read it: VIEW_DTYPE[1]."""
        self._require_reset("view")
        out = np.empty(1, VIEW_DTYPE)
        seat = self._seat_of[self._check_agent(agent)]
        kernels_views.view_one(self._states, self.rules.row, seat, out)
        return out

    def state(self) -> npt.NDArray[np.int8]:
        """Perfect information for critics, int8: the blocks of ``full_state.layout(rules)``."""
        self._require_reset("state")
        return full_state.encode(self._states[0], self.rules)

    def record(self) -> str:
        """Return the episode so far as text, which ``notation.parse_record`` reads back."""
        self._require_reset("record")
        deals = (*self._deals, self._deal_record())
        return record_text(GameRecord(self.rules, self._seed, deals))

    def render(self) -> str | None:
        """Draw the table as the seat to act sees it: returned as text, or printed ("human")."""
        self._require_reset("render")
        text = self.picture(self.possible_agents[self._turn])
        if self.render_mode == "human":
            print(text)
            return None
        return text

    def picture(self, agent: str) -> str:
        """Draw the table as ``agent`` sees it: text, whatever the render mode."""
        self._require_reset("picture")
        seat = self._seat_of[self._check_agent(agent)]
        return rendering.ansi(self._states[0], self.rules, seat, self.reveal)

    def close(self) -> None:
        """Nothing to release."""

    @property
    def _turn(self) -> int:
        return int(self._states["turn"][0])

    def _start_episode(self, deck: tuple[int, ...] | None, leader: int | None) -> None:
        assert self._seed is not None
        number = self._next_number
        self._dealt += 1
        row = self.rules.row
        self._given_deck = deck
        if deck is None:
            kernels.start_deals(self._states, row, _NO_LIST, self._seed, number)
            self._next_number += 1
        if deck is not None or leader is not None:
            cards = deck_of(self.rules, self._seed, number) if deck is None else deck
            first = 0 if leader is None else leader
            kernels.load_deal(self._states, row, np.array(cards, np.int64), first)
            if deck is None:
                self._states["deal_number"] = number

    def _give_rewards(self, deal_over: bool, before: tuple[int, int]) -> None:
        """Set every seat's reward at the end of a trick, and end the deal or the episode."""
        margin = 0.0
        if self.reward == "tricks":
            gained = [now - then for now, then in zip(self.thirds, before, strict=True)]
            margin = (gained[0] - gained[1]) / self.rules.total_thirds
            margin = -margin if self.rules.fewest_wins else margin
        if deal_over:
            kernels.end_deal(self._states, self.rules.row)
            state = self._states.view(np.recarray)[0]
            done = self.episode == "deal" or state.match_result != MATCH_OPEN
            if self.reward == "house" and self.episode == "deal":
                margin = int(house_margin(state, self.rules)) / house_total(self.rules)
            elif self.reward == "house":
                margin = float(match_margin(state))
            if done:
                self.terminations = dict.fromkeys(self.agents, True)
            else:
                self._continue_match()
        for agent in self.agents:
            self.rewards[agent] = -margin if side_of(self._seat_of[agent]) else margin

    def _continue_match(self) -> None:
        assert self._seed is not None
        self._deals.append(self._deal_record())
        self._given_deck = None
        self._dealt += 1
        kernels.continue_match(
            self._states, self.rules.row, _NO_LIST, self._seed, self._next_number
        )
        self._next_number += 1

    def _deal_record(self) -> DealRecord:
        assert self._seed is not None
        state = self._states[0]
        number = int(state["deal_number"])
        deck = self._given_deck or deck_of(self.rules, self._seed, number)
        plays = tuple(int(card) for card in state["plays"][: state["ply"]])
        over = len(plays) == self.rules.deck_size
        leader = int(opening_leader(self._states.view(np.recarray)[0], self.rules))
        return DealRecord(
            number=None if number < 0 else number,
            deck=deck,
            leader=leader,
            plays=plays,
            thirds=self.thirds if over else None,
        )

    def _check_agent(self, agent: str) -> str:
        if not isinstance(agent, str) or agent not in self._seat_of:
            raise OptionError(
                f"agent: expected one of {', '.join(self.possible_agents)}; got {shown(agent)}"
            )
        return agent

    def _check_options(
        self, options: Mapping[str, Any]
    ) -> tuple[tuple[int, ...] | None, int | None]:
        if not isinstance(options, Mapping):
            raise OptionError(
                f"reset: expected options as a dict, like {{'leader': 0}}; got {shown(options)}"
            )
        for key in options:
            # PettingZoo's own api_test passes {"options": 1} to see that reset takes options.
            if key not in _RESET_OPTIONS and key != "options":
                raise OptionError(
                    f"reset: unknown option {key!r}{did_you_mean(str(key), _RESET_OPTIONS)} "
                    f"(options: {', '.join(_RESET_OPTIONS)})"
                )
        deck = options.get("deck")
        leader = options.get("leader")
        if leader is not None:
            leader = check_leader(leader, self.rules)
        return None if deck is None else check_deck(deck, self.rules), leader

    def _check_card(self, action: Any) -> int:
        try:
            if isinstance(action, bool) or "bool" in str(getattr(action, "dtype", "")):
                raise TypeError
            card = operator.index(action)
        except TypeError:
            raise self._illegal_card(
                f"{shown(action)} ({type(action).__name__}; cards are integers)"
            ) from None
        if not 0 <= card < NUM_CARDS:
            raise self._illegal_card(f"{card}, which is no card number (0 to {NUM_CARDS - 1})")
        return card

    def _illegal_card(self, came: str) -> IllegalCardError:
        legal = card_list(kernels.legal_one(self._states, self.rules.row))
        names = ", ".join(f"{card_text(card)} ({card})" for card in legal)
        return IllegalCardError(
            f"{self.agent_selection} may play {names}; got {came}; nothing was played",
            tuple(legal),
            self.record(),
        )

    def _require_reset(self, call: str) -> None:
        if not self._has_reset:
            raise StepOrderError(f"{call}: call reset() first")
