"""Played deals as JSON values, and back with everything checked: rows of results and of records."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env.errors import TressetteError, shown
from tressette_env.rulesets import RuleSet
from tressette_train.match_play import PairedDeals

__all__ = ["LUCK", "ROWS", "RowsError", "rows_from_json", "rows_to_json"]

LUCK = "luck_thirds"
STOCK = "stock_thirds"
ROWS = ("margins_thirds", "margins_house", "leads", LUCK, STOCK)


_DTYPES: dict[type, npt.DTypeLike] = {int: np.int64, bool: np.bool_, float: np.float64}
_WHAT = {
    int: "two integers from -{0} to {0}",
    bool: "true and false",
    float: "two finite fractions",
}


class RowsError(TressetteError):
    """Rows that cannot have been played; the message begins with the place, like ``leads[3]``."""


def rows_to_json(paired: PairedDeals) -> dict[str, list[list[int | bool | float]]]:
    """Return the deals as JSON values, as far as known: two a deal, one for each seating."""
    rows = {name: getattr(paired, name) for name in ROWS}
    return {name: array.tolist() for name, array in rows.items() if array is not None}


def rows_from_json(
    values: dict[str, Any], deals: int, rules: RuleSet, with_luck: bool = False
) -> PairedDeals:
    """Read what ``rows_to_json`` has returned.

    Parameters
    ----------
    values : dict
    deals : int
    rules : RuleSet
    with_luck : bool
        Whether a critic said how lucky the draws were. Older files do not say how the deals stood
        when the stock ran out.

    Raises
    ------
    RowsError
        If the rows are not one for each deal, not two values of the type, or impossible.
    """
    total = rules.total_thirds
    thirds = _read(values, "margins_thirds", deals, int, total)
    house = _read(values, "margins_house", deals, int, total)
    leads = _read(values, "leads", deals, bool, 1)
    luck = _read(values, LUCK, deals, float, sys.float_info.max) if with_luck else None
    stock = _read(values, STOCK, deals, int, total) if STOCK in values else None
    wrong = ((thirds - total) % 2 != 0).any(1), leads[:, 0] == leads[:, 1]
    expected = f"margins that leave {total} thirds whole", "one true, the other false"
    for name, rows, what in zip(("margins_thirds", "leads"), wrong, expected, strict=True):
        if rows.any():
            row = int(np.argmax(rows))
            raise RowsError(f"{name}[{row}]: expected {what}, got {shown(values[name][row])}")
    return PairedDeals(thirds, house, leads, luck, stock)


def _read(
    values: dict[str, Any], name: str, deals: int, kind: type, most: float
) -> npt.NDArray[Any]:
    rows = values.get(name)
    if not isinstance(rows, list) or len(rows) != deals:
        count = f"{len(rows)} of them" if isinstance(rows, list) else shown(rows)
        raise RowsError(f"{name}: expected {deals} rows, one for each deal, got {count}")
    for number, row in enumerate(rows):
        is_pair = isinstance(row, list) and [type(value) for value in row] == [kind, kind]
        if not is_pair or not all(abs(value) <= most for value in row):
            what = _WHAT[kind].format(most)
            raise RowsError(f"{name}[{number}]: expected {what}, got {shown(row)}")
    return np.array(rows, _DTYPES[kind])
