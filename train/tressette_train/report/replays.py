"""The deals in which an agent did worst, played again card by card."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tressette_env.errors import TressetteError
from tressette_env.notation import record_text
from tressette_env.policies import Agent, as_agent
from tressette_env.rulesets import RuleSet
from tressette_train.evaluate import check_rules
from tressette_train.played_deals import play_deals
from tressette_train.results_file import Results

__all__ = ["Game", "WorstDeal", "worst_deals"]

_SHOWN = 5


@dataclass(frozen=True)
class Game:
    """One of a deal's seatings.

    Attributes
    ----------
    side : int
        The agent's.
    leads : bool
        Whether it led the first trick.
    margin_thirds : int
        Its margin, as the file of results says.
    record : str
        The game in the kit's notation; empty if it cannot be played again.
    problem : str
        Why it cannot, or what is different now; else empty.
    """

    side: int
    leads: bool
    margin_thirds: int
    record: str
    problem: str


@dataclass(frozen=True)
class WorstDeal:
    """One deal of a pairing, in both seatings."""

    opponent: str
    number: int
    margin_thirds: float
    games: tuple[Game, Game]


def worst_deals(results: Results) -> list[WorstDeal]:
    """Return the deals with the lowest margins of the first agent, both seatings together.

    The luck of the cards so falls on both agents alike. Programs that the file names are not
    started: whoever wrote the file would choose what is run here.
    """
    agent = results.agents[0]
    found = []
    for (first, opponent), paired in results.paired.items():
        if first != agent or opponent == agent:
            continue
        means = paired.margins_thirds.mean(1)
        for number in np.argsort(means, kind="stable")[:_SHOWN].tolist():
            found.append((float(means[number]), number, opponent))
    found.sort(key=lambda one: one[:2])
    return [
        WorstDeal(
            opponent,
            number,
            margin,
            (_game(results, opponent, number, 0), _game(results, opponent, number, 1)),
        )
        for margin, number, opponent in found[:_SHOWN]
    ]


def _game(results: Results, opponent: str, number: int, side: int) -> Game:
    agent = results.agents[0]
    paired = results.paired[agent, opponent]
    margin, leads = int(paired.margins_thirds[number, side]), bool(paired.leads[number, side])
    record = problem = ""
    try:
        players = [_player(spec, results.rules) for spec in (agent, opponent)]
        sides = (players[side], players[1 - side])
        played = play_deals(sides, results.rules, results.seed, number, 1)
        record = record_text(played.record(0))
        now = int(played.thirds[0, side] - played.thirds[0, 1 - side])
        if now != margin:
            problem = f"played again it gave {now:+d}: an agent, or a version, is not as it was"
    except TressetteError as error:
        problem = f"it cannot be played again: {error}"
    return Game(side, leads, margin, record, problem)


def _player(spec: str, rules: RuleSet) -> Agent:
    if re.match(r"\s*program\b", spec):
        raise TressetteError(f"agent {spec!r} is a program, and a page starts none")
    agent = as_agent(spec, may_cheat=True)
    check_rules(agent, rules)
    return agent
