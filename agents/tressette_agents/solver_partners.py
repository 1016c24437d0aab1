"""Exact play of four seats with every card known: seats 0 and 2 against 1 and 3.

``solve_partners`` gives the value of a deal, or of what is left of it, card by card if asked: one
possible world, as sampling agents imagine it. ``PartnersSolver`` solves many in one call. Suit must
be followed; smaller decks work as well, for a position is nothing but four sets of cards, who leads
and what lies on the table. ``docs/solver.md`` has the method and its measured speed.

Values are the thirds that the side of the seat to act will still take with best play by all, this
trick and the last trick's three thirds (R10) included; the other side takes the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from tressette_agents.solver_base import IntArray, Ints, Solver, int_array
from tressette_env.card_notation import card_text, hand_text
from tressette_env.cards import ALL_CARDS, NUM_CARDS, card_set, suit_of, suit_set
from tressette_env.errors import DeckError, OptionError

__all__ = ["PartnersSolver", "partners_card_values", "solve_partners"]

_SEATS = 4
_MAX_HAND = 10
_NO_CARD = -1


def _check_position(hands: list[int], leader: int, on_table: list[int]) -> None:
    """Raise an error if a position cannot be played."""
    for seat, hand in enumerate(hands):
        if not 0 <= hand <= ALL_CARDS:
            expected = f"a set of cards 0 to {NUM_CARDS - 1}"
            raise DeckError(f"hands: expected {expected}, got {hand} for seat {seat}")
    if not 0 <= leader < _SEATS:
        raise DeckError(f"leader: expected a seat 0 to {_SEATS - 1}, got {leader}")
    try:
        table_set = card_set(on_table)
    except DeckError as error:
        raise DeckError(f"table: {error}") from None
    got = "got " + ", ".join(f"seat {seat} {hand_text(hand)}" for seat, hand in enumerate(hands))
    got += f", leader {leader}"
    if on_table:
        got += f", table {' '.join(card_text(card) for card in on_table)}"
    seen = 0
    for hand in hands:
        if hand & seen:
            raise DeckError(f"expected different cards in the four hands, {got}")
        seen |= hand
    if seen & table_set:
        raise DeckError(f"expected cards on the table that are in no hand any more, {got}")
    sizes = [hand.bit_count() for hand in hands]
    for place in range(len(on_table)):
        sizes[(leader + place) % _SEATS] += 1
    if not 1 <= max(sizes) <= _MAX_HAND:
        raise DeckError(f"expected 1 to {_MAX_HAND} cards in hand, {got}")
    if len(set(sizes)) > 1:
        expected = "hands of equal size"
        if on_table:
            expected += ", one card less for each seat that has played"
        raise DeckError(f"expected {expected}, {got}")
    for place, card in enumerate(on_table):
        seat = (leader + place) % _SEATS
        if suit_of(card) != suit_of(on_table[0]) and hands[seat] & suit_set(suit_of(on_table[0])):
            raise DeckError(f"expected seat {seat} to have followed suit (R6), {got}")


class PartnersSolver(Solver[IntArray]):
    """Solves many four-seat positions in one call and remembers positions from call to call.

    Parameters
    ----------
    table_bits : int
        Memory for ``2**table_bits`` positions a thread, 40 bytes each; 4 to 24.
    threads : int
        Threads that share a call's positions, 1 to 256. The results do not depend on it.

    Raises
    ------
    OptionError
        If an option is out of range.

    Notes
    -----
    Methods take ``hands`` (int64[N, 4], card sets by seat), ``leaders`` (int64[N], the seats that
    lead the current trick, or have led it) and ``tables`` (int64[N, 3], card numbers: the cards on
    the table in the order they were played, then -1; None: nothing is on the tables). They raise
    ``DeckError`` for a position that cannot be played.
    """

    def __init__(self, table_bits: int = 18, threads: int = 1) -> None:
        super().__init__(table_bits, threads)

    def new_part(self) -> IntArray:
        """Return one thread's memory, empty."""
        from tressette_agents.solver_partners_table import new_memory  # loads numba

        return new_memory(self.table_bits)

    @property
    def nodes(self) -> int:
        """Positions searched at the start of a trick, since the start or the last ``clear``."""
        from tressette_agents.solver_partners_table import NODES

        return self._count(lambda memory: memory[NODES])

    def solve(self, hands: Ints, leaders: Ints, tables: Ints | None = None) -> IntArray:
        """Thirds that the side of the seat to act takes in each position, int64[N]."""
        from tressette_agents.solver_partners_kernels import partners_values  # loads numba

        return self._run(partners_values, hands, leaders, tables, ())

    def card_values(self, hands: Ints, leaders: Ints, tables: Ints | None = None) -> IntArray:
        """Thirds after each card of each position, int64[N, 40]; -1 where one is not legal."""
        from tressette_agents.solver_partners_kernels import partners_card_values

        return self._run(partners_card_values, hands, leaders, tables, (NUM_CARDS,))

    def _run(
        self,
        kernel: Callable[..., None],
        hands: Ints,
        leaders: Ints,
        tables: Ints | None,
        shape: tuple[int, ...],
    ) -> IntArray:
        hands = int_array("hands", hands, dimensions=2)
        leaders = int_array("leaders", leaders)
        if tables is None:
            tables = np.full((len(hands), _SEATS - 1), _NO_CARD)
        tables = int_array("tables", tables, dimensions=2)
        for name, array, columns in (("hands", hands, _SEATS), ("tables", tables, _SEATS - 1)):
            if array.shape != (len(leaders), columns):
                expected = f"shape ({len(leaders)}, {columns})"
                raise OptionError(f"{name}: expected {expected}, got {array.shape}")
        for row, cards in enumerate(tables.tolist()):
            on_table = cards[: cards.index(_NO_CARD)] if _NO_CARD in cards else cards
            where = f" (position {row})" if len(leaders) > 1 else ""
            if any(card != _NO_CARD for card in cards[len(on_table) :]):
                raise DeckError(f"tables: expected cards first, then -1, got {cards}{where}")
            try:
                _check_position(hands[row].tolist(), int(leaders[row]), on_table)
            except DeckError as error:
                raise DeckError(f"{error}{where}") from None

        def solve_rows(memory: IntArray, rows: slice, out: IntArray) -> None:
            kernel(hands[rows], leaders[rows], tables[rows], out, memory)

        return self._solve(solve_rows, len(leaders), shape)


