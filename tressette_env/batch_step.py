"""What one card at every table of a batch brought. Shapes: B tables."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tressette_env.errors import OptionError, shown

__all__ = ["STEP_DTYPE", "BatchStep"]

STEP_DTYPE = np.dtype(
    [
        ("legal", np.int64),
        ("thirds", np.int32, 2),
        ("margin", np.int32),
        ("seat", np.int8),
        ("is_over", np.bool_),
    ],
    align=True,
)


class BatchStep:
    """What one card at every table brought.

    Attributes
    ----------
    rows : STEP_DTYPE[B]
        The fields below are views of it; ``play`` writes into it.
    thirds : int32[B, 2]
        Thirds each side has taken in the deal; final where it just ended.
    is_over : bool[B]
        Whether the table's episode ended with this card; it has been dealt anew.
    margins : int32[B]
        Where the episode ended, by how much side 0 did better, where less wins (R19) with less;
        elsewhere 0. With ``episode="deal"`` in the house's unit (points or thirds, R11 and R12),
        with ``episode="match"`` +1, -1 or 0.
    seats : int8[B]
        Seats that are to act next.
    legal_sets : int64[B]
        Card sets that those seats may play.

    Raises
    ------
    OptionError
        If ``rows`` is of another type, not contiguous or not aligned, or cannot be written.
    """

    __slots__ = ("is_over", "legal_sets", "margins", "rows", "seats", "thirds")

    def __init__(self, rows: npt.NDArray[np.void]) -> None:
        flags = rows.flags
        if rows.dtype != STEP_DTYPE or not (flags.carray and rows.ndim == 1):
            raise OptionError(
                "rows: expected an array STEP_DTYPE[B] that is contiguous, aligned and can be "
                f"written, got {shown(rows.dtype)}{rows.shape}"
            )
        self.rows = rows
        self.thirds: npt.NDArray[np.int32] = rows["thirds"]
        self.is_over: npt.NDArray[np.bool_] = rows["is_over"]
        self.margins: npt.NDArray[np.int32] = rows["margin"]
        self.seats: npt.NDArray[np.int8] = rows["seat"]
        self.legal_sets: npt.NDArray[np.int64] = rows["legal"]
