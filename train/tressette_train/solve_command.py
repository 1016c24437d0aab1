"""The command ``tressette solve``: what every card of a known position is worth."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tressette_env.card_notation import card_name, card_text, hand_text, parse_deck, parse_hand
from tressette_env.cards import card_worth, set_worth
from tressette_env.errors import OptionError, TressetteError, shown
from tressette_env.notation import parse_card
from tressette_env.rulesets import LAST_TRICK_THIRDS

__all__ = ["run"]

_TRICKS = ("always", "stock_empty")


def run(position: str, led: str | None, stock: str | None, follow: str, as_json: bool) -> None:
    """Print the value of every legal card, the best first.

    Parameters
    ----------
    position : str
        The hands, separated by slashes: that of the player to act first, then those of the others
        in the order of play; two or four.
    led : str, optional
        Two hands: the opponent's card on the table.
    stock : str, optional
        Two hands: the cards to be drawn, the top card first.
    follow : str
        With a stock: whether suit must be followed while it lasts.

    Raises
    ------
    TressetteError
        If the text is no position, or nobody can be in it.
    """
    hands = _parse("position", position, lambda text: [parse_hand(h) for h in text.split("/")])
    if len(hands) not in (2, 4):
        raise OptionError(
            "position: expected two or four hands separated by '/', as in 'D:AQ C:7 / D:3J S:K', "
            f"got {len(hands)}"
        )
    table = None if led is None else _parse("--led", led, parse_card)
    draws = () if stock is None else _parse("--stock", stock, parse_deck)
    values = _values(hands, table, draws, follow)
    total = sum(map(set_worth, hands)) + sum(map(card_worth, draws)) + LAST_TRICK_THIRDS
    total += card_worth(table) if table is not None else 0
    ranked = sorted(values, key=lambda card: (-values[card], card_worth(card), card))
    best = values[ranked[0]]
    if as_json:
        result: dict[str, Any] = {
            "hands": [hand_text(hand) for hand in hands],
            "led": None if table is None else card_text(table),
            "stock": [card_text(card) for card in draws],
            "value_thirds": best,
            "total_thirds": total,
            "cards": [{"card": card_text(card), "value_thirds": values[card]} for card in ranked],
        }
        print(json.dumps(result, indent=2, ensure_ascii=False))
        return
    side = "the side to act" if len(hands) == 4 else "the player to act"
    print(f"{side} takes {best} of the {total} thirds that are left, with best play by all")
    for card in ranked:
        loss = best - values[card]
        note = "best" if not loss else f"{loss} less"
        print(f"  {card_text(card)}  {values[card]:>2}  {note:8}  {card_name(card)}")


def _values(
    hands: Sequence[int], led: int | None, stock: Sequence[int], follow: str
) -> dict[int, int]:
    if len(hands) == 4:
        if led is not None or stock:
            raise OptionError("--led and --stock go with two hands, got four hands")
        from tressette_agents.solver_partners import partners_card_values

        return partners_card_values(hands, 0)
    if follow not in _TRICKS:
        raise OptionError(f"--follow: expected {' or '.join(_TRICKS)}, got {shown(follow)}")
    own, other = hands
    if stock:
        from tressette_agents.solver_open import open_card_values

        return open_card_values(own, other, stock, led, follow)  # type: ignore[arg-type]
    from tressette_agents.solver import card_values

    return card_values(own, other, led)


def _parse(what: str, text: str, parse: Any) -> Any:
    try:
        return parse(text)
    except TressetteError as error:
        raise OptionError(f"{what}: {error}") from None
