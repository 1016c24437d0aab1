"""Options of the agents that search: what they have in common, how they are read and written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tressette_agents.shared_work import MAX_THREADS
from tressette_env.errors import OptionError, shown

__all__ = [
    "DEFAULT_LEAF",
    "DEFAULT_ROLLOUT",
    "LEAVES",
    "ROLLOUTS",
    "SHARED_OPTIONS",
    "checked_option",
    "choice_option",
    "count_option",
    "number_option",
    "spec_text",
]

ROLLOUTS = ("counting", "greedy")  # quick rules that play worlds on
LEAVES = ("estimate", "play")  # two seats: what becomes of the tricks after the stock
DEFAULT_ROLLOUT = ROLLOUTS[0]
DEFAULT_LEAF = LEAVES[0]

_MAX_DIGITS = 20

Reader = Callable[[str], Any]


def count_option(least: int, most: int) -> Callable[[str], int]:
    """Return the reader of an option that is a whole number within bounds."""

    def read(text: str) -> int:
        # Python refuses to read thousands of digits; the first few say that it is out of range.
        is_number = text.isascii() and text.isdigit()
        if not is_number or not least <= int(text[:_MAX_DIGITS]) <= most:
            raise ValueError(f"expected a whole number from {least} to {most}, got {shown(text)}")
        return int(text[:_MAX_DIGITS])

    return read


def number_option(least: float, most: float) -> Callable[[str], float]:
    """Return the reader of an option that is a number within bounds."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except (ValueError, TypeError, OverflowError):  # the last two: given in Python
            number = float("nan")
        if not least <= number <= most:
            raise ValueError(f"expected a number from {least:g} to {most:g}, got {shown(text)}")
        return number

    return read


def choice_option(choices: tuple[str, ...]) -> Callable[[str], str]:
    """Return the reader of an option that is one of some words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}; got {shown(text)}")
        return text

    return read


def checked_option(name: str, value: Any, read: Reader) -> Any:
    """Return an option given in Python as the reader of its spec returns it, or ``OptionError``."""
    try:
        return read(value)
    except ValueError as error:
        raise OptionError(f"{name}: {error}") from None


SHARED_OPTIONS: dict[str, Reader] = {
    "rollout": choice_option(ROLLOUTS),
    "threads": count_option(1, MAX_THREADS),
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
    written = ",".join(f"{key}={_written(value)}" for key, value in options.items())
    return f"{name}:{written}"


def _written(value: Any) -> str:
    """Return the shortest text that is read as the same value."""
    return repr(float(value)).removesuffix(".0") if isinstance(value, float) else str(value)
