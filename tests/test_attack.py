"""``tressette attack``: a lower bound that is one, and a run from which nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tressette_agents.champions import champion_files
from tressette_agents.policy_file import load_policy
from tressette_env.deals import deck_of
from tressette_env.errors import ConfigError, TressetteError
from tressette_env.rulesets import get_rules
from tressette_train import attack, cli
from tressette_train.attack import Attack, attack_config
from tressette_train.config import TrainConfig
from tressette_train.display import TrainingDisplay
from tressette_train.evaluate import evaluate
from tressette_train.exploit.measure import exploit
from tressette_train.results_file import read_results
from tressette_train.rollout import ShardRollout
from tressette_train.run_folder import RunFolder
from tressette_train.trainer import Trainer

SETTINGS = attack._SETTINGS
MINI = ["--rules", "mini_2x4", "--deals", "200"]
SHORT = ["--decisions", "3000", *MINI]  # a few updates


@pytest.fixture(autouse=True)
def _small_and_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small = {
        "rollout": {"tables": 256},
        "network": {"kind": "mlp", "hidden": [32]},
        "critic": {"hidden": [32], "sees": "hands_and_stock"},
        "ppo": {"learning_rate": 1e-2, "epochs": 2, "minibatch": 256},
    }
    monkeypatch.setattr(attack, "_SETTINGS", small)


def test_the_settings_that_come_with_the_kit_can_be_trained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attack, "_SETTINGS", SETTINGS)
    for source in (None, "champion"):
        config = attack_config("greedy", minutes=1, start_from=source)
        assert (config.minutes, config.seed, config.benchmark.seed) == (1, 0, 1)
        network, critic = config.network, config.critic
        assert network.kind == ("mlp" if source is None else "suit_shared")
        assert critic.sees == "hands_and_stock"
        Trainer(config, RunFolder(Path("none")))
    fresh = attack_config("greedy", minutes=1).ppo.learning_rate
    assert config.ppo.learning_rate < fresh


def tressette(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["tressette", *arguments])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return int(caught.value.code or 0)


def attacked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> dict[str, Any]:
    """What --json printed, without what depends on the machine's speed."""
    assert tressette(monkeypatch, "attack", *arguments, "--json") == 0
    content: dict[str, Any] = json.loads(capsys.readouterr().out)
    del content["training"]["seconds"]
    return content


# ------------------------------------------------------------------------------- what is trained


@pytest.mark.parametrize(
    ("agent", "rules", "is_cut"),
    [
        ("greedy", "playmore", False),
        ("greedy+endings", "playmore", True),
        ("learned:champion", "gamelake", True),
        ("learned:champion", "gamelake_partners", False),
        ("counting", "gamelake_partners", False),
    ],
)
def test_deals_are_cut_only_where_the_agent_is_known_to_play_the_rest_exactly(
    agent: str, rules: str, is_cut: bool
) -> None:
    config = attack_config(agent, rules, decisions=1)
    assert config.rollout.exact_endings is is_cut
    trainer = Trainer(config, RunFolder(Path("none")))
    (group,) = trainer.pool.seat(256, seed=0)
    assert (group.name, group.tables) == (agent, slice(0, 256))


def test_the_measurement_has_decks_that_training_has_not() -> None:
    config = attack_config("greedy", "playmore", decisions=1, seed=1, deals_seed=1)
    rules = get_rules("playmore")
    measured = {tuple(deck_of(rules, config.benchmark.seed, deal)) for deal in range(200)}
    trained = {
        tuple(deck_of(rules, ShardRollout(config, rules, shard).deal_seed, deal))
        for shard in range(2)
        for deal in range(200)
    }
    assert len(measured) == 200 and len(trained) == 400
    assert not measured & trained


# ------------------------------------------------------------------------------------ the bound


def test_it_finds_much_of_what_there_is_and_never_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exact = exploit("greedy", "mini_2x4").exploitability
    arguments = ["greedy", "--decisions", "60000", "--rules", "mini_2x4", "--deals", "1000"]
    found = attacked(monkeypatch, capsys, *arguments)
    low, high = found["ci95"]
    assert found["is_found"] and found["lower_bound_thirds"] == low
    assert 0.3 * exact < low <= exact
    assert low < found["margin_thirds"] < high


def test_no_exploit_is_a_bound_of_zero() -> None:
    (lost,) = evaluate(["random", "greedy"], "mini_2x4", 200, seed=1)
    found = Attack(lost)
    assert not found.is_found and found.lower_bound_thirds == 0
    assert found.verdict.startswith(
        "no exploit found; lower bound on exploitability: at least 0.00 thirds a deal (margin -"
    )
    (won,) = evaluate(["greedy", "random"], "mini_2x4", 200, seed=1)
    low = won.margin_thirds.low
    assert low > 0
    expected = f"lower bound on exploitability: at least {low:.2f} thirds a deal (margin +"
    assert Attack(won).verdict.startswith(expected)


# ------------------------------------------------------------------------------------- the run


