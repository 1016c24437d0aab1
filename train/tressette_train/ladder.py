"""The ladder: agents from weak to strong, every one against every other, in several houses.

``tressette eval --ladder`` prints the matrices and writes them as a page. Each rung is compared
with the one below it; where its whole interval is not above 0, the page says so.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tressette_env.errors import OptionError
from tressette_env.policies import Agent, as_agent
from tressette_env.rulesets import RuleSet, get_rules
from tressette_train.bench.machine import describe_machine
from tressette_train.evaluate import (
    PairingResult,
    cards_to_play,
    check_deals,
    check_rules,
    evaluate,
    versions,
)

__all__ = [
    "HOUSES",
    "RUNGS",
    "LadderResult",
    "Step",
    "cards_to_climb",
    "check_rungs",
    "climb",
    "is_slow",
    "ladder_page",
    "matrix_lines",
    "steps",
]

RUNGS = {  # by the seats of the house: endings are solved for two
    2: (
        "random",
        "greedy",
        "counting",
        "counting+endings",
        "flat:worlds=40+endings",
        "pimc:worlds=32",
        "ismcts:iterations=2000+endings",
    ),
    4: (
        "random",
        "greedy",
        "counting",
        "flat:worlds=64",
        "ismcts:iterations=2000",
        "pimc:worlds=32",
    ),
}
HOUSES = ("playmore", "gamelake", "cuperativa")

_SLOW = ("pimc",)  # names of agents that take many milliseconds for a card


@dataclass(frozen=True)
class LadderResult:
    """One house's ladder.

    Attributes
    ----------
    rules : RuleSet
    rungs : tuple of str
        Specs, weakest first.
    results : tuple of PairingResult
        Every rung (the agent) against every lower one; fewer if it was stopped.
    """

    rules: RuleSet
    rungs: tuple[str, ...]
    results: tuple[PairingResult, ...]

    @cached_property
    def by_pair(self) -> dict[tuple[str, str], PairingResult]:
        """Results by agent and opponent."""
        return {(result.agent, result.opponent): result for result in self.results}

    @property
    def pairings(self) -> int:
        """How many results there are once everything has been played."""
        return len(self.rungs) * (len(self.rungs) - 1) // 2

    def between(self, agent: str, opponent: str) -> PairingResult:
        """Return the result of an agent against a lower rung."""
        return self.by_pair[agent, opponent]


@dataclass(frozen=True)
class Step:
    """A rung against the one below it; ``holds`` if its whole interval is above 0."""

    result: PairingResult

    @property
    def holds(self) -> bool:
        """Whether the rung is stronger without doubt."""
        return self.result.margin_thirds.low > 0


def is_slow(spec: str) -> bool:
    """Whether a rung's pairings are those that ``slow_deals`` of ``climb`` is for."""
    return re.split("[:+]", spec)[0] in _SLOW


def cards_to_climb(
    rungs: Sequence[str], rules: RuleSet, deals: int, slow_deals: int | None = None
) -> int:
    """Cards that ``climb`` plays in all, for a progress bar."""
    return sum(
        cards_to_play(2, rules, _deals_for(pair, deals, slow_deals))
        for pair in itertools.combinations(rungs, 2)
    )


def _deals_for(specs: Sequence[str], deals: int, slow_deals: int | None) -> int:
    return slow_deals if slow_deals is not None and any(map(is_slow, specs)) else deals


def check_rungs(rungs: Sequence[str | Agent], rules: str | RuleSet) -> list[Agent]:
    """Make the agents of a ladder, and see whether they can climb it.

    Raises
    ------
    TressetteError
        If one does not exist, cheats or does not play the rules, if two are the same, or if there
        are fewer than two.
    """
    house = get_rules(rules)
    agents = [as_agent(rung) for rung in rungs]
    names = [agent.spec for agent in agents]
    if len(set(names)) < len(names) or len(names) < 2:
        raise OptionError(f"ladder: expected at least two different agents, got {', '.join(names)}")
    for agent in agents:
        check_rules(agent, house)
    return agents


