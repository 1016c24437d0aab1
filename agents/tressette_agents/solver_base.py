"""What the solvers share: options, the memory of each thread, and the arrays that callers give."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tressette_agents.shared_work import SharedWork, whole_option
from tressette_env.cards import NUM_CARDS
from tressette_env.errors import DeckError, OptionError, shown

__all__ = ["TO_LEAD", "IntArray", "Ints", "Solver", "int_array", "led_array"]

TO_LEAD = -1  # in place of a led card, in arrays

_TABLE_BITS = (4, 24)

Ints = npt.ArrayLike
IntArray = npt.NDArray[np.int64]
Tables = TypeVar("Tables")


def int_array(name: str, values: Ints, dimensions: int = 1) -> IntArray:
    """Array int64 of what a caller gave under ``name``; raises ``OptionError``."""
    try:
        array = np.asarray(values)
        if array.size and array.dtype.kind not in "iu":
            raise TypeError
        shape = array.shape
        array = np.ascontiguousarray(array, np.int64)  # of one dimension at least
    except (TypeError, OverflowError, ValueError):
        expected = "a list of 64-bit integers"
        raise OptionError(f"{name}: expected {expected}, got {shown(values)}") from None
    if len(shape) != dimensions:
        expected = "one dimension" if dimensions == 1 else f"{dimensions} dimensions"
        raise OptionError(f"{name}: expected {expected}, got shape {shape}")
    return array


def led_array(led: int | None) -> IntArray:
    """Array of the one card that the opponent has led, or ``TO_LEAD`` for None."""
    if led is None:
        return np.array([TO_LEAD])
    array = int_array("led", [led])
    if array[0] == TO_LEAD:
        raise DeckError(f"led: expected a card number 0 to {NUM_CARDS - 1} or None, got {led}")
    return array


class Solver(SharedWork[Tables]):
    """Base of the solvers: remembers positions from call to call, apart in each thread.

    Several Python threads may use a solver; they wait for one another. A pickled or copied solver,
    and one in a forked process, remembers nothing.

    Parameters
    ----------
    table_bits : int
        Memory for ``2**table_bits`` positions a thread; 4 to 24.
    threads : int
        Threads that share a call's positions, 1 to 256. The results do not depend on it.

    Raises
    ------
    OptionError
        If an option is out of range.

    Attributes
    ----------
    rows_a_call : int
        Positions that compiled code solves at a time; Ctrl-C waits for so many.
    """

    rows_a_call = 4  # the dearest, ten tricks of four seats, take some tenths of a second each

    def __init__(self, table_bits: int, threads: int) -> None:
        self.table_bits = whole_option("table_bits", table_bits, *_TABLE_BITS)
        super().__init__(threads)

    @abstractmethod
    def new_part(self) -> Tables:
        """Return one thread's tables, empty."""

    def clear(self) -> None:
        """Forget all positions and the count of nodes."""
        self.forget()

    def _solve(
        self,
        kernel: Callable[[Tables, slice, IntArray], None],
        count: int,
        shape: tuple[int, ...] = (),
    ) -> IntArray:
        """Return what ``kernel(tables, rows, out)`` writes for all rows, int64[N, *shape]."""
        out = np.empty((count, *shape), np.int64)

        def work(tables: Tables, low: int, high: int) -> None:
            kernel(tables, slice(low, high), out[low:high])

        self.share(work, count, rows_a_call=self.rows_a_call)
        return out

    def _count(self, nodes: Callable[[Tables], Any]) -> int:
        return sum(int(nodes(tables)) for tables in self._parts)
