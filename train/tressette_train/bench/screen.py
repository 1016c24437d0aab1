"""A report as tables: for a terminal of 80 columns, and in Markdown for the benchmark page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from tressette_train.bench.peer_rows import MODULES
from tressette_train.bench.report import Ratio, Report
from tressette_train.bench.startup_rows import GROUP as STARTUP
from tressette_train.bench.targets import TARGETS
from tressette_train.bench.timing import Measured

__all__ = ["Sheet", "markdown", "notes", "sheets", "target_sheet", "to_rich"]


@dataclass(frozen=True)
class Sheet:
    """A table of texts.

    Attributes
    ----------
    title : str
    columns : tuple of str
        The first is a name; the others are figures.
    lines : sequence of tuple of str
    """

    title: str
    columns: tuple[str, ...]
    lines: Sequence[tuple[str, ...]]


_NARROW = 50  # columns; a table of five columns needs as many


def sheets(report: Report) -> list[Sheet]:
    """Return the tables of a report, without those that would be empty."""
    rates = [row for row in report.rows if row.group != STARTUP]
    starts = [row for row in report.rows if row.group == STARTUP]
    found = [
        Sheet(
            f"Plays a second, {report.settings.get('rules', '')}",
            ("row", "tables", "threads", "median", "min", "max"),
            [
                (row.name, f"{row.tables:,}", str(row.threads), *_spread(row, _rate))
                for row in rates
            ],
        ),
        _ratio_sheet("Ratios", report.ratios),
        _ratio_sheet("Ratios to others", report.peer_ratios),
        Sheet(
            "Seconds of a new process",
            ("row", "median", "min", "max"),
            [(row.name, *_spread(row, lambda value: f"{value:.2f}")) for row in starts],
        ),
    ]
    return [sheet for sheet in found if sheet.lines]


def target_sheet(report: Report) -> Sheet:
    """Return every target with what this run measured."""
    lines = []
    for target in TARGETS:
        value = target.measure(report)
        show = _SHOW[target.unit]
        met = "-"
        if value is not None:
            met = "yes" if target.is_met(value) else "NO"
            if target.goal is not None and target.is_met(value, target.goal):
                met = "goal"
        sign = "<=" if target.lower_is_better else ">="
        lines.append(
            (
                target.name,
                f"{sign} {show(target.at_least)}",
                "" if target.goal is None else show(target.goal),
                "not here" if value is None else show(value),
                met,
            )
        )
    return Sheet("Targets", ("what", "at least", "goal", "measured", "met"), lines)


def notes(report: Report) -> list[str]:
    """Return the lines below the tables: memory, the machine, what is missing."""
    machine = dict(report.machine)
    load = f"load {machine.pop('load_before', '?')} before, {machine.pop('load_after', '?')} after"
    where = [str(machine.pop("cpu", "?")), f"{machine.pop('cores', '?')} cores"]
    where += [str(machine.pop("os", "?")), load]
    lines = [
        f"memory a table: {report.memory['state_bytes']} bytes of state, "
        f"{report.memory['kept_bytes']} with the end of its last episode",
        "machine: " + ", ".join(where),
        "versions: " + ", ".join(f"{name} {value}" for name, value in machine.items()),
        f"{report.settings.get('repeats', '?')} samples of each row in turns, each of about "
        f"{report.settings.get('seconds', '?')} s or one unit of work; compilation is in none",
    ]
    waited = sum(row.cores < 0.95 * row.threads for row in report.rows if row.group != STARTUP)
    if waited:
        lines.append(
            f"{waited} rows had less than 95 % of their cores: the machine is busy, or few threads "
            "were enough; the JSON has each row's `cores`"
        )
    for package in report.missing_peers:
        module = next(name for name, brings in MODULES.items() if brings == package)
        lines.append(
            f"{package} is missing (import {module.partition('.')[0]}): "
            "pip install 'tressette[peers]'"
        )
    return lines


def to_rich(sheet: Sheet, width: int = 80) -> Table:
    """Return a sheet as a table for a terminal of so many columns."""
    if width < _NARROW:
        return _in_blocks(sheet)
    table = Table(title=sheet.title, title_justify="left", box=box.SIMPLE_HEAD)
    if width < 80:
        table.padding, table.pad_edge = (0, 1, 0, 0), False
    for index, column in enumerate(sheet.columns):
        if index == 0:
            table.add_column(column, overflow="fold")
        else:
            table.add_column(column, justify="right", no_wrap=True)
    for line in sheet.lines:
        table.add_row(*(Text(cell) for cell in line))
    return table


def _in_blocks(sheet: Sheet) -> Table:
    """Return a sheet for a terminal that has no room for its columns: a figure a line."""
    table = Table(title=sheet.title, title_justify="left", box=None, show_header=False)
    table.add_column(overflow="fold")
    for name, *cells in sheet.lines:
        figures = zip(sheet.columns[1:], cells, strict=True)
        lines = [name, *(f"  {column} {cell}" for column, cell in figures if cell)]
        table.add_row(Text("\n".join(lines)))
    return table


def markdown(sheet: Sheet) -> str:
    """Return a sheet as a Markdown table below its title."""
    rows = [
        sheet.columns,
        ("---", *("---:" for _ in sheet.columns[1:])),
        *sheet.lines,
    ]
    return "\n".join([f"### {sheet.title}", "", *(f"| {' | '.join(row)} |" for row in rows)])


def _ratio_sheet(title: str, ratios: Sequence[Ratio]) -> Sheet:
    lines = [
        (
            ratio.name,
            _times(ratio.median),
            _times(min(ratio.values)),
            _times(max(ratio.values)),
        )
        for ratio in ratios
    ]
    return Sheet(title, ("ratio", "median", "min", "max"), lines)


def _spread(row: Measured, show: Callable[[float], str]) -> tuple[str, str, str]:
    return show(row.median), show(row.low), show(row.high)


def _times(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _rate(value: float) -> str:
    """Three digits, in thousands (k) or millions (M)."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            digits = 0 if value >= 100 * size else 1 if value >= 10 * size else 2
            return f"{value / size:.{digits}f} {letter}"
    return f"{value:.0f}"


_SHOW: dict[str, Callable[[float], str]] = {
    "plays/s": lambda value: f"{_rate(value)}/s",
    "x": lambda value: f"{_times(value)} x",
    "s": lambda value: f"{value:.2f} s",
    "bytes": lambda value: f"{value:.0f} bytes",
}
