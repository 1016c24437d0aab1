"""Tables shared among threads, deals from a list, and the calls on some of the tables."""

from __future__ import annotations

import dataclasses
import multiprocessing
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

from tressette_env import BatchStep, BatchTable, kernels, kernels_views
from tressette_env.batch_step import STEP_DTYPE
from tressette_env.batch_views import encode_views
from tressette_env.cards import NUM_CARDS, card_list
from tressette_env.deals import deck_of, first_leader
from tressette_env.errors import DeckError, IllegalCardError, OptionError
from tressette_env.observation import KINDS
from tressette_env.rulesets import get_rules, playable_presets
from tressette_env.view import VIEW_DTYPE, View

HOUSES = playable_presets()
STEP_FIELDS = ("legal_sets", "thirds", "margins", "seats", "is_over")
TABLES = 67  # shares of different sizes, whatever the number of threads


def lowest(sets: Any) -> Any:
    return np.bitwise_count((sets & -sets) - 1).astype(np.int64)


def assert_same_step(one: BatchStep, two: BatchStep) -> None:
    for field in STEP_FIELDS:
        assert (getattr(one, field) == getattr(two, field)).all(), field


def assert_same_tables(one: BatchTable, two: BatchTable) -> None:
    assert (one.snapshot().states == two.snapshot().states).all()


def blank_step(rows: int) -> BatchStep:
    return BatchStep(np.zeros(rows, STEP_DTYPE))


# ---------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("rules", HOUSES)
def test_play_and_observe_do_not_depend_on_threads(rules: str, threads: int) -> None:
    one = BatchTable(TABLES, rules, 7, num_threads=1)
    many = BatchTable(TABLES, rules, 7, num_threads=threads)
    rng = np.random.default_rng(0)
    for _ in range(2 * one.rules.deck_size + 3):
        assert (one.observe() == many.observe()).all()
        seats = rng.integers(0, one.rules.seats, TABLES)
        assert (one.observe(seats) == many.observe(seats)).all()
        assert (one.observe(seats, last=True) == many.observe(seats, last=True)).all()
        assert (one.legal_masks == many.legal_masks).all()
        cards = random_cards(one, rng)
        assert_same_step(one.play(cards), many.play(cards))
    assert_same_tables(one, many)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("rules", HOUSES)
def test_random_play_does_not_depend_on_threads(rules: str, episode: str, threads: int) -> None:
    one = BatchTable(TABLES, rules, 7, episode=episode, num_threads=1)
    many = BatchTable(TABLES, rules, 7, episode=episode, num_threads=threads)
    shape = (TABLES, one.layout.size)
    masks = [np.zeros((TABLES, NUM_CARDS), np.bool_) for _ in range(2)]
    observations = [np.zeros(shape, np.int8) for _ in range(2)]
    for seed, plies in enumerate((1, 39, 100)):
        steps = [
            table.play_randomly(plies, seed, masks=masks[index], observations=observations[index])
            for index, table in enumerate((one, many))
        ]
        assert_same_step(*steps)
        assert (masks[0] == masks[1]).all()
        assert (observations[0] == observations[1]).all()
    assert_same_tables(one, many)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_fewer_tables_than_threads(threads: int) -> None:
    for tables in (1, 2, 3):
        table = BatchTable(tables, seed=1, num_threads=threads)
        assert table.num_threads == min(threads, tables)
        alone = BatchTable(tables, seed=1)
        for _ in range(45):
            cards = lowest(alone.legal_sets)
            assert_same_step(alone.play(cards), table.play(cards))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("where", [0, 30, TABLES - 1])
def test_an_illegal_card_moves_no_table_on_any_thread(threads: int, where: int) -> None:
    table = BatchTable(TABLES, seed=3, num_threads=threads)
    table.play_randomly(11)
    before = table.snapshot().states
    cards = lowest(table.legal_sets)
    cards[where] = int((~table.legal_masks[where]).argmax())
    cards[where + 1 :] = 99  # the first one is named
    with pytest.raises(IllegalCardError, match=f"table {where}, seat") as caught:
        table.play(cards)
    assert caught.value.legal == tuple(card_list(int(table.legal_sets[where])))
    assert (table.snapshot().states == before).all()


def random_cards(table: BatchTable, rng: np.random.Generator) -> Any:
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in table.legal_masks])


# ------------------------------------------------------------------------------------ random play


