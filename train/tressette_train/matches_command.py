"""``tressette eval --matches``: whole matches, printed as a table or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tressette_train.evaluate import versions
from tressette_train.share_bar import share_bar
from tressette_train.whole_matches import MatchResult, evaluate_matches

__all__ = ["run"]


def run(agents: Sequence[str], rules: str, matches: int, seed: int, as_json: bool) -> None:
    """Play and print whole matches.

    Parameters
    ----------
    agents : sequence of str
    rules : str
    matches, seed : int
    as_json : bool

    Raises
    ------
    TressetteError
        As ``evaluate_matches``.
    """
    with share_bar() as show:
        found = evaluate_matches(
            agents, rules, matches, seed, lambda share: show("playing matches", share)
        )
    if as_json:
        content = {"results": [one.to_json() for one in found], "versions": versions()}
        print(json.dumps(content, indent=2, allow_nan=False))
        return
    console = Console()
    console.print(_table(found))
    first = found[0]
    console.print(
        f"won: share of {matches:,} matches to {first.target} of {first.rules}, each in both "
        "seatings, and its 95 % interval; deals: of a match.",
        highlight=False,
    )


def _table(found: Sequence[MatchResult]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("agent", overflow="fold")
    table.add_column("opponent", overflow="fold")
    for column in ("won, %", "95 %", "on side 0, 1", "deals"):
        table.add_column(column, justify="right")
    for one in found:
        rate, sides = one.win_rate, 100 * one.wins.mean(0)
        cells = (
            *(one.agent, one.opponent, f"{100 * rate.mean:.1f}"),
            f"{100 * rate.low:.1f} to {100 * rate.high:.1f}",
            f"{sides[0]:.1f}, {sides[1]:.1f}",
            f"{one.deals.mean():.1f}",
        )
        table.add_row(*map(Text, cells))
    return table
