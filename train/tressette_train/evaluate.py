"""How strong are agents against each other: every pairing, on the same deals, in every seating.

The unit of every mean and interval is the pair: one deal played in both seatings, so that the luck
of the cards and of the first lead falls on both agents alike.
"""

from __future__ import annotations

import itertools
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import tressette_env
from tressette_env.asking import failure_text
from tressette_env.errors import AgentFailedError, OptionError, TressetteError, shown
from tressette_env.observation import OBSERVATION_VERSION
from tressette_env.policies import Agent, BatchPolicy, SeatPolicy, as_agent
from tressette_env.randomness import check_seed
from tressette_env.rulesets import RuleSet, get_rules
from tressette_train.intervals import Interval, mean_interval
from tressette_train.match_play import PairedDeals, play_pairing

__all__ = [
    "MAX_DEALS",
    "PairingResult",
    "cards_to_play",
    "check_deals",
    "check_rules",
    "evaluate",
    "summarise",
    "versions",
]

MAX_DEALS = 100_000_000  # of a pairing: days of playing, and gigabytes of margins


@dataclass(frozen=True)
class PairingResult:
    """How ``agent`` did against ``opponent``; every margin and rate is the agent's.

    Attributes
    ----------
    agent, opponent : str
        Specs.
    agent_cheats, opponent_cheats : bool
        Whether it was shown hidden cards: the margin is a bound then, and no comparison.
    rules : str
        Name of the rule set.
    deals : int
        Shuffles, each played in both seatings.
    seed : int
    unit : {"points", "thirds"}
        The house's own scoring.
    margin_thirds : Interval
        Thirds a deal more than the opponent, mean over pairs.
    margin_house : Interval
        The same in the house's unit; where less wins (R19), more is better here, too.
    win_rate : Interval
        Share of deals won by the house's scoring; a level deal counts half.
    margin_thirds_by_seat, win_rate_by_seat : tuple of (float, float)
        On side 0 (seat 0, with four seats also seat 2), and on side 1.
    margin_thirds_by_lead, win_rate_by_lead : tuple of (float, float)
        When the agent's side led the first trick, and when the opponent's did.
    paired : PairedDeals
        Every deal.
    """

    agent: str
    opponent: str
    agent_cheats: bool
    opponent_cheats: bool
    rules: str
    deals: int
    seed: int
    unit: str
    margin_thirds: Interval
    margin_house: Interval
    win_rate: Interval
    margin_thirds_by_seat: tuple[float, float]
    win_rate_by_seat: tuple[float, float]
    margin_thirds_by_lead: tuple[float, float]
    win_rate_by_lead: tuple[float, float]
    paired: PairedDeals

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain numbers and text, without the single deals."""
        return {
            "agent": self.agent,
            "opponent": self.opponent,
            "agent_cheats": self.agent_cheats,
            "opponent_cheats": self.opponent_cheats,
            "rules": self.rules,
            "deals": self.deals,
            "seed": self.seed,
            "margin_thirds": self.margin_thirds.mean,
            "ci95": self.margin_thirds.ends,
            "unit": self.unit,
            "margin_house": self.margin_house.mean,
            "margin_house_ci95": self.margin_house.ends,
            "win_rate": self.win_rate.mean,
            "win_rate_ci95": self.win_rate.ends,
            "margin_thirds_by_seat": list(self.margin_thirds_by_seat),
            "win_rate_by_seat": list(self.win_rate_by_seat),
            "margin_thirds_by_lead": _by_lead(self.margin_thirds_by_lead),
            "win_rate_by_lead": _by_lead(self.win_rate_by_lead),
        }


def _by_lead(values: tuple[float, float]) -> dict[str, float]:
    return {"agent": values[0], "opponent": values[1]}


def evaluate(
    agents: Sequence[str | SeatPolicy | BatchPolicy],
    rules: str | RuleSet = "playmore",
    deals: int = 2000,
    seed: int = 0,
    *,
    batch_size: int = 4096,
    on_progress: Callable[[int], None] | None = None,
    on_result: Callable[[PairingResult], None] | None = None,
) -> list[PairingResult]:
    """Play every pairing of the agents on deals 0 to ``deals - 1`` of the seed.

    Parameters
    ----------
    agents : sequence of str, SeatPolicy or BatchPolicy
        At least two; the same one twice plays against itself.
    rules : str or RuleSet
    deals : int
        Shuffles, at least 2; each is played in both seatings.
    seed : int
        0 to 2**63 - 1; the same seed gives the same result.
    batch_size : int
        Deals that advance together; the result does not depend on it.
    on_progress : callable, optional
        Called with the number of cards played since the last call; ``cards_to_play`` in all.
    on_result : callable, optional
        Called with each pairing's result when it has been played, so that none is lost if a later
        one is interrupted.

    Returns
    -------
    list of PairingResult
        The first agent against each later one, then the second, and so on.

    Raises
    ------
    OptionError, RulesError, AgentSpecError
        If an argument is out of range, or an agent does not exist or does not play the rules.
    AgentFailedError
        If an agent raises, or plays a card that it may not.
    """
    house = get_rules(rules)
    is_list = isinstance(agents, Iterable) and not isinstance(agents, str | bytes)
    if not is_list or len(agents := list(agents)) < 2:
        raise OptionError(f"agents: expected at least two, got {_shown(agents)}")
    check_deals(deals)
    _check_count(batch_size, "batch_size", 1)
    check_seed(seed)
    made = [as_agent(agent, may_cheat=True) for agent in agents]
    for agent in made:
        check_rules(agent, house)
    results = []
    for first, second in itertools.combinations(made, 2):
        paired = play_pairing(
            first,
            second,
            house,
            int(deals),
            seed,
            batch_size=batch_size,
            on_progress=on_progress,
        )
        results.append(summarise(first, second, house, seed, paired))
        if on_result is not None:
            on_result(results[-1])
    return results


def cards_to_play(num_agents: int, rules: RuleSet, deals: int) -> int:
    """Cards that ``evaluate`` plays in all, for a progress bar."""
    pairings = num_agents * (num_agents - 1) // 2
    return pairings * deals * 2 * rules.deck_size


def summarise(
    agent: Agent, opponent: Agent, rules: RuleSet, seed: int, paired: PairedDeals
) -> PairingResult:
    """Means and intervals of a pairing's deals."""
    won = (np.sign(paired.margins_house) + 1) / 2
    return PairingResult(
        agent=agent.spec,
        opponent=opponent.spec,
        agent_cheats=agent.cheats,
        opponent_cheats=opponent.cheats,
        rules=rules.name,
        deals=len(won),
        seed=seed,
        unit=rules.scoring,
        margin_thirds=mean_interval(paired.margins_thirds.mean(1)),
        margin_house=mean_interval(paired.margins_house.mean(1)),
        win_rate=mean_interval(won.mean(1)),
        margin_thirds_by_seat=_columns(paired.margins_thirds),
        win_rate_by_seat=_columns(won),
        margin_thirds_by_lead=_split(paired.margins_thirds, paired.leads),
        win_rate_by_lead=_split(won, paired.leads),
        paired=paired,
    )


