"""Memory that compiled code writes and networks read, without copies on the processor.

For a policy on a GPU the memory is pinned, and ``send`` brings it there while the processor works.
``TableTensors`` are the observations and masks of a batch of tables. Shapes: B tables, F features,
A actions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tressette_env import kernels_views
from tressette_env.batch import BatchTable
from tressette_env.cards import NUM_CARDS

__all__ = ["TableTensors", "send", "zeros_for"]


def zeros_for(device: torch.device, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Tensor:
    """Return zeros on the processor, pinned if the device is a GPU: to be sent without waiting."""
    zeros = torch.from_numpy(np.zeros(shape, dtype))
    return zeros.pin_memory() if device.type == "cuda" else zeros


def send(tensor: Tensor, device: torch.device) -> Tensor:
    """Return a tensor on the device: itself if it is there, else a transfer under way.

    Work that is queued on the device later finds it complete. Until then pinned memory must not be
    overwritten.
    """
    return tensor.to(device, non_blocking=True)


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
        tables = table.num_tables
        self.observations = zeros_for(self.device, (tables, table.layout.size), np.int8)
        self.masks = zeros_for(self.device, (tables, NUM_CARDS), np.bool_)
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
        kernels_views.spread_sets(self._legal_sets, self._mask_words)
        if self.device.type == "cpu":
            return self.observations, self.masks
        there = (send(self.observations, self.device), send(self.masks, self.device))
        self._sent = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self._sent.record()
        return there
