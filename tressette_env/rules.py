"""The game itself: deal, legal cards, play a card, who takes a trick (R4-R10).

Plain Python over integers. Called with a ``State`` and a ``RuleSet`` it runs interpreted: readable,
debuggable, the reference. ``kernels.py`` compiles these very functions for rows of ``STATE_DTYPE``
and ``RULES_DTYPE``. They raise nothing; their callers turn codes into exceptions.
"""

from __future__ import annotations

from typing import Any

from tressette_env.cards import card_worth, suit_of, suit_set
from tressette_env.rulesets import LAST_TRICK_THIRDS

__all__ = [
    "DEAL_OVER",
    "ILLEGAL",
    "ON_TABLE",
    "TRICK_OVER",
    "deal",
    "is_over",
    "legal_cards",
    "play_card",
    "side_of",
    "table_size",
    "trick_winner",
]

# What play_card returns.
ILLEGAL = -1
ON_TABLE = 0
TRICK_OVER = 1
DEAL_OVER = 2


def side_of(seat: int) -> int:
    """Side of a seat: 0 for seats 0 and 2, 1 for seats 1 and 3 (R4)."""
    return seat & 1


def table_size(state: Any, rules: Any) -> int:
    """Count the cards on the table in the current trick."""
    return state.ply & rules.seats - 1  # type: ignore[no-any-return]


def is_over(state: Any, rules: Any) -> bool:
    """Whether every card of the deal has been played."""
    return state.ply == rules.deck_size  # type: ignore[no-any-return]


def deal(state: Any, rules: Any, deck: Any, leader: int) -> None:
    """Start a deal: seat p gets ``deck[h*p : h*p + h]``, the rest is the stock, top first (R4).

    Match totals, the match's result and the deal number are left as they are.
    """
    size = rules.hand_size
    for seat in range(4):
        hand = 0
        if seat < rules.seats:
            for place in range(size * seat, size * seat + size):
                hand |= 1 << deck[place]
        state.hands[seat] = hand
        state.played[seat] = 0
        state.voids[seat] = 0
        state.declared[seat] = 0
    for place in range(rules.stock_size):
        state.stock[place] = deck[size * rules.seats + place]
    for place in range(40):
        state.plays[place] = 0
    state.known = 0
    state.ply = 0
    state.drawn = 0
    state.turn = leader
    state.leader = leader
    state.dealer = leader + rules.seats - 1 & rules.seats - 1
    state.thirds[0] = 0
    state.thirds[1] = 0


def must_follow(state: Any, rules: Any) -> bool:
    """Whether suit must be followed in the current trick (R6)."""
    return bool(rules.follow_always or state.drawn == rules.stock_size)


def legal_cards(state: Any, rules: Any) -> int:
    """Card set that the seat to act may play; empty when the deal is over (R5, R6)."""
    hand = state.hands[state.turn]
    on_table = table_size(state, rules)
    if on_table == 0 or not must_follow(state, rules):
        return hand  # type: ignore[no-any-return]
    led = state.plays[state.ply - on_table]
    same_suit = hand & suit_set(suit_of(led))
    return same_suit if same_suit else hand  # type: ignore[no-any-return]


def trick_winner(state: Any, rules: Any) -> int:
    """Seat that takes the trick of the last ``rules.seats`` plays (R7)."""
    first = state.ply - rules.seats
    best = state.plays[first]
    best_offset = 0
    led_suit = suit_of(best)
    for offset in range(1, rules.seats):
        card = state.plays[first + offset]
        # Within the led suit the higher number is the stronger card; other suits never win.
        takes = int(suit_of(card) == led_suit) & int(card > best)
        best += takes * (card - best)
        best_offset += takes * (offset - best_offset)
    return state.leader + best_offset & rules.seats - 1  # type: ignore[no-any-return]


def play_card(state: Any, rules: Any, card: int) -> int:
    """Play one card for the seat to act; every card in the kit goes through here.

    Parameters
    ----------
    state : State or record of STATE_DTYPE
        Changed in place; unchanged if the card is illegal.
    rules : RuleSet or record of RULES_DTYPE
    card : int
        Card number.

    Returns
    -------
    int
        ``ILLEGAL``, ``ON_TABLE`` (the trick goes on), ``TRICK_OVER`` or ``DEAL_OVER``.
    """
    if card < 0 or card >= 40 or not legal_cards(state, rules) >> card & 1:
        return ILLEGAL
    seat = state.turn
    on_table = table_size(state, rules)
    if on_table and must_follow(state, rules):
        led_suit = suit_of(state.plays[state.ply - on_table])
        state.voids[seat] |= int(suit_of(card) != led_suit) << led_suit
    state.hands[seat] &= ~(1 << card)
    state.played[seat] |= 1 << card
    state.known &= ~(1 << card)
    state.plays[state.ply] = card
    state.ply += 1
    if on_table + 1 < rules.seats:
        state.turn = seat + 1 & rules.seats - 1
        return ON_TABLE
    return _finish_trick(state, rules)


def _finish_trick(state: Any, rules: Any) -> int:
    winner = trick_winner(state, rules)
    worth = 0
    for place in range(state.ply - rules.seats, state.ply):
        worth += card_worth(state.plays[place])
    over = is_over(state, rules)
    if over:
        worth += LAST_TRICK_THIRDS  # R10: once, to the winner of the last trick
    state.thirds[side_of(winner)] += worth
    state.leader = winner
    state.turn = winner
    if state.drawn < rules.stock_size:
        _draw_cards(state, rules, winner)
    return DEAL_OVER if over else TRICK_OVER


def _draw_cards(state: Any, rules: Any, winner: int) -> None:
    """Every seat draws one card, the trick's winner first (R8, R9)."""
    for offset in range(rules.seats):
        seat = winner + offset & rules.seats - 1
        card = state.stock[state.drawn]
        state.drawn += 1
        state.hands[seat] |= 1 << card
        if rules.draws_shown:
            state.known |= 1 << card
            state.voids[seat] &= ~(1 << suit_of(card)) & 0xF
        else:
            state.voids[seat] = 0  # the card may be of any suit
