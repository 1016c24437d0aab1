"""The processes that train together, started by ``torchrun``: each computes some of the shards.

What the shards give is brought to every rank and combined there in the shards' order, so that all
ranks hold the same weights without sending any, and a run gives the same policy bit for bit with
one rank or several. Rank 0 writes the files and talks.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib
import os
from collections.abc import Iterator
from itertools import chain
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from tressette_env.errors import ConfigError, TressetteError, shown

__all__ = ["RankLostError", "Ranks"]

Value = TypeVar("Value")

_PATIENCE = datetime.timedelta(minutes=30)  # a measurement or a compilation of another rank
_UNUSABLE = (
    "WORLD_SIZE is set, but not with all that torchrun sets: start with torchrun, or unset it to "
    "train in one process"
)


def _backend() -> str:
    """Return who carries what: tensors on a GPU go from GPU to GPU, all else by the processor."""
    has_nccl = torch.cuda.is_available() and dist.is_nccl_available()
    return "cpu:gloo,cuda:nccl" if has_nccl else "gloo"


class RankLostError(TressetteError):
    """Another process of the training is gone."""


class Ranks:
    """Where a process stands among those that train together.

    Parameters
    ----------
    rank, size : int
        Which it is, and how many there are; with one nothing is sent.
    local_rank, local_size : int
        The same on this machine alone.
    """

    def __init__(
        self, rank: int = 0, size: int = 1, local_rank: int = 0, local_size: int = 1
    ) -> None:
        self.rank = rank
        self.size = size
        self.local_rank = local_rank
        self.local_size = local_size

    @classmethod
    @contextlib.contextmanager
    def joined(cls) -> Iterator[Ranks]:
        """Join the processes that ``torchrun`` has started, if it has, for the block."""
        told = os.environ.get("WORLD_SIZE", "1")
        if not told.isdecimal():
            raise ConfigError(_UNUSABLE)
        size = int(told)
        if size < 2:
            yield cls()
            return
        # Functions in there have the group of the moment as a default. Imported only later, by
        # something else, they keep its threads alive to Python's end, which may abort the process.
        importlib.import_module("torch.distributed.nn.functional")
        try:
            local = (int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"]))
            dist.init_process_group(_backend(), timeout=_PATIENCE)
        except (KeyError, ValueError, RuntimeError) as error:
            raise ConfigError(_UNUSABLE) from error
        try:
            yield cls(dist.get_rank(), size, *local)
        finally:
            with contextlib.suppress(RuntimeError):
                dist.destroy_process_group()

    @property
    def is_first(self) -> bool:
        """Whether this rank writes the files and talks."""
        return self.rank == 0

    def share(self, shards: int) -> range:
        """Return the shards that this rank computes.

        Raises
        ------
        ConfigError
            If they cannot be shared evenly.
        """
        if shards % self.size:
            raise ConfigError(
                f"shards: expected a multiple of the {self.size} processes that torchrun started, "
                f"got {shards}"
            )
        each = shards // self.size
        return range(self.rank * each, (self.rank + 1) * each)

    def check_same(self, values: dict[str, Any]) -> None:
        """Raise ``ConfigError`` on every rank unless all were given the same values by key."""
        first, *others = self.gather_values([values])
        for rank, other in enumerate(others, 1):
            for key, value in first.items():
                if other.get(key) != value:
                    raise ConfigError(
                        f"{key}: expected the same for all processes of this training, got "
                        f"{shown(value)} for rank 0 and {shown(other.get(key))} for rank {rank}"
                    )

    def gather(self, tensors: list[Tensor]) -> list[Tensor]:
        """Return those of all shards in their order, for those of this rank's; one shape for all.

        They stay on their device, which is of the same kind on all ranks.

        Raises
        ------
        RankLostError
            If another rank is gone.
        """
        if self.size == 1:
            return tensors
        mine = torch.stack(tensors)
        parts = [torch.empty_like(mine) for _ in range(self.size)]
        with self._in_touch():
            dist.all_gather(parts, mine)
        return list(torch.cat(parts).unbind())

    def from_first(self, value: Value) -> Value:
        """Return the first rank's value on every rank."""
        return self.gather_values([value])[0]

    def gather_values(self, values: list[Value]) -> list[Value]:
        """Do what ``gather`` does for small picklable values, of any number a rank."""
        if self.size == 1:
            return values
        parts: list[Any] = [None] * self.size
        with self._in_touch():
            dist.all_gather_object(parts, values)
        return list(chain.from_iterable(parts))

    def any(self, flag: bool) -> bool:
        """Whether the flag is set on any rank."""
        return any(self.gather_values([flag]))

    @contextlib.contextmanager
    def _in_touch(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise RankLostError(
                f"rank {self.rank} of {self.size}: another process of this training is gone "
                f"({str(error).splitlines()[0][:200]}); what was saved is kept: start torchrun "
                "again with --resume and the run's folder"
            ) from error
