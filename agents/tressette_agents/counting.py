"""``counting``: rules of thumb on what the cards seen say, tried in a fixed order.

To lead, the first rule that names a card decides:

1. *Cash the ace*: an ace that no opponent can beat is worth its three thirds now.
2. *Take the lead over*: to the last trick before the stock runs out, a master, so as to lead the
   tricks that follow without it.
3. *Run the masters*: in the last seven tricks, masters, those of the shortest suit first. Before,
   they are kept: a strong card led early takes nothing but what the others care to give.
4. *Lead low*: the cheapest card. While the stock lasts, of a suit whose ace no opponent can hold,
   lest a cheap card take it home; afterwards of the longest suit, masters and aces kept.

To follow:

5. *Bring the ace home*: an ace that wins the trick for sure.
6. *Feed the partner*: in a trick that is surely the partner's, the ace, else a figure (four seats).
7. *Win with a figure*: a king, queen or jack that wins for sure takes its own third home, too;
   while suit must be followed without a stock, only if there are points on the table.
8. *Win what is worth it*: the cheapest card that wins, for an ace on the table; with four seats
   for any points. An ace that may still be beaten stays (*ace safety*).
9. *Throw the cheapest*.

A master is a card that no opponent who plays after the viewer can beat: cards played, held and
known are counted, and suits that an opponent has shown to lack (*void inference*). Rules 2 and 3
are how the last trick (R10) is kept. Cheapest means least worth, then least strength. The agent
takes points, also in a house where less wins (R19).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env import cards
from tressette_env.cards import ALL_CARDS, bit_count, card_worth, suit_of, suit_set
from tressette_env.policies import Agent, parse_options
from tressette_env.rulesets import RuleSet
from tressette_env.view import View

__all__ = ["CountingAgent", "counting_card", "make", "masters", "threats"]

_PARTNER = 2  # relative seat, with four seats
_WORTH_A_THREE = 3  # thirds for which a 2 or a 3 may go
_RUN_FROM = 7  # cards in hand from which masters are led

_EVERY_SUIT = 1 | 1 << 10 | 1 << 20 | 1 << 30
_BLANKS = _EVERY_SUIT * 0xF  # 4 5 6 7
_FIGURES = _EVERY_SUIT * 0x70  # J Q K
_ONES = _EVERY_SUIT * 0x370  # J Q K 2 3: worth a third
_ACES = _EVERY_SUIT << 7


def lowest_card(choice: int) -> int:
    """Card with the lowest number of a set that is not empty."""
    return bit_count((choice & -choice) - 1)


def cheapest_rank(choice: int) -> int:
    """Those cards of a set that are worth least and, of them, weakest: one rank."""
    if choice & _BLANKS:
        choice &= _BLANKS
    elif choice & _ONES:
        choice &= _ONES
    ranks = (choice | choice >> 10 | choice >> 20 | choice >> 30) & 0x3FF
    return choice & (_EVERY_SUIT * (ranks & -ranks))


def cheapest_card(choice: int) -> int:
    """Cheapest card of a set, of equals that of the first suit; -1 if the set is empty."""
    return lowest_card(cheapest_rank(choice)) if choice else -1


def longest(choice: int, hand: int, sign: int) -> int:
    """Cheapest card of a set, of equals that of the hand's longest suit, or shortest (sign -1)."""
    equals = cheapest_rank(choice)
    best = -1
    most = -100
    while equals:
        card = lowest_card(equals)
        equals &= equals - 1
        length = sign * bit_count(hand & suit_set(suit_of(card)))
        if length > most:
            most = length
            best = card
    return best


def stronger(card: int) -> int:
    """Set of the cards of a card's suit that beat it (R7)."""
    return suit_set(suit_of(card)) >> (card + 1) << (card + 1)


def threats(view: Any, rules: Any) -> int:
    """Cards that opponents may hold who play after the viewer in this trick.

    A card that could be anywhere counts, unless the opponent has shown to lack its suit.
    """
    found = 0
    for seat in range(1, rules.seats - view.table_size, 2):
        possible = view.unseen
        for suit in range(4):
            if view.voids[seat] >> suit & 1:
                possible &= ~suit_set(suit)
        found |= possible | view.known[seat]
    return found


