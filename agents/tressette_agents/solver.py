"""Exact play once the stock is empty: two seats, scored in thirds, suit must be followed.

The last ten tricks are then a game of perfect information, for each player knows the other's cards
(40 less those played and one's own). ``solve_ending`` gives the value of an ending of up to ten
cards a hand, a few thousand times a second; ``EndingSolver`` solves many in one call. Smaller decks
work as well: an ending is nothing but two sets of cards. ``docs/solver.md`` has the method and its
measured speed.

Everything is seen by the player to act: ``own`` are that player's cards, ``other`` the opponent's,
``led`` the opponent's card on the table, if there is one. Values are the thirds that this player
will still take with best play by both, this trick and the last trick's three thirds (R10) included.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tressette_agents.solver_base import TO_LEAD, IntArray, Ints, Solver, int_array, led_array
from tressette_env.card_notation import card_text, hand_text
from tressette_env.cards import ALL_CARDS, NUM_CARDS
from tressette_env.errors import DeckError, OptionError

__all__ = [
    "EndingSolver",
    "best_card",
    "card_values",
    "solve_ending",
    "suits",
]

_MAX_HAND = 10


def _check_endings(own: IntArray, other: IntArray, led: IntArray) -> None:
    """Raise an error for the first ending that cannot be played."""
    if not len(own) == len(other) == len(led):
        lengths = f"{len(own)}, {len(other)} and {len(led)}"
        raise OptionError(f"expected as many own, other and led, got {lengths}")
    for name, sets in (("own", own), ("other", other)):
        outside = (sets < 0) | (sets > ALL_CARDS)
        if outside.any():
            row = int(outside.argmax())
            got = f"{int(sets[row])} in ending {row}"
            raise DeckError(f"{name}: expected a set of cards 0 to {NUM_CARDS - 1}, got {got}")
    outside = (led < TO_LEAD) | (led >= NUM_CARDS)
    if outside.any():
        row = int(outside.argmax())
        got = f"{int(led[row])} in ending {row}"
        raise DeckError(f"led: expected a card number 0 to {NUM_CARDS - 1}, got {got}")
    leads = led == TO_LEAD
    on_table = np.where(leads, 0, np.int64(1) << np.maximum(led, 0))
    own_size = np.bitwise_count(own)
    unplayable = (
        (own & other != 0)
        | ((own | other) & on_table != 0)
        | (own_size != np.bitwise_count(other) + ~leads)
        | (own_size == 0)
        | (own_size > _MAX_HAND)
    )
    if unplayable.any():
        row = int(unplayable.argmax())
        where = f" (ending {row})" if len(own) > 1 else ""
        raise DeckError(_what_is_wrong(int(own[row]), int(other[row]), int(led[row])) + where)


def _what_is_wrong(own: int, other: int, led: int) -> str:
    got = f"got own {hand_text(own)}, other {hand_text(other)}"
    if led != TO_LEAD:
        got += f", led {card_text(led)}"
    if own & other:
        return f"expected different cards in the two hands, {got}"
    if led != TO_LEAD and (own | other) >> led & 1:
        return f"expected a led card that is in neither hand any more, {got}"
    if not 0 < own.bit_count() <= _MAX_HAND:
        return f"expected 1 to {_MAX_HAND} cards in hand, {got}"
    if led == TO_LEAD:
        return f"expected hands of equal size for the player to lead, {got}"
    return f"expected one card more in own than in other once a card is led, {got}"


class EndingSolver(Solver[IntArray]):
    """Solves many endings in one call and remembers positions from call to call.

    Parameters
    ----------
    table_bits : int
        Memory for ``2**table_bits`` positions a thread, 8 bytes each; 4 to 24. The default fits in
        the second-level cache of most processors: a larger table is searched less, but waited for.
    threads : int
        Threads that share a call's endings, 1 to 256. The results do not depend on it.

    Raises
    ------
    OptionError
        If an option is out of range.

    Notes
    -----
    Methods take ``own``, ``other`` (int64[N], card sets) and ``led`` (int64[N], card numbers, -1
    where the player leads; None: all lead) and raise ``DeckError`` for an ending that cannot be
    played.
    """

    rows_a_call = 1000

    def __init__(self, table_bits: int = 16, threads: int = 1) -> None:
        super().__init__(table_bits, threads)

    def new_part(self) -> IntArray:
        """Return one thread's table, empty."""
        from tressette_agents.solver_search import new_table  # loads numba

        return new_table(self.table_bits)

    @property
    def nodes(self) -> int:
        """Positions searched since the start or the last ``clear``."""
        from tressette_agents.solver_search import NODES

        return self._count(lambda table: table[NODES])

    def solve(self, own: Ints, other: Ints, led: Ints | None = None) -> IntArray:
        """Thirds that the player to act takes in each ending, int64[N]."""
        from tressette_agents.solver_kernels import values

        return self._run(values, own, other, led, ())

    def card_values(self, own: Ints, other: Ints, led: Ints | None = None) -> IntArray:
        """Thirds after each card of each ending, int64[N, 40]; -1 where a card is not legal."""
        from tressette_agents.solver_kernels import card_values

        return self._run(card_values, own, other, led, (NUM_CARDS,))

    def best_cards(self, own: Ints, other: Ints, led: Ints | None = None) -> IntArray:
        """Best card of each ending, int64[N]; of equally good ones the cheapest, then weakest."""
        from tressette_agents.solver_kernels import best_cards

        return self._run(best_cards, own, other, led, ())

    def _run(
        self,
        kernel: Callable[..., None],
        own: Ints,
        other: Ints,
        led: Ints | None,
        shape: tuple[int, ...],
    ) -> IntArray:
        own = int_array("own", own)
        other = int_array("other", other)
        led = np.full(len(own), TO_LEAD) if led is None else int_array("led", led)
        _check_endings(own, other, led)

        def solve_rows(table: IntArray, rows: slice, out: IntArray) -> None:
            kernel(own[rows], other[rows], led[rows], out, suits(), table)

        return self._solve(solve_rows, len(own), shape)


