"""Rows for many tables in compiled calls: bare rules, with masks, with observations, ``play``."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np

from tressette_env import BatchTable, RuleSet
from tressette_env.cards import NUM_CARDS
from tressette_train.bench.timing import Player, Row

__all__ = ["GROUP", "KINDS", "SHARED_FROM", "batch_rows"]

GROUP = "batch"
KINDS = ("rules", "masks", "observations", "play")
SHARED_FROM = 1024  # fewer tables are not worth sharing among threads


def batch_rows(rules: RuleSet, tables: list[int], threads: list[int]) -> list[Row]:
    """Return the rows, by kind, threads and number of tables.

    ``rules``, ``masks`` and ``observations`` play uniformly random legal cards inside the compiled
    call and deal finished tables anew: the first writes nothing, the second every legal mask, the
    third masks and observations. ``play`` is one call of ``BatchTable.play`` from Python for each
    card, the lowest legal one, chosen with NumPy.
    """
    return [
        Row(kind, GROUP, _starter(kind, rules, count, shared), count, shared)
        for kind in KINDS
        for shared in threads
        for count in tables
        if shared == 1 or count >= SHARED_FROM
    ]


class _Starter:
    """Makes the player of one row."""

    def __init__(self, kind: str, rules: RuleSet, tables: int, threads: int) -> None:
        self.kind = kind
        self.rules = rules
        self.tables = tables
        self.threads = threads

    def __call__(self, stack: ExitStack) -> Player:
        table = BatchTable(self.tables, self.rules, seed=0, num_threads=self.threads)
        return _caller(table) if self.kind == "play" else _random_player(table, self.kind)


def _starter(kind: str, rules: RuleSet, tables: int, threads: int) -> _Starter:
    return _Starter(kind, rules, tables, threads)


def _random_player(table: BatchTable, kind: str) -> Player:
    count = table.num_tables
    masks = None if kind == "rules" else np.zeros((count, NUM_CARDS), np.bool_)
    observations = np.zeros((count, table.layout.size), np.int8) if kind == "observations" else None

    def play(plies: int) -> int:
        table.play_randomly(plies, masks=masks, observations=observations)
        return plies * count

    return play


def _caller(table: BatchTable) -> Player:
    """Play the lowest legal card at every table, a call a ply, without new arrays."""
    step = table.play_randomly(1)
    lowest = np.empty(table.num_tables, np.int64)
    cards = np.empty(table.num_tables, np.int64)

    def play(plies: int) -> int:
        for _ in range(plies):
            sets = step.legal_sets
            np.negative(sets, out=lowest)
            np.bitwise_and(lowest, sets, out=lowest)
            np.subtract(lowest, 1, out=lowest)
            np.bitwise_count(lowest, out=cards)
            table.play(cards, out=step)
        return plies * table.num_tables

    return play
