"""Results as people read them: tables for a terminal, or for a file."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from tressette_train.evaluate import PairingResult
from tressette_train.intervals import Interval

__all__ = ["results_table"]


def results_table(results: Sequence[PairingResult]) -> Table:
    """Table of pairings on the same rules and deals, one a line; readable in 80 columns.

    Parameters
    ----------
    results : sequence of PairingResult
        At least one.
    """
    first = results[0]
    table = Table(
        title=f"{first.rules}: {first.deals} deals of seed {first.seed}, each in both seatings",
        caption=_caption(first.unit),
        box=box.SIMPLE_HEAD,
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("agent", overflow="fold", ratio=1)
    table.add_column("opponent", overflow="fold", ratio=1)
    table.add_column("thirds", justify="right", no_wrap=True)
    table.add_column("95 % interval", justify="right", no_wrap=True)
    if first.unit == "points":
        table.add_column("points", justify="right", no_wrap=True)
    table.add_column("wins", justify="right", no_wrap=True)
    table.add_column("leading", justify="right", no_wrap=True)
    for result in results:
        cells = [
            result.agent,
            result.opponent,
            f"{result.margin_thirds.mean:+.2f}",
            _interval(result.margin_thirds),
        ]
        if first.unit == "points":
            cells.append(f"{result.margin_house.mean:+.2f}")
        cells.append(f"{100 * result.win_rate.mean:.1f} %")
        cells.append(f"{100 * result.win_rate_by_lead[0]:.1f} %")
        table.add_row(*cells)
    return table


def _interval(interval: Interval) -> str:
    return f"{interval.low:+.2f} to {interval.high:+.2f}"


def _caption(unit: str) -> str:
    points = "points: the same by the house's scoring. " if unit == "points" else ""
    return (
        "thirds: the agent's margin over the opponent, a deal; the interval is over pairs (one "
        f"deal in both seatings). {points}wins: deals that the agent won; leading: of those it led."
    )
