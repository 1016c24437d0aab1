"""Exact play of the last draws when every card is known: two seats, the stock's order included.

``solve_open`` gives the value of a deal whose stock still holds a few cards, all of them and both
hands known: one possible world, as sampling agents imagine it. ``OpenSolver`` solves many in one
call. It tries every trick while the stock lasts; from there on it asks the solver of endings. Each
trick before the stock is empty makes it many times slower: ``docs/solver.md`` has the figures.

Everything is seen by the player to act, as in ``solver``: ``own`` are that player's cards,
``other`` the opponent's, ``led`` the opponent's card on the table, ``stock`` the cards to be drawn,
the top card first. Values are the thirds that this player will still take with best play by both,
this trick and the last trick's three thirds (R10) included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal

import numpy as np

from tressette_agents.solver import suits
from tressette_agents.solver_base import TO_LEAD, IntArray, Ints, Solver, int_array, led_array
from tressette_env.card_notation import card_text, hand_text
from tressette_env.cards import ALL_CARDS, NUM_CARDS, card_set
from tressette_env.errors import DeckError, OptionError, shown

__all__ = ["OpenSolver", "open_card_values", "solve_open"]

_MAX_HAND = 10
_MAX_STOCK = 20
_FOLLOW = ("always", "stock_empty")

Follow = Literal["always", "stock_empty"]


def _check_position(own: int, other: int, led: int, stock: list[int]) -> None:
    """Raise an error if a position cannot be played."""
    for name, cards in (("own", own), ("other", other)):
        if not 0 <= cards <= ALL_CARDS:
            raise DeckError(f"{name}: expected a set of cards 0 to {NUM_CARDS - 1}, got {cards}")
    if not TO_LEAD <= led < NUM_CARDS:
        raise DeckError(f"led: expected a card number 0 to {NUM_CARDS - 1}, got {led}")
    try:
        in_stock = card_set(stock)
    except DeckError as error:
        raise DeckError(f"stock: {error}") from None
    on_table = 0 if led == TO_LEAD else 1 << led
    got = f"got own {hand_text(own)}, other {hand_text(other)}"
    got += f", stock {hand_text(in_stock)}" if stock else ""
    got += f", led {card_text(led)}" if on_table else ""
    if own & other:
        raise DeckError(f"expected different cards in the two hands, {got}")
    if on_table & (own | other | in_stock):
        raise DeckError(f"expected a led card that is on the table only, {got}")
    if in_stock & (own | other):
        raise DeckError(f"expected no card of the stock in a hand, {got}")
    if not 1 <= own.bit_count() <= _MAX_HAND:
        raise DeckError(f"expected 1 to {_MAX_HAND} cards in hand, {got}")
    if own.bit_count() != other.bit_count() + bool(on_table):
        expected = "one card more in own than in other once a card is led"
        if not on_table:
            expected = "hands of equal size for the player to lead"
        raise DeckError(f"expected {expected}, {got}")


def _checked_follow(follow: Follow) -> Follow:
    if not isinstance(follow, str) or follow not in _FOLLOW:
        expected = f"one of {', '.join(_FOLLOW)}"
        raise OptionError(f"follow: expected {expected}; got {shown(follow)}")
    return follow


class OpenSolver(Solver[tuple[IntArray, IntArray]]):
    """Solves many positions with a known stock in one call, and remembers endings between calls.

    Parameters
    ----------
    follow : {"always", "stock_empty"}
        Whether suit must be followed while the stock lasts (R6).
    table_bits : int
        Memory for ``2**table_bits`` endings and as many positions before them, 8 and 16 bytes
        each, a thread; 4 to 24.
    threads : int
        Threads that share a call's positions, 1 to 256. The results do not depend on it.

    Raises
    ------
    OptionError
        If an option is out of range.

    Notes
    -----
    Methods take ``own``, ``other`` (int64[N], card sets), ``stock`` (int64[N, M], card numbers,
    the top card first; M even, all positions of a call have as many) and ``led`` (int64[N], card
    numbers, -1 where the player leads; None: all lead). They raise ``DeckError`` for a position
    that cannot be played.
    """

    def __init__(self, follow: Follow = "always", table_bits: int = 16, threads: int = 1) -> None:
        self._follow = int(_checked_follow(follow) == "always")
        super().__init__(table_bits, threads)

    def new_part(self) -> tuple[IntArray, IntArray]:
        """Return one thread's tables, empty: of endings, and of positions before them."""
        from tressette_agents.solver_open_search import new_open_table  # loads numba
        from tressette_agents.solver_search import new_table

        return new_table(self.table_bits), new_open_table(self.table_bits)

    @property
    def nodes(self) -> tuple[int, int]:
        """Positions searched since the start or the last ``clear``: with a stock, without."""
        from tressette_agents.solver_open_search import NODES as OPEN_NODES
        from tressette_agents.solver_search import NODES

        seen = self._count(lambda tables: tables[1][OPEN_NODES])
        return seen, self._count(lambda tables: tables[0][NODES])

    def solve(self, own: Ints, other: Ints, stock: Ints, led: Ints | None = None) -> IntArray:
        """Thirds that the player to act takes in each position, int64[N]."""
        from tressette_agents.solver_open_kernels import open_values

        return self._run(open_values, own, other, stock, led, ())

    def card_values(self, own: Ints, other: Ints, stock: Ints, led: Ints | None = None) -> IntArray:
        """Thirds after each card of each position, int64[N, 40]; -1 where one is not legal."""
        from tressette_agents.solver_open_kernels import open_card_values

        return self._run(open_card_values, own, other, stock, led, (NUM_CARDS,))

    def _run(
        self,
        kernel: Callable[..., None],
        own: Ints,
        other: Ints,
        stock: Ints,
        led: Ints | None,
        shape: tuple[int, ...],
    ) -> IntArray:
        from tressette_agents.solver_open_search import new_scratch

        own = int_array("own", own)
        other = int_array("other", other)
        stock = int_array("stock", stock, dimensions=2)
        led = np.full(len(own), TO_LEAD) if led is None else int_array("led", led)
        if not len(own) == len(other) == len(stock) == len(led):
            lengths = f"{len(own)}, {len(other)}, {len(stock)} and {len(led)}"
            raise OptionError(f"expected as many own, other, stock and led, got {lengths}")
        size = stock.shape[1]
        if size % 2 or size > _MAX_STOCK:
            raise DeckError(f"stock: expected an even number of cards up to 20, got {size}")
        for row, position in enumerate(
            zip(own.tolist(), other.tolist(), led.tolist(), strict=True)
        ):
            try:
                _check_position(*position, stock[row].tolist())
            except DeckError as error:
                where = f" (position {row})" if len(own) > 1 else ""
                raise DeckError(f"{error}{where}") from None

        def solve_rows(tables: tuple[IntArray, IntArray], rows: slice, out: IntArray) -> None:
            positions = (own[rows], other[rows], led[rows], self._follow, stock[rows], out)
            kernel(*positions, suits(), *tables, new_scratch(size))

        return self._solve(solve_rows, len(own), shape)


