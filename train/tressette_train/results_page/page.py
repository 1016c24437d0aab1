"""The page of results as Markdown: every figure with its interval, deals, seed and command."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tressette_env.errors import ConfigError
from tressette_train.intervals import mean_interval
from tressette_train.ladder import matrix_lines
from tressette_train.results_page.parts import Outcome
from tressette_train.results_page.plan import Part

__all__ = ["results_page"]

Found = Sequence[tuple[Part, Outcome]]

_LADDERS = """## Ladders

Thirds of a point a deal that the agent of a row takes more than that of the column, and the 95 %
interval over pairs (one deal in both seatings). [Agents](agents.md) says what they do,
[Evaluation](evaluation.md) how they are compared."""

_EXPLOITABILITY = """## Exploitability on the reduced decks

What a best response wins from an agent, thirds a deal, computed exactly: no deals, so no interval
([Exploitability](exploitability.md)). Where an agent was trained with several seeds the interval
is the 95 % one over seeds. Policies with `sample=true` draw their cards."""

_ATTACKS = """## Attacks on the full deck

Lower bounds only: what a [learned response](attack.md) wins from the frozen agent on fresh deals.
Another attack may find more."""

_HEAD = """# Results

<!-- written by `tressette results`: change the plan, not this page -->

How strong the kit's agents are, and how much they can lose to one who knows them. Made by

```
{command}
```

which runs the commands below, one after the other, keeps what each has found, and goes on after an
interruption."""


def results_page(found: Found, command: str) -> str:
    """Return the page.

    Parameters
    ----------
    found : sequence of (Part, Outcome)
        As ``collect`` returns them.
    command : str
        That makes the page.

    Raises
    ------
    ConfigError
        If what a command printed is not what its section shows.
    """
    sections = {
        "ladders": (_LADDERS, _ladder),
        "exploitability": (_EXPLOITABILITY, _exploitability),
        "attacks": (_ATTACKS, _attacks),
    }
    lines = _HEAD.format(command=command).split("\n")
    for section, (introduction, lines_of) in sections.items():
        parts = [(part, outcome) for part, outcome in found if part.section == section]
        if not parts:
            continue
        lines += ["", introduction]
        try:
            lines += lines_of(parts)
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise ConfigError(
                f"{section}: a command printed no figures that belong there (missing: {error})"
            ) from error
    trained = [(part, outcome) for part, outcome in found if part.section == "training"]
    if trained:
        lines += ["", "## Training", "", "The policies above were trained by", ""]
        lines += _commands(trained)
    return "\n".join([*lines, "", *_made(found)]) + "\n"


def _ladder(parts: Found) -> Iterator[str]:
    for part, outcome in parts:
        results = outcome["output"]["results"]
        cells = {(one["agent"], one["opponent"]): _margin(one) for one in results}
        rungs = _rungs(cells)
        yield from ("", f"### {part.name}", "", *matrix_lines(rungs, cells), "")
        deals = {one["deals"] for one in results}
        few = {name for one in results if one["deals"] < max(deals) for name in _pair(one)}
        some = f" ({min(deals)} where a slow agent plays)" if few else ""
        yield f"{max(deals)} deals of seed {results[0]['seed']} a cell{some}."
        below = {(upper, lower) for lower, upper in itertools.pairwise(rungs)}
        unsure = [one for one in results if _pair(one) in below and one["ci95"][0] <= 0]
        for one in unsure:
            yield (
                f"**Not shown to be stronger**: `{one['agent']}` than `{one['opponent']}`, "
                f"{_margin(one)}."
            )
        if not unsure:
            yield "Every rung beats the one below it, with its whole interval above 0."
        yield from ("", *_commands([(part, outcome)]))


def _pair(one: dict[str, Any]) -> tuple[str, str]:
    return one["agent"], one["opponent"]


def _rungs(cells: Iterable[tuple[str, str]]) -> list[str]:
    """Return the agents, weakest first: who is a row more often stands higher."""
    rows = [agent for agent, _ in cells]
    names = {name: None for pair in cells for name in pair}
    return sorted(names, key=rows.count)


def _margin(one: dict[str, Any]) -> str:
    low, high = one["ci95"]
    return f"{one['margin_thirds']:+.2f} ({low:+.2f} to {high:+.2f})"


def _exploitability(parts: Found) -> Iterator[str]:
    yield from ("", "| rules | agent | exploitability | how |", "|---|---|---:|---|")
    for _, outcome in parts:
        output = outcome["output"]
        agents = output.get("results", [output])
        for one in agents:
            how = "exact policy"
            if one["samples"] is not None:
                how = f"policy estimated from {one['samples']} cards a view"
            value = one["exploitability_thirds"]
            yield f"| `{one['rules']}` | `{one['agent']}` | {value:.4f} | {how} |"
        drawn = [one for one in agents if one["agent"].startswith("learned:")]
        if len(drawn) > 1:
            values = [one["exploitability_thirds"] for one in drawn]
            mean = mean_interval(np.array(values))
            yield (
                f"| `{agents[0]['rules']}` | mean of the {len(drawn)} learned ones | "
                f"**{mean.mean:.4f}** ({mean.low:.4f} to {mean.high:.4f}) | median "
                f"{statistics.median(values):.4f} |"
            )
        known = output["equilibrium"]
        value, lead = known["exploitability_thirds"], known["value_leader_thirds"]
        yield (
            f"| `{known['rules']}` | equilibrium by CFR+ | {value:.4f} | "
            f"{known['iterations']} iterations; leading is worth {lead:+.3f} |"
        )
    yield from ("", *_commands(parts))


def _attacks(parts: Found) -> Iterator[str]:
    yield from (
        "",
        "| rules | agent | lower bound | margin of the response | deals, seed | trained on |",
        "|---|---|---:|---|---|---|",
    )
    for _, outcome in parts:
        output = outcome["output"]
        one, training = output["result"], output["training"]
        start = f" from `{training['start_from']}`" if training["start_from"] else ""
        yield (
            f"| `{one['rules']}` | `{one['opponent']}` | {output['lower_bound_thirds']:.2f} | "
            f"{_margin(one)} | {one['deals']}, {one['seed']} | {training['decisions']:,} decisions "
            f"in {training['seconds'] / 60:.0f} min, seed {training['seed']}{start} |"
        )
    yield from ("", *_commands(parts))


def _commands(parts: Found) -> list[str]:
    return ["```", *(outcome["command"] for _, outcome in parts), "```"]


def _seconds(outcome: Outcome) -> float:
    """Return what a part took; an attack that went on after a stop counts all its training."""
    trained = (outcome["output"] or {}).get("training", {}).get("seconds", 0.0)
    return float(max(outcome["seconds"], trained))


def _made(found: Found) -> list[str]:
    """Return where and when the figures were made."""
    minutes = sum(map(_seconds, (outcome for _, outcome in found))) / 60
    dates = sorted(outcome["date"] for _, outcome in found)
    days = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    machines = {
        f"{one['cores']} cores of {one['cpu']}"
        for _, outcome in found
        for one in [outcome["machine"]]
    }
    machine = found[0][1]["machine"]
    versions = ", ".join(
        f"{name} {machine[name]}" for name in ("tressette", "python", "numpy", "torch")
    )
    return [
        f"Made in {minutes:.0f} minutes on {' and '.join(sorted(machines))}, {days}: {versions}."
    ]
