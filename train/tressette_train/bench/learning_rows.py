"""Rows for networks: choosing cards with a policy, and training."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from tressette_env import BatchTable, RuleSet
from tressette_env.batch_views import masks_of
from tressette_train.bench.timing import Player, Row

__all__ = ["GROUP", "HIDDEN", "inference_rows", "training_rows"]

GROUP = "learning"
HIDDEN = (256, 256)  # layers of the network that chooses cards; training has its config's


def inference_rows(rules: RuleSet, tables: list[int], threads: list[int]) -> list[Row]:
    """Return rows for self-play: observations, one forward of the network, sampling, ``play``."""
    return [
        Row("inference", GROUP, _Inference(rules, count, shared), count, shared)
        for shared in threads
        for count in tables
        if shared == 1 or count >= 1024
    ]


def training_rows(rules: RuleSet, threads: list[int]) -> list[Row]:
    """Return rows for the trainer's loop with the settings that a config has by default.

    A unit of work is an update; checkpoints and metrics, written to a folder for temporary files,
    are in the time.
    """
    from tressette_train.config import TrainConfig

    tables = TrainConfig(decisions=1).rollout.tables
    return [Row("training", GROUP, _Training(rules, shared), tables, shared) for shared in threads]


class _Inference:
    """Makes the player of a row of inference."""

    def __init__(self, rules: RuleSet, tables: int, threads: int) -> None:
        self.rules = rules
        self.tables = tables
        self.threads = threads

    def __call__(self, stack: ExitStack) -> Player:
        import torch

        from tressette_agents.networks import (
            NetworkSpec,
            PolicyNetwork,
            masked_log_probabilities,
            sample_cards,
        )

        table = BatchTable(self.tables, self.rules, seed=0, num_threads=self.threads)
        generator = torch.Generator().manual_seed(0)
        network = PolicyNetwork(NetworkSpec(table.layout.size, HIDDEN), generator).eval()
        observations = np.empty((self.tables, table.layout.size), np.int8)
        inputs = torch.from_numpy(observations)  # the same memory
        step = table.play_randomly(1)

        def play(plies: int) -> int:
            before = torch.get_num_threads()
            torch.set_num_threads(self.threads)
            with torch.inference_mode():
                for _ in range(plies):
                    table.observe(out=observations)
                    masks = torch.from_numpy(masks_of(step.legal_sets))
                    chances = masked_log_probabilities(network(inputs.float()), masks)
                    table.play(sample_cards(chances, generator).numpy(), out=step)
            torch.set_num_threads(before)
            return plies * self.tables

        return play


class _Training:
    """Makes the player of a row of training."""

    def __init__(self, rules: RuleSet, threads: int) -> None:
        self.rules = rules
        self.threads = threads

    def __call__(self, stack: ExitStack) -> Player:
        from tressette_train.config import TrainConfig
        from tressette_train.run_folder import RunFolder
        from tressette_train.trainer import Trainer

        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tressette-bench-")))
        config = TrainConfig(
            rules=self.rules.name,
            decisions=10**15,
            shards=max(2, self.threads),
            torch_threads=self.threads,
        )
        display = _StopsAfter()
        trainer = Trainer(config, RunFolder.create(folder / "run", config), display)
        display.trainer = trainer

        def play(updates: int) -> int:
            before = trainer.counters.plays
            display.updates_left = updates
            trainer.stop_requested = False
            trainer.train()
            return int(trainer.counters.plays) - before

        return play


class _StopsAfter:
    """A silent display that stops its trainer after a number of updates."""

    def __init__(self) -> None:
        self.trainer: Any = None
        self.updates_left = 0

    def message(self, text: str) -> None:
        """Show nothing."""

    def begin(self, counters: Any) -> None:
        """Show nothing."""

    def progress(self, counters: Any, total: int, row: dict[str, float]) -> None:
        """Count an update."""
        self.updates_left -= 1
        self.trainer.stop_requested = self.updates_left <= 0
