"""Four seats, all cards known: every value equals two independent searches.

``python tests/test_solver_partners.py`` runs the same checks on many more positions and measures
the speed.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time

import numpy as np
import pytest
from numba import njit

from tressette_agents.solver_partners import PartnersSolver, partners_card_values, solve_partners
from tressette_agents.solver_partners_search import side_takes
from tressette_env.cards import card_list, card_set, card_worth, set_worth, strength_of, suit_of
from tressette_env.errors import DeckError, OptionError, TressetteError
from tressette_env.notation import parse_card, parse_hand

WORTHS = np.array([0, 0, 0, 0, 1, 1, 1, 3, 1, 1] * 4)  # R3, written again for the oracles

# ------------------------------------------------------------------------------------- two oracles


@njit
def plain_minimax(h0, h1, h2, h3, leader, t0, t1, t2):
    """Side 0's thirds: every card, every line; no bounds, no table, no merging.

    ``t0`` to ``t2`` are the cards on the table, -1 for none.
    """
    played = (t0 >= 0) + (t1 >= 0) + (t2 >= 0)
    seat = (leader + played) % 4
    hand = h0 if seat == 0 else h1 if seat == 1 else h2 if seat == 2 else h3
    if hand == 0:
        return 0
    suit = 1023 << t0 // 10 * 10 if played else 0
    best = -1 if seat % 2 == 0 else 99
    for card in range(40):
        bit = 1 << card
        if not hand & bit or (hand & suit and not bit & suit):
            continue
        n0 = h0 ^ bit if seat == 0 else h0
        n1 = h1 ^ bit if seat == 1 else h1
        n2 = h2 ^ bit if seat == 2 else h2
        n3 = h3 ^ bit if seat == 3 else h3
        if played == 0:
            value = plain_minimax(n0, n1, n2, n3, leader, card, -1, -1)
        elif played == 1:
            value = plain_minimax(n0, n1, n2, n3, leader, t0, card, -1)
        elif played == 2:
            value = plain_minimax(n0, n1, n2, n3, leader, t0, t1, card)
        else:
            place, top = 0, t0
            for other, number in ((t1, 1), (t2, 2), (card, 3)):
                if other // 10 == t0 // 10 and other > top:
                    place, top = number, other
            winner = (leader + place) % 4
            value = plain_minimax(n0, n1, n2, n3, winner, -1, -1, -1)
            if winner % 2 == 0:
                value += WORTHS[t0] + WORTHS[t1] + WORTHS[t2] + WORTHS[card]
                if n0 | n1 | n2 | n3 == 0:
                    value += 3
        best = max(best, value) if seat % 2 == 0 else min(best, value)
    return best


@njit
def full_search(hands, leader, table, played, low, high, memory):
    """Side 0's thirds: alpha-beta card by card, absolute hands, nothing merged.

    ``memory`` int64[N, 7]: the hands, leader, lower and upper bound at the start of a trick.
    """
    if played == 0:
        if hands[leader] == 0:
            return 0
        word = leader
        for seat in range(4):
            word = (word * 1009 + hands[seat] % 1000003) % 2147483647
        place = word % len(memory)
        found = memory[place]
        known = found[4] == leader
        for seat in range(4):
            known = known and found[seat] == hands[seat]
        if known:
            low = max(low, found[5])
            high = min(high, found[6])
            if low >= high:
                return found[5] if found[5] >= high else found[6]
    seat = (leader + played) % 4
    legal = hands[seat]
    if played and legal & 1023 << table[0] // 10 * 10:
        legal &= 1023 << table[0] // 10 * 10
    best = -1 if seat % 2 == 0 else 99
    alpha, beta = low, high
    for card in range(39, -1, -1):
        if not legal >> card & 1:
            continue
        hands[seat] ^= 1 << card
        table[played] = card
        if played < 3:
            value = full_search(hands, leader, table, played + 1, alpha, beta, memory)
        else:
            winner, top, gain = leader, table[0], WORTHS[table[0]]
            for number in range(1, 4):
                gain += WORTHS[table[number]]
                if table[number] // 10 == table[0] // 10 and table[number] > top:
                    winner, top = (leader + number) % 4, table[number]
            if hands[0] == 0 and hands[1] == 0 and hands[2] == 0 and hands[3] == 0:
                gain += 3
            if winner % 2:
                gain = 0
            kept = table.copy()
            value = gain + full_search(hands, winner, table, 0, alpha - gain, beta - gain, memory)
            table[:] = kept
        hands[seat] ^= 1 << card
        if seat % 2 == 0:
            best = max(best, value)
            alpha = max(alpha, best)
        else:
            best = min(best, value)
            beta = min(beta, best)
        if alpha >= beta:
            break
    if played == 0:
        found = memory[place]
        known = found[4] == leader
        for number in range(4):
            known = known and found[number] == hands[number]
        if not known:
            found[:4] = hands
            found[4:] = (leader, -1, 99)
        if best < high:
            found[6] = min(found[6], best)
        if best > low:
            found[5] = max(found[5], best)
    return best


def for_side_to_act(value, hands, leader, table):
    if (leader + len(table)) % 2 == 0:
        return value
    rest = 3 + sum(set_worth(int(hand)) for hand in hands)
    return rest + sum(card_worth(card) for card in table) - value


def plain_value(hands, leader, table=()):
    cards = [*table, -1, -1, -1][:3]
    value = plain_minimax(*(int(hand) for hand in hands), leader, *cards)
    return for_side_to_act(value, hands, leader, table)


def full_value(hands, leader, table, memory):
    memory[:] = -1
    cards = np.array([*table, -1, -1, -1, -1][:4])
    arguments = np.array(hands, np.int64), leader, cards, len(table), 0, 35, memory
    return for_side_to_act(full_search(*arguments), hands, leader, table)


# ------------------------------------------------------------------------------- random positions


def random_positions(count, size, seed, few_suits=True, share_led=0.5):
    """``count`` positions: hands, leader, cards on the table."""
    rng = np.random.default_rng(seed)
    positions = []
    for _ in range(count):
        deck = rng.permutation(40)
        if few_suits and rng.random() < 0.6:
            cards = [number for number in (10, 20, 30) if number >= 4 * size]
            deck = deck[deck < rng.choice(cards)] if cards else deck
        hands = [card_set(deck[size * seat : size * seat + size].tolist()) for seat in range(4)]
        leader = int(rng.integers(4))
        table = []
        if rng.random() < share_led:
            for place in range(rng.integers(1, 4)):
                seat = (leader + place) % 4
                legal = [card for card in card_list(hands[seat])]
                if table:
                    same = [card for card in legal if suit_of(card) == suit_of(table[0])]
                    legal = same or legal
                table.append(int(rng.choice(legal)))
                hands[seat] ^= 1 << table[-1]
        positions.append((hands, leader, table))
    return positions


def as_arrays(positions):
    hands, leaders, tables = zip(*positions, strict=True)
    return list(hands), list(leaders), [[*table, -1, -1, -1][:3] for table in tables]


def check(positions, oracle, table_bits=18):
    """Values and the best card's value, with one table for all positions."""
    solver = PartnersSolver(table_bits)
    expected = [oracle(*position) for position in positions]
    np.testing.assert_array_equal(solver.solve(*as_arrays(positions)), expected)
    by_card = solver.card_values(*as_arrays(positions))
    np.testing.assert_array_equal(by_card.max(1), expected)


