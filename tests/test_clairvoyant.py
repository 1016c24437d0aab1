"""``clairvoyant``: plays on the true deal, is told apart in every result, and refused elsewhere."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from rich.console import Console

from tressette_agents import make_agent
from tressette_agents.solver_open import open_card_values
from tressette_agents.solver_partners import partners_card_values
from tressette_env import SingleSeatEnv
from tressette_env.asking import ask
from tressette_env.batch import BatchTable
from tressette_env.errors import AgentFailedError, AgentSpecError, RulesError, TressetteError
from tressette_env.policies import CheatingAgent, as_agent
from tressette_env.rulesets import PRESETS, RuleSet
from tressette_env.vector import TressetteVectorEnv
from tressette_train.config import OpponentsConfig
from tressette_train.evaluate import evaluate
from tressette_train.evaluate_command import results_json
from tressette_train.ladder import climb
from tressette_train.opponents import OpponentPool
from tressette_train.play_command import run as play
from tressette_train.tables import results_table

PLAYMORE = PRESETS["playmore"]


def clairvoyant() -> CheatingAgent:
    agent = make_agent("clairvoyant")
    assert isinstance(agent, CheatingAgent)
    return agent


@pytest.mark.parametrize("house", ["playmore", "gamelake", "cuperativa", "mini_2x5"])
def test_the_last_draws_and_the_ending_are_exact(house: str) -> None:
    rules, agent, counting = PRESETS[house], clairvoyant(), make_agent("counting")
    table = BatchTable(10, rules, 4)
    checked = 0
    for ply in range(rules.deck_size):
        states = table.states
        left = rules.stock_size - int(states["drawn"][0])
        if left <= 4:
            cards = agent.act_on_states(states, rules, np.zeros(10, np.int64))
            for state, card in zip(states, cards.tolist(), strict=True):
                turn = int(state["turn"])
                own, other = int(state["hands"][turn]), int(state["hands"][1 - turn])
                stock = state["stock"][rules.stock_size - left : rules.stock_size].tolist()
                led = int(state["plays"][ply - 1]) if ply % 2 else None
                values = open_card_values(own, other, stock, led, rules.follow)
                assert values[card] == max(values.values())
                checked += 1
        table.play(counting.act_batch(table.views(), rules, np.zeros(10, np.int64)))
    assert checked == 10 * (2 * rules.hand_size + 4)


def test_the_last_tricks_of_four_seats_are_exact() -> None:
    rules, agent = PRESETS["gamelake_partners"], clairvoyant()
    table = BatchTable(6, rules, 4)
    table.play_randomly(13, 1)
    for ply in range(13, 40):
        states = table.states
        cards = agent.act_on_states(states, rules, np.zeros(6, np.int64))
        for state, card in zip(states, cards.tolist(), strict=True):
            on_table = state["plays"][ply - ply % 4 : ply].tolist()
            values = partners_card_values(state["hands"].tolist(), int(state["leader"]), on_table)
            assert values[card] == max(values.values())
        table.play_randomly(1, ply)


@pytest.mark.parametrize("house", ["mini_2x5", "mini_2x5_stock_empty"])
def test_what_one_deal_has_taught_is_not_believed_of_another_stock(house: str) -> None:
    rules = PRESETS[house]
    states = np.repeat(BatchTable(8, rules, 5).states, 24)
    rng = np.random.default_rng(1)
    for state in states:
        state["stock"][: rules.stock_size] = rng.permutation(state["stock"][: rules.stock_size])
    together = clairvoyant().act_on_states(states, rules, np.zeros(len(states), np.int64))
    for row in range(0, len(states), 4):
        alone = clairvoyant().act_on_states(states[row : row + 1], rules, np.zeros(1, np.int64))
        assert alone[0] == together[row]


def test_it_looks_at_hidden_cards_and_leaves_the_states_alone() -> None:
    agent = clairvoyant()
    states = np.repeat(BatchTable(1, PLAYMORE, 3).states, 30)
    rng = np.random.default_rng(1)
    for state in states[1:]:
        state["stock"] = rng.permutation(state["stock"])
    before = states.copy()
    cards = agent.act_on_states(states, PLAYMORE, np.zeros(30, np.int64))
    assert (states == before).all()
    assert len(set(cards.tolist())) > 1
    alone = [
        agent.act_on_states(states[k : k + 1], PLAYMORE, np.zeros(1, np.int64)) for k in (3, 7)
    ]
    assert np.concatenate(alone).tolist() == cards[[3, 7]].tolist()


def test_its_results_are_marked() -> None:
    results = evaluate(["clairvoyant", "counting+endings", "greedy"], "playmore", 20, 2)
    first, _, fair = results
    assert first.margin_thirds.low > 3
    assert (first.agent, first.agent_cheats, first.opponent_cheats) == ("clairvoyant", True, False)
    assert not fair.agent_cheats
    told = json.loads(results_json(results))["results"]
    assert [(one["agent_cheats"], one["opponent_cheats"]) for one in told] == [
        (True, False),
        (True, False),
        (False, False),
    ]
    for width in (60, 200):
        text = io.StringIO()
        Console(file=text, width=width).print(results_table(results))
        assert "clairvoyant (cheats)" in text.getvalue()
        assert text.getvalue().count("cheats") == 2


def test_it_is_an_upper_bound_with_four_seats() -> None:
    (result,) = evaluate(["clairvoyant", "counting"], "gamelake_partners", 20, 2)
    assert result.margin_thirds.low > 3


def test_everything_else_refuses_it_in_one_line() -> None:
    pool = OpponentsConfig(agents={"clairvoyant": 1.0}, share=0.5)
    for refuse in (
        lambda: as_agent("clairvoyant"),
        lambda: as_agent(clairvoyant()),
        lambda: make_agent("clairvoyant+endings"),
        lambda: SingleSeatEnv(opponent="clairvoyant"),
        lambda: TressetteVectorEnv(2, opponent="clairvoyant"),
        lambda: climb(["random", "clairvoyant"], "playmore", 2, 0),
        lambda: OpponentPool.for_rules(pool, PLAYMORE),
        lambda: play("clairvoyant", "playmore", 1, 0, False, False, None),
        lambda: clairvoyant().act(BatchTable(1, PLAYMORE, 1).view(0), 0),
        lambda: clairvoyant().act_batch(
            BatchTable(1, PLAYMORE, 1).views(), PLAYMORE, np.zeros(1, np.int64)
        ),
    ):
        with pytest.raises(AgentSpecError) as caught:
            refuse()
        message = str(caught.value)
        assert message.startswith("agent 'clairvoyant' cheats (it is shown every hand")
        assert "\n" not in message


def test_views_alone_are_not_enough_and_others_get_no_states() -> None:
    table = BatchTable(3, PLAYMORE, 1)
    views, seeds, states = table.views(), np.zeros(3, np.int64), table.states
    with pytest.raises(AgentFailedError, match="cheats"):
        ask(clairvoyant(), views, PLAYMORE, seeds)
    cards = ask(clairvoyant(), views, PLAYMORE, seeds, states)
    assert ((views["legal"] >> cards) & 1).all()
    greedy = make_agent("greedy")
    expected = greedy.act_batch(views, PLAYMORE, seeds)
    assert (ask(greedy, views, PLAYMORE, seeds, states) == expected).all()


def test_a_failure_on_states_is_told() -> None:
    class Bad(CheatingAgent):
        spec = "bad"

        def act_on_states(self, states, rules, seeds):  # type: ignore[no-untyped-def]
            raise RuntimeError("no idea")

    with pytest.raises(AgentFailedError, match=r"'bad' raised RuntimeError: no idea.*deal 0"):
        evaluate([Bad(), "greedy"], "playmore", 2)


def test_houses_and_options() -> None:
    clairvoyant().check_rules(PRESETS["gamelake_partners"])
    with pytest.raises(RulesError, match=r"'fewest'.*less wins"):
        clairvoyant().check_rules(RuleSet("fewest", objective="fewest"))
    with pytest.raises(TressetteError, match="unknown option 'worlds=3'"):
        make_agent("clairvoyant:worlds=3")
