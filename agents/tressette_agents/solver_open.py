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

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tressette_agents.solver import int_array, suits
from tressette_env.card_notation import card_text, hand_text
from tressette_env.cards import ALL_CARDS, NUM_CARDS, card_set
from tressette_env.errors import DeckError, OptionError

__all__ = ["OpenSolver", "open_card_values", "solve_open"]

_TO_LEAD = -1
_MAX_HAND = 10
_MAX_STOCK = 20
_TABLE_BITS = (4, 24)
_FOLLOW = ("always", "stock_empty")

Ints = npt.ArrayLike
IntArray = npt.NDArray[np.int64]
Follow = Literal["always", "stock_empty"]


def _check_position(own: int, other: int, led: int, stock: list[int]) -> None:
    """Raise an error if a position cannot be played."""
    for name, cards in (("own", own), ("other", other)):
        if not 0 <= cards <= ALL_CARDS:
            raise DeckError(f"{name}: expected a set of cards 0 to {NUM_CARDS - 1}, got {cards}")
    if not _TO_LEAD <= led < NUM_CARDS:
        raise DeckError(f"led: expected a card number 0 to {NUM_CARDS - 1}, got {led}")
    try:
        in_stock = card_set(stock)
    except DeckError as error:
        raise DeckError(f"stock: {error}") from None
    on_table = 0 if led == _TO_LEAD else 1 << led
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


class OpenSolver:
    """Solves many positions with a known stock in one call, and remembers endings between calls.

    Parameters
    ----------
    follow : {"always", "stock_empty"}
        Whether suit must be followed while the stock lasts (R6).
    table_bits : int
        Memory for ``2**table_bits`` endings and as many positions before them, 8 and 16 bytes
        each, a thread; 4 to 24.
    threads : int
        Threads that share a call's positions. The results do not depend on it.

    Raises
    ------
    OptionError
        If an option is out of range.

    Notes
    -----
    Methods take ``own``, ``other`` (int64[N], card sets), ``stock`` (int64[N, M], card numbers,
    the top card first; M even, all positions of a call have as many) and ``led`` (int64[N], card
    numbers, -1 where the player leads; None: all lead). They raise ``DeckError`` for a position
    that cannot be played. Several threads may use a solver; they wait for one another.
    """

    def __init__(self, follow: Follow = "always", table_bits: int = 16, threads: int = 1) -> None:
        if follow not in _FOLLOW:
            raise OptionError(f"follow: expected one of {', '.join(_FOLLOW)}; got {follow!r}")
        low, high = _TABLE_BITS
        if not isinstance(table_bits, int) or not low <= table_bits <= high:
            raise OptionError(f"table_bits: expected {low} to {high}, got {table_bits!r}")
        if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
            raise OptionError(f"threads: expected 1 or more, got {threads!r}")
        self._follow = int(follow == "always")
        self._table_bits = table_bits
        self._threads = threads
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Forget all positions and the count of nodes."""
        from tressette_agents.solver_open_search import new_open_table  # loads numba
        from tressette_agents.solver_search import new_table

        with self._lock:
            self._tables = [
                (new_table(self._table_bits), new_open_table(self._table_bits))
                for _ in range(self._threads)
            ]

    @property
    def nodes(self) -> tuple[int, int]:
        """Positions searched since the start or the last ``clear``: with a stock, without."""
        from tressette_agents.solver_open_search import NODES as OPEN_NODES
        from tressette_agents.solver_search import NODES

        endings = sum(int(table[NODES]) for table, _ in self._tables)
        return sum(int(seen[OPEN_NODES]) for _, seen in self._tables), endings

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
        led = np.full(len(own), _TO_LEAD) if led is None else int_array("led", led)
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
        out = np.empty((len(own), *shape), np.int64)
        bounds = [len(own) * part // self._threads for part in range(self._threads + 1)]

        def solve_part(part: int) -> None:
            rows = slice(bounds[part], bounds[part + 1])
            positions = (own[rows], other[rows], led[rows], self._follow, stock[rows], out[rows])
            kernel(*positions, suits(), *self._tables[part], new_scratch(size))

        with self._lock:
            if self._threads == 1:
                solve_part(0)
            else:
                with ThreadPoolExecutor(self._threads) as pool:
                    list(pool.map(solve_part, range(self._threads)))
        return out


@cache
def _solver(follow: Follow) -> OpenSolver:
    return OpenSolver(follow)


def _single(
    own: int, other: int, stock: Sequence[int], led: int | None
) -> tuple[list[int], list[int], Any, list[int]]:
    if led == _TO_LEAD:  # means "to lead" in arrays only
        raise DeckError(f"led: expected a card number 0 to {NUM_CARDS - 1} or None, got {led}")
    row = int_array("stock", stock) if len(stock) else np.zeros(0, np.int64)
    return [own], [other], row[None, :], [_TO_LEAD if led is None else led]


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
    if not isinstance(follow, str):
        raise OptionError(f"follow: expected one of {', '.join(_FOLLOW)}; got {follow!r}")
    return int(_solver(follow).solve(*_single(own, other, stock, led))[0])


def open_card_values(
    own: int, other: int, stock: Sequence[int], led: int | None = None, follow: Follow = "always"
) -> dict[int, int]:
    """Value after each legal card, by card number; see ``solve_open``."""
    if not isinstance(follow, str):
        raise OptionError(f"follow: expected one of {', '.join(_FOLLOW)}; got {follow!r}")
    values = _solver(follow).card_values(*_single(own, other, stock, led))[0]
    return {card: int(value) for card, value in enumerate(values) if value >= 0}
