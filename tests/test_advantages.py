"""Advantages along each seat's own decisions: hand-worked deals, and a slow second reading."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tressette_env import BatchTable, get_rules
from tressette_train.advantages import generalized_advantages


def column(values: list[float], dtype: type = np.float32) -> npt.NDArray[np.generic]:
    return np.array(values, dtype)[:, None]


def one_table(
    seats: list[int],
    rewards: list[float],
    values: list[float],
    gae_lambda: float,
    num_seats: int = 2,
    is_over: list[int] | None = None,
) -> list[float]:
    over = is_over or [0] * (len(seats) - 1) + [1]
    advantages = generalized_advantages(
        column(seats, np.int8),  # type: ignore[arg-type]
        column(rewards),  # type: ignore[arg-type]
        column(values),  # type: ignore[arg-type]
        column(over, np.bool_),  # type: ignore[arg-type]
        num_seats,
        gae_lambda,
    )
    return [round(value, 5) for value in advantages[:, 0].tolist()]


def slow(
    seats: list[int],
    rewards: list[float],
    values: list[float],
    is_over: list[bool],
    num_seats: int,
    gae_lambda: float,
) -> list[float]:
    """Each seat of each deal by itself, by the definition: sums of lambda-weighted deltas."""
    advantages = [0.0] * len(seats)
    start = 0
    for end in (ply + 1 for ply, over in enumerate(is_over) if over):
        for seat in range(num_seats):
            sign = -1.0 if seat % 2 else 1.0
            own = [ply for ply in range(start, end) if seats[ply] == seat]
            deltas = []
            for index, ply in enumerate(own):
                is_last = index + 1 == len(own)
                until = end if is_last else own[index + 1]
                reward = sign * sum(rewards[ply:until])
                next_value = 0.0 if is_last else values[until]
                deltas.append(reward + next_value - values[ply])
            for index, ply in enumerate(own):
                advantages[ply] = sum(
                    gae_lambda**steps * delta for steps, delta in enumerate(deltas[index:])
                )
        start = end
    return advantages


def test_hand_worked_deal_in_which_a_winner_leads_again() -> None:
    # Tricks (0, 1), (0, 1), (1, 0): seat 0 wins the first and leads again, seat 1 wins the second.
    # Rewards, side 0's: +3, then -1, then -2. Values 0 and lambda 1: what is still to come.
    seats = [0, 1, 0, 1, 1, 0]
    rewards = [0.0, 3.0, 0.0, -1.0, 0.0, -2.0]
    advantages = one_table(seats, rewards, [0.0] * 6, 1.0)
    assert advantages == [0.0, 0.0, -3.0, 3.0, 2.0, -2.0]


def test_hand_worked_deltas() -> None:
    # Lambda 0: reward until the seat's own next decision + its next value - its value.
    seats = [0, 1, 0, 1, 1, 0]
    rewards = [0.0, 3.0, 0.0, -1.0, 0.0, -2.0]
    values = [1.0, 10.0, 2.0, 20.0, 30.0, 3.0]
    assert one_table(seats, rewards, values, 0.0) == [
        3 + 2 - 1,  # seat 0: won 3, now values 2
        -3 + 20 - 10,  # seat 1: lost them
        -1 + 3 - 2,
        1 + 30 - 20,  # wins the second trick and leads at once: its next decision is the next ply
        2 + 0 - 30,  # the deal ends before it decides again
        -2 + 0 - 3,
    ]


def test_hand_worked_lambda() -> None:
    seats = [0, 1, 0, 1]
    rewards = [0.0, 1.0, 0.0, 2.0]
    values = [0.5, 0.0, 1.0, 0.0]
    # Seat 0: delta 1 + 1 - 0.5 = 1.5, then 2 - 1 = 1. Seat 1: -1 + 0, then -2.
    assert one_table(seats, rewards, values, 0.5) == [1.5 + 0.5 * 1, -1 + 0.5 * -2, 1, -2]


def test_partners_share_a_sign_and_opponents_flip_it() -> None:
    seats = [2, 3, 0, 1]
    advantages = one_table(seats, [0.0, 0.0, 0.0, 5.0], [0.0] * 4, 0.95, num_seats=4)
    assert advantages == [5.0, -5.0, 5.0, -5.0]


def test_nothing_crosses_the_end_of_a_deal() -> None:
    seats, rewards, values = [0, 1, 1, 0], [0.0, 1.0, 0.0, 7.0], [2.0, 3.0, 5.0, 11.0]
    advantages = one_table(seats, rewards, values, 1.0, is_over=[0, 1, 0, 1])
    assert advantages == [1 - 2, -1 - 3, -7 - 5, 7 - 11]


@pytest.mark.parametrize(
    "name", ["playmore", "gamelake", "gamelake_partners", "mini_2x4", "mini_2x5_stock_empty"]
)
@pytest.mark.parametrize("gae_lambda", [0.0, 0.95, 1.0])
def test_equals_a_slow_second_implementation_on_real_deals(name: str, gae_lambda: float) -> None:
    rules = get_rules(name)
    rng = np.random.default_rng(3)
    num_plies, num_tables = 2 * rules.deck_size, 5
    table = BatchTable(num_tables, rules, seed=4)
    shape = (num_plies, num_tables)
    seats, is_over = np.zeros(shape, np.int8), np.zeros(shape, np.bool_)
    rewards = rng.normal(size=shape).astype(np.float32)
    values = rng.normal(size=shape).astype(np.float32)
    for ply in range(num_plies):
        seats[ply] = table.seats
        cards = [rng.choice(np.flatnonzero(mask)) for mask in table.legal_masks]
        is_over[ply] = table.play(np.array(cards)).is_over
    fast = generalized_advantages(seats, rewards, values, is_over, rules.seats, gae_lambda)
    for one in range(num_tables):
        columns = (array[:, one].tolist() for array in (seats, rewards, values, is_over))
        expected = slow(*columns, rules.seats, gae_lambda)  # type: ignore[arg-type]
        np.testing.assert_allclose(fast[:, one], expected, atol=1e-5)


def test_without_values_and_with_lambda_1_opposite_seats_mirror_each_other() -> None:
    rng = np.random.default_rng(0)
    seats = np.tile(np.array([[0], [1]], np.int8), (4, 1))
    rewards = np.zeros((8, 1), np.float32)
    rewards[1::2, 0] = rng.normal(size=4)
    is_over = np.zeros((8, 1), np.bool_)
    is_over[-1] = True
    found = generalized_advantages(seats, rewards, np.zeros_like(rewards), is_over, 2, 1.0)
    np.testing.assert_allclose(found[0::2], -found[1::2], atol=1e-6)
