"""Timing many things side by side: warmed up first, then in turns, so that noise hits all alike."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

__all__ = ["PLAYS", "SECONDS", "Measured", "Player", "Row", "measure"]

PLAYS = "plays/s"
SECONDS = "s"

#: Does a number of units of work (plies, steps, deals, ...) and returns the cards played.
Player = Callable[[int], int]


@dataclass(frozen=True)
class Row:
    """One thing to measure.

    Attributes
    ----------
    name, group : str
    tables, threads : int
    start : callable
        Makes the player, untimed; what must be closed at the end goes on the stack.
    unit : {"plays/s", "s"}
        "s": the time of one unit of work is what counts, not the plays.
    """

    name: str
    group: str
    start: Callable[[ExitStack], Player]
    tables: int = 1
    threads: int = 1
    unit: str = PLAYS


@dataclass(frozen=True)
class Measured:
    """What the timing of a row gave.

    Attributes
    ----------
    name, group : str
    tables, threads : int
    unit : {"plays/s", "s"}
    first_s : float
        Seconds of making the player and of its first unit of work; in no sample. They hold what
        had to be compiled or loaded, and no earlier row had used.
    plays : int
        Cards played in a sample (the last one; they are alike).
    values : tuple of float
        One a sample, in the order measured.
    cores : float
        Cores that this process kept busy, over all samples; below the number of threads it had to
        wait, for others on a busy machine or for its own threads.
    """

    name: str
    group: str
    tables: int
    threads: int
    unit: str
    first_s: float
    plays: int
    values: tuple[float, ...]
    cores: float

    @property
    def low(self) -> float:
        """The least of the values."""
        return min(self.values)

    @property
    def median(self) -> float:
        """The middle value."""
        return statistics.median(self.values)

    @property
    def high(self) -> float:
        """The greatest of the values."""
        return max(self.values)

    def to_json(self) -> dict[str, Any]:
        """Return the fields and what follows from them as JSON values."""
        return {
            "name": self.name,
            "group": self.group,
            "tables": self.tables,
            "threads": self.threads,
            "unit": self.unit,
            "min": self.low,
            "median": self.median,
            "max": self.high,
            "values": list(self.values),
            "plays_per_sample": self.plays,
            "first_s": self.first_s,
            "cores": self.cores,
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Measured:
        """Read what ``to_json`` gave; KeyError, TypeError or ValueError if it is something else."""
        measured = cls(
            name=str(content["name"]),
            group=str(content["group"]),
            tables=int(content["tables"]),
            threads=int(content["threads"]),
            unit=str(content["unit"]),
            first_s=float(content["first_s"]),
            plays=int(content["plays_per_sample"]),
            values=tuple(float(value) for value in content["values"]),
            cores=float(content["cores"]),
        )
        numbers = (*measured.values, measured.first_s, measured.cores)
        is_sound = all(math.isfinite(number) and number > 0 for number in measured.values)
        if not is_sound or not measured.values or not all(map(math.isfinite, numbers)):
            raise ValueError(f"row {measured.name!r}: values that nothing can have measured")
        expected = SECONDS if measured.group == "startup" else PLAYS
        if measured.unit != expected or min(measured.tables, measured.threads) < 1:
            raise ValueError(
                f"row {measured.name!r}: expected the unit {expected}, tables, threads"
            )
        return measured


def measure(
    rows: Sequence[Row],
    repeats: int,
    seconds: float,
    on_progress: Callable[[str], None] = lambda name: None,
) -> list[Measured]:
    """Time every row ``repeats`` times, one sample of each row in every round.

    Parameters
    ----------
    rows : sequence of Row
    repeats : int
        Samples of each row.
    seconds : float
        Least length of a sample that is aimed at; a single unit of work may take longer.
    on_progress : callable
        Called with the name of the row before its warm-up and before each sample.

    Returns
    -------
    list of Measured
        In the order of the rows.
    """
    with ExitStack() as stack:
        players, firsts, units = [], [], []
        for row in rows:
            on_progress(row.name)
            started = time.perf_counter()
            player = row.start(stack)
            player(1)
            firsts.append(time.perf_counter() - started)
            players.append(player)
            units.append(1 if row.unit == SECONDS else _units(player, seconds))
        values: list[list[float]] = [[] for _ in rows]
        plays = [0 for _ in rows]
        wall, busy = [0.0 for _ in rows], [0.0 for _ in rows]
        for _ in range(repeats):
            for index, row in enumerate(rows):
                on_progress(row.name)
                used = time.process_time()
                elapsed, plays[index] = _timed(players[index], units[index])
                busy[index] += time.process_time() - used
                wall[index] += elapsed
                values[index].append(elapsed if row.unit == SECONDS else plays[index] / elapsed)
    return [
        Measured(
            row.name,
            row.group,
            row.tables,
            row.threads,
            row.unit,
            firsts[index],
            plays[index],
            tuple(values[index]),
            busy[index] / wall[index],
        )
        for index, row in enumerate(rows)
    ]


def _timed(player: Player, units: int) -> tuple[float, int]:
    """Return the seconds that some units of work took, and the cards played."""
    started = time.perf_counter()
    plays = player(units)
    return time.perf_counter() - started, plays


def _units(player: Player, seconds: float) -> int:
    """Units of work that take a little longer than ``seconds``."""
    units = 1
    while True:
        elapsed, _ = _timed(player, units)
        if elapsed >= seconds / 4:
            return max(1, math.ceil(1.1 * units * seconds / elapsed))
        units = max(2 * units, min(100 * units, int(units * seconds / 3 / max(elapsed, 1e-6))))
