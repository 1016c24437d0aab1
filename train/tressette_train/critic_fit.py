"""Fitting a critic: games of an agent against itself, and least squares on what came of them.

Shapes: N positions, P phases of the stock, R ranks, H units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tressette_env.asking import ask
from tressette_env.batch import BatchTable
from tressette_env.batch_dice import decision_seeds
from tressette_env.cards import NUM_SUITS
from tressette_env.policies import Agent
from tressette_env.rulesets import RuleSet
from tressette_train.critic import OWNERS, RANKS, Critic, check_house
from tressette_train.match_play import side_seed

__all__ = ["Positions", "fit_critic", "positions_of_games"]

_TABLES = 4096  # games that advance together
_UNITS = 32
_BATCH = 256  # positions a step
_EPOCHS = 6
_LEARNING_RATE = 4e-3
_THIRDS_SCALE = 10.0  # targets are about so large

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Positions:
    """Positions right after the draws, and what the leader made of them.

    Attributes
    ----------
    sets : int64[N, 3]
        Card sets of the leader, of the other seat, and of the stock.
    phases : int64[N]
        Half the number of cards in the stock.
    margins : int64[N]
        Thirds that the leader took from there on, less the other's.
    """

    sets: Ints
    phases: Ints
    margins: Ints


def positions_of_games(
    agent: Agent,
    rules: RuleSet,
    deals: int,
    seed: int,
    on_share: Callable[[float], None] = lambda share: None,
) -> Positions:
    """Let an agent play deals 0 to ``deals - 1`` of a seed against itself.

    ``on_share`` is told what share of them has been played.

    Raises
    ------
    CriticError
        If there are no draws in these rules.
    AgentFailedError
        If the agent raises, or plays a card that it may not.
    """
    check_house(rules)
    parts = []
    for start in range(0, deals, _TABLES):
        parts.append(_play(agent, rules, start, min(_TABLES, deals - start), seed))
        on_share(min(1.0, (start + _TABLES) / deals))
    columns = zip(*((part.sets, part.phases, part.margins) for part in parts), strict=True)
    return Positions(*map(np.concatenate, columns))


def _play(agent: Agent, rules: RuleSet, start: int, deals: int, seed: int) -> Positions:
    table = BatchTable(deals, rules, seed, first_deal=start)
    numbers, rows = table.deal_numbers, np.arange(deals)
    seeds = np.array([side_seed(seed, side) for side in range(2)])
    sets, phases, so_far, leaders = [], [], [], []
    for ply in range(rules.deck_size):
        seats, dice = table.seats, np.empty(deals, np.int64)
        for seat in range(2):
            at = np.flatnonzero(seats == seat)
            dice[at] = decision_seeds(int(seeds[seat]), numbers[at], np.full(len(at), ply))
        step = table.play(ask(agent, table.views(), rules, dice))
        if ply % 2 and ply < rules.stock_size:
            states = table.states
            leader = states["leader"].astype(np.int64)
            stock = states["stock"][:, ply + 1 : rules.stock_size].astype(np.int64)
            hands = states["hands"]
            in_stock = (np.int64(1) << stock).sum(1)
            sets.append(np.stack([hands[rows, leader], hands[rows, 1 - leader], in_stock], 1))
            phases.append(np.full(deals, stock.shape[1] // 2))
            thirds = states["thirds"].astype(np.int64)
            so_far.append(thirds[:, 0] - thirds[:, 1])
            leaders.append(leader)
    final = step.thirds[:, 0].astype(np.int64) - step.thirds[:, 1]
    to_come = [
        np.where(leader == 0, 1, -1) * (final - thirds)
        for leader, thirds in zip(leaders, so_far, strict=True)
    ]
    return Positions(*map(np.concatenate, (sets, phases, to_come)))


def fit_critic(
    positions: Positions,
    agent: str,
    rules: RuleSet,
    deals: int,
    seed: int,
    on_share: Callable[[float], None] = lambda share: None,
) -> Critic:
    """Fit a critic by least squares; the same positions and seed give the same critic.

    ``on_share`` is told what share of the fit is done.
    Its name and hash are empty: it gets them when its file is read.
    """
    random = torch.Generator().manual_seed(seed)
    network = _Network(rules.stock_size // 2, random)
    steps = len(positions.margins) // _BATCH + 1
    optimiser = torch.optim.Adam(network.parameters(), _LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, _EPOCHS * steps)
    targets = torch.from_numpy(positions.margins / _THIRDS_SCALE).float()
    phases = torch.from_numpy(positions.phases)
    features = _features(positions.sets)
    for epoch in range(_EPOCHS):
        order = torch.randperm(len(targets), generator=random)
        for step, rows in enumerate(order.tensor_split(steps)):
            values = network(features[rows].float(), phases[rows])
            loss = (values - targets[rows]).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            on_share((epoch + (step + 1) / steps) / _EPOCHS)
    weights = {name: array.detach().double().numpy() for name, array in network.named_parameters()}
    weights |= {name: weights[name] * _THIRDS_SCALE for name in ("output", "constant")}
    return Critic(
        name="",
        sha256="",
        house=rules.name,
        agent=agent,
        seed=seed,
        deals=deals,
        hand_size=rules.hand_size,
        deck=rules.deck,
        **{name: np.round(array, 5) for name, array in weights.items()},
    )


class _Network(torch.nn.Module):
    """The critic's values in tenths, to be fitted."""

    def __init__(self, phases: int, random: torch.Generator) -> None:
        super().__init__()

        def drawn(*shape: int, scale: float) -> torch.nn.Parameter:
            return torch.nn.Parameter(scale * torch.randn(shape, generator=random))

        self.bias = drawn(phases, _UNITS, scale=0.3)
        self.output = drawn(phases, _UNITS, scale=0.1)
        self.constant = drawn(phases, scale=0.0)
        self.suit = drawn(OWNERS, RANKS, _UNITS, scale=0.3)
        self.deck_wide = drawn(OWNERS, RANKS, _UNITS, scale=0.1)

    def forward(self, features: Tensor, phases: Tensor) -> Tensor:
        """Return values [N] from features [N, 4, 3 R] and phases int64[N]."""
        pre = features @ self.suit.flatten(0, 1)
        pre = pre + (features.sum(1) @ self.deck_wide.flatten(0, 1) + self.bias[phases])[:, None]
        return (pre.relu().sum(1) * self.output[phases]).sum(1) + self.constant[phases]


def _features(sets: Ints) -> Tensor:
    """Return the cards of each suit, uint8[N, 4, 3 R]: owner by owner, rank by rank."""
    bits = sets[:, None, :, None] >> np.arange(NUM_SUITS * RANKS).reshape(NUM_SUITS, 1, RANKS) & 1
    return torch.from_numpy(bits.astype(np.uint8)).flatten(2)
