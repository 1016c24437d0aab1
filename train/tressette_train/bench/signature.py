"""Exact integers that change only when behaviour does: perft sums and hashes of random play.

They are the same on every machine. An optimisation that leaves them alone has changed nothing that
an agent could notice; rules, shuffle, play and observations show in columns of their own.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from tressette_env import BatchTable
from tressette_env.deals import deck_of, first_leader
from tressette_env.perft import perft
from tressette_env.rules import deal
from tressette_env.rulesets import get_rules, playable_presets
from tressette_env.state import new_state

__all__ = ["COLUMNS", "signature", "signature_of"]

_SEED = 20260101
_TABLES = 64
_PLIES = 100  # two deals and a half of the full deck: tables are dealt anew on the way
_DEALS = 8
_DEPTH = 6
_SMALL_DECK = 10  # cards; whole deals are counted

#: What the integers of a house stand for.
COLUMNS = {
    "perft": f"sequences of legal cards in {_DEALS} deals, {_DEPTH} deep, small decks to the end",
    "decks": f"hash of {_TABLES} decks and leaders",
    "plays": f"hash of {_PLIES} random cards at {_TABLES} tables: legal cards, turns, scores",
    "observations": "hash of every observation on the way, flat, of a deal",
    "match": "hash of the observations with totals and history, in matches",
}


def signature() -> dict[str, dict[str, int]]:
    """Return the integers of every playable preset."""
    return {name: signature_of(name) for name in playable_presets()}


def signature_of(rules: str) -> dict[str, int]:
    """Return a preset's integers, one for each of ``COLUMNS``; hashes have 32 bits."""
    plays, observations = _random_play(rules, episode="deal", observation="flat")
    _, match = _random_play(rules, episode="match", observation="history")
    return {
        "perft": _perft_sum(rules),
        "decks": _decks(rules),
        "plays": plays,
        "observations": observations,
        "match": match,
    }


def _perft_sum(rules: str) -> int:
    house = get_rules(rules)
    depth = house.deck_size if house.deck_size <= _SMALL_DECK else _DEPTH
    total = 0
    for number in range(_DEALS):
        state = new_state()
        deal(state, house, deck_of(house, _SEED, number), first_leader(house, _SEED, number))
        total += perft(state, house, depth)
    return total


def _decks(rules: str) -> int:
    house = get_rules(rules)
    digest = hashlib.sha256()
    for number in range(_TABLES):
        digest.update(bytes(deck_of(house, _SEED, number)))
        digest.update(bytes([first_leader(house, _SEED, number)]))
    return _integer(digest)


def _random_play(rules: str, **options: str) -> tuple[int, int]:
    table = BatchTable(_TABLES, rules, _SEED, **options)  # type: ignore[arg-type]
    plays, observations = hashlib.sha256(), hashlib.sha256()
    for _ in range(_PLIES):
        observations.update(table.observe().tobytes())
        step = table.play_randomly(1, seed=_SEED)
        for values in (step.legal_sets, step.thirds, step.margins, step.seats, step.is_over):
            plays.update(_bytes(values))
    return _integer(plays), _integer(observations)


def _bytes(values: Any) -> bytes:
    """Return integers as 64-bit words, lowest byte first, whatever the machine's order."""
    return bytes(np.ascontiguousarray(values).astype("<i8").tobytes())


def _integer(digest: Any) -> int:
    return int.from_bytes(digest.digest()[:4], "big")
