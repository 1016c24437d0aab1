"""``ismcts``: deterministic, better with more iterations, right where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from tressette_agents import make_agent
from tressette_agents.solver import card_values
from tressette_env.batch import BatchTable
from tressette_env.rulesets import PRESETS
from tressette_env.view import View
from tressette_train.evaluate import evaluate


def test_specs() -> None:
    assert make_agent("ismcts").spec == "ismcts:iterations=1000"
    spec = "ismcts:iterations=9,explore=1.5,rollout=greedy,leaf=play"
    assert make_agent(spec).spec == spec


def test_with_many_iterations_it_finds_the_best_card_of_an_ending() -> None:
    """Three cards each, nothing hidden: the tree holds every line."""
    rules = PRESETS["playmore"]
    table = BatchTable(60, rules, 9)
    agent, quick = make_agent("ismcts:iterations=3000"), make_agent("counting")
    for _ in range(34):
        table.play(quick.act_batch(table.views(), rules, np.zeros(60, np.int64)))
    views = table.views()
    cards = agent.act_batch(views, rules, np.arange(60))
    lost = 0
    for row in range(60):
        view = View.from_record(views[row], rules)
        values = card_values(view.hand, view.unseen)
        lost += max(values.values()) - values[int(cards[row])]
    assert lost == 0


@pytest.mark.parametrize("house", ["playmore", "gamelake_partners"])
def test_a_single_iteration_plays_the_quick_rule(house: str) -> None:
    rules = PRESETS[house]
    table = BatchTable(30, rules, 2)
    one, counting = make_agent("ismcts:iterations=1"), make_agent("counting")
    for _ in range(rules.deck_size):
        views, seeds = table.views(), np.arange(30)
        cards = one.act_batch(views, rules, seeds)
        assert (cards == counting.act_batch(views, rules, seeds)).all()
        table.play(cards)


def test_more_iterations_are_stronger() -> None:
    (result,) = evaluate(["ismcts:iterations=400", "ismcts:iterations=10"], "playmore", 80, seed=3)
    assert result.margin_thirds.low > 0
