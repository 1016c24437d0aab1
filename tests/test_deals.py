"""Decks: the same on every machine, fair in every place, and checked when given (R4, R14)."""

from __future__ import annotations

import itertools
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from tressette_env import PRESETS, BatchTable, RuleSet, kernels, tressette_v0
from tressette_env.card_notation import deck_text, parse_deck
from tressette_env.deals import check_deck, deck_of, first_leader, leader_from, shuffle
from tressette_env.errors import DeckError
from tressette_env.randomness import MAX_SEED, stream_next, stream_output, threefry

PLAYMORE = PRESETS["playmore"]
SHUFFLES = 100_000

# ------------------------------------------------------------ same decks

GOLDEN: dict[tuple[int, int], tuple[str, int, int]] = {  # (seed, deal): deck, leader of 2, of 4
    (0, 0): (
        "AD 6S JD 7C QS 4S AS KD 4B KS JC 4C 5D 7B KB 3D JB 5C 6D QD "
        "2C 3B 2S 7D 2D 3S KC 5S 4D 5B 3C 6B 6C JS QB 2B AC QC 7S AB",
        0,
        0,
    ),
    (0, 1): (
        "3B AD 3S JD 5B KB 2B QS 7D AS 3C JC JB 5C AB 7S 4S 3D 7C 5S "
        "5D 6C 6D 2D 2S AC QD 4C 6S JS 7B QC KD 4B KC QB KS 2C 6B 4D",
        1,
        2,
    ),
    (7, 0): (
        "7B AS 4D KC 7D KS KB 5C 4S 2D JC 6B QS 3S 6D 7C 4C QC QD AB "
        "JS 6S 4B 2B JD 6C 5B KD 5S 2C AD 3B 7S 2S 5D QB 3D AC JB 3C",
        0,
        0,
    ),
    (2**63 - 1, 0): (
        "4B 4C KD AC 6D 5C KB QC 6C 7D AD QS QB JC 4S 5B KS 2C 2S 3D "
        "3C 5S 4D 2D AB 3S QD JD 6S 6B AS 7S KC 2B 3B 7C 5D JS 7B JB",
        1,
        2,
    ),
    (2**63 - 1, 10**12): (
        "3C JB KB 3S 4B 2S 7D JS KC JD KS 4C 7S 6D QD QC 4S QB 5C 5D "
        "AS JC 2C QS AB 2D KD 4D AD 5S 6B 3D 6C 2B 3B 6S 7B 5B 7C AC",
        1,
        2,
    ),
}


@pytest.mark.parametrize(("seed", "number"), GOLDEN)
def test_a_seed_gives_the_decks_and_leaders_of_earlier_versions(seed: int, number: int) -> None:
    text, leader_of_two, leader_of_four = GOLDEN[seed, number]
    assert deck_text(deck_of(PLAYMORE, seed, number)) == text
    assert first_leader(PLAYMORE, seed, number) == leader_of_two
    assert first_leader(PRESETS["gamelake_partners"], seed, number) == leader_of_four


