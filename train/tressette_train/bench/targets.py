"""What the kit's speed should be, and whether a run got there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tressette_train.bench.report import Report

__all__ = ["TARGETS", "Target", "target_json"]


@dataclass(frozen=True)
class Target:
    """One figure that the kit should reach.

    Attributes
    ----------
    name : str
    at_least : float
        The bound; an upper one if ``lower_is_better``.
    goal : float, optional
        What would be good.
    unit : str
    measure : callable
        Finds the figure in a report; None if it was not measured.
    lower_is_better : bool
    """

    name: str
    at_least: float
    goal: float | None
    unit: str
    measure: Callable[[Report], float | None]
    lower_is_better: bool = False

    def is_met(self, value: float, bound: float | None = None) -> bool:
        """Whether a figure keeps to ``bound``, by default ``at_least``."""
        bound = self.at_least if bound is None else bound
        return value <= bound if self.lower_is_better else value >= bound


def _speed(name: str, tables: int) -> Callable[[Report], float | None]:
    def measure(report: Report) -> float | None:
        row = report.find(name, tables)
        return row.median if row else None

    return measure


def _seconds(name: str) -> Callable[[Report], float | None]:
    return _speed(name, 1)


def _ratio(name: str) -> Callable[[Report], float | None]:
    def measure(report: Report) -> float | None:
        ratio = report.ratio(name)
        return ratio.median if ratio else None

    return measure


def _state_bytes(report: Report) -> float:
    return float(report.memory["state_bytes"])


_RATE, _TIMES, _S = "plays/s", "x", "s"

#: Every figure is the median of a run's samples; all on one core but that of two threads.
TARGETS = (
    Target("play with masks, 4,096 tables", 20e6, 60e6, _RATE, _speed("masks", 4096)),
    Target(
        "the same over OpenSpiel hearts, decisions",
        30,
        None,
        _TIMES,
        _ratio("masks 4,096 over openspiel hearts, decisions"),
    ),
    Target("observations too, 4,096 tables", 10e6, 35e6, _RATE, _speed("observations", 4096)),
    Target(
        "time a play, 65,536 over 1,024",
        1.5,
        1.1,
        _TIMES,
        _ratio("masks: time per play, 65,536 over 1,024"),
        lower_is_better=True,
    ),
    Target(
        "two threads over one, 65,536",
        1.8,
        1.95,
        _TIMES,
        _ratio("masks: two threads over one, 65,536"),
    ),
    Target("AEC, raw: step and observe", 80e3, 150e3, _RATE, _speed("aec raw", 1)),
    Target("AEC, wrapped: last() loop", 25e3, 50e3, _RATE, _speed("aec wrapped", 1)),
    Target("one table from Python", 400e3, 1e6, _RATE, _speed("one table", 1)),
    Target(
        "training over its networks alone",
        0.85,
        0.95,
        _TIMES,
        _ratio("training over its networks alone, one thread"),
    ),
    Target("state of a table", 160, None, "bytes", _state_bytes, lower_is_better=True),
    Target("tressette --help", 0.4, None, _S, _seconds("start --help"), lower_is_better=True),
    Target("import tressette_env", 0.6, None, _S, _seconds("start import"), lower_is_better=True),
    Target(
        "a new process's first step",
        1.5,
        None,
        _S,
        _seconds("start first step"),
        lower_is_better=True,
    ),
)


def target_json(report: Report) -> list[dict[str, Any]]:
    """Return every target with what was measured, as JSON values; None: not in this run."""
    found = []
    for target in TARGETS:
        value = target.measure(report)
        found.append(
            {
                "name": target.name,
                "at_least": target.at_least,
                "goal": target.goal,
                "unit": target.unit,
                "lower_is_better": target.lower_is_better,
                "measured": value,
                "met": None if value is None else target.is_met(value),
                "goal_met": None
                if value is None or target.goal is None
                else target.is_met(value, target.goal),
            }
        )
    return found
