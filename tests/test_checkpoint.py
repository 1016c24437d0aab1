"""Checkpoints: whole or not there at all, read back exactly, damaged ones passed over."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tressette_agents.policy_file import describe_file, load_policy
from tressette_agents.whole_file import write_whole
from tressette_env.errors import PolicyFileError, RunFolderError
from tressette_train.checkpoint import newest_checkpoint
from tressette_train.config import MAX_SNAPSHOTS, TrainConfig
from tressette_train.config_file import read_config
from tressette_train.run_folder import RunFolder, default_folder
from tressette_train.trainer import Trainer

SMOKE = Path(__file__).parent.parent / "configs" / "smoke.yaml"
PER_UPDATE = 1536  # decisions of an update of the smoke config


def smoke(*overrides: str) -> TrainConfig:
    common = ["torch_threads=1", "opponents.snapshot_every=2", "network.hidden=[16]"]
    return read_config(SMOKE, [*common, *overrides])


def trained(path: Path, updates: int, *overrides: str) -> Trainer:
    config = smoke(f"decisions={updates * PER_UPDATE}", *overrides)
    trainer = Trainer(config, RunFolder.create(path, config))
    trainer.train()
    assert trainer.counters.update == updates
    return trainer


def everything(trainer: Trainer) -> dict[str, torch.Tensor]:
    """Weights, optimiser and snapshots by name."""
    found = {f"network.{k}": v for k, v in trainer.network.state_dict().items()}
    for index, state in enumerate(trainer.learner.optimizer.state_dict()["state"].values()):
        found |= {f"adam.{index}.{k}": v for k, v in state.items()}
    for snapshot in trainer.pool.snapshots:
        found |= {
            f"snapshot.{snapshot.update}.{k}": v for k, v in snapshot.network.state_dict().items()
        }
    return found


def assert_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert torch.equal(value, other[name]), name


def test_a_checkpoint_holds_everything(tmp_path: Path) -> None:
    first = trained(tmp_path / "run", 5)
    second = Trainer(first.config, RunFolder.open(tmp_path / "run"))
    second.resume()
    assert second.counters == first.counters
    assert [snapshot.update for snapshot in second.pool.snapshots] == [2, 4]
    assert_equal(everything(second), everything(first))
    for snapshot in second.pool.snapshots:
        assert not snapshot.network.training
        assert not any(parameter.requires_grad for parameter in snapshot.network.parameters())
    assert all(parameter.requires_grad for parameter in second.network.parameters())


@pytest.mark.parametrize("damage", ["lost", "truncated", "stale", "none"])
def test_a_policy_is_written_again_from_the_checkpoint(tmp_path: Path, damage: str) -> None:
    """A kill between the writing of the checkpoint and of the policy leaves a stale one."""
    trainer = trained(tmp_path / "run", 3, "checkpoint.every=1")
    file = trainer.folder.policy
    whole = file.read_bytes()
    if damage == "lost":
        file.unlink()
    elif damage == "truncated":
        file.write_bytes(whole[:-1])
    elif damage == "stale":
        trained(tmp_path / "stale", 2)
        file.write_bytes((tmp_path / "stale" / "policy.safetensors").read_bytes())
    written = None if damage == "lost" else file.stat().st_ino
    again = Trainer(trainer.config, RunFolder.open(tmp_path / "run"))
    again.resume()
    assert again.is_finished and file.read_bytes() == whole
    assert (file.stat().st_ino == written) == (damage == "none")  # a new file, unless it was right
    assert load_policy(file).training["updates"] == 3


def rewrite(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Write a checkpoint anew with its description changed."""
    import safetensors
    from safetensors.torch import save_file

    with safetensors.safe_open(str(path), framework="pt") as opened:
        described = json.loads(opened.metadata()["tressette"])
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    change(described)
    save_file(tensors, str(path), describe_file(described, tensors))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["rules"].update(follow="free"), "the rules of 'mini_2x4' are not those"),
        (lambda d: d["rules"].pop("draws"), "the rules of 'mini_2x4' are not those"),
        (lambda d: d["observation"].update(version=99), "other observations than this version"),
        (lambda d: d["observation"]["blocks"].pop(), "other observations than this version"),
    ],
)
def test_a_checkpoint_of_another_game_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    trainer = trained(tmp_path / "run", 1)
    rewrite(tmp_path / "run" / "checkpoints" / "00000001.safetensors", change)
    again = Trainer(trainer.config, RunFolder.open(tmp_path / "run"))
    before = everything(again)
    with pytest.raises(PolicyFileError, match=message):
        again.resume()
    assert_equal(everything(again), before)


def test_no_more_snapshots_than_a_run_may_keep(tmp_path: Path) -> None:
    trained(tmp_path / "run", 1)
    folder = tmp_path / "run" / "checkpoints"
    newest = folder / "00000001.safetensors"
    rewrite(newest, lambda d: d.update(snapshots=[[1, 0.0, 0.0]] * MAX_SNAPSHOTS))
    assert newest_checkpoint(folder, print).counters.update == 1  # its tensors are checked later
    rewrite(newest, lambda d: d.update(snapshots=[[1, 0.0, 0.0]] * (MAX_SNAPSHOTS + 1)))
    told: list[str] = []
    assert newest_checkpoint(folder, told.append).counters.update == 0
    assert "too many snapshots" in told[0]


