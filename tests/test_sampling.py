"""Cards drawn from logits: the right probabilities, never an illegal card."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tressette_agents.networks import mask_logits
from tressette_agents.sampling import draw_cards
from tressette_env.batch_views import masks_of

DRAWS = 40_000


def positions(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 3, (count, 40)).astype(np.float32)
    sets = np.array(
        [
            sum(1 << int(card) for card in rng.choice(40, rng.integers(1, 11), replace=False))
            for _ in range(count)
        ],
        np.int64,
    )
    return logits, sets, rng.random(count)


def test_cards_are_drawn_with_the_probabilities_of_the_masked_softmax() -> None:
    logits = np.full((DRAWS, 40), 50.0, np.float32)  # the illegal cards are by far the likeliest
    logits[:, [3, 17, 39]] = np.log([3.0, 2.0, 1.0])
    legal = np.full(DRAWS, 1 << 3 | 1 << 17 | 1 << 39, np.int64)
    cards, log_probabilities = draw_cards(logits, legal, np.random.default_rng(0).random(DRAWS))
    shares = np.bincount(cards, minlength=40) / DRAWS
    expected = np.zeros(40)
    expected[[3, 17, 39]] = np.array([3, 2, 1]) / 6
    np.testing.assert_allclose(shares, expected, atol=0.0125)  # five standard errors
    np.testing.assert_allclose(log_probabilities, np.log(expected[cards]), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_probabilities_are_torchs(dtype: type) -> None:
    logits, legal, points = positions(500)
    cards, found = draw_cards(logits.astype(dtype), legal, points)
    masks = torch.from_numpy(masks_of(legal))
    expected = mask_logits(torch.from_numpy(logits), masks).log_softmax(1)
    torch.testing.assert_close(
        torch.from_numpy(found),
        expected.gather(1, torch.from_numpy(cards)[:, None])[:, 0],
        atol=1e-5,
        rtol=1e-5,
    )


def test_a_point_is_a_place_in_the_cumulated_probabilities() -> None:
    logits, legal, points = positions(500, seed=1)
    chances = np.where(masks_of(legal), np.exp(logits.astype(float)), 0)
    sums = chances.cumsum(1) / chances.sum(1, keepdims=True)
    expected = (sums <= points[:, None]).sum(1)
    np.testing.assert_array_equal(draw_cards(logits, legal, points)[0], expected)


@pytest.mark.parametrize("point", [0.0, 0.5, np.nextafter(1.0, 0.0), 1.0])
@pytest.mark.parametrize("logit", [0.0, -1e30, 1e30, float("nan"), float("inf"), -float("inf")])
def test_whatever_the_logits_a_legal_card_is_drawn(point: float, logit: float) -> None:
    logits = np.zeros((1, 40), np.float32)
    logits[0, 20] = logit
    for legal in (1 << 20, 1 << 20 | 1 << 5, 1 << 20 | 1 << 39, 1 << 39 | 1):
        cards, _ = draw_cards(logits, np.array([legal]), np.array([point]))
        assert legal >> int(cards[0]) & 1


def test_a_card_of_no_probability_is_never_drawn() -> None:
    logits = np.zeros((3, 40), np.float32)
    logits[:, [0, 39]] = -2000.0
    legal = np.full(3, 1 | 1 << 7 | 1 << 39, np.int64)
    cards, _ = draw_cards(logits, legal, np.array([0.0, 0.5, 1.0]))
    # at 0 the first card's cumulated weight, 0, does not exceed the point
    assert cards.tolist() == [7, 7, 7]
