"""Many tables at once: arrays in, arrays out, every table in one compiled call.

Self-play and evaluation run on this. Shapes: B tables, A actions, F features.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env import kernels, kernels_random, kernels_views
from tressette_env.batch_checks import (
    MAX_DEAL,
    check_card,
    check_cards,
    check_count,
    check_masks,
    check_observations,
    check_seats,
    check_sets,
    check_tables,
    deal_list,
)
from tressette_env.batch_snapshot import BatchSnapshot
from tressette_env.batch_step import STEP_DTYPE, BatchStep
from tressette_env.batch_views import masks_of
from tressette_env.cards import NUM_CARDS, card_list
from tressette_env.deals import deck_of
from tressette_env.errors import IllegalCardError, OptionError, shown
from tressette_env.match import opening_leader
from tressette_env.notation import card_text, record_text
from tressette_env.observation import Layout, layout_for
from tressette_env.randomness import check_seed, fresh_seed, random_word
from tressette_env.records import DealRecord, GameRecord
from tressette_env.rulesets import RuleSet, get_rules
from tressette_env.single_desk import new_desk, play_on_desk, step_on, tables_on
from tressette_env.state import STATE_DTYPE
from tressette_env.view import VIEW_DTYPE, View

__all__ = ["BatchTable"]

MAX_TABLES = 1 << 24
MAX_THREADS = 256


class BatchTable:
    """A number of tables that advance together, one card each a call.

    Table b starts with deal number ``first_deal + b``; a finished table is dealt anew at once, its
    next deal having the number of its last one plus B. Decks are those of every other interface
    with the same seed.

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
    observation : {"flat", "leads", "history"}
        What else observations hold: the cards that led tricks, or the ordered plays.
    first_deal : int
        Number of the first deal.
    deals : iterable of (deck, leader), optional
        Deals to play instead of the seed's: deal number k is entry k, over and over. In a match
        only the first leader is taken from the list, then the lead passes on (R14).
    num_threads : int
        Threads that share the tables; results do not depend on it.

    Raises
    ------
    OptionError, RulesError, DeckError
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
        deals: Iterable[tuple[Iterable[int], int]] | None = None,
        num_threads: int = 1,
    ) -> None:
        self._rules = get_rules(rules)
        self._num_tables = check_count("num_tables", num_tables)
        if self._num_tables > MAX_TABLES:
            raise OptionError(f"num_tables: expected at most {MAX_TABLES:,}, got {num_tables}")
        threads = check_count("num_threads", num_threads)
        if threads > MAX_THREADS:
            raise OptionError(f"num_threads: expected at most {MAX_THREADS}, got {num_threads}")
        self._num_threads = min(threads, self._num_tables)
        self._seed = fresh_seed() if seed is None else check_seed(seed)
        self._layout = layout_for(self.rules, episode, observation)
        self._episode = episode
        self._whole_matches = int(episode == "match")
        self._listed = deal_list(deals, self.rules)
        self._desk: npt.NDArray[np.int64] | None = None
        self._lay_out(np.zeros((2, self._num_tables), STATE_DTYPE))
        self._pool: ThreadPoolExecutor | None = None
        self._pool_owner = 0
        first = check_seed(first_deal, "first_deal")
        if first > MAX_DEAL:
            raise OptionError(f"first_deal: expected a number up to 2**60 - 1, got {first}")
        kernels.start_deals(self._now, self.rules.row, self._listed, self._seed, first)

    def _lay_out(self, states: npt.NDArray[np.void]) -> None:
        """Go on from given states; one table lies on a desk, with all that ``play_card`` needs."""
        # Row 0: the tables; row 1: for each, the end of its last finished episode.
        self._states = states
        if self._num_tables == 1:
            row, matches = self.rules.row, self._whole_matches
            self._desk = new_desk(states, row, matches, self._listed, self._seed)
            self._states = tables_on(self._desk)
        self._now = self._states[0]

    @property
    def num_tables(self) -> int:
        """B."""
        return self._num_tables

    @property
    def num_threads(self) -> int:
        """Threads that share the tables, at most one a table."""
        return self._num_threads

    @property
    def layout(self) -> Layout:
        """Where the blocks of an observation lie."""
        return self._layout

    @property
    def rules(self) -> RuleSet:
        """The rules, which a table keeps."""
        return self._rules

    @property
    def seed(self) -> int:
        """The seed whose deals are played; that of the snapshot after ``restore``."""
        return self._seed

    @property
    def states(self) -> npt.NDArray[np.void]:
        """Everything about the tables, hidden cards included: STATE_DTYPE[B], a copy.

        For critics and checks; what agents may know is in ``views``.
        """
        states: npt.NDArray[np.void] = self._now.copy()
        return states

    @property
    def seats(self) -> npt.NDArray[np.int64]:
        """Seats to act, int64[B], a copy."""
        return _column(self._now, "turn")

    @property
    def plies(self) -> npt.NDArray[np.int64]:
        """Cards played in each deal, int64[B], a copy."""
        return _column(self._now, "ply")

    @property
    def deal_numbers(self) -> npt.NDArray[np.int64]:
        """Numbers of the deals being played, int64[B], a copy."""
        return _column(self._now, "deal_number")

    @property
    def totals(self) -> npt.NDArray[np.int64]:
        """Match totals of each side before this deal, int64[B, 2], a copy."""
        return _column(self._now, "totals")

    @property
    def legal_sets(self) -> npt.NDArray[np.int64]:
        """Card sets that the seats to act may play, int64[B], a new array."""
        sets = np.empty(self._num_tables, np.int64)
        self.write_legal_sets(sets)
        return sets

    def write_legal_sets(self, out: npt.NDArray[np.int64]) -> None:
        """Write ``legal_sets`` into an array int64[B]."""
        kernels.legal_sets(self._now, self.rules.row, check_sets(out, self._num_tables))

    @property
    def legal_masks(self) -> npt.NDArray[np.bool_]:
        """Legal masks of the seats to act (True = allowed), bool[B, A], a new array."""
        return masks_of(self.legal_sets)

    @property
    def observations(self) -> npt.NDArray[np.int8]:
        """Observations of the seats to act, int8[B, F], a new array."""
        return self.observe()

    def observe(
        self,
        seats: npt.NDArray[np.integer[Any]] | None = None,
        out: npt.NDArray[np.int8] | None = None,
        *,
        last: bool = False,
    ) -> npt.NDArray[np.int8]:
        """Write the observations of the given seats, or of the seats to act.

        Parameters
        ----------
        seats : int[B], optional
        out : int8[B, F], optional
            Contiguous; filled and returned. A new array by default.
        last : bool
            Observe the end of each table's last finished episode instead of its present state;
            zeros where none has finished.
        """
        out = check_observations(out, self._num_tables, self._layout.size)
        states = self._states[int(last)]
        who = check_seats(seats, self._num_tables, self.rules)
        words = out.view(np.int64)
        self._share(
            lambda low, high: kernels_views.observe(
                states, self.rules.row, who, self._layout.places, words, low, high
            )
        )
        if last:
            out[states["ply"] == 0] = 0
        return out

    def views(self, seats: npt.NDArray[np.integer[Any]] | None = None) -> npt.NDArray[np.void]:
        """Return views of the given seats, or of the seats to act: VIEW_DTYPE[B], a new array."""
        views = np.empty(self._num_tables, VIEW_DTYPE)
        who = check_seats(seats, self._num_tables, self.rules)
        kernels_views.make_views(self._now, self.rules.row, who, views)
        return views

    def view(self, table: int, seat: int | None = None) -> View:
        """View of one table's seat to act, or of the given seat."""
        (place,) = check_tables([table], self._num_tables)
        one = self._now[place : place + 1]
        if seat is None:
            seat = int(one["turn"][0])
        elif not isinstance(seat, int | np.integer) or seat not in range(self.rules.seats):
            raise OptionError(f"seat: expected 0 to {self.rules.seats - 1}, got {shown(seat)}")
        out = np.empty(1, VIEW_DTYPE)
        kernels_views.view_one(one, self.rules.row, int(seat), out)
        return View.from_record(out[0], self.rules)

    def play(self, cards: npt.ArrayLike, out: BatchStep | None = None) -> BatchStep:
        """Play one card at every table, for its seat to act.

        Parameters
        ----------
        cards : int[B]
            Card numbers.
        out : BatchStep, optional
            Filled and returned; a new one by default.

        Raises
        ------
        OptionError
            If the array has another length or is not of integers.
        IllegalCardError
            If a card may not be played; no table has moved.
        """
        played = check_cards(cards, self._num_tables)
        out = self._step_for(out)
        if self._num_threads == 1:
            illegal = kernels.check_and_play(
                self._states,
                self._rules.row,
                played,
                self._whole_matches,
                self._listed,
                self._seed,
                out.rows,
            )
        else:
            illegal = self._play_shared(played, out)
        if illegal >= 0:
            raise self._illegal_card(illegal, int(played[illegal]))
        return out

    def play_card(self, card: int) -> tuple[int, bool]:
        """Play a card in a batch of one table: quicker than ``play``, which takes an array.

        Parameters
        ----------
        card : int

        Returns
        -------
        legal : int
            The card set that the seat to act next may play.
        is_over : bool
            Whether the episode ended with this card; the table has been dealt anew. Who won how
            much is in ``last_step``.

        Raises
        ------
        OptionError
            If there are more tables, or the card is not an integer.
        IllegalCardError
            If the card may not be played; the table has not moved.
        """
        if self._desk is None:
            raise OptionError(
                f"play_card: expected a batch of one table, got {self._num_tables}; play() takes a "
                "card for each"
            )
        if type(card) is not int:
            card = check_card(card)
        if 0 <= card < NUM_CARDS:
            result = play_on_desk(self._desk, card)
            if result[0] >= 0:
                return result
        raise self._illegal_card(0, card)

    @property
    def last_step(self) -> BatchStep:
        """What the last ``play_card`` brought; a view that the next one changes.

        Zeros before the first one, after ``restore`` and in a copy of the table.

        Raises
        ------
        OptionError
            If there are more tables than one.
        """
        if self._desk is None:
            raise OptionError(f"last_step: expected a batch of one table, got {self._num_tables}")
        return BatchStep(step_on(self._desk))

    def play_at(self, tables: npt.NDArray[np.int64], cards: npt.NDArray[np.int64]) -> BatchStep:
        """Play one card at some of the tables only.

        Parameters
        ----------
        tables : int64[N]
            Table numbers, ascending.
        cards : int64[N]

        Returns
        -------
        BatchStep
            Row n is that of table ``tables[n]``.

        Raises
        ------
        IllegalCardError
            If a card may not be played; no table has moved.
        """
        at = check_tables(tables, self._num_tables)
        played = check_cards(cards, len(at))
        out = BatchStep(np.empty(len(at), STEP_DTYPE))
        illegal = kernels.play_at(
            self._states,
            self.rules.row,
            at,
            played,
            self._whole_matches,
            self._listed,
            self._seed,
            out.rows,
        )
        if illegal >= 0:
            raise self._illegal_card(int(at[illegal]), int(played[illegal]))
        return out

    def views_at(self, tables: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
        """Return views of the seats to act at some tables (int64[N]): VIEW_DTYPE[N]."""
        at = check_tables(tables, self._num_tables)
        views = np.empty(len(at), VIEW_DTYPE)
        kernels_views.views_at(self._now, self.rules.row, at, views)
        return views

    def play_randomly(
        self,
        plies: int,
        seed: int = 0,
        *,
        masks: npt.NDArray[np.bool_] | None = None,
        observations: npt.NDArray[np.int8] | None = None,
        out: BatchStep | None = None,
    ) -> BatchStep:
        """Play uniformly random legal cards, ``plies`` at every table, in one compiled call.

        Parameters
        ----------
        plies : int
            At least 1.
        seed : int
            Of the choices; they do not depend on the number of tables or threads.
        masks : bool[B, A], optional
            Filled with the legal masks before every card; holds the last ones after the call.
        observations : int8[B, F], optional
            Likewise with the observations of the seats to act.
        out : BatchStep, optional
            Filled and returned; a new one by default.

        Returns
        -------
        BatchStep
            Of the last card.
        """
        plies = check_count("plies", plies)
        if plies > MAX_DEAL:
            raise OptionError(f"plies: expected at most 2**60 - 1, got {plies}")
        step = self._step_for(out)
        key = random_word(check_seed(seed), 0) & 0xFFFFFFFF
        nothing = np.empty((0, 1), np.int64)
        mask_words = words = nothing
        if masks is not None:
            mask_words = check_masks(masks, self._num_tables).view(np.int64)
        if observations is not None:
            size = self._layout.size
            words = check_observations(observations, self._num_tables, size).view(np.int64)
        self._share(
            lambda low, high: kernels_random.play_randomly(
                self._states,
                self.rules.row,
                self._whole_matches,
                self._listed,
                self._seed,
                plies,
                key,
                mask_words,
                words,
                self._layout.places,
                step.rows,
                low,
                high,
            )
        )
        return step

    def __copy__(self) -> BatchTable:
        # Two that shared their tables would play each other's cards; the rest never changes.
        other = object.__new__(type(self))
        other.__setstate__({**self.__getstate__(), "_states": self._states.copy()})
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> BatchTable:
        return self.__copy__()

    def __getstate__(self) -> dict[str, Any]:
        # Threads cannot be copied; a copy starts its own. The desk and views are made anew.
        left = {"_now", "_desk"}
        state = {name: value for name, value in self.__dict__.items() if name not in left}
        return {**state, "_pool": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _desk=None)
        self._lay_out(self._states)

    def snapshot(self) -> BatchSnapshot:
        """Copy of everything that decides how the tables go on; ``restore`` takes it back."""
        return BatchSnapshot(
            self._states.copy(), self.rules, self._episode, self._seed, self._listed
        ).seal()

    def restore(self, snapshot: BatchSnapshot) -> None:
        """Go on as the table of the snapshot would, with its seed or list of deals.

        Raises
        ------
        OptionError
            If it is of another number of tables, other rules or another kind of episode; nothing
            has changed.
        """
        if not isinstance(snapshot, BatchSnapshot):
            raise OptionError(f"snapshot: expected what snapshot() gives, got {shown(snapshot)}")
        snapshot.check(self._num_tables, self.rules, self._episode)
        self._seed, self._listed = snapshot.seed, snapshot.listed
        self._lay_out(snapshot.states.copy())

    def _share(self, work: Callable[[int, int], Any]) -> list[Any]:
        """Call ``work(low, high)`` for ranges of tables, one a thread; return what they return."""
        if self._num_threads == 1:
            return [work(0, self._num_tables)]
        if self._pool is None or self._pool_owner != os.getpid():  # a fork has no threads
            self._pool = ThreadPoolExecutor(self._num_threads - 1, "tressette")
            self._pool_owner = os.getpid()
        pool = self._pool

        def start(low: int, high: int) -> Callable[[], Any]:
            try:
                return pool.submit(work, low, high).result
            except RuntimeError:  # no thread can be started: do its work here
                done = work(low, high)
                return lambda: done

        bounds = np.linspace(0, self._num_tables, self._num_threads + 1).astype(int).tolist()
        others = [start(low, high) for low, high in pairwise(bounds[1:])]
        return [work(bounds[0], bounds[1]), *(result() for result in others)]

    def _play_shared(self, played: npt.NDArray[np.int64], out: BatchStep) -> int:
        row = self.rules.row
        found = self._share(
            lambda low, high: kernels.first_illegal(self._now, row, played, low, high)
        )
        illegal = next((table for table in found if table >= 0), -1)
        if illegal < 0:
            self._share(
                lambda low, high: kernels.play_all(
                    self._states,
                    row,
                    played,
                    self._whole_matches,
                    self._listed,
                    self._seed,
                    out.rows,
                    low,
                    high,
                )
            )
        return illegal

    def _step_for(self, out: BatchStep | None) -> BatchStep:
        if out is None:
            return BatchStep(np.empty(self._num_tables, STEP_DTYPE))
        if not isinstance(out, BatchStep):
            raise OptionError(f"out: expected a BatchStep, got {shown(out)}")
        if out.rows.shape != (self._num_tables,):
            raise OptionError(
                f"out: expected a BatchStep of {self._num_tables} tables, got {len(out.rows)}"
            )
        return out

    def _illegal_card(self, table: int, card: int) -> IllegalCardError:
        view = self.view(table)
        name = card_text(card) if 0 <= card < NUM_CARDS else "no card"
        legal = " ".join(card_text(c) for c in card_list(view.legal))
        return IllegalCardError(
            f"table {table}, seat {view.seat}: expected one of {legal}; got {name} (card {card}); "
            f"no table has moved ({self._where(table)}, ply {view.ply}; the error's `record` is "
            "the deal so far)",
            tuple(view.legal_cards),
            self.record(table),
        )

    def _where(self, table: int) -> str:
        number = int(self._now["deal_number"][table])
        if len(self._listed):
            return f"entry {number % len(self._listed)} of the list of deals"
        return f"deal {number} of seed {self._seed}"

    def record(self, table: int) -> str:
        """Return one table's deal so far as text, which ``notation.parse_record`` reads back.

        In a match the deals before it are not kept.
        """
        (place,) = check_tables([table], self._num_tables)
        state = self._now[place]
        number = int(state["deal_number"])
        if len(self._listed):
            deck = tuple(self._listed[number % len(self._listed), :-1].tolist())
        else:
            deck = deck_of(self.rules, self._seed, number)
        deal = DealRecord(
            number=None if len(self._listed) else number,
            deck=deck,
            leader=int(opening_leader(self._now.view(np.recarray)[place], self.rules)),
            plays=tuple(state["plays"][: state["ply"]].tolist()),
        )
        return record_text(GameRecord(self.rules, self._seed, (deal,)))


def _column(states: npt.NDArray[np.void], field: str) -> npt.NDArray[np.int64]:
    """Copy a field of many states."""
    column: npt.NDArray[np.int64] = states[field].astype(np.int64)
    return column
