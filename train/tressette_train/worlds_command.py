"""The command ``tressette worlds``: one decision as ``pimc`` sees it, world by world."""

from __future__ import annotations

import json
from pathlib import Path

from tressette_env.card_notation import card_text, deck_text, hand_text
from tressette_env.randomness import check_seed
from tressette_train.chart_file import check_chart_file, write_chart
from tressette_train.watched_worlds import WatchedWorlds, view_in_deal, watch_worlds

__all__ = ["run"]


def run(
    rules: str,
    seed: int,
    deal: int,
    ply: int,
    player: str,
    worlds: int,
    as_json: bool,
    chart: Path | None,
) -> None:
    """Print what sampled worlds make of each card; and draw it.

    Parameters
    ----------
    rules : str
        Preset.
    seed, deal, ply : int
        Which decision: the deal's number in the seed's stream, and the cards played before.
    player : str
        Spec of the agent that has played them.
    worlds : int
    as_json : bool
    chart : Path, optional
        PNG file to write.

    Raises
    ------
    TressetteError
        As ``view_in_deal`` and ``watch_worlds``, or if the chart cannot be written.
    """
    if chart is not None:
        check_chart_file(chart)
    check_seed(seed)
    check_seed(deal, "deal")
    watched = watch_worlds(view_in_deal(rules, seed, deal, ply, player), worlds, seed)
    if as_json:
        print(json.dumps({**watched.to_json(), "deal": deal}, indent=2, allow_nan=False))
    else:
        print("\n".join(_lines(watched, deal)))
    if chart is not None:
        from tressette_train.worlds_chart import worlds_figure  # loads matplotlib

        write_chart(worlds_figure(watched), chart)


def _lines(watched: WatchedWorlds, deal: int) -> list[str]:
    view = watched.view
    lines = [
        f"{view.rules.name}, deal {deal} of seed {watched.seed}, {view.ply} cards played: "
        f"player_{view.seat} is to act",
        f"hand   {hand_text(view.hand)}",
        f"table  {deck_text(view.table) or '-'}",
        "",
        f"thirds more than the other side at the end, mean of {len(watched.means)} solved worlds",
        "card   thirds   95 % interval",
    ]
    for card, one in watched.margins().items():
        ends = f"{one.low:+.2f} to {one.high:+.2f}"
        lines.append(f"{card_text(card):4}   {one.mean:+6.2f}   {ends}")
    return lines
