"""Training with several processes: the policy of one, and what is said when one is lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from tressette_env import TressetteError
from tressette_train.ranks import Ranks
from tressette_train.run_folder import RunFolder

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--no-python"]
PROGRAM = Path(sys.executable).with_name("tressette")
SETTINGS = {
    "rules": "mini_2x4",
    "rollout.tables": "64",
    "ppo.minibatch": "256",
    "network.hidden": "[16]",
    "opponents.snapshot_every": "1",
    "checkpoint.every": "1",
    "torch_threads": "1",
}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="torchrun and signals")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "small.yaml"
    file.write_text("decisions: 1000000000\n")
    return file


def arguments(config: Path, folder: Path, **changed: str) -> list[str]:
    values = {**SETTINGS, **{key.replace("__", "."): value for key, value in changed.items()}}
    settings = [part for key, value in values.items() for part in ("--set", f"{key}={value}")]
    return [str(PROGRAM), "train", str(config), "--run-dir", str(folder), *settings]


def started(command: list[str], folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        command, cwd=folder, env=environment, text=True, start_new_session=True, **pipes
    )


def finished(command: list[str], folder: Path) -> tuple[int, str]:
    process = started(command, folder)
    out, _ = process.communicate(timeout=240)
    return process.returncode, out


def ranks_of(process: subprocess.Popen[str]) -> dict[int, int]:
    """Process numbers of the ranks that torchrun started, by rank."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            parent = int(re.findall(r"PPid:\s+(\d+)", (folder / "status").read_text())[0])
            environment = (folder / "environ").read_bytes().split(b"\0")
        except (OSError, IndexError):
            continue
        if parent == process.pid:
            ranks = [int(one[5:]) for one in environment if one.startswith(b"RANK=")]
            found.update({rank: int(folder.name) for rank in ranks})
    return found


def wait_for(condition: object, process: subprocess.Popen[str], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)


def test_two_processes_train_the_policy_of_one_bit_for_bit(config: Path, tmp_path: Path) -> None:
    alone, together = tmp_path / "alone", tmp_path / "together"
    budget = {"decisions": "3500"}
    code, out = finished(arguments(config, alone, **budget), tmp_path)
    assert code == 0, out
    code, out = finished([*TORCHRUN, *arguments(config, together, **budget)], tmp_path)
    assert code == 0, out
    assert out.count("trained on") == 1  # one of them talks
    weights = RunFolder(alone).policy.read_bytes()
    assert RunFolder(together).policy.read_bytes() == weights


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds ranks in /proc")
@pytest.mark.parametrize("lost", [0, 1])
def test_a_lost_process_ends_the_run_with_one_clear_line_and_it_resumes(
    lost: int, config: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    process = started([*TORCHRUN, *arguments(config, folder)], tmp_path)
    checkpoints = RunFolder(folder).checkpoints
    wait_for(lambda: len(list(checkpoints.glob("*[1-9].safetensors"))) > 0, process)
    os.kill(ranks_of(process)[lost], signal.SIGKILL)
    out, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    lines = [line for line in out.splitlines() if line.startswith("tressette: rank")]
    assert len(lines) == 1
    assert f"rank {1 - lost} of 2: another process of this training is gone" in lines[0]
    assert f"tressette train --resume {folder}" in lines[0]
    newest = sorted(checkpoints.glob("*.safetensors"))[-1]
    done = 512 * (int(newest.stem) + 2)
    more = ["--resume", str(folder), "--set", f"decisions={done}"]
    code, out = finished([*TORCHRUN, str(PROGRAM), "train", *more], tmp_path)
    assert code == 0, out


_LEAVES = """
import os
from tressette_train.ranks import Ranks
with Ranks.joined() as ranks:
    import torch._dynamo  # imports all that Adam does
    ranks.any(False)
names = [open(f"/proc/self/task/{one}/comm").read() for one in os.listdir("/proc/self/task")]
assert not [name for name in names if "gloo" in name], names
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds threads in /proc")
def test_nothing_of_the_group_is_alive_after_it_was_left(tmp_path: Path) -> None:
    code, out = finished([*TORCHRUN, sys.executable, "-c", _LEAVES], tmp_path)
    assert code == 0, out


def test_ctrl_c_saves_once_and_all_end(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = started([*TORCHRUN, *arguments(config, folder)], tmp_path)
    checkpoints = RunFolder(folder).checkpoints
    wait_for(lambda: len(list(checkpoints.glob("*[1-9].safetensors"))) > 0, process)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert out.count("everything is saved") == 1, out
    assert process.returncode != 0


def test_shards_that_cannot_be_shared_are_told_once(config: Path, tmp_path: Path) -> None:
    changed = arguments(config, tmp_path / "run", shards="3", rollout__tables="66")
    code, out = finished([*TORCHRUN, *changed], tmp_path)
    assert code != 0
    told = [line for line in out.splitlines() if line.startswith("tressette:")]
    assert told == [
        "tressette: shards: expected a multiple of the 2 processes that torchrun started, got 3"
    ]
    assert not (tmp_path / "run").exists()


def test_every_shard_has_one_rank() -> None:
    ranks = [Ranks(rank, 4) for rank in range(4)]
    assert [list(one.share(8)) for one in ranks] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    with pytest.raises(TressetteError, match="multiple of the 4 processes"):
        ranks[1].share(6)


def test_alone_nothing_is_sent() -> None:
    alone, tensors = Ranks(), [torch.ones(2)]
    assert alone.gather(tensors) is tensors
    assert alone.gather_values([1, 2]) == [1, 2] and alone.from_first("a") == "a"
    assert alone.any(True) and not alone.any(False)


def test_what_any_rank_says_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_first(parts: list[object], values: list[object]) -> None:
        parts[:] = [["first"] if values == ["second"] else [True], values]

    monkeypatch.setattr(dist, "all_gather_object", with_first)
    second = Ranks(1, 2)
    assert second.any(False) is True
    assert second.from_first("second") == "first"


def test_gathered_tensors_are_in_the_shards_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_first(parts: list[torch.Tensor], mine: torch.Tensor) -> None:
        parts[0].copy_(mine - 2)
        parts[1].copy_(mine)

    monkeypatch.setattr(dist, "all_gather", with_first)
    found = Ranks(1, 2).gather([torch.full((3,), 2.0), torch.full((3,), 3.0)])
    assert [float(one[0]) for one in found] == [0, 1, 2, 3]


def test_processes_with_different_configs_are_refused_by_key(config: Path, tmp_path: Path) -> None:
    script = tmp_path / "other.sh"
    script.write_text(f'#!/bin/sh\nexec {PROGRAM} "$@" --set seed=$RANK\n')
    script.chmod(0o755)
    command = arguments(config, tmp_path / "run")
    code, out = finished([*TORCHRUN, str(script), *command[1:]], tmp_path)
    assert code != 0
    told = [line for line in out.splitlines() if line.startswith("tressette:")]
    assert told == [
        "tressette: seed: expected the same for all processes of this training, got 0 for rank 0 "
        "and 1 for rank 1"
    ]


@pytest.mark.parametrize("size", ["two", "2", "-1"])
def test_a_world_size_that_torchrun_did_not_set_is_one_clear_line(
    size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WORLD_SIZE", size)
    with pytest.raises(TressetteError, match="start with torchrun, or unset it"), Ranks.joined():
        pass
