"""``tressette eval --ladder``: the matrix, the verdicts, and the page."""

from __future__ import annotations

import errno
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tressette_env.errors import OptionError, RulesError
from tressette_env.policies import make_agent
from tressette_env.rulesets import PRESETS, get_rules, playable_presets
from tressette_train import cli, evaluate_command, output_file
from tressette_train import evaluate as evaluation
from tressette_train.cli import app
from tressette_train.evaluate import PairingResult, evaluate
from tressette_train.ladder import (
    HOUSES,
    RUNGS,
    cards_to_climb,
    climb,
    is_slow,
    ladder_page,
    steps,
)

PAGE = Path(__file__).parents[1] / "docs" / "ladder.md"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["tressette", "eval", "--ladder", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def stop_after(pairings: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Ctrl-C pressed once so many pairings have been played."""
    played: list[None] = []

    def play(*given: Any, **options: Any) -> Any:
        if len(played) == pairings:
            raise KeyboardInterrupt
        played.append(None)
        return play_pairing(*given, **options)

    play_pairing = evaluation.play_pairing
    monkeypatch.setattr(evaluation, "play_pairing", play)


def test_every_rung_meets_every_lower_one() -> None:
    ladder = climb(["random", "greedy", "counting"], "playmore", 30, 2)
    pairs = [(result.agent, result.opponent) for result in ladder.results]
    assert pairs == [("counting", "greedy"), ("counting", "random"), ("greedy", "random")]
    (again,) = evaluate(["counting", "random"], "playmore", 30, 2)
    assert ladder.between("counting", "random").margin_thirds == again.margin_thirds
    with pytest.raises(KeyError):
        ladder.between("random", "greedy")


def test_a_rung_that_is_not_stronger_is_named() -> None:
    ladder = climb(["random", "counting", "greedy"], "playmore", 40, 2)
    assert [step.holds for step in steps(ladder)] == [True, False]
    page = ladder_page([ladder], "tressette eval --ladder", 3.0)
    assert "**Not shown to be stronger**: `greedy` than `counting`, -" in page
    fine = ladder_page([climb(["random", "greedy"], "playmore", 40, 2)], "command", 3.0)
    assert "Not shown" not in fine
    assert "Every rung beats the one below it" in fine


def test_page_and_json(tmp_path: Path) -> None:
    page = tmp_path / "ladder.md"
    arguments = ["eval", "random", "greedy", "--ladder", "--rules", "playmore,gamelake"]
    arguments += ["--deals", "20", "--seed", "7"]
    done = CliRunner().invoke(app, [*arguments, "--write", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    assert text == done.output
    command = "tressette eval random greedy --ladder --rules playmore,gamelake --deals 20 --seed 7"
    assert command in text.splitlines()
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## playmore",
        "## gamelake",
    ]
    margins = re.findall(r"\| `greedy` \| ([+-]\d+\.\d\d) \(", text)
    results = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).output)["results"]
    assert margins == [f"{result['margin_thirds']:+.2f}" for result in results]


def test_pairings_with_a_slow_rung_may_have_fewer_deals(tmp_path: Path) -> None:
    rungs = ["random", "greedy", "pimc:worlds=1"]
    ladder = climb(rungs, "mini_2x5", 40, 2, slow_deals=10)
    deals = {(result.agent, result.opponent): result.deals for result in ladder.results}
    assert deals == {(rungs[2], "greedy"): 10, (rungs[2], "random"): 10, ("greedy", "random"): 40}
    assert cards_to_climb(rungs, get_rules("mini_2x5"), 40, 10) == 60 * 2 * 10
    (alone,) = evaluate([rungs[2], "greedy"], "mini_2x5", 10, 2)
    assert ladder.between(rungs[2], "greedy").margin_thirds == alone.margin_thirds
    arguments = ["eval", *rungs, "--ladder", "--rules", "mini_2x5", "--deals", "40"]
    done = CliRunner().invoke(app, [*arguments, "--slow-deals", "10", "--seed", "2"])
    assert done.exit_code == 0, done.output
    assert f"tressette {' '.join(arguments)} --slow-deals 10 --seed 2" in done.output.splitlines()
    words = "with 40 deals (10 in rows and columns of `pimc`) of seed 2 for each cell"
    assert words in done.output
    for rungs in RUNGS.values():
        assert [spec for spec in rungs if is_slow(spec)] == ["pimc:worlds=32"]
    assert is_slow("pimc+endings") and is_slow("pimc") and not is_slow("random+endings")


def test_what_was_finished_is_printed_when_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "ladder.md"
    page.write_text("another page")
    arguments = ["random", "greedy", "counting", "--rules", "playmore,gamelake", "--deals", "10"]
    for stopped_at, options in ((2, ["--write", str(page)]), (4, ["--json"]), (0, [])):
        with monkeypatch.context() as patched:
            stop_after(stopped_at, patched)
            assert run(patched, *arguments, *options) == 130
        printed = capsys.readouterr()
        assert printed.err == "tressette: stopped\n"
        if stopped_at == 2:
            lines = printed.out.splitlines()
            assert any(re.match(r"\| `counting` \| \+.*\) \| \+.*\) \|$", line) for line in lines)
            assert "| `greedy` |  |  |" in lines
            assert "**Not finished**: 2 of 3 pairings were played." in lines
            assert "**Not finished**: 0 of 3 pairings were played." in lines
            assert "Every rung" not in printed.out
        elif stopped_at == 4:
            results = json.loads(printed.out)["results"]
            assert [result["rules"] for result in results] == ["playmore"] * 3 + ["gamelake"]
        else:
            assert printed.out == ""
    assert page.read_text() == "another page"


def test_a_page_that_cannot_be_written_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(output_file, "write_whole", full)
    page = tmp_path / "ladder.md"
    arguments = ["random", "greedy", "--rules", "mini_2x4", "--deals", "10", "--write", str(page)]
    assert run(monkeypatch, *arguments) == 2
    printed = capsys.readouterr()
    assert "| `greedy` | +0.50 (" in printed.out
    assert printed.err == (
        f"tressette: --write: {page} cannot be written (No space left on device); the results are "
        "on standard output\n"
    )


def test_the_default_rungs_are_those_for_the_seats_of_the_house(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    climbed = {}

    def record(rungs: Any, house: Any, deals: int, seed: int, **options: Any) -> None:
        climbed[house.name] = tuple(agent.spec for agent in rungs)
        climb(["random", "greedy"], house, deals, seed, on_result=options["on_result"])

    monkeypatch.setattr(evaluate_command, "climb", record)
    houses = ["playmore", "gamelake_partners"]
    assert run(monkeypatch, "--rules", ", ".join(houses), "--deals", "2") == 0
    assert climbed == {"playmore": RUNGS[2], "gamelake_partners": RUNGS[4]}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--write", "."], "cannot be written (it is no file)"),
        (["--write", "no/folder/page.md"], "cannot be written (No such file or directory)"),
        (["--write", "x" * 250], "cannot be written (File name too long)"),
        (["--write", "/dev/null"], "cannot be written (it is no file)"),
        (["--rules", "playmore,playmore"], "each once, got 'playmore,playmore'"),
        (["--rules", ""], "--rules: expected presets like A,B, each once, got ''"),
        (["--rules", "playmore,"], "--rules: expected presets like A,B"),
        (["--rules", "playmor"], "did you mean 'playmore'"),
        (["--rules", "playmore,gamelake_partners", "greedy", "greedy+endings"], "does not play"),
        (["--slow-deals", "0"], "--slow-deals: expected an integer from 2 up, got 0"),
        (["--slow-deals", "1", "random", "pimc"], "--slow-deals: expected an integer from 2 up"),
        (["--slow-deals", "9", "random", "greedy"], "--slow-deals goes with pimc"),
        (["--deals", "1", "--slow-deals", "9"], "--deals: expected an integer from 2 up, got 1"),
        (["--seed", "-1"], "seed"),
        (["random", "clairvoyant"], "'clairvoyant' cheats"),
        (["random", "gredy"], "did you mean 'greedy'"),
        (["pimc", "pimc:worlds=32"], "at least two different agents"),
        (["random"], "at least two different agents"),
    ],
)
def test_a_mistake_is_told_in_one_line_before_a_card_is_played(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def played(*_: object, **__: object) -> None:
        raise AssertionError("a pairing was played")

    monkeypatch.setattr(evaluation, "play_pairing", played)
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, *arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err and printed.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_climb_checks_its_arguments_before_a_card_is_played() -> None:
    played: list[PairingResult] = []
    with pytest.raises(OptionError, match="at least two different agents"):
        climb(["greedy", "greedy"], "playmore", 10, 0)
    with pytest.raises(RulesError, match="does not play 'gamelake_partners'"):
        climb(["greedy", "greedy+endings"], "gamelake_partners", 10, 0)
    rungs = ["pimc", "random", "greedy"]  # random and greedy would be played first
    with pytest.raises(OptionError, match="slow_deals: expected an integer from 2 up, got 1"):
        climb(rungs, "mini_2x4", 10, 0, slow_deals=1, on_result=played.append)
    with pytest.raises(OptionError, match="deals: expected an integer from 2 up, got 1"):
        climb(rungs[::-1], "mini_2x4", 1, 0, slow_deals=10, on_result=played.append)
    assert played == []


def test_the_kits_ladder_can_be_climbed_in_every_house() -> None:
    for house in map(PRESETS.get, playable_presets()):
        assert house is not None
        for spec in RUNGS[house.seats]:
            agent = make_agent(spec)
            assert agent.spec == spec
            agent.check_rules(house)


def test_the_page_is_of_the_kits_ladder_with_enough_deals() -> None:
    text = PAGE.read_text(encoding="utf-8")
    deals, slow = re.search(r"\nwith (\d+) deals (?:\((\d+) in rows[^)]*\) )?of", text).groups()  # type: ignore[union-attr]
    assert int(deals) >= 1000
    assert f" --deals {deals} " in text
    assert slow is None or f" --slow-deals {slow} " in text
    houses = re.split(r"\n## (\w+)\n", text)[1:]
    assert tuple(houses[::2]) == HOUSES
    for house, section in zip(houses[::2], houses[1::2], strict=True):
        rungs = RUNGS[get_rules(house).seats]
        header, _, *rows = [line for line in section.splitlines() if line.startswith("|")]
        assert tuple(re.findall("`(.*?)`", header)) == rungs[:-1]
        assert tuple(re.findall("`(.*?)`", " ".join(rows))) == rungs[1:]
        assert " ".join(rows).count(" to ") == len(rungs) * (len(rungs) - 1) // 2
