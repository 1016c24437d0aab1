"""Deep Monte Carlo: the network gives each card a value, the reward still to come if it is played.

D. Zha and others, "DouZero: mastering DouDizhu with self-play deep reinforcement learning", arXiv
2106.06135. The best card is played, with probability epsilon any legal one; the value of the card
played is fitted to what its side wins from there to the end of the deal. There is no critic, and no
estimate is a target of another one: deals are short, and their returns true, if noisy.

Minibatches and steps are those of every ``learner``. Shapes: M decisions of one shard in a
minibatch, N decisions, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tressette_env.batch_views import masks_of
from tressette_train.config import DmcConfig
from tressette_train.learner import Learner, remaining_share
from tressette_train.parallel import ShardWorkers
from tressette_train.rollout import Choose, Experience

__all__ = ["Dmc", "DmcStats", "choose_epsilon_greedy"]


@dataclass(frozen=True)
class DmcStats:
    """What one update measured, means over its minibatches; see ``metrics.METRICS``."""

    value_loss: float
    explained_variance: float
    epsilon: float
    grad_norm: float
    learning_rate: float

    def metrics(self) -> dict[str, float]:
        """Return the figures by tag."""
        return {
            "losses/value": self.value_loss,
            "values/explained_variance": self.explained_variance,
            "policy/epsilon": self.epsilon,
            "optimiser/grad_norm": self.grad_norm,
            "optimiser/learning_rate": self.learning_rate,
        }


class Dmc(Learner):
    """The values of cards, trained by regression.

    Parameters
    ----------
    network : ActorCritic
        Without a critic; trained in place.
    config : DmcConfig
    """

    section = "dmc"
    outputs = "values"
    config: DmcConfig

    def epsilon(self, progress: float) -> float:
        """Return the probability of a card at random at this share of the budget."""
        return self.config.epsilon * remaining_share(self.config.epsilon_final, progress)

    def choose(self, progress: float) -> Choose:
        """See ``Learner.choose``: epsilon-greedy."""
        epsilon = self.epsilon(progress)
        return lambda values, sets, points: choose_epsilon_greedy(values, sets, points, epsilon)

    def update(
        self,
        experiences: list[Experience],
        workers: ShardWorkers,
        progress: float,
        seeds: list[int],
        *,
        imitates: bool = False,
    ) -> DmcStats:
        """See ``Learner.update``."""
        learning_rate = self.set_learning_rate(progress)

        def gradients(shard: int, chosen: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
            return self.gradients(experiences[shard], chosen)

        stats, norm = self.descend(experiences, workers, seeds, gradients)
        value_loss = float(stats)
        returns = self.ranks.gather([shard.advantages[shard.rows] for shard in experiences])
        variance = float(torch.cat(returns).var())
        return DmcStats(
            value_loss=value_loss,
            explained_variance=1 - 2 * value_loss / variance if variance > 0 else 0.0,
            epsilon=self.epsilon(progress),
            grad_norm=norm,
            learning_rate=learning_rate,
        )

    def gradients(self, shard: Experience, chosen: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
        """Gradients of the loss on some of a shard's decisions; changes nothing.

        Parameters
        ----------
        shard : Experience
            Its advantages are the returns.
        chosen : int64[M]
            Which of the shard's N decisions.

        Returns
        -------
        gradients : tuple of Tensor
            One for each of ``parameters``.
        loss : float32[]
            Mean of half the squared error.
        """
        rows = shard.rows[chosen]
        values, _ = self.network(shard.observations.index_select(0, rows).float())
        played = values.gather(1, shard.cards[rows, None])[:, 0]
        loss = 0.5 * (played - shard.advantages[rows]).square().mean()
        return torch.autograd.grad(loss, self.parameters), loss.detach()


def choose_epsilon_greedy(
    values: npt.NDArray[np.float32],
    legal_sets: npt.NDArray[np.int64],
    points: npt.NDArray[np.float64],
    epsilon: float,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Choose the legal card with the highest value, or any legal one with probability epsilon.

    Parameters
    ----------
    values : float32[N, A]
    legal_sets : int64[N]
        Card sets, none empty.
    points : float64[N]
        Uniform random numbers, 0 to 1. Below epsilon a card is drawn, and how far below says which.
    epsilon : float

    Returns
    -------
    cards : int64[N]
    log_probabilities : float32[N]
        Of the cards that were chosen.
    """
    masks = masks_of(legal_sets)
    counts = masks.sum(1)
    best = np.where(masks, values, -np.inf).argmax(1)
    cards = best.copy()
    rows = np.flatnonzero(points < epsilon)
    # Which of the legal cards, from 0; rounding may give one too many.
    wanted = (points[rows] / epsilon * counts[rows]).astype(np.int64)
    wanted = np.minimum(wanted, counts[rows] - 1)
    cards[rows] = (masks[rows].cumsum(1) > wanted[:, None]).argmax(1)
    probabilities = epsilon / counts + (1 - epsilon) * (cards == best)
    return cards, np.log(probabilities).astype(np.float32)
