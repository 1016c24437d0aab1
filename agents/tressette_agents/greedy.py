"""``greedy``: one trick at a time, by three rules of thumb.

1. *Leading*: the dearest master; without a master, the cheapest card. A master is a card that no
   card in another hand or in the stock beats, by counting: whoever leads it takes the trick.
2. *Following, points on the table*: the cheapest card that wins as the trick stands; but not over
   a partner's card if that is a master, or if no one plays after (four seats).
3. *Otherwise*: the cheapest card; one that leaves a trick that is surely the partner's there.

Cheapest means least worth, then least strength, then the first suit; dearest means most worth, then
most strength, then the last suit. The last trick's own three thirds change nothing: there is only
one card left to play. The agent takes points, also in a house where less wins (R19).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env import cards
from tressette_env.cards import card_worth, strength_of, suit_of, suit_set
from tressette_env.policies import Agent, parse_options
from tressette_env.rulesets import RuleSet
from tressette_env.view import View

__all__ = ["GreedyAgent", "cheapest", "dearest", "greedy_card", "is_master", "make"]

_PARTNER = 2  # relative seat, with four seats


def _price(card: int) -> int:
    return 10 * card_worth(card) + strength_of(card)


def cheapest(choice: int) -> int:
    """Card of a set with the least worth, then least strength, then lowest number; -1 if empty."""
    best = -1
    for card in range(40):
        if choice >> card & 1 and (best < 0 or _price(card) < _price(best)):
            best = card
    return best


def dearest(choice: int) -> int:
    """Card of a set with the most worth, then most strength, then highest number; -1 if empty."""
    best = -1
    for card in range(40):
        if choice >> card & 1 and (best < 0 or _price(card) >= _price(best)):
            best = card
    return best


def stronger(card: int) -> int:
    """Set of the cards that beat a card of the suit led: the stronger ones of its suit (R7)."""
    return suit_set(suit_of(card)) >> (card + 1) << (card + 1)


def is_master(view: Any, card: int) -> bool:
    """Whether no card in another hand or in the stock beats the card, by counting.

    Cards in the viewer's own hand do not count against it.
    """
    elsewhere = view.unseen | view.known[1] | view.known[2] | view.known[3]
    return not elsewhere & stronger(card)


def _lead(view: Any) -> int:
    masters = 0
    for card in range(40):
        if view.legal >> card & 1 and is_master(view, card):
            masters |= 1 << card
    return dearest(masters) if masters else cheapest(view.legal)


def greedy_card(view: Any, rules: Any) -> int:
    """Card by the rules of this module, interpreted or compiled.

    Parameters
    ----------
    view : View or record of VIEW_DTYPE
        Of a seat to act.
    rules : RuleSet or record of RULES_DTYPE
    """
    if view.table_size == 0:
        return _lead(view)
    first = view.ply - view.table_size
    best = view.plays[first]
    winner = view.leader
    worth = 0
    for offset in range(view.table_size):
        card = view.plays[first + offset]
        worth += card_worth(card)
        if suit_of(card) == suit_of(best) and card > best:
            best = card
            winner = (view.leader + offset) % rules.seats
    winners = view.legal & stronger(best)
    plays_last = view.table_size == rules.seats - 1
    if winner == _PARTNER and (plays_last or is_master(view, best)):
        leaves_it = view.legal & ~winners
        return cheapest(leaves_it if leaves_it else view.legal)
    return cheapest(winners if worth and winners else view.legal)


def _greedy_cards(views: Any, rules_row: Any, out: Any) -> None:
    for row in range(len(views)):
        out[row] = greedy_card(views[row], rules_row[0])


@cache
def _compiled() -> Callable[..., None]:
    from tressette_env.compiling import compiled  # loads numba

    return compiled(_greedy_cards, sys.modules[__name__], cards)


class GreedyAgent(Agent):
    """Plays by this module's rules, the same card every time; plays every house."""

    spec = "greedy"
    ignores_seed = True

    def act(self, view: View, seed: int) -> int:
        """Return a card from one view, interpreted; the seed is not used."""
        return greedy_card(view, view.rules)

    def act_batch(
        self, views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return a card for each view, compiled."""
        chosen = np.empty(len(views), np.int64)
        _compiled()(np.ascontiguousarray(views), rules.row, chosen)
        return chosen


def make(options: str) -> GreedyAgent:
    """Make the agent of a spec ``greedy``; it has no options."""
    parse_options("greedy", options, {})
    return GreedyAgent()
