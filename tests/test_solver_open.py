"""The last draws with every card known: every value equals two independent searches.

``python tests/test_solver_open.py`` runs the same checks on many more positions and measures the
speed.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time

import numpy as np
import pytest
from numba import njit

from tressette_agents.solver import solve_ending
from tressette_agents.solver_open import OpenSolver, open_card_values, solve_open
from tressette_agents.solver_open_search import open_takes
from tressette_env.cards import card_list, card_set, card_worth, set_worth, strength_of, suit_of
from tressette_env.errors import DeckError, OptionError, TressetteError
from tressette_env.notation import parse_card, parse_hand

WORTHS = np.array([0, 0, 0, 0, 1, 1, 1, 3, 1, 1] * 4)  # R3, written again for the oracles
FOLLOW = ("always", "stock_empty")

# ------------------------------------------------------------------------------------- two oracles


@njit
def plain_minimax(own, other, led, stock, place, always):
    """Thirds for the player to act: every card, every line; no bounds, no table, no merging."""
    if own == 0:
        return 0
    rest = 3
    for card in range(40):
        if (own | other) >> card & 1:
            rest += WORTHS[card]
    for number in range(place, len(stock)):
        rest += WORTHS[stock[number]]
    best = -1
    if led < 0:
        for card in range(40):
            if own >> card & 1:
                value = rest - plain_minimax(other, own ^ 1 << card, card, stock, place, always)
                best = max(best, value)
        return best
    rest += WORTHS[led]
    suit = 1023 << led // 10 * 10
    must_follow = own & suit != 0 and (always or place == len(stock))
    for card in range(40):
        if not own >> card & 1 or (must_follow and not 1 << card & suit):
            continue
        mine, theirs = own ^ 1 << card, other
        trick = WORTHS[led] + WORTHS[card]
        wins = 1 << card & suit != 0 and card > led
        after = place
        if place < len(stock):
            mine |= 1 << stock[place if wins else place + 1]
            theirs |= 1 << stock[place + 1 if wins else place]
            after += 2
        if mine == 0:
            trick += 3
        if wins:
            value = trick + plain_minimax(mine, theirs, -1, stock, after, always)
        else:
            value = rest - trick - plain_minimax(theirs, mine, -1, stock, after, always)
        best = max(best, value)
    return best


@njit
def full_search(hands, leader, led, stock, place, always, low, high, memory):
    """Seat 0's thirds still to come: alpha-beta card by card, absolute hands, nothing merged.

    ``memory`` int64[N, 6]: hands, leader, place, lower and upper bound at the start of a trick.
    """
    if led < 0 and hands[0] == 0:
        return 0
    word = hands[0] % 1000003 * 1009 + hands[1] % 1000033 * 2003 + leader + 7 * place
    slot = word % len(memory)
    found = memory[slot]
    known = found[0] == hands[0] and found[1] == hands[1]
    known = known and found[2] == leader and found[3] == place
    if led < 0 and known:
        low = max(low, found[4])
        high = min(high, found[5])
        if low >= high:
            return found[4] if found[4] >= high else found[5]
    turn = leader if led < 0 else 1 - leader
    legal = hands[turn]
    if led >= 0 and legal & 1023 << led // 10 * 10 and (always or place == len(stock)):
        legal &= 1023 << led // 10 * 10
    best = -1 if turn == 0 else 99
    alpha, beta = low, high
    for card in range(39, -1, -1):
        if not legal >> card & 1:
            continue
        after = (hands[0] ^ 1 << card, hands[1]) if turn == 0 else (hands[0], hands[1] ^ 1 << card)
        if led < 0:
            value = full_search(after, leader, card, stock, place, always, alpha, beta, memory)
        else:
            winner = turn if card // 10 == led // 10 and card > led else leader
            drawn = place
            if place < len(stock):
                first = 1 << stock[place]
                second = 1 << stock[place + 1]
                if winner == 1:
                    first, second = second, first
                after = (after[0] | first, after[1] | second)
                drawn += 2
            gain = 0
            if winner == 0:
                gain = WORTHS[led] + WORTHS[card] + (3 if after[0] == 0 else 0)
            value = gain + full_search(
                after, winner, -1, stock, drawn, always, alpha - gain, beta - gain, memory
            )
        if turn == 0:
            best = max(best, value)
            alpha = max(alpha, best)
        else:
            best = min(best, value)
            beta = min(beta, best)
        if alpha >= beta:
            break
    if led < 0:
        found = memory[slot]
        known = found[0] == hands[0] and found[1] == hands[1]
        if not (known and found[2] == leader and found[3] == place):
            found[:] = (hands[0], hands[1], leader, place, -1, 99)
        if best < high:
            found[5] = min(found[5], best)
        if best > low:
            found[4] = max(found[4], best)
    return best


def plain_value(own, other, stock, led, follow):
    return plain_minimax(own, other, led, np.array(stock, np.int64), 0, follow == "always")


def full_value(own, other, stock, led, follow, memory):
    memory[:] = -1
    cards = np.array(stock, np.int64)
    leader = 0 if led < 0 else 1
    return full_search((own, other), leader, led, cards, 0, follow == "always", 0, 35, memory)


# ------------------------------------------------------------------------------- random positions


def random_positions(count, size, draws, seed, share_led=0.5, few_suits=True):
    """``count`` positions: own, other, stock, led; ``led`` is -1 where the player leads."""
    rng = np.random.default_rng(seed)
    own, other, led = (np.full(count, -1, np.int64) for _ in range(3))
    stock = np.zeros((count, draws), np.int64)
    for row in range(count):
        deck = rng.permutation(40)
        if few_suits and rng.random() < 0.6:
            cards = [number for number in (10, 20, 30) if number >= 2 * size + draws]
            deck = deck[deck < rng.choice(cards)] if cards else deck
        stock[row] = deck[2 * size : 2 * size + draws]
        own[row] = card_set(deck[:size].tolist())
        rest = deck[size : 2 * size].tolist()
        if rng.random() < share_led:
            led[row] = rest.pop()
        other[row] = card_set(rest)
    return own, other, stock, led


def one_by_one(positions):
    return zip(*(column.tolist() for column in positions), strict=True)


def check(positions, follow, oracle):
    """Values and the best card's value against an oracle, in one call."""
    expected = [oracle(*position, follow) for position in one_by_one(positions)]
    solver = OpenSolver(follow)
    np.testing.assert_array_equal(solver.solve(*positions), expected)
    by_card = solver.card_values(*positions)
    np.testing.assert_array_equal(by_card.max(1), expected)


