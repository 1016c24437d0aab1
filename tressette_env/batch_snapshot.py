"""A batch of tables at one moment, to go on from later or elsewhere. Shapes: B tables."""

from __future__ import annotations

import dataclasses
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env.errors import OptionError, shown
from tressette_env.randomness import check_seed
from tressette_env.rulesets import RuleSet
from tressette_env.state import STATE_DTYPE

__all__ = ["BatchSnapshot"]


@dataclass(frozen=True, eq=False)
class BatchSnapshot:
    """What a ``BatchTable`` needs to go on as if nothing had happened.

    Attributes
    ----------
    states : STATE_DTYPE[2, B]
        The tables; and for each of them the end of its last finished episode.
    rules : RuleSet
    episode : str
        "deal" or "match".
    seed : int
        Whose deals come next.
    listed : int64[N, deck + 1]
        The list of decks and leaders that they come from instead; N is 0 without one.
    """

    states: npt.NDArray[np.void]
    rules: RuleSet
    episode: str
    seed: int
    listed: npt.NDArray[np.int64] = field(repr=False)
    _seal: int | None = field(default=None, init=False, repr=False)

    def seal(self) -> BatchSnapshot:
        """Note what a table gave, so that it need not be checked again while it is the same."""
        object.__setattr__(self, "_seal", self._sum())
        return self

    def _sum(self) -> int:
        return zlib.crc32(self.listed.data, zlib.crc32(self.states.view(np.uint8).data))

    def check(self, num_tables: int, rules: RuleSet, episode: str) -> None:
        """Raise ``OptionError`` unless tables of that number and kind can go on from here."""
        if (
            self._seal is not None
            and (self.rules, self.episode) == (rules, episode)
            and self.states.shape == (2, num_tables)
            and self._seal == self._sum()
        ):
            return
        states = self.states
        if not isinstance(states, np.ndarray) or states.dtype != STATE_DTYPE:
            raise OptionError(f"snapshot: expected states of this version, got {shown(states)}")
        if states.shape != (2, num_tables):
            raise OptionError(
                f"snapshot: expected one of {num_tables} tables, got one of {states.shape[-1]}"
            )
        differences = [
            f"{name} {getattr(self.rules, name)!r} there, {getattr(rules, name)!r} here"
            for name in (one.name for one in dataclasses.fields(RuleSet))
            if name not in ("name", "source", "deck")
            and getattr(self.rules, name) != getattr(rules, name)
        ]
        if self.rules.deck != rules.deck:
            differences.append(f"a deck of {len(self.rules.deck)} cards there")
        if self.episode != episode:
            differences.append(f"episode {self.episode!r} there, {episode!r} here")
        if differences:
            raise OptionError(
                f"snapshot: expected one of rules {rules.name!r}, got one of "
                f"{self.rules.name!r}: {'; '.join(differences)}; a table keeps its rules"
            )
        in_range = (
            _within(states["turn"], rules.seats - 1)
            & _within(states["leader"], rules.seats - 1)
            & _within(states["dealer"], rules.seats - 1)
            & _within(states["ply"][0], rules.deck_size - 1)  # what is over has been dealt anew
            & _within(states["ply"][1], rules.deck_size)
            & bool((states["hands"] & ~rules.deck_set == 0).all())
            & _within(states["drawn"], rules.stock_size)
            & _within(states["plays"], 39)
            & bool((states["plays"] * (np.arange(40) >= states["ply"][..., None]) == 0).all())
            & _within(states["stock"], 39)
        )
        if not in_range:
            raise OptionError("snapshot: expected states that a table had, got some out of range")
        check_seed(self.seed, "snapshot: seed")
        if not _are_deals(self.listed, rules):
            raise OptionError(
                f"snapshot: expected the list of deals that a table had, got {shown(self.listed)}"
            )


def _are_deals(listed: object, rules: RuleSet) -> bool:
    """Whether these are decks of the rules, int64[N, deck size + 1], each with its leader last."""
    if not isinstance(listed, np.ndarray) or listed.dtype != np.int64:
        return False
    if listed.ndim != 2 or listed.shape[1] != rules.deck_size + 1:
        return False
    decks = np.sort(listed[:, :-1], axis=1)
    return bool((decks == rules.deck).all()) and _within(listed[:, -1], rules.seats - 1)


def _within(values: npt.NDArray[Any], most: int) -> bool:
    return bool((values >= 0).all() and (values <= most).all())
