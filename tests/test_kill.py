"""Training that is killed at any instant loses at most one interval, and ends with the same policy.

``python tests/test_kill.py 100`` kills as many times.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tressette_agents.policy_file import load_policy
from tressette_env.errors import RunFolderError
from tressette_train.checkpoint import newest_checkpoint
from tressette_train.config_file import read_config
from tressette_train.metrics import read_metrics
from tressette_train.run_folder import RunFolder
from tressette_train.trainer import Trainer

EVERY = 3  # updates between two checkpoints
CONFIG = f"""
rules: mini_2x4
decisions: {{decisions}}
rollout: {{{{tables: 64}}}}
network: {{{{hidden: [32]}}}}
ppo: {{{{minibatch: 128, magnet: 0.1, magnet_every: 4}}}}
opponents: {{{{snapshot_every: 5, agents: {{{{random: 1}}}}}}}}
checkpoint: {{{{every: {EVERY}}}}}
evaluation: {{{{every: 10, agents: [random], deals: 10}}}}
torch_threads: 1
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills processes by signal")


def training(*arguments: object) -> subprocess.Popen[bytes]:
    program = Path(sys.executable).with_name("tressette")
    return subprocess.Popen(
        [program, "train", *map(str, arguments)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
    )


def kill_at_random(process: subprocess.Popen[bytes], folder: Path, luck: random.Random) -> None:
    """Kill a training some time after it began, or went on: while it writes as likely as not."""
    before, end = len(read_metrics(folder)), time.monotonic() + 120
    wanted = luck.choice([0, 0, 1, 1, 2, 5])  # updates; 0: while it starts or reads
    while process.poll() is None and len(read_metrics(folder)) < before + wanted:
        assert time.monotonic() < end
        time.sleep(0.002)
    time.sleep(luck.uniform(0, 0.1) if wanted else luck.uniform(0, 4))
    process.send_signal(signal.SIGKILL)
    process.wait()


def check_what_is_left(folder: Path) -> None:
    """At most one interval is lost, the policy is whole, and nothing half-written counts."""
    done = max((int(row["update"]) + 1 for row in read_metrics(folder)), default=0)
    try:
        saved = newest_checkpoint(RunFolder(folder).checkpoints, pytest.fail).counters.update
    except RunFolderError:
        assert done == 0  # killed before the first one
        return
    assert saved >= done - EVERY
    if RunFolder(folder).policy.exists():
        assert load_policy(RunFolder(folder).policy).training["updates"] >= saved - EVERY


def killed_run(work: Path, kills: int, luck: random.Random, decisions: int) -> None:
    """Train with kills, and without: the same policy, a row for every update."""
    config, folder = work / "config.yaml", work / "run"
    config.write_text(CONFIG.format(decisions=decisions))
    settings = read_config(config)
    alone = RunFolder.create(work / "alone", settings)
    Trainer(settings, alone).train()
    process = training(config, "--run-dir", folder)
    for _ in range(kills):
        kill_at_random(process, folder, luck)
        if not RunFolder(folder).config.exists():  # killed before it had begun
            shutil.rmtree(folder, ignore_errors=True)
            process = training(config, "--run-dir", folder)
            continue
        check_what_is_left(folder)
        process = training("--resume", folder)
    process.wait()
    if process.returncode:  # the last kill came after the end
        assert read_metrics(folder)[-1]["decisions"] >= decisions
    assert RunFolder(folder).policy.read_bytes() == alone.policy.read_bytes()
    updates = [row["update"] for row in read_metrics(folder)]
    assert updates == list(range(len(updates))) and len(updates) == len(read_metrics(alone.path))


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_that_is_killed_at_random_instants_ends_with_the_same_policy(
    seed: int, tmp_path: Path
) -> None:
    killed_run(tmp_path, 3, random.Random(seed), 12_000)


if __name__ == "__main__":
    KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for number in range(0, KILLS, 10):
        with tempfile.TemporaryDirectory() as name:
            killed_run(Path(name), 10, random.Random(number), 60_000)
        print(f"{number + 10} kills: nothing lost", flush=True)
