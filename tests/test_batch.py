"""Batches of tables: bad input, numbering of deals, buffers, snapshots, matches, threads."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tressette_env import (
    PRESETS,
    BatchStep,
    BatchTable,
    IllegalCardError,
    kernels,
    kernels_views,
    tressette_v0,
)
from tressette_env.batch_step import STEP_DTYPE
from tressette_env.card_notation import card_text
from tressette_env.cards import card_list, card_set
from tressette_env.deals import deck_of, first_leader
from tressette_env.errors import DeckError, OptionError, TressetteError
from tressette_env.notation import parse_record
from tressette_env.observation import layout_for
from tressette_env.rulesets import playable_presets

PLAYABLE = playable_presets()
THIRDS_OF_SIDES = ("thirds_own", "thirds_other")


def lowest(table: BatchTable) -> npt.NDArray[np.int64]:
    """The lowest legal card of every table."""
    return table.legal_masks.argmax(1)


def play_plies(table: BatchTable, plies: int) -> None:
    for _ in range(plies):
        table.play(lowest(table))


def everything(table: BatchTable) -> bytes:
    return table.snapshot().states.tobytes()


# ------------------------------------------------------------ bad input


@pytest.mark.parametrize("wrong", [0, -1, 2.0, "4", None, True])
def test_a_number_of_tables_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(OptionError, match="num_tables: expected an integer from 1 up, got"):
        BatchTable(wrong)
    with pytest.raises(OptionError, match="num_threads: expected an integer from 1 up, got"):
        BatchTable(2, num_threads=wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"episode": "game"}, "episode: expected 'deal' or 'match', got 'game'"),
        (
            {"observation": "image"},
            "observation: expected 'flat', 'leads' or 'history', got 'image'",
        ),
        ({"first_deal": -1}, "first_deal: expected an integer from 0 to"),
        ({"first_deal": 1.5}, "first_deal: expected an integer from 0 to"),
        ({"seed": 2**63}, "seed: expected an integer from 0 to"),
        ({"rules": "plymore"}, "did you mean 'playmore'"),
        ({"deals": []}, "deals: expected at least one deal, got none"),
        ({"deals": [(range(40), 2)]}, "deals: leader of deal 0: expected a seat, 0 to 1; got 2"),
        ({"deals": [(range(40), 0), (range(39), 0)]}, "expected 40 cards, got 39; missing: 39"),
    ],
)
def test_an_option_out_of_range_is_refused(options: Any, message: str) -> None:
    with pytest.raises(TressetteError, match=message):
        BatchTable(2, **options)


WRONG_CARDS: list[Callable[[npt.NDArray[np.int64]], Any]] = [
    lambda cards: cards[:-1],
    lambda cards: np.append(cards, 0),
    lambda cards: cards[:, None],
    lambda cards: cards[None],
    lambda cards: cards.astype(np.float64),
    lambda cards: cards.astype(np.float32),
    lambda cards: cards > 0,
    lambda cards: cards.astype(object),
    lambda cards: cards.astype(str),
    lambda cards: cards.tolist()[0],
    lambda cards: [float(card) for card in cards],
    lambda cards: [],
    lambda cards: None,
    lambda cards: np.zeros((len(cards), 40), np.int64),
]


@pytest.mark.parametrize("change", WRONG_CARDS)
def test_cards_of_a_wrong_shape_or_type_are_refused_and_no_table_moves(
    change: Callable[[npt.NDArray[np.int64]], Any],
) -> None:
    table = BatchTable(5, seed=1)
    before = everything(table)
    with pytest.raises(OptionError, match=r"cards: expected an integer array of shape \(5,\), one"):
        table.play(change(lowest(table)))
    assert everything(table) == before


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint64, np.int64, None]
)
def test_cards_of_any_integer_type_or_a_list_are_taken(dtype: Any) -> None:
    table, other = BatchTable(9, seed=1), BatchTable(9, seed=1)
    cards = lowest(table)
    table.play(cards.tolist() if dtype is None else cards.astype(dtype))
    other.play(cards)
    assert everything(table) == everything(other)
    doubled = np.repeat(lowest(table), 2)[::2]  # not contiguous
    table.play(doubled)
    other.play(lowest(other))
    assert everything(table) == everything(other)


@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("where", [0, 17, 99])
def test_one_illegal_card_among_many_moves_no_table_and_is_named(
    where: int, num_threads: int
) -> None:
    """Never a silent loss or a silent random card."""
    table = BatchTable(100, "playmore", seed=6, num_threads=num_threads)
    for ply in range(40):
        cards = lowest(table)
        legal = table.legal_sets[where]
        seat = table.seats[where]
        held_back = set(range(40)) - set(card_list(int(legal)))
        illegal = [*sorted(held_back), -1, 40, 64, 2**40]
        for card in illegal[:: 1 + ply % 11]:
            before = everything(table)
            wrong = cards.copy()
            wrong[where] = card
            with pytest.raises(IllegalCardError) as caught:
                table.play(wrong)
            assert everything(table) == before
            text = str(caught.value)
            assert text.startswith(f"table {where}, seat {seat}: expected one of ")
            assert f"(card {card})" in text
            assert "no table has moved" in text
            assert f"deal {where} of seed 6, ply {ply}" in text
            assert caught.value.legal == tuple(card_list(int(legal)))
            names = text.partition("expected one of ")[2].partition(";")[0].split()
            assert names == [card_text(legal_card) for legal_card in card_list(int(legal))]
            if 0 <= card < 40:
                assert f"got {card_text(card)} (card {card})" in text
        table.play(cards)


def test_of_several_illegal_cards_the_first_table_is_named() -> None:
    table = BatchTable(10, seed=6)
    cards = lowest(table)
    cards[3] = cards[8] = 77
    with pytest.raises(IllegalCardError, match=r"^table 3, .*got no card \(card 77\)"):
        table.play(cards)


# ------------------------------------------------------------ numbering


@pytest.mark.parametrize("name", ["playmore", "gamelake_partners", "mini_2x4"])
@pytest.mark.parametrize(("tables", "first"), [(1, 0), (4, 0), (4, 10), (3, 2**40)])
def test_a_table_dealt_anew_gets_its_last_number_plus_the_number_of_tables(
    name: str, tables: int, first: int
) -> None:
    rules = PRESETS[name]
    table = BatchTable(tables, name, seed=2, first_deal=first)
    size = rules.hand_size
    for played in range(4):
        numbers = [first + index + played * tables for index in range(tables)]
        assert table.deal_numbers.tolist() == numbers
        states = table.states
        for index, number in enumerate(numbers):
            deck = deck_of(rules, 2, number)
            for seat in range(rules.seats):
                hand = sorted(deck[size * seat : size * seat + size])
                assert card_list(int(states["hands"][index][seat])) == hand
            assert table.seats[index] == first_leader(rules, 2, number)
        assert (table.plies == 0).all()
        play_plies(table, rules.deck_size)


@pytest.mark.parametrize("first", [0, 5, 1000])
def test_first_deal_starts_further_on_in_the_same_stream(first: int) -> None:
    long = BatchTable(first + 3, seed=2)
    short = BatchTable(3, seed=2, first_deal=first)
    assert (long.observations[first:] == short.observations).all()
    assert (long.seats[first:] == short.seats).all()


@pytest.mark.parametrize("name", ["playmore", "gamelake_partners"])
def test_listed_deals_are_played_instead_over_and_over(name: str) -> None:
    rules = PRESETS[name]
    listed = [(deck_of(rules, 50, k), (k * 3) % rules.seats) for k in range(3)]
    table = BatchTable(2, name, seed=2, deals=listed)
    for played in range(4):
        for index in range(2):
            deck, leader = listed[(index + 2 * played) % 3]
            hands = [set(deck[10 * seat : 10 * seat + 10]) for seat in range(rules.seats)]
            assert [set(table.view(index, s).hand_cards) for s in range(rules.seats)] == hands
            assert table.seats[index] == leader
        play_plies(table, 40)


def test_in_a_match_only_the_first_leader_is_taken_from_the_list() -> None:
    rules = PRESETS["playmore"].replace(target=100)
    listed = [(deck_of(rules, 50, k), 1) for k in range(2)]
    table = BatchTable(1, rules, seed=2, deals=listed, episode="match")
    leaders = []
    for _ in range(4):
        leaders.append(int(table.seats[0]))
        play_plies(table, 40)
    assert leaders == [1, 0, 1, 0]


def test_a_list_with_a_wrong_deck_is_refused_by_its_place() -> None:
    deck = list(range(40))
    with pytest.raises(DeckError, match="expected each card once, card 3 stands at places 3 and 4"):
        BatchTable(1, deals=[(deck, 0), ([0, 1, 2, 3, 3, *deck[5:]], 0)])


# ------------------------------------------------------------ results


def test_a_step_is_new_on_every_call_and_stays_as_it_was() -> None:
    table = BatchTable(6, seed=3)
    steps = [table.play(lowest(table)) for _ in range(45)]
    copies = [[array.copy() for array in (s.thirds, s.is_over, s.margins)] for s in steps]
    play_plies(table, 45)
    for step, (thirds, over, margins) in zip(steps, copies, strict=True):
        assert (step.thirds == thirds).all()
        assert (step.is_over == over).all()
        assert (step.margins == margins).all()
    for one, other in itertools.combinations(steps[:5], 2):
        assert not np.shares_memory(one.rows, other.rows)
    assert [bool(step.is_over.all()) for step in steps] == [ply == 39 for ply in range(45)]
    assert not steps[38].is_over.any()


def test_a_step_given_back_is_filled_again() -> None:
    table, other = BatchTable(6, seed=3), BatchTable(6, seed=3)
    step = table.play(lowest(table))
    other.play(lowest(other))
    for _ in range(60):
        again = table.play(lowest(table), out=step)
        assert again is step
        new = other.play(lowest(other))
        assert (step.rows == new.rows).all()
    with pytest.raises(OptionError, match="out: expected a BatchStep of 5 tables, got 6"):
        BatchTable(5, seed=3).play(lowest(BatchTable(5, seed=3)), out=step)


def test_a_step_tells_who_is_next_and_what_they_may_play() -> None:
    for name in ("playmore", "gamelake_partners", "mini_2x5"):
        table = BatchTable(20, name, seed=3)
        for _ in range(50):
            step = table.play(lowest(table))
            assert (step.seats == table.seats).all()
            assert (step.legal_sets == table.legal_sets).all()


def test_arrays_handed_out_are_copies() -> None:
    table = BatchTable(4, seed=3)
    before = everything(table)
    arrays = [
        table.seats,
        table.plies,
        table.deal_numbers,
        table.totals,
        table.legal_sets,
        table.legal_masks,
        table.observations,
        table.views(),
        table.snapshot().states,
        table.states,
    ]
    for array in arrays:
        array[...] = np.zeros((), array.dtype)
    assert everything(table) == before
    assert table.legal_masks.dtype == np.bool_
    assert table.legal_masks.shape == (4, 40)
    assert table.observations.dtype == np.int8
    assert table.observations.shape == (4, table.layout.size)
    assert table.seats.dtype == np.int64


@pytest.mark.parametrize("name", PLAYABLE)
def test_masks_are_the_legal_sets_card_by_card(name: str) -> None:
    table = BatchTable(30, name, seed=3)
    for _ in range(2 * PRESETS[name].deck_size):
        sets, masks = table.legal_sets, table.legal_masks
        assert masks.any(1).all()
        assert [np.flatnonzero(mask).tolist() for mask in masks] == list(
            map(card_list, sets.tolist())
        )
        table.play(lowest(table))


# ------------------------------------------------------------ observing


def test_observations_go_into_a_given_array() -> None:
    table = BatchTable(5, seed=4)
    out = np.full((5, table.layout.size), 7, np.int8)
    assert table.observe(out=out) is out
    assert (out == table.observations).all()
    assert set(np.unique(out)) == {0, 1}


def test_an_array_that_cannot_be_filled_is_refused_and_left_alone() -> None:
    table = BatchTable(4, seed=4)
    size = table.layout.size
    read_only = np.full((4, size), 7, np.int8)
    read_only.flags.writeable = False
    wrong = [
        np.full((4, size), 7, np.int16),
        np.full((4, size), 7, np.uint8),
        np.full((4, size), 7, np.float32),
        np.full((4, size), 7, np.bool_),
        np.full((3, size), 7, np.int8),
        np.full((4, size + 1), 7, np.int8),
        np.full(4 * size, 7, np.int8),
        np.full((size, 4), 7, np.int8).T,
        np.full((4, 2 * size), 7, np.int8)[:, ::2],
        np.full((8, size), 7, np.int8)[::2],
        np.full((4, size), 7, np.int8, order="F"),
        np.full(4 * size + 1, 7, np.int8)[1:].reshape(4, size),
        read_only,
    ]
    for out in wrong:
        before = out.copy()
        with pytest.raises(OptionError, match=r"expected a contiguous, aligned array int8\(4, "):
            table.observe(out=out)
        assert (out == before).all()


@pytest.mark.parametrize("name", ["playmore", "cuperativa", "gamelake_partners"])
def test_any_seats_can_be_observed_not_only_those_to_act(name: str) -> None:
    rules = PRESETS[name]
    table = BatchTable(12, name, seed=4)
    play_plies(table, 13)
    rng = np.random.default_rng(4)
    seats = rng.integers(0, rules.seats, 12)
    for given in (seats, seats.astype(np.int8), seats.astype(np.uint32), np.repeat(seats, 2)[::2]):
        mixed, views = table.observe(given), table.views(given)
        for index, seat in enumerate(seats):
            alone = table.observe(np.full(12, seat))[index]
            assert (mixed[index] == alone).all()
            assert views[index]["seat"] == seat
            assert table.view(index, int(seat)).hand == views[index]["hand"]
            assert views[index]["legal"] == (
                table.legal_sets[index] if seat == table.seats[index] else 0
            )
    hand = layout_for(rules)["hand"].slice
    for index in range(12):
        view = table.view(index)
        assert view.seat == table.seats[index]
        assert np.flatnonzero(table.observations[index][hand]).tolist() == view.hand_cards


@pytest.mark.parametrize(
    "wrong",
    [
        np.array([0, 1, 2, 0]),
        np.array([0, 1, -1, 0]),
        np.array([0, 1, 0]),
        np.array([[0, 1, 0, 0]]),
        np.array([0.0, 1.0, 0.0, 0.0]),
        np.array([True, False, True, False]),
        np.array(["0", "1", "0", "0"]),
        1,
    ],
)
def test_what_are_no_seats_are_refused(wrong: Any) -> None:
    table = BatchTable(4, "playmore", seed=4)
    for call in (table.observe, table.views):
        with pytest.raises(OptionError, match=r"seats: expected integers 0 to 1 of shape \(4,\)"):
            call(wrong)


def test_the_end_of_the_last_episode_can_be_observed_after_the_new_deal() -> None:
    table = BatchTable(3, "playmore", seed=4)
    assert not table.observe(last=True).any()
    layout = table.layout
    for _ in range(3):
        play_plies(table, 39)
        before = table.observe(np.zeros(3, int))
        step = table.play(lowest(table))
        assert step.is_over.all()
        for seat in (1, 0):
            ended = table.observe(np.full(3, seat), last=True)
            assert (ended[:, layout["hand"].slice] == 0).all()
            assert (ended[:, layout["stock"].slice] == 0).all()
            own, other = (ended[:, layout[name].slice].sum(1) for name in THIRDS_OF_SIDES)
            assert (own == step.thirds[:, seat]).all()
            assert (other == step.thirds[:, 1 - seat]).all()
            assert ended[:, layout["played"].slice].sum() == 3 * 40
        assert (before[:, layout["played"].slice].sum(1) == 39).all()
    play_plies(table, 5)
    assert (table.observe(np.zeros(3, int), last=True) == ended).all()


# ------------------------------------------------------------ snapshots


@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("name", ["playmore", "gamelake_partners_short", "mini_2x5"])
def test_a_restored_snapshot_goes_on_exactly_as_the_first_time(name: str, episode: str) -> None:
    table = BatchTable(7, name, seed=5, episode=episode)
    play_plies(table, 55)
    saved = table.snapshot()
    before = saved.states.tobytes()
    runs: list[list[Any]] = [[], []]
    for seen in runs:
        table.restore(saved)
        assert everything(table) == before
        for _ in range(120):
            seen.append(table.observations.tobytes())
            step = table.play(39 - table.legal_masks[:, ::-1].argmax(1))
            seen += [step.thirds.tolist(), step.is_over.tolist(), step.margins.tolist()]
    assert runs[0] == runs[1]
    assert saved.states.tobytes() == before
    other = BatchTable(7, name, seed=5, episode=episode)
    other.restore(saved)
    assert other.observations.tobytes() == runs[0][0]


def test_a_snapshot_that_was_changed_is_checked_before_it_is_restored() -> None:
    table = BatchTable(3, seed=5)
    play_plies(table, 7)
    saved = table.snapshot()
    table.restore(pickle.loads(pickle.dumps(saved)))
    saved.states["plays"][0, 0, 20] = 5  # beyond the cards that were played
    with pytest.raises(OptionError, match="out of range"):
        table.restore(saved)
    with pytest.raises(OptionError, match="out of range"):
        table.restore(dataclasses.replace(table.snapshot(), states=saved.states))


def test_a_snapshot_is_a_copy_and_so_is_what_is_restored() -> None:
    table = BatchTable(3, seed=5)
    saved = table.snapshot()
    before = saved.states.tobytes()
    play_plies(table, 3)
    assert saved.states.tobytes() == before
    table.restore(saved)
    saved.states["hands"] = 0
    assert table.legal_masks.any(1).all()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (BatchTable(4, seed=5), "expected one of 3 tables, got one of 4"),
        (BatchTable(3, "gamelake", seed=5), "follow 'stock_empty' there, 'always' here"),
        (BatchTable(3, "gamelake_partners", seed=5), "seats 4 there, 2 here"),
        (BatchTable(3, "mini_2x4", seed=5), "a deck of 8 cards there"),
        (BatchTable(3, seed=5, episode="match"), "episode 'match' there, 'deal' here"),
    ],
)
def test_a_snapshot_of_other_tables_is_refused(other: BatchTable, message: str) -> None:
    table = BatchTable(3, seed=5)
    before = everything(table)
    with pytest.raises(OptionError, match=re.escape(message)):
        table.restore(other.snapshot())
    assert everything(table) == before


@pytest.mark.parametrize("wrong", [None, np.zeros((2, 3)), BatchTable(3, seed=5).states])
def test_what_is_no_snapshot_is_refused(wrong: Any) -> None:
    with pytest.raises(OptionError, match="snapshot: expected what snapshot"):
        BatchTable(3, seed=5).restore(wrong)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("turn", 2),
        ("turn", -1),
        ("ply", 41),
        ("ply", 40),  # the deal is over: the table would have been dealt anew
        ("hands", -1),
        ("hands", 1 << 40),
        ("plays", 40),
        ("stock", 77),
    ],
)
def test_a_snapshot_with_states_out_of_range_is_refused(field: str, value: int) -> None:
    table = BatchTable(3, seed=5)
    before, saved = everything(table), table.snapshot()
    saved.states[field] = value
    with pytest.raises(OptionError, match="out of range"):
        table.restore(saved)
    assert everything(table) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": -1},
        {"seed": "5"},
        {"listed": None},
        {"listed": np.arange(41)},
        {"listed": np.zeros((0, 5), np.int64)},
        {"listed": np.zeros((1, 41), np.int64)},
        {"listed": np.array([[*range(40), 0]], np.int32)},
        {"listed": np.array([[*range(40), 2]])},
    ],
)
@pytest.mark.parametrize("num_tables", [1, 3])
def test_a_snapshot_that_could_not_be_dealt_from_is_refused(
    num_tables: int, changes: dict[str, Any]
) -> None:
    table = BatchTable(num_tables, seed=5)
    before, saved = everything(table), table.snapshot()
    with pytest.raises(OptionError, match="snapshot: "):
        table.restore(dataclasses.replace(saved, **changes))
    assert everything(table) == before
    assert table.seed == 5


def test_a_restored_table_goes_on_with_the_deals_of_the_snapshot() -> None:
    decks = [(tuple(range(40)), 0), (tuple(range(39, -1, -1)), 1)]
    for saved_from in (BatchTable(3, seed=9), BatchTable(3, seed=1, deals=decks)):
        other = BatchTable(3, seed=5, first_deal=7)
        play_plies(saved_from, 13)
        other.restore(saved_from.snapshot())
        for _ in range(90):
            cards = lowest(saved_from)
            one, two = saved_from.play(cards), other.play(cards)
            assert (one.rows == two.rows).all()
        assert everything(other) == everything(saved_from)
        assert other.record(2) == saved_from.record(2)


@pytest.mark.parametrize("name", ["rules", "seed", "num_tables", "num_threads", "layout"])
def test_what_a_table_is_made_with_stays(name: str) -> None:
    table, other = BatchTable(3, seed=5), BatchTable(5, "gamelake", 6, num_threads=2)
    before = getattr(table, name)
    with pytest.raises(AttributeError):
        setattr(table, name, getattr(other, name))
    assert getattr(table, name) is before


# ------------------------------------------------------------ matches


@pytest.mark.parametrize("name", ["playmore", "gamelake_short", "gamelake_partners"])
def test_totals_grow_deal_by_deal_and_a_finished_match_starts_a_new_one(name: str) -> None:
    rules = PRESETS[name]
    assert rules.target is not None
    table = BatchTable(40, name, seed=6, episode="match")
    totals = np.zeros((40, 2), int)
    leaders = table.seats
    ended = 0
    for _ in range(12):
        assert (table.totals == totals).all()
        play_plies(table, 39)
        assert (table.totals == totals).all()  # only a finished deal counts
        step = table.play(lowest(table))
        totals += step.thirds // 3
        is_over = (totals.max(1) >= rules.target) & (totals[:, 0] != totals[:, 1])
        assert (step.is_over == is_over).all()
        margins = np.where(is_over, np.sign(totals[:, 0] - totals[:, 1]), 0)
        assert (step.margins == margins).all()
        goes_on = ~is_over
        assert (table.seats[goes_on] == (leaders[goes_on] + 1) % rules.seats).all()
        for index in np.flatnonzero(is_over):
            assert table.seats[index] == first_leader(rules, 6, int(table.deal_numbers[index]))
        totals[is_over] = 0
        leaders = table.seats
        ended += int(is_over.sum())
    assert ended > 40


def test_in_episodes_of_one_deal_totals_stay_at_nothing() -> None:
    table = BatchTable(5, "playmore", seed=6)
    for _ in range(100):
        table.play(lowest(table))
        assert not table.totals.any()


# ------------------------------------------------------------ threads and chance


@pytest.mark.parametrize("name", ["playmore", "gamelake_partners"])
@pytest.mark.parametrize("episode", ["deal", "match"])
def test_results_do_not_depend_on_the_number_of_threads(name: str, episode: str) -> None:
    tables = [
        BatchTable(23, name, seed=7, episode=episode, num_threads=threads)
        for threads in (1, 2, 3, 50)
    ]
    for _ in range(130):
        cards = lowest(tables[0])
        steps = [table.play(cards) for table in tables]
        for table, step in zip(tables, steps, strict=True):
            assert (step.rows == steps[0].rows).all()
            assert (table.observations == tables[0].observations).all()
    for table in tables:
        assert everything(table) == everything(tables[0])


@pytest.mark.parametrize("name", PLAYABLE)
def test_random_play_is_made_of_legal_cards_and_does_not_depend_on_threads(name: str) -> None:
    plies = 2 * PRESETS[name].deck_size + 3
    one, two = BatchTable(10, name, seed=8), BatchTable(10, name, seed=8, num_threads=3)
    steps = [table.play_randomly(plies, seed=4) for table in (one, two)]
    assert everything(one) == everything(two)
    assert (steps[0].rows == steps[1].rows).all()
    other = BatchTable(10, name, seed=8)
    other.play_randomly(plies, seed=5)
    assert everything(other) != everything(one)
    # Every card played was legal: the same plays are accepted one by one.
    table = BatchTable(10, name, seed=8)
    played = BatchTable(10, name, seed=8)
    for _ in range(PRESETS[name].deck_size - 1):
        played.play_randomly(1, seed=4)
        states = played.states
        table.play(states["plays"][np.arange(10), states["ply"] - 1])
        assert everything(table) == everything(played)


def test_random_play_fills_masks_and_observations() -> None:
    table = BatchTable(10, seed=8)
    masks = np.zeros((10, 40), np.bool_)
    observations = np.zeros((10, table.layout.size), np.int8)
    play_plies(table, 7)
    expected = table.legal_masks, table.observations
    table.play_randomly(1, masks=masks, observations=observations)
    assert (masks == expected[0]).all()
    assert (observations == expected[1]).all()
    for wrong in (masks[:, ::2], masks.astype(np.int8), masks[:5]):
        with pytest.raises(OptionError, match=r"masks: expected a contiguous, aligned array bool"):
            table.play_randomly(1, masks=wrong)
    with pytest.raises(OptionError, match="plies: expected an integer from 1 up, got 0"):
        table.play_randomly(0)
    with pytest.raises(OptionError, match="observations: expected a contiguous, aligned array"):
        table.play_randomly(1, observations=observations[:5])


def test_random_play_chooses_every_legal_card_equally_often() -> None:
    counts = np.zeros(10)
    table = BatchTable(20_000, "gamelake", seed=9)
    legal = table.legal_sets
    table.play_randomly(1, seed=1)
    states = table.states
    for cards, card in zip(legal.tolist(), states["plays"][:, 0].tolist(), strict=True):
        counts[card_list(cards).index(card)] += 1
    expected = 2000
    assert ((counts - expected) ** 2 / expected).sum() < 33  # chi-square, 9 degrees, 1 in 10,000


@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_record_of_an_illegal_card_leads_back_to_the_position(
    episode: str, listed: bool, threads: int
) -> None:
    rng = np.random.default_rng(3)
    deals = [(tuple(rng.permutation(40).tolist()), seat) for seat in (1, 0, 1)] if listed else None
    table = BatchTable(
        4, "playmore", 123, first_deal=7, episode=episode, deals=deals, num_threads=threads
    )
    table.play_randomly(2 * 40 + 11, seed=6)
    before, cards = everything(table), lowest(table)
    cards[2] = int(np.flatnonzero(~table.legal_masks[2])[0])
    with pytest.raises(IllegalCardError, match=r"table 2, seat \d: expected one of") as caught:
        table.play(cards)
    assert everything(table) == before
    record = parse_record(caught.value.record)
    (deal,) = record.deals
    if listed:
        number = int(table.deal_numbers[2]) % 3
        assert deal.number is None and f"entry {number} of the list of deals" in str(caught.value)
        assert deal.deck == deals[number][0]  # type: ignore[index]
    else:
        assert (record.seed, deal.number) == (123, int(table.deal_numbers[2]))
        assert deal.deck == deck_of(table.rules, 123, deal.number or 0)
    again = BatchTable(1, "playmore", deals=[(deal.deck, deal.leader)])
    for card in deal.plays:
        again.play([card])
    assert len(deal.plays) == 11
    assert (again.states["hands"] == table.states["hands"][2]).all()
    assert tuple(card_list(int(again.legal_sets[0]))) == caught.value.legal
    assert int(again.seats[0]) == int(table.seats[2])


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros(6, STEP_DTYPE)[::2],
        np.frombuffer(bytes(3 * STEP_DTYPE.itemsize), STEP_DTYPE),  # cannot be written
        np.zeros(3, np.int64),
        np.zeros((3, 1), STEP_DTYPE),
        np.frombuffer(bytearray(3 * STEP_DTYPE.itemsize + 1), np.int8)[1:].view(STEP_DTYPE),
    ],
)
def test_rows_that_a_step_cannot_be_written_into_are_refused(rows: Any) -> None:
    with pytest.raises(OptionError, match="rows: expected an array STEP_DTYPE"):
        BatchStep(rows)


@pytest.mark.parametrize("out", [5, np.zeros(3, STEP_DTYPE), BatchStep(np.zeros(4, STEP_DTYPE))])
def test_a_step_that_cannot_be_filled_is_refused(out: Any) -> None:
    table = BatchTable(3, seed=5)
    before = everything(table)
    for play in (
        lambda: table.play(lowest(table), out=out),
        lambda: table.play_randomly(1, out=out),
    ):
        with pytest.raises(OptionError, match="out: expected a BatchStep"):
            play()
    assert everything(table) == before


def read_only(array: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    array = array.copy()
    array.flags.writeable = False
    return array


def unaligned(array: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.frombuffer(bytearray(1) + array.tobytes(), np.int64, offset=1)


@pytest.mark.parametrize("change", [read_only, unaligned, lambda array: np.repeat(array, 2)[::2]])
def test_arrays_in_any_kind_of_memory_are_taken_and_nothing_is_compiled_for_them(
    change: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]],
) -> None:
    table, other = BatchTable(3, seed=5), BatchTable(3, seed=5)
    at, seats = np.array([0, 2]), np.array([1, 0, 1])

    def use(table: BatchTable, change: Callable[..., npt.NDArray[np.int64]]) -> list[Any]:
        given = change(at)
        played = [table.play(change(lowest(table))).rows]
        played += [table.play_at(given, change(lowest(table)[at])).rows]
        return [*played, table.observe(change(seats)), table.views_at(given)]

    expected = use(other, np.copy)
    functions: list[Any] = [
        *(kernels.check_and_play, kernels.play_at),
        *(kernels_views.observe, kernels_views.views_at),
    ]
    before = [len(function.signatures) for function in functions]
    for one, two in zip(use(table, change), expected, strict=True):
        assert (one == two).all()
    assert [len(function.signatures) for function in functions] == before


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.uint64])
@pytest.mark.parametrize("tables", [[3, 1], [1, 1], [1, 3, 2]])
def test_tables_that_do_not_ascend_are_refused(tables: list[int], dtype: type) -> None:
    table = BatchTable(4, seed=5)
    at = np.array(tables, dtype)
    with pytest.raises(OptionError, match="ascending table numbers"):
        table.play_at(at, lowest(table)[at.astype(int)])
    assert (table.plies == 0).all()


@pytest.mark.parametrize("seat", [np.array([0, 1]), 1.0, 2, -1, "0"])
def test_a_view_of_no_seat_is_refused(seat: Any) -> None:
    with pytest.raises(OptionError, match="seat: expected 0 to 1"):
        BatchTable(2, seed=5).view(0, seat)


def test_a_shallow_copy_shares_no_tables() -> None:
    table = BatchTable(2, seed=5)
    copy.copy(table).play_randomly(3)
    assert (table.plies == 0).all()


def test_the_end_of_the_last_match_is_kept() -> None:
    """``observe(last=True)`` is what PettingZoo's seats see at the end of the match."""
    table = BatchTable(1, "gamelake_short", seed=2, episode="match")
    env = tressette_v0.raw_env(rules="gamelake_short", episode="match")
    env.reset(seed=2)
    matches = 0
    while matches < 3:
        card = int(lowest(table)[0])
        env.step(card)
        if table.play([card]).is_over[0]:
            matches += 1
            for seat, agent in enumerate(env.possible_agents):
                last = table.observe(np.array([seat]), last=True)[0]
                assert (last == env.observe(agent)["observation"]).all()
            env.reset()


