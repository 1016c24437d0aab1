"""Print what a card costs: ``python tests/cost_of_a_card.py [HOUSE] [SPEC ...]``, processor time.

Each agent plays deals against itself on one thread, many tables in one call. Single calls from
Python cost some hundredths of a millisecond more.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from tressette_env.batch import BatchTable
from tressette_env.policies import make_agent
from tressette_env.rulesets import get_rules

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


def costs(house: str, spec: str) -> tuple[float, float]:
    """Milliseconds of a card: mean, and mean while the stock lasts (four seats: all the deal)."""
    rules, agent = get_rules(house), make_agent(spec)
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


def main() -> None:
    """Print a line for each agent."""
    house = sys.argv[1] if len(sys.argv) > 1 else "playmore"
    for spec in sys.argv[2:] or SPECS:
        mean, early = costs(house, spec)
        print(f"{house:20} {spec:36} {mean:8.3f} ms a card, {early:8.3f} with a stock", flush=True)


if __name__ == "__main__":
    main()
