"""Two agents in whole matches to the house's target, each match in both seatings.

Both seatings of a match have the same decks and first leader, as long as both last: table b of B
plays the deals b, b + B, b + 2 B and so on of the seed. Shapes: M matches.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env.batch import BatchTable
from tressette_env.errors import OptionError, RulesError
from tressette_env.policies import Agent, as_agent
from tressette_env.randomness import check_seed
from tressette_env.rulesets import RuleSet, get_rules
from tressette_train.evaluate import check_deals, check_rules
from tressette_train.intervals import Interval, mean_interval
from tressette_train.match_play import Pairing

__all__ = ["MAX_MATCHES", "MatchResult", "evaluate_matches"]

MAX_MATCHES = 100_000  # all of them are played at once


@dataclass(frozen=True)
class MatchResult:
    """How ``agent`` did against ``opponent`` in whole matches.

    Attributes
    ----------
    agent, opponent : str
    rules : str
    target : int
        Total that ends a match.
    seed : int
    wins : float64[M, 2]
        1 where the agent won the match, 0.5 where nobody did, else 0; the columns are the seatings
        with the agent on side 0 and on side 1.
    deals : int64[M, 2]
        Deals that each match took.
    """

    agent: str
    opponent: str
    rules: str
    target: int
    seed: int
    wins: npt.NDArray[np.float64]
    deals: npt.NDArray[np.int64]

    @property
    def win_rate(self) -> Interval:
        """Share of matches won, over pairs of seatings."""
        found = mean_interval(self.wins.mean(1))
        return Interval(found.mean, max(found.low, 0.0), min(found.high, 1.0))

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain numbers and text."""
        return {
            "agent": self.agent,
            "opponent": self.opponent,
            "rules": self.rules,
            "target": self.target,
            "matches": len(self.wins),
            "seed": self.seed,
            "win_rate": self.win_rate.mean,
            "win_rate_ci95": self.win_rate.ends,
            "win_rate_by_seat": self.wins.mean(0).tolist(),
            "deals_a_match": float(self.deals.mean()),
        }


def evaluate_matches(
    agents: Sequence[str | Agent],
    rules: str | RuleSet,
    matches: int,
    seed: int = 0,
    on_progress: Callable[[float], None] = lambda share: None,
) -> list[MatchResult]:
    """Play whole matches of every pairing of the agents.

    Parameters
    ----------
    agents : sequence of str or Agent
        At least two.
    rules : str or RuleSet
        A house with a target.
    matches : int
        2 to 100,000, each played in both seatings.
    seed : int
    on_progress : callable
        Called with the share of matches that is finished.

    Raises
    ------
    OptionError, RulesError, AgentSpecError
        If an argument is out of range, the house has no target, or an agent does not exist or does
        not play the rules.
    AgentFailedError
        If an agent raises, or plays a card that it may not.
    """
    house = get_rules(rules)
    if house.target is None:
        raise RulesError(
            f"matches: expected a house with a target, {house.name!r} has none: its matches are "
            "single deals; leave out --matches"
        )
    if len(agents) < 2:
        raise OptionError(f"agents: expected at least two, got {len(agents)}")
    check_deals(matches, "matches")
    if matches > MAX_MATCHES:
        raise OptionError(f"matches: expected at most {MAX_MATCHES:,}, got {matches}")
    check_seed(seed)
    made = [as_agent(agent, may_cheat=True) for agent in agents]
    for agent in made:
        check_rules(agent, house)
    pairs = list(itertools.combinations(made, 2))
    return [
        _play(
            *pair,
            house,
            house.target,
            matches,
            seed,
            lambda share, done=done: on_progress((done + share) / len(pairs)),  # type: ignore[misc]
        )
        for done, pair in enumerate(pairs)
    ]


def _play(
    first: Agent,
    second: Agent,
    rules: RuleSet,
    target: int,
    matches: int,
    seed: int,
    on_progress: Callable[[float], None],
) -> MatchResult:
    pairing = Pairing(first, second, rules, seed, None, lambda cards: None)
    tables = [BatchTable(matches, rules, seed, episode="match") for _ in range(2)]
    sides = np.repeat([0, 1], matches)
    wins, deals = np.zeros(2 * matches), np.zeros(2 * matches, np.int64)
    is_open = np.ones(2 * matches, np.bool_)
    cheats = first.cheats or second.cheats
    while is_open.any():
        at = np.flatnonzero(is_open)
        numbers = np.concatenate([table.deal_numbers for table in tables])
        views = np.concatenate([table.views() for table in tables])[at]
        states = np.concatenate([table.states for table in tables])[at] if cheats else None
        legal = np.concatenate([table.legal_sets for table in tables])
        cards = _lowest(legal)  # whatever it is, where the match is over
        cards[at] = pairing.choose(views, states, numbers[at], sides[at])
        steps = [table.play(part) for table, part in zip(tables, np.split(cards, 2), strict=True)]
        ended = is_open & np.concatenate([step.is_over for step in steps])
        margins = np.concatenate([step.margins for step in steps])
        wins[ended] = (1 + np.where(sides == 0, margins, -margins)[ended]) / 2
        deals[ended] = numbers[ended] // matches + 1
        is_open &= ~ended
        if ended.any():
            on_progress(1 - is_open.mean())
    return MatchResult(
        first.spec,
        second.spec,
        rules.name,
        target,
        seed,
        wins.reshape(2, -1).T,
        deals.reshape(2, -1).T,
    )


def _lowest(sets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Lowest card of each set."""
    return np.asarray(np.log2((sets & -sets).astype(np.float64)), np.int64)
