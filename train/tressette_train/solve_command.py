"""The command ``tressette solve``: what every card of a known position is worth."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tressette_env.card_notation import card_name, card_text, hand_text, parse_deck, parse_hand
from tressette_env.cards import card_worth, set_worth
from tressette_env.errors import OptionError, TressetteError, shown
from tressette_env.rulesets import LAST_TRICK_THIRDS

__all__ = ["run"]

_TRICKS = ("always", "stock_empty")

_Found = TypeVar("_Found")


def run(
    position: str, led: str | None, stock: str | None, follow: str | None, as_json: bool
) -> None:
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
    follow : str, optional
        With a stock: whether suit must be followed while it lasts; by default always.

    Raises
    ------
    TressetteError
        If the text is no position, or nobody can be in it.
    """
    hands = _hands(position)
    table = None if led is None else _one_card("--led", led)
    draws = () if stock is None else _parse("--stock", stock, parse_deck)
    _check_options(hands, led, stock, follow)
    values = _away(lambda: _values(hands, table, draws, follow or _TRICKS[0]))
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


def _hands(position: str) -> list[int]:
    """Read the hands; an error names its place in the whole text."""
    texts = position.split("/")
    if len(texts) not in (2, 4):
        raise OptionError(
            "position: expected two or four hands separated by '/', as in 'D:AQ C:7 / D:3J S:K', "
            f"got {len(texts) if position.strip() else 'none'}"
        )
    hands, begin = [], 0
    for number, text in enumerate(texts, 1):
        if not text.strip():
            raise OptionError(
                f"position: expected a hand, got the end of hand {number} of {len(texts)}; "
                "write hands like D:AQ C:7, separated by '/'"
            )
        # Blanks in place of what stands before, so that lines and columns are those of the whole.
        before = re.sub(r"[^\n]", " ", position[:begin])
        hands.append(_parse("position", before + text, parse_hand))
        begin += len(text) + 1
    return hands


def _one_card(option: str, text: str) -> int:
    cards = _parse(option, text, parse_deck)
    if len(cards) != 1:
        raise OptionError(f"{option}: expected one card, got {len(cards)}: {shown(text)}")
    return int(cards[0])


def _check_options(
    hands: Sequence[int], led: str | None, stock: str | None, follow: str | None
) -> None:
    """Raise ``OptionError`` for an option that would do nothing here."""
    if follow is not None and follow not in _TRICKS:
        raise OptionError(f"--follow: expected {' or '.join(_TRICKS)}, got {shown(follow)}")
    given = {"--led": led, "--stock": stock, "--follow": follow}
    used = [name for name, value in given.items() if value is not None]
    if len(hands) == 4 and used:
        raise OptionError(f"--led, --stock and --follow go with two hands, got four and {used[0]}")
    if follow is not None and stock is None:
        raise OptionError("--follow goes with --stock: without one suit is always followed")


def _values(
    hands: Sequence[int], led: int | None, stock: Sequence[int], follow: str
) -> dict[int, int]:
    if len(hands) == 4:
        from tressette_agents.solver_partners import partners_card_values

        return partners_card_values(hands, 0)
    own, other = hands
    if stock:
        from tressette_agents.solver_open import open_card_values

        return open_card_values(own, other, stock, led, follow)  # type: ignore[arg-type]
    from tressette_agents.solver import card_values

    return card_values(own, other, led)


def _away(compute: Callable[[], _Found]) -> _Found:
    """Compute in another thread: compiled code that takes hours would keep Ctrl-C waiting."""
    found: list[_Found] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            found.append(compute())
        except BaseException as error:
            failed.append(error)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    while worker.is_alive():
        worker.join(0.1)  # without an end, a signal just before it would not be seen
    if failed:
        raise failed[0]
    return found[0]


def _parse(what: str, text: str, parse: Callable[[str], _Found]) -> _Found:
    try:
        return parse(text)
    except TressetteError as error:
        raise OptionError(f"{what}: {error}") from None
