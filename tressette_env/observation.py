"""Observations: one table of blocks, and the encoder that fills them from a view.

Every feature is 0 or 1 in int8. Card blocks hold one feature for each card number; counts are
thermometers (the first n features are 1). Seats are relative to the viewer: 0 is itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tressette_env.cards import NUM_CARDS, NUM_SUITS, SUIT_NAMES, suit_of
from tressette_env.errors import OptionError
from tressette_env.notation import card_text
from tressette_env.rulesets import MAX_STOCK, RuleSet
from tressette_env.view import seat_of_play

__all__ = [
    "BLOCKS",
    "OBSERVATION_VERSION",
    "RULE_FLAGS",
    "Block",
    "Layout",
    "encode",
    "explain",
    "layout_for",
    "write_bits",
]

Episode = Literal["deal", "match"]
Kind = Literal["flat", "history"]

OBSERVATION_VERSION = 1
MAX_THIRDS = 35
MAX_TOTAL = 40  # totals and targets above are shown as this
RULE_FLAGS = (
    "follow_always",
    "draws_shown",
    "scored_in_points",
    "wins_match_with_all",
    "fewest_wins",
)


@dataclass(frozen=True)
class Block:
    """One block of features.

    Attributes
    ----------
    name : str
    start, size : int
        The features ``start`` to ``start + size - 1``.
    meaning : str
        What a 1 says.
    """

    name: str
    start: int
    size: int
    meaning: str

    @property
    def slice(self) -> slice:
        """The block's features, to index an observation with."""
        return slice(self.start, self.start + self.size)


@dataclass(frozen=True)
class _Column:
    name: str
    size: Callable[[int], int]  # features, from the number of seats
    meaning: str
    only: str = ""  # "match" or "history": only with that option


# The order of this table is the order of the features, and of the offsets that encode() reads.
_COLUMNS = (
    _Column("hand", lambda s: NUM_CARDS, "card held by the viewer"),
    _Column("table", lambda s: NUM_CARDS, "card on the table in the current trick"),
    _Column("led_suit", lambda s: NUM_SUITS, "suit of the led card; all 0 when leading"),
    _Column("leader", lambda s: s, "relative seat that led, or leads, the current trick"),
    _Column("turn", lambda s: s, "relative seat to act"),
    _Column(
        "played",
        lambda s: s * NUM_CARDS,
        "card played in this deal, cards on the table included: 40 features for each relative seat",
    ),
    _Column(
        "known",
        lambda s: s * NUM_CARDS,
        "card that every seat knows to be in that relative seat's hand (shown draws, "
        "declarations); the first 40 are the viewer's own cards that the others know",
    ),
    _Column("unseen", lambda s: NUM_CARDS, "card whose place is hidden from the viewer"),
    _Column(
        "voids",
        lambda s: (s - 1) * NUM_SUITS,
        "suit that relative seat 1, 2, 3 certainly does not hold; gone when it draws a card that "
        "may be of the suit",
    ),
    _Column("stock", lambda s: MAX_STOCK, "cards left in the stock, a thermometer"),
    _Column("thirds_own", lambda s: MAX_THIRDS, "thirds taken by the own side, a thermometer"),
    _Column("thirds_other", lambda s: MAX_THIRDS, "thirds taken by the other side, a thermometer"),
    _Column("rules", lambda s: len(RULE_FLAGS), "flags of the rule set: " + ", ".join(RULE_FLAGS)),
    _Column("total_own", lambda s: MAX_TOTAL, "match total, own side, a thermometer", "match"),
    _Column("total_other", lambda s: MAX_TOTAL, "match total, other side, a thermometer", "match"),
    _Column("target", lambda s: MAX_TOTAL, "total that ends the match, a thermometer", "match"),
    _Column(
        "history",
        lambda s: NUM_CARDS * (NUM_CARDS + s),
        "every play in order, 40 rows; a row is the card (40) and the relative seat that played it",
        "history",
    ),
)
_COLUMN_INDEX = {column.name: index for index, column in enumerate(_COLUMNS)}
(
    _HAND,
    _TABLE,
    _LED_SUIT,
    _LEADER,
    _TURN,
    _PLAYED,
    _KNOWN,
    _UNSEEN,
    _VOIDS,
    _STOCK,
    _THIRDS_OWN,
    _THIRDS_OTHER,
    _RULES,
    _TOTAL_OWN,
    _TOTAL_OTHER,
    _TARGET,
    _HISTORY,
) = range(len(_COLUMNS))


