"""Draw cards from a policy's logits; loads numba.

One pass over the legal cards of each row, in double precision: a network's illegal cards are never
looked at, so that masking costs nothing. Shapes: N decisions, A actions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env.cards import NUM_CARDS
from tressette_env.compiling import compiled
from tressette_env.errors import OptionError

__all__ = ["draw_cards"]


def draw_cards(
    logits: npt.NDArray[np.floating[Any]],
    legal_sets: npt.NDArray[np.int64],
    points: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Draw one legal card a row, with the probabilities of a softmax over the legal cards.

    Parameters
    ----------
    logits : float32[N, A] or float64[N, A]
    legal_sets : int64[N]
        Card sets, none empty.
    points : float64[N]
        Where in the cumulated probabilities each row's card lies, 0 to 1: uniform random numbers.

    Returns
    -------
    cards : int64[N]
    log_probabilities : float32[N]
        Of the cards that were drawn. Not finite where a legal card's logit is not; the card is
        legal all the same.

    Raises
    ------
    OptionError
        If the arrays are not of the same number of decisions.
    """
    count = len(legal_sets)
    if logits.shape != (count, NUM_CARDS) or points.shape != (count,):
        raise OptionError(
            f"draw_cards: expected logits of shape ({count}, {NUM_CARDS}) and {count} points for "
            f"{count} card sets, got {logits.shape} and {points.shape}"
        )
    drawn = np.empty(len(logits), np.int64)
    log_probabilities = np.empty(len(logits), np.float32)
    _draw(logits, legal_sets, points, drawn, log_probabilities)
    return drawn, log_probabilities


@compiled
def _draw(logits: Any, legal_sets: Any, points: Any, drawn: Any, log_probabilities: Any) -> None:
    weights = np.empty(NUM_CARDS, np.float64)
    for row in range(len(logits)):
        legal = legal_sets[row]
        top = -math.inf
        for card in range(NUM_CARDS):
            if legal >> card & 1:
                top = max(top, float(logits[row, card]))
        total = 0.0
        for card in range(NUM_CARDS):
            if legal >> card & 1:
                weights[card] = math.exp(float(logits[row, card]) - top)
                total += weights[card]
        # The first card whose cumulated weight exceeds the point; rounding may leave none, and
        # then it is the last one that has a weight.
        left = points[row] * total
        chosen = -1
        for card in range(NUM_CARDS):
            if legal >> card & 1 and (chosen < 0 or weights[card] > 0):
                chosen = card
                left -= weights[card]
                if left < 0:
                    break
        drawn[row] = chosen
        log_probabilities[row] = float(logits[row, chosen]) - top - math.log(total)