@pytest.mark.parametrize("rules", ["playmore", "gamelake_partners", "mini_2x5"])
def test_random_play_writes_what_the_table_says(rules: str) -> None:
    """Masks and observations are those before the card; a call of n plies is n calls of one."""
    table, whole = BatchTable(9, rules, 5), BatchTable(9, rules, 5)
    masks = np.zeros((9, NUM_CARDS), np.bool_)
    observations = np.zeros((9, table.layout.size), np.int8)
    plies = 2 * table.rules.deck_size
    for _ in range(plies):
        expected_masks, expected = table.legal_masks, table.observations
        step = table.play_randomly(1, seed=4, masks=masks, observations=observations)
        assert (masks == expected_masks).all()
        assert (observations == expected).all()
        assert (step.legal_sets == table.legal_sets).all()
        assert (step.seats == table.seats).all()
    assert_same_step(step, whole.play_randomly(plies, seed=4))
    assert_same_tables(table, whole)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("rules", ["playmore", "gamelake_partners"])
def test_every_layout_is_written_as_views_are_encoded(rules: str, episode: str, kind: str) -> None:
    """Each has a loop of its own in the compiled calls, or shares one with others."""
    table = BatchTable(3, rules, 5, episode=episode, observation=kind)
    written = np.full((3, table.layout.size), 7, np.int8)
    for ply in range(table.rules.deck_size + 20):
        seats = (table.seats + ply) % table.rules.seats
        for who in (None, seats):
            expected = encode_views(table.views(who), table.rules, table.layout)
            assert (table.observe(who) == expected).all()
        expected = encode_views(table.views(), table.rules, table.layout)
        table.play_randomly(1, seed=ply, observations=written)
        assert (written == expected).all()


@pytest.mark.parametrize("kind", ["flat", "leads"])
@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("rules", ["playmore", "gamelake_partners", "mini_2x4"])
def test_many_random_cards_bring_what_the_last_of_them_brings(
    rules: str, episode: str, kind: str
) -> None:
    """Episodes that end on the way leave no trace in the step; buffers hold the last card's."""
    one, many = (BatchTable(5, rules, 5, episode=episode, observation=kind) for _ in range(2))
    masks = np.ones((5, NUM_CARDS), np.bool_)
    observations = np.full((5, one.layout.size), 7, np.int8)
    size = one.rules.deck_size
    for plies in (2, size - 2, size, size + 3, 5):
        for _ in range(plies):
            before = one.legal_masks, one.observations
            step = one.play_randomly(1, seed=4, out=blank_step(5))
        junk = BatchStep(np.full(5 * STEP_DTYPE.itemsize, 1, np.int8).view(STEP_DTYPE))
        many.play_randomly(plies, seed=4, masks=masks, observations=observations, out=junk)
        assert_same_step(step, junk)
        assert (masks == before[0]).all() and (observations == before[1]).all()
        assert_same_tables(one, many)


def test_random_play_does_not_depend_on_the_number_of_tables() -> None:
    few, many = BatchTable(3, seed=5, first_deal=4), BatchTable(9, seed=5)
    few.play_randomly(30, seed=1)
    many.play_randomly(30, seed=1)
    assert (few.observe() == many.observe()[4:7]).all()


def test_random_cards_are_uniform() -> None:
    """The first card of ten: each place in the hand about equally often."""
    table = BatchTable(20_000, seed=2)
    hands = table.legal_masks
    before = table.legal_sets
    table.play_randomly(1, seed=9)
    played = table.states["plays"][:, 0].astype(np.int64)
    places = np.take_along_axis(hands.cumsum(1), played[:, None], 1)[:, 0] - 1
    assert ((before >> played) & 1).all()
    counts = np.bincount(places, minlength=10)
    chi_square = ((counts - 2000) ** 2 / 2000).sum()
    assert chi_square < 33.7  # 9 degrees of freedom: once in 10,000


@pytest.mark.parametrize(
    ("buffers", "word"),
    [
        ({"masks": np.zeros((3, 40), np.int8)}, "masks"),
        ({"masks": np.zeros((2, 40), np.bool_)}, "masks"),
        ({"masks": np.zeros((3, 80), np.bool_)[:, ::2]}, "masks"),
        ({"observations": np.zeros((3, 400), np.uint8)}, "observations"),
        ({"observations": np.zeros((3, 401), np.int8)}, "observations"),
    ],
)
def test_random_play_refuses_buffers_of_another_kind(buffers: dict[str, Any], word: str) -> None:
    table = BatchTable(3, seed=0)
    before = table.snapshot().states
    with pytest.raises(OptionError, match=word):
        table.play_randomly(1, **buffers)
    assert (table.snapshot().states == before).all()


