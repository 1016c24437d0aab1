"""Advantages: each seat's decisions are a sequence of their own.

A seat's next decision may come at once, because it won the trick and leads again, or after cards of
all the others. Every reward in between is its own, with its side's sign: partners share a sign,
opponents flip it. Shapes: T plies, B tables.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tressette_env.batch_views import sides_of

__all__ = ["generalized_advantages"]


def generalized_advantages(
    seats: npt.NDArray[np.int8],
    rewards: npt.NDArray[np.float32],
    values: npt.NDArray[np.float32],
    is_over: npt.NDArray[np.bool_],
    num_seats: int,
    gae_lambda: float,
) -> npt.NDArray[np.float32]:
    """Generalized advantage estimates with gamma 1, along each seat's own decisions.

    For a seat's decisions i = 1, 2, ... in a deal, with R(i) the rewards of its side from decision
    i until just before decision i + 1 (the last: to the end of the deal) and V after the last 0::

        delta(i) = R(i) + V(i + 1) - V(i)        A(i) = delta(i) + lambda A(i + 1)

    J. Schulman and others, "High-dimensional continuous control using generalized advantage
    estimation", arXiv 1506.02438, equation 16.

    Parameters
    ----------
    seats : int8[T, B]
        Seat that decided.
    rewards : float32[T, B]
        Reward of side 0 (seats 0 and 2) for what the card brought; side 1 gets the negative.
    values : float32[T, B]
        The critic's value for the seat that decided.
    is_over : bool[T, B]
        Whether the deal ended with the card. The last ply ends a deal at every table.
    num_seats : int
    gae_lambda : float

    Returns
    -------
    float32[T, B]
        ``advantages + values`` are the targets of the critic.
    """
    num_plies, num_tables = seats.shape
    tables = np.arange(num_tables)
    signs = (1 - 2 * sides_of(np.arange(num_seats))).astype(np.float32)
    # For each table and seat, about its next decision in time; going backwards.
    next_values = np.zeros((num_tables, num_seats), np.float32)
    next_advantages = np.zeros((num_tables, num_seats), np.float32)
    rewards_until_next = np.zeros((num_tables, num_seats), np.float32)
    advantages = np.empty((num_plies, num_tables), np.float32)
    for ply in range(num_plies - 1, -1, -1):
        over = is_over[ply]
        next_values[over] = 0.0
        next_advantages[over] = 0.0
        rewards_until_next[over] = 0.0
        rewards_until_next += rewards[ply][:, None] * signs
        decider = (tables, seats[ply].astype(np.intp))
        delta = rewards_until_next[decider] + next_values[decider] - values[ply]
        advantages[ply] = delta + gae_lambda * next_advantages[decider]
        next_values[decider] = values[ply]
        next_advantages[decider] = advantages[ply]
        rewards_until_next[decider] = 0.0
    return advantages
