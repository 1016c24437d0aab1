"""A critic that is shown both hands: what the rest of a deal of two seats is worth to the leader.

Not the order of the stock: it sees only which cards are still in it. So its values can say how
lucky a draw was (``draw_luck``). It is frozen: a file that is read, and known by its SHA-256,
before a card is dealt.

The value is a sum over the four suits, each seen by the same small network:

    ``value = constant[p] + sum over suits s, units h of output[p, h] * max(0, pre[s, h])``
    ``pre[s, h] = bias[p, h] + sum of suit[w, r, h] over the suit's cards``
    ``+ sum of deck[w, r, h] over all cards``

where a card of rank r is with w: the leader (0), the other seat (1) or the stock (2), and p is half
the number of cards in the stock. Cards that were played count for nothing.

Shapes: P phases of the stock, R = 10 ranks, H units.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from tressette_env.errors import TressetteError, shown
from tressette_env.rulesets import RuleSet

__all__ = [
    "KIT",
    "OWNERS",
    "RANKS",
    "Critic",
    "CriticError",
    "check_house",
    "critic_from_bytes",
    "critic_to_bytes",
    "load_critic",
]

FORMAT = "tressette-critic"
FORMAT_VERSION = 1
KIT = "kit"  # names the critics that come with the kit
OWNERS = 3  # the leader, the other seat, the stock
RANKS = 10
MAX_UNITS = 256

_HEAD: dict[str, type] = {  # what a file says beside the weights
    "house": str,
    "agent": str,
    "seed": int,
    "deals": int,
    "hand_size": int,
    "deck": list,
}

_FOLDER = Path(__file__).parent / "critics"
_HOW = "make one with 'tressette critic AGENT --rules HOUSE --out FILE'"

Floats = npt.NDArray[np.float64]


class CriticError(TressetteError):
    """A critic that cannot be used: missing, damaged, or for another deck."""


@dataclass(frozen=True)
class Critic:
    """A frozen critic.

    Attributes
    ----------
    name : str
        As it was asked for.
    sha256 : str
        Of the file's bytes.
    house : str
        The rules of the deals that it was fitted to; it can be used in any house with this deck.
    agent : str
        Spec of who played them.
    seed, deals : int
        Which they were.
    hand_size, deck : int, tuple of int
    bias, output : float64[P, H]
    constant : float64[P]
    suit, deck_wide : float64[3, R, H]
        What a card adds to its own suit, and to every suit.
    """

    name: str
    sha256: str
    house: str
    agent: str
    seed: int
    deals: int
    hand_size: int
    deck: tuple[int, ...]
    bias: Floats
    output: Floats
    constant: Floats
    suit: Floats
    deck_wide: Floats

    @cached_property
    def weights(self) -> tuple[Floats, Floats, Floats, Floats]:
        """``(bias, output, suit, deck_wide)``: what differences of values depend on."""
        return self.bias, self.output, self.suit, self.deck_wide

    def check_use(self, rules: RuleSet, seed: int) -> None:
        """Raise ``CriticError`` unless it judges this deck, and was not fitted to these deals."""
        check_house(rules)
        if (self.deck, self.hand_size) != (rules.deck, rules.hand_size):
            raise CriticError(
                f"critic {self.name}: it was fitted to {self.house!r}, {len(self.deck)} cards and "
                f"{self.hand_size} a hand; {rules.name!r} has {rules.deck_size} and "
                f"{rules.hand_size}; {_HOW}"
            )
        if self.seed == seed:
            raise CriticError(
                f"critic {self.name}: it was fitted to deals of seed {seed}; on deals that it has "
                "seen it may deceive: measure with another --seed"
            )

    def to_json(self) -> dict[str, str]:
        """Return what tells it from every other critic."""
        return {"name": self.name, "sha256": self.sha256}


def check_house(rules: RuleSet) -> None:
    """Raise ``CriticError`` unless there are draws for a critic to judge."""
    if rules.seats != 2 or rules.stock_size == 0:
        raise CriticError(
            f"critic: expected a house of two seats with a stock, got {rules.name!r}: without "
            "draws there is no luck to take away"
        )


def load_critic(name: str, rules: RuleSet) -> Critic:
    """Read a critic's file, or the kit's for a house.

    Parameters
    ----------
    name : str
        Path of a file of ``tressette critic``, or ``kit``.
    rules : RuleSet

    Raises
    ------
    CriticError
        If there is none, or the file is damaged.
    """
    check_house(rules)
    path = Path(name)
    if name == KIT:
        path = _FOLDER / f"{rules.follow}.json"
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or error
        raise CriticError(f"critic {name}: cannot be read ({reason}); {_HOW}") from None
    return critic_from_bytes(data, name)


def critic_to_bytes(critic: Critic) -> bytes:
    """Return a critic's file; its name and hash are no part of it."""
    head: dict[str, Any] = {"format": FORMAT, "format_version": FORMAT_VERSION}
    head |= {key: kind(getattr(critic, key)) for key, kind in _HEAD.items()}
    weights = {key: getattr(critic, key).tolist() for key, _shape in _shapes(1, 1)}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in (head | weights).items()]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def critic_from_bytes(data: bytes, name: str) -> Critic:
    """Read what ``critic_to_bytes`` has returned.

    Raises
    ------
    CriticError
        If it is anything else.
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CriticError(f"critic {name}: not a critic's file ({error}); {_HOW}") from None
    found = content.get("format") if isinstance(content, dict) else content
    if found != FORMAT:
        _refuse(name, "format", repr(FORMAT), found)
    if content.get("format_version") != FORMAT_VERSION:
        _refuse(name, "format_version", str(FORMAT_VERSION), content.get("format_version"))
    for key, kind in _HEAD.items():
        if type(content.get(key)) is not kind:
            _refuse(name, key, kind.__name__, content.get(key))
    deck = content["deck"]
    if not deck or not all(type(card) is int and 0 <= card < 40 for card in deck):
        _refuse(name, "deck", "card numbers", deck)
    phases = (len(deck) - 2 * content["hand_size"]) // 2
    try:
        units = len(content["bias"][0])
    except (LookupError, TypeError):
        units = 0
    if not 0 < units <= MAX_UNITS or not 0 < phases <= RANKS:
        _refuse(name, "bias", f"rows of 1 to {MAX_UNITS} numbers", content.get("bias"))
    arrays: dict[str, Floats] = {}
    for key, shape in _shapes(phases, units):
        try:
            array = np.array(content.get(key), np.float64)
        except (TypeError, ValueError):
            array = np.empty(0)
        if array.shape != shape or not np.isfinite(array).all():
            _refuse(name, key, f"{shape} finite numbers", content.get(key))
        arrays[key] = array
    known: dict[str, Any] = {key: content[key] for key in _HEAD} | {"deck": tuple(deck)} | arrays
    return Critic(name=name, sha256=hashlib.sha256(data).hexdigest(), **known)


def _shapes(phases: int, units: int) -> list[tuple[str, tuple[int, ...]]]:
    """Return the names of the weights in a file, and their shapes."""
    cards = (OWNERS, RANKS, units)
    return [
        ("bias", (phases, units)),
        ("output", (phases, units)),
        ("constant", (phases,)),
        ("suit", cards),
        ("deck_wide", cards),
    ]


def _refuse(name: str, where: str, expected: str, got: object) -> NoReturn:
    raise CriticError(f"critic {name}: {where}: expected {expected}, got {shown(got)}; {_HOW}")