def fisher_yates(deck: list[int], seed: int, number: int) -> tuple[list[int], int]:
    """The shuffle in another form: a list of words first, exact fractions, then the exchanges."""
    mask = 2**32 - 1
    key = (seed % 2**32, seed // 2**32)
    low, high = number % 2**32, number // 2**32
    words = (*threefry(*key, low, high), *threefry(*key, low, high + 2**30))
    stream = []
    for _ in range(len(deck)):
        stream.append(stream_output(words[0], words[3]))
        words = stream_next(*words)
    used = iter(stream)
    places = []
    sizes = list(range(len(deck), 1, -1))
    for first, second in itertools.zip_longest(sizes[::2], sizes[1::2]):
        product = next(used) * first
        places.append(product // 2**32)
        if second:
            places.append((product & mask) * second // 2**32)
    for size, place in zip(sizes, places, strict=True):
        deck[place], deck[size - 1] = deck[size - 1], deck[place]
    return deck, next(used)


@pytest.mark.parametrize("name", ["playmore", "gamelake_partners", "mini_2x4", "mini_2x5"])
def test_the_shuffle_agrees_with_a_second_implementation(name: str) -> None:
    rules = PRESETS[name]
    for seed in (0, 1, 12345, 2**32, MAX_SEED):
        for number in (0, 1, 2**32 - 1, 2**32, 2**60):
            deck, word = fisher_yates(list(rules.deck), seed, number)
            assert deck_of(rules, seed, number) == tuple(deck)
            assert first_leader(rules, seed, number) == word * rules.seats // 2**32


@pytest.mark.parametrize("name", ["playmore", "gamelake_partners", "mini_2x5"])
@pytest.mark.parametrize("seed", [0, 7, MAX_SEED])
def test_compiled_tables_deal_the_decks_of_the_interpreted_shuffle(name: str, seed: int) -> None:
    rules = PRESETS[name]
    table = BatchTable(300, rules, seed, first_deal=2**32 - 150)
    states = table.states
    size = rules.hand_size
    for index, number in enumerate(range(2**32 - 150, 2**32 + 150)):
        deck = deck_of(rules, seed, number)
        assert states["deal_number"][index] == number
        for seat in range(rules.seats):
            hand = sum(1 << card for card in deck[size * seat : size * seat + size])
            assert states["hands"][index][seat] == hand
        stock = states["stock"][index][: rules.stock_size].tolist()
        assert tuple(stock) == deck[size * rules.seats :]
        assert states["turn"][index] == first_leader(rules, seed, number)


@pytest.mark.parametrize("name", ["playmore", "gamelake_partners_short"])
def test_deal_k_of_a_seed_does_not_depend_on_tables_or_cards_played(name: str) -> None:
    """However many tables share the deals, and whatever is played, number k is the same deck."""
    decks = [set(deck_of(PRESETS[name], 6, number)[:10]) for number in range(12)]
    for tables, pick in itertools.product((1, 2, 3, 12), ("first", "last")):
        table = BatchTable(tables, name, seed=6)
        for _ in range(12 // tables):
            states = table.states
            for index in range(tables):
                number = int(states["deal_number"][index])
                hand = int(states["hands"][index][0])
                assert {card for card in range(40) if hand >> card & 1} == decks[number]
            for _ in range(40):
                masks = table.legal_masks
                table.play(masks.argmax(1) if pick == "first" else 39 - masks[:, ::-1].argmax(1))


def test_deal_k_of_a_seed_is_the_same_in_a_match_and_after_given_decks() -> None:
    env = tressette_v0.raw_env()
    env.reset(seed=6)
    env.reset(options={"deck": range(40)})
    env.reset()
    hand = np.flatnonzero(env.observe("player_0")["observation"][:40])
    assert hand.tolist() == sorted(deck_of(PLAYMORE, 6, 1)[:10])


def test_a_deck_of_another_seed_or_number_is_another_deck() -> None:
    decks = {deck_of(PLAYMORE, seed, number) for seed in range(50) for number in range(50)}
    assert len(decks) == 2500
    swapped = {deck_of(PLAYMORE, a, b) for a, b in ((1, 2), (2, 1), (2**32, 0), (0, 2**32), (1, 0))}
    assert len(swapped) == 5


# ------------------------------------------------------------ fair decks


@numba.njit
def _many_decks(
    by_seed: bool, fixed: int, decks: npt.NDArray[np.int64], words: npt.NDArray[np.int64]
) -> None:
    for row in range(len(decks)):
        for card in range(decks.shape[1]):
            decks[row, card] = card
        seed = row if by_seed else fixed
        number = fixed if by_seed else row
        words[row] = shuffle(decks[row], decks.shape[1], seed, number)


Sample = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def shuffled(by_seed: bool, fixed: int) -> Sample:
    """100,000 decks: numbers 0, 1, ... of one seed, or one number of seeds 0, 1, ..."""
    assert kernels.compiled  # makes the shuffle known to numba
    decks = np.empty((SHUFFLES, 40), np.int64)
    words = np.empty(SHUFFLES, np.int64)
    _many_decks(by_seed, fixed, decks, words)
    return decks, words


@pytest.fixture(
    scope="module",
    params=[(False, 0), (False, 2**62 + 1), (True, 0)],
    ids=["deals of seed 0", "deals of a large seed", "first deals of many seeds"],
)
def sample(request: pytest.FixtureRequest) -> Sample:
    return shuffled(*request.param)


def is_plausible(statistic: float, degrees: int) -> bool:
    """Whether a chi-square is neither too large nor too small for chance."""
    chance = float(stats.chi2.sf(statistic, degrees))
    return 1e-5 < chance < 1 - 1e-5


def place_statistic(decks: npt.NDArray[np.int64]) -> float:
    """Chi-square of cards by places with 39 * 39 degrees of freedom.

    A deck puts each card in exactly one place, so that the counts of a place are not independent of
    those of another: the usual sum is 40/39 of a chi-square.
    """
    counts = np.array([np.bincount(decks[:, place], minlength=40) for place in range(40)])
    expected = len(decks) / 40
    return float(((counts - expected) ** 2 / expected).sum() * 39 / 40)


def test_100_000_shuffles_put_every_card_equally_often_in_every_place(sample: Sample) -> None:
    decks, _ = sample
    assert (np.sort(decks, axis=1) == np.arange(40)).all()
    assert is_plausible(place_statistic(decks), 39 * 39)


def test_the_last_card_and_the_first_move_as_often_as_any_other(sample: Sample) -> None:
    decks, _ = sample
    stays = (decks == np.arange(40)).mean(0)
    assert np.abs(stays - 1 / 40).max() < 5 * np.sqrt(1 / 40 * 39 / 40 / SHUFFLES)


def test_every_pair_of_places_holds_every_pair_of_cards_equally_often(sample: Sample) -> None:
    """Places that share a random word are among the 780 pairs."""
    decks, _ = sample
    chances = []
    for first, second in itertools.combinations(range(40), 2):
        counts = np.bincount(decks[:, first] * 40 + decks[:, second], minlength=1600)
        assert (counts[np.arange(40) * 41] == 0).all()  # never the same card twice
        expected = SHUFFLES / 1560
        observed = np.delete(counts, np.arange(40) * 41)
        statistic = ((observed - expected) ** 2 / expected).sum()
        chances.append(float(stats.chi2.sf(statistic, 1559)))
    assert min(chances) > 1e-6
    assert max(chances) < 1 - 1e-6
    assert stats.kstest(chances, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("seats", [2, 4])
def test_every_seat_leads_equally_often_whatever_it_was_dealt(sample: Sample, seats: int) -> None:
    decks, words = sample
    leaders = np.array([leader_from(int(word), seats) for word in words[:20_000]])
    counts = np.bincount(leaders, minlength=seats)
    assert len(counts) == seats
    assert stats.chisquare(counts).pvalue > 1e-5
    for place in (0, 1, 10, 20, 38, 39):
        table = np.zeros((seats, 40))
        np.add.at(table, (leaders, decks[:20_000, place]), 1)
        assert stats.chi2_contingency(table).pvalue > 1e-5
    following = np.zeros((seats, seats))
    np.add.at(following, (leaders[:-1], leaders[1:]), 1)
    assert stats.chi2_contingency(following).pvalue > 1e-5


def test_decks_that_follow_each_other_are_independent(sample: Sample) -> None:
    decks, _ = sample
    for place in (0, 1, 20, 39):
        table = np.zeros((40, 40))
        np.add.at(table, (decks[:-1, place], decks[1:, place]), 1)
        assert stats.chi2_contingency(table).pvalue > 1e-5


def test_the_check_of_fairness_sees_a_shuffle_that_never_moves_the_last_card() -> None:
    rng = np.random.default_rng(0)
    fair = rng.permuted(np.tile(np.arange(40), (SHUFFLES, 1)), axis=1)
    assert is_plausible(place_statistic(fair), 39 * 39)
    unfair = np.tile(np.arange(40), (SHUFFLES, 1))
    unfair[:, :39] = rng.permuted(unfair[:, :39], axis=1)
    assert not is_plausible(place_statistic(unfair), 39 * 39)
    slightly = fair.copy()
    kept = rng.random(SHUFFLES) < 0.01  # one deck in a hundred keeps its first card
    where = np.argmax(slightly[kept] == 0, axis=1)
    slightly[np.flatnonzero(kept), where] = slightly[kept, 0]
    slightly[kept, 0] = 0
    assert not is_plausible(place_statistic(slightly), 39 * 39)


# ------------------------------------------------------------ given decks


def test_a_given_deck_is_dealt_seat_by_seat_and_its_rest_is_the_stock() -> None:
    deck = deck_of(PLAYMORE, 1, 0)
    env = tressette_v0.raw_env()
    for given in (deck, list(deck), np.array(deck), np.array(deck, np.uint8), iter(deck)):
        env.reset(seed=0, options={"deck": given, "leader": 1})
        assert env.agent_selection == "player_1"
        for seat in range(2):
            hand = np.flatnonzero(env.observe(f"player_{seat}")["observation"][:40]).tolist()
            assert hand == sorted(deck[10 * seat : 10 * seat + 10])


@pytest.mark.parametrize(
    ("deck", "message"),
    [
        (range(39), "expected 40 cards, got 39; missing: 39"),
        ((), "expected 40 cards, got 0; missing: 0, 1, 2"),
        ((*range(39), 3), "expected each card once, card 3 stands at places 3 and 39"),
        ((*range(40), 0), "expected each card once, card 0 stands at places 0 and 40"),
        ((*range(39), 40), "expected card numbers .* from 0 to 39, got 40 at place 39"),
        ((-1, *range(1, 40)), "got -1 at place 0"),
        ((*range(39), 39.0), "got 39.0 at place 39"),
        ((True, *range(1, 40)), "got True at place 0"),
        ((*range(39), "3D"), "got '3D' at place 39"),
        (np.arange(40.0), "at place 0"),
        (7, "deck: expected 40 card numbers in order, got int"),
    ],
)
def test_what_is_no_deck_is_refused_and_nothing_changes(deck: Any, message: str) -> None:
    with pytest.raises(DeckError, match=message):
        check_deck(deck, PLAYMORE)
    env = tressette_v0.raw_env()
    env.reset(seed=3)
    before = env.state()
    with pytest.raises(DeckError, match=message):
        env.reset(seed=4, options={"deck": deck})
    assert (env.state() == before).all()
    assert env.seed == 3


def test_a_deck_of_a_small_rule_set_holds_its_own_cards_only() -> None:
    mini = PRESETS["mini_2x4"]
    assert check_deck(mini.deck[::-1], mini) == mini.deck[::-1]
    with pytest.raises(DeckError, match="from 3, 6, 7, 9, 13, 16, 17, 19, got 0 at place 0"):
        check_deck(range(8), mini)
    with pytest.raises(DeckError, match="'mini_2x4': expected 8 cards, got 7; missing: 19"):
        check_deck(mini.deck[:-1], mini)


def test_the_shuffle_of_a_small_deck_reaches_every_order() -> None:
    rules = RuleSet(
        name="tiny", scoring="thirds", target=None, deck=(0, 1, 12, 13), hand_size=1, draws="shown"
    )
    orders = [deck_of(rules, 1, number) for number in range(4800)]
    counts = [orders.count(order) for order in itertools.permutations(rules.deck)]
    assert stats.chisquare(counts).pvalue > 1e-5
    assert parse_deck(deck_text(orders[0])) == orders[0]
