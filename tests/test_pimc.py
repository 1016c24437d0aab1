"""``pimc``: exact values of its own worlds; a time limit; exact endings."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tressette_agents import make_agent
from tressette_agents.counting import counting_card
from tressette_agents.playouts import suit_rows
from tressette_agents.search_kernels import SPREAD, _estimate
from tressette_agents.solver import best_card, solve_ending
from tressette_env.batch import BatchTable
from tressette_env.rules import play_card
from tressette_env.rulesets import PRESETS
from tressette_env.state import state_from_record
from tressette_env.view import View, view_of
from tressette_env.worlds import WorldSampler
from tressette_train.evaluate import evaluate

WORLDS = 1


def best_by_hand(view: View, seed: int) -> set[int]:
    """Cards with the best total margin, interpreted but for the solver."""
    totals = dict.fromkeys(view.legal_cards, 0)
    for number, world in enumerate(WorldSampler(view).sample(SPREAD * WORLDS, seed)):
        for card in totals:
            state = state_from_record(world)
            play_card(state, view.rules, card)
            while state.drawn < view.rules.stock_size or state.ply % 2:
                own = view_of(state, view.rules, state.turn)
                play_card(state, view.rules, counting_card(own, view.rules))
            leader = state.turn
            own, other = state.hands[leader], state.hands[1 - leader]
            before = state.thirds[leader] - state.thirds[1 - leader]
            left = view.rules.total_thirds - sum(state.thirds)
            sign = 1 if leader == view.seat else -1
            guess = sign * (before + 2 * _estimate(own, other, suit_rows()) - left)
            totals[card] += guess
            if number % SPREAD == 0:
                exact = sign * (before + 2 * solve_ending(own, other) - left)
                totals[card] += SPREAD * (exact - guess)
    return {card for card in totals if totals[card] == max(totals.values())}


@pytest.mark.parametrize("house", ["playmore", "gamelake", "cuperativa", "mini_2x5_stock_empty"])
def test_the_card_is_the_best_exact_mean_over_the_worlds(house: str) -> None:
    rules = PRESETS[house]
    agent = make_agent(f"pimc:worlds={WORLDS}")
    table = BatchTable(2, rules, 8)
    for ply in range(rules.deck_size):
        views = table.views()
        cards = agent.act_batch(views, rules, np.array([ply, 77]))
        view = View.from_record(views[0], rules)
        if view.stock_left and ply % 5 == 1:
            assert int(cards[0]) in best_by_hand(view, ply)
        if not view.stock_left:
            led = view.table[0] if view.table else None
            assert cards[0] == best_card(view.hand, view.unseen | view.known[1], led)
        table.play(cards)


def test_a_time_limit_holds_and_deals_the_same_worlds() -> None:
    rules = PRESETS["playmore"]
    views = BatchTable(3, rules, 4).views()
    seeds = np.arange(3)
    agent = make_agent("pimc:ms=60,threads=1")
    assert agent.spec == "pimc:ms=60"
    agent.act_batch(views, rules, seeds)  # compiles
    began = time.perf_counter()
    cards = agent.act_batch(views, rules, seeds)
    spent = time.perf_counter() - began
    assert ((views["legal"] >> cards) & 1).all()
    assert 0.18 <= spent < 2.0
    # So short that a look at the clock ends it soon.
    quick = make_agent("pimc:ms=1,threads=1")
    few = {
        int(make_agent(f"pimc:worlds={n}").act_batch(views, rules, seeds)[0]) for n in (1, 2, 3, 4)
    }
    assert int(quick.act_batch(views, rules, seeds)[0]) in few


def test_pimc_beats_counting_with_exact_endings() -> None:
    (result,) = evaluate(["pimc:worlds=8", "counting+endings"], "playmore", 40, seed=6)
    assert result.margin_thirds.low > 0.5
