"""What a measurement was made on: the machine, how busy it was, and the versions."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["describe_machine", "load_average"]

_PACKAGES = ("numpy", "numba", "torch", "gymnasium", "pettingzoo", "open_spiel", "rlcard")


def describe_machine() -> dict[str, str | int | float]:
    """Return names and versions; packages that are not installed are left out."""
    import tressette_env
    from tressette_train.parallel import available_cores

    facts: dict[str, str | int | float] = {
        "cpu": _cpu_model(),
        "cores": available_cores(),
        "os": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "tressette": tressette_env.__version__,
    }
    for package in _PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            continue
    return facts


def load_average() -> float:
    """Return the processes that ran or waited to run in the last minute; -1 where unknown."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else -1.0


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()
