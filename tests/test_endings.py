"""``X+endings``: agent X while the stock lasts, then exactly."""

from __future__ import annotations

import numpy as np
import pytest

from tressette_agents import make_agent
from tressette_agents.endings import EndingsAgent
from tressette_agents.solver import card_values
from tressette_env.batch import BatchTable
from tressette_env.errors import RulesError
from tressette_env.policies import Agent
from tressette_env.rulesets import PRESETS, RuleSet
from tressette_env.view import View
from tressette_train.evaluate import evaluate


def test_specs_pass_options_through() -> None:
    for spec in ("greedy+endings", "flat:worlds=3,rollout=greedy+endings", "random+endings"):
        assert make_agent(spec).spec == spec


@pytest.mark.parametrize("house", ["playmore", "gamelake", "cuperativa", "mini_2x5"])
def test_the_stock_is_the_base_agents_and_the_ending_exact(house: str) -> None:
    rules = PRESETS[house]
    table = BatchTable(40, rules, 5)
    base, exact = make_agent("counting"), make_agent("counting+endings")
    endings = 0
    for ply in range(rules.deck_size):
        views, seeds = table.views(), np.arange(40) + 100 * ply
        cards = exact.act_batch(views, rules, seeds)
        if table.view(0).stock_left:
            assert (cards == base.act_batch(views, rules, seeds)).all()
        else:
            for row in range(0, 40, 4):
                view = View.from_record(views[row], rules)
                led = view.table[0] if view.table else None
                values = card_values(view.hand, view.unseen | view.known[1], led)
                assert sorted(values) == view.legal_cards
                assert values[int(cards[row])] == max(values.values())
                assert exact.act(view, 0) == cards[row]
                endings += 1
        table.play(cards)
    assert endings == 10 * 2 * rules.hand_size


def test_a_batch_may_mix_plies_and_seats_that_are_not_to_act() -> None:
    rules = PRESETS["playmore"]
    table = BatchTable(8, rules, 1)
    agent = make_agent("greedy+endings")
    parts = []
    for _ in range(40):
        parts.append(table.views())
        parts.append(table.views(1 - table.seats))
        table.play(agent.act_batch(parts[-2], rules, np.zeros(8, np.int64)))
    views = np.concatenate(parts)
    order = np.random.default_rng(2).permutation(len(views))
    cards = agent.act_batch(views, rules, np.zeros(len(views), np.int64))
    mixed = agent.act_batch(views[order], rules, np.zeros(len(views), np.int64))
    assert (mixed == cards[order]).all()
    assert ((cards == -1) == (views["legal"] == 0)).all()


@pytest.mark.parametrize(
    ("spec", "rules", "words"),
    [
        ("greedy+endings", PRESETS["gamelake_partners"], "have 4"),
        ("greedy+endings", RuleSet("fewest", objective="fewest"), "less wins"),
        ("pimc", RuleSet("fewest", objective="fewest"), "less wins"),
        ("pimc", RuleSet("fewest_partners", seats=4, objective="fewest"), "less wins"),
    ],
)
def test_rules_that_cannot_be_solved_are_refused(spec: str, rules: RuleSet, words: str) -> None:
    with pytest.raises(RulesError, match=f"'{rules.name}'.*{words}"):
        make_agent(spec).check_rules(rules)
    with pytest.raises(RulesError, match=words):
        evaluate([spec, "greedy"], rules, 2)
    views = BatchTable(1, rules, 0).views()
    with pytest.raises(RulesError, match=words):
        make_agent(spec).act_batch(views, rules, np.zeros(1, np.int64))


def test_rules_that_the_base_does_not_play_are_refused() -> None:
    class Picky(Agent):
        def check_rules(self, rules: RuleSet) -> None:
            raise RulesError("not these")

    with pytest.raises(RulesError, match="not these"):
        EndingsAgent(Picky()).check_rules(PRESETS["playmore"])


def test_probabilities_are_the_bases_and_one_for_the_solvers_card() -> None:
    rules = PRESETS["playmore"]
    table = BatchTable(1, rules, 5)
    start = table.views()
    table.play_randomly(22, 1)
    views = np.concatenate([start, table.views()])
    agent = make_agent("random+endings")
    chances = agent.probabilities(views, rules)
    assert chances is not None
    assert chances[0].max() == pytest.approx(0.1) and chances.sum(1) == pytest.approx([1, 1])
    assert chances[1, agent.act_batch(views, rules, np.zeros(2, np.int64))[1]] == 1
    assert make_agent("flat:worlds=1+endings").probabilities(views, rules) is None
    assert make_agent("greedy+endings").ignores_seed and not agent.ignores_seed


@pytest.mark.parametrize("house", ["playmore", "gamelake"])
def test_endings_add_five_thirds_a_deal_to_greedy(house: str) -> None:
    (result,) = evaluate(["greedy+endings", "greedy"], house, 300, seed=4)
    assert result.margin_thirds.low > 5
