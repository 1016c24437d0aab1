"""The random numbers of many decisions at once. Shapes: N decisions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tressette_env import kernels_random

__all__ = ["decision_seeds"]


def decision_seeds(
    seed: int, deal_numbers: npt.NDArray[np.int64], plies: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """``randomness.decision_seed`` for many decisions from one agent's seed.

    Parameters
    ----------
    seed : int
    deal_numbers, plies : int64[N]

    Returns
    -------
    int64[N], a new array.
    """
    out = np.empty(len(deal_numbers), np.int64)
    kernels_random.decision_seeds(seed, deal_numbers, plies, out)
    return out