@dataclass(frozen=True, eq=False)
class Layout:
    """Where each block lies for a number of seats and the environment's options.

    Attributes
    ----------
    seats : int
    episode : {"deal", "match"}
    kind : {"flat", "history"}
    blocks : tuple of Block
    size : int
        Features in an observation (F).
    offsets : int64[17]
        Start of each block of the table, -1 where it is absent; read by ``encode``.
    """

    seats: int
    episode: str
    kind: str
    blocks: tuple[Block, ...]
    size: int
    offsets: npt.NDArray[np.int64]

    def __getitem__(self, name: str) -> Block:
        for block in self.blocks:
            if block.name == name:
                return block
        known = ", ".join(block.name for block in self.blocks)
        raise OptionError(f"observation block: expected one of {known}; got {name!r}")


@cache
def _layout(seats: int, episode: str, kind: str) -> Layout:
    blocks = []
    offsets = np.full(len(_COLUMNS), -1, np.int64)
    start = 0
    for index, column in enumerate(_COLUMNS):
        if column.only and column.only not in (episode, kind):
            continue
        size = column.size(seats)
        blocks.append(Block(column.name, start, size, column.meaning))
        offsets[index] = start
        start += size
    offsets.flags.writeable = False
    return Layout(seats, episode, kind, tuple(blocks), start, offsets)


def layout_for(rules: RuleSet, episode: str = "deal", kind: str = "flat") -> Layout:
    """Return the layout of observations under ``rules``.

    Raises
    ------
    OptionError
        If ``episode`` is not "deal" or "match", or ``kind`` not "flat" or "history".
    """
    for name, value, allowed in (
        ("episode", episode, ("deal", "match")),
        ("observation", kind, ("flat", "history")),
    ):
        if value not in allowed:
            raise OptionError(f"{name}: expected {allowed[0]!r} or {allowed[1]!r}, got {value!r}")
    return _layout(rules.seats, episode, kind)


#: The blocks of the default observation: two seats, ``episode="deal"``.
BLOCKS = _layout(2, "deal", "flat").blocks


def write_bits(out: Any, start: int, count: int, bits: int) -> None:
    """Write the lowest ``count`` bits as features ``start`` onwards, the lowest bit first."""
    for place in range(count):
        out[start + place] = bits >> place & 1


def _thermometer(count: int, size: int) -> int:
    return (1 << min(max(count, 0), size)) - 1


