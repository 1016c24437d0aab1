"""Observations and masks of a batch of tables as torch tensors, without copies.

Tensor and table share memory: the compiled code writes straight into what the network reads. For a
policy on a GPU the memory is pinned, and the transfer goes on while the processor works. Shapes: B
tables, F features, A actions.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tressette_env import kernels
from tressette_env.batch import BatchTable
from tressette_env.cards import NUM_CARDS

__all__ = ["TableTensors"]


class TableTensors:
    """What the seats to act see, as tensors.

    Parameters
    ----------
    table : BatchTable
    device : str or torch.device
        Where the policy is; with "cuda" the buffers are pinned.

    Attributes
    ----------
    observations : int8[B, F]
        On the processor; overwritten by every ``refresh``.
    masks : bool[B, A]
        Likewise.
    """

    def __init__(self, table: BatchTable, device: str | torch.device = "cpu") -> None:
        self.table = table
        self.device = torch.device(device)
        pinned = self.device.type == "cuda"
        shape = (table.num_tables, table.layout.size)
        self.observations = torch.zeros(shape, dtype=torch.int8, pin_memory=pinned)
        self.masks = torch.zeros((table.num_tables, NUM_CARDS), dtype=torch.bool, pin_memory=pinned)
        self._features = self.observations.numpy()
        self._mask_words = self.masks.numpy().view("int64")
        self._legal_sets = np.empty(table.num_tables, np.int64)
        self._sent: torch.cuda.Event | None = None  # the last transfer, done once it is reached

    def refresh(self) -> tuple[Tensor, Tensor]:
        """Observe every table's seat to act.

        Returns
        -------
        observations, masks : Tensor
            int8[B, F] and bool[B, A] on ``device``: the attributes themselves on the processor, a
            transfer under way on a GPU (ordered before the work that is queued next).
        """
        if self._sent is not None:
            self._sent.synchronize()  # what is still being read must not be overwritten
        self.table.observe(out=self._features)
        self.table.write_legal_sets(self._legal_sets)
        kernels.spread_sets(self._legal_sets, self._mask_words)
        if self.device.type == "cpu":
            return self.observations, self.masks
        there = (
            self.observations.to(self.device, non_blocking=True),
            self.masks.to(self.device, non_blocking=True),
        )
        self._sent = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self._sent.record()
        return there
