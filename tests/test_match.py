"""Scoring a deal, and deals to a target (R11-R14, R18, R19)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from tressette_env import PRESETS, BatchTable, RuleSet, tressette_v0
from tressette_env.cards import card_list, card_worth
from tressette_env.deals import deck_of, first_leader
from tressette_env.match import (
    MATCH_DRAWN,
    MATCH_OPEN,
    add_deal,
    house_margin,
    house_score,
    house_total,
    match_margin,
    next_leader,
    start_match,
    winning_side,
)
from tressette_env.rules import deal, legal_cards, play_card, side_of
from tressette_env.rulesets import playable_presets
from tressette_env.state import State, new_state, state_from_record, state_to_record

POINTS = PRESETS["playmore"]
THIRDS = PRESETS["yeeqia"]
FULL_DECK = [name for name in playable_presets() if PRESETS[name].deck_size == 40]


def after_deals(deals: Iterable[tuple[int, int]], rules: RuleSet = POINTS) -> State:
    """State of a match after deals with these thirds of both sides."""
    state = new_state()
    start_match(state)
    for thirds in deals:
        assert state.match_result == MATCH_OPEN
        state.thirds = list(thirds)
        add_deal(state, rules)
    return state


def with_points(first: int, second: int) -> tuple[int, int]:
    """Thirds of a deal that gives these points."""
    assert first + second == 11
    return (
        (3 * first, 35 - 3 * first)
        if (35 - 3 * first) // 3 == second
        else (3 * first + 2, 3 * second)
    )


# ------------------------------------------------------------ one deal


def test_six_court_cards_are_two_points_whoever_counts() -> None:
    assert house_score(6, POINTS) == 2
    assert house_score(6, THIRDS) == 6
    assert type(house_score(6, POINTS)) is int


def test_every_deal_gives_eleven_points_and_the_same_winner_by_thirds_and_by_points() -> None:
    for first in range(36):
        state = new_state()
        state.thirds = [first, 35 - first]
        points = [house_score(thirds, POINTS) for thirds in state.thirds]
        assert points == [first // 3, (35 - first) // 3]
        assert sum(points) == 11 == house_total(POINTS)
        assert winning_side(*points, POINTS) == winning_side(*state.thirds, THIRDS)
        assert winning_side(*points, POINTS) == (0 if first > 17 else 1)
        assert house_margin(state, POINTS) == points[0] - points[1]
        assert house_margin(state, THIRDS) == 2 * first - 35


def test_no_deal_is_tied() -> None:
    assert house_total(THIRDS) == 35
    for first in range(36):
        assert winning_side(first, 35 - first, THIRDS) >= 0
        assert winning_side(first // 3, (35 - first) // 3, POINTS) >= 0


def test_card_points_dropped_before_the_last_trick_is_added_are_the_same_points() -> None:
    for first in range(33):
        assert first // 3 + (32 - first) // 3 == 10
        assert first // 3 + 1 == house_score(first + 3, POINTS)


@pytest.mark.parametrize("name", ["gamelake_partners", "gamelake_partners_short"])
def test_fractions_are_dropped_once_a_side_never_for_each_player(name: str) -> None:
    """Partners with 8 and 7 thirds have 5 points; dropping each player's fraction gives 4."""
    env = tressette_v0.raw_env(rules=name)
    differences = set()
    for seed in range(40):
        env.reset(seed=seed)
        piles = [0, 0, 0, 0]
        trick: list[int] = []
        for _ in range(40):
            card = card_list(env.view(env.agent_selection).legal)[-1 if seed % 2 else 0]
            env.step(card)
            trick.append(card)
            if len(trick) == 4:
                piles[int(env.agent_selection[-1])] += sum(map(card_worth, trick))
                trick.clear()
        piles[int(env.agent_selection[-1])] += 3
        sides = (piles[0] + piles[2], piles[1] + piles[3])
        assert env.thirds == sides
        assert env.points == env.totals == (sides[0] // 3, sides[1] // 3)
        each_player = (piles[0] // 3 + piles[2] // 3, piles[1] // 3 + piles[3] // 3)
        differences.update(side - each for side, each in zip(env.points, each_player, strict=True))
    assert differences == {0, 1}  # the wrong way to count shows in these deals


def test_fewest_wins_turns_winner_and_margin_around() -> None:
    fewest = POINTS.replace(objective="fewest")
    state = after_deals([(20, 15), (20, 15), (20, 15), (20, 15)], fewest)
    assert house_margin(state, fewest) == -1
    assert state.totals == [24, 20]
    assert state.match_result == 2  # the match ends at 24; the side with 20 wins
    assert winning_side(5, 5, fewest) == -1


# ------------------------------------------------------------ a match


def test_fractions_are_dropped_deal_by_deal_never_carried() -> None:
    assert after_deals([(17, 18), (17, 18)]).totals == [10, 12]  # carried fractions give 11


def test_the_match_adds_up_points_it_does_not_count_deals_won() -> None:
    state = after_deals([with_points(6, 5), with_points(5, 6), with_points(10, 1)])
    assert state.totals == [21, 12]
    assert state.match_result == 1
    assert match_margin(state) == 1


@pytest.mark.parametrize(
    ("before", "last"), [((13, 20), (9, 2)), ((20, 13), (2, 9)), ((22, 11), (0, 11))]
)
def test_level_at_or_past_the_target_nobody_has_won_and_one_more_deal_decides(
    before: tuple[int, int], last: tuple[int, int]
) -> None:
    state = new_state()
    start_match(state)
    state.totals = list(before)
    state.thirds = list(with_points(*last))
    add_deal(state, POINTS)
    assert state.totals == [22, 22]
    assert state.match_result == MATCH_OPEN
    state.thirds = list(with_points(5, 6))
    add_deal(state, POINTS)
    assert state.totals == [27, 28]
    assert state.match_result == 2
    assert match_margin(state) == -1


@pytest.mark.parametrize("name", ["playmore", "gamelake_short"])
@pytest.mark.parametrize("side", [0, 1])
def test_exactly_the_target_and_ahead_ends_the_match(name: str, side: int) -> None:
    rules = PRESETS[name]
    assert rules.target is not None
    for reached in range(rules.target - 2, rules.target + 3):
        state = new_state()
        start_match(state)
        state.totals[side] = reached - 6
        state.thirds = list(with_points(6, 5) if side == 0 else with_points(5, 6))
        add_deal(state, rules)
        assert state.totals[side] == reached
        assert state.match_result == (1 + side if reached >= rules.target else MATCH_OPEN)


def test_both_past_the_target_the_higher_total_wins_whichever_seat_that_is() -> None:
    for last, winner in ((with_points(7, 4), 1), (with_points(4, 7), 2)):
        state = new_state()
        start_match(state)
        state.totals = [20, 20]
        state.thirds = list(last)
        add_deal(state, POINTS)
        assert min(state.totals) >= 21
        assert state.match_result == winner


def test_without_a_target_a_match_is_one_deal() -> None:
    assert after_deals([(18, 17)], THIRDS).match_result == 1
    assert after_deals([(17, 18)], THIRDS).match_result == 2
    even = PRESETS["mini_2x4"].replace(deck=PRESETS["mini_2x4"].deck[:4], hand_size=1)
    state = new_state()
    state.thirds = [4, 4]
    add_deal(state, even)
    assert state.match_result == MATCH_DRAWN
    assert match_margin(state) == 0


def test_all_eleven_points_win_the_match_only_where_the_house_says_so() -> None:
    cappotto = POINTS.replace(cappotto="all_points")
    for thirds, result in (((35, 0), 1), ((2, 33), 2), ((32, 3), MATCH_OPEN)):
        assert after_deals([thirds], cappotto).match_result == result
        assert after_deals([thirds], POINTS).match_result == MATCH_OPEN


def lengths_and_totals(target: int) -> tuple[set[int], set[tuple[int, int]]]:
    """Numbers of deals a match can take, and the totals it can stand at, over all deals."""
    rules = POINTS.replace(target=target)
    open_totals, lengths, seen = {(0, 0)}, set(), set()
    for played in itertools.count(1):
        following = set()
        for totals, points in itertools.product(open_totals, range(12)):
            state = new_state()
            start_match(state)
            state.totals = list(totals)
            state.thirds = list(with_points(points, 11 - points))
            add_deal(state, rules)
            assert sum(state.totals) == 11 * played
            seen.add((state.totals[0], state.totals[1]))
            if state.match_result == MATCH_OPEN:
                following.add((state.totals[0], state.totals[1]))
            else:
                lengths.add(played)
        open_totals = following
        if not open_totals:
            return lengths, seen
    raise AssertionError


def test_a_target_of_21_takes_two_to_five_deals_and_can_only_tie_at_22() -> None:
    lengths, totals = lengths_and_totals(21)
    assert lengths == {2, 3, 4, 5}
    assert {first for first, second in totals if first == second} == {11, 22}


def test_a_target_of_11_takes_one_to_three_deals() -> None:
    lengths, totals = lengths_and_totals(11)
    assert lengths == {1, 2, 3}
    assert {first for first, second in totals if first == second} == {11}


def random_matches(rules: str, tables: int, each: int) -> Iterator[tuple[list[Any], Any, int]]:
    """Totals before every deal of a match, final totals and winner; ``each`` matches a table."""
    table = BatchTable(tables, rules, seed=9, episode="match")
    rng = np.random.default_rng(9)
    before: list[list[tuple[int, ...]]] = [[(0, 0)] for _ in range(tables)]
    done = np.zeros(tables, int)
    while done.min() < each:
        for _ in range(40):
            totals = table.totals
            masks = table.legal_masks
            step = table.play((masks * (1 - rng.random(masks.shape))).argmax(1))
        for index in range(tables):
            if step.is_over[index]:
                final = tuple((totals[index] + step.thirds[index] // 3).tolist())
                if done[index] < each:
                    yield before[index], final, int(step.margins[index])
                done[index] += 1
                before[index] = []
            before[index].append(tuple(table.totals[index].tolist()))


def test_under_random_play_one_match_in_eleven_is_level_at_22() -> None:
    matches = list(random_matches("playmore", 2000, 3))
    assert len(matches) == 6000
    level = sum((22, 22) in before for before, _, _ in matches)
    both = sum(min(final) >= 21 for _, final, _ in matches)
    assert abs(level / len(matches) - 1 / 11) < 0.015  # four standard errors
    assert abs(both / len(matches) - 0.25) < 0.025
    for before, final, margin in matches:
        assert before[0] == (0, 0)
        assert 2 <= len(before) <= 5
        assert max(final) >= 21
        assert margin == (1 if final[0] > final[1] else -1)


# ------------------------------------------------------------ who leads


@pytest.mark.parametrize("name", playable_presets())
@pytest.mark.parametrize("leader", [0, 1])
def test_the_deal_passes_on_through_saving_and_restoring(name: str, leader: int) -> None:
    rules = PRESETS[name]
    state = new_state()
    start_match(state)
    deal(state, rules, deck_of(rules, 3, 0), leader)
    leaders = []
    for number in range(1, 7):
        leaders.append(state.leader)
        assert state.dealer == (state.leader - 1) % rules.seats
        assert state.turn == state.leader
        while state.ply < rules.deck_size:
            if state.ply == 3:
                state = state_from_record(state_to_record(state)[0])
            play_card(state, rules, card_list(legal_cards(state, rules))[0])
        state = state_from_record(state_to_record(state)[0])
        deal(state, rules, deck_of(rules, 3, number), next_leader(state, rules))
    assert leaders == [(leader + number) % rules.seats for number in range(6)]


@pytest.mark.parametrize("name", ["playmore", "gamelake", "gamelake_partners", "cuperativa"])
def test_the_lead_alternates_in_a_match_of_tables_saved_between_the_deals(name: str) -> None:
    rules = PRESETS[name].replace(target=1000)
    table = BatchTable(8, rules, seed=5, episode="match")
    first = table.seats
    for deals_played in range(1, 5):
        for _ in range(40):
            saved = table.snapshot()
            table = BatchTable(8, rules, seed=5, episode="match", first_deal=77)
            table.restore(saved)
            table.play(table.legal_masks.argmax(1))
        assert (table.seats == (first + deals_played) % rules.seats).all()
        assert (table.totals.sum(1) == 11 * deals_played).all()


@pytest.mark.parametrize("name", ["playmore", "gamelake_partners"])
def test_the_lead_alternates_in_the_environment(name: str) -> None:
    env = tressette_v0.raw_env(rules=name, episode="match")
    env.reset(seed=3)
    leaders = []
    ply = 0
    while env.agents and not any(env.terminations.values()):
        if ply % 40 == 0:
            leaders.append(int(env.agent_selection[-1]))
        env.step(card_list(env.view(env.agent_selection).legal)[0])
        ply += 1
    assert len(leaders) >= 2
    seats = env.rules.seats
    assert leaders == [(leaders[0] + number) % seats for number in range(len(leaders))]


@pytest.mark.parametrize("name", FULL_DECK)
def test_the_first_leader_sits_after_a_dealer_drawn_at_random(name: str) -> None:
    rules = PRESETS[name]
    leaders = [first_leader(rules, seed, 0) for seed in range(200)]
    assert set(leaders) == set(range(rules.seats))
    assert {side_of(leader) for leader in leaders} == {0, 1}


def test_a_new_match_starts_at_nothing() -> None:
    state = after_deals([(35, 0), (35, 0)])
    assert (state.totals, state.match_result) == ([22, 0], 1)
    start_match(state)
    assert (state.totals, state.match_result) == ([0, 0], MATCH_OPEN)
