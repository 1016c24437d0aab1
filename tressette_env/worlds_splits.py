"""In how many decks that fit a view are the unseen cards split in which way: exact counts.

Unseen cards are put in groups such that which card of a group goes where makes no difference, only
how many do. A split says how many cards of each group go where; its weight is the number of decks
with that split which show the seat all that it has seen, up to a factor that splits share.
``docs/worlds.md`` derives the counting. Weights are integers below ``2**43``.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from tressette_env.cards import NUM_CARDS, NUM_SUITS, bit_count, suit_of, suit_set

__all__ = ["MAX_SPLITS", "hand_size", "split_four", "split_two"]

MAX_SPLITS = 11**3  # three groups of up to ten cards, each in two places; the fourth follows

_CHOOSE = np.array([[comb(n, k) for k in range(NUM_CARDS)] for n in range(NUM_CARDS)], np.int64)
# A hand's place in a table of ways, by its cards of the first three groups.
_STRIDES = np.array([121, 11, 1], np.int64)


def hand_size(view: Any, rules: Any, relative: int) -> int:
    """Cards that a seat holds now."""
    drawn = (rules.stock_size - view.stock_left) // rules.seats
    return rules.hand_size + drawn - bit_count(view.played[relative])  # type: ignore[no-any-return]


def _add_split(plan: Any, weight: int, taken: int) -> None:
    if weight:
        plan.weight += weight
        plan.cumulative[plan.splits] = plan.weight
        plan.taken[plan.splits] = taken
        plan.splits += 1


def _group_cards(plan: Any, unseen: int, group_of: Any, groups: int) -> None:
    """Sort the unseen cards by the group of their suit (int64[4])."""
    plan.groups = groups
    end = 0
    for group in range(4):
        for card in range(NUM_CARDS):
            if unseen >> card & 1 and group_of[suit_of(card)] == group:
                plan.cards[end] = card
                end += 1
        plan.ends[group] = end


# -------------------------------------------------------------------------------------- two seats


def split_two(view: Any, rules: Any, plan: Any) -> None:
    """Add the splits between the other seat's hand and the stock to a plan."""
    hidden = hand_size(view, rules, 1) - bit_count(view.known[1])
    if hidden < 0 or hidden + view.stock_left != bit_count(view.unseen):
        return
    voids = _voids_shown(view, rules)
    group_of = np.zeros(NUM_SUITS, np.int64)
    if voids and not rules.draws_shown:
        _split_by_draws(view, rules, voids, group_of, plan)
        return
    # One split. If draws are shown the unknown cards were dealt, and are of no suit with a void.
    for suit in range(NUM_SUITS):
        group_of[suit] = voids >> suit & 1
    _group_cards(plan, view.unseen, group_of, 2)
    free = plan.ends[0]
    if hidden <= free:
        _add_split(plan, 1, (free - hidden) | (plan.ends[1] - free) << 10)
    if not voids:
        plan.groups = 1


def _void_in(view: Any, trick: int) -> int:
    """Suit that the other seat has shown to hold none of by following off-suit; -1 if none."""
    led = suit_of(view.plays[2 * trick])
    reply = view.plays[2 * trick + 1]
    return led if view.played[1] >> reply & 1 and suit_of(reply) != led else -1


def _voids_shown(view: Any, rules: Any) -> int:
    """Suits in which the other seat was void at some time, one bit each; 0 once all is known."""
    voids = 0
    if rules.follow_always and view.stock_left:
        for trick in range(view.ply >> 1):
            suit = _void_in(view, trick)
            if suit >= 0:
                voids |= 1 << suit
    return voids


