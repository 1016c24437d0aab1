"""Tensors over a table's memory."""

from __future__ import annotations

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
