"""Print what a card costs: ``python tests/cost_of_a_card.py [HOUSE] [SPEC ...]``, processor time.

Each agent plays deals against itself, some tables in one call. Single calls from Python cost some
hundredths of a millisecond more.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

from tressette_env.batch import BatchTable
from tressette_env.errors import RulesError, TressetteError
from tressette_env.policies import Agent, as_agent
from tressette_env.rulesets import RuleSet, get_rules

TABLES = 6
SPECS = [
    "random",
    "greedy",
    "counting",
    "counting+endings",
    "flat:worlds=40,threads=1",
    "flat:worlds=40,threads=1+endings",
    "ismcts:iterations=1000,threads=1",
    "pimc:worlds=32,threads=1",
]


def costs(rules: RuleSet, agent: Agent) -> tuple[float, float]:
    """Milliseconds of a card: mean, and mean while the stock lasts (four seats: all the deal)."""
    spent = []
    for seed in (0, 1):  # the first deals compile
        table = BatchTable(TABLES, rules, seed)
        spent = []
        for ply in range(rules.deck_size):
            views, seeds = table.views(), np.arange(TABLES) + TABLES * ply
            began = time.process_time()
            cards = agent.act_batch(views, rules, seeds)
            spent.append((time.process_time() - began) / TABLES * 1000)
            table.play(cards)
    return float(np.mean(spent)), float(np.mean(spent[: rules.stock_size or None]))


def agents_of(rules: RuleSet, given: Sequence[str]) -> dict[str, Agent]:
    """Agents by spec, those given or those of ``SPECS`` that play the rules."""
    agents = {spec: as_agent(spec) for spec in given or SPECS}
    for spec, agent in list(agents.items()):
        try:
            agent.check_rules(rules)
        except RulesError:
            if given:
                raise
            del agents[spec]
    return agents


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each agent."""
    parser = argparse.ArgumentParser(
        description="Print what a card costs: milliseconds of processor time, mean of a deal, and "
        "while the stock lasts (with four seats the whole deal)."
    )
    parser.add_argument("house", nargs="?", default="playmore", help="preset (default: playmore)")
    parser.add_argument(
        "specs", nargs="*", metavar="spec", help=f"agents (default: {', '.join(SPECS)})"
    )
    given = parser.parse_args(arguments)
    try:
        rules = get_rules(given.house)
        agents = agents_of(rules, given.specs)
    except TressetteError as error:
        parser.error(str(error))
    for spec, agent in agents.items():
        mean, early = costs(rules, agent)
        line = f"{rules.name:20} {spec:36} {mean:8.3f} ms a card, {early:8.3f} with a stock"
        print(line, flush=True)


if __name__ == "__main__":
    main()
