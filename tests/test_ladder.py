"""``tressette eval --ladder``: the matrix, the verdicts, and the page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tressette_env.errors import OptionError, RulesError
from tressette_env.policies import make_agent
from tressette_env.rulesets import get_rules
from tressette_train.cli import app
from tressette_train.evaluate import evaluate
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
    assert [spec for spec in RUNGS if is_slow(spec)] == ["pimc:worlds=32"]


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="at least two different agents"):
        climb(["greedy", "greedy"], "playmore", 10, 0)
    with pytest.raises(RulesError, match="does not play 'gamelake_partners'"):
        climb(["greedy", "greedy+endings"], "gamelake_partners", 10, 0)
    for arguments, words in (
        (["--rules", "playmor"], "did you mean 'playmore'"),
        (["--slow-deals", "1", "random", "pimc"], "deals: expected an integer from 2 up, got 1"),
        (["clairvoyant", "greedy"], "'clairvoyant' cheats"),
        (["--deals", "2", "random", "greedy", "--write", str(tmp_path)], "cannot be written"),
    ):
        done = CliRunner().invoke(app, ["eval", "--ladder", *arguments])
        assert done.exit_code
        assert words in str(done.exception)


def test_the_kits_ladder_can_be_climbed_and_its_page_is_of_it() -> None:
    for spec in RUNGS:
        assert make_agent(spec).spec == spec
        for house in HOUSES:
            make_agent(spec).check_rules(get_rules(house))
    text = PAGE.read_text(encoding="utf-8")
    for house in HOUSES:
        assert f"## {house}\n" in text
    for spec in RUNGS:
        assert f"`{spec}`" in text
