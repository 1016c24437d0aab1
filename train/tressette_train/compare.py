"""Has an agent become better? Two files of results, compared deal by deal on the same deals.

Of every deal that both agents played against the same opponent, the pair's margin of one agent is
taken from that of the other: the luck of the cards, which both had, goes away once more. The test
is Student's for paired samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tressette_env.errors import OptionError, did_you_mean, shown
from tressette_train.intervals import Interval, mean_interval, two_sided_p
from tressette_train.match_play import PairedDeals
from tressette_train.results_file import Results

__all__ = ["Comparison", "check_same_deals", "choose_agents", "compare"]


@dataclass(frozen=True)
class Comparison:
    """Agent B beside agent A against one opponent.

    Attributes
    ----------
    opponent : str
    margin_a, margin_b : float
        Thirds a deal that each takes more than the opponent.
    difference : Interval
        Thirds a deal that B takes more than A does: mean over deals, and its 95 % interval.
    p_value : float
        Two-sided: how often agents that are equally strong differ as much as this, or more.
    corrected : bool
        Whether all this is without the luck of the draws, by the same critic in both files.
    """

    opponent: str
    margin_a: float
    margin_b: float
    difference: Interval
    p_value: float
    corrected: bool = False

    @property
    def verdict(self) -> str:
        """Whether B is "better" or "worse", its whole interval above or below 0; or "not shown"."""
        if self.difference.low > 0:
            return "better"
        return "worse" if self.difference.high < 0 else "not shown"

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as plain numbers and text."""
        return {
            "opponent": self.opponent,
            "margin_thirds_a": self.margin_a,
            "margin_thirds_b": self.margin_b,
            "difference_thirds": self.difference.mean,
            "ci95": self.difference.ends,
            "p_value": self.p_value,
            "corrected": self.corrected,
            "verdict": self.verdict,
        }


def compare(a: Results, b: Results, agent_a: str, agent_b: str) -> list[Comparison]:
    """Compare an agent of one file with one of another, against every opponent that both met.

    Raises
    ------
    OptionError
        If the deals are not the same, an agent is not in its file, or no opponent is in both.
    """
    check_same_deals(a, b)
    for results, agent, option in ((a, agent_a, "--agent"), (b, agent_b, "--agent-b")):
        if agent not in results.agents:
            raise OptionError(
                f"{option}: {shown(agent)} is not in {results.path}"
                f"{did_you_mean(agent, results.agents)} (it holds: {', '.join(results.agents)})"
            )
    opponents = [
        spec
        for spec in dict.fromkeys(a.agents)
        if spec not in (agent_a, agent_b) and spec in b.agents
    ]
    if not opponents:
        raise OptionError(
            f"expected an opponent that both {agent_a} (in {a.path}) and {agent_b} (in {b.path}) "
            f"have met; the files hold {', '.join(a.agents)} and {', '.join(b.agents)}: measure "
            "both against the same"
        )
    return [_against(opponent, a, b, agent_a, agent_b) for opponent in opponents]


def _against(opponent: str, a: Results, b: Results, agent_a: str, agent_b: str) -> Comparison:
    deals_a, deals_b = _of(a, agent_a, opponent), _of(b, agent_b, opponent)
    other = (deals_a.leads != deals_b.leads).any(1)
    if other.any():
        raise OptionError(
            f"{a.path} and {b.path}: expected the same deals, but the first lead of deal "
            f"{int(np.argmax(other))} differs: other cards were dealt; measure both with one "
            "version of tressette"
        )
    critics = [_critic_of(a, agent_a, opponent), _critic_of(b, agent_b, opponent)]
    corrected = critics[0] is not None and critics[0] == critics[1]
    means_a, means_b = (
        (deals.best_thirds if corrected else deals.margins_thirds).mean(1)
        for deals in (deals_a, deals_b)
    )
    difference = mean_interval(means_b - means_a)
    error = float((means_b - means_a).std(ddof=1)) / math.sqrt(len(means_a))
    p_value = two_sided_p(difference.mean, error, len(means_a) - 1)
    mean_a, mean_b = float(means_a.mean()), float(means_b.mean())
    return Comparison(opponent, mean_a, mean_b, difference, p_value, corrected)


def _of(results: Results, agent: str, opponent: str) -> PairedDeals:
    """Return an agent's deals against an opponent, whichever of them was named first."""
    if (agent, opponent) in results.paired:
        return results.paired[agent, opponent]
    # The same games, seen from the other side of the table.
    return results.paired[opponent, agent].swapped


def _critic_of(results: Results, agent: str, opponent: str) -> str | None:
    """Return the SHA-256 of the critic that judged an agent's draws against an opponent."""
    pair = (agent, opponent) if (agent, opponent) in results.figures else (opponent, agent)
    corrected = results.figures[pair].get("corrected")
    return None if corrected is None else corrected["critic"]["sha256"]


def check_same_deals(a: Results, b: Results) -> None:
    """Raise ``OptionError``, saying in what they differ, unless both played the same deals."""
    fields = [
        ("house", a.rules.name, b.rules.name),
        ("seed", a.seed, b.seed),
        ("number of deals", a.deals, b.deals),
    ]
    if a.deal_set is not None and b.deal_set is not None:
        fields.append(("deal set", a.deal_set, b.deal_set))
    differences = [f"{name} ({one} and {other})" for name, one, other in fields if one != other]
    if differences:
        raise OptionError(
            f"{a.path} and {b.path}: expected results on the same deals, they differ in the "
            f"{', the '.join(differences)}; measure both with the same options of tressette eval"
        )


def choose_agents(
    a: Results, b: Results, agent: str | None, agent_b: str | None
) -> tuple[str, str]:
    """Choose whom to compare, as far as it is not said.

    Without a word: the one agent in which the files differ; if they name the same agents, the
    first, as after training on. With ``agent`` alone: that one, in both files if both have it.

    Raises
    ------
    OptionError
        If there is a choice.
    """
    only_a = [spec for spec in dict.fromkeys(a.agents) if spec not in b.agents]
    only_b = [spec for spec in dict.fromkeys(b.agents) if spec not in a.agents]
    if agent is not None and agent_b is None and agent in b.agents:
        return agent, agent
    chosen_a, chosen_b = agent, agent_b
    if agent is None and agent_b is None and not only_a and not only_b:
        chosen_a = chosen_b = a.agents[0]
    if chosen_a is None and len(only_a) == 1:
        chosen_a = only_a[0]
    if chosen_b is None and len(only_b) == 1:
        chosen_b = only_b[0]
    if chosen_a is None or chosen_b is None:
        option = "--agent" if chosen_a is None else "--agent-b"
        raise OptionError(
            f"expected files that differ in one agent; {a.path} holds {', '.join(a.agents)}, "
            f"{b.path} holds {', '.join(b.agents)}: say with {option} whom to compare"
        )
    return chosen_a, chosen_b