def check_full(count, size, draws, seed, follow):
    memory = np.empty((1 << 16, 6), np.int64)
    positions = random_positions(count, size, draws, seed)
    check(positions, follow, lambda *one: full_value(*one, memory))


# ------------------------------------------------------------------------------------------ values


@pytest.mark.parametrize("follow", FOLLOW)
@pytest.mark.parametrize(
    ("size", "draws", "count"), [(1, 2, 500), (1, 6, 300), (2, 2, 1000), (2, 4, 300), (3, 2, 150)]
)
def test_values_equal_plain_minimax(size, draws, count, follow):
    check(random_positions(count, size, draws, seed=size), follow, plain_value)


@pytest.mark.parametrize("follow", FOLLOW)
@pytest.mark.parametrize(("size", "draws", "count"), [(4, 4, 40), (5, 2, 40), (4, 6, 10)])
def test_values_equal_a_second_search(size, draws, count, follow):
    check_full(count, size, draws, seed=size + draws, follow=follow)


@pytest.mark.parametrize("follow", FOLLOW)
def test_values_of_the_last_draw_of_a_whole_deal_equal_a_second_search(follow):
    check_full(4, 10, 2, seed=10, follow=follow)


@pytest.mark.parametrize("follow", FOLLOW)
def test_the_two_oracles_agree(follow):
    memory = np.empty((1 << 12, 6), np.int64)
    for position in one_by_one(random_positions(100, 2, 4, seed=40)):
        expected = plain_value(*position, follow)
        assert full_value(*position, follow, memory) == expected


@pytest.mark.parametrize("follow", FOLLOW)
def test_the_value_of_every_card_equals_plain_minimax(follow):
    for own, other, stock, led in one_by_one(random_positions(100, 2, 2, seed=41)):
        values = open_card_values(own, other, stock, None if led < 0 else led, follow)
        for card, value in values.items():
            hand = own ^ 1 << card
            rest = set_worth(own | other | card_set(stock)) + 3
            if led < 0:
                assert value == rest - plain_value(other, hand, stock, card, follow)
                continue
            wins = suit_of(card) == suit_of(led) and card > led
            mine = hand | 1 << stock[0 if wins else 1]
            theirs = other | 1 << stock[1 if wins else 0]
            trick = card_worth(card) + card_worth(led)
            if wins:
                assert value == trick + plain_value(mine, theirs, [], -1, follow)
            else:
                left = set_worth(mine | theirs) + 3
                assert value == left - plain_value(theirs, mine, [], -1, follow)


