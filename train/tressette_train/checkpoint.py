"""Checkpoints: everything that a training run needs to go on exactly as if it had not stopped.

Safetensors with JSON metadata, nothing executed on reading. Random streams need no state here:
each is a function of the seed and the number of the update (``parallel.stream_seed``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from tressette_agents.networks import ActorCritic, PolicyNetwork
from tressette_agents.policy_file import (
    check_bytes,
    check_shapes,
    describe_file,
    describe_observation,
    open_tensors,
    rules_to_json,
)
from tressette_agents.whole_file import write_whole
from tressette_env.errors import ConfigError, PolicyFileError, RunFolderError
from tressette_env.observation import Layout
from tressette_env.rulesets import RuleSet
from tressette_train.config import MAX_SNAPSHOTS, TrainConfig
from tressette_train.config_file import config_from_json
from tressette_train.opponents import OpponentPool, Snapshot

__all__ = ["Checkpoint", "Counters", "newest_checkpoint", "restore", "save_checkpoint"]

FORMAT = "tressette-checkpoint"
FORMAT_VERSION = 2
KEPT = 3
_MOST = 10**15  # of what is counted
_MOMENTS = ("exp_avg", "exp_avg_sq")  # Adam's state for each parameter, beside its step


@dataclass
class Counters:
    """How far a run has come.

    Attributes
    ----------
    update : int
        Updates made.
    decisions : int
        The learner's decisions trained on.
    plays : int
        Cards played at all tables.
    seconds : float
        Time spent on updates, over all sessions.
    """

    update: int = 0
    decisions: int = 0
    plays: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint file that was opened and found whole; its tensors are read by ``restore``."""

    path: Path
    tensors: Any
    config: TrainConfig
    counters: Counters
    snapshots: list[tuple[int, float, float]]  # update, deals and wins of each
    described: dict[str, Any]


def save_checkpoint(
    folder: Path,
    config: TrainConfig,
    network: ActorCritic,
    optimizer: torch.optim.Adam,
    magnet: PolicyNetwork | None,
    pool: OpponentPool,
    counters: Counters,
    rules: RuleSet,
    layout: Layout,
) -> Path:
    """Write a checkpoint, then remove all but the newest three.

    Raises
    ------
    OSError
        If it cannot be written; the older ones are kept.
    """
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    for name, parameter in network.named_parameters():
        state = optimizer.state.get(parameter, {})
        for moment in _MOMENTS:
            value = state.get(moment)
            tensors[f"adam.{moment}.{name}"] = (
                torch.zeros_like(parameter) if value is None else value
            )
    for index, snapshot in enumerate(pool.snapshots):
        for name, value in snapshot.network.state_dict().items():
            tensors[f"snapshot.{index}.{name}"] = value
    if magnet is not None:
        tensors |= {f"magnet.{name}": value for name, value in magnet.state_dict().items()}
    described = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "config": config.model_dump(mode="json"),
        "counters": asdict(counters),
        "adam_steps": _adam_steps(optimizer),
        "snapshots": [[one.update, one.deals, one.wins] for one in pool.snapshots],
        "observation": describe_observation(layout),
        "rules": rules_to_json(rules),
        "torch": torch.__version__,
    }
    whole = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    data = save(whole, describe_file(described, whole))
    path = folder / f"{counters.update:08d}.safetensors"
    write_whole(path, data)
    for old in sorted(folder.glob("*.safetensors"))[:-KEPT]:
        old.unlink()
    return path


def _adam_steps(optimizer: torch.optim.Adam) -> int:
    return max((int(state["step"]) for state in optimizer.state.values()), default=0)


def newest_checkpoint(folder: Path, on_damaged: Callable[[str], None]) -> Checkpoint:
    """Open the newest whole checkpoint of a folder.

    Parameters
    ----------
    folder : Path
    on_damaged : callable
        Told why, for each newer one that is damaged.

    Raises
    ------
    RunFolderError
        If there is none.
    """
    files = sorted(folder.glob("*.safetensors"), reverse=True)
    problems = []
    for path in files:
        try:
            checkpoint = _open(path)
        except (ConfigError, PolicyFileError) as error:
            problems.append(str(error))
            continue
        for problem in problems:
            on_damaged(f"{problem}; going on from {path.name}")
        return checkpoint
    reason = f"; the newest: {problems[0]}" if problems else ""
    raise RunFolderError(f"run folder {folder.parent}: no whole checkpoint to resume{reason}")


