"""What an agent does: how often it leads, follows and discards in ways that players have words for.

Deals are played and looked at decision by decision. Each habit (``card_habits``) is counted where
the agent had a choice, apart while the stock lasts and after it: with an empty stock two seats know
all cards, and play another game.

Shapes: D deals, P phases (0: the stock lasts, 1: it is empty), H habits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env.batch import BatchTable
from tressette_env.batch_views import sides_of
from tressette_env.policies import BatchPolicy, SeatPolicy
from tressette_env.rulesets import RuleSet
from tressette_train.card_habits import (
    HABITS,
    HOLDINGS,
    RANK_CLASSES,
    Situations,
    class_of_card,
    holding_of_suit,
    situations,
)
from tressette_train.intervals import Interval, student_t_975
from tressette_train.played_deals import PlayedDeals, Watched

__all__ = ["PHASES", "HabitShare", "Habits", "find_habits", "ratio_interval"]

IntArray = npt.NDArray[np.int64]

#: Names of the phases, in the order of the axis P.
PHASES = ("stock lasts", "stock empty")


@dataclass(frozen=True)
class HabitShare:
    """How often an agent did one thing where it could do it or not.

    Attributes
    ----------
    group, name : str
        As in ``card_habits.HABITS``.
    phase : str
        One of ``PHASES``.
    choices : int
        Decisions in which some legal card does it, and another does not.
    share : Interval
        Of these, those in which the agent did it: 0 to 1.
    at_random : float
        The share of a legal card drawn at random in the same decisions.
    """

    group: str
    name: str
    phase: str
    choices: int
    share: Interval
    at_random: float

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers and text."""
        return {
            "group": self.group,
            "name": self.name,
            "phase": self.phase,
            "choices": self.choices,
            "share": self.share.mean,
            "ci95": self.share.ends,
            "at_random": self.at_random,
        }


