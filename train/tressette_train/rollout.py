"""Rollouts: whole deals at many tables, the learner's decisions kept for training.

All tables of a rule set advance together: a deal has as many plies as the deck has cards or, with
exact endings, as the stock. Shapes: T plies, B tables, F features, H sets of hidden cards, N
decisions of the learner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tressette_agents.networks import ActorCritic, mask_logits
from tressette_agents.sampling import draw_cards
from tressette_agents.solver import EndingSolver
from tressette_env.asking import ask
from tressette_env.batch import BatchTable
from tressette_env.batch_views import masks_of, sides_of
from tressette_env.cards import NUM_CARDS
from tressette_env.observation import layout_for
from tressette_env.policies import Agent
from tressette_env.randomness import MAX_SEED
from tressette_env.rulesets import RuleSet
from tressette_train.advantages import generalized_advantages
from tressette_train.config import TrainConfig
from tressette_train.opponents import Group, Snapshot
from tressette_train.parallel import stream_seed
from tressette_train.tensors import send, zeros_for

__all__ = ["Choose", "Experience", "Results", "ShardRollout", "hidden_set_count", "mask_tensor"]

#: Draws cards as ``draw_cards`` does, from the outputs of a network, legal sets and uniform points:
#: the cards, and the logarithms of their probabilities.
Choose = Callable[
    [npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.float64]],
    tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]],
]
_DEALS, _CARDS, _DICE = range(3)  # purposes of random streams
_STOCK_PARTS = (0, 1, 2, 4, 8, 20)  # the draws from ... up to ...: the sooner, the finer


@dataclass
class Results:
    """How the finished deals ended, for each opponent; with exact endings, after them.

    Attributes
    ----------
    deals, wins, margin_thirds : dict of str to float
        Sums by group name. Wins count the learner's, a tie as a half; margins are its thirds less
        the opponent's (or the reverse, where fewest win). For "self" they are side 0's.
    """

    deals: dict[str, float] = field(default_factory=dict)
    wins: dict[str, float] = field(default_factory=dict)
    margin_thirds: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, margins: npt.NDArray[np.float32]) -> None:
        """Add finished deals, by the learner's margins in thirds."""
        wins = float((margins > 0).sum()) + float((margins == 0).sum()) / 2
        for sums, value in (
            (self.deals, float(len(margins))),
            (self.wins, wins),
            (self.margin_thirds, float(margins.sum())),
        ):
            sums[name] = sums.get(name, 0.0) + value

    def merge(self, other: Results) -> None:
        """Add another shard's results."""
        for name in other.deals:
            self.deals[name] = self.deals.get(name, 0.0) + other.deals[name]
            self.wins[name] = self.wins.get(name, 0.0) + other.wins[name]
            self.margin_thirds[name] = self.margin_thirds.get(name, 0.0) + other.margin_thirds[name]


@dataclass(frozen=True)
class Experience:
    """The learner's decisions of one shard's rollout, on the device of the networks.

    Attributes
    ----------
    observations : int8[T * B, F]
        Of all decisions; ``rows`` says which are the learner's.
    hidden_sets : int64[T * B, H]
        Card sets that the critic sees beside the observation, see ``hidden_set_count``; the
        others' hands also where they are to be predicted.
    legal_sets, cards : int64[T * B]
    log_probabilities, values, advantages : float32[T * B]
        Without a critic the values are 0 and the advantages are the returns.
    rows : int64[N]
    results : Results
    """

    observations: Tensor
    hidden_sets: Tensor
    legal_sets: Tensor
    cards: Tensor
    log_probabilities: Tensor
    values: Tensor
    advantages: Tensor
    rows: Tensor
    results: Results


def hidden_set_count(config: TrainConfig, rules: RuleSet) -> int:
    """Return how many card sets the critic sees beside the observation (H).

    First the hands of the seats after the one to act, in their order; then, if it sees the stock,
    the next card of the stock, the second, the next two, the next four, and the rest.
    """
    if config.critic.sees == "view":
        return 0
    stock = len(_STOCK_PARTS) - 1 if config.critic.sees == "hands_and_stock" else 0
    return rules.seats - 1 + (stock if rules.stock_size else 0)


