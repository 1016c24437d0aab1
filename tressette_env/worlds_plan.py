"""What all worlds of one view share: the public state, and a plan of how unseen cards may be split.

Plain functions over integers: they run interpreted, and compiled once ``worlds_kernels`` is
imported. ``docs/worlds.md`` shows how to use them inside other compiled functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tressette_env import worlds_splits
from tressette_env.cards import NUM_CARDS, bit_count, card_list
from tressette_env.rules import side_of
from tressette_env.view import seat_of_play
from tressette_env.worlds_splits import MAX_SPLITS

__all__ = ["CHOICE_BITS", "PLAN_DTYPE", "make_plan", "view_problem", "write_public"]

CHOICE_BITS = 62  # of the random number that chooses a split

PLAN_DTYPE = np.dtype(
    [
        ("weight", np.int64),  # decks that fit the view, up to a factor; 0: none does
        ("limit", np.int64),  # the largest multiple of the weight up to 2**62
        ("splits", np.int64),  # how many there are: entries of the last two fields
        ("groups", np.int64),  # groups of unseen cards, 1 to 4
        ("ends", np.int64, 4),  # where each group ends in ``cards``
        ("cards", np.int64, 40),  # the unseen cards, group after group
        ("seats", np.int64),  # 2: a split says what is stock; 4: what two of the seats hold
        ("takers", np.int64, 3),  # the other seats, absolute, in seat order
        ("known", np.int64, 3),  # for each of them, card set that all know it to hold
        ("cumulative", np.int64, MAX_SPLITS),  # weights of the splits up to and with each
        # For each split, ten bits a group: the low five, cards of the group in the stock (four
        # seats: with the next seat); the high five, cards with the seat after that.
        ("taken", np.int64, MAX_SPLITS),
    ]
)


def write_public(view: Any, rules: Any, state: Any) -> None:
    """Write what every world of the view has in common; hidden cards are left out.

    The stock's drawn places are 0, whatever was drawn: no rule reads them. ``deal_number`` is -1
    and ``match_result`` 0, as in a deal given by hand.
    """
    seats = rules.seats
    state.known = 0
    for seat in range(4):
        state.hands[seat] = 0
        state.played[seat] = 0
        state.voids[seat] = 0
        state.declared[seat] = 0
    for relative in range(seats):
        seat = view.seat + relative & seats - 1
        state.known |= view.known[relative]
        state.hands[seat] = view.known[relative]
        state.played[seat] = view.played[relative]
        state.voids[seat] = view.voids[relative]
        state.declared[seat] = view.declared[relative]
    state.hands[view.seat] = view.hand
    state.deal_number = -1
    for place in range(NUM_CARDS):
        state.plays[place] = view.plays[place]
    for place in range(20):
        state.stock[place] = 0
    state.ply = view.ply
    state.turn = view.turn + view.seat & seats - 1
    state.leader = view.leader + view.seat & seats - 1
    state.drawn = rules.stock_size - view.stock_left
    opened = seat_of_play(view, view.plays[0]) if view.ply else view.leader
    state.dealer = opened + view.seat + seats - 1 & seats - 1
    state.match_result = 0
    side = side_of(view.seat)
    for other in range(2):
        state.thirds[side ^ other] = view.thirds[other]
        state.totals[side ^ other] = view.totals[other]


def make_plan(view: Any, rules: Any, plan: Any) -> int:
    """Count the decks that fit a view, split by split, into ``plan``.

    Parameters
    ----------
    view : View or record of VIEW_DTYPE
        Made by ``view.make_view``; another one is checked by ``view_problem`` first.
    rules : RuleSet or record of RULES_DTYPE
    plan : record of PLAN_DTYPE
        Filled.

    Returns
    -------
    int
        The plan's weight; 0 if no deck fits the view.
    """
    plan.seats = rules.seats
    for place in range(rules.seats - 1):
        plan.takers[place] = view.seat + place + 1 & rules.seats - 1
        plan.known[place] = view.known[place + 1]
    plan.weight = 0
    plan.splits = 0
    if rules.seats == 4:
        worlds_splits.split_four(view, rules, plan)
    else:
        worlds_splits.split_two(view, rules, plan)
    plan.limit = (1 << CHOICE_BITS) // max(plan.weight, 1) * plan.weight
    return plan.weight  # type: ignore[no-any-return]


def view_problem(view: Any, rules: Any) -> str:
    """Say why a view cannot be of these rules; empty if its counts fit.

    Compiled code trusts its input, so whatever did not come from ``make_view`` is checked here.
    """
    seats = rules.seats
    if not (0 <= view.seat < seats and 0 <= view.ply <= rules.deck_size):
        return f"seat {view.seat} at ply {view.ply} of {seats} seats and {rules.deck_size} cards"
    tricks, on_table = divmod(view.ply, seats)
    drawn = min(tricks * seats, rules.stock_size)
    if view.stock_left != rules.stock_size - drawn or view.table_size != on_table:
        return f"{view.stock_left} cards left to draw at ply {view.ply}"
    played = view.played[0] | view.played[1] | view.played[2] | view.played[3]
    plays = [int(card) for card in view.plays[: view.ply]]
    if sorted(plays) != card_list(played):
        return "the cards played in order are not those played by the seats"
    known = view.known[1] | view.known[2] | view.known[3]
    if (played | known | view.hand | view.unseen) != rules.deck_set:
        return "its cards are not those of the deck"
    if sum(map(bit_count, (played, known, view.hand, view.unseen))) != rules.deck_size:
        return "a card is in two places"
    for relative in range(seats):
        turns = tricks + ((relative - view.leader) % seats < on_table)
        if bit_count(view.played[relative]) != turns:
            return (
                f"seat {relative} has played {bit_count(view.played[relative])} cards, not {turns}"
            )
    if bit_count(view.hand) != worlds_splits.hand_size(view, rules, 0):
        return f"{bit_count(view.hand)} cards in hand"
    return ""
