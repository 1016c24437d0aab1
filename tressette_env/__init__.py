"""Tressette: rules, views and environments for reinforcement learning.

``import tressette_env`` registers the environments and loads neither torch nor numba; names below
are imported when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tressette_env import tressette_v0
    from tressette_env.batch import BatchTable
    from tressette_env.batch_step import BatchStep
    from tressette_env.errors import IllegalCardError, TressetteError
    from tressette_env.observation import BLOCKS, explain
    from tressette_env.rulesets import PRESETS, RuleSet, get_rules
    from tressette_env.single import SingleSeatEnv
    from tressette_env.view import View

__version__ = "0.1.0"

_HOME = {
    "BLOCKS": "observation",
    "BatchStep": "batch_step",
    "BatchTable": "batch",
    "IllegalCardError": "errors",
    "PRESETS": "rulesets",
    "RuleSet": "rulesets",
    "SingleSeatEnv": "single",
    "TressetteError": "errors",
    "View": "view",
    "explain": "observation",
    "get_rules": "rulesets",
}

__all__ = [
    "BLOCKS",
    "PRESETS",
    "BatchStep",
    "BatchTable",
    "IllegalCardError",
    "RuleSet",
    "SingleSeatEnv",
    "TressetteError",
    "View",
    "explain",
    "get_rules",
    "tressette_v0",
]


def _register() -> None:
    import gymnasium
    import pettingzoo

    pettingzoo.register("aec", "Tressette-v0", entry_point="tressette_env.tressette_v0:env")
    gymnasium.register(
        "Tressette-v0",
        entry_point="tressette_env.single:SingleSeatEnv",
        vector_entry_point="tressette_env.vector:TressetteVectorEnv",
    )


_register()


def __getattr__(name: str) -> Any:
    if name == "tressette_v0":
        return importlib.import_module("tressette_env.tressette_v0")
    if name in _HOME:
        return getattr(importlib.import_module(f"tressette_env.{_HOME[name]}"), name)
    raise AttributeError(f"module 'tressette_env' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
