"""The command ``tressette habits``: progress, and what an agent does as text, JSON or a chart."""

from __future__ import annotations

import json
from pathlib import Path

from tressette_env.rulesets import get_rules
from tressette_train.chart_file import check_chart_file, write_chart
from tressette_train.evaluate import check_deals, versions
from tressette_train.habits import PHASES, Habits, HabitShare, find_habits
from tressette_train.played_deals import Watched
from tressette_train.share_bar import counter, share_bar

__all__ = ["run"]

_NAME_WIDTH = 37
_CELL = "{:>29}"


def run(
    agent: str,
    against: str | None,
    rules: str,
    deals: int,
    seed: int,
    as_json: bool,
    chart: Path | None,
) -> None:
    """Print an agent's habits: one JSON object, or text; and draw them.

    Parameters
    ----------
    agent : str
        Spec.
    against : str, optional
        Spec of the agent on the other side; by default the same.
    rules : str
        Preset.
    deals, seed : int
    as_json : bool
    chart : Path, optional
        PNG file to write.

    Raises
    ------
    TressetteError
        As ``find_habits``, or if the chart cannot be written.
    """
    house = get_rules(rules)
    check_deals(deals, "--deals")
    if chart is not None:
        check_chart_file(chart)
    total = Watched.cards_to_play(house, deals, against is None)
    with share_bar() as show:
        advance = counter(show, "playing", total)
        found = find_habits(agent, against, house, deals, seed, advance)
    if as_json:
        content = {**found.to_json(), "versions": versions()}
        print(json.dumps(content, indent=2, allow_nan=False))
    else:
        print("\n".join(_lines(found)))
    if chart is not None:
        from tressette_train.habits_chart import habits_figure  # loads matplotlib

        write_chart(habits_figure(found), chart)


def _lines(found: Habits) -> list[str]:
    opponent = "itself" if found.opponent == found.agent else found.opponent
    shares = {(one.group, one.name, one.phase): one for one in found.shares()}
    phases = [phase for phase in PHASES if any(key[2] == phase for key in shares)]
    lines = [
        f"{found.rules}: {found.agent} against {opponent}, {found.deals} deals of seed "
        f"{found.seed}",
        "% of the decisions in which it had the choice, with its 95 % interval; in brackets what a",
        "card at random would do, and how many decisions there were",
        "",
        " " * _NAME_WIDTH + "".join(_CELL.format(phase) for phase in phases),
    ]
    group = ""
    for name in dict.fromkeys(key[:2] for key in shares):
        if name[0] != group:
            group = name[0]
            lines.append(group)
        cells = [_CELL.format(_cell(shares.get((*name, phase)))) for phase in phases]
        lines.append(f"  {name[1]}".ljust(_NAME_WIDTH) + "".join(cells))
    return lines


def _cell(one: HabitShare | None) -> str:
    if one is None:
        return "-"
    mean, half, random = (100 * x for x in (one.share.mean, one.share.half_width, one.at_random))
    return f"{mean:.1f} ± {half:.1f} ({random:.1f}; {one.choices:,})"