def test_a_match_plays_the_listed_decks_one_after_the_other() -> None:
    rng = np.random.default_rng(8)
    deals = [(tuple(rng.permutation(40).tolist()), 0) for _ in range(7)]
    table = BatchTable(3, PRESETS["playmore"].replace(target=1000), deals=deals, episode="match")
    for number in range(4):
        for row in range(3):
            deck = deals[(row + 3 * number) % 7][0]
            hands = [card_set(deck[:10]), card_set(deck[10:20])]
            assert table.states["hands"][row, :2].tolist() == hands
        table.play_randomly(40, seed=number)


def test_random_play_is_uniform_at_every_ply_and_from_ply_to_ply() -> None:
    """Chi-square of the places of the cards among the legal ones, and of pairs of places."""
    table = BatchTable(4000, "gamelake", seed=9)
    pairs = np.zeros((2, 2))
    before = None
    for ply in range(18):
        legal = table.legal_masks
        table.play_randomly(1, seed=4)
        played = table.states["plays"][:, ply].astype(int)
        counts = legal.sum(1)
        places = (np.cumsum(legal, 1)[np.arange(4000), played] - 1).astype(int)
        share = (places + 0.5) / counts  # uniform on the middles of its parts
        assert abs(share.mean() - 0.5) < 5 * 0.29 / 4000**0.5
        if before is not None:
            for one, two in itertools.product((0, 1), repeat=2):
                pairs[one, two] += np.sum(((before > 0.5) == one) & ((share > 0.5) == two))
        before = share
    expected = pairs.sum(1, keepdims=True) * pairs.sum(0) / pairs.sum()
    assert ((pairs - expected) ** 2 / expected).sum() < 15  # chi-square, 1 degree, 1 in 10,000


