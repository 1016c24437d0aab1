"""Observations: one table of blocks, and the encoder that fills them from a view.

Every feature is 0 or 1 in int8. Card blocks hold one feature for each card number; counts are
thermometers (the first n features are 1). Seats are relative to the viewer: 0 is itself. An
observation is a matrix of rows of 40 features: ``observation.reshape(-1, 4, 10)`` is one plane of
suits by strengths for each of the first rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env.cards import NUM_CARDS, NUM_SUITS, SUIT_NAMES, suit_of
from tressette_env.errors import OptionError
from tressette_env.notation import card_text
from tressette_env.rulesets import MAX_STOCK, RuleSet
from tressette_env.view import seat_of_play

__all__ = [
    "BLOCKS",
    "KINDS",
    "OBSERVATION_VERSION",
    "RULE_FLAGS",
    "Block",
    "Layout",
    "encode",
    "explain",
    "layout_for",
    "write_row",
]

OBSERVATION_VERSION = 1
KINDS = ("flat", "leads", "history")
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
    only: str = ""  # "match", "leads" or "history": only with that option


_ROW = NUM_CARDS  # an observation is a matrix of rows of 40 features
_ROW_WORDS = _ROW // 8  # 64-bit words in a row
_MAX_SEATS = 4

# The order of this table is the order of the features, and of the places that encode() reads.
# Blocks shorter than a row stand together with their neighbours in one row.
_COLUMNS = (
    _Column("hand", lambda s: NUM_CARDS, "card held by the viewer"),
    _Column("table", lambda s: NUM_CARDS, "card on the table in the current trick"),
    _Column("unseen", lambda s: NUM_CARDS, "card whose place is hidden from the viewer"),
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
    _Column("thirds_own", lambda s: MAX_THIRDS, "thirds taken by the own side, a thermometer"),
    _Column("rules", lambda s: len(RULE_FLAGS), "flags of the rule set: " + ", ".join(RULE_FLAGS)),
    _Column("thirds_other", lambda s: MAX_THIRDS, "thirds taken by the other side, a thermometer"),
    _Column("turn", lambda s: _MAX_SEATS, "relative seat to act"),
    _Column("must_follow", lambda s: 1, "suit must be followed in the current trick"),
    _Column("stock", lambda s: MAX_STOCK, "cards left in the stock, a thermometer"),
    _Column("led_suit", lambda s: NUM_SUITS, "suit of the led card; all 0 when leading"),
    _Column("leader", lambda s: _MAX_SEATS, "relative seat that led, or leads, the current trick"),
    _Column(
        "voids",
        lambda s: (_MAX_SEATS - 1) * NUM_SUITS,
        "suit that relative seat 1, 2, 3 has shown not to hold by failing to follow; gone when it "
        "draws a hidden card, or a shown one of the suit",
    ),
    _Column("total_own", lambda s: MAX_TOTAL, "match total, own side, a thermometer", "match"),
    _Column("total_other", lambda s: MAX_TOTAL, "match total, other side, a thermometer", "match"),
    _Column("target", lambda s: MAX_TOTAL, "total that ends the match, a thermometer", "match"),
    _Column(
        "history",
        lambda s: NUM_CARDS * NUM_CARDS,
        "every card played, in order: 40 features for each of 40 plays",
        "history",
    ),
    _Column(
        "history_seats",
        lambda s: NUM_CARDS * _MAX_SEATS,
        "relative seat that made each play, in order: 4 features for each of 40 plays",
        "history",
    ),
    _Column(
        "led",
        lambda s: s * NUM_CARDS,
        "card that led a trick of this deal: 40 features for each relative seat",
        "leads",
    ),
)
(
    _HAND,
    _TABLE,
    _UNSEEN,
    _PLAYED,
    _KNOWN,
    _THIRDS_OWN,
    _RULES,
    _THIRDS_OTHER,
    _TURN,
    _MUST_FOLLOW,
    _STOCK,
    _LED_SUIT,
    _LEADER,
    _VOIDS,
    _TOTAL_OWN,
    _TOTAL_OTHER,
    _TARGET,
    _HISTORY,
    _HISTORY_SEATS,
    _LED,
) = range(len(_COLUMNS))


@dataclass(frozen=True, eq=False)
class Layout:
    """Where each block lies for a number of seats and the environment's options.

    Attributes
    ----------
    seats : int
    episode : {"deal", "match"}
    kind : {"flat", "leads", "history"}
    blocks : tuple of Block
    size : int
        Features in an observation (F), a multiple of 40.
    places : int64[2, 20]
        For each block of the table, the 64-bit word at which its row of 40 features starts, and
        its place in that row; -1 where it is absent. Read by ``encode``.
    """

    seats: int
    episode: str
    kind: str
    blocks: tuple[Block, ...]
    size: int
    places: npt.NDArray[np.int64]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # A copied array is writable, and so of another type to the compiled functions.
        self.places.flags.writeable = False

    def __getitem__(self, name: str) -> Block:
        for block in self.blocks:
            if block.name == name:
                return block
        known = ", ".join(block.name for block in self.blocks)
        raise OptionError(f"observation block: expected one of {known}; got {name!r}")


@cache
def _layout(seats: int, episode: str, kind: str) -> Layout:
    blocks = []
    places = np.full((2, len(_COLUMNS)), -1, np.int64)
    start = 0
    for index, column in enumerate(_COLUMNS):
        if column.only and column.only not in (episode, kind):
            continue
        size = column.size(seats)
        blocks.append(Block(column.name, start, size, column.meaning))
        row, place = divmod(start, _ROW)
        places[:, index] = _ROW_WORDS * row, place
        start += size
    places.flags.writeable = False
    return Layout(seats, episode, kind, tuple(blocks), start, places)


def layout_for(rules: RuleSet, episode: str = "deal", kind: str = "flat") -> Layout:
    """Return the layout of observations under ``rules``.

    Raises
    ------
    OptionError
        If ``episode`` is not "deal" or "match", or ``kind`` none of ``KINDS``.
    """
    for name, value, allowed in (
        ("episode", episode, ("deal", "match")),
        ("observation", kind, KINDS),
    ):
        if value not in allowed:
            known = f"{', '.join(map(repr, allowed[:-1]))} or {allowed[-1]!r}"
            raise OptionError(f"{name}: expected {known}, got {value!r}")
    return _layout(rules.seats, episode, kind)


#: The blocks of the default observation: two seats, ``episode="deal"``.
BLOCKS = _layout(2, "deal", "flat").blocks

# Eight bits as eight features of one byte each, in one 64-bit word: encoding is a table look-up.
_SPREAD = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").view(
    np.int64
)[:, 0]


def write_row(words: Any, word: int, bits: int) -> None:
    """Write 40 bits as 40 features, the lowest bit first, into ``words`` (int64) from ``word``."""
    for octet in range(5):
        words[word + octet] = _SPREAD[bits >> 8 * octet & 0xFF]


def has_flat(places: Any) -> bool:
    """Whether places are those of a layout without any block that only some layouts have."""
    rest = max(places[0, _TARGET], places[0, _HISTORY], places[0, _LED])
    return bool(rest < 0)


def _thermometer(count: int) -> int:
    return (1 << count) - 1


def _clipped(total: int) -> int:
    return min(max(total, 0), MAX_TOTAL)


def encode(view: Any, rules: Any, places: Any, words: Any, is_flat: bool = False) -> None:
    """Write the observation of a view.

    Parameters
    ----------
    view : View or record of VIEW_DTYPE
    rules : RuleSet or record of RULES_DTYPE
    places : int64[2, 20]
        ``Layout.places``.
    words : int64[F / 8]
        The observation, int8[F], viewed as 64-bit words; every feature is written.
    is_flat : bool
        Whether the layout is known to have no blocks but those of every layout.
    """
    first, shifts = places[0], places[1]
    table = 0
    for back in range(1, _MAX_SEATS):
        if back <= view.table_size:
            table |= 1 << view.plays[view.ply - back]
    led = 0
    if view.table_size > 0:
        led = 1 << suit_of(view.plays[view.ply - view.table_size])
    write_row(words, first[_HAND], view.hand)
    write_row(words, first[_TABLE], table)
    write_row(words, first[_UNSEEN], view.unseen)
    for relative in range(_MAX_SEATS):
        if relative < rules.seats:
            write_row(words, first[_PLAYED] + _ROW_WORDS * relative, view.played[relative])
            write_row(words, first[_KNOWN] + _ROW_WORDS * relative, view.known[relative])
    write_row(
        words,
        first[_THIRDS_OWN],
        _thermometer(view.thirds[0]) | _flags(rules) << shifts[_RULES],
    )
    must_follow = 1 if rules.follow_always or view.stock_left == 0 else 0
    write_row(
        words,
        first[_THIRDS_OTHER],
        _thermometer(view.thirds[1])
        | 1 << view.turn + shifts[_TURN]
        | must_follow << shifts[_MUST_FOLLOW],
    )
    voids = view.voids[1] | view.voids[2] << 4 | view.voids[3] << 8
    write_row(
        words,
        first[_STOCK],
        _thermometer(view.stock_left)
        | led << shifts[_LED_SUIT]
        | 1 << view.leader + shifts[_LEADER]
        | voids << shifts[_VOIDS],
    )
    if not is_flat:
        _encode_rest(view, rules, first, words)


def _encode_rest(view: Any, rules: Any, first: Any, words: Any) -> None:
    """Write the blocks that only some layouts have."""
    if first[_TARGET] >= 0:
        write_row(words, first[_TOTAL_OWN], _thermometer(_clipped(view.totals[0])))
        write_row(words, first[_TOTAL_OTHER], _thermometer(_clipped(view.totals[1])))
        write_row(words, first[_TARGET], _thermometer(_clipped(rules.target_total)))
    if first[_HISTORY] >= 0:
        _encode_history(view, first[_HISTORY], first[_HISTORY_SEATS], words)
    if first[_LED] >= 0:
        _encode_leads(view, rules.seats, first[_LED], words)


def _flags(rules: Any) -> int:
    """Return the rule set's flags as bits, in the order of RULE_FLAGS."""
    bits = 0
    if rules.follow_always:
        bits |= 1
    if rules.draws_shown:
        bits |= 2
    if rules.scored_in_points:
        bits |= 4
    if rules.wins_match_with_all:
        bits |= 8
    if rules.fewest_wins:
        bits |= 16
    return bits


