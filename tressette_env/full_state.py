"""Perfect information for critics in training: every hand and the order of the stock.

Seats are absolute here, as ``env.state()`` belongs to no seat. Agents never see this.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env.cards import NUM_CARDS, card_list
from tressette_env.observation import Block, Layout
from tressette_env.rulesets import MAX_STOCK, RuleSet

__all__ = ["encode", "layout"]


@cache
def _layout(seats: int) -> Layout:
    columns = (
        ("hands", seats * NUM_CARDS, "card held by seat 0, 1, ...: 40 features a seat"),
        ("played", seats * NUM_CARDS, "card played by seat 0, 1, ...: 40 features a seat"),
        ("table", NUM_CARDS, "card on the table in the current trick"),
        ("leader", seats, "seat that led, or leads, the current trick"),
        ("turn", seats, "seat to act"),
        ("stock", MAX_STOCK * NUM_CARDS, "card at each place of the stock, the next draw first"),
        ("thirds", 2 * 35, "thirds taken by side 0 and side 1, thermometers"),
        ("totals", 2 * 40, "match totals of side 0 and side 1, thermometers"),
    )
    blocks: list[Block] = []
    start = 0
    for name, size, meaning in columns:
        blocks.append(Block(name, start, size, meaning))
        start += size
    return Layout(seats, "any", "full", tuple(blocks), start, np.empty((2, 0), np.int64))


def layout(rules: RuleSet) -> Layout:
    """Return the layout of ``env.state()``: blocks with name, slice and meaning."""
    return _layout(rules.seats)


def encode(state: Any, rules: RuleSet) -> npt.NDArray[np.int8]:
    """Encode a state (a row of STATE_DTYPE) as int8[size], a new array of 0 and 1."""
    blocks = layout(rules)
    out = np.zeros(blocks.size, np.int8)
    seats = rules.seats
    for seat in range(seats):
        for name in ("hands", "played"):
            start = blocks[name].start + NUM_CARDS * seat
            for card in card_list(int(state[name][seat])):
                out[start + card] = 1
    ply = int(state["ply"])
    for place in range(ply - ply % seats, ply):
        out[blocks["table"].start + int(state["plays"][place])] = 1
    out[blocks["leader"].start + int(state["leader"])] = 1
    out[blocks["turn"].start + int(state["turn"])] = 1
    left = state["stock"][state["drawn"] : rules.stock_size]
    for place, card in enumerate(left.tolist()):
        out[blocks["stock"].start + 40 * place + card] = 1
    for side in range(2):
        thirds = blocks["thirds"].start + 35 * side
        out[thirds : thirds + int(state["thirds"][side])] = 1
        total = blocks["totals"].start + 40 * side
        out[total : total + min(max(int(state["totals"][side]), 0), 40)] = 1
    return out