@cache
def _solver() -> PartnersSolver:
    return PartnersSolver()


def _single(
    hands: Sequence[int], leader: int, table: Sequence[int]
) -> tuple[IntArray, list[int], list[list[int]]]:
    cards = int_array("table", table).tolist()
    if len(cards) >= _SEATS or _NO_CARD in cards:
        raise DeckError(f"table: expected up to three card numbers, got {cards}")
    row = cards + [_NO_CARD] * (_SEATS - 1 - len(cards))
    return int_array("hands", hands)[None, :], [leader], [row]


def solve_partners(hands: Sequence[int], leader: int, table: Sequence[int] = ()) -> int:
    """Value of a four-seat position for the side of the seat to act.

    Parameters
    ----------
    hands : sequence of int
        Card sets of seats 0 to 3.
    leader : int
        Seat that leads the current trick, or has led it.
    table : sequence of int
        Card numbers on the table in the order they were played, up to three.

    Returns
    -------
    int
        Thirds that the side of the seat to act (seats 0 and 2, or 1 and 3) will still take with
        best play by all, this trick and the last trick's three (R10) included.

    Raises
    ------
    DeckError
        If a card stands twice, the hands have the wrong sizes, or the leader is no seat.

    Examples
    --------
    >>> from tressette_agents.solver_partners import solve_partners
    >>> from tressette_env.notation import parse_hand
    >>> hands = [parse_hand(text) for text in ("D:2", "D:A", "C:3", "D:5")]
    >>> solve_partners(hands, leader=0)  # the 2 takes the ace, the partner's 3 and the last trick
    8
    """
    return int(_solver().solve(*_single(hands, leader, table))[0])


def partners_card_values(
    hands: Sequence[int], leader: int, table: Sequence[int] = ()
) -> dict[int, int]:
    """Value after each legal card, by card number; see ``solve_partners``."""
    values = _solver().card_values(*_single(hands, leader, table))[0]
    return {card: int(value) for card, value in enumerate(values) if value >= 0}
