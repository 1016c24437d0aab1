"""Exact endings: every value equals two independent searches, on small endings and on whole ones.

``python tests/test_solver.py`` runs the same checks on many more endings (20,000 of 2 to 6 cards,
1,000 of ten) and measures the speed.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time

import numpy as np
import pytest
from numba import njit

from tressette_agents.solver import EndingSolver, best_card, card_values, solve_ending
from tressette_agents.solver_search import suit_rows
from tressette_env.cards import card_list, card_set, card_worth, set_worth, strength_of, suit_of
from tressette_env.errors import DeckError, OptionError, TressetteError
from tressette_env.notation import parse_card, parse_hand

WORTHS = np.array([0, 0, 0, 0, 1, 1, 1, 3, 1, 1] * 4)  # R3, written again for the oracles

# ------------------------------------------------------------------------------------- two oracles


@njit
def plain_minimax(own, other, led):
    """Thirds for the player to act: every card, every line; no bounds, no table, no merging."""
    if own == 0:
        return 0
    rest = 3
    for card in range(40):
        if (own | other) >> card & 1:
            rest += WORTHS[card]
    best = -1
    if led < 0:
        for card in range(40):
            if own >> card & 1:
                best = max(best, rest - plain_minimax(other, own ^ 1 << card, card))
        return best
    rest += WORTHS[led]
    suit = 1023 << led // 10 * 10
    for card in range(40):
        if not own >> card & 1 or (own & suit and not 1 << card & suit):
            continue
        hand = own ^ 1 << card
        trick = WORTHS[led] + WORTHS[card]
        if hand == 0:
            trick += 3
        if 1 << card & suit and card > led:
            value = trick + plain_minimax(hand, other, -1)
        else:
            value = rest - trick - plain_minimax(other, hand, -1)
        best = max(best, value)
    return best


@njit
def full_search(hands, leader, led, low, high, memory):
    """Seat 0's thirds still to come: alpha-beta card by card, absolute hands, nothing merged.

    ``memory`` int64[N, 5]: both hands, leader, lower and upper bound at the start of a trick.
    """
    if led < 0 and hands[0] == 0:
        return 0
    place = (hands[0] % 1000003 * 1009 + hands[1] % 1000033 * 2003 + leader) % len(memory)
    found = memory[place]
    is_known = found[0] == hands[0] and found[1] == hands[1] and found[2] == leader
    if led < 0 and is_known:
        low = max(low, found[3])
        high = min(high, found[4])
        if low >= high:
            return found[3] if found[3] >= high else found[4]
    turn = leader if led < 0 else 1 - leader
    legal = hands[turn]
    if led >= 0 and legal & 1023 << led // 10 * 10:
        legal &= 1023 << led // 10 * 10
    best = -1 if turn == 0 else 99
    alpha, beta = low, high
    for card in range(39, -1, -1):
        if not legal >> card & 1:
            continue
        after = (hands[0] ^ 1 << card, hands[1]) if turn == 0 else (hands[0], hands[1] ^ 1 << card)
        if led < 0:
            value = full_search(after, leader, card, alpha, beta, memory)
        else:
            winner = turn if card // 10 == led // 10 and card > led else leader
            gain = 0
            if winner == 0:
                gain = WORTHS[led] + WORTHS[card] + (3 if after[0] == 0 else 0)
            value = gain + full_search(after, winner, -1, alpha - gain, beta - gain, memory)
        if turn == 0:
            best = max(best, value)
            alpha = max(alpha, best)
        else:
            best = min(best, value)
            beta = min(beta, best)
        if alpha >= beta:
            break
    if led < 0:
        found = memory[place]
        if not (found[0] == hands[0] and found[1] == hands[1] and found[2] == leader):
            found[:] = (hands[0], hands[1], leader, -1, 99)
        if best < high:
            found[4] = min(found[4], best)
        if best > low:
            found[3] = max(found[3], best)
    return best


def full_value(own, other, led, memory):
    memory[:] = -1
    return full_search((own, other), 0 if led < 0 else 1, led, 0, 35, memory)


# --------------------------------------------------------------------------------- random endings


def random_endings(count, size, seed, share_led=0.5):
    """``count`` endings: own, other, led (int64[count]); ``led`` is -1 for the others."""
    rng = np.random.default_rng(seed)
    own, other, led = (np.full(count, -1, np.int64) for _ in range(3))
    for row in range(count):
        deck = rng.permutation(40)
        if rng.random() < 0.5 and size <= 6:  # few suits: long runs of neighbours
            deck = deck[deck < rng.choice([20, 30])]
        own[row] = card_set(deck[:size].tolist())
        rest = deck[size : 2 * size].tolist()
        if rng.random() < share_led:
            led[row] = rest.pop()
        other[row] = card_set(rest)
    return own, other, led


def check_small(count, size, seed):
    """Values and the value of every card against plain minimax."""
    own, other, led = random_endings(count, size, seed)
    solver = EndingSolver()
    values = solver.solve(own, other, led)
    expected = [plain_minimax(*ending) for ending in zip(own, other, led, strict=True)]
    np.testing.assert_array_equal(values, expected)
    by_card = solver.card_values(own, other, led)
    np.testing.assert_array_equal(by_card.max(1), expected)
    best = solver.best_cards(own, other, led)
    np.testing.assert_array_equal(by_card[np.arange(count), best], expected)


def check_full(count, seed, size=10):
    """Values of whole endings against the second search."""
    own, other, led = random_endings(count, size, seed)
    memory = np.empty((1 << 16, 5), np.int64)
    values = EndingSolver().solve(own, other, led)
    endings = zip(own.tolist(), other.tolist(), led.tolist(), strict=True)
    np.testing.assert_array_equal(values, [full_value(*ending, memory) for ending in endings])


def one_by_one(endings):
    """Own, other and led (or None) of each ending."""
    for own, other, led in zip(*(column.tolist() for column in endings), strict=True):
        yield own, other, None if led < 0 else led


def hands(*texts):
    return [parse_hand(text) for text in texts]


# ------------------------------------------------------------------------------------------ values


@pytest.mark.parametrize(("size", "count"), [(1, 500), (2, 2000), (3, 2000), (4, 1500), (5, 500)])
def test_values_equal_plain_minimax(size, count):
    check_small(count, size, seed=size)


def test_values_of_six_cards_equal_plain_minimax():
    check_small(200, 6, seed=6)


@pytest.mark.parametrize(("size", "count"), [(7, 200), (10, 300)])
def test_values_equal_a_second_search(size, count):
    check_full(count, seed=size, size=size)


def test_the_two_oracles_agree():
    memory = np.empty((1 << 12, 5), np.int64)
    for own, other, led in zip(*random_endings(300, 4, seed=40), strict=True):
        assert full_value(own, other, led, memory) == plain_minimax(own, other, led)


def test_every_ending_of_one_suit_up_to_three_cards():
    for size in (1, 2, 3):
        owns, others = [], []
        for live in itertools.combinations(range(10), 2 * size):
            for own in itertools.combinations(live, size):
                owns.append(card_set(own))
                others.append(card_set(live) ^ card_set(own))
        values = EndingSolver().solve(owns, others)
        expected = [plain_minimax(*ending, -1) for ending in zip(owns, others, strict=True)]
        np.testing.assert_array_equal(values, expected)


def test_the_value_of_every_card_equals_plain_minimax():
    for own, other, led in one_by_one(random_endings(200, 4, seed=41)):
        for card, value in card_values(own, other, led).items():
            hand = own ^ 1 << card
            if led is None:
                expected = set_worth(own | other) + 3 - plain_minimax(other, hand, card)
            else:
                expected = card_worth(card) + card_worth(led)
                if suit_of(card) == suit_of(led) and card > led:
                    expected += plain_minimax(hand, other, -1)
                else:
                    expected = set_worth(hand | other) + 3 - plain_minimax(other, hand, -1)
            assert value == expected


def test_legal_cards_follow_suit():
    own, other = hands("D:3A C:K", "S:2 B:4")
    assert sorted(card_values(own, other, parse_card("7D"))) == card_list(parse_hand("D:3A"))
    assert sorted(card_values(own, other, parse_card("7B"))) == card_list(own)


def test_the_last_trick_is_worth_three_more():
    assert solve_ending(*hands("D:4", "C:5")) == 3
    assert solve_ending(*hands("D:4", "D:5")) == 0
    assert solve_ending(parse_hand("D:A"), 0, parse_card("KD")) == 3 + 1 + 3


def test_who_holds_everything_takes_everything():
    own, other = parse_hand("D:32AKQJ7654"), parse_hand("C:32AKQJ7654")
    assert solve_ending(own, other) == 8 + 8 + 3
    assert solve_ending(own, other ^ parse_hand("C:4"), parse_card("4C")) == 0


# -------------------------------------------------------------------------------------- the traps


def test_the_led_card_separates_the_cards_of_the_follower():
    """7 and 5 are neighbours once the 6 is led, but only one of them wins the trick.

    Fails if the follower's equal cards are worked out from the cards left after the lead.
    """
    follower = parse_hand("D:75")
    six = parse_card("6D")
    differ = 0
    for card in set(range(40)) - {six, *card_list(follower)}:
        leader = 1 << six | 1 << card
        assert solve_ending(leader, follower) == plain_minimax(leader, follower, -1)
        values = card_values(follower, 1 << card, six)
        assert max(values.values()) == plain_minimax(follower, 1 << card, six)
        assert len(values) == 2
        differ += len(set(values.values())) == 2
    assert differ > 20


@pytest.mark.parametrize(
    ("own", "other", "value"),
    [
        ("D:AJ", "D:35", 3),  # between 3 and 5, ace and jack win the same tricks, but 3 thirds or 1
        ("D:AQ", "D:3J", 4),
        ("D:K5", "D:34", 1),
        ("D:A5", "D:34", 3),
        ("D:K6", "D:J7", 4),
        ("D:35", "D:Q6", 4),
        # A third between a blank and an ace of the same run: three worths in one.
        ("C:AK7 S:7", "D:J C:325", 2),
        ("C:3AJ7", "D:A C:265", 7),
        ("D:Q6 C:325", "D:2 C:AQ7 S:7", 8),
    ],
)
def test_equal_cards_must_have_equal_worth(own, other, value):
    """Fails if neighbours are merged whatever they are worth."""
    assert solve_ending(*hands(own, other)) == value
    assert plain_minimax(*hands(own, other), -1) == value


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("D:{}K", "D:3J"),
        ("D:{}K", "D:36"),
        ("D:{}6", "D:34"),
        ("D:{}5", "D:KQ"),
        ("D:{} C:J", "D:7 C:3"),
        ("D:{}KQJ", "D:7654"),
        ("D:KQJ C:{}", "D:765 S:3"),
    ],
)
@pytest.mark.parametrize("order", ["A2", "2A"])
def test_the_key_says_whether_the_ace_is_live(own, other, order):
    """K-Q-J-A and K-Q-J-2 have the same order of strength, not the same worth.

    Fails if the table's key counts an ace like another card that is worth something.
    """
    solver = EndingSolver()
    for rank in order:
        pair = hands(own.format(rank), other)
        assert solver.solve(*([hand] for hand in pair)) == [plain_minimax(*pair, -1)]


def test_suits_have_7043_classes():
    """Fails if two different sequences of runs get the same class, or equal ones different."""
    classes = suit_rows()[:, 1] & 0x1FFF
    assert sorted(set(classes.tolist())) == list(range(7043))


# -------------------------------------------------------------------------------------- properties


def renamed(cards, names):
    return card_set(10 * names[suit_of(card)] + strength_of(card) for card in card_list(cards))


def test_renaming_suits_changes_nothing():
    own, other, _ = random_endings(10, 10, seed=50, share_led=0)
    for row in range(10):
        values = set()
        for names in itertools.permutations(range(4)):
            solver = EndingSolver(table_bits=12)
            pair = [renamed(own[row], names)], [renamed(other[row], names)]
            values.add(int(solver.solve(*pair)[0]))
        assert len(values) == 1
    for one, two, led in one_by_one(random_endings(100, 5, seed=51)):
        values = set()
        for names in itertools.permutations(range(4)):
            card = None if led is None else card_list(renamed(1 << led, names))[0]
            values.add(solve_ending(renamed(one, names), renamed(two, names), card))
        assert len(values) == 1


def best_play(own, other, led):
    """Play best cards to the end; thirds for the player who acts first."""
    taken = 0
    is_first = True  # whether the player to act is the one who acted first
    while own:
        values = card_values(own, other, led)
        card = best_card(own, other, led)
        assert values[card] == max(values.values()) == solve_ending(own, other, led)
        hand = own ^ 1 << card
        if led is None:
            own, other, led, is_first = other, hand, card, not is_first
            continue
        if suit_of(card) == suit_of(led) and card > led:
            own = hand
        else:
            own, other, is_first = other, hand, not is_first
        if is_first:
            taken += card_worth(led) + card_worth(card) + (0 if own else 3)
        led = None
    return taken


def test_best_cards_keep_the_value_to_the_end():
    for ending in one_by_one(random_endings(50, 10, seed=52)):
        assert best_play(*ending) == solve_ending(*ending)


def test_of_equally_good_cards_the_cheapest_is_chosen():
    own, other, led = random_endings(200, 6, seed=53)
    solver = EndingSolver()
    by_card = solver.card_values(own, other, led)
    for values, chosen in zip(by_card, solver.best_cards(own, other, led), strict=True):
        best = [card for card in range(40) if values[card] == values.max()]
        assert chosen == min(best, key=lambda card: (card_worth(card), card))


def test_neither_table_size_nor_threads_nor_order_change_a_value():
    own, other, led = random_endings(60, 10, seed=54)
    expected = EndingSolver().solve(own, other, led)
    for options in ({"table_bits": 4}, {"table_bits": 18}, {"threads": 3}, {"threads": 100}):
        solver = EndingSolver(**options)
        np.testing.assert_array_equal(solver.solve(own, other, led), expected)
        np.testing.assert_array_equal(solver.solve(own, other, led), expected)  # warm
        np.testing.assert_array_equal(
            solver.solve(own[::-1], other[::-1], led[::-1]), expected[::-1]
        )
    singles = [solve_ending(*ending) for ending in one_by_one((own, other, led))]
    assert singles == expected.tolist()


def test_a_known_ending_costs_nothing():
    own, other, _ = random_endings(1, 10, seed=55, share_led=0)
    solver = EndingSolver()
    value = solver.solve(own, other)
    nodes = solver.nodes
    assert solver.solve(own, other) == value
    assert solver.nodes - nodes <= 5
    solver.clear()
    assert solver.nodes == 0
    assert solver.solve(own, other) == value
    assert solver.nodes == nodes


def test_the_positions_of_all_threads_are_counted():
    own, other, _ = random_endings(2, 8, seed=55, share_led=0)
    nodes = []
    for threads, rows in ((1, slice(0, 1)), (1, slice(1, 2)), (2, slice(0, 2))):
        solver = EndingSolver(threads=threads)
        solver.solve(own[rows], other[rows])
        nodes.append(solver.nodes)
    assert nodes[2] == nodes[0] + nodes[1]


# Own, other, thirds, positions searched with an empty table.
PINNED = [
    ("D:3J6 C:274 S:A7 B:2Q", "D:KQ7 C:3J5 S:3 B:3AJ", 8, 7116),
    ("D:J6 C:A S:2AK6 B:K64", "D:4 C:3764 S:4 B:32Q7", 7, 473),
    ("D:A754 C:J4 S:J6 B:76", "D:2 C:2KQ S:2AQ B:K54", 3, 223),
    ("D:- C:KQ7 S:KQJ B:2Q74", "D:3QJ7 C:354 S:- B:KJ5", 10, 1734),
    ("D:3AQ65 C:QJ S:A6 B:6", "D:2KJ C:654 S:32K B:J", 11, 3706),
    ("D:AJ7 C:376 S:- B:J764", "D:364 C:54 S:A5 B:2K5", 5, 6552),
    ("D:3A54 C:Q4 S:J4 B:2K", "D:27 C:3AK7 S:2K7 B:4", 8, 2430),
    ("D:J74 C:AQ75 S:AK B:K", "D:Q5 C:6 S:3QJ64 B:Q5", 12, 2159),
]


@pytest.mark.parametrize(("own", "other", "value", "nodes"), PINNED)
def test_positions_searched(own, other, value, nodes):
    """A change of these numbers is a change of the search: measure before accepting it."""
    solver = EndingSolver()
    assert solver.solve(*([hand] for hand in hands(own, other))) == [value]
    assert solver.nodes == nodes


# ------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("own", "other", "led", "message"),
    [
        ("D:3A", "D:A2", None, "different cards in the two hands, got own D:3A"),
        ("D:3A", "D:K", None, "hands of equal size"),
        ("D:3", "D:KQ", None, "hands of equal size"),
        ("", "", None, "1 to 10 cards"),
        ("D:32AKQJ7654 C:3", "S:32AKQJ7654 C:4", None, "1 to 10 cards"),
        ("D:3A", "D:KQ", "7D", "one card more in own"),
        ("D:3", "D:K", "7D", "one card more in own"),
        ("D:3A", "D:K", "AD", "in neither hand"),
        ("D:3A", "D:K", "KD", "in neither hand"),
        ("", "", "KD", "1 to 10 cards"),
    ],
)
def test_endings_that_cannot_be_played(own, other, led, message):
    own, other = (parse_hand(text) if text else 0 for text in (own, other))
    led = None if led is None else parse_card(led)
    for function in (solve_ending, card_values, best_card):
        with pytest.raises(DeckError, match=message) as error:
            function(own, other, led)
        assert isinstance(error.value, TressetteError)
        assert "ending 0" not in str(error.value)


@pytest.mark.parametrize(
    ("own", "other", "led", "error", "message"),
    [
        (-1, 1, None, DeckError, "own: expected a set of cards 0 to 39, got -1"),
        (1, 1 << 40, None, DeckError, "other: expected a set of cards 0 to 39"),
        (1 << 70, 1, None, OptionError, "own: expected a list of 64-bit integers"),
        (1 << 63, 1, None, DeckError, "own: expected a set of cards"),
        (1.0, 2, None, OptionError, "own: expected a list of 64-bit integers"),
        ("D:3", 2, None, OptionError, "own: expected a list of 64-bit integers"),
        (1, 2, 0.5, OptionError, "led: expected a list of 64-bit integers"),
        (1, 0, 40, DeckError, "led: expected a card number 0 to 39, got 40"),
        (1, 2, -1, DeckError, "led: expected a card number 0 to 39 or None, got -1"),
        (1, 0, -2, DeckError, "led: expected a card number 0 to 39, got -2"),
    ],
)
def test_values_that_are_no_cards(own, other, led, error, message):
    with pytest.raises(error, match=message):
        solve_ending(own, other, led)


def test_batches_say_which_ending_is_wrong():
    solver = EndingSolver()
    with pytest.raises(DeckError, match=r"equal size .* \(ending 2\)"):
        solver.solve([1, 1, 1], [2, 2, 6])
    with pytest.raises(DeckError, match="got 1099511627776 in ending 1"):
        solver.solve([1, 1 << 40], [2, 2])
    with pytest.raises(OptionError, match="as many own, other and led, got 2, 1 and 2"):
        solver.solve([1, 1], [2])
    with pytest.raises(OptionError, match="one dimension"):
        solver.solve([[1]], [[2]])
    assert solver.solve([], []).shape == (0,)
    assert solver.card_values([], []).shape == (0, 40)


@pytest.mark.parametrize(
    "options",
    [
        {"table_bits": 3},
        {"table_bits": 25},
        {"table_bits": 10.0},
        {"threads": 0},
        {"threads": True},
    ],
)
def test_solver_options_out_of_range(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        EndingSolver(**options)


def test_importing_the_solver_does_not_load_numba():
    code = "import sys, tressette_agents.solver; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ------------------------------------------------------------------------------ many, as a script


def spread(name, seconds):
    ms = 1000 * np.array(seconds)
    parts = f"mean {ms.mean():.3f}, median {np.median(ms):.3f}, p99 {np.percentile(ms, 99):.3f}"
    print(f"{name}: {parts}, max {ms.max():.3f} ms")


def measure(count=10_000, seed=0):
    """Processor time of random ten-card endings, one thread."""
    own, other, _ = random_endings(count, 10, seed, share_led=0)
    cold, warm = EndingSolver(), EndingSolver()
    cold.solve(own[:1], other[:1])
    for name, solver in (("cold, one by one", cold), ("warm, one by one", warm)):
        seconds = []
        nodes = []
        for row in range(count):
            if solver is cold:
                solver.clear()
            before = solver.nodes
            start = time.thread_time()
            solver.solve(own[row : row + 1], other[row : row + 1])
            seconds.append(time.thread_time() - start)
            nodes.append(solver.nodes - before)
        spread(name, seconds)
        print(
            f"  positions searched: mean {np.mean(nodes):.0f}, p99 {np.percentile(nodes, 99):.0f}"
        )
    for _ in range(3):
        solver = EndingSolver()
        start = time.process_time()
        solver.solve(own, other)
        seconds = time.process_time() - start
        print(f"in one call, from an empty table: {count / seconds:,.0f} endings a second")


if __name__ == "__main__":
    for number, (size_, count_) in enumerate(
        ((2, 4000), (3, 5000), (4, 6000), (5, 4000), (6, 1000))
    ):
        check_small(count_, size_, seed=1000 + number)
        print(f"{count_} endings of {size_} cards: every value equals plain minimax", flush=True)
    check_full(1000, seed=2000)
    print("1000 endings of 10 cards: every value equals the second search", flush=True)
    measure()
