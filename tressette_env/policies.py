"""Who decides: the protocols for agents, and finding installed agents by name.

An agent is a function of what its seat may know and of a number that stands for its dice: the same
view and the same seed give the same card, however many tables play at once and in whatever order.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tressette_env.errors import AgentSpecError, TressetteError, did_you_mean, shown
from tressette_env.randomness import decision_seed
from tressette_env.rulesets import RuleSet
from tressette_env.view import View

__all__ = [
    "ADDITION_GROUP",
    "ENTRY_POINT_GROUP",
    "Agent",
    "BatchPolicy",
    "CheatingAgent",
    "SeatPolicy",
    "as_agent",
    "decision_seed",
    "installed_additions",
    "installed_agents",
    "make_agent",
]

ENTRY_POINT_GROUP = "tressette.agents"
ADDITION_GROUP = "tressette.agent_additions"


@runtime_checkable
class SeatPolicy(Protocol):
    """Decides for one seat."""

    def act(self, view: View, seed: int) -> int:
        """Return the card number to play.

        Parameters
        ----------
        view : View
            What the seat knows; ``view.legal`` is the set of cards allowed.
        seed : int
            The decision's own random number, 0 to 2**63 - 1.
        """
        ...


@runtime_checkable
class BatchPolicy(Protocol):
    """Decides for many seats, at different tables, in one call."""

    def act_batch(
        self, views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return the card number to play for every view.

        Parameters
        ----------
        views : VIEW_DTYPE[B]
        rules : RuleSet
        seeds : int64[B]
            A random number for each decision.

        Returns
        -------
        int64[B]
        """
        ...


class Agent:
    """Base of the kit's agents; give it ``act`` or ``act_batch``, and the other follows.

    Attributes
    ----------
    spec : str
        The text that makes this agent, shown in results.
    cheats : bool
        Whether it is shown hidden cards; only a ``CheatingAgent`` is.
    ignores_seed: bool
        Whether it plays the same card in the same view, whatever the seed.
    """

    spec: str = "agent"
    cheats: bool = False
    ignores_seed: bool = False

    def act(self, view: View, seed: int) -> int:
        """See ``SeatPolicy.act``."""
        cards = self.act_batch(view.to_record(), view.rules, np.array([seed], np.int64))
        return _whole(cards[0])

    def act_batch(
        self, views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """See ``BatchPolicy.act_batch``."""
        if getattr(self.act, "__func__", None) is Agent.act:
            raise TypeError(f"{type(self).__name__} defines neither act nor act_batch")
        cards = [
            _whole(self.act(View.from_record(row, rules), int(seed)))
            for row, seed in zip(views, seeds, strict=True)
        ]
        return np.array(cards, np.int64)

    def probabilities(
        self, views: npt.NDArray[np.void], rules: RuleSet
    ) -> npt.NDArray[np.float64] | None:
        """Return how likely the agent is to play each card, over all seeds.

        An agent that draws cards with known probabilities gives them here.

        Parameters
        ----------
        views : VIEW_DTYPE[B]
            Of seats to act.
        rules : RuleSet

        Returns
        -------
        float64[B, A] or None
            0 for cards that are not legal, 1 together in every row. None: not known, as by
            default unless the agent ignores the seed.
        """
        if not self.ignores_seed:
            return None
        chosen = self.act_batch(views, rules, np.zeros(len(views), np.int64))
        certain = np.zeros((len(views), rules.num_actions))
        certain[np.arange(len(views)), chosen] = 1.0
        return certain

    def check_rules(self, rules: RuleSet) -> None:
        """Raise ``RulesError`` if the agent does not play these rules; by default it plays all."""


class CheatingAgent(Agent, ABC):
    """Base of agents that are shown every hand and the stock: bounds for those that are not.

    Match play gives them the tables' states, and marks every result of theirs. Nobody else takes
    them: ``as_agent`` refuses them, and views alone are not enough for them.
    """

    cheats = True

    @abstractmethod
    def act_on_states(
        self, states: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return the card number for the seat to act of every state.

        Parameters
        ----------
        states : STATE_DTYPE[B]
            A copy of the tables'.
        rules : RuleSet
        seeds : int64[B]

        Returns
        -------
        int64[B]
        """

    def act(self, view: View, seed: int) -> int:
        """Raise ``AgentSpecError``: a view does not show what this agent looks at."""
        raise AgentSpecError(_cheating(self))

    def act_batch(
        self, views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Raise ``AgentSpecError``: views do not show what this agent looks at."""
        raise AgentSpecError(_cheating(self))


def _cheating(agent: Agent) -> str:
    return (
        f"agent {agent.spec!r} cheats (it is shown every hand and the stock): only "
        "`tressette eval` takes it, and not with --ladder"
    )


def _whole(card: object) -> int:
    """Return a card number as an int; anything but an integer is a TypeError."""
    if isinstance(card, bool | np.bool_):
        raise TypeError(f"expected a card number from act, got {card!r}")
    try:
        return operator.index(card)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"expected a card number from act, got {shown(card)}") from None


class _Adapted(Agent):
    """A policy that is not an ``Agent``, with the missing half added."""

    def __init__(self, policy: SeatPolicy | BatchPolicy, spec: str) -> None:
        self.spec = spec
        self.policy = policy
        if isinstance(policy, SeatPolicy):
            self.act = policy.act  # type: ignore[method-assign]
        if isinstance(policy, BatchPolicy):
            self.act_batch = policy.act_batch  # type: ignore[method-assign]
        if callable(getattr(policy, "probabilities", None)):
            self.probabilities = policy.probabilities  # type: ignore[method-assign, union-attr]


def as_agent(policy: str | SeatPolicy | BatchPolicy, *, may_cheat: bool = False) -> Agent:
    """Return an ``Agent`` for a spec string or for any object with ``act`` or ``act_batch``.

    Raises
    ------
    AgentSpecError
        If there is no such agent, or it is shown hidden cards and ``may_cheat`` is false.
    """
    if isinstance(policy, str):
        policy = make_agent(policy)
    if isinstance(policy, Agent):
        if policy.cheats and not may_cheat:
            raise AgentSpecError(_cheating(policy))
        return policy
    if isinstance(policy, SeatPolicy | BatchPolicy):
        return _Adapted(policy, getattr(policy, "spec", type(policy).__name__))
    raise AgentSpecError(
        "agent: expected a spec string such as 'greedy', or an object with act(view, seed) or "
        f"act_batch(views, rules, seeds); got {type(policy).__name__}"
    )


def installed_agents() -> dict[str, EntryPoint]:
    """Installed agents by name: the entry points of the group ``tressette.agents``."""
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}