def _encode_history(view: Any, cards_word: int, seats_word: int, words: Any) -> None:
    for play in range(40):
        card = 1 << view.plays[play] if play < view.ply else 0
        write_row(words, cards_word + _ROW_WORDS * play, card)
    for row in range(4):
        bits = 0
        for play in range(10 * row, 10 * row + 10):
            if play < view.ply:
                bits |= 1 << 4 * (play - 10 * row) + seat_of_play(view, view.plays[play])
        write_row(words, seats_word + _ROW_WORDS * row, bits)


def _encode_leads(view: Any, seats: int, word: int, words: Any) -> None:
    led = 0
    for play in range(0, view.ply, seats):
        led |= 1 << view.plays[play]
    for relative in range(seats):
        write_row(words, word + _ROW_WORDS * relative, led & view.played[relative])


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


def _cards_in_order(features: npt.NDArray[Any]) -> str:
    rows = features.reshape(NUM_CARDS, NUM_CARDS)
    return " ".join(card_text(int(np.argmax(row))) for row in rows if row.any())


def _explain_block(block: Block, features: npt.NDArray[Any], layout: Layout) -> Any:
    if block.name in ("hand", "table", "unseen"):
        return _cards(features)
    if block.name in ("played", "known", "led"):
        return {f"seat +{r}": _cards(row) for r, row in enumerate(features.reshape(-1, NUM_CARDS))}
    if block.name == "led_suit":
        return next((SUIT_NAMES[suit] for suit in np.flatnonzero(features)), None)
    if block.name in ("leader", "turn"):
        return f"seat +{int(np.argmax(features))}"
    if block.name == "must_follow":
        return bool(features[0])
    if block.name == "voids":
        rows = features.reshape(-1, NUM_SUITS)[: layout.seats - 1]
        return {
            f"seat +{r + 1}": [SUIT_NAMES[suit] for suit in np.flatnonzero(row)]
            for r, row in enumerate(rows)
        }
    if block.name == "rules":
        return {flag: bool(value) for flag, value in zip(RULE_FLAGS, features, strict=True)}
    if block.name == "history":
        return _cards_in_order(features)
    if block.name == "history_seats":
        rows = features.reshape(NUM_CARDS, -1)
        return [f"seat +{int(np.argmax(row))}" for row in rows if row.any()]
    return int(features.sum())
