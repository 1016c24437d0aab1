"""``pimc``: exact values of its own worlds; a time limit; exact endings."""

from __future__ import annotations

import itertools
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tressette_agents import make_agent, pimc, pimc_kernels, search_kernels
from tressette_agents.counting import counting_card
from tressette_agents.pimc_kernels import SPREAD
from tressette_agents.playouts import suit_rows
from tressette_agents.search_kernels import _estimate
from tressette_agents.solver import best_card
from tressette_agents.solver_open import solve_open
from tressette_agents.solver_partners import solve_partners
from tressette_env.batch import BatchTable
from tressette_env.rollouts import Workspace
from tressette_env.rules import is_over, play_card, side_of
from tressette_env.rulesets import PRESETS, RuleSet
from tressette_env.state import State, state_from_record
from tressette_env.view import View, view_of
from tressette_env.worlds import WorldSampler
from tressette_train.evaluate import evaluate

WORLDS = 1


def margin_of(state: State, rules: RuleSet, seat: int, mover_thirds: int) -> int:
    """Margin of a seat's side if the side of the seat to act takes so much of the rest."""
    side = side_of(state.turn)
    ours = state.thirds[side] + mover_thirds
    more = 2 * ours - rules.total_thirds
    return more if side == side_of(seat) else -more


def play_quickly(state: State, rules: RuleSet) -> None:
    own = view_of(state, rules, state.turn)
    play_card(state, rules, counting_card(own, rules))


def solved(state: State, rules: RuleSet, seat: int, depth: int) -> int:
    """Margin with the last draws, or the last tricks, played exactly."""
    if rules.seats == 4:
        while state.hands[state.turn].bit_count() > depth:
            play_quickly(state, rules)
        if is_over(state, rules):
            return margin_of(state, rules, seat, 0)
        size = state.ply % 4
        on_table = state.plays[state.ply - size : state.ply]
        value = solve_partners(state.hands, state.leader, on_table)
        return margin_of(state, rules, seat, value)
    while rules.stock_size - state.drawn > 2 * depth:
        play_quickly(state, rules)
    led = state.plays[state.ply - 1] if state.ply % 2 else None
    stock = state.stock[state.drawn : rules.stock_size]
    own, other = state.hands[state.turn], state.hands[1 - state.turn]
    value = solve_open(own, other, stock, led, rules.follow)
    return margin_of(state, rules, seat, value)


def estimated(state: State, rules: RuleSet, seat: int) -> int:
    """Margin by the quick rule: two seats to the empty stock, four to the end."""
    if rules.seats == 4:
        while not is_over(state, rules):
            play_quickly(state, rules)
        return margin_of(state, rules, seat, 0)
    while state.drawn < rules.stock_size or state.ply % 2:
        play_quickly(state, rules)
    own, other = state.hands[state.turn], state.hands[1 - state.turn]
    return margin_of(state, rules, seat, _estimate(own, other, suit_rows()))


def best_by_hand(view: View, seed: int, depth: int) -> set[int]:
    """Cards with the best total margin, interpreted but for the solvers."""
    totals = dict.fromkeys(view.legal_cards, 0)
    for number, world in enumerate(WorldSampler(view).sample(SPREAD * WORLDS, seed)):
        for card in totals:
            state = state_from_record(world)
            play_card(state, view.rules, card)
            if number % SPREAD == 0:
                totals[card] += SPREAD * solved(state, view.rules, view.seat, depth)
            guess = estimated(state, view.rules, view.seat)
            totals[card] += guess if number % SPREAD else guess - SPREAD * guess
    return {card for card in totals if totals[card] == max(totals.values())}


@pytest.mark.parametrize("draws", [0, 2])
@pytest.mark.parametrize("house", ["playmore", "gamelake", "cuperativa", "mini_2x5_stock_empty"])
def test_the_card_is_the_best_exact_mean_over_the_worlds(house: str, draws: int) -> None:
    rules = PRESETS[house]
    agent = make_agent(f"pimc:worlds={WORLDS},draws={draws}")
    table = BatchTable(2, rules, 8)
    for ply in range(rules.deck_size):
        views = table.views()
        cards = agent.act_batch(views, rules, np.array([ply, 77]))
        view = View.from_record(views[0], rules)
        if view.stock_left and ply % 4 == 1:
            is_solved = rules.follow_always or view.stock_left <= 2 * draws
            assert int(cards[0]) in best_by_hand(view, ply, draws if is_solved else 0)
        if not view.stock_left:
            led = view.table[0] if view.table else None
            assert cards[0] == best_card(view.hand, view.unseen | view.known[1], led)
        table.play(cards)


@pytest.mark.parametrize("tricks", [1, 4])
def test_with_four_seats_too(tricks: int) -> None:
    rules = PRESETS["gamelake_partners"]
    agent = make_agent(f"pimc:worlds={WORLDS},tricks={tricks}")
    table = BatchTable(2, rules, 8)
    for ply in range(rules.deck_size):
        views = table.views()
        cards = agent.act_batch(views, rules, np.array([ply, 77]))
        if ply % 3 == 1:
            view = View.from_record(views[0], rules)
            assert int(cards[0]) in best_by_hand(view, ply, tricks)
        table.play(cards)


@pytest.mark.parametrize("house", ["mini_2x5", "mini_2x5_stock_empty"])
def test_what_one_world_has_taught_is_not_believed_of_another_stock(house: str) -> None:
    """Few cards: many worlds have the same hands, and the stock in another order."""
    rules = PRESETS[house]
    views = BatchTable(3, rules, 5).views()
    arrays = Workspace().arrays
    reused = pimc_kernels.new_solver()
    for view in views:
        search_kernels.plan_worlds(view, rules.row[0], arrays[0], arrays[1])
        for world in range(60):
            totals = np.zeros((2, 40), np.int64)
            which = (view, rules.row[0], 9, SPREAD * world, SPREAD * (world + 1), 0, 2)
            for row, solver in enumerate((reused, pimc_kernels.new_solver())):
                pimc_kernels.add_corrections(*which, solver, arrays, totals[row])
            assert (totals[0] == totals[1]).all()


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


def test_the_clock_is_looked_at_after_every_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look takes ten milliseconds here: the first at 0, the last at the limit."""
    looks = itertools.count(0, 10)
    solved: list[int] = []

    def count(view: Any, rule: Any, seed: int, first: int, end: int, *_: Any) -> None:
        solved.append(first)

    monkeypatch.setattr(pimc_kernels, "add_corrections", count)
    monkeypatch.setattr(pimc, "time", SimpleNamespace(perf_counter=lambda: next(looks) / 1000))
    views = BatchTable(1, PRESETS["playmore"], 4).views()
    make_agent("pimc:ms=50").act_batch(views, PRESETS["playmore"], np.arange(1))
    assert solved == [0, SPREAD, 2 * SPREAD, 3 * SPREAD, 4 * SPREAD]
    solved.clear()
    make_agent("pimc:worlds=3").act_batch(views, PRESETS["playmore"], np.arange(1))
    assert solved == [0, SPREAD, 2 * SPREAD]


@pytest.mark.parametrize(
    "spec", ["pimc:worlds=3,rollout=greedy,draws=2,tricks=7", "pimc:ms=7", "pimc:worlds=32"]
)
def test_specs(spec: str) -> None:
    assert make_agent(spec).spec == spec


def test_pimc_beats_counting_with_exact_endings() -> None:
    (result,) = evaluate(["pimc:worlds=8", "counting+endings"], "playmore", 40, seed=6)
    assert result.margin_thirds.low > 0.5
