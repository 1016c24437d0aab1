"""``tressette train``: what it prints, leaves behind, and returns."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tressette_agents.policy_file import load_policy
from tressette_env.errors import ConfigError
from tressette_train import cli, train_command, training_session
from tressette_train.config_file import read_config
from tressette_train.evaluate import PairingResult, evaluate
from tressette_train.metrics import read_metrics
from tressette_train.run_folder import RunFolder
from tressette_train.trainer import Trainer

SMOKE = str(Path(__file__).parent.parent / "configs" / "smoke.yaml")
SHORT = ["--set", "torch_threads=1", "--set", "network.hidden=[8]", "--set", "decisions=4000"]
BIG = ["--set=rules=playmore", "--set=rollout.tables=65536", "--set=rollout.deals=64"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tressette(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["tressette", *arguments])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return int(caught.value.code or 0)


def refusal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> str:
    """One line on standard error, exit code 2, and no folder of a run."""
    before = sorted(Path().rglob("*"))
    assert tressette(monkeypatch, "train", *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tressette: ") and captured.err.count("\n") == 1
    assert sorted(Path().rglob("*")) == before
    return captured.err


def test_trains_and_says_where_everything_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark = ["--benchmark", "--set", "benchmark.deals=50"]
    assert tressette(monkeypatch, "train", SMOKE, *SHORT, *benchmark) == 0
    out = capsys.readouterr().out
    for name in ("policy.safetensors", "tensorboard", "learning_curve.png"):
        assert f"runs/smoke/{name}" in out
        assert (Path("runs/smoke") / name).exists()
    assert out.index("warming up") < out.index("% of 4,000 decisions")
    assert "100 % of 4,000 decisions" in out and "plays/s" in out
    assert "tressette eval learned:runs/smoke greedy random --rules mini_2x4" in out
    assert "tressette play --against learned:runs/smoke" in out
    table = out[out.index("50 deals of seed 1") :]
    assert "random" in table and "greedy" in table and " to " in table
    policy = load_policy("runs/smoke")
    assert policy.training["config"]["network"]["hidden"] == [8]
    assert policy.training["decisions"] >= 4000
    assert tressette(monkeypatch, "train", SMOKE, *SHORT) == 0
    assert load_policy("runs/smoke-2").training["updates"] == policy.training["updates"]


def test_the_benchmark_has_its_own_seed_and_the_rules_of_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured: list[PairingResult] = []

    def noted(*arguments: Any, **options: Any) -> list[PairingResult]:
        measured.extend(evaluate(*arguments, **options))
        return measured[-1:]

    monkeypatch.setattr(train_command, "evaluate", noted)
    settings = ["rules=mini_2x5", "seed=6", "benchmark.seed=9", "benchmark.deals=40"]
    settings += ["benchmark.agents=[greedy, random]", "opponents.agents={random: 1}"]
    sets = [word for setting in settings for word in ("--set", setting)]
    assert tressette(monkeypatch, "train", SMOKE, *SHORT, *sets, "--benchmark") == 0
    assert "40 deals of seed 9" in capsys.readouterr().out
    expected = [
        result.to_json()
        for agent in ("greedy", "random")
        for result in evaluate(["learned:runs/smoke", agent], "mini_2x5", 40, 9)
    ]
    assert [result.to_json() for result in measured] == expected


def test_the_name_and_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tressette(monkeypatch, "train", SMOKE, *SHORT, "--name", "mine") == 0
    assert tressette(monkeypatch, "train", SMOKE, *SHORT, "--run-dir", "a/b") == 0
    one, other = (Path(path, "policy.safetensors") for path in ("runs/mine", "a/b"))
    assert one.read_bytes() == other.read_bytes()


def test_ctrl_c_saves_and_resume_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = Trainer._improve

    def interrupted(self: Trainer, *arguments: Any) -> Any:
        if self.counters.update == 1:  # in the second update
            signal.raise_signal(signal.SIGINT)
        return real(self, *arguments)

    handler = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_improve", interrupted)
        assert tressette(patch, "train", SMOKE, *SHORT) == 130
    assert signal.getsignal(signal.SIGINT) is handler
    out = capsys.readouterr().out
    assert "stopping after this update" in out
    assert "go on with: tressette train --resume runs/smoke" in out
    assert load_policy("runs/smoke").training["updates"] == 2
    assert tressette(monkeypatch, "train", "--resume", "runs/smoke") == 0
    out = capsys.readouterr().out
    assert "going on with runs/smoke after update 2 (3,072 of 4,000 decisions)" in out
    assert tressette(monkeypatch, "train", SMOKE, *SHORT, "--name", "whole") == 0
    resumed, whole = load_policy("runs/smoke"), load_policy("runs/whole")
    assert all(
        bool((value == whole.network.state_dict()[name]).all())
        for name, value in resumed.network.state_dict().items()
    )
    assert [row["update"] for row in read_metrics(Path("runs/smoke"))] == [0, 1, 2]


def test_a_finished_run_can_be_given_a_larger_budget(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tressette(monkeypatch, "train", SMOKE, *SHORT) == 0
    capsys.readouterr()
    message = refusal(monkeypatch, capsys, "--resume", "runs/smoke")
    assert "is finished (4,608 decisions)" in message and "--set decisions=" in message
    message = refusal(monkeypatch, capsys, "--resume", "runs/smoke", "--set", "ppo.clip=0.1")
    assert "'ppo.clip', which may not change when it is resumed" in message
    longer = ["train", "--resume", "runs/smoke", "--set", "decisions=6000"]
    assert tressette(monkeypatch, *longer) == 0
    assert load_policy("runs/smoke").training["updates"] == 4


def test_the_folders_config_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through a kill before the first checkpoint, edits, and --set."""
    folder = RunFolder(Path("run"))
    folder.path.mkdir()
    (folder.path / ".config.yaml.x.tmp").write_text("cut")
    config = read_config(SMOKE, [word for word in SHORT if "=" in word])
    RunFolder.create(folder.path, config)
    assert not list(folder.path.glob(".*.tmp"))
    assert tressette(monkeypatch, "train", "--resume", "run") == 0
    assert "no checkpoint yet: starting from the beginning" in capsys.readouterr().out
    longer = ["--resume", "run", "--set", "decisions=6000"]
    whole = folder.config.read_text()
    folder.config.write_text(whole.replace("clip: 0.2", "clip: 0.3"))
    message = refusal(monkeypatch, capsys, *longer)
    assert "trained with in ppo.clip; restore the file; --set changes decisions" in message
    folder.config.write_text("[")
    assert "restore the file" in refusal(monkeypatch, capsys, *longer)
    folder.config.write_text(whole)
    assert tressette(monkeypatch, "train", *longer) == 0
    assert read_config(folder.config).decisions == 6000


