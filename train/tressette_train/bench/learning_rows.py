"""Rows for networks: choosing cards with a policy, and training."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from tressette_env import BatchTable, RuleSet
from tressette_train.bench.timing import Player, Row

__all__ = ["GROUP", "HIDDEN", "inference_rows", "training_rows"]

GROUP = "learning"
HIDDEN = (256, 256)  # layers, those of configs/quick.yaml


def inference_rows(rules: RuleSet, tables: list[int], threads: list[int]) -> list[Row]:
    """Return rows for self-play: observations, one forward of the network, sampling, ``play``."""
    return [
        Row("inference", GROUP, _Inference(rules, count, shared), count, shared)
        for shared in threads
        for count in tables
        if shared == 1 or count >= 1024
    ]


def training_rows(rules: RuleSet, threads: list[int]) -> list[Row]:
    """Return rows for the trainer's loop, and for the arithmetic of its networks alone.

    Settings are those of ``configs/quick.yaml``; deals are cut at the empty stock where the rules
    allow it. A unit of work is an update. In the time of "training" are rollout,
    update and metrics, the latter written to a folder for temporary files. "networks alone"
    computes the forwards, backwards and optimiser steps of as many updates on random numbers.
    """
    from tressette_train.config import TrainConfig

    tables = TrainConfig(decisions=1).rollout.tables
    return [
        Row(name, GROUP, player(rules, shared), tables, shared)
        for shared in threads
        for name, player in (("training", _Training), ("networks alone", _NetworksAlone))
    ]


class _Inference:
    """Makes the player of a row of inference."""

    def __init__(self, rules: RuleSet, tables: int, threads: int) -> None:
        self.rules = rules
        self.tables = tables
        self.threads = threads

    def __call__(self, stack: ExitStack) -> Player:
        import torch

        from tressette_agents.networks import NetworkSpec, PolicyNetwork
        from tressette_agents.sampling import draw_cards
        from tressette_train.tensors import TableTensors

        table = BatchTable(self.tables, self.rules, seed=0, num_threads=self.threads)
        points = np.random.default_rng(0)
        generator = torch.Generator().manual_seed(0)
        network = PolicyNetwork(NetworkSpec(table.layout.size, HIDDEN), generator).eval()
        tensors = TableTensors(table)
        step = table.play_randomly(1)

        def play(plies: int) -> int:
            before = torch.get_num_threads()
            torch.set_num_threads(self.threads)
            with torch.inference_mode():
                for _ in range(plies):
                    observations, _ = tensors.refresh()
                    logits = network(observations.float()).numpy()
                    cards, _ = draw_cards(logits, step.legal_sets, points.random(self.tables))
                    table.play(cards, out=step)
            torch.set_num_threads(before)
            return plies * self.tables

        return play


class _Training:
    """Makes the player of a row of training."""

    def __init__(self, rules: RuleSet, threads: int) -> None:
        self.rules = rules
        self.threads = threads

    def __call__(self, stack: ExitStack) -> Player:
        from tressette_train.parallel import ShardWorkers
        from tressette_train.run_folder import RunFolder
        from tressette_train.trainer import Trainer

        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tressette-bench-")))
        config = _config(self.rules, self.threads)
        trainer = Trainer(config, RunFolder.create(folder / "run", config))
        workers = stack.enter_context(ShardWorkers(self.threads))
        log = stack.enter_context(trainer.opened_log())

        def play(updates: int) -> int:
            before = trainer.counters.plays
            for _ in range(updates):
                trainer.run_update(workers, log)
            return int(trainer.counters.plays) - before

        return play


class _NetworksAlone:
    """Makes the player of a row of the networks' arithmetic in training, and nothing else."""

    def __init__(self, rules: RuleSet, threads: int) -> None:
        self.rules = rules
        self.threads = threads

    def __call__(self, stack: ExitStack) -> Player:
        import torch

        from tressette_env.cards import NUM_CARDS
        from tressette_train.parallel import ShardWorkers
        from tressette_train.rollout import hidden_set_count
        from tressette_train.trainer import make_network

        config = _config(self.rules, self.threads)
        network = make_network(config)
        parameters = list(network.parameters())
        optimizer = torch.optim.Adam(parameters, config.ppo.learning_rate)
        workers = stack.enter_context(ShardWorkers(self.threads))
        tables, plies = config.rollout.tables // config.shards, _plies(self.rules)
        steps = round(tables * plies * config.shards / config.ppo.minibatch)
        sizes = (tables, tables * plies // steps)
        features = network.policy.spec.inputs
        unseen = NUM_CARDS * hidden_set_count(config, self.rules)
        rollout, minibatch = (
            [torch.randint(0, 2, (size, width)).float() for width in (features, unseen)]
            for size in sizes
        )

        def collect(_: int) -> None:
            with torch.inference_mode():
                for _ply in range(plies):
                    network(*rollout)

        def gradients(_: int) -> Any:
            logits, values = network(*minibatch)
            return torch.autograd.grad(
                (logits, values), parameters, (torch.ones_like(logits), torch.ones_like(values))
            )

        def play(updates: int) -> int:
            for _ in range(updates):
                workers.map(collect, range(config.shards))
                for _step in range(config.ppo.epochs * steps):
                    shards = workers.map(gradients, range(config.shards))
                    for parameter, parts in zip(parameters, zip(*shards, strict=True), strict=True):
                        parameter.grad = sum(parts[1:], parts[0])
                    torch.nn.utils.clip_grad_norm_(parameters, config.ppo.max_grad_norm)
                    optimizer.step()
            return updates * int(config.rollout.tables) * plies

        return play


def _plies(rules: RuleSet) -> int:
    """Cards that training plays in a deal."""
    from tressette_train.config import can_end_exactly

    return rules.stock_size if can_end_exactly(rules) else rules.deck_size


def _config(rules: RuleSet, threads: int) -> Any:
    """Return the settings of ``configs/quick.yaml``, without end."""
    from tressette_train.config import (
        CriticConfig,
        NetworkConfig,
        OpponentsConfig,
        PpoConfig,
        RolloutConfig,
        TrainConfig,
        can_end_exactly,
    )

    return TrainConfig(
        rules=rules.name,
        decisions=10**15,
        shards=max(2, threads),
        torch_threads=threads,
        device="cpu",
        rollout=RolloutConfig(exact_endings=can_end_exactly(rules)),
        network=NetworkConfig(hidden=list(HIDDEN)),
        critic=CriticConfig(hidden=list(HIDDEN), sees="hands_and_stock"),
        ppo=PpoConfig(learning_rate=3e-3, epochs=2, entropy=0.05),
        opponents=OpponentsConfig(share=0.0),
    )