@pytest.mark.parametrize("threads", [1, 2])
def test_a_copy_of_a_batch_goes_on_alike_and_apart(threads: int) -> None:
    table = BatchTable(6, seed=1, num_threads=threads)
    table.play(table.legal_masks.argmax(1))  # threads have started
    for copied in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        cards = table.legal_masks.argmax(1)
        before = table.snapshot()
        assert (copied.play(cards).rows == table.play(cards).rows).all()
        assert (copied.states == table.states).all()
        copied.play(copied.legal_masks.argmax(1))
        assert (copied.states != table.states).any()
        table.restore(before)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda table: table.play([[1], [2, 3]]), "cards: expected an array"),
        (lambda table: table.play(np.full(2, 2**63, np.uint64)), "no table has moved"),
        (lambda table: table.observe(out=[1]), "observations: expected an array"),
        (lambda table: table.restore([1]), "snapshot: expected"),
        (lambda table: BatchTable(2, deals=5), "deals: expected pairs"),
        (lambda table: BatchTable(2, deals=[(range(40),)]), "deal 0"),
        (lambda table: BatchTable(2, deals="abc"), "deal 0"),
        (lambda table: BatchTable(10**13), "num_tables: expected at most"),
        (lambda table: BatchTable(2, first_deal=2**63 - 1), "first_deal: expected"),
    ],
)
def test_values_of_another_kind_are_one_clear_line(call: Any, expected: str) -> None:
    table = BatchTable(2, seed=0)
    before = everything(table)
    with pytest.raises(TressetteError, match=expected) as caught:
        call(table)
    assert "\n" not in str(caught.value)
    assert "-92233" not in str(caught.value)
    assert everything(table) == before
