"""Results as people read them: tables for a terminal, or for a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from tressette_train.evaluate import PairingResult
from tressette_train.intervals import Interval

__all__ = ["ResultsTable", "results_table"]

_NAME_WIDTH = 24  # longer specs are folded
_GAP = 3  # characters between two columns


@dataclass(frozen=True)
class ResultsTable:
    """Pairings to be printed: as a table, or one below the other where that is too wide.

    Attributes
    ----------
    results : sequence of PairingResult
        At least one, on the same rules and deals.
    """

    results: Sequence[PairingResult]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render for the width at hand; every figure stays whole."""
        if _table_width(self.results) <= options.max_width:
            yield _table(self.results)
            return
        yield Text(f"{_title(self.results)}\n", overflow="fold")
        for result in self.results:
            yield Text(" against ".join(_names(result)), overflow="fold")
            for name, figure in _figures(result).items():
                one_line = f"  {name} {figure}"
                fits = len(one_line) <= options.max_width
                yield Text(one_line if fits else f"{name}\n{figure}", overflow="fold")
            yield Text()
        yield Text(_caption(self.results[0]), overflow="fold")


def results_table(results: Sequence[PairingResult]) -> ResultsTable:
    """Table of pairings on the same rules and deals, one a line; readable in any width.

    Parameters
    ----------
    results : sequence of PairingResult
        At least one.
    """
    return ResultsTable(results)


def _table(results: Sequence[PairingResult]) -> Table:
    table = Table(
        title=Text(_title(results)),
        caption=_caption(results[0]),
        box=box.SIMPLE_HEAD,
        title_justify="left",
        caption_justify="left",
    )
    for column in ("agent", "opponent"):
        table.add_column(column, overflow="fold")
    for name in _figures(results[0]):
        table.add_column(name, justify="right", no_wrap=True)
    for result in results:
        # A spec is no markup: learned:runs/[a] keeps its brackets.
        names = map(Text, _names(result))
        table.add_row(*names, *_figures(result).values())
    return table


def _table_width(results: Sequence[PairingResult]) -> int:
    """Characters that a line of the table needs."""
    rows = [_figures(result) for result in results]
    figures = [max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]]
    names = [
        min(_NAME_WIDTH, max(len(column), *(len(spec) for spec in specs)))
        for column, specs in (
            ("agent", [_names(result)[0] for result in results]),
            ("opponent", [_names(result)[1] for result in results]),
        )
    ]
    return sum(figures) + sum(names) + _GAP * (len(figures) + 2) + 1


def _names(result: PairingResult) -> tuple[str, str]:
    """Specs of a pairing, marked where an agent was shown hidden cards."""
    mark = " (cheats)"
    return (
        result.agent + mark * result.agent_cheats,
        result.opponent + mark * result.opponent_cheats,
    )


def _figures(result: PairingResult) -> dict[str, str]:
    """Every figure of a pairing by the name of its column."""
    figures = {
        "thirds": f"{result.margin_thirds.mean:+.2f}",
        "95 % interval": _interval(result.margin_thirds),
    }
    if result.margin_corrected is not None:
        gain = result.variance_gain
        figures["corrected"] = f"{result.margin_corrected.mean:+.2f}"
        figures["its interval"] = _interval(result.margin_corrected)
        figures["gain"] = "" if gain is None else f"{gain:.2f}"
    if result.unit == "points":
        figures["points"] = f"{result.margin_house.mean:+.2f}"
    figures["wins"] = f"{100 * result.win_rate.mean:.1f} %"
    figures["leading"] = f"{100 * result.win_rate_by_lead[0]:.1f} %"
    return figures


def _title(results: Sequence[PairingResult]) -> str:
    first = results[0]
    return f"{first.rules}: {first.deals} deals of seed {first.seed}, each in both seatings"


def _interval(interval: Interval) -> str:
    return f"{interval.low:+.2f} to {interval.high:+.2f}"


def _caption(result: PairingResult) -> str:
    points = "points: the same by the house's scoring. " if result.unit == "points" else ""
    if result.margin_corrected is not None:
        points = (
            "corrected: thirds without the luck of the draws, by the critic; gain: how many times "
            f"as many deals it would take without it. {points}"
        )
    return (
        "thirds: the agent's margin over the opponent, a deal; the interval is over pairs (one "
        f"deal in both seatings). {points}wins: deals that the agent won; leading: of those it led."
    )
