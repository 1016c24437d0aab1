"""Many views or card sets as arrays for a network. Shapes: B views, A actions, F features."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env import kernels_views
from tressette_env.cards import NUM_CARDS
from tressette_env.observation import Layout
from tressette_env.rules import side_of
from tressette_env.rulesets import RuleSet

__all__ = ["encode_views", "masks_of", "sides_of"]

_SIDE_OF_SEAT = np.array([side_of(seat) for seat in range(4)], np.int64)


def sides_of(seats: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """``rules.side_of`` of seats (int[B]), int64[B], a new array."""
    sides: npt.NDArray[np.int64] = _SIDE_OF_SEAT[seats]
    return sides


def masks_of(sets: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Card sets (int64[B]) as legal masks, bool[B, A], a new array."""
    masks = np.empty((len(sets), NUM_CARDS), np.bool_)
    kernels_views.spread_sets(np.ascontiguousarray(sets), masks.view(np.int64))
    return masks


def encode_views(
    views: npt.NDArray[np.void], rules: RuleSet, layout: Layout
) -> npt.NDArray[np.int8]:
    """Return the observations of views (VIEW_DTYPE[B]), int8[B, F], a new array."""
    out = np.empty((len(views), layout.size), np.int8)
    kernels_views.encode_views(
        np.ascontiguousarray(views), rules.row, layout.places, out.view(np.int64)
    )
    return out