def encode(view: Any, rules: Any, offsets: Any, out: Any) -> None:
    """Write the observation of a view.

    Parameters
    ----------
    view : View or record of VIEW_DTYPE
    rules : RuleSet or record of RULES_DTYPE
    offsets : int64[17]
        ``Layout.offsets``.
    out : int8[F]
        Every feature is written.
    """
    seats = rules.seats
    table = 0
    for place in range(view.ply - view.table_size, view.ply):
        table |= 1 << view.plays[place]
    led = 0
    if view.table_size > 0:
        led = 1 << suit_of(view.plays[view.ply - view.table_size])
    write_bits(out, offsets[_HAND], 40, view.hand)
    write_bits(out, offsets[_TABLE], 40, table)
    write_bits(out, offsets[_LED_SUIT], 4, led)
    write_bits(out, offsets[_LEADER], seats, 1 << view.leader)
    write_bits(out, offsets[_TURN], seats, 1 << view.turn)
    for relative in range(seats):
        write_bits(out, offsets[_PLAYED] + 40 * relative, 40, view.played[relative])
        write_bits(out, offsets[_KNOWN] + 40 * relative, 40, view.known[relative])
    for relative in range(1, seats):
        write_bits(out, offsets[_VOIDS] + 4 * (relative - 1), 4, view.voids[relative])
    write_bits(out, offsets[_UNSEEN], 40, view.unseen)
    write_bits(out, offsets[_STOCK], 20, _thermometer(view.stock_left, 20))
    write_bits(out, offsets[_THIRDS_OWN], 35, _thermometer(view.thirds[0], 35))
    write_bits(out, offsets[_THIRDS_OTHER], 35, _thermometer(view.thirds[1], 35))
    _encode_flags(rules, offsets[_RULES], out)
    if offsets[_TARGET] >= 0:
        write_bits(out, offsets[_TOTAL_OWN], 40, _thermometer(view.totals[0], 40))
        write_bits(out, offsets[_TOTAL_OTHER], 40, _thermometer(view.totals[1], 40))
        write_bits(out, offsets[_TARGET], 40, _thermometer(rules.target_total, 40))
    if offsets[_HISTORY] >= 0:
        _encode_history(view, seats, offsets[_HISTORY], out)


def _encode_flags(rules: Any, start: int, out: Any) -> None:
    out[start] = 1 if rules.follow_always else 0
    out[start + 1] = 1 if rules.draws_shown else 0
    out[start + 2] = 1 if rules.scored_in_points else 0
    out[start + 3] = 1 if rules.wins_match_with_all else 0
    out[start + 4] = 1 if rules.fewest_wins else 0


def _encode_history(view: Any, seats: int, start: int, out: Any) -> None:
    for place in range(40):
        row = start + place * (40 + seats)
        for feature in range(40 + seats):
            out[row + feature] = 0
        if place < view.ply:
            card = view.plays[place]
            out[row + card] = 1
            out[row + 40 + seat_of_play(view, card)] = 1


def explain(observation: Sequence[int] | npt.NDArray[Any], layout: Layout) -> dict[str, Any]:
    """Say in words what an observation holds.

    Parameters
    ----------
    observation : int8[F]
    layout : Layout
        The layout it was made with (``env.unwrapped.layout``).

    Returns
    -------
    dict
        Block name to cards as text, seats, counts or flags.

    Raises
    ------
    OptionError
        If the observation has another shape than the layout.
    """
    features = np.asarray(observation)
    if features.shape != (layout.size,):
        raise OptionError(
            f"observation: expected shape ({layout.size},) for this layout, got {features.shape}"
        )
    return {
        block.name: _explain_block(block, features[block.slice], layout) for block in layout.blocks
    }


def _cards(features: npt.NDArray[Any]) -> str:
    return " ".join(card_text(int(card)) for card in np.flatnonzero(features))


def _explain_block(block: Block, features: npt.NDArray[Any], layout: Layout) -> Any:
    if block.name in ("hand", "table", "unseen"):
        return _cards(features)
    if block.name in ("played", "known"):
        return {f"seat +{r}": _cards(row) for r, row in enumerate(features.reshape(-1, NUM_CARDS))}
    if block.name == "led_suit":
        return next((SUIT_NAMES[suit] for suit in np.flatnonzero(features)), None)
    if block.name in ("leader", "turn"):
        return f"seat +{int(np.argmax(features))}"
    if block.name == "voids":
        rows = features.reshape(-1, NUM_SUITS)
        return {
            f"seat +{r + 1}": [SUIT_NAMES[suit] for suit in np.flatnonzero(row)]
            for r, row in enumerate(rows)
        }
    if block.name == "rules":
        return {flag: bool(value) for flag, value in zip(RULE_FLAGS, features, strict=True)}
    if block.name == "history":
        rows = features.reshape(NUM_CARDS, -1)
        return [
            f"seat +{int(np.argmax(row[NUM_CARDS:]))} {_cards(row[:NUM_CARDS])}"
            for row in rows
            if row.any()
        ]
    return int(features.sum())
