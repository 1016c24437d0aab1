"""Stopping when enough is known, and the intervals that stay honest then; the bootstrap."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tressette_env.errors import OptionError
from tressette_env.rulesets import PRESETS
from tressette_train import cli
from tressette_train.chunks import cut, looks
from tressette_train.evaluate import cards_to_play, evaluate
from tressette_train.intervals import (
    Interval,
    bootstrap_interval,
    mean_interval,
    mean_sequence,
)

AT_MOST = 5000


def always_cover(values: np.ndarray, truth: float) -> tuple[bool, bool]:
    """Whether the truth is in the sequence's interval, and in Student's, at every look."""
    seen = [values[:stop] for stop in looks(len(values))]
    covers = [
        all(interval.low <= truth <= interval.high for interval in map(make, seen))
        for make in (mean_sequence, mean_interval)
    ]
    return covers[0], covers[1]


@pytest.mark.parametrize("kind", ["normal", "margins", "skewed"])
def test_who_looks_again_and_again_is_right_19_times_in_20(kind: str) -> None:
    rng = np.random.default_rng(1)
    margins = evaluate(["random", "greedy"], "mini_2x5", 3000, 4)[0].paired.margins_thirds.mean(1)
    draws = {
        "normal": (lambda: rng.normal(2.0, 7.0, AT_MOST), 2.0),
        "margins": (lambda: rng.choice(margins, AT_MOST), margins.mean()),
        "skewed": (lambda: rng.exponential(3.0, AT_MOST), 3.0),
    }
    draw, truth = draws[kind]
    sequence, student = np.mean([always_cover(draw(), truth) for _ in range(400)], 0)
    assert sequence >= 0.95
    assert student < 0.88  # of nine looks one is wrong far more often than one in twenty


def test_the_interval_for_repeated_looks_is_the_formulas() -> None:
    values = np.random.default_rng(0).normal(size=500)
    r = (-2 * np.log(0.05) + np.log(-2 * np.log(0.05) + 1)) / 1000
    bound = 2 * (500 * r + 1) / (500**2 * r) * np.log(np.sqrt(500 * r + 1) / 0.05)
    found = mean_sequence(values)
    assert found.mean == pytest.approx(values.mean())
    assert found.half_width == pytest.approx(values.std(ddof=1) * np.sqrt(bound))
    ratios = [
        mean_sequence(values).half_width / mean_interval(values).half_width
        for values in (np.random.default_rng(0).normal(size=n) for n in (256, 1000, 100_000))
    ]
    assert all(1.5 < ratio < 1.9 for ratio in ratios)


def test_looks_come_half_as_many_deals_later_each_time() -> None:
    assert looks(2) == [2]
    assert looks(256) == [256]
    assert looks(2000) == [256, 384, 576, 896, 1344, 2000]
    assert [chunk.stop for chunk in cut(1, 0, 256, 64)] == [64, 128, 192, 256]
    assert [chunk.stop for chunk in cut(1, 256, 300, 64)] == [300]


def test_it_stops_when_every_pairing_is_known_well_enough() -> None:
    cards: list[int] = []
    agents = ["greedy", "random", "counting"]
    results = evaluate(agents, "mini_2x5", 20_000, 3, until=0.5, on_progress=cards.append)
    (deals,) = {result.deals for result in results}
    assert deals in looks(20_000) and 256 < deals < 20_000
    assert max(result.margin_thirds.half_width for result in results) <= 0.5
    assert sum(cards) == cards_to_play(3, PRESETS["mini_2x5"], deals)
    before = looks(20_000)[looks(20_000).index(deals) - 1]
    for result, fixed in zip(results, evaluate(agents, "mini_2x5", deals, 3), strict=True):
        assert (result.paired.margins_thirds == fixed.paired.margins_thirds).all()
        assert result.margin_thirds == mean_sequence(result.paired.margins_thirds.mean(1))
        assert result.margin_thirds.half_width > fixed.margin_thirds.half_width
        assert result.to_json()["interval"] == "confidence_sequence"
        assert result.to_json()["ci95_bootstrap"] is None
    pairs = [result.paired.margins_thirds.mean(1) for result in results]
    assert max(mean_sequence(pair[:before]).half_width for pair in pairs) > 0.5


def test_it_ends_at_the_most_deals_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["eval", "greedy", "random", "--rules", "mini_2x5", "--until"]
    for until, deals, words in (
        ("0.01", "300", "until ±0.01 thirds: not reached, ±"),
        ("1.5", "9000", "until ±1.5 thirds: reached, ±"),
    ):
        monkeypatch.setattr(sys, "argv", ["tressette", *arguments, until, "--deals", deals])
        with pytest.raises(SystemExit):
            cli.main()
        out = capsys.readouterr().out
        assert words in out and f"of at most {deals} deals" in out
    for wrong in (0, -1, float("nan"), float("inf"), "1"):
        with pytest.raises(OptionError, match="until: expected a number of thirds above 0"):
            evaluate(["greedy", "random"], until=wrong)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------- bootstrap, pairing


def test_the_bootstrap_agrees_with_students_where_values_are_about_normal() -> None:
    for seed in range(5):
        values = np.random.default_rng(seed).normal(3, 10, 1000)
        student, found = mean_interval(values), bootstrap_interval(values, seed)
        assert found.mean == student.mean
        assert found.half_width == pytest.approx(student.half_width, rel=0.06)
        assert found.low == pytest.approx(student.low, abs=0.08 * student.half_width)
        assert found == bootstrap_interval(values, seed) != bootstrap_interval(values, seed + 1)
    assert bootstrap_interval(np.ones(5)) == Interval(1, 1, 1)


def test_a_result_has_the_bootstraps_interval_and_the_gain_of_pairing() -> None:
    (result,) = evaluate(["greedy", "random"], "gamelake_partners", 1000, 1)
    content = result.to_json()
    assert content["ci95_bootstrap"] == pytest.approx(content["ci95"], abs=0.08)
    margins = result.paired.margins_thirds
    expected = margins.ravel().var(ddof=1) / 2 / margins.mean(1).var(ddof=1)
    assert content["pairing_gain"] == pytest.approx(expected)
    assert content["pairing_gain"] > 1.2
    (itself,) = evaluate(["greedy", "greedy"], "mini_2x4", 4, 1)
    assert itself.to_json()["pairing_gain"] is None
    assert itself.to_json()["ci95_bootstrap"] == [0, 0]