def check_full(count, size, seed):
    memory = np.empty((1 << 16, 7), np.int64)
    check(random_positions(count, size, seed), lambda *one: full_value(*one, memory))


def hands_of(*texts):
    return [parse_hand(text) for text in texts]


# ------------------------------------------------------------------------------------------ values


@pytest.mark.parametrize(("size", "count"), [(1, 300), (2, 1500), (3, 600), (4, 25)])
@pytest.mark.parametrize("table_bits", [4, 18])
def test_values_equal_plain_minimax(size, count, table_bits):
    check(random_positions(count, size, seed=size), plain_value, table_bits)


@pytest.mark.parametrize(("size", "count"), [(5, 60), (6, 12)])
def test_values_equal_a_second_search(size, count):
    check_full(count, size, seed=size)


def test_the_two_oracles_agree():
    memory = np.empty((1 << 12, 7), np.int64)
    for position in random_positions(200, 3, seed=40):
        assert full_value(*position, memory) == plain_value(*position)


def test_every_deal_of_one_suit_with_two_cards():
    """All ways to deal eight cards of one suit, solved with one table: a wrong key shows."""
    positions = []
    for left_out in itertools.combinations(range(10), 2):
        live = [card for card in range(10) if card not in left_out]
        rng = np.random.default_rng(left_out)
        for _ in range(20):
            deck = rng.permutation(live).tolist()
            hands = [card_set(deck[2 * seat : 2 * seat + 2]) for seat in range(4)]
            positions.append((hands, int(rng.integers(4)), []))
    check(positions, plain_value)


