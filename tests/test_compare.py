"""``tressette compare``: better or worse, deal by deal, and only on the same deals."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from tressette_env.errors import OptionError
from tressette_train import cli
from tressette_train.compare import choose_agents, compare
from tressette_train.evaluate import evaluate
from tressette_train.intervals import two_sided_p
from tressette_train.results_file import Results, read_results, to_bytes

RULES = "playmore"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["tressette", "compare", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


class Files:
    """Files of results, made when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(
        self, *agents: str, rules: str = RULES, deals: int = 60, seed: int = 1, **options: Any
    ) -> Path:
        name = "_".join([*agents, rules, str(deals), str(seed)]) + ".json"
        results = evaluate(agents, rules, deals, seed)
        (self.folder / name).write_bytes(to_bytes(results, "command", **options))
        return self.folder / name


@pytest.fixture
def made(tmp_path: Path) -> Files:
    return Files(tmp_path)


def results(path: Path, **changes: Any) -> Results:
    return dataclasses.replace(read_results(path), **changes)


def test_the_difference_is_that_of_the_pairs_deal_by_deal(made: Files) -> None:
    a, b = results(made("random", "counting")), results(made("greedy", "counting"))
    (found,) = compare(a, b, "random", "greedy")
    means_a = a.paired["random", "counting"].margins_thirds.mean(1)
    means_b = b.paired["greedy", "counting"].margins_thirds.mean(1)
    expected = scipy.stats.ttest_rel(means_b, means_a)
    interval = expected.confidence_interval(0.95)
    assert found.difference.mean == pytest.approx((means_b - means_a).mean())
    assert found.difference.ends == pytest.approx([interval.low, interval.high])
    assert found.p_value == pytest.approx(expected.pvalue)
    assert (found.margin_a, found.margin_b) == (means_a.mean(), means_b.mean())
    assert (found.opponent, found.verdict) == ("counting", "better")


def test_it_does_not_matter_who_was_named_first(made: Files) -> None:
    a, b = results(made("random", "counting")), results(made("greedy", "counting"))
    turned = results(made("counting", "greedy"))
    assert compare(a, turned, "random", "greedy") == compare(a, b, "random", "greedy")


def test_every_opponent_that_both_have_met_counts(made: Files) -> None:
    a = results(made("random", "counting", "random+endings", rules="gamelake", deals=4))
    b = results(made("greedy", "random+endings", "counting", rules="gamelake", deals=4))
    assert choose_agents(a, b, None, None) == ("random", "greedy")
    found = compare(a, b, "random", "greedy")
    assert [one.opponent for one in found] == ["counting", "random+endings"]
    # Of one file, too: whom both have met there.
    (one,) = compare(a, a, "random", "counting")
    assert one.opponent == "random+endings"


def test_whom_to_compare(made: Files) -> None:
    a, b = results(made("random", "counting")), results(made("greedy", "counting"))
    assert choose_agents(a, b, None, None) == ("random", "greedy")
    assert choose_agents(a, a, None, None) == ("random", "random")
    assert choose_agents(a, b, "counting", None) == ("counting", "counting")
    assert choose_agents(a, b, None, "counting") == ("random", "counting")
    assert choose_agents(a, b, "random", None) == ("random", "greedy")
    many = results(made("greedy", "counting", "greedy+endings", rules="gamelake", deals=2))
    with pytest.raises(
        OptionError, match=r"holds greedy, counting, greedy\+endings: say with --ag"
    ):
        choose_agents(a, many, None, None)
    with pytest.raises(OptionError, match=r"--agent: 'gredy' is not in .*; did you mean 'greedy'"):
        compare(b, b, "gredy", "greedy")
    with pytest.raises(OptionError, match="--agent-b: 'random' is not in"):
        compare(a, b, "random", "random")
    with pytest.raises(OptionError, match=r"an opponent that both random .* and counting"):
        compare(a, b, "random", "counting")


def test_an_agent_beside_itself_does_not_differ(
    made: Files, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made("greedy", "random")
    assert run(monkeypatch, path, path, "--json") == 0
    content = json.loads(capsys.readouterr().out)
    (one,) = content["comparisons"]
    assert (one["difference_thirds"], one["ci95"], one["p_value"]) == (0, [0, 0], 1)
    assert one["verdict"] == "not shown" and content["regression"] is False


def test_the_exit_code_tells_of_a_regression(
    made: Files, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    worse, better = made("random", "counting"), made("greedy", "counting")
    assert run(monkeypatch, worse, better) == 0
    assert "against counting: B is better" in capsys.readouterr().out
    assert run(monkeypatch, better, worse) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{RULES}: 60 deals of seed 1, each in both seatings"
    assert "against counting: B is WORSE" in lines
    assert "p < 0.001" in lines[-1]
    assert run(monkeypatch, better, worse, "--json") == 1
    content = json.loads(capsys.readouterr().out)
    assert content["regression"] is True
    assert (content["agent_a"], content["agent_b"]) == ("greedy", "random")


def test_other_deals_are_refused_with_what_differs(
    made: Files, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = made("greedy", "random")
    for other, words in (
        (made("greedy", "random", deals=59), "they differ in the number of deals (60 and 59);"),
        (made("greedy", "random", seed=2), "they differ in the seed (1 and 2);"),
        (
            made("greedy", "random", rules="mini_2x4", seed=2),
            "they differ in the house (playmore and mini_2x4), the seed (1 and 2);",
        ),
    ):
        assert run(monkeypatch, first, other) == 2
        printed = capsys.readouterr()
        assert printed.out == "" and printed.err.count("\n") == 1
        assert words in printed.err and "measure both with the same options" in printed.err
    one, another = results(first, deal_set="one"), results(first, deal_set="another")
    with pytest.raises(OptionError, match=r"differ in the deal set \(one and another\)"):
        compare(one, another, "greedy", "greedy")
    assert compare(one, results(first), "greedy", "greedy")


def test_other_cards_under_the_same_numbers_are_noticed(made: Files) -> None:
    a, b = results(made("greedy", "random")), results(made("greedy", "random"))
    b.paired["greedy", "random"].leads[7] ^= True
    with pytest.raises(OptionError, match="the first lead of deal 7 differs"):
        compare(a, b, "greedy", "greedy")


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 39, 199, 1999, 100_000])
def test_the_p_value_is_students(degrees: int) -> None:
    for t in (0.001, 0.1, 0.7, 1, 1.5, 1.96, 2.5, 4, 8, 20, -2):
        expected = 2 * scipy.stats.t.sf(abs(t), degrees)
        assert two_sided_p(3 * t, 3.0, degrees) == pytest.approx(expected, rel=1e-8, abs=1e-300)
    assert two_sided_p(0.0, 0.0, degrees) == two_sided_p(0.0, 1.0, degrees) == 1
    assert two_sided_p(1.0, 0.0, degrees) == 0


def test_equal_agents_are_called_worse_or_better_one_time_in_twenty() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2000, 50))
    means, errors = values.mean(1), values.std(1, ddof=1) / np.sqrt(50)
    found = [two_sided_p(mean, error, 49) < 0.05 for mean, error in zip(means, errors, strict=True)]
    assert 70 <= sum(found) <= 130  # binomial(2000, 0.05), within three standard deviations
