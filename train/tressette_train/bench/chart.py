"""A report as a chart: speed over the number of tables, and the card-by-card interfaces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tressette_env.errors import OptionError
from tressette_train.bench import peer_rows
from tressette_train.bench.report import Report
from tressette_train.bench.timing import PLAYS, Measured, Row
from tressette_train.chart_file import check_chart_file, new_figure, write_chart

__all__ = ["check_chart", "draw_report"]

_CURVES = {  # Okabe and Ito
    "rules": "#0072b2",
    "masks": "#009e73",
    "observations": "#d55e00",
    "play": "#cc79a7",
    "vector": "#e69f00",
    "inference": "#56b4e9",
}
_OURS, _THEIRS = "#0072b2", "#999999"


def check_chart(path: Path, rows: Sequence[Row | Measured]) -> None:
    """Raise ``OptionError`` unless a chart of the rows can be written under that name."""
    check_chart_file(path)
    if all(row.unit != PLAYS for row in rows):
        raise OptionError("--chart: expected rows in plays a second, there is none")


def draw_report(report: Report, path: Path) -> None:
    """Write a chart as PNG; the spread of the samples is drawn around each median.

    Raises
    ------
    OptionError
        As ``check_chart``.
    """
    check_chart(path, report.rows)
    curves = [row for row in report.rows if row.name in _CURVES]
    if len({row.tables for row in curves}) < 2:
        curves = []
    bars = [row for row in report.rows if row.unit == PLAYS and row not in curves]
    both = bool(curves) and bool(bars)
    figure = new_figure(12 if both else 7, 5)
    axes: Any = figure.subplots(1, 1 + both, squeeze=False)[0]
    if curves:
        _draw_curves(axes[0], curves)
    if bars:
        _draw_bars(axes[-1], bars)
    figure.suptitle(_title(report), fontsize=10)
    write_chart(figure, path)


def _draw_curves(axes: Any, rows: list[Measured]) -> None:
    for name, colour in _CURVES.items():
        for threads in sorted({row.threads for row in rows}):
            line = sorted(
                (row for row in rows if row.name == name and row.threads == threads),
                key=lambda row: row.tables,
            )
            if not line:
                continue
            tables = [row.tables for row in line]
            shared = f", {threads} threads" if threads > 1 else ""
            axes.plot(
                tables,
                [row.median for row in line],
                "o-" if threads == 1 else "s--",
                markersize=4,
                color=colour,
                label=f"{name}{shared}",
            )
            axes.fill_between(
                tables,
                [row.low for row in line],
                [row.high for row in line],
                color=colour,
                alpha=0.15,
                linewidth=0,
            )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    counts = sorted({row.tables for row in rows})
    axes.set_xticks(counts, [f"{count:,}" for count in counts])
    axes.set_xlabel("tables")
    axes.set_ylabel("plays a second")
    axes.set_title("Many tables at once", loc="left", fontsize=10)
    axes.legend(fontsize=7, frameon=False, loc="best", ncols=2)
    _clean(axes, axes.yaxis)


def _draw_bars(axes: Any, rows: list[Measured]) -> None:
    rows = sorted(rows, key=lambda row: row.median)
    names = [_name(row) for row in rows]
    medians = [row.median for row in rows]
    spread = [
        [row.median - row.low for row in rows],
        [row.high - row.median for row in rows],
    ]
    colours = [_THEIRS if row.group == peer_rows.GROUP else _OURS for row in rows]
    axes.barh(names, medians, xerr=spread, color=colours, error_kw={"linewidth": 0.8})
    axes.set_xscale("log")
    axes.set_xlim(left=medians[0] / 3)
    axes.set_xlabel("plays a second")
    theirs = " (grey: others)" if _THEIRS in colours else ""
    axes.set_title(f"One interface at a time{theirs}", loc="left", fontsize=10)
    axes.tick_params(axis="y", labelsize=8)
    _clean(axes, axes.xaxis)


def _name(row: Measured) -> str:
    tables = f", {row.tables:,} tables" if row.tables > 1 else ""
    return row.name + tables + (f", {row.threads} threads" if row.threads > 1 else "")


def _clean(axes: Any, speeds: Any) -> None:
    """Draw a light grid, and the axis of speeds as 30 k, 1 M."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    speeds.set_major_locator(LogLocator(subs=(1, 3)))
    speeds.set_major_formatter(EngFormatter())
    speeds.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _title(report: Report) -> str:
    machine = report.machine
    return (
        f"{report.settings.get('rules', '')} on {machine.get('cpu', '?')}, "
        f"{machine.get('cores', '?')} cores; median, min and max of "
        f"{report.settings.get('repeats', '?')} samples"
    )
