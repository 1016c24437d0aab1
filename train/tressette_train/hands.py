"""How well a hand head predicts the other hands: its loss, and what is measured of it.

Only cards that are hidden from the seat to act count: where the others are, the seat knows. Shapes:
M decisions, O seats other than the one to act, C cards.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

__all__ = ["BINS", "hand_metrics", "hand_terms"]

BINS = 10  # of equal width, over the predicted probability


def hand_terms(predictions: Tensor, hands: Tensor, unseen: Tensor) -> tuple[Tensor, Tensor]:
    """Compare predictions with the hands.

    Parameters
    ----------
    predictions : float32[M, O, C]
        Logits.
    hands : bool[M, O, C]
        The true hands.
    unseen : bool[M, C]
        Cards hidden from the seat to act.

    Returns
    -------
    loss : float32[]
        Mean binary cross-entropy over the other seats' hidden cards; 0 if there are none.
    stats : float32[2 + BINS]
        The loss; that of a prediction which gives each card the share of the hidden cards that the
        seat holds, as counting does; for each bin of probabilities the sum of prediction less
        truth, over the number of all predictions.
    """
    asked = unseen[:, None].expand_as(hands)
    held = (hands & asked).float()
    count = asked.sum().clamp(min=1)
    losses = binary_cross_entropy_with_logits(predictions, held, reduction="none")
    loss = torch.where(asked, losses, 0.0).sum() / count
    with torch.no_grad():
        hidden = asked.sum(2)
        share = held.sum(2) / hidden.clamp(min=1)
        entropy = -torch.xlogy(share, share) - torch.xlogy(1 - share, 1 - share)
        base_loss = (hidden * entropy).sum() / count
        probabilities = predictions.sigmoid()[asked]
        bins = (probabilities * BINS).long().clamp(max=BINS - 1)
        gaps = (
            probabilities.new_zeros(BINS).index_add_(0, bins, probabilities - held[asked]) / count
        )
        return loss, torch.cat((torch.stack((loss, base_loss)), gaps))


def hand_metrics(stats: Tensor) -> dict[str, float]:
    """Return the metrics for mean stats of ``hand_terms``; none for an empty tensor.

    The expected calibration error is the mean over predictions of how far their bin's mean
    probability is from the share that came true (C. Guo and others, "On calibration of modern
    neural networks", arXiv 1706.04599, equation 3). Bins' sizes cancel: what is left are the gaps.
    """
    if not len(stats):
        return {}
    return {
        "hands/loss": float(stats[0]),
        "hands/base_loss": float(stats[1]),
        "hands/calibration_error": float(stats[2:].abs().sum()),
    }
