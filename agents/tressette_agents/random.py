"""``random``: any legal card, each equally likely."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env import cards, randomness
from tressette_env.cards import bit_count
from tressette_env.policies import Agent, parse_options
from tressette_env.randomness import random_word
from tressette_env.rulesets import RuleSet
from tressette_env.view import View

__all__ = ["RandomAgent", "make", "random_card"]


def random_card(view: Any, seed: int) -> int:
    """Legal card drawn uniformly with the decision's seed, interpreted or compiled.

    With n legal cards a card's probability is off by less than ``n / 2**32``.

    Parameters
    ----------
    view : View or record of VIEW_DTYPE
    seed : int
    """
    place = (random_word(seed, 0) & 0xFFFFFFFF) * bit_count(view.legal) >> 32
    for card in range(40):
        if view.legal >> card & 1:
            if place == 0:
                return card
            place -= 1
    return -1


def _random_cards(views: Any, seeds: Any, out: Any) -> None:
    for row in range(len(views)):
        out[row] = random_card(views[row], seeds[row])


@cache
def _compiled() -> Callable[..., None]:
    from tressette_env.compiling import compiled  # loads numba

    return compiled(_random_cards, sys.modules[__name__], cards, randomness)


class RandomAgent(Agent):
    """Plays any legal card; plays every house."""

    spec = "random"

    def act(self, view: View, seed: int) -> int:
        """Return a card from one view, interpreted."""
        return random_card(view, seed)

    def act_batch(
        self, views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return a card for each view, compiled."""
        chosen = np.empty(len(views), np.int64)
        _compiled()(np.ascontiguousarray(views), np.ascontiguousarray(seeds, np.int64), chosen)
        return chosen

    def probabilities(self, views: npt.NDArray[np.void], rules: RuleSet) -> npt.NDArray[np.float64]:
        """Return the same probability for every legal card; see ``random_card`` for how nearly."""
        legal = views["legal"][:, None] >> np.arange(rules.num_actions) & 1
        return np.asarray(legal / legal.sum(1, keepdims=True), np.float64)


def make(options: str) -> RandomAgent:
    """Make the agent of a spec ``random``; it has no options."""
    parse_options("random", options, {})
    return RandomAgent()