def _split_by_draws(view: Any, rules: Any, voids: int, group_of: Any, plan: Any) -> None:
    """Hidden draws and at least one void: the seat may have drawn cards of the suit since.

    A group for each suit with a void, and one for the other suits; the last group's cards in a hand
    follow from the hand's size. ``ways[hand]`` counts, for hands of the other seat after a trick,
    with which draws its cards and those it has played can have come.
    """
    last = 0
    for suit in range(NUM_SUITS):
        if voids >> suit & 1:
            group_of[suit] = last
            last += 1
    for suit in range(NUM_SUITS):
        if not voids >> suit & 1:
            group_of[suit] = last
    last = min(last, 3)  # with a void in every suit, the fourth suit is the last group
    _group_cards(plan, view.unseen, group_of, last + 1)
    strides = np.zeros(4, np.int64)
    for group in range(last):
        strides[group] = _STRIDES[group]
    before = np.ones(MAX_SPLITS, np.int64)
    ways = np.ones(MAX_SPLITS, np.int64)
    counting = False  # until the first void all hands have as many ways
    for trick in range(view.ply >> 1):
        suit = _void_in(view, trick)
        if suit >= 0:
            counting = True
        if counting:
            card = view.plays[2 * trick]
            if not view.played[1] >> card & 1:
                card = view.plays[2 * trick + 1]
            void = group_of[suit] if suit >= 0 else -1
            before, ways = ways, before
            played = group_of[suit_of(card)]
            _count_ways(before, ways, rules.hand_size, last, strides, played, void)
    shift = 0
    if view.ply & 1 and view.played[1] >> view.plays[view.ply - 1] & 1:
        # The other seat has led: its hand after the last draw had that card too.
        shift = strides[group_of[suit_of(view.plays[view.ply - 1])]]
    _add_hands(view, rules, plan, last, group_of, ways, shift)


def _count_ways(
    before: Any, after: Any, size: int, last: int, strides: Any, played: int, void: int
) -> None:
    """Count the ways to hands after a trick and its draw, from the ways to hands before it.

    Any card of a hand can be the one drawn: without it, and with the one played (of group
    ``played``), the hand is the one before the trick. Hands before a trick that shows a void hold
    none of group ``void`` (-1: the trick shows none).
    """
    counts = np.zeros(4, np.int64)
    for n0 in range(size + 1):
        for n1 in range(size - n0 + 1 if last > 1 else 1):
            for n2 in range(size - n0 - n1 + 1 if last > 2 else 1):
                counts[0], counts[1], counts[2] = n0, n1, n2
                counts[last] = size - n0 - n1 - n2
                hand = n0 * _STRIDES[0] + n1 * _STRIDES[1] + n2 * _STRIDES[2]
                total = 0
                for drawn in range(last + 1):
                    if counts[drawn] and (void < 0 or counts[void] == int(drawn == void)):
                        total += counts[drawn] * before[hand - strides[drawn] + strides[played]]
                after[hand] = total


def _add_hands(
    view: Any, rules: Any, plan: Any, last: int, group_of: Any, ways: Any, shift: int
) -> None:
    """Add a split for each make-up of the other's hand: its ways times the choices of cards."""
    size = hand_size(view, rules, 1)
    known = np.zeros(4, np.int64)
    for suit in range(NUM_SUITS):
        known[group_of[suit]] += bit_count(view.known[1] & suit_set(suit))
    counts = np.zeros(4, np.int64)
    for n0 in range(size + 1):
        for n1 in range(size - n0 + 1 if last > 1 else 1):
            for n2 in range(size - n0 - n1 + 1 if last > 2 else 1):
                counts[0], counts[1], counts[2] = n0, n1, n2
                counts[last] = size - n0 - n1 - n2
                hand = n0 * _STRIDES[0] + n1 * _STRIDES[1] + n2 * _STRIDES[2]
                weight = ways[hand + shift]
                taken = 0
                start = 0
                for group in range(last + 1):
                    cards = plan.ends[group] - start
                    start = plan.ends[group]
                    hidden = counts[group] - known[group]
                    if hidden < 0 or hidden > cards:
                        weight = 0
                        break
                    weight *= _CHOOSE[cards, hidden]
                    taken |= (cards - hidden) << 10 * group
                _add_split(plan, weight, taken)


