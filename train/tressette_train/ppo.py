"""Masked proximal policy optimisation: the loss and the update, on one screen.

J. Schulman and others, "Proximal policy optimization algorithms", arXiv 1707.06347. Illegal cards
have probability 0 in rollouts and in the loss (S. Huang and S. Ontanon, arXiv 2006.14171).

Where two learn against each other the policy may run in circles; a KL divergence from the *magnet*,
a copy of the policy that is renewed from time to time, damps that (S. Sokota and others, "A unified
approach to reinforcement learning, quantal response equilibria, and two-player zero-sum games",
arXiv 2206.05825; with the renewal: arXiv 2510.18183).

Every minibatch is made of equal shares of the shards; their gradients are averaged in the shards'
order. Shapes: M decisions of one shard in a minibatch, N in its rollout, F features, A actions.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from tressette_agents.networks import ActorCritic, PolicyNetwork, mask_logits
from tressette_env.errors import TressetteError
from tressette_train.config import PpoConfig
from tressette_train.hands import hand_metrics, hand_terms
from tressette_train.parallel import ShardWorkers
from tressette_train.ranks import Ranks
from tressette_train.rollout import Experience, mask_tensor

__all__ = ["DivergedError", "Ppo", "UpdateStats"]


_CHUNK = 8192  # decisions of one forward of the magnet


class DivergedError(TressetteError):
    """A loss or gradient that is not a finite number; the weights are those before that step."""


@dataclass(frozen=True)
class UpdateStats:
    """What one update measured, means over its minibatches; see ``metrics.METRICS``.

    ``hands`` holds the hand head's metrics by tag; none without one.
    """

    policy_loss: float
    value_loss: float
    entropy: float
    kl: float
    magnet_kl: float
    clip_fraction: float
    grad_norm: float
    explained_variance: float
    returns_mean: float
    returns_std: float
    learning_rate: float
    entropy_weight: float
    hands: dict[str, float] = field(default_factory=dict)


class Ppo:
    """The learner: a network, its optimiser, and the update.

    Parameters
    ----------
    network : ActorCritic
        Trained in place.
    config : PpoConfig
    ranks : Ranks, optional
        The processes that train together.

    Attributes
    ----------
    magnet : PolicyNetwork, optional
        None if its weight is 0.
    """

    def __init__(self, network: ActorCritic, config: PpoConfig, ranks: Ranks | None = None) -> None:
        self.network = network
        self.config = config
        self.ranks = ranks or Ranks()
        self.parameters = list(network.parameters())
        self.optimizer = torch.optim.Adam(self.parameters, config.learning_rate, eps=1e-5)
        self.magnet: PolicyNetwork | None = None
        if config.magnet > 0:
            self.renew_magnet()

    def renew_magnet(self) -> None:
        """Make the policy as it is now the magnet."""
        self.magnet = copy.deepcopy(self.network.policy).eval().requires_grad_(False)

    def update(
        self,
        experiences: list[Experience],
        workers: ShardWorkers,
        progress: float,
        seeds: list[int],
    ) -> UpdateStats:
        """Improve the network with one rollout.

        Parameters
        ----------
        experiences : list of Experience
            One for each shard of this rank, all with the same number of decisions.
        workers : ShardWorkers
        progress : float
            Share of the budget used, 0 to 1: where learning rate and entropy weight are.
        seeds : list of int
            For each shard, what draws the order of its decisions.

        Raises
        ------
        DivergedError
            If a gradient is not finite; the step is not made.
        """
        config = self.config
        learning_rate = config.learning_rate * _share(config.learning_rate_final, progress)
        entropy_weight = config.entropy * _share(config.entropy_final, progress)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        advantages = [shard.advantages[shard.rows] for shard in experiences]
        everywhere = torch.cat(self.ranks.gather(advantages))
        values = [shard.values[shard.rows] for shard in experiences]
        targets = everywhere + torch.cat(self.ranks.gather(values))
        normalized = _normalize(advantages, everywhere)
        magnets = workers.map(self._magnet_logits, experiences)
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        decisions = len(experiences[0].rows)
        shards = len(experiences) * self.ranks.size
        steps = max(1, round(decisions * shards / config.minibatch))
        bounds = np.linspace(0, decisions, steps + 1).astype(int).tolist()
        weights = sum(parameter.numel() for parameter in self.parameters)
        sums, norms = torch.zeros(()), []
        for _ in range(config.epochs):
            orders = [torch.randperm(decisions, generator=one) for one in generators]
            for start, end in pairwise(bounds):
                parts = [
                    (shard, order[start:end], normal, magnet)
                    for shard, order, normal, magnet in zip(
                        experiences, orders, normalized, magnets, strict=True
                    )
                ]
                mine = workers.map(lambda part: self.gradients(*part, entropy_weight), parts)
                parts_of_all = self.ranks.gather([_flat(*result) for result in mine])
                total = sum(parts_of_all[1:], parts_of_all[0])
                norms.append(self._step(total[:weights] / len(parts_of_all)))
                sums = sums + total[weights:]
        means = sums / (config.epochs * steps * shards)
        policy_loss, value_loss, entropy, kl, magnet_kl, clip_fraction = means[:6].tolist()
        return UpdateStats(
            policy_loss=policy_loss,
            value_loss=value_loss,
            entropy=entropy,
            kl=kl,
            magnet_kl=magnet_kl,
            clip_fraction=clip_fraction,
            grad_norm=float(np.mean(norms)),
            explained_variance=_explained_variance(everywhere, targets),
            returns_mean=float(targets.mean()),
            returns_std=float(targets.std()),
            learning_rate=learning_rate,
            entropy_weight=entropy_weight,
            hands=hand_metrics(means[6:]),
        )

    def _magnet_logits(self, shard: Experience) -> Tensor | None:
        """Return the magnet's logits float32[N, A] for a shard's decisions; None without one."""
        if self.magnet is None:
            return None
        with torch.inference_mode():
            parts = [
                self.magnet(shard.observations.index_select(0, rows).float())
                for rows in torch.split(shard.rows, _CHUNK)
            ]
        return torch.cat(parts)

    def gradients(
        self,
        shard: Experience,
        chosen: Tensor,
        advantages: Tensor,
        magnet_logits: Tensor | None,
        entropy_weight: float,
    ) -> tuple[tuple[Tensor, ...], Tensor]:
        """Gradients of the loss on some of a shard's decisions; changes nothing.

        Parameters
        ----------
        shard : Experience
        chosen : int64[M]
            Which of the shard's N decisions.
        advantages : float32[N]
            Normalised, for the shard's decisions in order.
        magnet_logits : float32[N, A], optional
            The magnet's, for the shard's decisions in order.
        entropy_weight : float

        Returns
        -------
        gradients : tuple of Tensor
            One for each of ``parameters``.
        stats : float32[6], or more
            Policy loss, value loss, entropy, KL from the rollout's policy, KL from the magnet,
            clipped share; with a hand head, what ``hand_terms`` gives.
        """
        rows = shard.rows[chosen]
        advantages = advantages[chosen]
        targets = shard.advantages[rows] + shard.values[rows]
        observations = shard.observations.index_select(0, rows)
        hidden = None
        if shard.hidden_sets.shape[1]:
            hidden = mask_tensor(shard.hidden_sets[rows]).flatten(1).float()
        logits, values, predictions = self.network.judge(observations.float(), hidden)
        masks = mask_tensor(shard.legal_sets[rows])
        masked = mask_logits(logits, masks)
        all_log_probabilities = masked.log_softmax(1)
        log_probabilities = all_log_probabilities.gather(1, shard.cards[rows, None])[:, 0]

        log_ratio = log_probabilities - shard.log_probabilities[rows]
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - self.config.clip, 1 + self.config.clip)
        policy_loss = -torch.minimum(ratio * advantages, clipped * advantages).mean()
        value_loss = 0.5 * (values - targets).square().mean()
        probabilities = masked.softmax(1)
        entropy = -(probabilities * all_log_probabilities).sum(1).mean()
        loss = policy_loss + self.config.value_weight * value_loss - entropy_weight * entropy
        magnet_kl = torch.zeros(())
        if magnet_logits is not None:
            magnet = mask_logits(magnet_logits[chosen], masks).log_softmax(1)
            magnet_kl = (probabilities * (all_log_probabilities - magnet)).sum(1).mean()
            loss = loss + self.config.magnet * magnet_kl
        of_hands = torch.zeros(0)
        if predictions is not None and self.network.hand_head is not None:
            others = self.network.hand_head.spec.others
            hands = mask_tensor(shard.hidden_sets[rows, :others])
            unseen = self.network.hand_head.unseen(observations)
            hand_loss, of_hands = hand_terms(predictions, hands, unseen)
            loss = loss + self.config.hand_weight * hand_loss
        gradients = torch.autograd.grad(loss, self.parameters)

        with torch.no_grad():
            kl = (ratio - 1 - log_ratio).mean()  # Schulman's k3: never negative
            clip_fraction = ((ratio - 1).abs() > self.config.clip).float().mean()
            stats = torch.stack((policy_loss, value_loss, entropy, kl, magnet_kl, clip_fraction))
        return gradients, torch.cat((stats, of_hands))

    def _step(self, gradient: Tensor) -> float:
        """Make one step of Adam along a gradient of all parameters; return its norm."""
        parts = torch.split(gradient, [parameter.numel() for parameter in self.parameters])
        for parameter, part in zip(self.parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter)
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm)
        if not bool(norm.isfinite()):
            raise DivergedError(
                f"the gradient is not a finite number (norm {norm.item()}); a smaller "
                "ppo.learning_rate may help"
            )
        self.optimizer.step()
        return float(norm)


def _share(final: float, progress: float) -> float:
    """Return what is left of a value that moves from 1 to ``final``."""
    return 1 + (final - 1) * min(max(progress, 0.0), 1.0)


def _flat(gradients: tuple[Tensor, ...], stats: Tensor) -> Tensor:
    """Return gradients and stats of a shard as one vector."""
    return torch.cat([*(gradient.flatten() for gradient in gradients), stats])


def _normalize(shards: list[Tensor], everywhere: Tensor) -> list[Tensor]:
    """Shift and scale advantages so that those of all ranks have mean 0 and deviation 1."""
    mean, deviation = everywhere.mean(), everywhere.std() + 1e-8
    return [(shard - mean) / deviation for shard in shards]


def _explained_variance(errors: Tensor, targets: Tensor) -> float:
    """Share of the variance of the critic's targets that its values in the rollout explained."""
    variance = targets.var()
    return float(1 - errors.var() / variance) if variance > 0 else 0.0
