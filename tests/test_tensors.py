"""Tensors over a table's memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch

from tressette_env import BatchTable
from tressette_train.tensors import TableTensors


def test_tensors_hold_what_the_seats_to_act_see_after_every_card() -> None:
    table = BatchTable(16, "cuperativa", seed=3)
    tensors = TableTensors(table)
    for _ in range(45):
        observations, masks = tensors.refresh()
        np.testing.assert_array_equal(observations.numpy(), table.observations)
        np.testing.assert_array_equal(masks.numpy(), table.legal_masks)
        table.play(masks.int().argmax(1).numpy())


def test_nothing_is_copied_on_the_processor() -> None:
    table = BatchTable(8, seed=0)
    tensors = TableTensors(table)
    first = tensors.refresh()
    table.play(table.legal_masks.argmax(1))
    second = tensors.refresh()
    assert [one.data_ptr() for one in first] == [one.data_ptr() for one in second]
    assert first[0].equal(torch.from_numpy(table.observations))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_the_buffers_are_pinned_and_the_values_arrive() -> None:
    table = BatchTable(8, seed=0)
    tensors = TableTensors(table, "cuda")
    assert tensors.observations.is_pinned()
    observations, masks = tensors.refresh()
    torch.cuda.synchronize()
    np.testing.assert_array_equal(observations.cpu().numpy(), table.observations)
    np.testing.assert_array_equal(masks.cpu().numpy(), table.legal_masks)


class Events:
    """In place of CUDA events: remembers the order of what happens."""

    log: list[str] = []  # noqa: RUF012

    def record(self) -> None:
        self.log.append("record")

    def synchronize(self) -> None:
        self.log.append("synchronize")


def test_what_is_sent_to_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pinned buffers, both sent without blocking, not overwritten before they have arrived."""
    table = BatchTable(8, seed=0)
    pinned, sent = [], []

    def pin(tensor: torch.Tensor) -> torch.Tensor:
        pinned.append(tensor)
        return tensor

    def send(tensor: torch.Tensor, device: Any, non_blocking: bool = False) -> torch.Tensor:
        Events.log.append("send")
        sent.append((torch.device(device).type, non_blocking))
        return tensor.clone()

    observe = BatchTable.observe

    def logged(self: BatchTable, **options: Any) -> Any:
        Events.log.append("observe")
        return observe(self, **options)

    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    monkeypatch.setattr(torch.Tensor, "to", send)
    monkeypatch.setattr(torch.cuda, "Event", Events)
    monkeypatch.setattr(BatchTable, "observe", logged)
    Events.log.clear()
    tensors = TableTensors(table, "cuda")
    for _ in range(2):
        observations, masks = tensors.refresh()
    assert pinned[0] is tensors.observations and pinned[1] is tensors.masks
    assert sent == [("cuda", True)] * 4
    assert Events.log == [
        *("observe", "send", "send", "record"),
        *("synchronize", "observe", "send", "send", "record"),
    ]
    assert observations.equal(torch.from_numpy(table.observations))
    assert masks.equal(torch.from_numpy(table.legal_masks))


def test_a_refresh_allocates_nothing_that_grows_with_the_tables() -> None:
    tensors = TableTensors(BatchTable(20_000, seed=0))
    tensors.refresh()
    tracemalloc.start()
    tensors.refresh()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000