def test_the_value_of_every_card_equals_plain_minimax():
    for hands, leader, table in random_positions(100, 3, seed=41):
        seat = (leader + len(table)) % 4
        for card, value in partners_card_values(hands, leader, table).items():
            after = [hand & ~(1 << card) for hand in hands]
            taken = 0
            if len(table) < 3:
                expected = plain_value(after, leader, [*table, card])
                is_ours = False
            else:
                trick = [*table, card]
                led = [one for one in trick if suit_of(one) == suit_of(trick[0])]
                winner = (leader + trick.index(max(led))) % 4
                is_ours = winner % 2 == seat % 2
                expected = plain_value(after, winner)
                taken = sum(card_worth(one) for one in trick)
                taken += 0 if any(after) else 3
            if is_ours:
                assert value == taken + expected
            elif len(table) < 3:
                rest = 3 + sum(set_worth(hand) for hand in hands)
                assert value == rest + sum(map(card_worth, table)) - expected
            else:
                rest = 3 + sum(set_worth(hand) for hand in after) if any(after) else 0
                assert value == rest - expected


def test_the_last_trick_is_worth_three_more():
    assert solve_partners(hands_of("D:4", "C:5", "C:6", "C:7"), 0) == 3
    assert solve_partners(hands_of("D:4", "D:5", "C:6", "C:7"), 0) == 0
    assert solve_partners([0, 0, 0, parse_hand("D:A")], 0, [6, 5, 4]) == 3 + 3 + 3


def test_who_holds_everything_takes_everything():
    hands = hands_of("D:32AKQJ7654", "C:32AKQJ7654", "S:32AKQJ7654", "B:32AKQJ7654")
    for leader in range(4):
        assert solve_partners(hands, leader) == 35


# -------------------------------------------------------------------------------------- the traps


def test_the_best_card_on_the_table_separates_cards():
    """7 and 5 are neighbours once the 6 is on the table, but only one of them wins the trick."""
    differ = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        deck = [card for card in rng.permutation(40).tolist() if card not in (1, 2, 3)]
        hands = [card_set(deck[:1]), 1 << 1 | 1 << 3, card_set(deck[1:3]), card_set(deck[3:5])]
        values = partners_card_values(hands, 0, [2])
        assert max(values.values()) == plain_value(hands, 0, [2])
        differ += values[1] != values[3]
    assert differ > 5


@pytest.mark.parametrize("cards", ["D:AJ", "D:A3", "D:K7", "D:J7", "D:A2", "D:AK"])
def test_equal_cards_must_have_equal_worth(cards):
    """Fails if neighbours are merged whatever they are worth."""
    own = parse_hand(cards)
    for seed in range(25):
        deck = np.random.default_rng(seed).permutation(40).tolist()
        deck = [card for card in deck if not own >> card & 1]
        if seed % 2:
            deck = [card for card in deck if card < 20]
        hands = [own, *(card_set(deck[2 * place : 2 * place + 2]) for place in range(3))]
        for leader in range(4):
            assert solve_partners(hands, leader) == plain_value(hands, leader)


