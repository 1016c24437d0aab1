"""``flat``: its choice is the best mean of its own worlds, whoever else is asked and how."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tressette_agents import make_agent
from tressette_agents.counting import counting_card
from tressette_agents.flat import FlatAgent
from tressette_agents.greedy import greedy_card
from tressette_agents.playouts import suit_rows
from tressette_agents.search_kernels import _estimate
from tressette_env.batch import BatchTable
from tressette_env.errors import OptionError
from tressette_env.rules import is_over, play_card, side_of
from tressette_env.rulesets import PRESETS, RuleSet
from tressette_env.state import state_from_record
from tressette_env.view import View, view_of
from tressette_env.worlds import WorldSampler
from tressette_train.evaluate import evaluate

WORLDS = 6


def best_by_hand(view: View, seed: int, rollout: str, leaf: str = "play") -> set[int]:
    """Cards with the best total margin, interpreted: the same worlds, played on."""
    choose = {"counting": counting_card, "greedy": greedy_card}[rollout]
    side = side_of(view.seat)
    sign = -1 if view.rules.fewest_wins else 1
    totals = dict.fromkeys(view.legal_cards, 0)
    for world in WorldSampler(view).sample(WORLDS, seed):
        for card in totals:
            state = state_from_record(world)
            play_card(state, view.rules, card)
            while not is_over(state, view.rules):
                if (
                    leaf == "estimate"
                    and state.drawn == view.rules.stock_size
                    and not state.ply % 2
                ):
                    break
                own = view_of(state, view.rules, state.turn)
                play_card(state, view.rules, choose(own, view.rules))
            leader = 1 if side_of(state.turn) == side else -1
            margin = state.thirds[side] - state.thirds[1 - side]
            if not is_over(state, view.rules):
                own_hand, other = state.hands[state.turn], state.hands[1 - state.turn]
                left = view.rules.total_thirds - sum(state.thirds)
                margin += leader * (2 * _estimate(own_hand, other, suit_rows()) - left)
            totals[card] += sign * margin
    return {card for card in totals if totals[card] == max(totals.values())}


@pytest.mark.parametrize("rollout", ["counting", "greedy"])
@pytest.mark.parametrize(
    "rules",
    [
        PRESETS["playmore"],
        PRESETS["gamelake_partners"],
        PRESETS["mini_2x5"],
        RuleSet("fewest", objective="fewest", follow="stock_empty"),
    ],
    ids=lambda rules: rules.name,
)
def test_the_card_is_the_best_mean_over_the_worlds(rules: RuleSet, rollout: str) -> None:
    agent = make_agent(f"flat:worlds={WORLDS},leaf=play,rollout={rollout}")
    table = BatchTable(2, rules, 8)
    for ply in range(rules.deck_size):
        views = table.views()
        cards = agent.act_batch(views, rules, np.array([ply, 77]))
        if ply % 4 == 1:
            best = best_by_hand(View.from_record(views[0], rules), ply, rollout)
            assert int(cards[0]) in best
        table.play(cards)


def test_by_default_the_ending_of_a_world_is_estimated() -> None:
    rules = PRESETS["playmore"]
    agent = make_agent(f"flat:worlds={WORLDS}")
    table = BatchTable(2, rules, 8)
    differ = 0
    for ply in range(rules.stock_size):
        views = table.views()
        cards = agent.act_batch(views, rules, np.array([ply, 77]))
        if ply % 3 == 1:
            view = View.from_record(views[0], rules)
            assert int(cards[0]) in best_by_hand(view, ply, "counting", "estimate")
            differ += int(cards[0]) not in best_by_hand(view, ply, "counting")
        table.play(cards)
    assert differ


@pytest.mark.parametrize("spec", ["flat:worlds=5", "pimc:worlds=2", "ismcts:iterations=30"])
def test_threads_batches_and_single_calls_choose_the_same(spec: str) -> None:
    rules = PRESETS["gamelake"]
    one, two = make_agent(f"{spec},threads=1"), make_agent(f"{spec},threads=3")
    assert one.spec == two.spec == spec
    table = BatchTable(50, rules, 3)
    for ply in range(rules.deck_size):
        views, seeds = table.views(), np.arange(50) + 1000 * ply
        cards = one.act_batch(views, rules, seeds)
        if ply % 5 == 0 or ply > 17:
            assert (two.act_batch(views, rules, seeds) == cards).all()
            assert (one.act_batch(views[7:9], rules, seeds[7:9]) == cards[7:9]).all()
            assert one.act(View.from_record(views[7], rules), int(seeds[7])) == cards[7]
        table.play(cards)


def test_another_seed_deals_other_worlds() -> None:
    rules = PRESETS["playmore"]
    agent = make_agent("flat:worlds=2")
    views = np.repeat(BatchTable(1, rules, 2).views(), 60)
    cards = agent.act_batch(views, rules, np.arange(60))
    assert len(set(cards.tolist())) > 2
    assert (agent.act_batch(views, rules, np.arange(60)) == cards).all()


@pytest.mark.parametrize("spec", ["flat", "pimc", "ismcts"])
def test_a_view_that_cannot_be_is_an_error(spec: str) -> None:
    rules = PRESETS["playmore"]
    view = BatchTable(1, rules, 2).view(0)
    view.ply = 3
    with pytest.raises(OptionError, match="view: expected one that make_view makes"):
        make_agent(spec).act(view, 0)


def test_specs() -> None:
    assert make_agent("flat").spec == "flat:worlds=40"
    assert FlatAgent(7, "greedy", "play").spec == "flat:worlds=7,rollout=greedy,leaf=play"
    assert (
        make_agent(FlatAgent(7, "greedy", "play").spec).spec == FlatAgent(7, "greedy", "play").spec
    )


def test_a_move_takes_less_than_a_millisecond() -> None:
    rules = PRESETS["playmore"]
    agent = make_agent("flat:worlds=40,threads=1")
    table = BatchTable(20, rules, 0)
    spent = 0.0
    for ply in range(rules.deck_size):
        views = table.views()
        began = time.process_time()
        cards = agent.act_batch(views, rules, np.arange(20))
        spent += time.process_time() - began if ply else 0.0  # the first call compiles
        table.play(cards)
    assert spent / (20 * (rules.deck_size - 1)) < 0.001


@pytest.mark.parametrize(
    ("house", "weaker"),
    [
        ("playmore", "counting+endings"),
        ("gamelake", "counting+endings"),
        ("gamelake_partners", "counting"),
    ],
)
def test_flat_beats_the_rule_that_plays_its_worlds_on(house: str, weaker: str) -> None:
    spec = "flat:worlds=40" + ("+endings" if "endings" in weaker else "")
    (result,) = evaluate([spec, weaker], house, 150, seed=6)
    assert result.margin_thirds.low > 0.5