@pytest.mark.parametrize("follow", FOLLOW)
def test_without_a_stock_it_is_the_ending(follow):
    for own, other, _, led in one_by_one(random_positions(50, 6, 0, seed=42)):
        led = None if led < 0 else led  # noqa: PLW2901
        assert solve_open(own, other, [], led, follow) == solve_ending(own, other, led)


# -------------------------------------------------------------------------------------- the traps


def test_the_winner_draws_first():
    own, other = parse_hand("D:2"), parse_hand("D:K")
    three, four = parse_card("3C"), parse_card("4C")
    assert solve_open(own, other, [three, four]) == 1 + 1 + 1 + 3
    assert solve_open(own, other, [four, three]) == 1 + 1


def test_suit_need_not_be_followed_until_the_stock_is_empty():
    """With free play the ace is kept: the follower throws a blank card on the 3."""
    own, other, stock = parse_hand("D:3 C:4"), parse_hand("D:A S:4"), [parse_card("7B"), 25]
    led = parse_card("3D")
    hand = own ^ 1 << led
    values = open_card_values(other, hand, stock, led, "always")
    assert card_list(parse_hand("D:A")) == list(values)
    assert len(open_card_values(other, hand, stock, led, "stock_empty")) == 2
    assert len(open_card_values(other, hand, [], led, "stock_empty")) == 1


def test_a_card_in_the_stock_separates_cards():
    """7 and 5 are no neighbours while the 6 is to be drawn.

    Fails if runs are worked out from the cards in the hands alone.
    """
    differ = 0
    six = parse_card("6D")
    for seed in range(150):
        deck = np.random.default_rng(seed).permutation(20).tolist()
        deck = [card for card in deck if card not in (1, 2, 3)]
        own, other, stock = parse_hand("D:75"), card_set(deck[:2]), [six, deck[2]]
        values = open_card_values(own, other, stock)
        assert max(values.values()) == plain_value(own, other, stock, -1, "always")
        differ += len(set(values.values())) == 2
    assert differ > 10


@pytest.mark.parametrize("follow", FOLLOW)
def test_the_led_card_separates_the_cards_of_the_follower(follow):
    differ = 0
    six = parse_card("6D")
    for seed in range(60):
        deck = np.random.default_rng(seed).permutation(40).tolist()
        deck = [card for card in deck if card not in (1, 2, 3)]
        own, other, stock = parse_hand("D:75"), card_set(deck[:1]), deck[1:3]
        values = open_card_values(own, other, stock, six, follow)
        assert max(values.values()) == plain_value(own, other, stock, six, follow)
        differ += len(set(values.values())) == 2
    assert differ > 10


@pytest.mark.parametrize("follow", FOLLOW)
@pytest.mark.parametrize("cards", ["D:AJ", "D:A2", "D:K7", "D:J7"])
def test_equal_cards_must_have_equal_worth(cards, follow):
    """Fails if neighbours are merged whatever they are worth."""
    own = parse_hand(cards)
    for seed in range(50):
        deck = np.random.default_rng(seed).permutation(20).tolist()
        deck = [card for card in deck if not own >> card & 1]
        other, stock = card_set(deck[:2]), deck[2:4]
        assert solve_open(own, other, stock, None, follow) == plain_value(
            own, other, stock, -1, follow
        )
        assert solve_open(other, own, stock, None, follow) == plain_value(
            other, own, stock, -1, follow
        )


def test_the_order_of_the_stock_is_not_forgotten():
    """The same hands with another order of the stock: a warm table must not answer for it."""
    own, other, stock, _ = random_positions(20, 4, 4, seed=43, share_led=0)
    solver = OpenSolver()
    memory = np.empty((1 << 12, 6), np.int64)
    for order in itertools.permutations(range(4)):
        turned = stock[:, list(order)]
        expected = [
            full_value(*position, -1, "always", memory)
            for position in one_by_one((own, other, turned))
        ]
        np.testing.assert_array_equal(solver.solve(own, other, turned), expected)


# -------------------------------------------------------------------------------------- properties


def renamed(cards, names):
    return card_set(10 * names[suit_of(card)] + strength_of(card) for card in card_list(cards))


