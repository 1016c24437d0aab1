"""The policies that come with the kit: whole, small, described, and each the house's own."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tressette_agents import make_agent
from tressette_agents.champions import champion_files
from tressette_agents.policy_file import load_policy
from tressette_env import BatchTable, get_rules
from tressette_env.errors import RulesError
from tressette_env.rulesets import PRESETS
from tressette_train.config_file import read_config
from tressette_train.evaluate import evaluate

PAGE = (Path(__file__).parents[1] / "docs" / "champions.md").read_text(encoding="utf-8")
HOUSES = sorted(champion_files())


def test_every_house_that_was_asked_for_has_one() -> None:
    assert {"playmore", "gamelake", "gamelake_partners"} == set(HOUSES)


@pytest.mark.parametrize("house", HOUSES)
def test_a_champion_is_small_and_was_trained_for_its_house(house: str) -> None:
    file = champion_files()[house]
    policy = load_policy(file)
    assert file.stat().st_size < 4_000_000
    assert policy.rules == get_rules(house)
    assert policy.training["config"]["rules"] == house
    assert policy.training["decisions"] >= policy.training["config"]["decisions"]


@pytest.mark.parametrize("house", HOUSES)
def test_its_card_names_the_config_it_was_trained_with(house: str) -> None:
    section = PAGE.partition(f"\n## {house}\n")[2].partition("\n## ")[0]
    name, settings = re.findall(
        r"tressette train (configs/\w+\.yaml)(.*?)(?: --name \S+)?\n", section
    )[0]
    given = re.findall(r"--set (\S+)", settings)
    described = read_config(Path(__file__).parents[1] / name, given).model_dump(mode="json")
    trained = dict(load_policy(champion_files()[house]).training["config"])
    for one in (described, trained):  # how it was measured and kept changes no weight
        for key in ("evaluation", "benchmark", "checkpoint", "torch_threads"):
            one.pop(key, None)
    for key, value in trained.items():
        if not isinstance(value, dict):
            assert described[key] == value, key
            continue
        for inner, setting in value.items():
            assert described[key][inner] == setting, f"{key}.{inner}"


@pytest.mark.parametrize("house", HOUSES)
def test_learned_champion_plays_the_houses_own_policy(house: str) -> None:
    table = BatchTable(50, house, 3)
    champion, own = make_agent("learned:champion"), make_agent(f"learned:{champion_files()[house]}")
    for _ply in range(12):
        views, seeds = table.views(), np.arange(50)
        cards = champion.act_batch(views, table.rules, seeds)
        np.testing.assert_array_equal(cards, own.act_batch(views, table.rules, seeds))
        table.play(cards)


def test_one_champion_plays_every_house_in_turn() -> None:
    champion = make_agent("learned:champion")
    for house in (*HOUSES, *HOUSES):
        table = BatchTable(3, house, 0)
        champion.check_rules(table.rules)
        table.play(champion.act_batch(table.views(), table.rules, np.arange(3)))


def test_a_house_without_one_is_refused_with_the_way_to_train_it() -> None:
    with pytest.raises(RulesError, match=r"champions come for .*--set rules=mini_2x4"):
        make_agent("learned:champion").check_rules(PRESETS["mini_2x4"])


def test_names_of_rules_do_not_matter_to_a_champion() -> None:
    champion = make_agent("learned:champion")
    champion.check_rules(PRESETS["playmore"].replace(name="mine"))
    with pytest.raises(RulesError):
        champion.check_rules(PRESETS["mini_2x4"].replace(name="mine"))


def test_a_sampling_champion_says_its_probabilities() -> None:
    champion, table = make_agent("learned:champion,sample=true"), BatchTable(20, "gamelake", 1)
    chances = champion.probabilities(table.views(), table.rules)
    assert chances is not None and not champion.ignores_seed
    np.testing.assert_allclose(chances.sum(1), 1)
    assert (chances > 0).sum(1).max() > 1


@pytest.mark.parametrize("house", HOUSES)
def test_a_champion_beats_counting(house: str) -> None:
    opponent = "counting" if get_rules(house).seats == 4 else "counting+endings"
    (result,) = evaluate(["learned:champion", opponent], house, 150, 7)
    assert result.margin_thirds.low > 0