@pytest.mark.parametrize("order", ["A2", "2A"])
def test_the_key_says_whether_the_ace_is_live(order):
    """K-Q-J-A and K-Q-J-2 have the same order of strength, not the same worth."""
    for texts in (
        ("D:{}K", "D:3J", "D:75", "D:64"),
        ("D:{}6", "D:34", "C:35", "S:7J"),
        ("D:3K", "D:{}6", "C:5 D:4", "S:7J"),
        ("D:K C:J", "D:{} C:3", "D:7 C:4", "D:5 S:3"),
    ):
        solver = PartnersSolver()
        for rank in order:
            hands = hands_of(*(text.format(rank) for text in texts))
            for leader in range(4):
                assert solver.solve([hands], [leader]) == [plain_value(hands, leader)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_answer_with_the_ace_is_not_reused_without_it(order):
    """Two cards of one seat around another seat's, with the ace in another place only."""
    positions = (["D:3A", "D:2Q", "D:54", "D:76"], ["D:AQ", "D:KJ", "D:54", "D:76"])
    solver = PartnersSolver()
    for index in order:
        hands = hands_of(*positions[index])
        value = (4, 2)[index]
        assert solver.solve([hands], [3]) == [value] == [plain_value(hands, 3)]


def test_an_answer_is_not_reused_where_a_rank_that_mattered_changes_hands():
    """One table, deals that differ in who holds two cards of equal worth."""
    solver = PartnersSolver()
    rng = np.random.default_rng(42)
    for _ in range(20):
        deck = rng.permutation(20)[:12].tolist()
        positions = []
        for one, two in itertools.combinations(range(12), 2):
            if card_worth(deck[one]) == card_worth(deck[two]):
                cards = list(deck)
                cards[one], cards[two] = cards[two], cards[one]
                hands = [card_set(cards[3 * seat : 3 * seat + 3]) for seat in range(4)]
                positions.append((hands, 0, []))
        expected = [plain_value(*position) for position in positions]
        np.testing.assert_array_equal(solver.solve(*as_arrays(positions)), expected)


# -------------------------------------------------------------------------------------- properties


def renamed(cards, names):
    return card_set(10 * names[suit_of(card)] + strength_of(card) for card in card_list(cards))


def test_renaming_suits_changes_nothing():
    for hands, leader, table in random_positions(6, 7, seed=50):
        values = set()
        for names in itertools.permutations(range(4)):
            cards = [10 * names[suit_of(card)] + strength_of(card) for card in table]
            values.add(solve_partners([renamed(hand, names) for hand in hands], leader, cards))
        assert len(values) == 1


def test_turning_the_seats_changes_nothing():
    for hands, leader, table in random_positions(40, 7, seed=51):
        values = set()
        for turns in range(4):
            turned = [hands[(seat - turns) % 4] for seat in range(4)]
            values.add(solve_partners(turned, (leader + turns) % 4, table))
        assert len(values) == 1


def test_mirroring_changes_nothing_in_a_trick_of_one():
    """With one card each, seats beside the leader may change places."""
    for hands, leader, _ in random_positions(100, 1, seed=52, share_led=0):
        mirrored = [hands[(2 * leader - seat) % 4] for seat in range(4)]
        assert solve_partners(hands, leader) == solve_partners(mirrored, leader)


def test_best_cards_keep_the_value_to_the_end():
    for dealt, first, _ in random_positions(6, 8, seed=53, share_led=0):
        hands, leader = dealt, first
        first_value = solve_partners(hands, leader)
        first_side, taken, table = first % 2, 0, []
        while any(hands):
            values = partners_card_values(hands, leader, table)
            card = max(values, key=lambda one: (values[one], one))
            assert values[card] == solve_partners(hands, leader, table)
            hands = [hand & ~(1 << card) for hand in hands]
            table.append(card)
            if len(table) == 4:
                led = [one for one in table if suit_of(one) == suit_of(table[0])]
                leader = (leader + table.index(max(led))) % 4
                if leader % 2 == first_side:
                    taken += sum(map(card_worth, table)) + (0 if any(hands) else 3)
                table = []
        assert taken == first_value


def test_neither_table_size_nor_threads_nor_order_change_a_value():
    positions = random_positions(40, 7, seed=54)
    arrays = as_arrays(positions)
    expected = PartnersSolver().solve(*arrays)
    for options in ({"table_bits": 4}, {"table_bits": 12}, {"table_bits": 8, "threads": 50}):
        solver = PartnersSolver(**options)
        np.testing.assert_array_equal(solver.solve(*arrays), expected)
        np.testing.assert_array_equal(solver.solve(*arrays), expected)  # warm
        turned = (array[::-1] for array in arrays)
        np.testing.assert_array_equal(solver.solve(*turned), expected[::-1])
    assert [solve_partners(*position) for position in positions] == expected.tolist()


# Hands, leader, thirds, positions searched with an empty table.
PINNED = [
    (
        (
            "D:J74 C:54 S:K7 B:Q",
            "D:3265 C:- S:Q B:A54",
            "D:K C:AQ7 S:3A5 B:K",
            "D:Q C:J S:J64 B:2J6",
        ),
        3,
        13,
        4254,
    ),
    (
        (
            "D:24 C:32J S:4 B:2Q",
            "D:3AJ6 C:K4 S:K B:5",
            "D:- C:A75 S:Q6 B:KJ6",
            "D:Q75 C:- S:327 B:A4",
        ),
        0,
        15,
        2732,
    ),
    (
        (
            "D:A C:K7 S:3QJ B:2K",
            "D:3J65 C:- S:7 B:3Q6",
            "D:4 C:2AQJ S:K B:A7",
            "D:KQ7 C:4 S:A654 B:-",
        ),
        3,
        17,
        8934,
    ),
    (
        (
            "D:J C:32 S:265 B:36",
            "D:2A764 C:- S:- B:AQ7",
            "D:35 C:A S:Q7 B:K54",
            "D:- C:KJ6 S:AKJ4 B:2",
        ),
        1,
        12,
        30035,
    ),
    (
        (
            "D:3K C:AK7 S:3 B:QJ",
            "D:2A C:24 S:K B:2A4",
            "D:J C:36 S:J64 B:K5",
            "D:Q4 C:J5 S:Q5 B:37",
        ),
        2,
        14,
        5027,
    ),
    (
        (
            "D:275 C:74 S:- B:325",
            "D:KJ C:6 S:3AK B:KJ",
            "D:Q6 C:- S:754 B:Q64",
            "D:34 C:32AJ S:J B:7",
        ),
        1,
        25,
        1,
    ),
    (
        (
            "D:5 C:35 S:QJ764 B:A6",
            "D:74 C:Q S:A5 B:32KJ7",
            "D:J6 C:2AKJ6 S:3K B:5",
            "D:32AKQ C:74 S:2 B:Q4",
        ),
        2,
        18,
        5891,
    ),
    (
        (
            "D:6 C:J64 S:2QJ7 B:AJ",
            "D:32AQ C:- S:K6 B:K765",
            "D:KJ75 C:75 S:A4 B:32",
            "D:4 C:32AKQ S:35 B:Q4",
        ),
        3,
        32,
        38377,
    ),
    (
        (
            "D:2KQ C:2K7 S:A7 B:Q6",
            "D:75 C:Q4 S:K54 B:327",
            "D:3J6 C:3A S:326 B:KJ",
            "D:A4 C:J65 S:QJ B:A54",
        ),
        2,
        28,
        13263,
    ),
    (
        (
            "D:3QJ C:KQ7 S:J64 B:Q",
            "D:75 C:5 S:32AQ B:2AJ",
            "D:K4 C:2J S:5 B:K7654",
            "D:2A6 C:3A64 S:K7 B:3",
        ),
        1,
        33,
        21879,
    ),
    (
        (
            "D:3A65 C:AKJ S:A B:2A",
            "D:2J C:2Q4 S:- B:KQ654",
            "D:KQ74 C:6 S:KQJ4 B:J",
            "D:- C:375 S:32765 B:37",
        ),
        3,
        28,
        25252,
    ),
    (
        (
            "D:54 C:36 S:3A7 B:265",
            "D:27 C:K4 S:K65 B:3AJ",
            "D:Q6 C:2AQJ S:24 B:Q7",
            "D:3AKJ C:75 S:QJ B:K4",
        ),
        3,
        21,
        48088,
    ),
]


@pytest.mark.parametrize(("texts", "leader", "value", "nodes"), PINNED)
def test_positions_searched(texts, leader, value, nodes):
    """A change of these numbers is a change of the search: measure before accepting it."""
    solver = PartnersSolver()
    assert solver.solve([hands_of(*texts)], [leader]) == [value]
    assert solver.nodes == nodes


# ------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("texts", "leader", "table", "message"),
    [
        (("D:3A", "D:A2", "C:3A", "S:3A"), 0, (), "different cards in the four hands, got seat 0"),
        (("D:3A", "D:2", "C:3A", "S:3A"), 0, (), "hands of equal size, got"),
        (("D:3A", "D:2", "C:3A", "S:3A"), 0, ("KD",), "one card less for each seat that has"),
        (("D:3A", "D:2K", "C:3A", "S:3"), 0, ("4S",), "one card less for each seat that has"),
        (("D:3", "D:2K", "C:3A", "S:3A"), 0, ("3D",), "in no hand any more"),
        (("D:3", "D:2K", "C:3A", "S:3A"), 0, ("3D", "3D"), "table: expected different cards"),
        (("D:3", "D:2", "C:3", "S:3"), 4, (), "leader: expected a seat 0 to 3, got 4"),
        (("D:3", "D:2", "C:3", "S:3"), -1, (), "leader: expected a seat 0 to 3, got -1"),
        (("", "", "", ""), 0, (), "1 to 10 cards"),
        (("", "", "", ""), 0, ("3D", "2D", "AD", "KD"), "table: expected up to three"),
    ],
)
def test_positions_that_cannot_be_played(texts, leader, table, message):
    hands = [parse_hand(text) if text else 0 for text in texts]
    cards = [parse_card(card) for card in table]
    for function in (solve_partners, partners_card_values):
        with pytest.raises(DeckError, match=message) as error:
            function(hands, leader, cards)
        assert isinstance(error.value, TressetteError)