@pytest.mark.parametrize("follow", FOLLOW)
def test_renaming_suits_changes_nothing(follow):
    for own, other, stock, led in one_by_one(random_positions(5, 10, 4, seed=50)):
        values = set()
        for names in itertools.permutations(range(4)):
            cards = [
                10 * names[suit_of(card)] + strength_of(card) for card in [*stock, max(led, 0)]
            ]
            hands = renamed(own, names), renamed(other, names)
            values.add(solve_open(*hands, cards[:-1], None if led < 0 else cards[-1], follow))
        assert len(values) == 1


@pytest.mark.parametrize("follow", FOLLOW)
def test_best_cards_keep_the_value_to_the_end_of_the_stock(follow):
    for first in one_by_one(random_positions(8, 10, 4, seed=52)):
        own, other, stock, led = first
        value = solve_open(own, other, stock, None if led < 0 else led, follow)
        for _ in range(4):
            values = open_card_values(own, other, stock, None if led < 0 else led, follow)
            card = max(values, key=lambda one: (values[one], one))
            assert values[card] == max(values.values()) == value
            hand = own ^ 1 << card
            if led < 0:
                value = set_worth(own | other | card_set(stock)) + 3 - value
                own, other, led = other, hand, card
            else:
                wins = suit_of(card) == suit_of(led) and card > led
                if stock:
                    hand |= 1 << stock[0 if wins else 1]
                    other |= 1 << stock[1 if wins else 0]
                    stock = stock[2:]
                if wins:
                    own = hand
                    value -= card_worth(card) + card_worth(led)
                else:
                    own, other = other, hand
                    value = set_worth(own | other | card_set(stock)) + 3 - value
                led = -1
            now = solve_open(own, other, stock, None if led < 0 else led, follow)
            assert now == value


def test_neither_table_size_nor_threads_nor_order_change_a_value():
    positions = random_positions(30, 10, 4, seed=54)
    expected = OpenSolver().solve(*positions)
    for options in ({"table_bits": 4}, {"table_bits": 18}, {"threads": 3}, {"threads": 100}):
        solver = OpenSolver(**options)
        np.testing.assert_array_equal(solver.solve(*positions), expected)
        np.testing.assert_array_equal(solver.solve(*positions), expected)  # warm
        turned = (column[::-1] for column in positions)
        np.testing.assert_array_equal(solver.solve(*turned), expected[::-1])


@pytest.mark.parametrize(
    ("follow", "draws", "nodes"),
    [
        ("always", 2, (6, 21846)),
        ("always", 4, (37, 77102)),
        ("always", 6, (164, 262546)),
        ("stock_empty", 2, (6, 30817)),
        ("stock_empty", 4, (97, 182435)),
        ("stock_empty", 6, (728, 877110)),
    ],
)
def test_positions_searched(follow, draws, nodes):
    """A change of these numbers is a change of the search: measure before accepting it."""
    solver = OpenSolver(follow)
    solver.solve(*random_positions(5, 10, draws, seed=55, few_suits=False))
    assert solver.nodes == nodes


