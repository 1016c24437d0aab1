"""Drawings of a page, as SVG inside it.

Places are in per cent of the width at hand, and text stands beside the drawing, not in it: so a
narrow screen squeezes the drawing and leaves the text as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_train.intervals import Interval
from tressette_train.report.html import Html, dot, line, swatch, tag

__all__ = ["bar", "histogram", "learning_chart", "margin_series"]

_POINTS = 300  # of a curve: more cannot be seen
_SMOOTHING = 0.1  # share of the updates that a moving average covers
_COLOURS = 6  # that the page's style knows
_MARGIN = "margin_thirds/"
_MEASURED = "reference_margin_thirds/"
_HALF = "reference_half_width/"

FloatArray = npt.NDArray[np.float64]


def bar(interval: Interval, low: float, high: float) -> Html:
    """Draw a mean and its interval on a scale from ``low`` to ``high``, with a mark at 0."""

    def place(value: float) -> float:
        return 3 + 94 * (value - low) / max(high - low, 1e-9)

    return tag(
        "svg",
        tag("line", x1=f"{place(0):.2f}%", x2=f"{place(0):.2f}%", y1=0, y2=16, class_="axis"),
        line(place(interval.low), place(interval.high), 8, "range"),
        dot(place(interval.mean), 8, "mean"),
        class_="bar",
        aria_hidden="true",
    )


def histogram(values: FloatArray, most: int) -> Html:
    """Draw how often each whole third comes, from ``-most`` to ``most``, in two colours.

    Parameters
    ----------
    values : float64[D]
        Means of two margins: whole thirds, for the margins of a deal are both even or both odd.
    most : int
    """
    counts, _ = np.histogram(values, np.arange(-most - 0.5, most + 1))
    width, tallest = 100 / len(counts), max(int(counts.max()), 1)
    bars = [
        tag(
            "rect",
            x=f"{width * place:.2f}%",
            y=f"{100 - 100 * count / tallest:.2f}%",
            width=f"{0.85 * width:.2f}%",
            height=f"{100 * count / tallest:.2f}%",
            class_=("below", "level", "above")[(place > most) + (place >= most)],
        )
        for place, count in enumerate(counts.tolist())
        if count
    ]
    ends = [tag("span", text) for text in (f"{-most:+d}", "0", f"{most:+d}")]
    return tag("div", tag("svg", bars, class_="histogram"), tag("div", ends, class_="scale"))


def margin_series(
    rows: Sequence[dict[str, Any]],
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Return a run's margins by opponent: curves while training, and points that were measured.

    Parameters
    ----------
    rows : sequence of dict
        Of ``metrics.read_metrics``.

    Returns
    -------
    curves : dict of str to float64[N, 2]
        Millions of decisions, and the moving average of thirds a deal.
    points : dict of str to float64[N, 3]
        Millions of decisions, thirds a deal, and half of the 95 % interval.
    """
    names = sorted({name for row in rows for name in row})
    curves, points = {}, {}
    for name in names:
        if name.startswith(_MARGIN):
            values = _columns(rows, name)
            if len(values):
                curves[name.removeprefix(_MARGIN)] = _smooth(values)
        elif name.startswith(_MEASURED):
            opponent = name.removeprefix(_MEASURED)
            values = _columns(rows, name, _HALF + opponent)
            if len(values):
                points[opponent] = values
    return curves, points


def _columns(rows: Sequence[dict[str, Any]], *tags: str) -> FloatArray:
    """Millions of decisions and some metrics, of the rows that have all of them as numbers."""
    found = [
        (row["decisions"] / 1e6, *(row[name] for name in tags))
        for row in rows
        if all(math.isfinite(row.get(name, math.nan)) for name in ("decisions", *tags))
    ]
    return np.array(found, np.float64).reshape(len(found), 1 + len(tags))


def _smooth(values: FloatArray) -> FloatArray:
    width = max(1, round(_SMOOTHING * len(values)))
    window = np.ones(width) / width
    smooth = np.stack([np.convolve(column, window, mode="valid") for column in values.T], 1)
    return smooth[:: math.ceil(len(smooth) / _POINTS)]


def learning_chart(curves: dict[str, FloatArray], points: dict[str, FloatArray]) -> Html:
    """Draw a run's margins over the decisions it trained on."""
    every = [*curves.values(), *points.values()]
    x_high = max(float(values[:, 0].max()) for values in every)
    # A third column is half an interval, which belongs into the drawing, too.
    y_low = min(0.0, *(float((values[:, 1] - values[:, 2:].sum(1)).min()) for values in every))
    y_high = max(0.0, *(float((values[:, 1] + values[:, 2:].sum(1)).max()) for values in every))
    y_high = max(y_high, y_low + 1.0)

    def place(x: float, y: float) -> str:
        return f"{100 * x / max(x_high, 1e-9):.2f} {100 * (y_high - y) / (y_high - y_low):.2f}"

    drawn = [tag("path", d=f"M{place(0, 0)} L{place(x_high, 0)}", class_="axis")]
    legend = []
    for number, (name, values) in enumerate([*curves.items(), *points.items()]):
        colour = f"s{number % _COLOURS}"
        way = "M" + " L".join(place(x, y) for x, y in values[:, :2].tolist())
        drawn.append(tag("path", d=way, class_=f"curve {colour}"))
        for x, y, half in values[:, [0, 1, -1]].tolist() if number >= len(curves) else []:
            ends = f"M{place(x, y + half)} L{place(x, y - half)}"
            drawn.append(tag("path", d=ends, class_=f"curve {colour}"))
            # A way of no length with round ends: a dot that stays round in any width.
            drawn.append(tag("path", d=f"M{place(x, y)} h0", class_=f"point {colour}"))
        kind = "measured" if number >= len(curves) else "while training"
        legend.append(swatch(number % _COLOURS, f"{name}, {kind}"))
    chart = tag("svg", drawn, viewBox="0 0 100 100", preserveAspectRatio="none", class_="curves")
    across = [tag("span", text) for text in ("0", f"{x_high:.3g} million decisions")]
    return tag(
        "div",
        tag("div", legend, class_="legend"),
        tag("div", f"{y_high:+.1f} thirds a deal", class_="end"),
        chart,
        tag("div", f"{y_low:+.1f}" if y_low else "0", class_="end"),
        tag("div", across, class_="scale"),
    )
