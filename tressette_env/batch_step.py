"""What one card at every table of a batch brought. Shapes: B tables."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
    """What one ``BatchTable.play`` brought.

    Attributes
    ----------
    rows : STEP_DTYPE[B]
        The fields below are views of it.
    """

    __slots__ = ("rows",)

    def __init__(self, rows: npt.NDArray[np.void]) -> None:
        self.rows = rows

    @property
    def thirds(self) -> npt.NDArray[np.int32]:
        """Thirds each side has taken in the deal, int32[B, 2]; final where it just ended."""
        return self.rows["thirds"]

    @property
    def is_over(self) -> npt.NDArray[np.bool_]:
        """Whether the table's episode ended with this card, bool[B]; it has been dealt anew."""
        return self.rows["is_over"]

    @property
    def margins(self) -> npt.NDArray[np.int32]:
        """Where the episode ended, the margin of side 0, int32[B]; elsewhere 0.

        With ``episode="deal"`` in the house's unit (points or thirds, R11 and R12), with
        ``episode="match"`` +1, -1 or 0.
        """
        return self.rows["margin"]

    @property
    def seats(self) -> npt.NDArray[np.int8]:
        """Seats that are to act next, int8[B]."""
        return self.rows["seat"]

    @property
    def legal_sets(self) -> npt.NDArray[np.int64]:
        """Card sets that those seats may play, int64[B]."""
        return self.rows["legal"]
