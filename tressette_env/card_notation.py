"""Text for cards, hands and decks, and back.

==========  ===================================================================
card        ``3D``: rank letter (3 2 A K Q J 7 6 5 4), then suit letter (D C S B)
hand        ``D:3A7 C:- S:KQ B:2``: by suit, strongest first, ``-`` for none
deck        ``3D KS 7B ...``: in order
==========  ===================================================================

Capitals do not matter on input. ``notation`` offers all of this, and game records.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from tressette_env.cards import (
    ALL_CARDS,
    CARDS_PER_SUIT,
    RANK_LETTERS,
    SUIT_LETTERS,
    SUIT_NAMES,
    card_list,
    card_set,
    sort_cards,
    strength_of,
    suit_of,
)
from tressette_env.errors import DeckError
from tressette_env.tokens import Token, token_lines

__all__ = [
    "SUIT_SYMBOLS",
    "card_name",
    "card_symbol",
    "card_text",
    "deck_text",
    "hand_text",
    "parse_card",
    "parse_deck",
    "parse_hand",
    "read_card",
    "read_hand",
]

SUIT_SYMBOLS = "♦♥♠♣"  # the French suits for denari, coppe, spade, bastoni (R1)

_ITALIAN_RANKS = (
    *("Quattro", "Cinque", "Sei", "Sette", "Fante"),
    *("Cavallo", "Re", "Asso", "Due", "Tre"),
)
_FRENCH_RANKS = ("Four", "Five", "Six", "Seven", "Jack", "Queen", "King", "Ace", "Two", "Three")
_FRENCH_SUITS = ("diamonds", "hearts", "spades", "clubs")


def card_text(card: int) -> str:
    """Short text of a card number, like ``3D``.

    Raises
    ------
    DeckError
        If it is not a card number (0 to 39).
    """
    card_set((card,))
    return RANK_LETTERS[strength_of(card)] + SUIT_LETTERS[suit_of(card)]


def card_symbol(card: int) -> str:
    """Rank letter and French suit symbol of a card number, like ``3♦``."""
    return card_text(card)[0] + SUIT_SYMBOLS[suit_of(card)]


def card_name(card: int, style: Literal["italian", "french"] = "italian") -> str:
    """Name of a card for display: "Tre di denari", or "Three of diamonds" (R1)."""
    card_set((card,))
    if style == "italian":
        return f"{_ITALIAN_RANKS[strength_of(card)]} di {SUIT_NAMES[suit_of(card)]}"
    return f"{_FRENCH_RANKS[strength_of(card)]} of {_FRENCH_SUITS[suit_of(card)]}"


def hand_text(cards: int | Iterable[int]) -> str:
    """Text of a hand, like ``D:3A7 C:- S:KQ B:2``: by suit, then 3 2 A K Q J 7 6 5 4.

    Parameters
    ----------
    cards : int or iterable of int
        A card set, or card numbers in any order.

    Raises
    ------
    DeckError
        If a card is none, or stands twice.
    """
    if not isinstance(cards, Iterable):
        if not 0 <= cards <= ALL_CARDS:
            raise DeckError(f"expected a card set from 0 to {ALL_CARDS}, got {cards}")
        cards = card_list(int(cards))
    card_set(ordered := sort_cards(int(card) for card in cards))
    ranks = ["", "", "", ""]
    for card in ordered:
        ranks[suit_of(card)] += RANK_LETTERS[strength_of(card)]
    return " ".join(f"{SUIT_LETTERS[suit]}:{ranks[suit] or '-'}" for suit in range(4))


def deck_text(deck: Iterable[int]) -> str:
    """Text of cards in order, like ``3D KS 7B``; raises ``DeckError`` for a card that is none."""
    return " ".join(map(card_text, deck))


def parse_card(text: str) -> int:
    """Card number of a text like ``3D``; raises ``NotationError``."""
    first, *others = _tokens(text, "a card")
    if others:
        others[0].refuse("one card", "parse_deck reads several")
    return read_card(first)


def parse_hand(text: str) -> int:
    """Card set of a text like ``D:3A7 C:- S:KQ B:2``; a suit left out is empty.

    Raises
    ------
    NotationError
        If it is not a hand, or a card or a suit stands twice.
    """
    return read_hand(_tokens(text, "a hand"))


def parse_deck(text: str) -> tuple[int, ...]:
    """Card numbers of a text like ``3D KS 7B``, in order; lines do not matter.

    Raises
    ------
    NotationError
        If a word is not a card, or a card stands twice.
    """
    deck: list[int] = []
    for token in _tokens(text, "cards"):
        card = read_card(token)
        if card in deck:
            token.refuse("each card once", "remove one of the two")
        deck.append(card)
    return tuple(deck)


def _tokens(text: str, what: str) -> list[Token]:
    tokens = [token for line in token_lines(text) for token in line]
    if not tokens:
        Token("", 1, 1).refuse(what, "the text is empty")
    return tokens


def read_card(token: Token) -> int:
    """Card number of a word like ``3D``; raises ``NotationError``."""
    rank, suit = token.text[:1].upper(), token.text[1:].upper()
    if len(rank) == len(suit) == 1 and rank in RANK_LETTERS and suit in SUIT_LETTERS:
        return CARDS_PER_SUIT * SUIT_LETTERS.index(suit) + RANK_LETTERS.index(rank)
    if len(suit) == 1 and rank in SUIT_LETTERS and suit in RANK_LETTERS:
        token.refuse("a card", f"the rank comes first: {suit}{rank}")
    hint = f"write a rank of {RANK_LETTERS} and a suit of {SUIT_LETTERS}, like 3D"
    token.refuse("a card", hint)


def read_hand(tokens: Iterable[Token]) -> int:
    """Card set of words like ``D:3A7 C:- S:KQ``; raises ``NotationError``."""
    cards = 0
    suits_read = ""
    for token in tokens:
        suit = token.text[0].upper()
        if suit not in SUIT_LETTERS or token.text[1:2] != ":" or len(token.text) < 3:
            token.refuse("the cards of a suit", "write them like D:3A7, or D:- for none")
        if suit in suits_read:
            token.refuse("each suit once", "put its cards together")
        suits_read += suit
        ranks = token.text[2:] if token.text[2:] != "-" else ""
        for place, rank in enumerate(ranks, 2):
            card = read_card(Token(rank + suit, token.line, token.column + place))
            if cards >> card & 1:
                token.part(place, place + 1).refuse("each card once", "remove one of the two")
            cards |= 1 << card
    return cards
