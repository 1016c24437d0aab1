"""The lines that the kit and a program say to each other; ``docs/protocol.md`` explains them.

Every line is plain ASCII: a word that says what it is, then ``key=value`` words in any order. Cards
are written as everywhere (``3D``), several with commas, none as ``-``; what each seat has goes from
relative seat 0, the viewer, on, with a slash between seats.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tressette_env.card_notation import card_text
from tressette_env.cards import CARDS_PER_SUIT, NUM_CARDS, NUM_SUITS, SUIT_LETTERS
from tressette_env.errors import did_you_mean, shown
from tressette_env.rulesets import PRESETS, RuleSet
from tressette_env.view import VIEW_DTYPE

__all__ = [
    "GREETING",
    "MAX_LINE",
    "QUIT",
    "VERSION",
    "Greeting",
    "read_card",
    "read_greeting",
    "rules_line",
    "view_lines",
]

VERSION = 1
MAX_LINE = 1000  # bytes of a line, its end included, either way
GREETING = f"tressette {VERSION}\n".encode()
QUIT = b"quit\n"
ANY_HOUSE = "any"

_CHUNK = 256  # views turned into Python numbers at once
_TEXTS = [card_text(card) for card in range(NUM_CARDS)]
_CARDS = {text.encode(): card for card, text in enumerate(_TEXTS)}
_FIELDS = VIEW_DTYPE.names or ()
_NOT_SENT = ("name", "deck", "source")  # fields of a rule set that are not sent as they are


def rules_line(rules: RuleSet) -> bytes:
    """Tell the rules: every field by which houses differ."""
    fields = {"name": re.sub(r"[^A-Za-z0-9_.-]", "_", rules.name)[:40] or "_"}
    for field in dataclasses.fields(rules):
        if field.name not in _NOT_SENT:
            value = getattr(rules, field.name)
            fields[field.name] = "none" if value is None else str(value)
    fields["deck"] = _set_text(rules.deck_set)
    return f"rules {' '.join(f'{key}={value}' for key, value in fields.items())}\n".encode()


def view_lines(
    views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
) -> Iterator[bytes]:
    """Tell each view of ``VIEW_DTYPE[B]`` with its seed, everything that its seat may know."""
    for start in range(0, len(views), _CHUNK):
        part = views[start : start + _CHUNK]
        played = part["played"][:, :, None] >> part["plays"][:, None, :] & 1  # [B, S, T]
        players = (played.argmax(1) + ord("0")).astype(np.uint8)
        columns = [part[name].tolist() for name in _FIELDS]
        numbers = seeds[start : start + _CHUNK].tolist()
        for seed, by, *values in zip(numbers, players, *columns, strict=True):
            view = dict(zip(_FIELDS, values, strict=True))
            yield _view_line(view, rules.seats, seed, by.tobytes().decode())


def _view_line(view: dict[str, Any], seats: int, seed: int, players: str) -> bytes:
    plays = view["plays"][: view["ply"]]
    words = (
        f"view seed={seed} seat={view['seat']}",
        f"hand={_set_text(view['hand'])}",
        f"legal={_set_text(view['legal'])}",
        f"table={_list_text(plays[len(plays) - view['table_size'] :])}",
        f"leader={view['leader']}",
        f"plays={_list_text(plays)}",
        f"by={players[: len(plays)] or '-'}",
        f"known={'/'.join(map(_set_text, view['known'][:seats]))}",
        f"unseen={_set_text(view['unseen'])}",
        f"voids={'/'.join(map(_suits_text, view['voids'][:seats]))}",
        f"stock_left={view['stock_left']}",
        "thirds={},{}".format(*view["thirds"]),
        "totals={},{}\n".format(*view["totals"]),
    )
    return " ".join(words).encode()


def _list_text(cards: list[int]) -> str:
    return ",".join([_TEXTS[card] for card in cards]) or "-"


def _set_text(cards: int) -> str:
    suits = [_suit_text(suit, cards >> CARDS_PER_SUIT * suit & 1023) for suit in range(NUM_SUITS)]
    return ",".join([text for text in suits if text]) or "-"


@cache
def _suit_text(suit: int, ranks: int) -> str:
    cards = range(CARDS_PER_SUIT * suit, CARDS_PER_SUIT * (suit + 1))
    return ",".join(_TEXTS[card] for rank, card in enumerate(cards) if ranks >> rank & 1)


@cache
def _suits_text(suits: int) -> str:
    return "".join(SUIT_LETTERS[suit] for suit in range(NUM_SUITS) if suits >> suit & 1) or "-"


def read_card(line: bytes) -> int:
    """Card number of a program's answer, -1 if it is no card."""
    return _CARDS.get(line.strip().upper(), -1)


class Greeting(NamedTuple):
    """How a program has answered: its name, and the houses it plays, None for any."""

    name: str
    houses: tuple[str, ...] | None

    def plays(self, rules: RuleSet) -> bool:
        """Whether the rules are those of one of the houses; their names do not matter."""
        plain = {"name": "", "source": ""}
        return self.houses is None or rules.replace(**plain) in [
            PRESETS[house].replace(**plain) for house in self.houses
        ]


def read_greeting(line: bytes) -> Greeting:
    """Read a program's first line.

    Raises
    ------
    ValueError
        If it is not what a program of this version says; the message says what is wrong.
    """
    kind, version, *words = [*line.decode("ascii", "replace").split(), "", ""]
    if kind != "tressette" or not version:
        raise ValueError(f"got {shown(line)}")
    if version != str(VERSION):
        raise ValueError(f"got version {shown(version)} of the protocol, and this is {VERSION}")
    fields = dict(word.split("=", 1) for word in words if "=" in word)
    name, houses = fields.get("name", ""), fields.get("houses", "")
    if not re.fullmatch(r"[\x21-\x7e]{1,40}", name):
        raise ValueError(f"got the name {shown(name)}, not 1 to 40 plain characters")
    if houses == ANY_HOUSE:
        return Greeting(name, None)
    for house in houses.split(","):
        if house not in PRESETS:
            close = did_you_mean(house, PRESETS)
            raise ValueError(f"got the house {shown(house)}, which is none{close}")
    return Greeting(name, tuple(houses.split(",")))