# ----------------------------------------------------------------------------------- deals by list


@pytest.mark.parametrize("rules", ["playmore", "gamelake_partners", "mini_2x4"])
@pytest.mark.parametrize("threads", [1, 2])
def test_listed_deals_are_played_in_turn(rules: str, threads: int) -> None:
    house = get_rules(rules)
    deals = [(deck_of(house, 11, k), k % house.seats) for k in range(5)]
    table = BatchTable(3, rules, 0, deals=deals, num_threads=threads)
    for _ in range(4):  # table b plays entries b, b + 3, b + 6, ..., modulo 5
        numbers = table.deal_numbers
        for row in range(3):
            deck, leader = deals[int(numbers[row]) % 5]
            assert table.seats[row] == leader
            for seat in range(house.seats):
                hand = deck[house.hand_size * seat : house.hand_size * (seat + 1)]
                assert card_list(table.view(row, seat).hand) == sorted(hand)
        step = table.play_randomly(house.deck_size, seed=1)
        assert step.is_over.all()
        assert (table.deal_numbers == numbers + 3).all()


def test_a_list_of_the_seeds_deals_gives_the_seeds_games() -> None:
    house = get_rules("playmore")
    deals = [(deck_of(house, 11, k), first_leader(house, 11, k)) for k in range(12)]
    listed, seeded = BatchTable(4, seed=11, deals=deals), BatchTable(4, seed=11)
    for _ in range(110):
        assert (listed.observe() == seeded.observe()).all()
        assert_same_step(listed.play_randomly(1), seeded.play_randomly(1))


def test_a_list_may_start_anywhere_and_be_read_once() -> None:
    house = get_rules("mini_2x4")
    deals = [(deck_of(house, 1, k), 0) for k in range(3)]
    table = BatchTable(2, house, 0, deals=iter(deals), first_deal=2)
    assert (table.deal_numbers == [2, 3]).all()
    assert card_list(table.view(0, 0).hand) == sorted(deals[2][0][:2])
    assert card_list(table.view(1, 0).hand) == sorted(deals[0][0][:2])


def test_in_a_match_the_lead_passes_on_whatever_the_list_says() -> None:
    house = get_rules("gamelake")
    deals = [(deck_of(house, 1, k), 1) for k in range(3)]
    table = BatchTable(1, house, 0, episode="match", deals=deals)
    assert table.seats[0] == 1
    table.play_randomly(40)
    assert table.totals.any()
    assert table.seats[0] == 0


