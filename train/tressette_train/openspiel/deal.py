"""A deal in which chance turns up the cards one by one, as OpenSpiel wants it.

A hand is dealt in ascending order, so that every hand comes up in one way only; all hands stay
equally likely. The cards of the stock that a trick's end will draw are turned up, unseen by
everybody, before the card that ends the trick: a stock nobody has drawn from needs no order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from typing import Any

from tressette_env.card_notation import card_text
from tressette_env.cards import NUM_CARDS, card_list
from tressette_env.errors import IllegalCardError
from tressette_env.rules import (
    ILLEGAL,
    deal,
    is_over,
    legal_cards,
    play_card,
    side_of,
    table_size,
)
from tressette_env.rulesets import RuleSet
from tressette_env.state import State, new_state

__all__ = ["Deal"]


@dataclass(frozen=True, eq=False)
class Deal:
    """A deal so far. It is never changed: what comes next gives another one.

    Attributes
    ----------
    rules : RuleSet
    leader : int or None
        Seat that leads the first trick; None: chance draws it first.
    cards : tuple of int
        Card numbers turned up so far: the hands seat by seat, each ascending, then the stock, top
        card first.
    drawers : tuple of int
        Seat that drew each card of the stock so far.
    state : State
        As the rules play it, not to be changed; empty until all hands are dealt.
    """

    rules: RuleSet
    leader: int | None
    cards: tuple[int, ...]
    drawers: tuple[int, ...]
    state: State

    @classmethod
    def start(cls, rules: RuleSet, leader: int | None) -> Deal:
        """Return a deal of which nothing has been turned up yet."""
        return cls(rules, leader, (), (), new_state())

    def __deepcopy__(self, memo: dict[int, Any]) -> Deal:
        return self  # OpenSpiel copies its states at every node

    @property
    def dealt(self) -> int:
        """Cards in all hands after the deal."""
        return self.rules.seats * self.rules.hand_size

    @property
    def has_hands(self) -> bool:
        """Whether all hands are dealt, so that the seats have seen theirs."""
        return len(self.cards) >= self.dealt

    @cached_property
    def is_over(self) -> bool:
        """Whether every card has been played."""
        return self.has_hands and is_over(self.state, self.rules)

    @cached_property
    def is_chance(self) -> bool:
        """Whether the leader is to be drawn, or a card to be turned up."""
        if self.leader is None or not self.has_hands:
            return True
        drawn = self.state.drawn
        ends_trick = table_size(self.state, self.rules) == self.rules.seats - 1
        if not ends_trick or drawn == self.rules.stock_size:
            return False
        return len(self.cards) < self.dealt + drawn + self.rules.seats

    def chances(self) -> list[tuple[int, float]]:
        """Return what chance may turn up, ascending, and how likely it is.

        The outcomes are card numbers, or seats where the leader is drawn (R14).
        """
        if self.leader is None:
            return [(seat, 1 / self.rules.seats) for seat in range(self.rules.seats)]
        free = [card for card in self.rules.deck if card not in self.cards]
        if self.has_hands:
            return [(card, 1 / len(free)) for card in free]
        done = len(self.cards) % self.rules.hand_size
        wanted = self.rules.hand_size - done
        if done:
            free = [card for card in free if card > self.cards[-1]]
        # A card is as likely to be the hand's next one as there are ways to fill up the hand above.
        ways = [comb(len(free) - 1 - place, wanted - 1) for place in range(len(free))]
        total = comb(len(free), wanted)
        return [(card, way / total) for card, way in zip(free, ways, strict=True) if way]

    def legal_cards(self) -> list[int]:
        """Card numbers that the seat to act may play, ascending."""
        return card_list(legal_cards(self.state, self.rules))

    def turned_up(self, outcome: int) -> Deal:
        """Return the deal after one outcome of chance."""
        if self.leader is None:
            return replace(self, leader=outcome)
        cards = (*self.cards, outcome)
        if len(cards) < self.dealt:
            return replace(self, cards=cards)
        state = _copy(self.state)
        if len(cards) == self.dealt:
            # The rules read no card of the stock before it is drawn.
            deal(state, self.rules, [*cards, *[0] * self.rules.stock_size], self.leader)
        else:
            state.stock[len(cards) - 1 - self.dealt] = outcome
        return replace(self, cards=cards, state=state)

    def played(self, card: int) -> Deal:
        """Return the deal after the seat to act has played a card.

        Raises
        ------
        IllegalCardError
            If it may not be played.
        """
        state = _copy(self.state)
        if self.is_chance or play_card(state, self.rules, card) == ILLEGAL:
            legal = () if self.is_chance else tuple(self.legal_cards())
            came = card_text(card) if 0 <= card < NUM_CARDS else repr(card)
            expected = " ".join(map(card_text, legal)) or "no card, for chance is to act"
            raise IllegalCardError(f"card {came}: expected {expected}", legal)
        drawn = state.stock[self.state.drawn : state.drawn]
        drawers = [seat for card in drawn for seat in range(4) if state.hands[seat] >> card & 1]
        return replace(self, state=state, drawers=(*self.drawers, *drawers))

    def margin(self, seat: int) -> int:
        """Thirds by which the seat's side is ahead; turned round where the fewest win (R19)."""
        side = side_of(seat)
        ahead = self.state.thirds[side] - self.state.thirds[1 - side]
        return -ahead if self.rules.fewest_wins else ahead


def _copy(state: State) -> State:
    copied = State.__new__(State)
    for name in State.__slots__:
        value = getattr(state, name)
        setattr(copied, name, value[:] if isinstance(value, list) else value)
    return copied