def test_the_newest_three_are_kept(tmp_path: Path) -> None:
    trained(tmp_path / "run", 6, "checkpoint.every=1")
    names = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    assert names == [f"{update:08d}.safetensors" for update in (4, 5, 6)]


@pytest.mark.parametrize("damage", ["truncated", "empty", "garbage", "other", "counters", "bit"])
def test_a_damaged_newest_checkpoint_is_passed_over(tmp_path: Path, damage: str) -> None:
    trainer = trained(tmp_path / "run", 3, "checkpoint.every=1")
    newest = tmp_path / "run" / "checkpoints" / "00000003.safetensors"
    whole = newest.read_bytes()
    newest.write_bytes(
        {
            "truncated": whole[:-1],
            "empty": b"",
            "garbage": os.urandom(1000),
            "other": trainer.folder.policy.read_bytes(),
            "bit": whole[:-400] + bytes([whole[-400] ^ 1]) + whole[-399:],
            "counters": whole.replace(b'\\"update\\": 3', b'\\"update\\": x'),
        }[damage]
    )
    told: list[str] = []
    found = newest_checkpoint(newest.parent, told.append)
    assert found.counters.update == 2
    assert len(told) == 1 and "00000003" in told[0] and "going on from 00000002" in told[0]


def test_no_whole_checkpoint(tmp_path: Path) -> None:
    trained(tmp_path / "run", 1)
    folder = tmp_path / "run" / "checkpoints"
    for path in folder.iterdir():
        path.write_bytes(b"")
    with pytest.raises(RunFolderError, match="no whole checkpoint to resume; the newest: "):
        newest_checkpoint(folder, print)


def test_a_checkpoint_of_another_network_does_not_fit(tmp_path: Path) -> None:
    trainer = trained(tmp_path / "run", 1)
    values = trainer.config.model_dump()
    values["network"]["hidden"] = [17]
    other = Trainer(TrainConfig.model_validate(values), trainer.folder)
    before = everything(other)
    with pytest.raises(PolicyFileError, match=r"expected F32 \[17, \d+\], got F32 \[16, "):
        other.resume()
    assert_equal(everything(other), before)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_file_is_whole_or_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")

    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_ends_training_with_one_line_and_the_last_checkpoint_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = smoke(f"decisions={4 * PER_UPDATE}", "checkpoint.every=1")
    trainer = Trainer(config, RunFolder.create(tmp_path / "run", config))
    real = os.replace

    def full(source: str, target: Path) -> None:
        if trainer.counters.update == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(RunFolderError) as caught:
        trainer.train()
    message = str(caught.value)
    assert "\n" not in message and "the disk is full, while writing a checkpoint" in message
    assert "00000002.safetensors is whole" in message
    assert f"tressette train --resume {tmp_path / 'run'}" in message
    monkeypatch.setattr(os, "replace", real)
    again = Trainer(config, RunFolder.open(tmp_path / "run"))
    again.resume()
    assert again.counters.update == 2
    assert not list((tmp_path / "run").rglob("*.tmp"))


# Run folders


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("mine")
    with pytest.raises(RunFolderError, match="already holds files: choose another --name"):
        RunFolder.create(tmp_path, smoke())
    assert [path.name for path in tmp_path.iterdir()] == ["note"]
    with pytest.raises(RunFolderError, match="expected a folder, this is a file"):
        RunFolder.create(tmp_path / "note", smoke())
    with pytest.raises(RunFolderError, match="cannot be written: Not a directory"):
        RunFolder.create(tmp_path / "note" / "run", smoke())


def test_a_folder_that_cannot_be_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        RunFolderError, match=r"run cannot|run: cannot be written: the disk is full"
    ):
        RunFolder.create(tmp_path / "a" / "run", smoke())
    assert not list(tmp_path.iterdir())


def test_a_folder_without_a_run_is_not_resumed(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="there is no run to resume"):
        RunFolder.open(tmp_path)


def test_a_folder_that_cannot_be_written_is_not_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(tmp_path / "run", 1)
    before = sorted((tmp_path / "run").rglob("*"))

    def refuse(*arguments: Any, **options: Any) -> None:
        assert Path(options["dir"]) == tmp_path / "run"
        raise PermissionError(errno.EACCES, "Permission denied")

    # Access rights do not stop an administrator, who runs the tests in many containers.
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(RunFolderError, match=r"run: cannot be written: Permission denied"):
        RunFolder.open(tmp_path / "run")
    assert sorted((tmp_path / "run").rglob("*")) == before