@cache
def suits() -> Any:
    """Table of suits that the compiled functions read, made once a process."""
    from tressette_agents.solver_search import suit_rows

    return suit_rows()


@cache
def _solver() -> EndingSolver:
    return EndingSolver()


def solve_ending(own: int, other: int, led: int | None = None) -> int:
    """Value of an ending for the player to act.

    Parameters
    ----------
    own, other : int
        Card sets of the player to act and of the opponent.
    led : int, optional
        The opponent's card on the table; without it the player to act leads.

    Returns
    -------
    int
        Thirds that the player to act will still take with best play by both, this trick and the
        last trick's three (R10) included. The opponent takes the rest.

    Raises
    ------
    DeckError
        If the hands share cards, have the wrong sizes or hold no cards, or ``led`` is in a hand.

    Examples
    --------
    >>> from tressette_agents.solver import solve_ending
    >>> from tressette_env.notation import parse_hand
    >>> solve_ending(parse_hand("D:3A"), parse_hand("D:2K"))  # A to the 2, then the 3 takes the K
    5
    """
    return int(_solver().solve([own], [other], led_array(led))[0])


def card_values(own: int, other: int, led: int | None = None) -> dict[int, int]:
    """Value of an ending after each legal card, by card number; see ``solve_ending``."""
    values = _solver().card_values([own], [other], led_array(led))[0]
    return {card: int(value) for card, value in enumerate(values) if value >= 0}


def best_card(own: int, other: int, led: int | None = None) -> int:
    """Best card of an ending; of equally good ones the cheapest, then the weakest.

    See ``solve_ending``.
    """
    return int(_solver().best_cards([own], [other], led_array(led))[0])
