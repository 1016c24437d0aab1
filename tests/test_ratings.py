"""Ratings from margins: cases worked by hand, a simulation, and what they warn of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

from tressette_env.errors import OptionError
from tressette_train.intervals import Interval, mean_interval
from tressette_train.ratings import Pairing, Ratings, chi_square_tail, find_cycles, rate


def known(agent: str, opponent: str, mean: float, half: float = 1.96) -> Pairing:
    """A pairing of which only the interval is known; by default with a standard error of 1."""
    return Pairing(agent, opponent, Interval(mean, mean - half, mean + half))


def dealt(agent: str, opponent: str, by_deal: Any) -> Pairing:
    values = np.asarray(by_deal, np.float64)
    return Pairing(agent, opponent, mean_interval(values), values)


def by_name(ratings: Ratings) -> dict[str, float]:
    return {one.agent: one.thirds.mean for one in ratings.ratings}


# ----------------------------------------------------------------------------- by hand


def test_two_agents_are_as_far_apart_as_their_margin() -> None:
    found = rate([known("greedy", "random", 10.0)])
    assert [one.agent for one in found.ratings] == ["greedy", "random"]
    assert by_name(found) == pytest.approx({"greedy": 10.0, "random": 0.0})
    strongest = found.ratings[0].thirds
    assert strongest.ends == pytest.approx([8.04, 11.96], abs=1e-3)
    assert found.ratings[1].thirds.ends == [0.0, 0.0]
    assert (found.anchor, found.fit.degrees, found.warnings) == ("random", 0, [])


def test_without_the_anchor_the_mean_is_zero() -> None:
    found = rate([known("a", "b", 10.0)])
    assert found.anchor is None
    assert by_name(found) == pytest.approx({"a": 5.0, "b": -5.0})
    assert found.ratings[0].thirds.ends == pytest.approx([4.02, 5.98], abs=1e-3)
    assert by_name(rate([known("a", "b", 10.0)], anchor="a")) == pytest.approx({"a": 0, "b": -10})


def test_three_margins_that_add_up() -> None:
    found = rate([known("a", "b", 3), known("b", "random", 4), known("a", "random", 7)])
    assert by_name(found) == pytest.approx({"a": 7, "b": 4, "random": 0})
    assert found.fit.chi_square == pytest.approx(0)
    assert (found.fit.degrees, found.warnings) == (1, [])
    # Two ways lead from a to random: alone (variance 1), and through b (variance 2): 2/3 together.
    half = 1.96 * math.sqrt(2 / 3)
    assert found.ratings[0].thirds.ends == pytest.approx([7 - half, 7 + half], abs=1e-3)


def test_three_margins_that_do_not_add_up() -> None:
    found = rate([known("a", "b", 3), known("b", "random", 4), known("a", "random", 13)])
    # 6 thirds too many on the way round: each pairing gives 2.
    assert by_name(found) == pytest.approx({"a": 11, "b": 6, "random": 0})
    assert found.fit.chi_square == pytest.approx(6**2 / 3, rel=1e-3)
    assert abs(found.fit.worst_thirds) == pytest.approx(2)
    assert found.fit.p_value == pytest.approx(scipy.stats.chi2.sf(12, 1), rel=1e-2)
    (warning,) = found.warnings
    assert "margins do not add up" in warning


def test_a_margin_counts_by_its_variance() -> None:
    pairings = [known("a", "random", 4), known("a", "random", 10, half=1.96 * 2)]
    found = rate(pairings)
    assert by_name(found)["a"] == pytest.approx((4 * 1 + 10 / 4) / (1 + 1 / 4))
    variance = 1 / (1 + 1 / 4)
    assert found.ratings[0].thirds.high == pytest.approx(5.2 + 1.96 * math.sqrt(variance), abs=1e-3)


def test_naming_a_pair_the_other_way_round_changes_nothing() -> None:
    one_way = rate([known("a", "b", 3), known("b", "c", 4), known("a", "c", 5)])
    other_way = rate([known("b", "a", -3), known("b", "c", 4), known("c", "a", -5)])
    assert by_name(one_way) == pytest.approx(by_name(other_way))
    assert one_way.fit.chi_square == pytest.approx(other_way.fit.chi_square)


def test_equal_agents_have_a_finite_weight() -> None:
    found = rate([known("a", "b", 0, half=0), known("a", "c", 2), known("b", "c", 2)])
    assert by_name(found)["a"] == pytest.approx(by_name(found)["b"])
    dice = np.random.default_rng(0)
    over_c = dice.normal(3, 10, 100)
    same = rate([dealt("a", "b", np.zeros(100)), dealt("a", "c", over_c), dealt("b", "c", over_c)])
    assert by_name(same)["a"] - by_name(same)["c"] == pytest.approx(over_c.mean())
    assert same.warnings == []


def test_an_agent_against_itself_is_left_out() -> None:
    found = rate([known("a", "a", 0, half=0), known("a", "random", 2)])
    assert by_name(found) == pytest.approx({"a": 2, "random": 0})


# ----------------------------------------------------------------------------- warnings


def test_a_cycle_is_told() -> None:
    pairings = [known("rock", "scissors", 5), known("scissors", "paper", 5)]
    pairings += [known("rock", "paper", -5), known("rock", "random", 9)]
    found = rate(pairings)
    assert found.cycles == (("paper", "rock", "scissors"),)
    assert any("paper beats rock beats scissors beats paper" in text for text in found.warnings)


def test_a_cycle_needs_whole_intervals_above_zero() -> None:
    unsure = known("rock", "paper", -1.9)
    assert find_cycles([known("rock", "scissors", 5), known("scissors", "paper", 5), unsure]) == ()


def test_of_a_long_cycle_with_a_short_cut_the_shorter_ones_are_told() -> None:
    ring = [known(a, b, 5) for a, b in zip("abcd", "bcda", strict=True)]
    assert find_cycles(ring) == (("a", "b", "c", "d"),)
    assert find_cycles([*ring, known("c", "a", 5)]) == (("a", "b", "c"), ("a", "b", "c", "d"))


@pytest.mark.parametrize(
    ("pairings", "message"),
    [
        ([], "expected a pairing of two different agents, got none"),
        ([known("a", "a", 0)], "expected a pairing of two different agents"),
        ([known("a", "b", 1), known("c", "d", 1)], "between 'a' and 'c'; let them play"),
    ],
)
def test_what_cannot_be_rated(pairings: list[Pairing], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        rate(pairings)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 30, 171])
@pytest.mark.parametrize("value", [0.0, 0.3, 2.0, 11.0, 80.0, 400.0])
def test_the_chi_square_tail(value: float, degrees: int) -> None:
    expected = scipy.stats.chi2.sf(value, degrees)
    assert chi_square_tail(value, degrees) == pytest.approx(expected, rel=1e-9, abs=1e-300)


# ----------------------------------------------------------------------------- simulation

SKILL = {"random": 0.0, "a": 4.0, "b": 6.0, "c": 6.5}


def simulated(seed: int, deals: int = 120, few: int = 40, bend: float = 0.0) -> list[Pairing]:
    """All pairings on the same deals; the luck of a deal falls on all pairings of an agent alike.

    Pairings of ``c`` have fewer deals; ``bend`` is what ``c`` has over ``random`` beyond its skill.
    """
    dice = np.random.default_rng(seed)
    luck = {name: dice.normal(0, 6, deals) for name in SKILL}
    names = list(SKILL)
    pairings = []
    for place, agent in enumerate(names):
        for opponent in names[:place]:
            margins = SKILL[agent] - SKILL[opponent] + luck[agent] - luck[opponent]
            margins += dice.normal(0, 4, deals) + bend * ((agent, opponent) == ("c", "random"))
            pairings.append(dealt(agent, opponent, margins[: few if agent == "c" else deals]))
    return pairings


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    held = dict.fromkeys(SKILL, 0)
    rejected = 0
    runs = 200
    for seed in range(runs):
        found = rate(simulated(seed), seed=seed)
        assert found.shared_deals
        rejected += found.fit.p_value < 0.05
        for one in found.ratings:
            held[one.agent] += one.thirds.low <= SKILL[one.agent] <= one.thirds.high
    # Of 200 intervals, 190 on average; 180 or fewer in one of 600 runs, fewer still with 40 deals.
    assert held.pop("random") == runs
    assert min(held.values()) > 178
    assert max(held.values()) < 200
    assert rejected < 22  # 10 on average


def test_shared_luck_widens_what_independent_pairings_would_say() -> None:
    pairings = simulated(5)
    alone = [Pairing(one.agent, one.opponent, one.margin) for one in pairings]
    widths = [
        {one.agent: one.thirds.high - one.thirds.low for one in rate(some).ratings}
        for some in (pairings, alone)
    ]
    assert widths[0]["a"] > 1.2 * widths[1]["a"]


def test_a_bent_margin_is_noticed() -> None:
    found = rate(simulated(1, deals=1000, few=1000, bend=3.0))
    assert found.fit.p_value < 1e-6
    assert found.fit.worst == ("c", "random")
    assert found.fit.worst_thirds > 0


def test_the_same_seed_gives_the_same_intervals() -> None:
    pairings = simulated(3)
    assert rate(pairings, seed=1) == rate(pairings, seed=1)
    assert rate(pairings, seed=1) != rate(pairings, seed=2)
    assert rate(pairings, seed=1).to_json()["shared_deals"] is True