def test_what_it_prints_and_leaves_behind(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tressette(monkeypatch, "attack", "random", *SHORT, "--out", "deals.json") == 0
    text = capsys.readouterr().out
    assert "lower bound on exploitability: at least " in text
    assert "against random alone" in text
    run = Path("runs/attack-mini_2x4-random")
    assert f"policy       {run}/policy.safetensors" in text
    assert (run / "learning_curve.png").exists()
    assert read_results(Path("deals.json")).agents == (f"learned:{run}", "random")


def test_an_addition_to_the_agent_is_no_addition_to_the_response(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder's name with a + is no agent's spec."""
    found = attacked(monkeypatch, capsys, "greedy+endings", *SHORT, "--run-dir", "runs/a+endings")
    assert found["result"]["agent"] == "learned:runs/a+endings"
    config = attack_config("greedy+endings", "mini_2x4", decisions=3000)
    assert config.rollout.exact_endings
    (default,) = evaluated_folders(monkeypatch, "greedy+endings")
    assert default == "attack-mini_2x4-greedy-endings"


def evaluated_folders(monkeypatch: pytest.MonkeyPatch, agent: str) -> list[str]:
    """Attack for a moment with no folder named, and return which are new."""
    before = set(os.listdir("runs"))
    assert tressette(monkeypatch, "attack", agent, "--decisions", "10", *MINI) == 0
    return sorted(set(os.listdir("runs")) - before)


def test_the_seed_decides_and_a_stopped_attack_goes_on_as_if_it_had_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = attacked(monkeypatch, capsys, "greedy", *SHORT, "--name", "whole")
    shown = TrainingDisplay.progress

    def interrupted(self: TrainingDisplay, counters: Any, config: Any, row: Any) -> None:
        shown(self, counters, config, row)
        if counters.update == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingDisplay, "progress", interrupted)
        assert tressette(patch, "attack", "greedy", *SHORT, "--name", "cut") == 130
    text = capsys.readouterr().out
    assert "stopped after update 2; everything is saved" in text
    assert "go on with: tressette attack --resume runs/cut" in text
    cut = attacked(monkeypatch, capsys, "--resume", "runs/cut")
    for one in (whole, cut):
        del one["training"]["run"], one["result"]["agent"]
    assert cut == whole


def test_a_finished_attack_is_measured_again_and_not_trained_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = attacked(monkeypatch, capsys, "greedy", *SHORT, "--name", "a")
    again = attacked(monkeypatch, capsys, "--resume", "runs/a")
    assert again == first
    more = ["--deals", "300", "--deals-seed", "7"]
    other = attacked(monkeypatch, capsys, "--resume", "runs/a", *more)
    assert other["training"] == first["training"]
    assert (other["deals"], other["seed"]) == (300, 7)
    longer = attacked(monkeypatch, capsys, "--resume", "runs/a", "--decisions", "5000")
    assert longer["training"]["decisions"] >= 5000


def test_time_ends_training_after_the_update() -> None:
    config = attack_config("random", "mini_2x4", minutes=1e-9)
    trainer = Trainer(config, RunFolder.create(Path("run"), config))
    trainer.train()
    assert trainer.counters.update == 1 and trainer.is_finished


def test_the_budget_is_used_by_what_runs_out_first() -> None:
    both = TrainConfig(decisions=1000, minutes=2)
    assert both.used(500, 30) == 0.5 and both.used(100, 90) == 0.75
    assert both.budget == "1,000 decisions or 2 minutes"
    assert TrainConfig(minutes=0.5).used(10**9, 15) == 0.5


# --------------------------------------------------------------------------- where it starts from


def test_it_starts_as_the_policy_of_another_run_and_then_needs_it_no_more() -> None:
    first = attack_config("random", "mini_2x4", decisions=1)
    Trainer(first, RunFolder.create(Path("first"), first)).train()
    config = attack_config("greedy", "mini_2x4", decisions=1, start_from="first")
    folder = RunFolder.create(Path("second"), config)
    trainer = Trainer(config, folder)
    weights = load_policy("first").network.state_dict()
    for name, value in trainer.network.policy.state_dict().items():
        assert torch.equal(value, weights[name])
    trainer.train()
    shutil.rmtree("first")
    resumed = Trainer(config, folder)
    resumed.resume()
    np.testing.assert_equal(
        [value.numpy() for value in resumed.network.policy.state_dict().values()],
        [value.numpy() for value in trainer.network.policy.state_dict().values()],
    )


def test_a_policy_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="trained for 'gamelake' and cannot start a run on"):
        attack_config(
            "greedy", "mini_2x4", decisions=1, start_from=str(champion_files()["gamelake"])
        )
    config = attack_config("greedy", "playmore", decisions=1, start_from="champion")
    other = config.model_copy(update={"network": attack_config("greedy", decisions=1).network})
    with pytest.raises(ConfigError, match=r"expected network\.kind mlp, .* has suit_shared"):
        Trainer(other, RunFolder(Path("none")))


# ------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected the spec of an agent, like greedy, or --resume RUN"),
        (["greedi"], "unknown agent"),
        (["greedy", "--minutes", "1", "--decisions", "5"], "--minutes or --decisions, got both"),
        (["greedy", "--minutes", "-1"], "minutes: expected a number greater than 0"),
        (["greedy", "--decisions", "0"], "decisions: expected a number greater than or equal to 1"),
        (["greedy", "--deals", "1"], "--deals: expected an integer from 2 up"),
        (["greedy+endings", "--rules", "gamelake_partners"], "solves endings of two seats"),
        (["clairvoyant"], "cheats"),
        (["greedy", "--from", "nowhere"], "there is no such file or run folder"),
        (["greedy", "--name", "a/b"], "attack: --name 'a/b': expected a folder's name"),
        (["greedy", "--out", "no/such/folder.json"], "--out: "),
        (["greedy", "--resume", "runs/a"], "leave out AGENT"),
        (["--resume", "runs/none"], "there is no run to resume"),
    ],
)
def test_a_mistake_is_told_in_one_line_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    assert tressette(monkeypatch, "attack", *arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert printed.err.startswith("tressette: ") and message in printed.err
    assert not list(Path().iterdir())


def test_a_run_against_others_is_no_attack() -> None:
    config = TrainConfig(decisions=1)
    with pytest.raises(TressetteError, match="run x: expected a run that 'tressette attack' has"):
        attack.attacked_agent(config, "run x")
