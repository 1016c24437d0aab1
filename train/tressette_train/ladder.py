"""The ladder: agents from weak to strong, every one against every other, in several houses.

``tressette eval --ladder`` prints the matrices and writes them as a page. Each rung is compared
with the one below it; where its whole interval is not above 0, the page says so.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tressette_env.errors import OptionError
from tressette_env.policies import as_agent
from tressette_env.rulesets import RuleSet, get_rules
from tressette_train.bench.machine import describe_machine
from tressette_train.evaluate import PairingResult, evaluate, versions

__all__ = ["HOUSES", "RUNGS", "LadderResult", "Step", "climb", "ladder_page", "steps"]

RUNGS = (
    "random",
    "greedy",
    "counting",
    "counting+endings",
    "flat:worlds=40+endings",
    "pimc:worlds=32",
    "ismcts:iterations=2000+endings",
)
HOUSES = ("playmore", "gamelake", "cuperativa")


@dataclass(frozen=True)
class LadderResult:
    """One house's ladder.

    Attributes
    ----------
    rules : RuleSet
    rungs : tuple of str
        Specs, weakest first.
    results : tuple of PairingResult
        Every rung (the agent) against every lower one.
    """

    rules: RuleSet
    rungs: tuple[str, ...]
    results: tuple[PairingResult, ...]

    def between(self, agent: str, opponent: str) -> PairingResult:
        """Return the result of an agent against a lower rung."""
        for result in self.results:
            if (result.agent, result.opponent) == (agent, opponent):
                return result
        raise KeyError((agent, opponent))


@dataclass(frozen=True)
class Step:
    """A rung against the one below it; ``holds`` if its whole interval is above 0."""

    result: PairingResult

    @property
    def holds(self) -> bool:
        """Whether the rung is stronger without doubt."""
        return self.result.margin_thirds.low > 0


def climb(
    rungs: Sequence[str],
    rules: str | RuleSet,
    deals: int,
    seed: int,
    *,
    on_progress: Callable[[int], None] | None = None,
) -> LadderResult:
    """Play every rung against every lower one.

    Parameters
    ----------
    rungs : sequence of str
        Specs, weakest first, each once.
    rules : str or RuleSet
    deals : int
        Shuffles for each pairing, each played in both seatings.
    seed : int
    on_progress : callable, optional
        As for ``evaluate``.

    Raises
    ------
    TressetteError
        As ``evaluate``; before a card is played if a rung does not play the rules.
    """
    house = get_rules(rules)
    agents = [as_agent(rung) for rung in rungs]
    names = tuple(agent.spec for agent in agents)
    if len(set(names)) < len(names) or len(names) < 2:
        raise OptionError(f"ladder: expected at least two different agents, got {', '.join(names)}")
    # The strongest first, so that every result is that of the higher rung.
    results = evaluate(agents[::-1], house, deals, seed, on_progress=on_progress)
    return LadderResult(house, names, tuple(results))


def steps(ladder: LadderResult) -> list[Step]:
    """Every rung but the lowest against the one below it, from the bottom."""
    pairs = zip(ladder.rungs[1:], ladder.rungs[:-1], strict=True)
    return [Step(ladder.between(above, below)) for above, below in pairs]


def ladder_page(ladders: Sequence[LadderResult], command: str, seconds: float) -> str:
    """Markdown page of the results, with what is needed to make it again.

    Parameters
    ----------
    ladders : sequence of LadderResult
        At least one.
    command : str
        That made them.
    seconds : float
        That they took.
    """
    first = ladders[0].results[0]
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
        f"with {first.deals} deals of seed {first.seed} for each cell, in {_duration(seconds)} on "
        f"{_machine()}, {datetime.date.today().isoformat()}.",
        "Versions: " + ", ".join(f"{name} {number}" for name, number in versions().items()) + ".",
    ]
    for ladder in ladders:
        lines += ["", f"## {ladder.rules.name}", "", *_matrix(ladder), "", *_verdicts(ladder)]
    return "\n".join(lines) + "\n"


def _matrix(ladder: LadderResult) -> list[str]:
    columns = ladder.rungs[:-1]
    lines = [
        "| thirds a deal | " + " | ".join(f"`{spec}`" for spec in columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    for place, agent in enumerate(ladder.rungs[1:], 1):
        cells = [_cell(ladder.between(agent, below)) for below in ladder.rungs[:place]]
        cells += [""] * (len(columns) - place)
        lines.append(f"| `{agent}` | " + " | ".join(cells) + " |")
    return lines


def _cell(result: PairingResult) -> str:
    margin = result.margin_thirds
    return f"{margin.mean:+.2f} ({margin.low:+.2f} to {margin.high:+.2f})"


def _verdicts(ladder: LadderResult) -> list[str]:
    doubtful = [step.result for step in steps(ladder) if not step.holds]
    if not doubtful:
        return ["Every rung beats the one below it, with its whole interval above 0."]
    return [
        f"**Not shown to be stronger**: `{result.agent}` than `{result.opponent}`, "
        f"{_cell(result)}; the interval is not wholly above 0."
        for result in doubtful
    ]


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _machine() -> str:
    machine = describe_machine()
    return f"{machine['cores']} cores of {machine['cpu']}"
