"""Checks of what ``BatchTable`` is given: one line says what was expected and what came.

Shapes: B tables, A actions, F features, N chosen tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env.cards import NUM_CARDS
from tressette_env.deals import check_deck, check_leader
from tressette_env.errors import OptionError, as_array, shown
from tressette_env.rulesets import RuleSet

__all__ = [
    "MAX_DEAL",
    "check_card",
    "check_cards",
    "check_count",
    "check_masks",
    "check_observations",
    "check_seats",
    "check_sets",
    "check_tables",
    "deal_list",
]

MAX_DEAL = (1 << 60) - 1  # numbers of a seed from here on serve other purposes
_INT64 = np.dtype(np.int64)
_TO_ACT = np.empty(0, np.int64)  # in place of seats: those to act


def check_cards(cards: npt.ArrayLike, count: int) -> npt.NDArray[np.int64]:
    """Return cards as a contiguous, writeable int64[count]; whether they are legal is not asked."""
    if type(cards) is np.ndarray and cards.dtype is _INT64 and cards.shape == (count,):
        return _as_compiled(cards)
    array = as_array(cards, "cards")
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise OptionError(
            f"cards: expected an integer array of shape ({count},), one card a table; "
            f"got {array.dtype}{array.shape}"
        )
    if array.dtype == np.uint64:  # no number wraps round to a card
        array = np.minimum(array, np.uint64(MAX_DEAL))
    return np.array(array, np.int64)


def check_card(card: object) -> int:
    """Return one card as an int; whether it is legal is not asked."""
    if not isinstance(card, (int, np.integer)) or isinstance(card, bool):
        raise OptionError(f"card: expected an integer, got {shown(card)}")
    return int(card)


def check_tables(tables: npt.ArrayLike, count: int) -> npt.NDArray[np.int64]:
    """Return ascending numbers of some of ``count`` tables, int64[N]."""
    array = as_array(tables, "tables")
    fits = array.ndim == 1 and array.dtype.kind in "iu"
    if not fits or not ((array >= 0) & (array < count)).all() or _repeats(array):
        raise OptionError(
            f"tables: expected ascending table numbers from 0 to {count - 1}, got {shown(tables)}"
        )
    return _as_compiled(np.ascontiguousarray(array, np.int64))


def check_seats(
    seats: npt.NDArray[np.integer[Any]] | None, count: int, rules: RuleSet
) -> npt.NDArray[np.int64]:
    """Return seats as int64[count]; of None an empty array, for those to act."""
    if seats is None:
        return _TO_ACT
    array = as_array(seats, "seats")
    in_range = array.dtype.kind in "iu" and bool(((array >= 0) & (array < rules.seats)).all())
    if array.shape != (count,) or not in_range:
        raise OptionError(
            f"seats: expected integers 0 to {rules.seats - 1} of shape ({count},), "
            f"got {array.dtype}{array.shape}"
        )
    return _as_compiled(np.ascontiguousarray(array, np.int64))


def _as_compiled(array: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Copy an array that is read-only or not contiguous: numba would compile for it anew."""
    return array if array.flags.carray else array.copy()


def check_sets(out: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
    """Return an array int64[count] that can be filled with card sets."""
    if not isinstance(out, np.ndarray) or out.dtype != np.int64 or not _is_plain(out):
        raise OptionError(f"out: expected a contiguous, aligned array of int64, got {shown(out)}")
    if out.shape != (count,):
        raise OptionError(f"out: expected shape ({count},), got {out.shape}")
    return out


def check_observations(
    out: npt.NDArray[np.int8] | None, count: int, size: int
) -> npt.NDArray[np.int8]:
    """Return an array int8[count, size] that can be filled with words; of None a new one."""
    if out is None:
        return np.empty((count, size), np.int8)
    _check_bytes(out, "observations", np.dtype(np.int8), (count, size))
    return out


def check_masks(masks: npt.NDArray[np.bool_], count: int) -> npt.NDArray[np.bool_]:
    """Return an array bool[count, A] that can be filled with words."""
    _check_bytes(masks, "masks", np.dtype(np.bool_), (count, NUM_CARDS))
    return masks


def _check_bytes(
    out: npt.NDArray[Any], name: str, dtype: np.dtype[Any], shape: tuple[int, int]
) -> None:
    expected = f"{dtype}{shape}"
    if not isinstance(out, np.ndarray):
        raise OptionError(f"{name}: expected an array {expected}, got {shown(out)}")
    if out.shape != shape or out.dtype != dtype or not _is_plain(out):
        raise OptionError(
            f"{name}: expected a contiguous, aligned array {expected}, got {out.dtype}{out.shape}"
        )


def check_count(name: str, value: object) -> int:
    """Return an integer from 1 up."""
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_integer or int(value) < 1:  # type: ignore[call-overload]
        raise OptionError(f"{name}: expected an integer from 1 up, got {value!r}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def _repeats(tables: npt.NDArray[np.integer[Any]]) -> bool:
    return bool((tables[1:] <= tables[:-1]).any())


def _is_plain(array: npt.NDArray[Any]) -> bool:
    """Whether an array of bytes can be written as 64-bit words."""
    return array.flags.c_contiguous and array.flags.writeable and array.ctypes.data % 8 == 0


def deal_list(
    deals: Iterable[tuple[Iterable[int], int]] | None, rules: RuleSet
) -> npt.NDArray[np.int64]:
    """Return decks, each with its leader last, int64[N, deck size + 1]; of None no rows."""
    if deals is None:
        return np.empty((0, rules.deck_size + 1), np.int64)
    if not isinstance(deals, Iterable):
        raise OptionError(f"deals: expected pairs of a deck and a leader, got {shown(deals)}")
    rows = []
    for number, entry in enumerate(deals):
        if not isinstance(entry, tuple | list) or len(entry) != 2:
            raise OptionError(
                f"deals: expected a pair of a deck and a leader as deal {number}, "
                f"got {shown(entry)}"
            )
        deck, leader = entry
        seat = check_leader(leader, rules, f"deals: leader of deal {number}")
        rows.append([*check_deck(deck, rules), seat])
    if not rows:
        raise OptionError("deals: expected at least one deal, got none")
    return np.array(rows, np.int64)
