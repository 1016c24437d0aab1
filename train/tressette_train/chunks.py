"""What an evaluation plays, piece by piece: chunks of deals, and when it looks at what it has.

The pieces do not depend on how many processes play them, nor on what was played before: the same
pieces give the same result, in whatever order they come back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tressette_train.match_play import PairedDeals

__all__ = ["Chunk", "Player", "cut", "looks"]

_FIRST_LOOK = 256  # deals; fewer say little of how much margins spread


@dataclass(frozen=True)
class Chunk:
    """Deals ``start`` to ``stop - 1`` of a pairing."""

    pairing: int
    start: int
    stop: int


class Player(Protocol):
    """Plays chunks."""

    def __call__(
        self, chunks: Sequence[Chunk], on_progress: Callable[[int], None]
    ) -> Iterator[tuple[Chunk, PairedDeals]]:
        """Yield each chunk's deals as soon as they are played, in any order."""
        ...


def cut(pairings: int, start: int, stop: int, size: int) -> list[Chunk]:
    """Cut deals ``start`` to ``stop - 1`` of every pairing into chunks, in their order."""
    return [
        Chunk(pairing, low, min(low + size, stop))
        for pairing in range(pairings)
        for low in range(start, stop, size)
    ]


def looks(deals: int) -> list[int]:
    """Numbers of deals at which to see whether they are enough: half as many more each time."""
    stops = [min(_FIRST_LOOK, deals)]
    while stops[-1] < deals:
        more = -(-3 * stops[-1] // 2)
        stops.append(min(deals, -(-more // 64) * 64))  # even pieces for batches of 64
    return stops
