"""Agents in positions that nobody would play into: a legal card, whatever the house.

As a program it asks for 100,000 positions of every house from every agent, and prints the time:
``python tests/test_fuzz.py [POSITIONS]``.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import numpy.typing as npt
import pytest
from small_agents import HOUSES, agents_for, small_specs

from tressette_env.asking import ask
from tressette_env.batch import BatchTable
from tressette_env.policies import installed_agents, make_agent
from tressette_env.rulesets import RuleSet


def fuzzed_views(rules: RuleSet, count: int, seed: int) -> npt.NDArray[np.void]:
    """Views of seats to act, each of another deal, after a random number of random cards."""
    plies = np.random.default_rng(seed).integers(0, rules.deck_size, count)
    table = BatchTable(count, rules, seed)
    views = table.views()
    for ply in range(1, rules.deck_size):
        table.play_randomly(1, seed + ply)
        at = np.flatnonzero(plies == ply)
        if len(at):
            views[at] = table.views_at(at)
    return views


def survive(rules: RuleSet, count: int, seed: int) -> dict[str, float]:
    """Ask every agent that plays the rules for a card in each position; seconds by spec.

    ``ask`` raises for an exception and for a card that is not legal.
    """
    views = fuzzed_views(rules, count, seed)
    seeds = np.random.default_rng(seed).integers(0, 2**63 - 1, count)
    seconds = {}
    for agent in agents_for(rules):
        ask(agent, views[:1], rules, seeds[:1])  # compiles
        began = time.perf_counter()
        cards = ask(agent, views, rules, seeds)
        seconds[agent.spec] = time.perf_counter() - began
        assert len(cards) == count
    return seconds


def test_all_installed_agents_are_asked() -> None:
    names = {spec.partition(":")[0].partition("+")[0] for spec in small_specs()}
    need_more = {"learned", "program"}  # a file, a command
    exempt = need_more | {
        name for name in installed_agents() if name not in need_more and make_agent(name).cheats
    }
    assert names == set(installed_agents()) - exempt
    assert exempt == {"learned", "program", "clairvoyant"}


@pytest.mark.parametrize("house", HOUSES, ids=[house.name for house in HOUSES])
def test_agents_survive_random_positions(house: RuleSet) -> None:
    seconds = survive(house, 400, seed=17)
    assert {"random", "greedy", "counting", "flat:worlds=2"} <= set(seconds)
    assert ("pimc:worlds=1" in seconds) == (not house.fewest_wins)
    assert ("greedy+endings" in seconds) == (house.seats == 2 and not house.fewest_wins)


def test_the_positions_are_of_every_ply() -> None:
    views = fuzzed_views(HOUSES[0], 2000, 3)
    assert set(views["ply"].tolist()) == set(range(40))
    assert (views["legal"] != 0).all()


def main() -> None:
    """Ask for as many positions of every house as the command line says."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    total = 0
    for house in HOUSES:
        for spec, seconds in survive(house, count, seed=1).items():
            print(f"{house.name:24} {spec:40} {count:,} positions {seconds:8.1f} s", flush=True)
            total += count
    print(f"{total:,} cards asked for, all legal")


if __name__ == "__main__":
    main()
