"""A seat's view as a picture of the deck, and the worlds that fit it as curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tressette_env.card_notation import card_text
from tressette_env.cards import NUM_SUITS, RANK_LETTERS, SUIT_NAMES
from tressette_env.view import View
from tressette_train.chart_file import COLOURS, new_figure
from tressette_train.watched_worlds import WatchedWorlds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["view_figure", "worlds_figure"]

_PLACES = {
    "may be played": "#0072b2",
    "held, may not be played": "#9ecae1",
    "on the table": "#d55e00",
    "played before": "#dddddd",
    "known in another hand": "#e69f00",
    "unseen": "#ffffff",
}
_DARK = ("may be played", "on the table")
_DRAWN_CARDS = 6  # curves of more would not be told apart


def view_figure(view: View, title: str = "") -> Figure:
    """Return a picture of all that a seat sees: where each card of the deck is, as far as known."""
    figure = new_figure(7, 3)
    _draw_view(figure.subplots(), view, None)
    figure.suptitle(title, fontsize=10)
    return figure


def worlds_figure(watched: WatchedWorlds) -> Figure:
    """Return what the seat sees, with who is likely to hold what, and the cards' mean margins."""
    figure = new_figure(13, 4.5)
    left, right = figure.subplots(1, 2, width_ratios=(5, 4))
    _draw_view(left, watched.view, watched.held[1])
    left.set_title(
        "What the seat sees; of unseen cards, % of worlds in which the next seat holds them",
        loc="left",
        fontsize=9,
    )
    _draw_means(right, watched)
    return figure


def _place(view: View, card: int) -> str:
    if view.hand >> card & 1:
        return "may be played" if view.legal >> card & 1 else "held, may not be played"
    if card in view.table:
        return "on the table"
    if any(cards >> card & 1 for cards in view.played):
        return "played before"
    return "unseen" if view.unseen >> card & 1 else "known in another hand"


def _draw_view(axes: Any, view: View, held: npt.NDArray[np.float64] | None) -> None:
    from matplotlib.patches import Patch, Rectangle

    used = set()
    for card in view.rules.deck:
        suit, strength = divmod(card, len(RANK_LETTERS))
        place = _place(view, card)
        used.add(place)
        x = len(RANK_LETTERS) - 1 - strength
        axes.add_patch(Rectangle((x, suit), 0.94, 0.9, fc=_PLACES[place], ec="#666666", lw=0.6))
        text = card_text(card)[0]
        if place == "unseen" and held is not None:
            text = f"{text}\n{100 * held[card]:.0f}"
        colour = "white" if place in _DARK else "black"
        axes.text(x + 0.47, suit + 0.45, text, ha="center", va="center", fontsize=8, color=colour)
    axes.set_xlim(-0.05, len(RANK_LETTERS))
    axes.set_ylim(NUM_SUITS, -0.05)
    axes.set_yticks(np.arange(NUM_SUITS) + 0.45, SUIT_NAMES, fontsize=9)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    patches = [Patch(fc=_PLACES[one], ec="#666666", label=one) for one in _PLACES if one in used]
    axes.legend(
        handles=patches,
        ncols=3,
        fontsize=8,
        frameon=False,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
    )


def _draw_means(axes: Any, watched: WatchedWorlds) -> None:
    worlds = np.arange(1, len(watched.means) + 1)
    margins = watched.margins()
    for place, card in enumerate([*margins][:_DRAWN_CARDS]):
        one, colour = margins[card], COLOURS[place]
        # Equal cards have one curve: dashes let the one below be seen.
        style = ("-", "--")[place % 2]
        axes.plot(worlds, watched.means[:, card], style, color=colour, label=card_text(card))
        axes.errorbar(
            [worlds[-1]],
            [one.mean],
            [[one.mean - one.low], [one.high - one.mean]],
            color=colour,
            fmt="o",
            ms=3,
            capsize=2,
        )
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.set_xlabel("solved worlds", fontsize=9)
    axes.set_ylabel("thirds more than the other side, at the end", fontsize=9)
    left = len(margins) - _DRAWN_CARDS
    more = f" (the best {_DRAWN_CARDS} of {len(margins)})" if left > 0 else ""
    axes.set_title(f"Mean margin of each card{more}, worlds so far", loc="left", fontsize=9)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False, ncols=3)
