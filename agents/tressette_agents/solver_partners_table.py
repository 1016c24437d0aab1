"""What the four-seat solver knows of one suit, its keys and its memory: plain functions.

A position is cut in two parts. Its *shape*: how many aces, cards worth a third and blank cards
each seat holds in each suit, seats counted from the leader. Its *order*: who holds the strongest
live card of a suit, the next, and so on, and which of them is the ace. An answer of the search
holds for every position of the same shape whose order agrees in the strongest few cards, namely
those whose rank decided a trick (partition search: M. Ginsberg, "GIB: Imperfect information in a
computationally challenging game", JAIR 14, 2001). The weaker cards may change hands with others of
equal worth. All numbers of a search lie in one array, int64, for a compiled call passes an array
as many numbers.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from tressette_env.cards import bit_count, card_worth

__all__ = [
    "CHEAPEST",
    "DEAREST",
    "ENTRY",
    "HANDS",
    "INDEX_BITS",
    "KILLERS",
    "MOVES",
    "NODES",
    "ORDERS",
    "ROOM",
    "RUNS",
    "SIZES",
    "TABLE",
    "WAYS",
    "bucket_of",
    "new_memory",
    "nth_strongest",
    "order_masks",
    "shape_of",
    "strongest_of",
    "up_to",
]

# Places in a solver's memory.
NODES = 0  # positions searched, at the start of a trick
INDEX_BITS = 1
HANDS = 2  # four card sets
KILLERS = 8  # for each count of cards left and seat, the card that answered last
MOVES = KILLERS + 41 * 4  # for each count of cards left, ROOM moves
ROOM = 10
RUNS = MOVES + 41 * ROOM  # the run of each move
ORDERS = RUNS + 41 * ROOM  # order of each case of a suit, see _orders
TABLE = ORDERS + 3**10
# The table: buckets of WAYS entries, the newest first; an entry is two numbers of shape, two of
# order, and one of how many strong cards matter (4 bits a suit), the bounds and the best card.
WAYS = 8
ENTRY = 5


def _worths(cards: int) -> list[int]:
    return [card_worth(card) for card in range(10) if cards >> card & 1]


def _sums(dearest_first: bool) -> npt.NDArray[np.int64]:
    """For each set of a suit's cards, worth of its first n cards in bits 4n to 4n + 3."""
    sums = np.zeros(1024, np.int64)
    for cards in range(1024):
        worths = sorted(_worths(cards), reverse=dearest_first)
        for number in range(11):
            sums[cards] |= sum(worths[:number]) << 4 * number
    return sums


CHEAPEST = _sums(False)
DEAREST = _sums(True)
SIZES = np.array([cards.bit_count() for cards in range(1024)])
_STRONGEST = np.array([1 << cards.bit_length() >> 1 for cards in range(1024)])
# Blanks, thirds and aces of a set in 3, 3 and 1 bits.
_COUNTS = np.array(
    [
        _worths(cards).count(0) | _worths(cards).count(1) << 3 | _worths(cards).count(3) << 6
        for cards in range(1024)
    ]
)
# A set of a suit's cards read as digits of base 3: a case is the live ones plus the holder's.
_CASES = np.array([int(f"{cards:b}", 3) for cards in range(1024)])


@cache
def _orders() -> npt.NDArray[np.int64]:
    """For each case, one bit in three, the strongest live card's first: 1 if the holder has it."""
    orders = np.zeros(3**10, np.int64)
    for case in range(3**10):
        place = 0
        for card in range(9, -1, -1):
            digit = case // 3**card % 3
            orders[case] |= (digit == 2) << 3 * place
            place += digit > 0
    return orders


def new_memory(table_bits: int) -> npt.NDArray[np.int64]:
    """Return a solver's memory: an empty table for ``2**table_bits`` positions, 40 bytes each."""
    index_bits = table_bits - 3  # of buckets
    memory = np.full(TABLE + (WAYS * ENTRY << index_bits), -1, np.int64)
    memory[:ORDERS] = 0
    memory[ORDERS:TABLE] = _orders()
    memory[INDEX_BITS] = index_bits
    return memory


def strongest_of(cards: int) -> int:
    """Set of the strongest card of a set of cards of the first suit."""
    return _STRONGEST[cards]  # type: ignore[no-any-return]


def up_to(cards: int) -> int:
    """All cards of the first suit that are no stronger than the strongest of a set."""
    return 2 * _STRONGEST[cards] - (cards != 0)  # type: ignore[no-any-return]


def nth_strongest(cards: int, number: int) -> int:
    """Set of a suit's card ``number`` by strength, counted from 1; the set holds as many."""
    for _ in range(SIZES[cards] - number):
        cards &= cards - 1
    return cards & -cards


def shape_of(leader: int, second: int, third: int, fourth: int) -> int:
    """Shape of a suit: counts of its cards by seat and worth, 28 bits."""
    return (  # type: ignore[no-any-return]
        _COUNTS[leader] | _COUNTS[second] << 7 | _COUNTS[third] << 14 | _COUNTS[fourth] << 21
    )


def order_of(second: int, third: int, fourth: int, live: int, memory: npt.NDArray[np.int64]) -> int:
    """Order of a suit: 3 bits a card, the strongest first: its seat from the leader, the ace."""
    case = ORDERS + _CASES[live]
    return (  # type: ignore[no-any-return]
        memory[case + _CASES[second]]
        | memory[case + _CASES[third]] << 1
        | memory[case + _CASES[fourth]] * 3
        | memory[case + _CASES[live & 1 << 7]] << 2
    )


def order_masks(matter: int) -> tuple[int, int]:
    """Masks of the two numbers of order: of suit ``s`` the ``matter >> 4 * s & 15`` strongest."""
    low = (1 << 3 * (matter & 15)) - 1 | (1 << 3 * (matter >> 4 & 15)) - 1 << 30
    high = (1 << 3 * (matter >> 8 & 15)) - 1 | (1 << 3 * (matter >> 12 & 15)) - 1 << 30
    return low, high


def bucket_of(low: int, high: int, index_bits: int) -> int:
    """Bucket of a shape; products of numbers of 31 bits do not overflow."""
    word = (low & 0x7FFFFFFF) * 0x2545F491 ^ (low >> 31) * 0x1B873593
    other = (high & 0x7FFFFFFF) * 0x19D699A5 ^ (high >> 31) * 0x2C1B3C6D
    word = ((word ^ word >> 29) & 0x7FFFFFFF) * 0x3C6EF372 ^ other
    return (word ^ word >> 23 ^ word >> 41) & (1 << index_bits) - 1


def strong_counts(ranks: int, live: int) -> int:
    """For each suit, how many live cards are as strong as the weakest of ``ranks``; 4 bits."""
    counts = 0
    for suit in range(4):
        in_suit = ranks >> 10 * suit & 0x3FF
        if in_suit:
            weaker = (in_suit & -in_suit) - 1
            counts |= bit_count(live >> 10 * suit & 0x3FF & ~weaker) << 4 * suit
    return counts


def weakest_ranks(counts: int, live: int) -> int:
    """Set of the weakest card of each suit that counts: ``strong_counts`` turned round."""
    ranks = 0
    for suit in range(4):
        number = counts >> 4 * suit & 15
        if number:
            ranks |= nth_strongest(live >> 10 * suit & 0x3FF, number) << 10 * suit
    return ranks
