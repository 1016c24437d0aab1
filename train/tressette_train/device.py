"""Where the networks compute: the processor, or a GPU that torch reaches through CUDA.

Only networks and what they read and give go there. Tables, random streams, opponents that are no
snapshots, and files stay on the processor.
"""

from __future__ import annotations

import torch

from tressette_env.errors import ConfigError
from tressette_train.ranks import Ranks

__all__ = ["choose_device", "describe_device"]


def choose_device(wanted: str, ranks: Ranks) -> torch.device:
    """Return the device of this process.

    Parameters
    ----------
    wanted : {"auto", "cpu", "cuda"}
        ``device`` of the config. auto: a GPU, if there is one for each process on this machine.
    ranks : Ranks
        Each of this machine's processes takes a GPU of its own.

    Raises
    ------
    ConfigError
        If it is to be a GPU and there is none, or fewer than processes on this machine; or if the
        processes found different kinds of devices.
    """
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    kind = "cuda" if wanted != "cpu" and gpus >= ranks.local_size else "cpu"
    ranks.check_same({"device": kind})
    if kind == "cuda":
        device = torch.device("cuda", ranks.local_rank)
        torch.cuda.set_device(device)  # else pinned memory would take some of the first one
        return device
    if wanted == "cuda":
        processes = "" if ranks.local_size == 1 else f" for each of {ranks.local_size} processes"
        raise ConfigError(
            f"device: expected a GPU{processes} for cuda, torch {torch.__version__} finds "
            f"{gpus or 'none'} here; --set device=cpu trains on the processor, device=auto on what "
            "there is"
        )
    return torch.device("cpu")


def describe_device(device: torch.device) -> str:
    """Return the device's name for people."""
    if device.type == "cpu":
        return "cpu"
    return f"{device} ({torch.cuda.get_device_name(device)})"