def climb(
    rungs: Sequence[str | Agent],
    rules: str | RuleSet,
    deals: int,
    seed: int,
    *,
    slow_deals: int | None = None,
    on_progress: Callable[[int], None] | None = None,
    on_result: Callable[[PairingResult], None] | None = None,
) -> LadderResult:
    """Play every rung against every lower one.

    Parameters
    ----------
    rungs : sequence of str or Agent
        Weakest first, each once.
    rules : str or RuleSet
    deals : int
        Shuffles for each pairing, each played in both seatings.
    seed : int
    slow_deals : int, optional
        Shuffles for pairings with a rung that ``is_slow``; by default as many as for the others.
    on_progress, on_result : callable, optional
        As for ``evaluate``.

    Raises
    ------
    TressetteError
        As ``evaluate``, and as ``check_rungs`` before a card is played.
    """
    house = get_rules(rules)
    check_deals(deals)
    if slow_deals is not None:
        check_deals(slow_deals, "slow_deals")
    agents = check_rungs(rungs, house)
    results = []
    # The strongest first, so that every result is that of the higher rung.
    for pair in itertools.combinations(agents[::-1], 2):
        count = _deals_for([agent.spec for agent in pair], deals, slow_deals)
        results += evaluate(pair, house, count, seed, on_progress=on_progress, on_result=on_result)
    return LadderResult(house, tuple(agent.spec for agent in agents), tuple(results))


def steps(ladder: LadderResult) -> list[Step]:
    """Every rung but the lowest against the one below it, from the bottom, as far as played."""
    pairs = zip(ladder.rungs[1:], ladder.rungs[:-1], strict=True)
    return [Step(ladder.by_pair[pair]) for pair in pairs if pair in ladder.by_pair]


def ladder_page(ladders: Sequence[LadderResult], command: str, seconds: float) -> str:
    """Markdown page of the results, with what is needed to make it again.

    Parameters
    ----------
    ladders : sequence of LadderResult
        With at least one result; what is missing is named.
    command : str
        That made them.
    seconds : float
        That they took.
    """
    first = next(result for ladder in ladders for result in ladder.results)
    lines = [
        "# Ladder",
        "",
        "<!-- written by `tressette eval --ladder`: change the agents, not this page -->",
        "",
        "How strong the agents are against each other: thirds of a point a deal that the agent of",
        "a row takes more than that of the column, and the 95 % interval over pairs (one deal in",
        "both seatings). [Agents](agents.md) says what they do, [Evaluation](evaluation.md) how",
        "they are compared. Made by",
        "",
        "```",
        command,
        "```",
        "",
        f"with {_deals_text(ladders)} of seed {first.seed} for each cell, in {_duration(seconds)} "
        f"on {_machine()}, {datetime.date.today().isoformat()}.",
        "Versions: " + ", ".join(f"{name} {number}" for name, number in versions().items()) + ".",
    ]
    for ladder in ladders:
        lines += ["", f"## {ladder.rules.name}", "", *_matrix(ladder), "", *_verdicts(ladder)]
    return "\n".join(lines) + "\n"


def _deals_text(ladders: Sequence[LadderResult]) -> str:
    """Deals of a cell, in words; fewer with a slow rung are told."""
    counts: dict[bool, int] = {}
    for result in (result for ladder in ladders for result in ladder.results):
        counts[is_slow(result.agent) or is_slow(result.opponent)] = result.deals
    if len(set(counts.values())) == 1:
        return f"{next(iter(counts.values()))} deals"
    names = " or ".join(f"`{name}`" for name in _SLOW)
    return f"{counts[False]} deals ({counts[True]} in rows and columns of {names})"


def _matrix(ladder: LadderResult) -> list[str]:
    return matrix_lines(ladder.rungs, {pair: _cell(one) for pair, one in ladder.by_pair.items()})


def matrix_lines(rungs: Sequence[str], cells: Mapping[tuple[str, str], str]) -> list[str]:
    """Return the lines of a table of every rung (weakest first) against every lower one."""
    columns = rungs[:-1]
    lines = [
        "| thirds a deal | " + " | ".join(f"`{spec}`" for spec in columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    for place, agent in enumerate(rungs[1:], 1):
        row = [cells.get((agent, below), "") for below in rungs[:place]]
        row += [""] * (len(columns) - place)
        lines.append(f"| `{agent}` | " + " | ".join(row) + " |")
    return lines


def _cell(result: PairingResult) -> str:
    margin = result.margin_thirds
    return f"{margin.mean:+.2f} ({margin.low:+.2f} to {margin.high:+.2f})"


def _verdicts(ladder: LadderResult) -> list[str]:
    lines = [
        f"**Not shown to be stronger**: `{step.result.agent}` than `{step.result.opponent}`, "
        f"{_cell(step.result)}; the interval is not wholly above 0."
        for step in steps(ladder)
        if not step.holds
    ]
    played = len(ladder.results)
    if played < ladder.pairings:
        return [*lines, f"**Not finished**: {played} of {ladder.pairings} pairings were played."]
    return lines or ["Every rung beats the one below it, with its whole interval above 0."]


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _machine() -> str:
    machine = describe_machine()
    return f"{machine['cores']} cores of {machine['cpu']}"