def mask_tensor(card_sets: Tensor) -> Tensor:
    """Return card sets int64[...] as masks bool[..., 40], on their device."""
    if card_sets.device.type != "cpu":
        bits = torch.arange(NUM_CARDS, device=card_sets.device)
        return (card_sets.unsqueeze(-1) >> bits & 1).bool()
    masks = masks_of(card_sets.numpy().reshape(-1))
    return torch.from_numpy(masks).view(*card_sets.shape, NUM_CARDS)


class ShardRollout:
    """Plays one shard's tables and owns the arrays that they fill.

    Parameters
    ----------
    config : TrainConfig
    rules : RuleSet
    shard : int
    device : torch.device
        Where the networks are. The arrays are on the processor; what networks read of them is sent.
    """

    def __init__(
        self,
        config: TrainConfig,
        rules: RuleSet,
        shard: int,
        device: torch.device = torch.device("cpu"),  # noqa: B008
    ) -> None:
        self.config = config
        self.rules = rules
        self.shard = shard
        self.device = device
        self.num_tables = config.rollout.tables // config.shards
        self.deal_plies = rules.stock_size if config.rollout.exact_endings else rules.deck_size
        self.num_plies = config.rollout.deals * self.deal_plies
        self.deal_seed = stream_seed(config.seed, _DEALS, 0, shard)
        self._reward_sign = -1 if rules.fewest_wins else 1
        # With lambda 1 and no critic's values they are the Monte Carlo returns.
        self._gae_lambda = 1.0 if config.algorithm == "dmc" else config.ppo.gae_lambda
        shape = (self.num_plies, self.num_tables)
        self._observation = config.network.observation
        features = layout_for(rules, kind=self._observation).size
        self._solver = EndingSolver() if config.rollout.exact_endings else None
        self.observations = zeros_for(device, (*shape, features), np.int8).numpy()
        predicted = rules.seats - 1 if config.network.predicts_hands else 0
        sets = max(hidden_set_count(config, rules), predicted)
        self.hidden_sets = zeros_for(device, (*shape, sets), np.int64).numpy()
        self.legal_sets = np.zeros(shape, np.int64)
        self.cards = np.zeros(shape, np.int64)
        self.seats = np.zeros(shape, np.int8)
        self.log_probabilities = np.zeros(shape, np.float32)
        self.values = np.zeros(shape, np.float32)
        self.rewards = np.zeros(shape, np.float32)
        self.is_over = np.zeros(shape, np.bool_)
        self.is_learner = np.zeros(shape, np.bool_)

    def _new_table(self, update: int, deal: int) -> BatchTable:
        """Tables at a deal of an update: the same decks whatever was played before."""
        first = (update * self.config.rollout.deals + deal) * self.num_tables
        return BatchTable(
            self.num_tables,
            self.rules,
            self.deal_seed,
            first_deal=first,
            observation=self._observation,
        )

    def collect(
        self,
        network: ActorCritic,
        groups: list[Group],
        update: int,
        choose: Choose = draw_cards,
        teacher: Agent | None = None,
    ) -> Experience:
        """Play the deals of an update.

        Parameters
        ----------
        network : ActorCritic
        groups : list of Group
            Who plays at which tables. At an opponent's tables the learner is side 0 at even ones.
        update : int
            Number of the update; draws decks, cards and the opponents' dice.
        choose : callable
            How the learner and its snapshots choose cards.
        teacher : Agent, optional
            Plays in the learner's place; the log-probabilities are the learner's, of those cards.

        Returns
        -------
        Experience
            Its arrays are this object's on the processor: the next call overwrites them.

        Raises
        ------
        AgentFailedError
            If an opponent or the teacher raises, or plays a card that it may not.
        """
        points = np.random.default_rng(stream_seed(self.config.seed, _CARDS, update, self.shard))
        dice = np.random.default_rng(stream_seed(self.config.seed, _DICE, update, self.shard))
        learner_side = self._learner_sides(groups)
        lead_before = np.zeros(self.num_tables, np.float32)
        results = Results()
        with torch.inference_mode():
            for ply in range(self.num_plies):
                if ply % self.deal_plies == 0:
                    table = self._new_table(update, ply // self.deal_plies)
                self._observe(table, ply, learner_side)
                chosen = choose if teacher is None else self._choice_of(teacher, table, ply, dice)
                self._choose_for_learner(network, ply, points, chosen)
                for group in groups:
                    if group.opponent is not None:
                        self._choose_for_opponent(group, table, ply, points, dice, choose)
                lead_before = self._play(table, ply, groups, learner_side, lead_before, results)
        return self._experience(results)

    def _learner_sides(self, groups: list[Group]) -> npt.NDArray[np.int8]:
        """Return the side that the learner plays at each table, int8[B]; -1: both."""
        sides = np.full(self.num_tables, -1, np.int8)
        for group in groups:
            if group.opponent is not None:
                sides[group.tables] = np.arange(group.tables.start, group.tables.stop) % 2
        return sides

    def _observe(self, table: BatchTable, ply: int, learner_side: npt.NDArray[np.int8]) -> None:
        seats = table.seats
        table.observe(seats, self.observations[ply])
        self.seats[ply] = seats
        self.legal_sets[ply] = table.legal_sets
        self.is_learner[ply] = (learner_side < 0) | (sides_of(seats) == learner_side)
        if self.hidden_sets.shape[2]:
            self._look_behind(table, self.hidden_sets[ply])

    def _look_behind(self, table: BatchTable, hidden: npt.NDArray[np.int64]) -> None:
        """Fill in what training knows and the seat to act does not, int64[B, H]."""
        states = table.states
        rows = np.arange(self.num_tables)
        others = self.rules.seats - 1
        for after in range(others):
            hidden[:, after] = states["hands"][rows, (states["turn"] + after + 1) % (others + 1)]
        draws = np.int64(1) << states["stock"].astype(np.int64)
        place = np.arange(draws.shape[1]) - states["drawn"][:, None]
        in_stock = (place >= 0) & (np.arange(draws.shape[1]) < self.rules.stock_size)
        parts = pairwise(_STOCK_PARTS)
        for column, (low, high) in zip(range(others, hidden.shape[1]), parts, strict=False):
            wanted = in_stock & (place >= low) & (place < high)
            hidden[:, column] = np.where(wanted, draws, 0).sum(1)

    def _choose_for_learner(
        self, network: ActorCritic, ply: int, points: np.random.Generator, choose: Choose
    ) -> None:
        rows = np.flatnonzero(self.is_learner[ply])
        hidden = None
        if self.hidden_sets.shape[2]:
            hidden = mask_tensor(self._rows(self.hidden_sets[ply], rows)).flatten(1).float()
        logits, values = network(self._rows(self.observations[ply], rows).float(), hidden)
        self.cards[ply, rows], self.log_probabilities[ply, rows] = choose(
            logits.cpu().numpy(), self.legal_sets[ply, rows], points.random(len(rows))
        )
        self.values[ply, rows] = values.cpu().numpy()

    def _rows(self, array: npt.NDArray[Any], rows: npt.NDArray[np.int64]) -> Tensor:
        """Return rows of an array on the device; all are sent, as only whole memory is pinned."""
        return self._send(array).index_select(0, self._send(rows))

    def _send(self, array: npt.NDArray[Any]) -> Tensor:
        return send(torch.from_numpy(array), self.device)

    def _choice_of(
        self, teacher: Agent, table: BatchTable, ply: int, dice: np.random.Generator
    ) -> Choose:
        """Return the choice of the cards that an agent plays in the learner's place."""
        rows = np.flatnonzero(self.is_learner[ply])
        seeds = dice.integers(0, MAX_SEED, len(rows), np.int64, endpoint=True)
        cards = ask(teacher, table.views()[rows], self.rules, seeds)

        def choose(
            logits: npt.NDArray[np.float32],
            legal_sets: npt.NDArray[np.int64],
            points: npt.NDArray[np.float64],
        ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
            masked = mask_logits(
                torch.from_numpy(logits), mask_tensor(torch.from_numpy(legal_sets))
            )
            return cards, masked.log_softmax(1).numpy()[np.arange(len(cards)), cards]

        return choose

    def _choose_for_opponent(
        self,
        group: Group,
        table: BatchTable,
        ply: int,
        points: np.random.Generator,
        dice: np.random.Generator,
        choose: Choose,
    ) -> None:
        rows = np.flatnonzero(~self.is_learner[ply, group.tables]) + group.tables.start
        if not len(rows):
            return
        if isinstance(group.opponent, Snapshot):
            observations = self._rows(self.observations[ply], rows).float()
            logits = group.opponent.network(observations).cpu().numpy()
            self.cards[ply, rows], _ = choose(
                logits, self.legal_sets[ply, rows], points.random(len(rows))
            )
        elif group.opponent is not None:
            seeds = dice.integers(0, MAX_SEED, len(rows), np.int64, endpoint=True)
            views = table.views()[rows]
            self.cards[ply, rows] = ask(group.opponent, views, self.rules, seeds)

    def _play(
        self,
        table: BatchTable,
        ply: int,
        groups: list[Group],
        learner_side: npt.NDArray[np.int8],
        lead_before: npt.NDArray[np.float32],
        results: Results,
    ) -> npt.NDArray[np.float32]:
        """Play the chosen cards; return side 0's lead in thirds, float32[B], 0 for a new deal."""
        step = table.play(self.cards[ply])
        lead = (step.thirds[:, 0] - step.thirds[:, 1]).astype(np.float32) * self._reward_sign
        if self.config.reward.kind == "tricks":
            self.rewards[ply] = (lead - lead_before) / self.config.reward.scale
        else:
            self.rewards[ply] = step.margins / self.config.reward.scale
        self.is_over[ply] = False
        if (ply + 1) % self.deal_plies:
            return lead
        if self._solver is not None:
            to_come = _exact_margins(table, self._solver)
            self.rewards[ply] += to_come / self.config.reward.scale
            lead = lead + to_come
        self.is_over[ply] = True
        margins = np.where(learner_side == 1, -lead, lead)
        for group in groups:
            results.add(group.name, margins[group.tables])
        return np.zeros_like(lead)

    def _experience(self, results: Results) -> Experience:
        advantages = generalized_advantages(
            self.seats,
            self.rewards,
            self.values,
            self.is_over,
            self.rules.seats,
            self._gae_lambda,
        )
        flat = self.num_plies * self.num_tables
        return Experience(
            self._send(self.observations.reshape(flat, -1)),
            self._send(self.hidden_sets.reshape(flat, self.hidden_sets.shape[2])),
            self._send(self.legal_sets.reshape(-1)),
            self._send(self.cards.reshape(-1)),
            self._send(self.log_probabilities.reshape(-1)),
            self._send(self.values.reshape(-1)),
            self._send(advantages.reshape(-1)),
            self._send(np.flatnonzero(self.is_learner.reshape(-1))),
            results,
        )


def _exact_margins(table: BatchTable, solver: EndingSolver) -> npt.NDArray[np.float32]:
    """Side 0's thirds less side 1's in the tricks after the stock with best play, float32[B]."""
    states = table.states
    rows, turn = np.arange(table.num_tables), states["turn"].astype(np.int64)
    own, other = states["hands"][rows, turn], states["hands"][rows, 1 - turn]
    left = table.rules.total_thirds - states["thirds"].sum(1, dtype=np.int64)
    margins = 2 * solver.solve(own, other) - left
    signed: npt.NDArray[np.int64] = np.where(turn == 0, margins, -margins)
    return signed.astype(np.float32)