@pytest.mark.parametrize(
    ("hands", "leader", "table", "error", "message"),
    [
        ([1, 2, 4], 0, (), OptionError, r"hands: expected shape \(1, 4\), got \(1, 3\)"),
        ([1, 2, 4, 8, 16], 0, (), OptionError, r"hands: expected shape \(1, 4\)"),
        ([1, 2, 4, -8], 0, (), DeckError, "got -8 for seat 3"),
        ([1, 2, 4, 1 << 40], 0, (), DeckError, "hands: expected a set of cards 0 to 39"),
        ([1, 2, 4, "D:3"], 0, (), OptionError, "hands: expected a list of 64-bit integers"),
        ([1, 2, 4, 8], 0.0, (), OptionError, "leaders: expected a list of 64-bit integers"),
        ([0, 2, 4, 8], 0, (40,), DeckError, "table: expected card numbers 0 to 39, got 40"),
        ([0, 2, 4, 8], 0, (-1,), DeckError, "table: expected up to three card numbers"),
        ([0, 2, 4, 8], 0, None, OptionError, "table: expected a list of 64-bit integers"),
        ([0, 2, 4, 8], 0, 5, OptionError, "table: expected one dimension"),
        ([0, 2, 4, 8], 0, ("3D",), OptionError, "table: expected a list of 64-bit integers"),
        (None, 0, (), OptionError, "hands: expected a list of 64-bit integers"),
        ([1, 2, [4], 8], 0, (), OptionError, "hands: expected a list of 64-bit integers"),
        ([1, 2, 4, 8], None, (), OptionError, "leaders: expected a list of 64-bit integers"),
        ([1, 2, 4, 8], [0, 1], (), OptionError, "leaders: expected one dimension"),
    ],
)
def test_values_that_are_no_cards(hands, leader, table, error, message):
    with pytest.raises(error, match=message):
        solve_partners(hands, leader, table)


