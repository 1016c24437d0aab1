"""``ismcts``: deterministic, better with more iterations, right where the answer is known."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from tressette_agents import ismcts, make_agent, search_kernels
from tressette_agents.counting import cheapest_card, counting_card
from tressette_agents.ismcts import IsmctsAgent
from tressette_agents.solver import card_values
from tressette_env.batch import BatchTable
from tressette_env.rollouts import Workspace
from tressette_env.rules import is_over, play_card
from tressette_env.rulesets import PRESETS
from tressette_env.state import state_from_record
from tressette_env.view import View, view_of
from tressette_env.worlds_sampling import pick_below
from tressette_train.evaluate import evaluate


def test_specs() -> None:
    assert make_agent("ismcts").spec == "ismcts:iterations=1000"
    spec = "ismcts:iterations=9,explore=1.5,rollout=greedy,leaf=play"
    assert make_agent(spec).spec == spec


@pytest.mark.parametrize("explore", [0.0, 2.0, 1 / 3, 0.1234567891, 1e-7, np.float64(0.3)])
def test_the_spec_makes_an_agent_that_explores_as_much(explore: float) -> None:
    spec = IsmctsAgent(5, explore).spec
    again = make_agent(spec)
    assert isinstance(again, IsmctsAgent)
    assert again.explore == explore
    assert again.spec == spec


@dataclasses.dataclass
class Node:
    """A node of a tree grown in plain Python."""

    available: int = 0
    visits: int = 0
    total: float = 0.0
    children: dict[int, Node] = dataclasses.field(default_factory=dict)


def grown_by_hand(view: View, seed: int, iterations: int, explore: float) -> Node:
    """SO-ISMCTS, algorithm 1 of Cowling, Powley and Whitehouse, over the agent's own worlds."""
    rules = view.rules
    plans, public, world, _line, _looks, stream, scratch = Workspace().arrays
    search_kernels.plan_worlds(view.to_record()[0], rules.row[0], plans, public)
    root = Node()
    for number in range(iterations):
        search_kernels.deal_world(plans, public, seed, number, stream, scratch, world)
        dice = stream.tolist()
        state = state_from_record(world[0])
        node, path = root, []
        is_new = False
        while not is_over(state, rules) and not is_new:
            mover = state.turn
            own = view_of(state, rules, mover)
            legal = own.legal_cards
            for card in legal:
                if card in node.children:
                    node.children[card].available += 1
            untried = [card for card in legal if card not in node.children]
            is_new = bool(untried)
            if is_new:
                card = counting_card(own, rules)
                if card not in untried:
                    card = untried[pick_below(dice, len(untried))]
                node.children[card] = Node(available=1)
            else:
                card = best_bound(node, own.legal, explore)
            node = node.children[card]
            path.append((node, 1 if mover == view.seat else -1))
            play_card(state, rules, card)
        while not is_over(state, rules):
            own = view_of(state, rules, state.turn)
            play_card(state, rules, counting_card(own, rules))
        margin = state.thirds[view.seat] - state.thirds[1 - view.seat]
        for one, sign in path:
            one.visits += 1
            one.total += sign * margin / rules.total_thirds
    return root


def best_bound(node: Node, legal: int, explore: float) -> int:
    bounds = {}
    while legal:
        card = cheapest_card(legal)  # of equal bounds the cheapest card's
        legal ^= 1 << card
        child = node.children[card]
        doubt = math.sqrt(math.log(child.available) / child.visits)
        bounds[card] = child.total / child.visits + explore * doubt
    return max(bounds, key=bounds.__getitem__)


def check_tree(node: Node, number: int, tree: Any) -> int:
    """Compare a node's children with those of the compiled tree; return how many there are."""
    children, counts, sums = tree
    assert {card for card in range(40) if children[number, card]} == set(node.children)
    for card, child in node.children.items():
        at = children[number, card]
        assert counts[at].tolist() == [child.visits, child.available]
        assert sums[at] == pytest.approx(child.total)
    return len(node.children) + sum(
        check_tree(child, children[number, card], tree) for card, child in node.children.items()
    )


@pytest.mark.parametrize(
    ("house", "plies"), [("mini_2x5", 1), ("mini_2x5_stock_empty", 2), ("playmore", 14)]
)
def test_the_tree_is_that_of_a_plain_search_visits_and_chances_to_be_chosen(
    house: str, plies: int
) -> None:
    iterations, explore = 150, 0.4
    table = BatchTable(1, house, 3)
    table.play_randomly(plies, 1)
    agent = IsmctsAgent(iterations, explore, leaf="play", threads=1)
    card = agent.act(table.view(0), 11)
    root = grown_by_hand(table.view(0), 11, iterations, explore)
    (_workspace, tree) = agent._parts[0]
    assert check_tree(root, 0, tree) > 60
    assert root.children[card].visits == max(child.visits for child in root.children.values())
    assert sum(child.visits for child in root.children.values()) == iterations


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


def test_a_search_in_several_calls_is_the_same_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between compiled calls Ctrl-C is heeded."""
    table = BatchTable(6, "playmore", 3)
    expected = IsmctsAgent(40).act_batch(table.views(), table.rules, np.arange(6))
    monkeypatch.setattr(ismcts, "_ITERATIONS_A_CALL", 7)
    agent = IsmctsAgent(40)
    assert agent.views_a_call == 1
    assert (agent.act_batch(table.views(), table.rules, np.arange(6)) == expected).all()


@pytest.mark.parametrize(
    ("house", "rule"),
    [("playmore", "counting"), ("playmore", "greedy"), ("gamelake_partners", "counting")],
)
def test_a_single_iteration_plays_the_quick_rule(house: str, rule: str) -> None:
    rules = PRESETS[house]
    table = BatchTable(30, rules, 2)
    one, quick = make_agent(f"ismcts:iterations=1,rollout={rule}"), make_agent(rule)
    for _ in range(rules.deck_size):
        views, seeds = table.views(), np.arange(30)
        cards = one.act_batch(views, rules, seeds)
        assert (cards == quick.act_batch(views, rules, seeds)).all()
        table.play(cards)


def test_more_iterations_are_stronger() -> None:
    (result,) = evaluate(["ismcts:iterations=400", "ismcts:iterations=10"], "playmore", 80, seed=3)
    assert result.margin_thirds.low > 0
