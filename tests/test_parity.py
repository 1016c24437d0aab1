"""Interpreted, compiled in batches, AEC, gymnasium: the same game after every ply."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tressette_env import PRESETS, BatchTable, RuleSet, SingleSeatEnv, View, kernels, tressette_v0
from tressette_env.cards import card_list
from tressette_env.deals import deck_of, leader_from, shuffle
from tressette_env.match import (
    MATCH_OPEN,
    add_deal,
    house_margin,
    house_total,
    match_margin,
    next_leader,
    start_match,
)
from tressette_env.observation import Layout, encode, layout_for
from tressette_env.rules import DEAL_OVER, ILLEGAL, deal, is_over, legal_cards, play_card
from tressette_env.rulesets import playable_presets
from tressette_env.state import STATE_DTYPE, State, new_state, state_from_record, state_to_record
from tressette_env.view import VIEW_DTYPE, view_of

PLAYABLE = playable_presets()
FIELDS = STATE_DTYPE.names or ()


def random_cards(masks: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """A random legal card of each row."""
    return (masks * (1 - rng.random(masks.shape))).argmax(1)


class InterpretedTables:
    """What a ``BatchTable`` does, table by table in plain Python."""

    def __init__(self, count: int, rules: RuleSet, seed: int, episode: str) -> None:
        self.rules, self.seed, self.episode = rules, seed, episode
        self.states = [new_state() for _ in range(count)]
        for number, state in enumerate(self.states):
            self.deal_to(state, number)

    def deal_to(self, state: State, number: int) -> None:
        deck = list(self.rules.deck)
        word = shuffle(deck, len(deck), self.seed, number)
        state.deal_number = number
        if self.episode == "match" and state.ply and state.match_result == MATCH_OPEN:
            leader = next_leader(state, self.rules)
        else:
            start_match(state)
            leader = leader_from(word, self.rules.seats)
        deal(state, self.rules, deck, leader)

    def legal_sets(self) -> list[int]:
        return [legal_cards(state, self.rules) for state in self.states]

    def play(self, cards: list[int]) -> tuple[list[list[int]], list[bool], list[int]]:
        """Thirds, whether the episode is over, and margins, of each table."""
        thirds, over, margins = [], [], []
        for state, card in zip(self.states, cards, strict=True):
            result = play_card(state, self.rules, card)
            assert result != ILLEGAL
            thirds.append(state.thirds[:])
            margin, is_end = 0, False
            if result == DEAL_OVER:
                is_end = self.episode == "deal"
                if is_end:
                    margin = house_margin(state, self.rules)
                else:
                    add_deal(state, self.rules)
                    is_end = state.match_result != MATCH_OPEN
                    margin = match_margin(state)
                self.deal_to(state, state.deal_number + len(self.states))
            over.append(is_end)
            margins.append(margin)
        return thirds, over, margins


def assert_same_states(states: list[State], rows: npt.NDArray[np.void]) -> None:
    """Hands, cards played and known, turn, leader, thirds, voids, ...: all fields of all tables."""
    for field in FIELDS:
        assert [getattr(state, field) for state in states] == rows[field].tolist(), field


@pytest.mark.parametrize("name", PLAYABLE)
def test_10_000_deals_are_the_same_interpreted_and_compiled_after_every_ply(name: str) -> None:
    """Whole states, legal sets, results and the next deals, in matches to the house's target."""
    rules = PRESETS[name]
    tables, deals = 1000, 10
    table = BatchTable(tables, rules, seed=21, episode="match")
    mirror = InterpretedTables(tables, rules, 21, "match")
    rng = np.random.default_rng(21)
    finished = 0
    assert_same_states(mirror.states, table.snapshot()[0])
    for ply in range(deals * rules.deck_size):
        sets = table.legal_sets
        assert mirror.legal_sets() == sets.tolist()
        cards = random_cards(table.legal_masks, rng)
        step = table.play(cards)
        thirds, over, margins = mirror.play(cards.tolist())
        assert step.thirds.tolist() == thirds
        assert step.is_over.tolist() == over
        assert step.margins.tolist() == margins
        assert_same_states(mirror.states, table.snapshot()[0])
        if (ply + 1) % rules.deck_size == 0:
            assert step.thirds.sum() == tables * rules.total_thirds
            finished += tables
    assert finished == 10_000


@pytest.mark.parametrize("name", PLAYABLE)
def test_episodes_of_one_deal_end_with_the_same_margins(name: str) -> None:
    rules = PRESETS[name]
    table = BatchTable(100, rules, seed=22)
    mirror = InterpretedTables(100, rules, 22, "deal")
    rng = np.random.default_rng(22)
    for _ in range(3 * rules.deck_size):
        cards = random_cards(table.legal_masks, rng)
        step = table.play(cards)
        thirds, over, margins = mirror.play(cards.tolist())
        assert step.thirds.tolist() == thirds
        assert step.is_over.tolist() == over
        assert step.margins.tolist() == margins
        assert_same_states(mirror.states, table.snapshot()[0])


