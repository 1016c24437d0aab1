"""What an evaluation says of two agents: means, intervals, and every deal behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tressette_env.policies import Agent
from tressette_env.rulesets import RuleSet
from tressette_train.critic import Critic
from tressette_train.intervals import Interval, bootstrap_interval, mean_interval, mean_sequence
from tressette_train.match_play import PairedDeals

__all__ = ["PairingResult", "summarise"]


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
    interval : {"student_t", "confidence_sequence"}
        How the intervals were made: for one look at the end, or for as many looks as one likes.
    margin_corrected : Interval, optional
        ``margin_thirds`` without the luck of the draws.
    critic : Critic, optional
        That said how lucky the draws were.
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
    interval: Literal["student_t", "confidence_sequence"] = "student_t"
    margin_corrected: Interval | None = None
    critic: Critic | None = None

    @property
    def best_margin(self) -> Interval:
        """``margin_corrected``, or without a critic ``margin_thirds``."""
        return self.margin_thirds if self.margin_corrected is None else self.margin_corrected

    @property
    def variance_gain(self) -> float | None:
        """How many times as many deals it would take without the critic for an interval as narrow.

        The variance of pairs over that of pairs without luck. None without a critic, or if no
        corrected pair differs from another.
        """
        corrected = self.paired.corrected_thirds
        if corrected is None:
            return None
        left = float(corrected.mean(1).var(ddof=1))
        return float(self.paired.margins_thirds.mean(1).var(ddof=1)) / left if left else None

    @property
    def margin_bootstrap(self) -> Interval | None:
        """``margin_thirds`` with an interval by the bootstrap; None where it was looked at often.

        The bootstrap's, too, is for one look.
        """
        if self.interval != "student_t":
            return None
        return bootstrap_interval(self.paired.margins_thirds.mean(1), self.seed)

    @property
    def pairing_gain(self) -> float | None:
        """How many times as many deals it would take without pairs for an interval as narrow.

        The variance of the mean of single seatings, taken as independent, over that of the mean of
        pairs: ``s1^2 / (2 s2^2)``. None if no pair differs from another.
        """
        singles = float(self.paired.margins_thirds.var(ddof=1)) / 2
        pairs = float(self.paired.margins_thirds.mean(1).var(ddof=1))
        return singles / pairs if pairs else None

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain numbers and text, without the single deals."""
        bootstrap = self.margin_bootstrap
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
            "interval": self.interval,
            "ci95_bootstrap": None if bootstrap is None else bootstrap.ends,
            "pairing_gain": self.pairing_gain,
            "corrected": self._corrected_json(),
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

    def _corrected_json(self) -> dict[str, Any] | None:
        if self.critic is None or self.margin_corrected is None:
            return None
        return {
            "critic": self.critic.to_json(),
            "margin_thirds": self.margin_corrected.mean,
            "ci95": self.margin_corrected.ends,
            "variance_gain": self.variance_gain,
        }


def summarise(
    agent: Agent,
    opponent: Agent,
    rules: RuleSet,
    seed: int,
    paired: PairedDeals,
    *,
    critic: Critic | None = None,
    repeated: bool = False,
) -> PairingResult:
    """Means and intervals of a pairing's deals, for one look or for repeated ones."""
    interval_of = mean_sequence if repeated else mean_interval
    corrected = paired.corrected_thirds
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
        margin_thirds=interval_of(paired.margins_thirds.mean(1)),
        margin_house=interval_of(paired.margins_house.mean(1)),
        win_rate=interval_of(won.mean(1)),
        margin_thirds_by_seat=_columns(paired.margins_thirds),
        win_rate_by_seat=_columns(won),
        margin_thirds_by_lead=_split(paired.margins_thirds, paired.leads),
        win_rate_by_lead=_split(won, paired.leads),
        paired=paired,
        interval="confidence_sequence" if repeated else "student_t",
        margin_corrected=None if corrected is None else interval_of(corrected.mean(1)),
        critic=critic,
    )


def _columns(values: npt.NDArray[Any]) -> tuple[float, float]:
    return float(values[:, 0].mean()), float(values[:, 1].mean())


def _split(values: npt.NDArray[Any], where: npt.NDArray[np.bool_]) -> tuple[float, float]:
    # Each deal has the agent lead in exactly one of its seatings: neither part is ever empty.
    return float(values[where].mean()), float(values[~where].mean())


def _by_lead(values: tuple[float, float]) -> dict[str, float]:
    return {"agent": values[0], "opponent": values[1]}