def _columns(values: npt.NDArray[Any]) -> tuple[float, float]:
    return float(values[:, 0].mean()), float(values[:, 1].mean())


def _split(values: npt.NDArray[Any], where: npt.NDArray[np.bool_]) -> tuple[float, float]:
    # Each deal has the agent lead in exactly one of its seatings: neither part is ever empty.
    return float(values[where].mean()), float(values[~where].mean())


def versions() -> dict[str, Any]:
    """Versions that a result depends on."""
    return {
        "tressette": tressette_env.__version__,
        "observation": OBSERVATION_VERSION,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def check_rules(agent: Agent, house: RuleSet) -> None:
    """Ask an agent whether it plays the rules; how it fails at that is told, too."""
    try:
        agent.check_rules(house)
    except TressetteError:
        raise
    except (Exception, SystemExit) as error:
        raise AgentFailedError(
            f"agent {agent.spec!r}, asked about {house.name!r}, raised {failure_text(error)}"
        ) from error


def check_deals(deals: object, name: str = "deals") -> None:
    """Raise ``OptionError`` unless a pairing can have so many deals."""
    _check_count(deals, name, 2, MAX_DEALS)


def _check_count(value: object, name: str, least: int, most: int | None = None) -> None:
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_integer or value < least:  # type: ignore[operator]
        raise OptionError(f"{name}: expected an integer from {least} up, got {shown(value)}")
    if most is not None and value > most:  # type: ignore[operator]
        raise OptionError(f"{name}: expected an integer up to {most:,}, got {shown(value)}")


def _shown(agents: object) -> str:
    if isinstance(agents, str | bytes):
        return f"the text {shown(agents)}; put it into a list"
    if isinstance(agents, list):
        return ", ".join(map(shown, agents)) or "none"
    return f"{shown(agents)}; put specs or agents into a list"
