"""Deals played card by card, with every card kept: what match play only counts.

The cards are those of ``match_play`` with the same seed, deal and agents: a deal of an evaluation
can be looked at again. Shapes: D deals, T plies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tressette_env.asking import ask
from tressette_env.batch import BatchTable
from tressette_env.batch_dice import decision_seeds
from tressette_env.batch_views import sides_of
from tressette_env.deals import deck_of
from tressette_env.errors import AgentFailedError
from tressette_env.policies import Agent
from tressette_env.records import DealRecord, GameRecord
from tressette_env.rulesets import RuleSet
from tressette_train.match_play import side_seed

__all__ = ["PlayedDeals", "play_deals"]


@dataclass(frozen=True)
class PlayedDeals:
    """Whole deals of a seed.

    Attributes
    ----------
    rules : RuleSet
    seed : int
    numbers : int64[D]
    seats : int64[D, T]
        Who played each card.
    cards : int64[D, T]
    thirds : int64[D, 2]
        Taken by each side.
    """

    rules: RuleSet
    seed: int
    numbers: npt.NDArray[np.int64]
    seats: npt.NDArray[np.int64]
    cards: npt.NDArray[np.int64]
    thirds: npt.NDArray[np.int64]

    def record(self, row: int) -> GameRecord:
        """Record of one deal, for ``notation.record_text``."""
        number = int(self.numbers[row])
        deal = DealRecord(
            number=number,
            deck=deck_of(self.rules, self.seed, number),
            leader=int(self.seats[row, 0]),
            plays=tuple(self.cards[row].tolist()),
            thirds=(int(self.thirds[row, 0]), int(self.thirds[row, 1])),
        )
        return GameRecord(self.rules, self.seed, (deal,))


def play_deals(
    sides: tuple[Agent, Agent],
    rules: RuleSet,
    seed: int,
    first_deal: int,
    deals: int,
    on_progress: Callable[[int], None] = lambda cards: None,
) -> PlayedDeals:
    """Play consecutive deals of a seed in one seating.

    Parameters
    ----------
    sides : (Agent, Agent)
        Who plays side 0, and who side 1.
    rules : RuleSet
    seed : int
    first_deal, deals : int
    on_progress : callable
        Called with the number of cards played since the last call.

    Raises
    ------
    AgentFailedError
        If an agent raises, or plays a card that it may not.
    """
    table = BatchTable(deals, rules, seed, first_deal=first_deal)
    numbers = table.deal_numbers
    seats, cards = np.empty((2, deals, rules.deck_size), np.int64)
    for ply in range(rules.deck_size):
        seats[:, ply] = table.seats
        views = table.views()
        states = table.states if any(agent.cheats for agent in sides) else None
        for side, agent in enumerate(sides):
            at = np.flatnonzero(sides_of(seats[:, ply]) == side)
            if not len(at):
                continue
            dice = decision_seeds(side_seed(seed, side), numbers[at], np.full(len(at), ply))
            true = None if states is None else states[at]
            try:
                cards[at, ply] = ask(agent, views[at], rules, dice, true)
            except AgentFailedError as error:
                where = f"deal {numbers[at[error.row]]} of seed {seed}, on side {side}"
                raise AgentFailedError(f"{error}; {where}", error.row) from error
        step = table.play(cards[:, ply])
        on_progress(deals)
    return PlayedDeals(rules, seed, numbers, seats, cards, step.thirds.astype(np.int64))
