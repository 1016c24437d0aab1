"""Masked proximal policy optimisation: the loss and the update, on one screen.

J. Schulman and others, "Proximal policy optimization algorithms", arXiv 1707.06347. Illegal cards
have probability 0 in rollouts and in the loss (S. Huang and S. Ontanon, arXiv 2006.14171).

Where two learn against each other the policy may run in circles; a KL divergence from the *magnet*,
a copy of the policy that is renewed from time to time, damps that (S. Sokota and others, "A unified
approach to reinforcement learning, quantal response equilibria, and two-player zero-sum games",
arXiv 2206.05825; with the renewal: arXiv 2510.18183).

Minibatches and steps are those of every ``learner``. Shapes: M decisions of one shard in a
minibatch, N in its rollout, F features, A actions.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import torch
from torch import Tensor

from tressette_agents.networks import ActorCritic, mask_logits
from tressette_agents.sampling import draw_cards
from tressette_train.config import PpoConfig
from tressette_train.hands import hand_metrics, hand_terms
from tressette_train.learner import Learner, remaining_share
from tressette_train.parallel import ShardWorkers
from tressette_train.ranks import Ranks
from tressette_train.rollout import Choose, Experience, mask_tensor

__all__ = ["Ppo", "UpdateStats"]

_CHUNK = 8192  # decisions of one forward of the magnet


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
    learning_rate: float
    entropy_weight: float
    hands: dict[str, float] = field(default_factory=dict)

    def metrics(self) -> dict[str, float]:
        """Return the figures by tag."""
        return {
            "losses/policy": self.policy_loss,
            "losses/value": self.value_loss,
            "policy/entropy": self.entropy,
            "policy/kl": self.kl,
            "policy/magnet_kl": self.magnet_kl,
            "policy/clip_fraction": self.clip_fraction,
            "critic/explained_variance": self.explained_variance,
            **self.hands,
            "optimiser/grad_norm": self.grad_norm,
            "optimiser/learning_rate": self.learning_rate,
            "optimiser/entropy_weight": self.entropy_weight,
        }


class Ppo(Learner):
    """The policy and its critic, trained by proximal steps.

    Parameters
    ----------
    network : ActorCritic
        Trained in place.
    config : PpoConfig
    ranks : Ranks, optional

    Attributes
    ----------
    magnet : PolicyNetwork, optional
        None if its weight is 0.
    """

    section = "ppo"
    config: PpoConfig

    def __init__(self, network: ActorCritic, config: PpoConfig, ranks: Ranks | None = None) -> None:
        super().__init__(network, config, ranks)
        if config.magnet > 0:
            self.renew_magnet()

    def renew_magnet(self) -> None:
        """Make the policy as it is now the magnet."""
        self.magnet = copy.deepcopy(self.network.policy).eval().requires_grad_(False)

    def end_update(self, updates: int) -> None:
        """Renew the magnet if it is time."""
        if self.magnet is not None and updates % self.config.magnet_every == 0:
            self.renew_magnet()

    def choose(self, progress: float) -> Choose:
        """See ``Learner.choose``: cards are drawn with the policy's probabilities."""
        return draw_cards

    def update(
        self,
        experiences: list[Experience],
        workers: ShardWorkers,
        progress: float,
        seeds: list[int],
        *,
        imitates: bool = False,
    ) -> UpdateStats:
        """See ``Learner.update``."""
        learning_rate = self.set_learning_rate(progress)
        entropy_weight = self.config.entropy * remaining_share(self.config.entropy_final, progress)
        advantages = [shard.advantages[shard.rows] for shard in experiences]
        values = [shard.values[shard.rows] for shard in experiences]
        everywhere = torch.cat(self.ranks.gather(advantages))
        normalized = _normalize(advantages, everywhere)
        magnets: list[Tensor | None] = [None] * len(experiences)
        if not imitates:
            magnets = workers.map(self._magnet_logits, experiences)

        def gradients(shard: int, chosen: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
            return self.gradients(
                experiences[shard],
                chosen,
                normalized[shard],
                magnets[shard],
                entropy_weight,
                imitates=imitates,
            )

        means, norm = self.descend(experiences, workers, seeds, gradients)
        if imitates and self.magnet is not None:
            self.renew_magnet()  # what comes after is not to be pulled back to before
        policy_loss, value_loss, entropy, kl, magnet_kl, clip_fraction = means[:6].tolist()
        return UpdateStats(
            policy_loss=policy_loss,
            value_loss=value_loss,
            entropy=entropy,
            kl=kl,
            magnet_kl=magnet_kl,
            clip_fraction=clip_fraction,
            grad_norm=norm,
            explained_variance=_explained_variance(
                everywhere, torch.cat(self.ranks.gather(values))
            ),
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
        *,
        imitates: bool = False,
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
        imitates : bool
            Whether the loss is the cross-entropy of the cards played, with the critic's.

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
        if imitates:
            policy_loss, entropy_weight = -log_probabilities.mean(), 0.0
        value_loss = 0.5 * (values - targets).square().mean()
        probabilities = masked.softmax(1)
        entropy = -(probabilities * all_log_probabilities).sum(1).mean()
        loss = policy_loss + self.config.value_weight * value_loss - entropy_weight * entropy
        magnet_kl = loss.new_zeros(())
        if magnet_logits is not None:
            magnet = mask_logits(magnet_logits[chosen], masks).log_softmax(1)
            magnet_kl = (probabilities * (all_log_probabilities - magnet)).sum(1).mean()
            loss = loss + self.config.magnet * magnet_kl
        of_hands = loss.new_zeros(0)
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


def _normalize(shards: list[Tensor], everywhere: Tensor) -> list[Tensor]:
    """Shift and scale advantages so that those of all ranks have mean 0 and deviation 1."""
    mean, deviation = everywhere.mean(), everywhere.std() + 1e-8
    return [(shard - mean) / deviation for shard in shards]


def _explained_variance(errors: Tensor, values: Tensor) -> float:
    """Share of the variance of the critic's targets that its values in the rollout explained."""
    variance = (errors + values).var()
    return float(1 - errors.var() / variance) if variance > 0 else 0.0