@cache
def _solver_of(follow: Follow) -> OpenSolver:
    return OpenSolver(follow)


def _solver(follow: Follow) -> OpenSolver:
    return _solver_of(_checked_follow(follow))


def _single(
    own: int, other: int, stock: Sequence[int], led: int | None
) -> tuple[list[int], list[int], IntArray, IntArray]:
    return [own], [other], int_array("stock", stock)[None, :], led_array(led)


def solve_open(
    own: int, other: int, stock: Sequence[int], led: int | None = None, follow: Follow = "always"
) -> int:
    """Value of a position whose hands and stock are known, for the player to act.

    Parameters
    ----------
    own, other : int
        Card sets of the player to act and of the opponent.
    stock : sequence of int
        Cards to be drawn, the top card first; an even number, 0 to 20. Meant for up to six: each
        further trick multiplies the time.
    led : int, optional
        The opponent's card on the table; without it the player to act leads.
    follow : {"always", "stock_empty"}
        Whether suit must be followed while the stock lasts (R6).

    Returns
    -------
    int
        Thirds that the player to act will still take with best play by both, this trick and the
        last trick's three (R10) included. The opponent takes the rest.

    Raises
    ------
    DeckError
        If a card stands twice, the hands have the wrong sizes, or the stock is odd.
    OptionError
        If ``follow`` is unknown.

    Examples
    --------
    >>> from tressette_agents.solver_open import solve_open
    >>> from tressette_env.notation import parse_card, parse_hand
    >>> stock = [parse_card("3D"), parse_card("4C")]
    >>> solve_open(parse_hand("D:2"), parse_hand("D:K"), stock)  # the 2 wins the K, then the 3 all
    6
    """
    return int(_solver(follow).solve(*_single(own, other, stock, led))[0])


def open_card_values(
    own: int, other: int, stock: Sequence[int], led: int | None = None, follow: Follow = "always"
) -> dict[int, int]:
    """Value after each legal card, by card number; see ``solve_open``."""
    values = _solver(follow).card_values(*_single(own, other, stock, led))[0]
    return {card: int(value) for card, value in enumerate(values) if value >= 0}
