"""Many tables at once: arrays in, arrays out, every table in one compiled call.

Self-play and evaluation run on this. Shapes: B tables, A actions, F features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env import kernels
from tressette_env.cards import NUM_CARDS, card_list
from tressette_env.errors import IllegalCardError, OptionError
from tressette_env.notation import card_text
from tressette_env.observation import layout_for
from tressette_env.randomness import check_seed, fresh_seed
from tressette_env.rulesets import RuleSet, get_rules
from tressette_env.state import STATE_DTYPE
from tressette_env.view import VIEW_DTYPE, View

__all__ = ["BatchStep", "BatchTable"]


@dataclass(frozen=True)
class BatchStep:
    """What one ``BatchTable.play`` brought; new arrays on every call.

    Attributes
    ----------
    thirds : int64[B, 2]
        Thirds each side has taken in the deal; where it just ended, the final thirds.
    is_over : bool[B]
        Whether the table's episode ended with this card; it has been dealt anew.
    margins : int64[B]
        Where the episode ended, the margin of side 0: with ``episode="deal"`` in the house's unit
        (points or thirds, R11 and R12), with ``episode="match"`` +1 or -1. Elsewhere 0.
    """

    thirds: npt.NDArray[np.int64]
    is_over: npt.NDArray[np.bool_]
    margins: npt.NDArray[np.int64]


class BatchTable:
    """A number of tables that advance together, one card each a call.

    Table b starts with deal number ``first_deal + b`` of the seed; a finished table is dealt anew
    at once, its next deal having the number of its last one plus B. Decks are those of every
    other interface with the same seed.

    Parameters
    ----------
    num_tables : int
        B, at least 1.
    rules : str or RuleSet
        Preset name or rule set.
    seed : int, optional
        0 to 2**63 - 1; None draws one, kept in ``seed``.
    episode : {"deal", "match"}
        What ends an episode (R13); with "match" observations hold the totals.
    observation : {"flat", "history"}
        Whether observations hold the ordered plays.
    first_deal : int
        Number of the first deal.

    Raises
    ------
    OptionError, RulesError
        If an argument is out of range, or the rules cannot be played.
    """

    def __init__(
        self,
        num_tables: int,
        rules: str | RuleSet = "playmore",
        seed: int | None = None,
        *,
        episode: str = "deal",
        observation: str = "flat",
        first_deal: int = 0,
    ) -> None:
        is_integer = isinstance(num_tables, (int, np.integer)) and not isinstance(num_tables, bool)
        if not is_integer or num_tables < 1:
            raise OptionError(f"num_tables: expected an integer from 1 up, got {num_tables!r}")
        self.rules = get_rules(rules)
        self.num_tables = int(num_tables)
        self.seed = fresh_seed() if seed is None else check_seed(seed)
        self.layout = layout_for(self.rules, episode, observation)
        self._whole_matches = int(episode == "match")
        self._states = np.zeros(self.num_tables, STATE_DTYPE)
        self._scratch = np.zeros(1, VIEW_DTYPE)
        first = check_seed(first_deal, "first_deal")
        kernels.start_deals(self._states, self.rules.row, self.seed, first)

    @property
    def seats(self) -> npt.NDArray[np.int64]:
        """Seats to act, int64[B], a copy."""
        return self._states["turn"].astype(np.int64)

    @property
    def deal_numbers(self) -> npt.NDArray[np.int64]:
        """Numbers of the deals being played, int64[B], a copy."""
        return self._states["deal_number"].copy()

    @property
    def totals(self) -> npt.NDArray[np.int64]:
        """Match totals of each side before this deal, int64[B, 2], a copy."""
        return self._states["totals"].astype(np.int64)

    @property
    def legal_sets(self) -> npt.NDArray[np.int64]:
        """Card sets that the seats to act may play, int64[B], a new array."""
        sets = np.empty(self.num_tables, np.int64)
        kernels.legal_sets(self._states, self.rules.row, sets)
        return sets

    @property
    def legal_masks(self) -> npt.NDArray[np.bool_]:
        """Legal masks of the seats to act (True = allowed), bool[B, A], a new array."""
        masks = np.empty((self.num_tables, NUM_CARDS), np.bool_)
        kernels.spread_sets(self.legal_sets, masks)
        return masks

    @property
    def observations(self) -> npt.NDArray[np.int8]:
        """Observations of the seats to act, int8[B, F], a new array."""
        return self.observe()

    def observe(
        self,
        seats: npt.NDArray[np.integer[Any]] | None = None,
        out: npt.NDArray[np.int8] | None = None,
    ) -> npt.NDArray[np.int8]:
        """Write the observations of the given seats, or of the seats to act.

        Parameters
        ----------
        seats : int[B], optional
        out : int8[B, F], optional
            Filled and returned; a new array by default.
        """
        shape = (self.num_tables, self.layout.size)
        if out is None:
            out = np.empty(shape, np.int8)
        elif out.shape != shape or out.dtype != np.int8 or not out.flags.c_contiguous:
            raise OptionError(
                f"out: expected a contiguous array int8{shape}, got {out.dtype}{out.shape}"
            )
        kernels.observe(
            self._states,
            self.rules.row,
            self._check_seats(seats),
            self.layout.places,
            self._scratch,
            out.view(np.int64),
        )
        return out

    def views(self, seats: npt.NDArray[np.integer[Any]] | None = None) -> npt.NDArray[np.void]:
        """Return views of the given seats, or of the seats to act: VIEW_DTYPE[B], a new array."""
        views = np.empty(self.num_tables, VIEW_DTYPE)
        kernels.make_views(self._states, self.rules.row, self._check_seats(seats), views)
        return views

    def view(self, table: int, seat: int | None = None) -> View:
        """View of one table's seat to act, or of the given seat."""
        one = self._states[table : table + 1]
        out = np.empty(1, VIEW_DTYPE)
        seat = int(one["turn"][0]) if seat is None else seat
        kernels.view_one(one, self.rules.row, seat, out)
        return View.from_record(out[0], self.rules)

    def play(self, cards: npt.ArrayLike) -> BatchStep:
        """Play one card at every table, for its seat to act.

        Parameters
        ----------
        cards : int[B]
            Card numbers.

        Raises
        ------
        OptionError
            If the array has another length or is not of integers.
        IllegalCardError
            If a card may not be played; no table has moved.
        """
        played = self._check_cards(cards)
        illegal = kernels.first_illegal(self._states, self.rules.row, played)
        if illegal >= 0:
            raise self._illegal_card(illegal, int(played[illegal]))
        step = BatchStep(
            np.empty((self.num_tables, 2), np.int64),
            np.empty(self.num_tables, np.bool_),
            np.empty(self.num_tables, np.int64),
        )
        kernels.play_all(
            self._states,
            self.rules.row,
            played,
            self.seed,
            self._whole_matches,
            step.thirds,
            step.is_over,
            step.margins,
        )
        return step

    def snapshot(self) -> npt.NDArray[np.void]:
        """Copy of all states; ``restore`` takes it back."""
        return self._states.copy()

    def restore(self, snapshot: npt.NDArray[np.void]) -> None:
        """Put back the states of a snapshot of the same number of tables."""
        if snapshot.dtype != STATE_DTYPE or snapshot.shape != self._states.shape:
            raise OptionError(
                f"snapshot: expected one of {self.num_tables} tables of this version, "
                f"got {snapshot.dtype}{snapshot.shape}"
            )
        self._states[:] = snapshot

    def _check_cards(self, cards: npt.ArrayLike) -> npt.NDArray[np.int64]:
        array = np.asarray(cards)
        if array.shape != (self.num_tables,) or array.dtype.kind not in "iu":
            raise OptionError(
                f"cards: expected an integer array of shape ({self.num_tables},), one card a "
                f"table; got {array.dtype}{array.shape}"
            )
        return np.ascontiguousarray(array, np.int64)

    def _check_seats(self, seats: npt.NDArray[np.integer[Any]] | None) -> npt.NDArray[np.int64]:
        if seats is None:
            return self.seats
        array = np.asarray(seats)
        in_range = array.dtype.kind in "iu" and bool(
            ((array >= 0) & (array < self.rules.seats)).all()
        )
        if array.shape != (self.num_tables,) or not in_range:
            raise OptionError(
                f"seats: expected integers 0 to {self.rules.seats - 1} of shape "
                f"({self.num_tables},), got {array.dtype}{array.shape}"
            )
        return np.ascontiguousarray(array, np.int64)

    def _illegal_card(self, table: int, card: int) -> IllegalCardError:
        view = self.view(table)
        name = card_text(card) if 0 <= card < NUM_CARDS else str(card)
        legal = " ".join(card_text(c) for c in card_list(view.legal))
        return IllegalCardError(
            f"table {table}, seat {view.seat}: expected one of {legal}; got {name} (card {card}); "
            f"no table has moved (deal {int(self.deal_numbers[table])} of seed {self.seed}, "
            f"ply {view.ply})",
            tuple(view.legal_cards),
        )
