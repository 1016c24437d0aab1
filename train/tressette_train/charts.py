"""Charts of a run, or of several, as PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tressette_agents.whole_file import write_whole
from tressette_train.chart_file import COLOURS, new_figure, png_of
from tressette_train.metrics import read_metrics
from tressette_train.run_folder import RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_learning_curve", "learning_figure", "runs_figure"]

_MARGIN = "margin_thirds/"
_REFERENCE = "reference_margin_thirds/"
#: Measures that are drawn below the margins: the first three of them that the rows hold.
_MEASURES = {
    "policy/entropy": "entropy (nats)",
    "critic/explained_variance": "explained variance",
    "policy/kl": "KL of an update (nats)",
    "values/explained_variance": "explained variance",
    "losses/value": "value loss",
    "policy/epsilon": "epsilon",
}
_SMOOTHING = 0.1  # share of the rows that a moving average covers


def draw_learning_curve(folder: Path, title: str) -> Path | None:
    """Draw a run's margins and the state of its policy over the decisions trained on.

    Parameters
    ----------
    folder : Path
        The run folder; the chart is written there.
    title : str

    Returns
    -------
    Path or None
        The chart; None if there are no metrics yet.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    rows = read_metrics(folder)
    if not rows:
        return None
    path = RunFolder(folder).chart
    write_whole(path, png_of(learning_figure(rows, title)))
    return path


def learning_figure(rows: list[dict[str, Any]], title: str) -> Figure:
    """Return the chart of rows of metrics: margins above, three measures of the policy below."""
    figure = new_figure(9, 6.5)
    grid = figure.add_gridspec(2, 3, height_ratios=(3, 2))
    top = figure.add_subplot(grid[0, :])
    _draw_margins(top, rows)
    figure.suptitle(title, x=0.01, horizontalalignment="left")
    measured = [tag for tag in _MEASURES if any(tag in row for row in rows)][:3]
    for column, tag in enumerate(measured):
        axes = figure.add_subplot(grid[1, column])
        _draw(axes, rows, tag, None, COLOURS[column])
        axes.set_title(_MEASURES[tag], loc="left", fontsize=10)
        axes.set_xlabel("million decisions", fontsize=9)
    return figure


def runs_figure(runs: Mapping[str, Sequence[dict[str, Any]]]) -> Figure:
    """Return the learning curves of several runs, by the runs' names: one panel an opponent.

    Where a run's margin over an opponent was measured on fixed deals, that is drawn, with its 95 %
    interval; else the moving average of the margins while training.
    """
    tags = {tag for rows in runs.values() for row in rows for tag in row}
    names = {tag.partition("/")[2] for tag in tags if tag.startswith((_MARGIN, _REFERENCE))}
    figure = new_figure(1 + 5 * max(len(names), 1), 4)
    panels = figure.subplots(1, max(len(names), 1), squeeze=False)[0]
    for axes, name in zip(panels, sorted(names), strict=False):
        is_measured = _REFERENCE + name in tags
        for (run, rows), colour in zip(runs.items(), COLOURS * len(runs), strict=False):
            if is_measured:
                _draw_measured(axes, rows, name, run, colour)
            else:
                _draw(axes, list(rows), _MARGIN + name, run, colour)
        axes.axhline(0, color="#888888", linewidth=0.8)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(f"over {name}", loc="left", fontsize=10)
        axes.set_xlabel("million decisions", fontsize=9)
    panels[0].set_ylabel("thirds a deal")
    if names:
        panels[0].legend(frameon=False, fontsize=8)
    return figure


def _draw_measured(
    axes: Any, rows: Sequence[dict[str, float]], name: str, label: str, colour: str
) -> None:
    """Draw margins over a reference with their intervals."""
    tag = _REFERENCE + name
    points = [
        (row["decisions"] / 1e6, row[tag], row[f"reference_half_width/{name}"])
        for row in rows
        if tag in row
    ]
    if points:
        decisions, margins, half_widths = np.array(points).T
        axes.errorbar(decisions, margins, half_widths, color=colour, fmt="o-", ms=4, label=label)


def _draw_margins(axes: Any, rows: list[dict[str, float]]) -> None:
    tags = sorted({tag for row in rows for tag in row if tag.startswith(_MARGIN)})
    for tag, colour in zip(tags, COLOURS * (1 + len(tags) // len(COLOURS)), strict=False):
        _draw(axes, rows, tag, tag.partition("/")[2], colour)
    measured = sorted({tag for row in rows for tag in row if tag.startswith(_REFERENCE)})
    colours = reversed(COLOURS * (1 + len(measured) // len(COLOURS)))
    for tag, colour in zip(measured, colours, strict=False):
        name = tag.removeprefix(_REFERENCE)
        _draw_measured(axes, rows, name, f"{name}, measured", colour)
    axes.axhline(0, color="#888888", linewidth=0.8)
    axes.set_ylabel("thirds a deal over the opponent")
    axes.set_xlabel("million decisions")
    if tags or measured:
        # Above the axes: no curve can run through it.
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False, fontsize=9)


def _draw(
    axes: Any, rows: list[dict[str, float]], tag: str, label: str | None, colour: str
) -> None:
    """Draw one metric: every update faintly, and its moving average."""
    points = [(row["decisions"] / 1e6, row[tag]) for row in rows if tag in row]
    if not points:
        return
    decisions, values = np.array(points).T
    width = max(1, round(_SMOOTHING * len(values)))
    window = np.ones(width) / width
    centres, smooth = (np.convolve(one, window, mode="valid") for one in (decisions, values))
    if width > 1:
        axes.plot(decisions, values, color=colour, alpha=0.2, linewidth=0.8)
    axes.plot(centres, smooth, color=colour, label=label)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