@dataclass(frozen=True)
class Habits:
    """What an agent did in some deals.

    Attributes
    ----------
    agent, opponent : str
        Specs; the same one where the agent played itself.
    rules : str
    deals, seed : int
    done, choices : int64[D, P, H]
        Decisions in which each habit was a choice, and those in which it was done.
    at_random : float64[P, H]
        How often a legal card drawn at random would have done it.
    led : int64[P, 8, 5]
        Leads by what the suit held (``card_habits.HOLDINGS``) and by the card that was led from
        it (``card_habits.RANK_CLASSES``); a suit of one card is no choice and is left out.
    """

    agent: str
    opponent: str
    rules: str
    deals: int
    seed: int
    done: IntArray
    choices: IntArray
    at_random: npt.NDArray[np.float64]
    led: IntArray

    def shares(self) -> list[HabitShare]:
        """Every habit that was a choice in at least two deals, phase by phase."""
        found = []
        for place, habit in enumerate(HABITS):
            for phase, name in enumerate(PHASES):
                done, choices = self.done[:, phase, place], self.choices[:, phase, place]
                if (choices > 0).sum() < 2:
                    continue
                total = int(choices.sum())
                random = float(self.at_random[phase, place]) / total
                share = ratio_interval(done, choices)
                found.append(HabitShare(habit.group, habit.name, name, total, share, random))
        return found

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers and text."""
        return {
            "agent": self.agent,
            "opponent": self.opponent,
            "rules": self.rules,
            "deals": self.deals,
            "seed": self.seed,
            "habits": [one.to_json() for one in self.shares()],
            "cards_led": {
                name: {
                    holding: dict(zip(RANK_CLASSES, row, strict=True))
                    for holding, row in zip(HOLDINGS, self.led[phase].tolist(), strict=True)
                    if sum(row)
                }
                for phase, name in enumerate(PHASES)
            },
        }


def ratio_interval(done: IntArray, choices: IntArray) -> Interval:
    """Share of all choices that were done, with its 95 % interval over deals.

    Decisions of one deal depend on each other, deals do not: the ratio of two sums over deals has
    the standard error of the residuals ``done - share * choices`` (W. Cochran, "Sampling
    Techniques", 3rd edition, 1977, 6.4). The interval is cut at 0 and 1.

    Parameters
    ----------
    done, choices : int64[D]
        By deal; at least two deals, and at least one choice.
    """
    count, total = len(choices), int(choices.sum())
    share = float(done.sum()) / total
    residuals = done - share * choices
    error = math.sqrt(float((residuals**2).sum()) * count / (count - 1)) / total
    half = student_t_975(count - 1) * error
    return Interval(share, max(share - half, 0.0), min(share + half, 1.0))


def find_habits(
    agent: str | SeatPolicy | BatchPolicy,
    opponent: str | SeatPolicy | BatchPolicy | None = None,
    rules: str | RuleSet = "playmore",
    deals: int = 500,
    seed: int = 0,
    on_progress: Callable[[int], None] = lambda cards: None,
) -> Habits:
    """Play deals 0 to ``deals - 1`` of a seed and count what the agent does in them.

    Parameters
    ----------
    agent : str, SeatPolicy or BatchPolicy
    opponent : str, SeatPolicy or BatchPolicy, optional
        Plays the other side, each deal in both seatings; by default the agent itself, all of whose
        seats then count in each deal, played once.
    rules : str or RuleSet
    deals : int
        At least 2.
    seed : int
    on_progress : callable
        Called with the number of cards played since the last call.

    Raises
    ------
    TressetteError
        If an argument is out of range, or an agent does not exist, does not play the rules, cheats
        or fails.
    """
    watched = Watched(agent, opponent, rules, deals, seed)
    done, choices = np.zeros((2, deals, len(PHASES), len(HABITS)), np.int64)
    at_random = np.zeros((len(PHASES), len(HABITS)))
    led = np.zeros((len(PHASES), len(HOLDINGS), len(RANK_CLASSES)), np.int64)
    count = _Count(done, choices, at_random, led)
    for games in watched.games(on_progress):
        for side, game in enumerate(games):
            count.add(game, side)
    return Habits(
        agent=watched.agent.spec,
        opponent=watched.opponent.spec,
        rules=watched.rules.name,
        deals=deals,
        seed=seed,
        done=done,
        choices=choices,
        at_random=at_random,
        led=led,
    )


@dataclass(frozen=True)
class _Count:
    """Arrays that games are added to."""

    done: IntArray
    choices: IntArray
    at_random: npt.NDArray[np.float64]
    led: IntArray

    def add(self, game: PlayedDeals, side: int) -> None:
        """Add the decisions of a side: the deals are dealt again, and the same cards played."""
        rules, numbers = game.rules, game.numbers
        table = BatchTable(len(numbers), rules, game.seed, first_deal=int(numbers[0]))
        for ply in range(rules.deck_size):
            rows = np.flatnonzero(sides_of(game.seats[:, ply]) == side)
            if len(rows):
                views = table.views()[rows]
                # All tables of a ply are in the same phase.
                phase = int(views["stock_left"][0] == 0)
                now, cards = situations(views, rules), game.cards[rows, ply]
                self._add_habits(phase, numbers[rows], now, cards)
                self._add_leads(phase, now, cards)
            table.play(game.cards[:, ply])

    def _add_habits(self, phase: int, deals: IntArray, now: Situations, cards: IntArray) -> None:
        num_legal = np.bitwise_count(now.legal)
        for place, habit in enumerate(HABITS):
            doing = habit.cards(now) & now.legal
            is_choice = (doing != 0) & (doing != now.legal)
            # A deal has one table, and so stands once among ``deals``.
            self.choices[deals, phase, place] += is_choice
            self.done[deals, phase, place] += is_choice & (doing >> cards & 1 == 1)
            shares = np.bitwise_count(doing) / num_legal
            self.at_random[phase, place] += float(shares[is_choice].sum())

    def _add_leads(self, phase: int, now: Situations, cards: IntArray) -> None:
        suits = now.suits()[np.arange(len(cards)), cards // 10]
        at = np.flatnonzero(now.is_lead & (np.bitwise_count(suits) > 1))
        np.add.at(self.led[phase], (holding_of_suit(suits[at]), class_of_card(cards[at])), 1)
