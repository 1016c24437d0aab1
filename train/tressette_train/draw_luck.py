"""How lucky the draws of a deal were, by a critic: what is taken from a margin to know it better.

When a trick is over and n cards are left, the winner draws one of them and the other seat another
(R8). Given both hands and all that was played, each of the ``n (n - 1)`` ordered pairs is as
likely, for decks are shuffled evenly and no agent sees the stock. So

    ``luck = value(after the cards drawn) - mean over all pairs of value(after those cards)``

has the mean zero, whatever the critic says: the better it judges, the more of the margin's variance
goes with it, but never anything of its mean. (The chance part of AIVAT: N. Burch, M. Schmid,
M. Moravcik, D. Morrill and M. Bowling, "AIVAT: A new variance reduction technique for agent
evaluation in imperfect information games", AAAI 2018.)

The compiled loop; loads numba. Shapes: B tables, H units of the critic.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env import cards
from tressette_env.cards import NUM_SUITS, strength_of, suit_of
from tressette_env.compiling import compiled
from tressette_env.rulesets import RuleSet
from tressette_train.critic import Critic

__all__ = ["draw_luck", "luck_of_tables"]


def draw_luck(
    states: npt.NDArray[np.void], rules: RuleSet, critic: Critic
) -> npt.NDArray[np.float64]:
    """Thirds that the draws just made gave side 0 beyond what was to be expected, float64[B].

    Parameters
    ----------
    states : STATE_DTYPE[B]
        Two seats, right after the draws: a trick is over, no card of the next one is played.
    rules : RuleSet
    critic : Critic
    """
    out = np.empty(len(states))
    luck_of_tables(states, rules.stock_size, *critic.weights, out)
    return out


def _add_card(pre: Any, card: int, suit: Any, deck_wide: Any, sign: float) -> None:
    """Add a card of one owner to what the units see (``pre``: float64[4, H])."""
    for every in range(NUM_SUITS):
        for unit in range(pre.shape[1]):
            pre[every, unit] += sign * deck_wide[strength_of(card), unit]
    for unit in range(pre.shape[1]):
        pre[suit_of(card), unit] += sign * suit[strength_of(card), unit]


def _value(pre: Any, first: Any, second: Any, output: Any) -> float:
    """Value with two changes to what the units see, but for the constant."""
    total = 0.0
    for suit in range(NUM_SUITS):
        for unit in range(pre.shape[1]):
            seen = pre[suit, unit] + first[suit, unit] + second[suit, unit]
            total += output[unit] * max(seen, 0.0)
    return total


def _luck_of_tables(
    states: Any, stock_size: int, bias: Any, output: Any, suit: Any, deck_wide: Any, out: Any
) -> None:
    """Fill ``out`` as ``draw_luck`` says."""
    shape = (NUM_SUITS, bias.shape[1])
    pre = np.empty(shape)
    drawn = np.empty((2, stock_size, *shape))  # what it changes if the winner, the other draws it
    for row in range(len(states)):
        state = states[row]
        left = stock_size - state.drawn
        choice = state.stock[state.drawn - 2 : stock_size]  # the two cards drawn come first
        phase = left // 2
        pre[:] = bias[phase]
        for owner in range(2):
            hand = state.hands[state.leader ^ owner] & ~(1 << choice[owner])
            for card in range(cards.NUM_CARDS):
                if hand >> card & 1:
                    _add_card(pre, card, suit[owner], deck_wide[owner], 1.0)
        drawn[:] = 0.0
        for place in range(left + 2):
            card = choice[place]
            _add_card(pre, card, suit[2], deck_wide[2], 1.0)
            for owner in range(2):
                _add_card(drawn[owner, place], card, suit[owner], deck_wide[owner], 1.0)
                _add_card(drawn[owner, place], card, suit[2], deck_wide[2], -1.0)
        total = 0.0
        for first in range(left + 2):
            for second in range(left + 2):
                if first != second:
                    total += _value(pre, drawn[0, first], drawn[1, second], output[phase])
        value = _value(pre, drawn[0, 0], drawn[1, 1], output[phase])
        luck = value - total / ((left + 2) * (left + 1))
        out[row] = -luck if state.leader else luck


luck_of_tables = compiled(_luck_of_tables, sys.modules[__name__], cards)