# ------------------------------------------------------------ observations


def interpreted_observation(
    state: State, rules: RuleSet, seat: int, layout: Layout
) -> npt.NDArray[np.int8]:
    words = np.full(layout.size // 8, -1, np.int64)
    encode(view_of(state, rules, seat), rules, layout.places, words)
    return words.view(np.int8)


@pytest.mark.parametrize("observation", ["flat", "history"])
@pytest.mark.parametrize("name", PLAYABLE)
def test_views_and_observations_are_the_same_interpreted_and_compiled_after_every_ply(
    name: str, observation: str
) -> None:
    rules = PRESETS[name]
    tables, deals = (30, 3) if observation == "flat" else (5, 2)
    table = BatchTable(tables, rules, seed=23, episode="match", observation=observation)
    layout = layout_for(rules, "match", observation)
    mirror = InterpretedTables(tables, rules, 23, "match")
    rng = np.random.default_rng(23)
    for _ in range(deals * rules.deck_size):
        assert (table.observations == table.observe(table.seats)).all()
        for seat in range(rules.seats):
            seats = np.full(tables, seat)
            rows = table.views(seats)
            features = table.observe(seats)
            for index, state in enumerate(mirror.states):
                view = view_of(state, rules, seat)
                assert view == View.from_record(rows[index], rules)
                assert view == table.view(index, seat)
                expected = interpreted_observation(state, rules, seat, layout)
                assert features[index].tobytes() == expected.tobytes()
        cards = random_cards(table.legal_masks, rng)
        table.play(cards)
        mirror.play(cards.tolist())


class RandomOfSeed:
    """An opponent whose card follows from the seed of its decision, and who remembers them all."""

    def __init__(self) -> None:
        self.seen: list[tuple[View, int]] = []

    def act(self, view: View, seed: int) -> int:
        card = view.legal_cards[seed % len(view.legal_cards)]
        self.seen.append((view, card))
        return card


@pytest.mark.parametrize("name", PLAYABLE)
def test_the_environment_is_the_same_as_the_rules_and_the_batch_after_every_ply(name: str) -> None:
    """One table of a batch, the AEC environment and the interpreted rules, three seeds each."""
    rules = PRESETS[name]
    for seed in (0, 1, 2**63 - 1):
        table = BatchTable(1, rules, seed=seed)
        env = tressette_v0.raw_env(rules=name)
        mirror = InterpretedTables(1, rules, seed, "deal")
        rng = np.random.default_rng(seed)
        env.reset(seed=seed)
        for episode in range(10):
            if episode:
                env.reset()
            for ply in range(rules.deck_size):
                state = mirror.states[0]
                for seat, agent in enumerate(env.possible_agents):
                    seen = env.observe(agent)
                    features = table.observe(np.array([seat]))[0]
                    assert seen["observation"].tobytes() == features.tobytes()
                    legal = legal_cards(state, rules) if seat == state.turn else 0
                    assert np.flatnonzero(seen["action_mask"]).tolist() == card_list(legal)
                    assert env.view(agent) == view_of(state, rules, seat)
                if ply % 8 == 0:
                    expected = interpreted_observation(state, rules, state.turn, env.layout)
                    assert table.observations[0].tobytes() == expected.tobytes()
                assert env.agent_selection == f"player_{state.turn}"
                card = int(random_cards(table.legal_masks, rng)[0])
                step = table.play([card])
                env.step(card)
                thirds, over, margins = mirror.play([card])
                assert step.thirds.tolist() == thirds == [list(env.thirds)]
                assert step.is_over.tolist() == over == [all(env.terminations.values())]
                assert step.margins.tolist() == margins
                reward = margins[0] / house_total(rules)
                expected_rewards = [reward, -reward] * (rules.seats // 2)
                assert list(env.rewards.values()) == pytest.approx(expected_rewards)
            over_state = np.zeros(40, np.int8)
            for agent in env.possible_agents:
                assert (env.observe(agent)["action_mask"] == over_state).all()


@pytest.mark.parametrize("name", ["playmore", "gamelake_short", "gamelake_partners_short"])
def test_a_match_in_the_environment_is_the_match_of_a_batch_of_one_table(name: str) -> None:
    rules = PRESETS[name]
    for seed in range(6):
        table = BatchTable(1, rules, seed=seed, episode="match")
        env = tressette_v0.raw_env(rules=name, episode="match")
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        over = False
        while not over:
            agent = env.agent_selection
            seen = env.observe(agent)
            assert seen["observation"].tobytes() == table.observations[0].tobytes()
            assert (seen["action_mask"] == table.legal_masks[0]).all()
            assert env.totals == tuple(table.totals[0].tolist())
            card = int(random_cards(table.legal_masks, rng)[0])
            step = table.play([card])
            env.step(card)
            over = bool(step.is_over[0])
            assert all(env.terminations.values()) == over
        margin = int(step.margins[0])
        assert margin in (1, -1)
        assert [env.rewards[agent] for agent in env.possible_agents][:2] == [margin, -margin]
        assert max(env.totals) >= (rules.target or 0)


@pytest.mark.parametrize("name", PLAYABLE)
def test_a_single_seat_sees_and_gets_what_the_environment_gives_that_seat(name: str) -> None:
    """The opponents' cards are taken from the single-seat game and played on the other table."""
    rules = PRESETS[name]
    for seat in range(rules.seats):
        opponent = RandomOfSeed()
        env = SingleSeatEnv(opponent, seat=seat, rules=name, reward="tricks")
        table = tressette_v0.raw_env(rules=name, reward="tricks")
        me = f"player_{seat}"
        rng = np.random.default_rng(seat)
        for episode in range(8):
            opponent.seen.clear()
            seen, _ = env.reset(seed=5 if episode == 0 else None)
            table.reset(seed=5 if episode == 0 else None)
            over, reward, expected = False, 0.0, 0.0
            while True:
                for view, card in opponent.seen:
                    agent = table.agent_selection
                    assert agent != me
                    assert view == table.view(agent)
                    table.step(card)
                    expected += table.rewards[me]
                opponent.seen.clear()
                assert seen["observation"].tobytes() == table.observe(me)["observation"].tobytes()
                assert (seen["action_mask"] == table.observe(me)["action_mask"]).all()
                assert (env.action_masks() == seen["action_mask"]).all()
                assert reward == pytest.approx(expected)
                assert over == table.terminations[me]
                if over:
                    break
                assert table.agent_selection == me
                card = int(random_cards(seen["action_mask"][None].astype(bool), rng)[0])
                table.step(card)
                expected = table.rewards[me]
                seen, reward, over, truncated, _ = env.step(card)
                assert not truncated


# ------------------------------------------------------------ one card


@pytest.mark.parametrize("name", PLAYABLE)
def test_every_number_is_accepted_or_refused_alike_interpreted_and_compiled(name: str) -> None:
    rules = PRESETS[name]
    state = new_state()
    deal(state, rules, deck_of(rules, 24, 0), 0)
    rng = np.random.default_rng(24)
    while True:
        accepted = []
        for card in range(-3, 70):
            rows = state_to_record(state)
            tried = copy.deepcopy(state)
            before = rows.tobytes()
            over = is_over(state, rules)
            code = kernels.play_one(rows, rules.row, card)
            if over:
                assert code == ILLEGAL
            else:
                assert code == play_card(tried, rules, card)
                assert_same_states([tried], rows)
            if code == ILLEGAL:
                assert rows.tobytes() == before
            else:
                accepted.append(card)
        if is_over(state, rules):
            break
        play_card(state, rules, int(rng.choice(accepted)))


def test_a_state_goes_into_a_row_and_back_unchanged() -> None:
    rules = PRESETS["cuperativa"]
    mirror = InterpretedTables(3, rules, 26, "match")
    for _ in range(90):
        mirror.play([card_list(legal)[0] for legal in mirror.legal_sets()])
        for state in mirror.states:
            back = state_from_record(state_to_record(state)[0])
            assert [getattr(back, field) for field in FIELDS] == [
                getattr(state, field) for field in FIELDS
            ]
            assert all(type(number) is int for number in (*back.hands, *back.plays, back.turn))


def test_a_view_goes_into_a_row_and_back_unchanged() -> None:
    table = BatchTable(20, "cuperativa", seed=3)
    for _ in range(30):
        table.play(table.legal_masks.argmax(1))
        for index in range(20):
            view = table.view(index)
            rows = view.to_record()
            assert rows.dtype == VIEW_DTYPE
            assert View.from_record(rows[0], view.rules) == view


@pytest.mark.parametrize("make_copy", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_of_an_environment_goes_on_like_the_original(make_copy: Any) -> None:
    env = tressette_v0.raw_env(rules="cuperativa", episode="match")
    env.reset(seed=3)
    for ply in range(100):
        if ply == 37:
            other = make_copy(env)
        card = int(env.observe(env.agent_selection)["action_mask"].argmax())
        env.step(card)
        if ply >= 37:
            other.step(card)
            assert (env.state() == other.state()).all()
            for agent in env.possible_agents:
                one, two = env.observe(agent), other.observe(agent)
                assert (one["observation"] == two["observation"]).all()
    assert env.record() == other.record()
