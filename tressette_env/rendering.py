"""Pictures of a table: plain text with Italian card names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tressette_env.cards import bit_count, card_list, sort_cards
from tressette_env.notation import card_name
from tressette_env.rules import is_over, side_of
from tressette_env.rulesets import RuleSet
from tressette_env.state import state_from_record

__all__ = ["ansi"]


def _names(cards: Iterable[int]) -> str:
    return ", ".join(card_name(card) for card in sort_cards(cards)) or "-"


def ansi(row: Any, rules: RuleSet, seat: int, reveal: bool = False) -> str:
    """Draw a table as ``seat`` sees it.

    Parameters
    ----------
    row : void of STATE_DTYPE
    rules : RuleSet
    seat : int
        Whose hand is shown; cards of others only where every seat knows them (R9).
    reveal : bool
        Show every hand and the stock.

    Returns
    -------
    str
        Lines of text without a newline at the end.
    """
    state = state_from_record(row)
    over = is_over(state, rules)
    size = state.ply % rules.seats
    stock = state.stock[state.drawn : rules.stock_size]
    lines = [
        f"{rules.name}, trick {min(state.ply // rules.seats + 1, rules.deck_size // rules.seats)} "
        f"of {rules.deck_size // rules.seats}, stock {len(stock)}"
        + (f": {', '.join(card_name(card) for card in stock)}" if reveal and stock else ""),
        "thirds "
        + " - ".join(str(thirds) for thirds in state.thirds)
        + ", totals "
        + " - ".join(str(total) for total in state.totals),
    ]
    for place in range(size):
        player = (state.leader + place) % rules.seats
        card = state.plays[state.ply - size + place]
        lines.append(f"on the table: {card_name(card)} (player_{player})")
    for other in range(rules.seats):
        mark = ">" if other == state.turn and not over else " "
        hand = state.hands[other]
        if other == seat or reveal:
            shown = _names(card_list(hand))
        else:
            known = card_list(state.known & hand)
            shown = f"{bit_count(hand)} cards" + (f", among them {_names(known)}" if known else "")
        lines.append(f"{mark} player_{other} (side {side_of(other)}): {shown}")
    if over:
        lines.append("the deal is over")
    return "\n".join(lines)
