"""Every error the kit raises for a user's mistake: one family, each also a ``ValueError``.

A message says what was expected, what came, where, and how to go on.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = [
    "AgentFailedError",
    "AgentSpecError",
    "ConfigError",
    "DeckError",
    "IllegalCardError",
    "NotationError",
    "OptionError",
    "PolicyFileError",
    "RulesError",
    "RunFolderError",
    "StepOrderError",
    "TressetteError",
    "as_array",
    "did_you_mean",
    "shown",
]


class TressetteError(ValueError):
    """Base of all errors raised by the kit for bad input."""


class RulesError(TressetteError):
    """An unknown preset, a contradictory rule set, or one that cannot be played yet."""


class DeckError(TressetteError):
    """A deck that is not exactly the cards of its rule set."""


class OptionError(TressetteError):
    """An argument or reset option that is unknown or out of range."""


class StepOrderError(TressetteError):
    """A step before the first reset or after the end."""


class IllegalCardError(TressetteError):
    """A card that may not be played now; the state is unchanged.

    Attributes
    ----------
    legal : tuple of int
        The card numbers that may be played instead.
    record : str
        The deal so far, as ``notation.parse_record`` and ``tressette replay`` read it.
    """

    def __init__(self, message: str, legal: tuple[int, ...] = (), record: str = "") -> None:
        super().__init__(message)
        self.legal = legal
        self.record = record


class NotationError(TressetteError):
    """A text that is not a card, hand, deck or record.

    Attributes
    ----------
    line, column : int
        Where reading failed, both counted from 1.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.reason = message
        self.line = line
        self.column = column


class AgentFailedError(TressetteError):
    """An agent that raised, or answered something that is not a legal card for each view.

    Attributes
    ----------
    row : int
        Which of the views it was asked about.
    """

    def __init__(self, message: str, row: int = 0) -> None:
        super().__init__(message)
        self.row = row


class AgentSpecError(TressetteError):
    """An agent spec string that names no agent or an unknown option."""


class ConfigError(TressetteError):
    """A training config with an unknown key, a wrong type or an impossible value."""


class PolicyFileError(TressetteError):
    """A policy file that is missing, damaged, or made for other rules or observations."""


class RunFolderError(TressetteError):
    """A run folder that cannot be written or holds another run."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the closest known word, else an empty string."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def as_array(values: object, name: str) -> np.ndarray[Any, Any]:
    """Return ``np.asarray(values)``; rows of different lengths are an ``OptionError``."""
    try:
        return np.asarray(values)
    except (ValueError, TypeError, RuntimeError):
        raise OptionError(f"{name}: expected an array, got {shown(values)}") from None


def shown(value: object) -> str:
    """Return ``repr(value)`` on one line of at most 80 characters, for a message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
