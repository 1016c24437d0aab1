"""What the ending solver knows of one suit, and its keys: plain functions, compiled as they stand.

One suit of an ending is who holds which of its ten cards: 3**10 = 59,049 cases, each one row of a
table that is filled once a process. The solver reads a position's four rows and adds them up.

Runs
----
Cards of one suit in one hand are a *run* while no card of the other hand lies between them in
strength. Whatever is played, the cards of a run beat and lose to the same cards; they differ in
worth only. Hence:

- Of two positions that differ only in a card of a run being worth ``d`` more, the dearer one is
  worth 0 to ``d`` more to the card's holder (play the one as the other). So of the cards of a run
  that are sure to win the trick the dearest is best, of those sure to lose it the cheapest.
- A suit is, for the solver, its sequence of runs, and each run its counts of aces, of cards worth a
  third and of blank cards. K-Q-J-A and K-Q-J-2 are different: an ace is worth more (R3).
- Where only one player holds cards of a suit, they never lose a trick they lead and never win
  another. All such suits of a player are one *pool*, a set of counts.

The card led still separates the follower's cards: 5 and 7 are no run while the 6 is on the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tressette_env.cards import NUM_CARDS, bit_count, card_set, card_worth, set_worth

__all__ = [
    "ACES",
    "BLANKS",
    "CLASS_BITS",
    "NUM_CLASSES",
    "NUM_SUIT_CASES",
    "ONES",
    "ROW_COLUMNS",
    "SHAPE",
    "SUMS",
    "cheapest_of",
    "dearest_of",
    "ending_key",
    "entry_of",
    "fill_suit_rows",
    "lowest_bit",
    "suit_around",
    "suit_case",
    "worth_of",
]

NUM_SUIT_CASES = 3**10
NUM_CLASSES = 7_043  # different suits, by their runs; class 0: pools and empty suits

ACES = card_set(card for card in range(NUM_CARDS) if card_worth(card) == 3)
ONES = card_set(card for card in range(NUM_CARDS) if card_worth(card) == 1)
BLANKS = card_set(card for card in range(NUM_CARDS) if card_worth(card) == 0)

# Columns of a row.
SUMS = 0  # fields that are added over the suits, see _cash and _pool_code
SHAPE = 1  # class of the suit in CLASS_BITS (0: it belongs to a pool), then its moves, see _moves
ROW_COLUMNS = 2
CLASS_BITS = 13

_POOL_CODES = 551  # 1 + the largest code of a pool


# int64[1024]: a set of a suit's cards read as digits of base 3.
_CASES = np.array([int(f"{cards:b}", 3) for cards in range(1024)])


def suit_case(own: int, other: int) -> int:
    """Row of a suit in which the leader holds ``own``, the follower ``other`` (10-bit sets)."""
    return _CASES[own] + 2 * _CASES[other]  # type: ignore[no-any-return]


def lowest_bit(cards: int) -> int:
    """Set of the lowest-numbered card of a set; empty if it is."""
    return cards & -cards


def worth_of(card: int) -> int:
    """Worth of a set of one card."""
    return 3 if card & ACES else int(card & ONES != 0)


def suit_around(card: int) -> int:
    """Suit of a set of one card, as a set."""
    if card >> 20:
        return 0x3FF << 30 if card >> 30 else 0x3FF << 20
    return 0x3FF << 10 if card >> 10 else 0x3FF


def dearest_of(cards: int) -> int:
    """Set of one card: the dearest of a set."""
    best = cards & ACES
    if not best:
        best = cards & ONES
    return lowest_bit(best if best else cards)


def cheapest_of(cards: int) -> int:
    """Set of one card: the cheapest of a set."""
    best = cards & BLANKS
    if not best:
        best = cards & ONES
    return lowest_bit(best if best else cards)


def cheapest_worth(cards: int, count: int) -> int:
    """Worth in thirds of the ``count`` cheapest cards of a set that holds as many."""
    rest = count - bit_count(cards & BLANKS)
    if rest <= 0:
        return 0
    ones = bit_count(cards & ONES)
    return rest if rest <= ones else ones + 3 * (rest - ones)


def _top_run(holder: int, against: int) -> int:
    """Cards of ``holder`` that are stronger than all of ``against``."""
    places = 0
    for place in range(10):
        if against >> place & 1:
            places = place + 1
    return holder >> places << places


def _cash(holder: int, against: int) -> int:
    """Four fields: what a player on lead gets by leading every sure winner of a suit.

    Winners are the top run, and the whole suit if that exhausts the opponent. Fields: their number;
    thirds of the winners and of the cheapest cards that must follow; how many of the winners the
    opponent discards to; how many blank cards of the suit the opponent has left for discards.
    """
    top = _top_run(holder, against)
    winners = top
    if bit_count(top) >= bit_count(against):
        winners = holder
    number = bit_count(winners)
    followed = min(number, bit_count(against))
    thirds = set_worth(winners) + cheapest_worth(against, followed)
    blanks = bit_count(against & BLANKS)
    return number | thirds << 7 | (number - followed) << 14 | (blanks - min(blanks, followed)) << 21


def _pool_code(cards: int) -> int:
    """Code of the counts of up to ten cards; codes of suits are added."""
    return bit_count(cards & BLANKS) + 11 * bit_count(cards & ONES) + 121 * bit_count(cards & ACES)


def _lowest_run(own: int, other: int) -> int:
    """Weakest cards of a suit that are in one hand, up to the first in the other."""
    live = own | other
    beyond = other if own & lowest_bit(live) else own
    return live & lowest_bit(beyond) - 1 if beyond else live


def _runs_code(own: int, other: int) -> int:
    """Code of a suit's runs, unique; 0 if only one player holds cards of it."""
    if not own or not other:
        return 0
    code = 1 if own & lowest_bit(own | other) else 2  # who holds the weakest run
    while own | other:
        run = _lowest_run(own, other)
        counts = bit_count(run & BLANKS) * 12 + bit_count(run & ONES) * 2 + bit_count(run & ACES)
        code = code << 6 | counts
        own &= ~run
        other &= ~run
    return code


