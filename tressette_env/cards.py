"""The forty cards: suits, ranks, card numbers, card sets and worth (R1-R3).

A card is ``10 * suit + strength``, so that a suit is ten adjacent bits, the winner of a trick is a
comparison, and a set of cards (a hand, the cards played) is one integer with bit ``card`` set.
Sets fit in 40 bits: signed 64-bit integers hold them everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tressette_env.errors import DeckError

__all__ = [
    "ALL_CARDS",
    "CARDS_PER_SUIT",
    "NUM_CARDS",
    "NUM_SUITS",
    "RANK_LETTERS",
    "SUIT_LETTERS",
    "SUIT_NAMES",
    "bit_count",
    "card_list",
    "card_set",
    "card_worth",
    "nth_card",
    "set_worth",
    "sort_cards",
    "strength_of",
    "suit_of",
    "suit_set",
]

NUM_CARDS = 40
NUM_SUITS = 4
CARDS_PER_SUIT = 10

SUIT_NAMES = ("denari", "coppe", "spade", "bastoni")
SUIT_LETTERS = "DCSB"
RANK_LETTERS = "4567JQKA23"  # index = strength within the suit, weakest first (R2)

ALL_CARDS = (1 << NUM_CARDS) - 1
_ONE_SUIT = (1 << CARDS_PER_SUIT) - 1
_EVERY_SUIT = 1 | 1 << 10 | 1 << 20 | 1 << 30  # bit 0 of each suit
_ACES = _EVERY_SUIT << 7
_ONE_THIRD = _EVERY_SUIT * (1 << 4 | 1 << 5 | 1 << 6 | 1 << 8 | 1 << 9)  # J Q K 2 3 (R3)


def suit_of(card: int) -> int:
    """Suit of a card, 0 to 3 (denari, coppe, spade, bastoni)."""
    return int(card) * 13 >> 7  # card // 10 without a division, for all 40 cards


def strength_of(card: int) -> int:
    """Strength of a card within its suit, 0 (the 4) to 9 (the 3) (R2)."""
    return card % CARDS_PER_SUIT


def card_worth(card: int) -> int:
    """Worth of a card in thirds of a point: 3, 1 or 0 (R3)."""
    return 3 * (_ACES >> card & 1) + (_ONE_THIRD >> card & 1)


def suit_set(suit: int) -> int:
    """Return the set of the ten cards of a suit."""
    return _ONE_SUIT << (CARDS_PER_SUIT * suit)


def bit_count(cards: int) -> int:
    """Count the cards of a set."""
    pairs = cards - (cards >> 1 & 0x5555555555)
    nibbles = (pairs & 0x3333333333) + (pairs >> 2 & 0x3333333333)
    octets = (nibbles + (nibbles >> 4)) & 0x0F0F0F0F0F
    return octets * 0x0101010101 >> 32 & 0xFF


def _select_table() -> npt.NDArray[np.int64]:
    table = np.zeros((256, 8), np.int64)
    for octet in range(256):
        for count, place in enumerate(place for place in range(8) if octet >> place & 1):
            table[octet, count] = place
    return table


_SELECT = _select_table()  # [octet, n]: place of the octet's n-th bit, counted from 0


def nth_card(cards: int, n: int) -> int:
    """Card number ``n`` of a set, counted from 0 in ascending order; without branches."""
    pairs = cards - (cards >> 1 & 0x5555555555)
    nibbles = (pairs & 0x3333333333) + (pairs >> 2 & 0x3333333333)
    counts = (nibbles + (nibbles >> 4)) & 0x0F0F0F0F0F
    # Each octet of ``sums``: cards up to and with that octet.
    sums = counts + (counts << 8 & ALL_CARDS)
    sums += sums << 16 & ALL_CARDS
    sums += (sums & 0xFF) << 32
    # Octets whose sum is at most n come before the card's: count them.
    full = ~((sums | 0x8080808080) - (n + 1) * 0x0101010101) & 0x8080808080
    octet = bit_count(full)
    below = sums << 8 >> 8 * octet & 0xFF
    return int(8 * octet + _SELECT[cards >> 8 * octet & 0xFF, n - below])


def set_worth(cards: int) -> int:
    """Worth of a set of cards in thirds; 32 for the full deck (R3)."""
    return 3 * bit_count(cards & _ACES) + bit_count(cards & _ONE_THIRD)


def card_set(cards: Iterable[int]) -> int:
    """Set of the given card numbers.

    Raises
    ------
    DeckError
        If a number is not a card (0 to 39) or stands twice.
    """
    result = 0
    for card in cards:
        if not 0 <= card < NUM_CARDS:
            raise DeckError(f"expected card numbers 0 to {NUM_CARDS - 1}, got {card}")
        if result >> card & 1:
            raise DeckError(f"expected different cards, got card {card} twice")
        result |= 1 << card
    return result


def card_list(cards: int) -> list[int]:
    """List the card numbers of a set in ascending order."""
    return [card for card in range(NUM_CARDS) if cards >> card & 1]


def sort_cards(cards: Iterable[int]) -> list[int]:
    """Cards as players hold them: by suit, then 3 2 A K Q J 7 6 5 4."""
    return sorted(cards, key=lambda card: (suit_of(card), -strength_of(card)))