def _open(path: Path) -> Checkpoint:
    tensors, described = open_tensors(path, FORMAT, FORMAT_VERSION)
    config = config_from_json(described.get("config"), str(path))
    try:
        counters = Counters(**described["counters"])
        adam_steps, seconds = described["adam_steps"], counters.seconds
        numbers = (counters.update, counters.decisions, counters.plays, adam_steps)
        if not all(type(one) is int and 0 <= one <= _MOST for one in numbers):
            raise ValueError("counters out of range")
        if type(seconds) not in (int, float) or not 0 <= seconds < inf:
            raise ValueError("seconds out of range")
        snapshots = [
            (int(one), float(deals), float(wins)) for one, deals, wins in described["snapshots"]
        ]
        if len(snapshots) > MAX_SNAPSHOTS:
            raise ValueError("too many snapshots")
        if any(one < 0 or not 0 <= wins <= deals < inf for one, deals, wins in snapshots):
            raise ValueError("snapshots out of range")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise PolicyFileError(f"{path}: its description is damaged: {error}") from error
    names = list(tensors.keys())
    others = {tensors.get_slice(name).get_dtype() for name in names} - {"F32"}
    if others:
        raise PolicyFileError(f"{path}: expected float32 weights, got {', '.join(sorted(others))}")
    loaded = {name: tensors.get_tensor(name) for name in names}
    check_bytes(path, loaded, described)
    return Checkpoint(path, tensors, config, counters, snapshots, described)


def restore(
    checkpoint: Checkpoint,
    network: ActorCritic,
    optimizer: torch.optim.Adam,
    magnet: PolicyNetwork | None,
    pool: OpponentPool,
    rules: RuleSet,
    layout: Layout,
) -> None:
    """Put a checkpoint into a network, optimiser, magnet and pool made for its config.

    Files are read on the processor; the network's device may be another one than it was.

    Raises
    ------
    PolicyFileError
        If it was made for other observations or rules, or its tensors do not fit.
    """
    path, described = checkpoint.path, checkpoint.described
    if described.get("observation") != describe_observation(layout):
        raise PolicyFileError(
            f"{path}: trained on other observations than this version of tressette makes"
        )
    if described.get("rules") != rules_to_json(rules):
        raise PolicyFileError(
            f"{path}: the rules of {rules.name!r} are not those that the run was trained for"
        )
    parameters = dict(network.named_parameters())
    frozen = network.policy.state_dict()
    device = network.policy.head.weight.device
    expected: dict[str, Tensor] = {f"network.{name}": value for name, value in parameters.items()}
    for moment in _MOMENTS:
        expected |= {f"adam.{moment}.{name}": value for name, value in parameters.items()}
    for index in range(len(checkpoint.snapshots)):
        expected |= {f"snapshot.{index}.{name}": value for name, value in frozen.items()}
    if magnet is not None:
        expected |= {f"magnet.{name}": value for name, value in frozen.items()}
    check_shapes(path, checkpoint.tensors, expected)

    def read(prefix: str, names: Any) -> dict[str, Tensor]:
        return {name: checkpoint.tensors.get_tensor(prefix + name) for name in names}

    network.load_state_dict(read("network.", parameters))
    steps = torch.tensor(float(described["adam_steps"]))
    moments = {moment: read(f"adam.{moment}.", parameters) for moment in _MOMENTS}
    optimizer.state.clear()
    if described["adam_steps"]:
        for name, parameter in parameters.items():
            optimizer.state[parameter] = {
                "step": steps.clone(),
                **{
                    moment: moments[moment][name].to(parameter.device, copy=True)
                    for moment in _MOMENTS
                },
            }
    if magnet is not None:
        magnet.load_state_dict(read("magnet.", frozen))
    pool.snapshots = []
    for index, (update, deals, wins) in enumerate(checkpoint.snapshots):
        snapshot = PolicyNetwork(network.policy.spec)
        snapshot.load_state_dict(read(f"snapshot.{index}.", frozen))
        snapshot.to(device).eval().requires_grad_(False)
        pool.snapshots.append(Snapshot(update, snapshot, deals, wins))
