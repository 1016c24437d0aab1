"""Where networks compute: which device is chosen, and that all they need goes there and back.

No GPU is needed; ``pretend_gpu`` says what stands in for one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from pretend_gpu import GPU, PretendGpu
from safetensors.torch import load_file

from tressette_agents.policy_file import load_policy
from tressette_env.errors import ConfigError
from tressette_train import ranks as ranks_module
from tressette_train import trainer as trainer_module
from tressette_train.config import TrainConfig
from tressette_train.config_file import change_config, read_config
from tressette_train.device import choose_device, describe_device
from tressette_train.ranks import Ranks
from tressette_train.run_folder import RunFolder
from tressette_train.train_command import run as train_command
from tressette_train.trainer import Trainer
from tressette_train.training_session import CHANGEABLE

ROOT = Path(__file__).parent.parent
CPU = torch.device("cpu")


class TwoRanks(Ranks):
    """One of two processes on a machine, the other of which chose as it did, or ``other``."""

    def __init__(self, local_rank: int, other: str | None = None) -> None:
        super().__init__(local_rank, 2, local_rank, 2)
        self.other = other

    def gather_values(self, values: list[object]) -> list[object]:  # type: ignore[override]
        return [*values, *([{"device": self.other}] if self.other else values)]


def machine_with(monkeypatch: pytest.MonkeyPatch, gpus: int) -> list[torch.device]:
    """Make torch find so many GPUs; return what is made the current one."""
    current: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    return current


# Choosing


@pytest.mark.parametrize(
    ("wanted", "gpus", "expected"),
    [("auto", 0, CPU), ("auto", 2, GPU), ("cpu", 2, CPU), ("cuda", 1, GPU), ("cpu", 0, CPU)],
)
def test_auto_takes_a_gpu_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, wanted: str, gpus: int, expected: torch.device
) -> None:
    current = machine_with(monkeypatch, gpus)
    assert choose_device(wanted, Ranks()) == expected
    assert current == [expected] * (expected == GPU)


def test_each_process_of_a_machine_takes_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_with(monkeypatch, 2)
    devices = [choose_device("auto", TwoRanks(rank)) for rank in range(2)]
    assert devices == [torch.device("cuda", 0), torch.device("cuda", 1)]


def test_auto_takes_the_processor_where_gpus_are_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_with(monkeypatch, 1)
    assert choose_device("auto", TwoRanks(1)) == CPU
    with pytest.raises(ConfigError, match=r"GPU for each of 2 processes .* finds 1 here"):
        choose_device("cuda", TwoRanks(1))


def test_processes_on_different_kinds_of_devices_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine_with(monkeypatch, 2)
    with pytest.raises(ConfigError, match=r"device: expected the same .* 'cuda' .* 'cpu' for rank"):
        choose_device("cuda", TwoRanks(0, other="cpu"))


def test_cuda_without_a_gpu_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine_with(monkeypatch, 0)
    sets = ["device=cuda", "torch_threads=1"]
    with pytest.raises(ConfigError) as error:
        train_command(ROOT / "configs" / "smoke.yaml", sets, run_dir=tmp_path / "run")
    line = str(error.value)
    assert line.startswith("device: expected a GPU for cuda, torch ")
    assert "finds none here; --set device=cpu trains on the processor, device=auto" in line
    assert "\n" not in line and not (tmp_path / "run").exists()


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(ConfigError, match="device: expected 'auto', 'cpu' or 'cuda'"):
        read_config(ROOT / "configs" / "smoke.yaml", ["device=gpu"])


def test_a_device_has_a_name_for_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "Card 9000")
    assert [describe_device(one) for one in (CPU, GPU)] == ["cpu", "cuda:0 (Card 9000)"]


@pytest.mark.parametrize(
    ("gpus", "has_nccl", "expected"),
    [(1, True, "cpu:gloo,cuda:nccl"), (0, True, "gloo"), (1, False, "gloo")],
)
def test_tensors_on_gpus_are_gathered_by_nccl(
    monkeypatch: pytest.MonkeyPatch, gpus: int, has_nccl: bool, expected: str
) -> None:
    machine_with(monkeypatch, gpus)
    joined: list[str] = []
    settings = {"WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    dist = ranks_module.dist
    monkeypatch.setattr(dist, "is_nccl_available", lambda: has_nccl)
    monkeypatch.setattr(dist, "init_process_group", lambda backend, **_: joined.append(backend))
    monkeypatch.setattr(dist, "get_rank", lambda: 3)
    monkeypatch.setattr(dist, "destroy_process_group", lambda: None)
    with Ranks.joined() as ranks:
        found = (ranks.rank, ranks.size, ranks.local_rank, ranks.local_size)
    assert (found, joined) == ((3, 4, 1, 2), [expected])


# Going there and back


CASES: dict[str, dict[str, Any]] = {
    "magnet, snapshots, measured": {
        "ppo": {"magnet": 0.1, "magnet_every": 2},
        "evaluation": {"every": 2, "agents": ["random"], "deals": 4},
    },
    "critic and head that know hands": {
        "network": {"hidden": [8], "predicts_hands": True},
        "critic": {"hidden": [8], "sees": "hands_and_stock"},
    },
    "suits, warm start": {
        "network": {"kind": "suit_shared", "hidden": [8]},
        "warm_start": "greedy",
        "warm_start_updates": 1,
    },
    "history": {"network": {"kind": "history", "hidden": [8]}},
    "dmc": {"algorithm": "dmc"},
}
PER_UPDATE = 192  # decisions: of 32 tables with 8 plies each, half against opponents


def small(case: str, updates: int, device: str) -> TrainConfig:
    settings = {
        "rules": "mini_2x4",
        "decisions": updates * PER_UPDATE,
        "torch_threads": 1,
        "device": device,
        "rollout": {"tables": 32},
        "network": {"hidden": [8]},
        "opponents": {"snapshot_every": 1},
        "checkpoint": {"every": 1},
    }
    return TrainConfig.model_validate({**settings, **CASES[case]})


def newest(path: Path) -> dict[str, torch.Tensor]:
    tensors: dict[str, torch.Tensor] = load_file(max((path / "checkpoints").iterdir()))
    return tensors


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(value.equal(other[key]) for key, value in one.items())


def train(path: Path, config: TrainConfig, *, resumes: bool = False) -> Trainer:
    folder = RunFolder.open(path) if resumes else RunFolder.create(path, config)
    trainer = Trainer(config, folder)
    if resumes:
        trainer.resume()
    trainer.train()
    return trainer


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> PretendGpu:
    """A pretended GPU, which a training takes unless told to stay on the processor."""
    choice = {"auto": GPU, "cpu": CPU}
    monkeypatch.setattr(trainer_module, "choose_device", lambda wanted, ranks: choice[wanted])
    return PretendGpu()


# torch warns of its own autocast, which is off here.
without_cuda = pytest.mark.filterwarnings("ignore:.*CUDA is not available:UserWarning")


@without_cuda
@pytest.mark.parametrize("case", CASES)
def test_a_training_on_a_gpu_keeps_all_that_networks_read_there(
    tmp_path: Path, gpu: PretendGpu, case: str
) -> None:
    with gpu:
        trainer = train(tmp_path / "gpu", small(case, 3, "auto"))
        parts = [*trainer.network.parameters(), *trainer.network.buffers()]
        assert trainer.counters.update >= 3 and all(map(gpu.is_there, parts))
    train(tmp_path / "cpu", small(case, 3, "cpu"))
    assert same(newest(tmp_path / "gpu"), newest(tmp_path / "cpu"))
    weights = [load_policy(tmp_path / name).network.state_dict() for name in ("gpu", "cpu")]
    assert same(*weights)


@without_cuda
def test_observations_are_sent_from_pinned_memory_without_waiting(
    tmp_path: Path, gpu: PretendGpu
) -> None:
    with gpu:
        train(tmp_path / "gpu", small("dmc", 1, "auto"))
    sent = [how for dtype, *how in gpu.sent if dtype is torch.int8]
    assert len(sent) > 8 and all(how == [True, True] for how in sent)


@without_cuda
@pytest.mark.parametrize(("first", "then"), [("auto", "cpu"), ("cpu", "auto")])
def test_a_run_goes_on_on_another_device(
    tmp_path: Path, gpu: PretendGpu, monkeypatch: pytest.MonkeyPatch, first: str, then: str
) -> None:
    steady = {"learning_rate_final": 1.0, "entropy_final": 1.0, "magnet": 0.1, "magnet_every": 3}
    monkeypatch.setitem(CASES, "steady", {"ppo": steady})
    with gpu:
        train(tmp_path / "moved", small("steady", 2, first))
        train(tmp_path / "moved", small("steady", 4, then), resumes=True)
    train(tmp_path / "stayed", small("steady", 4, "cpu"))
    assert same(newest(tmp_path / "moved"), newest(tmp_path / "stayed"))


def test_a_tensor_left_on_the_processor_is_found(gpu: PretendGpu) -> None:
    with gpu:
        there, here = torch.ones(2).to(GPU), torch.ones(2)
        assert (there + 1).device == GPU and (there + 1).cpu().numpy().tolist() == [2, 2]
        with pytest.raises(RuntimeError, match="got one on the processor"):
            there + here
        with pytest.raises(TypeError, match="numpy"):
            there.numpy()


def test_the_device_may_change_when_a_run_is_resumed() -> None:
    config = small("dmc", 1, "auto")
    assert change_config(config, ["device=cpu"], "run", CHANGEABLE).device == "cpu"