def test_a_lost_policy_of_a_finished_run_comes_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tressette(monkeypatch, "train", SMOKE, *SHORT) == 0
    policy = Path("runs/smoke/policy.safetensors")
    whole = policy.read_bytes()
    policy.unlink()
    capsys.readouterr()
    assert tressette(monkeypatch, "train", "--resume", "runs/smoke") == 2
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 1
    assert f"{policy} was lost, damaged or of another update: written again from " in captured.out
    assert "run runs/smoke is finished (4,608 decisions)" in captured.err
    assert policy.read_bytes() == whole


def test_a_folder_where_another_process_trains_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tressette(monkeypatch, "train", SMOKE, *SHORT) == 0
    capsys.readouterr()
    longer = ["--resume", "runs/smoke", "--set", "decisions=6000"]
    with RunFolder(Path("runs/smoke")).locked():
        message = refusal(monkeypatch, capsys, *longer)
        assert "run folder runs/smoke: another process is training in it" in message
    assert tressette(monkeypatch, "train", *longer) == 0


@pytest.mark.parametrize("arguments", [["--resume", "run"], [SMOKE, *SHORT, "--run-dir", "run"]])
def test_the_folder_is_locked_until_the_chart_is_drawn(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    if "--resume" in arguments:
        assert tressette(monkeypatch, "train", SMOKE, *SHORT, "--run-dir", "run") == 0
        arguments = [*arguments, "--set", "decisions=6000"]
    locked = []

    def drawn(path: Path, title: str) -> None:
        with pytest.raises(ValueError, match="another process"), RunFolder(path).locked():
            pass
        locked.append(title)

    monkeypatch.setattr(training_session, "draw_learning_curve", drawn)
    assert tressette(monkeypatch, "train", *arguments) == 0
    assert locked == ["run: self-play on mini_2x4, seed 1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected a config, such as configs/quick.yaml, or --resume RUN"),
        (["nowhere.yaml"], "config nowhere.yaml: cannot be read: No such file or directory"),
        ([SMOKE, "--set", "ppo.learnin_rate=1"], "--set ppo.learnin_rate=1: unknown key"),
        ([SMOKE, "--set", "ppo.clip=much"], "ppo.clip: expected a number, got 'much'"),
        (
            [SMOKE, *BIG],
            "rollout.tables: expected at most 32 GiB of rollouts",
        ),
        ([SMOKE, "--name", "a/b"], "--name 'a/b': expected a folder's name; paths: --run-dir"),
        ([SMOKE, "--name", "a", "--run-dir", "b"], "expected --name or --run-dir, got both"),
        ([SMOKE, "--run-dir", "/dev/null/run"], "cannot be written: Not a directory"),
        (["--resume", "runs/none"], "there is no run to resume"),
        ([SMOKE, "--resume", "runs/none"], "--resume takes the config and the folder of the run"),
        ([SMOKE, "--set", "opponents.agents={'learned:x': 1}"], "no such file or run folder"),
        ([SMOKE, "--set", "opponents.agents={'greedy:x': 1}"], "unknown option 'x'"),
    ],
)
def test_a_users_mistakes(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    assert message in refusal(monkeypatch, capsys, *arguments)


def test_a_run_in_the_folder_is_not_written_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("runs/mine").mkdir(parents=True)
    Path("runs/mine/thesis.txt").write_text("years")
    message = refusal(monkeypatch, capsys, SMOKE, "--name", "mine")
    assert "run folder runs/mine already holds files" in message
    assert "tressette train --resume runs/mine" in message


def test_too_little_memory_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("tressette_train.training_session.Trainer", fail)
    with pytest.raises(ConfigError, match="not enough memory"):
        train_command.run(Path(SMOKE), run_dir=tmp_path / "run")
