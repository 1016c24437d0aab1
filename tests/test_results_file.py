"""``tressette eval --out``: a file with every deal, whole or not there, and read with care."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tressette_env.rulesets import get_rules
from tressette_train import cli, evaluate_command
from tressette_train.deal_sets import DEAL_SETS, DealSetError, deals_hash, get_deal_set
from tressette_train.evaluate import evaluate
from tressette_train.results_file import ResultsFileError, read_results, to_bytes

RULES = "mini_2x5"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["tressette", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "results.json"
    path.write_bytes(to_bytes(evaluate(["greedy", "random", "counting"], RULES, 6, 3), "command"))
    return path


def test_what_was_written_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["eval", "greedy", "random", "greedy", "--rules", RULES, "--deals", "70"]
    command += ["--seed", "3"]
    assert run(monkeypatch, *command, "--json") == 0
    alone = capsys.readouterr().out
    assert run(monkeypatch, *command, "--json", "--out", "results.json") == 0
    assert capsys.readouterr().out == alone
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
    content = json.loads(Path("results.json").read_text())
    assert (content["format"], content["format_version"]) == ("tressette-results", 1)
    assert content["command"] == " ".join(["tressette", *command])
    for pairing in content["pairings"]:
        assert len(pairing["margins_thirds"]) == len(pairing["leads"]) == 70
    found = read_results("results.json")
    assert (found.rules.name, found.deal_set, found.seed, found.deals) == (RULES, None, 3, 70)
    assert found.agents == ("greedy", "random", "greedy")
    assert set(found.head) == {"versions", "machine", "command", "date"}
    results = evaluate(found.agents, RULES, 70, 3)
    assert json.loads(alone)["results"] == [result.to_json() for result in results]
    for result in (results[0], results[1]):
        pair = result.agent, result.opponent
        assert found.figures[pair] == json.loads(json.dumps(result.to_json()))
        for name in ("margins_thirds", "margins_house", "leads", "stock_thirds"):
            assert (getattr(found.paired[pair], name) == getattr(result.paired, name)).all()


def test_a_file_that_does_not_say_how_deals_stood_without_stock_can_be_read(
    tmp_path: Path,
) -> None:
    content = json.loads(to_bytes(evaluate(["greedy", "random"], RULES, 6, 3), "command"))
    del content["pairings"][0]["stock_thirds"]
    (tmp_path / "older.json").write_text(json.dumps(content))
    assert read_results(tmp_path / "older.json").paired["greedy", "random"].stock_thirds is None


def test_a_file_that_cannot_be_written_is_refused_before_a_card_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(evaluate_command, "evaluate", None)
    assert run(monkeypatch, "eval", "greedy", "random", "--out", str(tmp_path / "no" / "x")) == 2
    assert "--out: " in capsys.readouterr().err


def test_an_evaluation_that_is_stopped_leaves_the_file_alone(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = file.read_bytes()

    def stopped(*given: Any, **options: Any) -> Any:
        evaluate(*given, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate_command, "evaluate", stopped)
    arguments = ["eval", "greedy", "random", "--rules", RULES, "--deals", "4"]
    assert run(monkeypatch, *arguments, "--out", str(file)) == 130
    assert file.read_bytes() == before
    assert "4 deals of seed 0" in capsys.readouterr().out


def _pairing(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda content: change(content["pairings"][1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.update(format="x"), "format: expected 'tressette-results', got 'x'"),
        (lambda c: c.update(format_version=2), "format version 2, this version of tressette reads"),
        (lambda c: c.pop("seed"), "seed: expected an integer, got None"),
        (lambda c: c.update(seed=True), "seed: expected an integer, got True"),
        (lambda c: c.update(seed=-1), "seed"),
        (lambda c: c.update(deal_set=3), "deal_set: expected a text or null, got 3"),
        (lambda c: c.update(rules="playmor"), "did you mean 'playmore'"),
        (lambda c: c.update(deals=7), "pairings[0].deals: expected 7, got 6"),
        (lambda c: c.update(deals=1), "deals: expected an integer from 2 up"),
        (lambda c: c["agents"].pop(), "pairings: expected a list of 1 for 2 agents, got 3"),
        (lambda c: c.update(agents=["greedy", 2]), "agents: expected at least two texts"),
        (lambda c: c.update(pairings=None), "pairings: expected a list of 3 for 3 agents"),
        (lambda c: c["pairings"].reverse(), "pairings[0].agent: expected 'greedy', got 'random'"),
        (lambda c: c["pairings"].__setitem__(1, 5), "pairings[1]: expected an object, got 5"),
        (_pairing(lambda p: p.pop("leads")), "pairings[1].leads: expected 6 rows, one for each"),
        (_pairing(lambda p: p["leads"].pop()), "expected 6 rows, one for each deal, got 5 of"),
        (
            _pairing(lambda p: p["leads"].__setitem__(2, [True, True])),
            "pairings[1].leads[2]: expected one true, the other false, got [True, True]",
        ),
        (
            _pairing(lambda p: p["margins_thirds"].__setitem__(3, [1])),
            "pairings[1].margins_thirds[3]: expected two integers from -",
        ),
        (_pairing(lambda p: p["margins_thirds"].__setitem__(0, [1.0, 1])), "got [1.0, 1]"),
        (_pairing(lambda p: p["margins_house"].__setitem__(0, [True, 1])), "got [True, 1]"),
        (_pairing(lambda p: p["margins_house"].__setitem__(0, [10**400, 1])), "two integers"),
        (_pairing(lambda p: p["margins_thirds"].__setitem__(5, [2, 2])), "margins_thirds[5]:"),
        (_pairing(lambda p: p.update(margin_thirds=0.3)), "pairings[1].margin_thirds: expected"),
    ],
)
def test_a_file_that_does_not_agree_with_itself_is_refused(
    change: Callable[[dict[str, Any]], object], words: str, file: Path
) -> None:
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    with pytest.raises(ResultsFileError) as caught:
        read_results(file)
    message = str(caught.value)
    assert words in message and str(file) in message and "\n" not in message
    assert "tressette eval" in message or "this version of tressette" in message


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "line 1, column 1: not a whole file of results"),
        (b"[1, 2]", "format: expected 'tressette-results', got [1, 2]"),
        (b"\xff\xfe", "not a file of results"),
        (b"[" * 100_000, "not a file of results"),
    ],
)
def test_what_is_no_results_file_is_refused(data: bytes, words: str, file: Path) -> None:
    file.write_bytes(data)
    with pytest.raises(ResultsFileError) as caught:
        read_results(file)
    assert words in str(caught.value)


def test_a_part_of_a_file_is_refused_and_a_missing_one(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    for length in range(0, len(whole) - 3, 97):
        file.write_bytes(whole[:length])
        with pytest.raises(ResultsFileError, match=r"results\.json, line \d+, column \d+: not a w"):
            read_results(file)
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(ResultsFileError, match="cannot be read"):
            read_results(path)


# ----------------------------------------------------------------------------- fixed deals


def test_the_deals_of_a_name_never_change() -> None:
    """These are published: a change needs another name."""
    assert {name: one.sha256[:16] for name, one in DEAL_SETS.items()} == {
        "playmore-2000-v1": "d4bbd260750628f9",
        "gamelake-2000-v1": "9d6fedde94de421a",
        "gamelake_partners-2000-v1": "aa3a5c11e8a04711",
        "cuperativa-2000-v1": "b167439b0d2c02ee",
    }
    for name, one in DEAL_SETS.items():
        assert get_deal_set(name) is one
        assert name == f"{one.rules}-{one.deals}-v1"
    assert len({one.seed for one in DEAL_SETS.values()}) == len(DEAL_SETS)


def test_other_cards_under_a_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    house = get_rules("playmore")
    assert deals_hash(house, 1, 3) != deals_hash(house, 2, 3) != deals_hash(house, 2, 4)
    monkeypatch.setattr("tressette_train.deal_sets.deals_hash", lambda *_: "0" * 64)
    with pytest.raises(DealSetError, match=r"expected deals with the SHA-256 d4bb.*deals others"):
        get_deal_set("playmore-2000-v1")


def test_a_deal_set_is_named_in_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, name = tmp_path / "results.json", "gamelake-2000-v1"
    arguments = ["eval", "greedy", "random", "--deal-set", name]
    assert run(monkeypatch, *arguments, "--json", "--out", str(path)) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["deal_set"] == name
    (result,) = evaluate(["greedy", "random"], "gamelake", 2000, DEAL_SETS[name].seed)
    assert content["results"] == [result.to_json()]
    found = read_results(path)
    assert (found.deal_set, found.rules.name, found.deals) == (name, "gamelake", 2000)
    assert found.head["command"] == "tressette eval greedy random --deal-set gamelake-2000-v1"
    assert run(monkeypatch, *arguments) == 0
    assert capsys.readouterr().out.startswith(f"deal set {name}\n")
