"""Options of the agents that search: what they have in common, how they are read and written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "DEFAULT_LEAF",
    "DEFAULT_ROLLOUT",
    "LEAVES",
    "ROLLOUTS",
    "SHARED_OPTIONS",
    "choice_option",
    "count_option",
    "number_option",
    "spec_text",
]

ROLLOUTS = ("counting", "greedy")  # quick rules that play worlds on
LEAVES = ("estimate", "play")  # two seats: what becomes of the tricks after the stock
DEFAULT_ROLLOUT = ROLLOUTS[0]
DEFAULT_LEAF = LEAVES[0]

_MAX_THREADS = 256

Reader = Callable[[str], Any]


def count_option(least: int, most: int) -> Callable[[str], int]:
    """Return the reader of an option that is a whole number within bounds."""

    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise ValueError(f"expected a whole number from {least} to {most}, got {text!r}")
        return int(text)

    return read


def number_option(least: float, most: float) -> Callable[[str], float]:
    """Return the reader of an option that is a number within bounds."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if not least <= number <= most:
            raise ValueError(f"expected a number from {least:g} to {most:g}, got {text!r}")
        return number

    return read


def choice_option(choices: tuple[str, ...]) -> Callable[[str], str]:
    """Return the reader of an option that is one of some words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}; got {text!r}")
        return text

    return read


SHARED_OPTIONS: dict[str, Reader] = {
    "rollout": choice_option(ROLLOUTS),
    "threads": count_option(1, _MAX_THREADS),
}


def spec_text(name: str, effort: dict[str, int], others: dict[str, tuple[Any, Any]]) -> str:
    """Write an agent's spec.

    Parameters
    ----------
    name : str
    effort : dict
        Options that are always written.
    others : dict
        For each other option its value and its default; written where they differ.
    """
    options: dict[str, Any] = dict(effort)
    options |= {key: value for key, (value, default) in others.items() if value != default}
    written = (
        f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
        for key, value in options.items()
    )
    return f"{name}:{','.join(written)}"
