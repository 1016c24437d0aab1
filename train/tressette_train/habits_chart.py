"""An agent's habits as a chart: shares beside those of cards drawn at random, and cards led."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tressette_train.card_habits import HOLDINGS, RANK_CLASSES
from tressette_train.chart_file import COLOURS, new_figure
from tressette_train.habits import PHASES, Habits, HabitShare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["habits_figure"]

_RARE = 20  # fewer choices say nothing, and are not drawn
_STRONGEST_FIRST = ("3 2 ace", "3 2", "3 ace", "2 ace", "3", "2", "ace", "none")


def habits_figure(habits: Habits) -> Figure:
    """Return the chart: leads on the left, the rest and the cards led on the right.

    A bar is a share of the decisions with a choice, with its 95 % interval; the black mark is what
    a legal card drawn at random would do. What was a choice less than 20 times is left out.
    """
    shares = [one for one in habits.shares() if one.choices >= _RARE]
    figure = new_figure(12, 8.5)
    halves: Any = figure.subfigures(1, 2)
    left, right = halves
    leads = [one for one in shares if one.group == "leads"]
    others = [one for one in shares if one.group != "leads"]
    _draw_shares(left.subplots(), leads, "Leads", named_groups=False)
    upper, lower = right.subplots(2, 1, height_ratios=(3, 2))
    _draw_shares(upper, others, "Follows and discards", named_groups=True)
    phase = int(habits.led[0].sum() == 0)
    _draw_led(lower, habits.led[phase], PHASES[phase])
    opponent = "itself" if habits.opponent == habits.agent else habits.opponent
    figure.suptitle(
        f"{habits.agent} against {opponent}: {habits.rules}, {habits.deals} deals of seed "
        f"{habits.seed}",
        fontsize=11,
    )
    return figure


def _draw_shares(axes: Any, shares: Sequence[HabitShare], title: str, named_groups: bool) -> None:
    names = list(dict.fromkeys((one.group, one.name) for one in shares))
    phases = [phase for phase in PHASES if any(one.phase == phase for one in shares)]
    thick = 0.8 / max(len(phases), 1)
    for number, phase in enumerate(phases):
        drawn = [one for one in shares if one.phase == phase]
        places = np.array([names.index((one.group, one.name)) for one in drawn])
        places = places + (number - (len(phases) - 1) / 2) * thick
        means = np.array([one.share.mean for one in drawn])
        ends = np.array([one.share.ends for one in drawn]).T
        axes.barh(
            places,
            100 * means,
            thick,
            xerr=100 * np.abs(ends - means),
            color=COLOURS[PHASES.index(phase)],
            error_kw={"linewidth": 0.8, "ecolor": "#444444"},
            label=phase,
        )
        random = 100 * np.array([one.at_random for one in drawn])
        label = "a card at random" if number == 0 else None
        axes.plot(random, places, "k|", markersize=7, markeredgewidth=1.6, label=label)
    texts = [f"{group}: {name}" if named_groups else name for group, name in names]
    axes.set_yticks(range(len(names)), texts, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of the decisions with a choice", fontsize=9)
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if names:
        axes.legend(fontsize=8, frameon=False, loc="best")


def _draw_led(axes: Any, led: Any, phase: str) -> None:
    """Draw which card was led from a suit, by what the suit held: shares of each line."""
    rows = [holding for holding in _STRONGEST_FIRST if led[HOLDINGS.index(holding)].sum()]
    counts = np.array([led[HOLDINGS.index(holding)] for holding in rows]).reshape(len(rows), -1)
    if counts.size:
        shares = 100 * counts / counts.sum(1, keepdims=True)
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=120, aspect="auto")
        for (row, column), share in np.ndenumerate(shares):
            if counts[row, column]:
                axes.text(column, row, f"{share:.0f} %", ha="center", va="center", fontsize=8)
    texts = [f"{holding} ({count:,})" for holding, count in zip(rows, counts.sum(1), strict=True)]
    axes.set_yticks(range(len(rows)), texts, fontsize=8)
    axes.set_xticks(range(len(RANK_CLASSES)), list(RANK_CLASSES), fontsize=8)
    axes.tick_params(length=0)
    axes.set_ylabel("of 3, 2, ace the suit held (leads)", fontsize=8)
    axes.set_title(f"Card led from a suit of two or more, {phase}", loc="left", fontsize=10)
    axes.spines[:].set_visible(False)