def _moves(own: int, other: int) -> int:
    """Four sets of 10 bits: the cards of each run that may be best, for a lead or a reply.

    The leader's leads that are sure to win, and the others; the follower's replies that win, and
    those that lose (of both, the led card leaves those on its side).
    """
    all_cards = own | other
    sure_lead = 0
    other_leads = 0
    winning = 0
    losing = 0
    while own | other:
        run = _lowest_run(own, other)
        is_weakest = run & lowest_bit(all_cards) != 0
        if run & other:
            winning |= dearest_of(run)
            losing |= cheapest_of(run)
        elif own | other == run:
            sure_lead = dearest_of(run)
        elif is_weakest:
            other_leads |= cheapest_of(run)
        else:  # it may win or lose
            other_leads |= cheapest_of(run) | lowest_bit(run & ONES) | dearest_of(run)
        own &= ~run
        other &= ~run
    return sure_lead | other_leads << 10 | winning << 20 | losing << 30


def fill_suit_rows(rows: Any, codes: Any) -> None:
    """Fill ``rows`` (int64[59049, 2]) but for the classes, and ``codes`` of the runs."""
    for own in range(1024):
        for other in range(1024):
            if own & other:
                continue
            case = suit_case(own, other)
            codes[case] = _runs_code(own, other)
            rows[case, SUMS] = _cash(own, other)
            if codes[case] == 0:
                rows[case, SUMS] |= _pool_code(own) << 28 | _pool_code(other) << 38
            rows[case, SHAPE] = _moves(own, other) << CLASS_BITS


def ending_key(shape_0: int, shape_1: int, shape_2: int, shape_3: int, pools: int) -> int:
    """Key of a position, the same for renamed suits: 52 bits that say all that matters.

    Parameters
    ----------
    shape_0, shape_1, shape_2, shape_3 : int
        Column ``SHAPE`` of the four suits, or their classes.
    pools : int
        Codes of the leader's and the follower's pool, 10 bits each.
    """
    class_0 = shape_0 & 0x1FFF
    class_1 = shape_1 & 0x1FFF
    class_2 = shape_2 & 0x1FFF
    class_3 = shape_3 & 0x1FFF
    if class_0 < class_1:
        class_0, class_1 = class_1, class_0
    if class_2 < class_3:
        class_2, class_3 = class_3, class_2
    if class_0 < class_2:
        class_0, class_2 = class_2, class_0
    if class_1 < class_3:
        class_1, class_3 = class_3, class_1
    if class_1 < class_2:
        class_1, class_2 = class_2, class_1
    # A pool is at least one suit: there is room for both, and these are no numbers of classes.
    own_pool = pools & 0x3FF
    other_pool = pools >> 10
    if own_pool:
        class_3 = NUM_CLASSES + own_pool
        if other_pool:
            class_2 = NUM_CLASSES + _POOL_CODES + other_pool
    elif other_pool:
        class_3 = NUM_CLASSES + _POOL_CODES + other_pool
    return class_0 << 39 | class_1 << 26 | class_2 << 13 | class_3


def entry_of(key: int, index_bits: int) -> int:
    """Place of a key among ``2**index_bits``: its low bits, turned over by its others.

    Keys with the same other bits never share a place. ``index_bits`` is 4 to 24; no product
    overflows a signed 64-bit integer.
    """
    high = key >> index_bits
    word = (high & 0x3FFFFFF) * 0x2545F491 ^ (high >> 26) * 0x1B873593
    word = ((word ^ word >> 31) & 0x7FFFFFFF) * 0x19D699A5
    return (word >> 20 ^ key) & (1 << index_bits) - 1