@pytest.mark.skipif(sys.platform == "win32", reason="no fcntl")
def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib, time\n"
        "from tressette_train.run_folder import RunFolder\n"
        "with RunFolder(pathlib.Path(sys.argv[1])).locked():\n"
        "    print('locked', flush=True)\n"
        "    time.sleep(60)\n"
    )
    folder = RunFolder(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None and other.stdout.readline() == "locked\n"
        with pytest.raises(RunFolderError) as caught, folder.locked():
            pass
        assert str(caught.value) == (
            f"run folder {tmp_path}: another process is training in it; stop that one, wait for "
            "it, or choose another folder"
        )
        other.send_signal(signal.SIGKILL)
    with folder.locked():
        pass


def test_who_trains_waits_for_who_only_asks_whether_a_run_is_training(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    with (tmp_path / ".lock").open("w") as asking:
        fcntl.flock(asking, fcntl.LOCK_EX)
        timer = threading.Timer(0.15, fcntl.flock, (asking, fcntl.LOCK_UN))
        timer.start()
        with RunFolder(tmp_path).locked():
            assert RunFolder(tmp_path).is_locked()
        timer.join()
    assert not RunFolder(tmp_path).is_locked()


def test_training_removes_what_a_killed_one_left_half_written(tmp_path: Path) -> None:
    config = smoke(f"decisions={PER_UPDATE}")
    folder = RunFolder.create(tmp_path / "run", config)
    left = [folder.checkpoints / ".00000003.safetensors.x1.tmp", folder.path / ".best.x.tmp"]
    for path in left:
        path.write_bytes(b"half")
    Trainer(config, folder).train()
    assert not any(path.exists() for path in left)


def test_two_that_start_in_one_folder_do_not_mix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    RunFolder.create(tmp_path / "run", smoke("seed=3"))
    before = (tmp_path / "run" / "config.yaml").read_bytes()
    # The other one made the folder after this one had looked.
    monkeypatch.setattr(RunFolder, "check_free", lambda path: None)
    with pytest.raises(RunFolderError, match="cannot be written: File exists"):
        RunFolder.create(tmp_path / "run", smoke("seed=4"))
    assert (tmp_path / "run" / "config.yaml").read_bytes() == before
    assert (tmp_path / "run" / "checkpoints").is_dir()


def test_the_default_folder_counts_on(tmp_path: Path) -> None:
    assert default_folder("quick", tmp_path) == tmp_path / "quick"
    (tmp_path / "quick").mkdir()
    assert default_folder("quick", tmp_path) == tmp_path / "quick-2"
    (tmp_path / "quick-2").mkdir()
    assert default_folder("quick", tmp_path) == tmp_path / "quick-3"


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["counters"].update(update=1.5),
        lambda d: d["counters"].update(update=True),
        lambda d: d["counters"].update(update=10**40),
        lambda d: d["counters"].update(seconds=None),
        lambda d: d["counters"].update(seconds=float("nan")),
        lambda d: d.update(adam_steps="12"),
        lambda d: d.update(adam_steps=float("inf")),
        lambda d: d.update(snapshots=[[float("inf"), 1, 1]]),
        lambda d: d.update(snapshots=[[1, 1.0, 2.0]]),  # more won than played
        lambda d: d.update(snapshots=[[1, 1.0]]),
    ],
)
def test_a_checkpoint_with_impossible_counts_is_passed_over(
    change: Callable[[dict[str, Any]], Any], tmp_path: Path
) -> None:
    trained(tmp_path / "run", 1)
    folder = tmp_path / "run" / "checkpoints"
    rewrite(folder / "00000001.safetensors", change)
    told: list[str] = []
    assert newest_checkpoint(folder, told.append).counters.update == 0
    assert len(told) == 1 and "00000001.safetensors" in told[0]


def test_a_checkpoint_of_other_numbers_is_passed_over(tmp_path: Path) -> None:
    import safetensors
    from safetensors.torch import save_file

    trained(tmp_path / "run", 1)
    folder = tmp_path / "run" / "checkpoints"
    path = str(folder / "00000001.safetensors")
    with safetensors.safe_open(path, framework="pt") as opened:
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        described = opened.metadata()
    name = next(iter(tensors))
    save_file({**tensors, name: tensors[name].bfloat16()}, path, described)
    told: list[str] = []
    assert newest_checkpoint(folder, told.append).counters.update == 0
    assert "expected float32 weights, got BF16" in told[0]


def test_a_folder_whose_training_was_killed_as_it_began_is_not_a_dead_end(tmp_path: Path) -> None:
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    for attempt in (
        lambda: RunFolder.open(tmp_path / "run"),
        lambda: RunFolder.check_free(tmp_path / "run"),
    ):
        with pytest.raises(RunFolderError, match=r"before it wrote a config.*remove the folder"):
            attempt()


def test_the_best_of_other_measurements_is_not_compared_with(tmp_path: Path) -> None:
    measured = ["evaluation.every=1", "evaluation.deals=4", "evaluation.agents=[random]"]
    trained(tmp_path / "run", 1, *measured)
    before = (tmp_path / "run" / "best.safetensors").read_bytes()
    config = smoke(f"decisions={2 * PER_UPDATE}", *measured[:2], "evaluation.agents=[greedy]")
    trainer = Trainer(config, RunFolder.open(tmp_path / "run"))
    trainer.resume()
    trainer.train()  # margins over greedy are lower, and the best of their own
    assert (tmp_path / "run" / "best.safetensors").read_bytes() != before