def test_a_seat_that_has_not_followed_suit_but_could_is_refused():
    hands = [parse_hand(text) for text in ("C:J", "D:4", "D:5 C:5", "D:6 C:6")]
    table = [parse_card("7D"), parse_card("7C")]  # seat 1 has thrown a coppa and holds a denaro
    with pytest.raises(DeckError, match=r"expected seat 1 to have followed suit \(R6\), got"):
        solve_partners(hands, 0, table)
    hands[1] = parse_hand("B:4")
    assert solve_partners(hands, 0, table) == 4  # the fante takes the last trick


def test_batches_say_which_position_is_wrong():
    solver = PartnersSolver()
    with pytest.raises(DeckError, match=r"equal size.* \(position 1\)"):
        solver.solve([[1, 2, 4, 8], [1, 2, 4, 24]], [0, 0])
    with pytest.raises(DeckError, match=r"cards first, then -1, got \[-1, 5, -1\]"):
        solver.solve([[1, 2, 4, 8]], [0], [[-1, 5, -1]])
    with pytest.raises(OptionError, match=r"tables: expected shape \(1, 3\)"):
        solver.solve([[1, 2, 4, 8]], [0], [[-1]])
    assert solver.solve(np.zeros((0, 4), int), []).shape == (0,)


@pytest.mark.parametrize(
    "options", [{"table_bits": 3}, {"table_bits": 25}, {"threads": 0}, {"threads": True}]
)
def test_solver_options_out_of_range(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        PartnersSolver(**options)


def test_importing_the_solver_does_not_load_numba():
    code = "import sys, tressette_agents.solver_partners; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_recursive_function_is_compiled_in_one_form():
    """Two forms that call each other run when compiled, but crash when read from the disk."""
    solve_partners([1, 2, 4, 8], 0)
    assert len(side_takes.signatures) <= 1


# ------------------------------------------------------------------------------ many, as a script


def measure_sizes(seed=1):
    """Processor time of random positions to lead, by cards a hand: their value, every card's."""
    for size, count in ((4, 2000), (6, 1000), (8, 300), (9, 60), (10, 20)):
        arrays = as_arrays(random_positions(count, size, seed, few_suits=False, share_led=0))
        milliseconds = []
        for method in (PartnersSolver().solve, PartnersSolver().card_values):
            start = time.thread_time()
            method(*arrays)
            milliseconds.append(1000 * (time.thread_time() - start) / count)
        value, cards = milliseconds
        print(f"{size} cards a hand: value {value:.2f} ms, every card's {cards:.2f} ms", flush=True)


def measure(count=200, seed=0):
    """Processor time of random ten-trick deals, one thread."""
    positions = random_positions(count, 10, seed, few_suits=False, share_led=0)
    cold, warm = PartnersSolver(), PartnersSolver()
    cold.solve(*as_arrays(positions[:1]))
    for name, solver in (("cold", cold), ("warm", warm)):
        seconds, nodes = [], []
        for position in positions:
            if solver is cold:
                solver.clear()
            before, start = solver.nodes, time.thread_time()
            solver.solve(*as_arrays([position]))
            seconds.append(1000 * (time.thread_time() - start))
            nodes.append(solver.nodes - before)
        low, middle, high = np.percentile(seconds, [25, 50, 90])
        print(
            f"{name}: mean {np.mean(seconds):.1f}, quarter {low:.1f}, median {middle:.1f}, "
            f"p90 {high:.1f}, max {max(seconds):.1f} ms; {np.mean(nodes):,.0f} positions a deal",
            flush=True,
        )


if __name__ == "__main__":
    for size_, count_ in ((2, 5000), (3, 5000), (4, 200)):
        check(random_positions(count_, size_, seed=100 + size_), plain_value)
        print(f"{count_} positions of {size_} cards: every value equals plain minimax", flush=True)
    for size_, count_ in ((5, 500), (6, 200)):
        check_full(count_, size_, seed=200 + size_)
        print(f"{count_} positions of {size_} cards: every value equals the second search")
    measure_sizes()
    measure()