def installed_additions() -> dict[str, EntryPoint]:
    """Return what may follow a spec after a plus: the group ``tressette.agent_additions``."""
    return {entry.name: entry for entry in entry_points(group=ADDITION_GROUP)}


def make_agent(spec: str) -> Agent:
    """Make an agent from its spec: ``NAME``, or ``NAME:REST`` with options or a path.

    An entry point of the group ``tressette.agents`` is a callable that takes the text after the
    colon (empty if there is none) and returns an object with ``act`` or ``act_batch``.

    ``SPEC+ADDITION``, as in ``greedy+endings``, is the agent of a spec, changed: an entry point of
    the group ``tressette.agent_additions`` is a callable that takes the ``Agent`` and returns
    another. A plus that no installed addition follows is part of the path or option.

    Raises
    ------
    AgentSpecError
        If no agent of that name is installed, or it does not understand its options.
    """
    if not isinstance(spec, str) or not spec:
        raise AgentSpecError(f"agent: expected a spec string such as 'greedy', got {shown(spec)}")
    base, plus, addition = spec.rpartition("+")
    additions = installed_additions() if plus else {}
    if addition in additions:
        if base.endswith(f"+{addition}"):
            raise AgentSpecError(f"agent {shown(spec)}: expected +{addition} once, got it twice")
        return _made(spec, lambda: additions[addition].load()(as_agent(base)))
    name, _, rest = spec.partition(":")
    if "+" in name:
        raise AgentSpecError(
            f"agent {shown(spec)}: nothing called {shown(addition)} can be added to an agent"
            f"{did_you_mean(addition, additions)} "
            f"(installed: {', '.join(sorted(additions)) or 'none'})"
        )
    agents = installed_agents()
    if name not in agents:
        raise AgentSpecError(
            f"unknown agent {shown(name)}{did_you_mean(name, agents)} "
            f"(installed: {', '.join(sorted(agents)) or 'none'})"
        )
    return _made(spec, lambda: agents[name].load()(rest))


def _made(spec: str, make: Callable[[], Any]) -> Agent:
    try:
        policy = make()
    except TressetteError:
        raise
    except Exception as error:
        raise AgentSpecError(
            f"agent {spec!r} could not be made: {type(error).__name__}: {error}"
        ) from error
    if isinstance(policy, Agent):
        return policy
    if not isinstance(policy, SeatPolicy | BatchPolicy):
        raise AgentSpecError(
            f"agent {spec!r}: expected its factory to return an object with act or act_batch, "
            f"got {shown(policy)}"
        )
    return _Adapted(policy, spec)


def parse_options(name: str, text: str, known: dict[str, Callable[[str], Any]]) -> dict[str, Any]:
    """Read an agent's options ``key=value,key=value``.

    Parameters
    ----------
    name : str
        The agent's, for messages.
    text : str
        What follows the colon of a spec.
    known : dict
        For each option, the function that reads its value and raises ``ValueError`` if it cannot.

    Raises
    ------
    AgentSpecError
        If an option is unknown, has no value, or has a wrong one, or stands twice.
    """
    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if key not in known:
            expected = ", ".join(f"{option}=..." for option in known) or "none"
            raise AgentSpecError(
                f"agent {name!r}: unknown option {shown(part)}{did_you_mean(key, known)} "
                f"(options: {expected})"
            )
        if not equals:
            raise AgentSpecError(f"agent {name!r}, option {key}: expected {key}=..., got no value")
        if key in options:
            raise AgentSpecError(f"agent {name!r}, option {key}: expected once, got it twice")
        try:
            options[key] = known[key](value)
        except ValueError as error:
            raise AgentSpecError(f"agent {name!r}, option {key}: {error}") from error
    return options
