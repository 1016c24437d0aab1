"""The random numbers of many decisions at once; importing this module loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env import policies, randomness
from tressette_env.compiling import compiled

__all__ = ["decision_seeds"]


def _fill(seed: int, deal_numbers: Any, plies: Any, out: Any) -> None:
    for row in range(len(out)):
        out[row] = policies.decision_seed(seed, deal_numbers[row], plies[row])


_compiled_fill = compiled(_fill, policies, randomness)


def decision_seeds(
    seed: int, deal_numbers: npt.NDArray[np.int64], plies: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """``policies.decision_seed`` for many decisions from one agent's seed.

    Parameters
    ----------
    seed : int
    deal_numbers, plies : int64[B]

    Returns
    -------
    int64[B], a new array.
    """
    out = np.empty(len(deal_numbers), np.int64)
    _compiled_fill(seed, deal_numbers, plies, out)
    return out