# ------------------------------------------------------------------------------------- four seats


def split_four(view: Any, rules: Any, plan: Any) -> None:
    """Add the splits between the three other hands to a plan.

    Nobody draws, so a void lasts to the end of the deal.
    A group is the suits that the same seats cannot hold. Only the suits that nobody has shown to
    be void in can be with all three; as the last group, they follow from the sizes of the hands.
    """
    sizes = np.zeros(3, np.int64)
    for place in range(3):
        known = bit_count(view.known[place + 1])
        sizes[place] = hand_size(view, rules, place + 1) - known
    if sizes.min() < 0 or sizes.sum() != bit_count(view.unseen):
        return
    barred = np.zeros(NUM_SUITS, np.int64)  # for each suit, bit p set: not with other seat p
    for suit in range(NUM_SUITS):
        if view.unseen & suit_set(suit):
            for place in range(3):
                barred[suit] |= (view.voids[place + 1] >> suit & 1) << place
            if barred[suit] == 0b111:
                return
    group_of = np.zeros(NUM_SUITS, np.int64)
    patterns = np.zeros(4, np.int64)
    last = 0
    for pattern in range(1, 7):
        found = False
        for suit in range(NUM_SUITS):
            if barred[suit] == pattern:
                group_of[suit] = last
                found = True
        if found:
            patterns[last] = pattern
            last += 1
    for suit in range(NUM_SUITS):
        if barred[suit] == 0:
            group_of[suit] = last
    last = min(last, 3)  # every suit in a group of its own: the fourth is the last
    _group_cards(plan, view.unseen, group_of, last + 1)
    _add_deals(plan, last, patterns, sizes)


def _add_deals(plan: Any, last: int, patterns: Any, sizes: Any) -> None:
    """Add a split for each way to share the groups before the last between two seats, or one."""
    cards = np.zeros(4, np.int64)
    first = np.zeros(4, np.int64)  # the seats that may hold cards of the group
    second = np.zeros(4, np.int64)
    least = np.zeros(4, np.int64)  # of the group's cards with the first of the two
    start = 0
    for group in range(last + 1):
        cards[group] = plan.ends[group] - start
        start = plan.ends[group]
        first[group] = int(patterns[group] & 1) + int(patterns[group] & 3 == 3)
        second[group] = first[group]
        for place in range(first[group] + 1, 3):
            if not patterns[group] >> place & 1 and second[group] == first[group]:
                second[group] = place
        if second[group] == first[group]:
            least[group] = cards[group]
    counts = np.zeros(4, np.int64)
    left = np.zeros(3, np.int64)
    for n0 in range(least[0], cards[0] + 1 if last > 0 else 1):
        for n1 in range(least[1], cards[1] + 1 if last > 1 else 1):
            for n2 in range(least[2], cards[2] + 1 if last > 2 else 1):
                counts[0], counts[1], counts[2] = n0, n1, n2
                left[:] = sizes
                weight = 1
                taken = 0
                for group in range(last):
                    left[first[group]] -= counts[group]
                    left[second[group]] -= cards[group] - counts[group]
                    weight *= _CHOOSE[cards[group], counts[group]]
                    for place in range(2):
                        share = 0
                        if first[group] == place:
                            share += counts[group]
                        if second[group] == place:
                            share += cards[group] - counts[group]
                        taken |= share << 10 * group + 5 * place
                for place in range(3):
                    if left[place] < 0 or (left[place] and patterns[last] >> place & 1):
                        weight = 0
                if weight:
                    weight *= _CHOOSE[cards[last], left[0]]
                    weight *= _CHOOSE[cards[last] - left[0], left[1]]
                    taken |= (left[0] | left[1] << 5) << 10 * last
                    _add_split(plan, weight, taken)