# ------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("own", "other", "stock", "led", "message"),
    [
        ("D:3A", "D:A2", "4C 5C", None, "different cards in the two hands, got own D:3A"),
        ("D:3A", "D:K", "4C 5C", None, "hands of equal size"),
        ("D:3A", "D:K", "4C 5C", "AD", "on the table only"),
        ("D:3A", "D:K", "4C 5C", "4C", "on the table only"),
        ("D:3", "D:K", "4C 5C", "2D", "one card more in own"),
        ("D:3", "D:K", "3D 5C", None, "no card of the stock in a hand"),
        ("D:3", "D:K", "5C 5C", None, "stock: expected different cards, got card 11 twice"),
        ("D:3", "D:K", "5C", None, "stock: expected an even number of cards up to 20, got 1"),
        ("", "", "4C 5C", None, "1 to 10 cards"),
    ],
)
def test_positions_that_cannot_be_played(own, other, stock, led, message):
    hands = [parse_hand(text) if text else 0 for text in (own, other)]
    cards = [parse_card(card) for card in stock.split()]
    for function in (solve_open, open_card_values):
        with pytest.raises(DeckError, match=message) as error:
            function(*hands, cards, None if led is None else parse_card(led))
        assert isinstance(error.value, TressetteError)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((-1, 1, [2, 3]), DeckError, "own: expected a set of cards 0 to 39, got -1"),
        ((1, 1 << 40, [2, 3]), DeckError, "other: expected a set of cards"),
        ((1.0, 2, [2, 3]), OptionError, "own: expected a list of 64-bit integers"),
        ((1, 2, [2, 40]), DeckError, "stock: expected card numbers 0 to 39, got 40"),
        ((1, 2, [2.5, 3]), OptionError, "stock: expected a list of 64-bit integers"),
        ((1, 0, [2, 3], 40), DeckError, "led: expected a card number 0 to 39, got 40"),
        ((1, 0, [2, 3], -1), DeckError, "led: expected a card number 0 to 39 or None"),
        ((1, 2, [2, 3], None, "never"), OptionError, "follow: expected one of always, stock_empty"),
        ((1, 2, [2, 3], None, ["always"]), OptionError, "follow: expected one of"),
        ((1, 2, [2, 3], None, None), OptionError, "follow: expected one of.*got None"),
        ((None, 2, [2, 3]), OptionError, "own: expected a list of 64-bit integers"),
        ((1, [2], [2, 3]), OptionError, "other: expected one dimension"),
        ((1, 2, 3), OptionError, "stock: expected one dimension"),
        ((1, 2, None), OptionError, "stock: expected a list of 64-bit integers"),
        ((1, 0, [2, 3], "3D"), OptionError, "led: expected a list of 64-bit integers"),
        ((1, 0, [2, 3], np.arange(2)), OptionError, "led: expected one dimension"),
    ],
)
def test_values_that_are_no_cards(arguments, error, message):
    with pytest.raises(error, match=message):
        solve_open(*arguments)


def test_batches_say_which_position_is_wrong():
    solver = OpenSolver()
    with pytest.raises(DeckError, match=r"equal size.* \(position 1\)"):
        solver.solve([1, 1], [2, 6], [[10, 11], [10, 11]])
    with pytest.raises(OptionError, match="as many own, other, stock and led, got 1, 1, 2 and 1"):
        solver.solve([1], [2], [[10, 11], [10, 11]])
    with pytest.raises(OptionError, match="stock: expected 2 dimensions"):
        solver.solve([1], [2], [10, 11])
    assert solver.solve([], [], np.zeros((0, 2), int)).shape == (0,)


@pytest.mark.parametrize(
    "options", [{"table_bits": 3}, {"threads": 0}, {"threads": True}, {"follow": "x"}]
)
def test_solver_options_out_of_range(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        OpenSolver(**options)


def test_importing_the_solver_does_not_load_numba():
    code = "import sys, tressette_agents.solver_open; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_recursive_function_is_compiled_in_one_form():
    """Two forms that call each other run when compiled, but crash when read from the disk."""
    solve_open(1, 2, [12, 13])
    assert len(open_takes.signatures) <= 1


# ------------------------------------------------------------------------------ many, as a script


def measure(count=200, seed=0):
    """Processor time of positions of the full deck, ten cards a hand, one thread."""
    for follow in FOLLOW:
        for draws in (2, 4, 6, 8):
            positions = random_positions(count, 10, draws, seed, share_led=0, few_suits=False)
            solver = OpenSolver(follow)
            seconds = []
            for row in range(count):
                start = time.thread_time()
                solver.solve(*(column[row : row + 1] for column in positions))
                seconds.append(1000 * (time.thread_time() - start))
            parts = f"mean {np.mean(seconds):.2f}, p99 {np.percentile(seconds, 99):.2f}"
            start = time.thread_time()
            OpenSolver(follow).card_values(*(column[:50] for column in positions))
            cards = 1000 * (time.thread_time() - start) / 50
            print(
                f"follow {follow}, {draws} cards left: {parts}, max {max(seconds):.2f} ms; "
                f"every card's value {cards:.2f} ms",
                flush=True,
            )


if __name__ == "__main__":
    for follow_ in FOLLOW:
        for size_, draws_, count_ in ((1, 8, 1000), (2, 2, 5000), (2, 4, 2000), (3, 2, 1000)):
            check(random_positions(count_, size_, draws_, seed=100 + size_), follow_, plain_value)
        for size_, draws_, count_ in ((4, 4, 300), (5, 4, 50), (6, 2, 200), (10, 2, 20)):
            check_full(count_, size_, draws_, seed=200 + size_, follow=follow_)
        print(f"follow {follow_}: every value equals plain minimax or the second search")
    measure()