def masters(hand: int, against: int) -> int:
    """Cards of a hand that no card of a set beats when they are led."""
    found = 0
    for suit in range(4):
        beaten_by = against >> 10 * suit & 0x3FF
        below = beaten_by | beaten_by >> 1
        below |= below >> 2
        below |= below >> 4
        below |= below >> 8
        found |= (hand >> 10 * suit & 0x3FF & ~below) << 10 * suit
    return found


def _suits_without_ace(threat: int) -> int:
    """Suits whose ace is not in a set, as a set of cards."""
    return ALL_CARDS & ~(((threat & _ACES) >> 7) * 0x3FF)


def _lead(view: Any, rules: Any) -> int:
    threat = threats(view, rules)
    sure = masters(view.legal, threat)
    if sure & _ACES:
        return lowest_card(sure & _ACES)
    if sure and view.stock_left == rules.seats:
        return longest(sure, view.hand, 1)
    if view.stock_left:
        return _lead_low(view, threat)
    if sure and bit_count(view.hand) <= _RUN_FROM:
        return longest(sure, view.hand, -1)
    kept = view.legal & ~(sure | _ACES)
    if not kept:
        kept = view.legal & ~_ACES
    return longest(kept if kept else view.legal, view.hand, 1)


def _lead_low(view: Any, threat: int) -> int:
    """Cheapest card while the stock lasts."""
    choice = view.legal
    blank = choice & _BLANKS & _suits_without_ace(threat)
    return cheapest_card(blank if blank else choice)


def _follow(view: Any, rules: Any) -> int:
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
    threat = threats(view, rules)
    winners = view.legal & stronger(best)
    if winner == _PARTNER and not threat & stronger(best):
        losers = view.legal & ~winners
        return _feed(losers if losers else view.legal)
    sure = masters(winners, threat)
    if sure & _ACES:
        return lowest_card(sure & _ACES)
    if sure & _FIGURES and (worth or view.stock_left):
        return cheapest_card(sure & _FIGURES)
    taking = sure if sure else winners & ~_ACES  # an ace that may still be beaten is kept
    if taking and worth >= (_WORTH_A_THREE if rules.seats == 2 else 1):
        return cheapest_card(taking)
    return cheapest_card(view.legal)


def _feed(choice: int) -> int:
    """Card to give to a trick that is the partner's."""
    if choice & _ACES:
        return lowest_card(choice & _ACES)
    if choice & _FIGURES:
        return cheapest_card(choice & _FIGURES)
    return cheapest_card(choice)


def counting_card(view: Any, rules: Any) -> int:
    """Card by the rules of this module, interpreted or compiled; -1 if the seat is not to act.

    Parameters
    ----------
    view : View or record of VIEW_DTYPE
    rules : RuleSet or record of RULES_DTYPE
    """
    if view.legal == 0:
        return -1
    return _follow(view, rules) if view.table_size else _lead(view, rules)


def _counting_cards(views: Any, rules_row: Any, out: Any) -> None:
    for row in range(len(views)):
        out[row] = counting_card(views[row], rules_row[0])


@cache
def _compiled() -> Callable[..., None]:
    from tressette_env.compiling import compiled  # loads numba

    return compiled(_counting_cards, sys.modules[__name__], cards)


class CountingAgent(Agent):
    """Plays by this module's rules, the same card every time; plays every house."""

    spec = "counting"
    ignores_seed = True

    def act(self, view: View, seed: int) -> int:
        """Return a card from one view, interpreted; the seed is not used."""
        return counting_card(view, view.rules)

    def act_batch(
        self, views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return a card for each view, compiled."""
        chosen = np.empty(len(views), np.int64)
        _compiled()(np.ascontiguousarray(views), rules.row, chosen)
        return chosen


def make(options: str) -> CountingAgent:
    """Make the agent of a spec ``counting``; it has no options."""
    parse_options("counting", options, {})
    return CountingAgent()
