"""Two agents on the same deals, in both seatings: arrays of margins, deal by deal.

All tables of a batch advance together, one card a call. Every deal is played twice: with the first
agent on side 0, and with the agents swapped; same deck, same leader. What is played depends on the
seed, the deal's number and the two agents, never on how many tables play at once: each decision has
its own random number, from the seed, the side, the deal and the ply.

Shapes: D deals, B tables.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env.asking import ask
from tressette_env.batch import BatchTable
from tressette_env.batch_dice import decision_seeds
from tressette_env.batch_step import BatchStep
from tressette_env.batch_views import sides_of
from tressette_env.errors import AgentFailedError
from tressette_env.policies import Agent
from tressette_env.randomness import random_word
from tressette_env.rulesets import RuleSet
from tressette_train.critic import Critic
from tressette_train.draw_luck import draw_luck

__all__ = ["PairedDeals", "Pairing", "play_pairing", "side_seed"]

_SIDE_LANE = 7 << 60  # numbers of a seed from here on are the sides' seeds in match play

Progress = Callable[[int], None]


@dataclass(frozen=True)
class PairedDeals:
    """What every deal of a pairing gave in both seatings.

    Column 0 of each array is the seating with the first agent on side 0 (seat 0; with four seats
    also seat 2), column 1 the one with it on side 1.

    Attributes
    ----------
    margins_thirds : int64[D, 2]
        Thirds of the first agent less those of the second.
    margins_house : int64[D, 2]
        The same in the house's unit: whole points (R12) or thirds (R11); negated where less wins.
    leads : bool[D, 2]
        Whether the first agent's side led the first trick.
    luck_thirds : float64[D, 2], optional
        Thirds that the draws gave the first agent beyond what was to be expected, by a critic:
        its mean over all deals is zero.
    stock_thirds : int64[D, 2], optional
        ``margins_thirds`` when the stock has just run out; None in houses without one.
    """

    margins_thirds: npt.NDArray[np.int64]
    margins_house: npt.NDArray[np.int64]
    leads: npt.NDArray[np.bool_]
    luck_thirds: npt.NDArray[np.float64] | None = None
    stock_thirds: npt.NDArray[np.int64] | None = None

    @property
    def corrected_thirds(self) -> npt.NDArray[np.float64] | None:
        """``margins_thirds`` without the luck of the draws, float64[D, 2]; None without critic."""
        return None if self.luck_thirds is None else self.margins_thirds - self.luck_thirds

    @property
    def best_thirds(self) -> npt.NDArray[Any]:
        """``corrected_thirds``, or without a critic ``margins_thirds``, number[D, 2]."""
        corrected = self.corrected_thirds
        return self.margins_thirds if corrected is None else corrected

    @classmethod
    def join(cls, parts: Sequence[PairedDeals]) -> PairedDeals:
        """Put parts one after another, at least one; what is not known of all is known of none."""
        return cls(
            np.concatenate([part.margins_thirds for part in parts]),
            np.concatenate([part.margins_house for part in parts]),
            np.concatenate([part.leads for part in parts]),
            _joined([part.luck_thirds for part in parts]),
            _joined([part.stock_thirds for part in parts]),
        )

    @property
    def swapped(self) -> PairedDeals:
        """The same games with the second agent in the place of the first."""
        luck, stock = self.luck_thirds, self.stock_thirds
        return PairedDeals(
            -self.margins_thirds[:, ::-1],
            -self.margins_house[:, ::-1],
            ~self.leads[:, ::-1],
            None if luck is None else -luck[:, ::-1],
            None if stock is None else -stock[:, ::-1],
        )


def _joined(parts: Sequence[npt.NDArray[Any] | None]) -> npt.NDArray[Any] | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def side_seed(seed: int, side: int) -> int:
    """Seed of the dice of whoever plays a side.

    It does not depend on who that is: naming the agents in the other order negates every margin
    exactly, and an agent against itself has a margin of exactly zero in every pair.
    """
    return random_word(seed, _SIDE_LANE + side)


def play_pairing(
    first: Agent,
    second: Agent,
    rules: RuleSet,
    deals: int,
    seed: int,
    *,
    first_deal: int = 0,
    batch_size: int = 4096,
    critic: Critic | None = None,
    on_progress: Progress | None = None,
) -> PairedDeals:
    """Play deals ``first_deal`` to ``first_deal + deals - 1`` of a seed in both seatings.

    Parameters
    ----------
    first, second : Agent
    rules : RuleSet
    deals : int
    seed : int
    first_deal : int
    batch_size : int
        Deals that advance together; changes the time and the memory taken, never the result.
    critic : Critic, optional
        Says how lucky the draws were. Neither agent may be shown the stock.
    on_progress : callable, optional
        Called with the number of cards played since the last call.

    Raises
    ------
    AgentFailedError
        If an agent raises, or plays a card that it may not.
    """
    pair = Pairing(first, second, rules, seed, critic, on_progress or (lambda cards: None))
    end = first_deal + deals
    return PairedDeals.join(
        [
            pair.play(start, min(batch_size, end - start))
            for start in range(first_deal, end, batch_size)
        ]
    )


@dataclass(frozen=True)
class Pairing:
    """Two agents who play the tables of a batch, seed and all."""

    first: Agent
    second: Agent
    rules: RuleSet
    seed: int
    critic: Critic | None
    on_progress: Progress

    def play(self, start: int, deals: int) -> PairedDeals:
        """Play deals ``start`` to ``start + deals - 1``, two tables each."""
        tables = [
            BatchTable(deals, self.rules, self.seed, first_deal=start) for _seating in range(2)
        ]
        numbers = np.tile(tables[0].deal_numbers, 2)
        sides = np.repeat([0, 1], deals)  # the first agent's, at each of the 2 * deals tables
        leads = sides_of(np.concatenate([table.seats for table in tables])) == sides
        critic, luck, stock = self.critic, np.zeros((deals, 2)), None
        for ply in range(self.rules.deck_size):
            views = np.concatenate([table.views() for table in tables])
            states = None
            if self.first.cheats or self.second.cheats:
                states = np.concatenate([table.states for table in tables])
            cards = self.choose(views, states, numbers, sides)
            steps = [
                table.play(chosen) for table, chosen in zip(tables, np.split(cards, 2), strict=True)
            ]
            if critic is not None and ply % 2 and ply < self.rules.stock_size:
                for seating, table in enumerate(tables):
                    luck[:, seating] += draw_luck(table.states, self.rules, critic)
            if ply == self.rules.stock_size - 1:
                stock = _side_0_thirds(steps)
            self.on_progress(len(cards))
        side_0_house = np.stack([step.margins for step in steps], 1)
        sign = np.array([1, -1])
        return PairedDeals(
            _side_0_thirds(steps) * sign,
            side_0_house * sign,
            leads.reshape(2, -1).T,
            None if critic is None else luck * sign,
            None if stock is None else stock * sign,
        )

    def choose(
        self,
        views: npt.NDArray[np.void],
        states: npt.NDArray[np.void] | None,
        numbers: npt.NDArray[np.int64],
        sides: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int64]:
        """Ask each agent for the cards of the tables where it is to act, one call each.

        Parameters
        ----------
        views : VIEW_DTYPE[B]
        states : STATE_DTYPE[B], optional
            Needed if one of the agents cheats.
        numbers : int64[B]
            Of the deals.
        sides : int64[B]
            The first agent's.

        Raises
        ------
        AgentFailedError
            If an agent raises, or plays a card that it may not.
        """
        to_act = sides_of(views["seat"])
        plies = views["ply"].astype(np.int64)
        seeds = np.empty(len(views), np.int64)
        for side in range(2):
            at = np.flatnonzero(to_act == side)
            seeds[at] = decision_seeds(side_seed(self.seed, side), numbers[at], plies[at])
        cards = np.empty(len(views), np.int64)
        for agent, is_asked in ((self.first, to_act == sides), (self.second, to_act != sides)):
            at = np.flatnonzero(is_asked)
            if len(at):
                true = states[at] if states is not None and agent.cheats else None
                cards[at] = self._ask(agent, views[at], true, seeds[at], numbers[at])
        return cards

    def _ask(
        self,
        agent: Agent,
        views: npt.NDArray[np.void],
        states: npt.NDArray[np.void] | None,
        seeds: npt.NDArray[np.int64],
        numbers: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int64]:
        try:
            return ask(agent, views, self.rules, seeds, states)
        except AgentFailedError as error:
            where = self._where(int(numbers[error.row]))
            raise AgentFailedError(f"{error}; {where}", error.row) from error

    def _where(self, number: int) -> str:
        least = max(2, number + 1)
        specs = shlex.join([self.first.spec, self.second.spec])
        return (
            f"deal {number} of seed {self.seed}; reproduce with: tressette eval {specs} "
            f"--rules {self.rules.name} --deals {least} --seed {self.seed}"
        )


def _side_0_thirds(steps: Sequence[BatchStep]) -> npt.NDArray[np.int64]:
    """Return what side 0 is ahead in each seating, int64[D, 2]."""
    taken = np.stack([step.thirds for step in steps], 1).astype(np.int64)
    return np.asarray(taken[..., 0] - taken[..., 1])