@pytest.mark.parametrize(
    ("deals", "error", "word"),
    [
        ([], OptionError, "at least one"),
        ([(range(40), 2)], OptionError, "leader"),
        ([(range(40), -1)], OptionError, "leader"),
        ([(range(39), 0)], DeckError, "39"),
        ([(range(40), 0), ([0] * 40, 0)], DeckError, "once"),
    ],
)
def test_bad_lists(deals: Any, error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        BatchTable(2, seed=0, deals=deals)


# ------------------------------------------------------------------- the end of the last episode


@pytest.mark.parametrize("rules", ["playmore", "cuperativa", "gamelake_partners", "mini_2x5"])
def test_the_end_of_the_last_episode_can_be_observed(rules: str) -> None:
    table = BatchTable(5, rules, 1)
    size = table.rules.deck_size
    seats = np.arange(5) % table.rules.seats
    assert not table.observe(seats, last=True).any()
    table.play_randomly(size - 1)
    assert not table.observe(seats, last=True).any()
    step = table.play(lowest(table.legal_sets))
    assert step.is_over.all()
    last = table.observe(seats, last=True)
    layout = table.layout
    assert not last[:, layout["hand"].slice].any()
    assert (last[:, layout["played"].slice].sum(1) == size).all()
    own = np.take_along_axis(step.thirds, (seats % 2)[:, None], 1)[:, 0]
    assert (last[:, layout["thirds_own"].slice].sum(1) == own).all()
    table.play_randomly(size - 1)
    assert (table.observe(seats, last=True) == last).all()
    out = np.ones_like(last)
    assert table.observe(seats, out, last=True) is out
    assert (out == last).all()


# ------------------------------------------------------------------------------ some of the tables


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("rules", ["playmore", "gamelake_partners_short", "mini_2x4"])
def test_play_at_some_tables_is_play_at_each_of_them(
    rules: str, episode: str, listed: bool
) -> None:
    house = get_rules(rules)
    deals = [(deck_of(house, 11, k), k % house.seats) for k in range(5)] if listed else None
    some, all_of_them = (BatchTable(8, rules, 6, episode=episode, deals=deals) for _ in range(2))
    rng = np.random.default_rng(1)
    for _ in range(60):
        tables = np.sort(rng.permutation(8)[: rng.integers(1, 8)])
        rest = np.setdiff1d(np.arange(8), tables)
        cards = random_cards(some, rng)
        whole = all_of_them.play(cards)
        for part in (tables, rest):
            step = some.play_at(part, cards[part])
            for field in STEP_FIELDS:
                assert (getattr(step, field) == getattr(whole, field)[part]).all()
        assert_same_tables(some, all_of_them)


def test_play_at_leaves_the_others_alone() -> None:
    table = BatchTable(4, seed=6)
    before = table.snapshot().states
    tables = np.array([1, 3])
    table.play_at(tables, lowest(table.legal_sets)[tables])
    assert (table.plies == [0, 1, 0, 1]).all()
    assert (table.snapshot().states[0, [0, 2]] == before[0, [0, 2]]).all()
    none = table.play_at(np.array([], np.int64), np.array([], np.int64))
    assert len(none.seats) == 0


@pytest.mark.parametrize("rules", ["playmore", "gamelake_partners"])
@pytest.mark.parametrize("wrong", [[0], [1], [2], [1, 2]])
def test_play_at_with_an_illegal_card_moves_nothing(wrong: list[int], rules: str) -> None:
    table = BatchTable(6, rules, seed=6)
    before = table.snapshot().states
    tables = np.array([1, 3, 4])
    for place in wrong:
        cards = lowest(table.legal_sets)[tables]
        for card in (40, -1, cards[place] + 64, cards[place] - 64):  # not as the bit it shares
            cards[wrong] = card
            named = rf"^table {tables[wrong[0]]}, .*\(card {card}\)"
            with pytest.raises(IllegalCardError, match=named):
                table.play_at(tables, cards)
            assert (table.snapshot().states == before).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_numbers_that_share_a_bit_with_a_legal_card_are_none(threads: int) -> None:
    table = BatchTable(3, seed=6, num_threads=threads)
    before = table.snapshot().states
    for card in (lowest(table.legal_sets)[1] + (64, -64, 1 << 32)).tolist():
        cards = lowest(table.legal_sets)
        cards[1] = card
        with pytest.raises(IllegalCardError, match=rf"^table 1, .*\(card {card}\)"):
            table.play(cards)
        assert (table.snapshot().states == before).all()


@pytest.mark.parametrize(
    ("tables", "cards"),
    [
        ([0, 4], [0, 0]),
        ([-1], [0]),
        ([0, 1], [0]),
        ([0.0], [0]),
        ([0], [0.0]),
        ([[0]], [[0]]),
        ([2, 2], [0, 0]),
    ],
)
def test_play_at_refuses_what_is_no_table_or_card(tables: Any, cards: Any) -> None:
    table = BatchTable(4, seed=6)
    with pytest.raises(OptionError, match="expected"):
        table.play_at(np.array(tables), np.array(cards))


def test_views_at_some_tables_are_those_of_all() -> None:
    table = BatchTable(6, "gamelake_partners", 6)
    table.play_randomly(13)
    tables = np.array([0, 3, 5])
    views = table.views_at(tables)
    assert views.dtype == VIEW_DTYPE
    assert (views == table.views()[tables]).all()
    for row, number in enumerate(tables):
        assert View.from_record(views[row], table.rules).hand == table.view(int(number)).hand


# ------------------------------------------------------------------------------------ own buffers


@pytest.mark.parametrize("threads", [1, 2])
def test_a_step_can_be_used_again(threads: int) -> None:
    table, other = BatchTable(5, seed=8, num_threads=threads), BatchTable(5, seed=8)
    out = blank_step(5)
    sets = out.legal_sets
    for _ in range(45):
        cards = lowest(table.legal_sets)
        assert table.play(cards, out=out) is out
        assert_same_step(out, other.play(cards))
        assert (sets == table.legal_sets).all()  # a view of the step, filled anew


def test_a_new_step_is_never_written_again() -> None:
    table = BatchTable(5, seed=8)
    steps = [table.play(lowest(table.legal_sets)) for _ in range(3)]
    copies = [step.rows.copy() for step in steps]
    table.play_randomly(50)
    table.play(lowest(table.legal_sets))
    for step, copy in zip(steps, copies, strict=True):
        assert (step.rows == copy).all()


@pytest.mark.parametrize("rows", [4, 6])
def test_a_step_of_another_size_is_refused(rows: int) -> None:
    table = BatchTable(5, seed=8)
    before = table.snapshot().states
    with pytest.raises(OptionError, match="out"):
        table.play(lowest(table.legal_sets), out=blank_step(rows))
    assert (table.snapshot().states == before).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_observations_into_a_buffer(threads: int) -> None:
    table = BatchTable(5, seed=8, num_threads=threads)
    out = np.full((5, table.layout.size), 7, np.int8)
    assert table.observe(out=out) is out
    assert (out == table.observations).all()


# ------------------------------------------------------------------------------------- snapshots


@pytest.mark.parametrize("episode", ["deal", "match"])
def test_a_snapshot_brings_everything_back(episode: str) -> None:
    table = BatchTable(5, "gamelake_short", 8, episode=episode)
    table.play_randomly(55)
    snapshot = table.snapshot()
    kept = snapshot.states.copy()
    first = table.play_randomly(90, seed=1)
    after, seen, last = table.snapshot().states, table.observe(), table.observe(last=True)
    assert (snapshot.states == kept).all()  # a copy
    table.restore(snapshot)
    assert_same_step(first, table.play_randomly(90, seed=1))
    assert (table.snapshot().states == after).all()
    assert (table.observe() == seen).all()
    assert (table.observe(last=True) == last).all()
    assert (snapshot.states == kept).all()


def test_a_snapshot_fits_another_table_of_the_same_kind() -> None:
    one, two = BatchTable(3, seed=8), BatchTable(3, seed=8, num_threads=2)
    one.play_randomly(17)
    two.restore(one.snapshot())
    assert_same_step(one.play_randomly(60), two.play_randomly(60))


@pytest.mark.parametrize(
    "spoil",
    [lambda rows: rows[:, :2], lambda rows: rows[0], lambda rows: np.zeros((2, 3), np.int64)],
)
def test_a_snapshot_of_another_shape_is_refused(spoil: Any) -> None:
    table = BatchTable(3, seed=8)
    saved = table.snapshot()
    with pytest.raises(OptionError, match="snapshot"):
        table.restore(dataclasses.replace(saved, states=spoil(saved.states)))


def test_the_tables_are_really_shared_among_threads() -> None:
    table = BatchTable(9, seed=1, num_threads=3)
    barrier, found = threading.Barrier(3, timeout=20), []

    def work(low: int, high: int) -> None:
        barrier.wait()  # passes only if three threads are here at the same time
        found.append((low, high))

    table._share(work)
    assert sorted(found) == [(0, 3), (3, 6), (6, 9)]
    assert kernels.play_all.targetoptions["nogil"]
    assert kernels_views.observe.targetoptions["nogil"]


def test_where_no_thread_can_be_started_one_does_all_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, three = BatchTable(9, seed=1), BatchTable(9, seed=1, num_threads=3)

    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    assert_same_step(one.play_randomly(50, seed=2), three.play_randomly(50, seed=2))
    assert (one.states == three.states).all()


def observe_in_a_fork(table: BatchTable) -> None:
    table.observe()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_starts_threads_of_its_own() -> None:
    table = BatchTable(64, seed=1, num_threads=2)
    table.observe()  # the threads of this process have started
    child = multiprocessing.get_context("fork").Process(target=observe_in_a_fork, args=(table,))
    child.start()
    child.join(20)
    hangs = child.exitcode is None
    child.kill()
    assert not hangs and child.exitcode == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_a_step_allocates_nothing_that_grows_with_the_tables(threads: int) -> None:
    table = BatchTable(20_000, seed=1, num_threads=threads)
    out = np.empty((20_000, table.layout.size), np.int8)
    masks = np.empty((20_000, NUM_CARDS), np.bool_)
    step = table.play_randomly(1)
    cards = np.log2(step.legal_sets & -step.legal_sets).astype(np.int64)
    calls = (
        lambda: table.play(cards, out=step),
        lambda: table.observe(out=out),
        lambda: table.play_randomly(1, masks=masks, observations=out, out=step),
    )
    for call in calls:
        table = BatchTable(20_000, seed=1, num_threads=threads)
        table.play_randomly(1, out=step)
        cards = np.log2(step.legal_sets & -step.legal_sets).astype(np.int64)
        table.observe(out=out)  # the threads have started
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 20_000


def test_more_threads_than_any_machine_has_are_refused() -> None:
    with pytest.raises(OptionError, match="num_threads: expected at most 256"):
        BatchTable(1000, num_threads=257)
