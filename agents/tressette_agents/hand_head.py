"""A second head for the policy while it is trained: which hidden cards the others hold.

What a seat has seen says more about the other hands than a deal's result does, so predicting them
teaches the policy's layers what to look for. The head reads those layers, is told the true hands by
the loss alone, and is no part of a policy file. Shapes: B decisions, W width of the policy's last
layer, O seats other than the one to act, C cards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from tressette_env.cards import NUM_CARDS

__all__ = ["HandHead", "HandSpec"]


@dataclass(frozen=True)
class HandSpec:
    """What a hand head predicts.

    Attributes
    ----------
    others : int
        Seats other than the one to act (O), in the order in which they play after it.
    unseen : int
        Where the 40 features of an observation start that say which cards are hidden.
    """

    others: int
    unseen: int


class HandHead(nn.Module):
    """Features of the policy to one logit for each other seat and card.

    Parameters
    ----------
    spec : HandSpec
    width : int
        Features that it reads (W).
    groups : int
        Groups of cards with features of their own: 4 for layers shared by the suits, else 1.
    make_linear : callable
        Makes a linear layer from the numbers of its inputs and outputs.
    """

    def __init__(
        self,
        spec: HandSpec,
        width: int,
        groups: int,
        make_linear: Callable[[int, int], nn.Linear],
    ) -> None:
        super().__init__()
        self.spec = spec
        self._shape = (groups, spec.others, NUM_CARDS // groups)
        self.layer = make_linear(width, spec.others * NUM_CARDS // groups)

    def forward(self, features: Tensor) -> Tensor:
        """Return logits float[B, O, C] for features float[B, W], or float[B, 4, W] of the suits."""
        by_group: Tensor = self.layer(features)
        return by_group.view(-1, *self._shape).transpose(1, 2).flatten(2)

    def unseen(self, observations: Tensor) -> Tensor:
        """Return the cards hidden from the seat to act, bool[B, C], from observations [B, F]."""
        return observations[:, self.spec.unseen : self.spec.unseen + NUM_CARDS] > 0
