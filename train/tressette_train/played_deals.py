"""Deals played card by card, with every card kept: what match play only counts.

The cards are those of ``match_play`` with the same seed, deal and agents: a deal of an evaluation
can be looked at again. Shapes: D deals, T plies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tressette_env.asking import ask
from tressette_env.batch import BatchTable
from tressette_env.batch_dice import decision_seeds
from tressette_env.batch_views import sides_of
from tressette_env.deals import deck_of
from tressette_env.errors import AgentFailedError
from tressette_env.policies import Agent, BatchPolicy, SeatPolicy, as_agent
from tressette_env.randomness import check_seed
from tressette_env.records import DealRecord, GameRecord
from tressette_env.rulesets import RuleSet, get_rules
from tressette_train.evaluate import check_deals, check_rules
from tressette_train.match_play import side_seed

__all__ = ["PlayedDeals", "Watched", "play_deals"]

_BATCH = 4096  # deals that are kept at a time


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


class Watched:
    """An agent whose cards are looked at, and whom it plays.

    Parameters
    ----------
    agent : str, SeatPolicy or BatchPolicy
    opponent : str, SeatPolicy or BatchPolicy, optional
        Plays the other side, each deal in both seatings; by default the agent itself, which then
        plays each deal once.
    rules : str or RuleSet
    deals : int
        Deals 0 to ``deals - 1`` of the seed; at least 2.
    seed : int

    Attributes
    ----------
    agent, opponent : Agent
    rules : RuleSet
    deals, seed : int

    Raises
    ------
    TressetteError
        If an argument is out of range, or an agent does not exist, does not play the rules or
        cheats.
    """

    def __init__(
        self,
        agent: str | SeatPolicy | BatchPolicy,
        opponent: str | SeatPolicy | BatchPolicy | None,
        rules: str | RuleSet,
        deals: int,
        seed: int,
    ) -> None:
        self.rules = get_rules(rules)
        check_deals(deals)
        self.deals, self.seed = deals, check_seed(seed)
        self.agent = as_agent(agent)
        self._is_alone = opponent is None
        self.opponent = self.agent if opponent is None else as_agent(opponent)
        for one in (self.agent, self.opponent):
            check_rules(one, self.rules)

    @staticmethod
    def cards_to_play(rules: RuleSet, deals: int, is_alone: bool) -> int:
        """Cards that ``games`` plays in all, for a progress bar."""
        return rules.deck_size * deals * (1 if is_alone else 2)

    def games(
        self, on_progress: Callable[[int], None] = lambda cards: None
    ) -> Iterator[tuple[PlayedDeals, PlayedDeals]]:
        """Play, and yield the deals in parts: with the agent on side 0, and with it on side 1.

        Against itself both are one object.

        Parameters
        ----------
        on_progress : callable
            Called with the number of cards played since the last call.

        Raises
        ------
        AgentFailedError
            If an agent raises, or plays a card that it may not.
        """
        for start in range(0, self.deals, _BATCH):
            count = min(_BATCH, self.deals - start)
            sides = self.agent, self.opponent
            one = play_deals(sides, self.rules, self.seed, start, count, on_progress)
            if self._is_alone:
                yield one, one
                continue
            yield one, play_deals(sides[::-1], self.rules, self.seed, start, count, on_progress)
