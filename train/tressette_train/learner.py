"""What every algorithm's update shares: minibatches of all shards, mean gradients, Adam's steps.

Every minibatch is made of equal shares of the shards; their gradients are averaged in the shards'
order. Shapes: M decisions of one shard in a minibatch, N in its rollout, A actions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from tressette_agents.networks import ActorCritic, PolicyNetwork
from tressette_env.errors import TressetteError
from tressette_train.config import UpdateConfig
from tressette_train.parallel import ShardWorkers
from tressette_train.ranks import Ranks
from tressette_train.rollout import Choose, Experience
from tressette_train.tensors import send

__all__ = ["DivergedError", "Gradients", "Learner", "Stats", "remaining_share"]

#: From the number of a shard and int64[M], which of its N decisions: the gradients of the loss on
#: them, one for each parameter, and what is measured on the way, float32[...].
Gradients = Callable[[int, Tensor], tuple[tuple[Tensor, ...], Tensor]]


class DivergedError(TressetteError):
    """A loss or gradient that is not a finite number; the weights are those before that step."""


class Stats(Protocol):
    """What one update measured, means over its minibatches."""

    def metrics(self) -> dict[str, float]:
        """Return the figures by tag; see ``metrics.METRICS``."""
        ...


class Learner(ABC):
    """A network, its optimiser, and the update of an algorithm.

    Parameters
    ----------
    network : ActorCritic
        Trained in place, on its device.
    config : UpdateConfig
        The algorithm's section.
    ranks : Ranks, optional
        The processes that train together.

    Attributes
    ----------
    section : str
        That section's name.
    device : torch.device
        The network's.
    outputs : {"logits", "values"}
        What the policy gives each card, for its file.
    magnet : PolicyNetwork, optional
        An earlier copy of the policy that the update needs, kept in checkpoints.
    """

    section: str
    outputs = "logits"

    def __init__(
        self, network: ActorCritic, config: UpdateConfig, ranks: Ranks | None = None
    ) -> None:
        self.network = network
        self.config = config
        self.ranks = ranks or Ranks()
        self.parameters = list(network.parameters())
        self.device = self.parameters[0].device
        self.optimizer = torch.optim.Adam(self.parameters, config.learning_rate, eps=1e-5)
        self.magnet: PolicyNetwork | None = None

    @abstractmethod
    def choose(self, progress: float) -> Choose:
        """Return how rollouts choose cards at this share of the budget, 0 to 1."""

    @abstractmethod
    def update(
        self,
        experiences: list[Experience],
        workers: ShardWorkers,
        progress: float,
        seeds: list[int],
        *,
        imitates: bool = False,
    ) -> Stats:
        """Improve the network with one rollout.

        Parameters
        ----------
        experiences : list of Experience
            One for each shard of this rank, all with the same number of decisions, on the
            network's device.
        workers : ShardWorkers
        progress : float
            Share of the budget used, 0 to 1: where what moves over the budget is.
        seeds : list of int
            For each shard, what draws the order of its decisions.
        imitates : bool
            Whether a teacher has played, whose cards are to become the likely ones; an algorithm
            that learns what cards are worth learns that from anybody's.

        Raises
        ------
        DivergedError
            If a gradient is not finite; the step is not made.
        """

    def end_update(self, updates: int) -> None:  # noqa: B027
        """Do what is due after so many updates; most algorithms have nothing to do."""

    def set_learning_rate(self, progress: float) -> float:
        """Move Adam's step size to where it is at this share of the budget; return it."""
        final = self.config.learning_rate_final
        rate = self.config.learning_rate * remaining_share(final, progress)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def descend(
        self,
        experiences: list[Experience],
        workers: ShardWorkers,
        seeds: list[int],
        gradients: Gradients,
    ) -> tuple[Tensor, float]:
        """Make all epochs' steps, each along the shards' mean gradient.

        Returns
        -------
        stats : float32[...]
            Mean of what ``gradients`` measured.
        norm : float
            Mean length of the gradient before it is shortened.
        """
        shards = range(len(experiences))
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        decisions = len(experiences[0].rows)
        everywhere = decisions * len(experiences) * self.ranks.size
        steps = max(1, round(everywhere / self.config.minibatch))
        bounds = np.linspace(0, decisions, steps + 1).astype(int).tolist()
        size = sum(parameter.numel() for parameter in self.parameters)
        measured, norms = [], []
        for _ in range(self.config.epochs):
            orders = [
                send(torch.randperm(decisions, generator=one), self.device) for one in generators
            ]
            for start, end in pairwise(bounds):
                parts = [order[start:end] for order in orders]
                results = workers.map(
                    lambda part: gradients(*part), zip(shards, parts, strict=True)
                )
                flat = self.ranks.gather([_flat(*result) for result in results])
                norms.append(self._step(sum(flat[1:], flat[0])[:size] / len(flat)))
                measured += [one[size:] for one in flat]
        return torch.stack(measured).mean(0), float(np.mean(norms))

    def _step(self, gradient: Tensor) -> float:
        """Make one step of Adam along a gradient of all parameters; return its norm."""
        parts = torch.split(gradient, [parameter.numel() for parameter in self.parameters])
        for parameter, part in zip(self.parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter)
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm)
        if not bool(norm.isfinite()):
            raise DivergedError(
                f"the gradient is not a finite number (norm {norm.item()}); a smaller "
                f"{self.section}.learning_rate may help"
            )
        self.optimizer.step()
        return float(norm)


def _flat(gradients: tuple[Tensor, ...], stats: Tensor) -> Tensor:
    """Return a shard's gradients and what was measured as one vector."""
    return torch.cat([*(gradient.flatten() for gradient in gradients), stats.flatten()])


def remaining_share(final: float, progress: float) -> float:
    """Return what is left of a value that moves from 1 to ``final``."""
    return 1 + (final - 1) * min(max(progress, 0.0), 1.0)
