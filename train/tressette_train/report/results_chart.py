"""A file of results as one picture: margins, ratings, and what more deals would buy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tressette_train.chart_file import COLOURS, new_figure
from tressette_train.intervals import mean_interval, student_t_975
from tressette_train.match_play import PairedDeals
from tressette_train.ratings import Ratings, rate
from tressette_train.report.page import margin_between, pairings_of
from tressette_train.results_file import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["deals_needed", "half_widths", "results_figure"]

_FEWEST = 16  # deals: of fewer an interval says little


def results_figure(results: Results) -> Figure:
    """Return the chart of a file of results of two agents or more.

    Left every margin with its interval; right the ratings, and for the two agents that are closest
    to each other the half-width of the margin's 95 % interval over the number of deals.
    """
    pairings = [one for one in pairings_of(results) if one.agent != one.opponent]
    ratings = rate(pairings)
    figure = new_figure(13, 6)
    halves: Any = figure.subfigures(1, 2, width_ratios=(7, 6))
    left, right = halves
    _draw_matrix(left.subplots(), results, ratings)
    upper, lower = right.subplots(2, 1)
    _draw_ratings(upper, ratings)
    closest = min(pairings, key=lambda one: abs(one.mean))
    _draw_half_widths(lower, closest.agent, closest.opponent, results)
    figure.suptitle(
        f"{results.rules.name}: {results.deals:,} deals of seed {results.seed}, each in both "
        "seatings",
        fontsize=11,
    )
    return figure


def half_widths(
    paired: PairedDeals, counts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Half of the margin's 95 % interval after the first deals, with pairs and without.

    Parameters
    ----------
    paired : PairedDeals
    counts : int64[N]
        Numbers of deals, from 2 up to all.

    Returns
    -------
    with_pairs, without : float64[N]
        Thirds a deal; "without" takes both seatings of a deal as two deals of their own: what as
        many games would tell if no deal were played twice.
    """
    margins = paired.margins_thirds
    with_pairs = [mean_interval(margins[:n].mean(1)).half_width for n in counts]
    without = [
        student_t_975(2 * int(n) - 1) * margins[:n].std(ddof=1) / math.sqrt(2 * n) for n in counts
    ]
    return np.array(with_pairs), np.array(without)


def deals_needed(paired: PairedDeals, half_width: float) -> int:
    """How many deals, each in both seatings, a 95 % interval of so many thirds each way takes."""
    now = mean_interval(paired.margins_thirds.mean(1)).half_width
    return math.ceil(len(paired.margins_thirds) * (now / half_width) ** 2)


def _draw_matrix(axes: Any, results: Results, ratings: Ratings) -> None:
    names = [one.agent for one in ratings.ratings]
    pairs = {(one.agent, one.opponent): one for one in pairings_of(results)}
    most = max(abs(one.mean) for one in pairs.values()) or 1.0
    for row, agent in enumerate(names):
        for column, opponent in enumerate(names):
            margin = margin_between(pairs, agent, opponent)
            if agent == opponent or margin is None:
                continue
            depth = 0.75 * abs(margin.mean) / most if margin.low > 0 or margin.high < 0 else 0.0
            colour = COLOURS[0] if margin.mean > 0 else COLOURS[1]
            axes.fill_between(
                [column - 0.5, column + 0.5], row - 0.5, row + 0.5, color=colour, alpha=depth, lw=0
            )
            axes.text(
                column,
                row,
                f"{margin.mean:+.2f}\n± {margin.half_width:.2f}",
                ha="center",
                va="center",
                fontsize=8,
            )
    ends = (-0.5, len(names) - 0.5)
    axes.set(xlim=ends, ylim=ends[::-1])
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(
        "Thirds a deal of the row over the column, 95 % intervals", loc="left", fontsize=10
    )


def _draw_ratings(axes: Any, ratings: Ratings) -> None:
    for row, one in enumerate(ratings.ratings):
        mean, low, high = one.thirds.mean, one.thirds.low, one.thirds.high
        axes.errorbar(
            [mean],
            [row],
            xerr=[[mean - low], [high - mean]],
            color=COLOURS[0],
            fmt="o",
            ms=5,
            capsize=3,
        )
    axes.axvline(0, color="#888888", linewidth=0.8)
    axes.set_yticks(range(len(ratings.ratings)), [one.agent for one in ratings.ratings], fontsize=8)
    axes.set_ylim(len(ratings.ratings) - 0.5, -0.5)
    zero = "the mean of all" if ratings.anchor is None else ratings.anchor
    axes.set_xlabel(f"thirds a deal above {zero}", fontsize=9)
    axes.set_title("Ratings, 95 % intervals", loc="left", fontsize=10)
    _clean(axes)


def _draw_half_widths(axes: Any, agent: str, opponent: str, results: Results) -> None:
    paired = results.paired[agent, opponent]
    margins = paired.margins_thirds
    most = len(margins)
    counts = np.unique(np.geomspace(min(_FEWEST, most), most, 40).astype(np.int64))
    with_pairs, without = half_widths(paired, counts)
    axes.plot(counts, without, color=COLOURS[1], label="seatings as deals of their own")
    axes.plot(counts, with_pairs, color=COLOURS[0], label="pairs: the same deal, seats swapped")
    margin = abs(float(margins.mean()))
    axes.axhline(margin, color="#888888", linestyle="--", linewidth=1, label="their margin")
    axes.set(xscale="log", yscale="log")
    axes.minorticks_off()  # their labels would overlap
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("deals, each in both seatings", fontsize=9)
    axes.set_ylabel("± thirds a deal", fontsize=9)
    axes.set_title(f"How well is {agent} over {opponent} known?", loc="left", fontsize=10)
    axes.legend(fontsize=8, frameon=False)
    _clean(axes)


def _clean(axes: Any) -> None:
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
