"""Interpreted, compiled in batches, AEC, gymnasium: the same game after every ply.

In every house that can be played, of random deals played with random legal cards:

- interpreted and batch: whole states, legal sets, thirds, margins, over 10,000 deals in matches and
  300 in episodes of one deal;
- batch and AEC: seat to act, legal mask, observation, thirds, rewards of every seat, end, over
  10,000 deals (5,000 with each reward), the legal masks also against the legal sets;
- AEC and single: observation, legal mask, thirds, summed rewards and end at the learner's every
  decision, the views at the others' plies in between, over 10,000 deals of all houses together,
  shared out evenly over houses, seats and rewards;
- interpreted, batch and AEC: the views and observations of all seats, over 90 deals interpreted and
  batch, 9 with AEC, in histories 10; three houses' matches in AEC and batch, 6 of each.
"""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

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
from tressette_env.observation import KINDS, Layout, encode, layout_for
from tressette_env.rules import DEAL_OVER, ILLEGAL, deal, is_over, legal_cards, play_card
from tressette_env.rulesets import playable_presets
from tressette_env.state import STATE_DTYPE, State, new_state, state_from_record, state_to_record
from tressette_env.view import VIEW_DTYPE, view_of
from tressette_env.worlds import WorldSampler

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
        assert list(map(attrgetter(field), states)) == rows[field].tolist(), field


@pytest.mark.parametrize("name", PLAYABLE)
def test_10_000_deals_are_the_same_interpreted_and_compiled_after_every_ply(name: str) -> None:
    """Whole states, legal sets, results and the next deals, in matches to the house's target."""
    rules = PRESETS[name]
    tables, deals = 1000, 10
    table = BatchTable(tables, rules, seed=21, episode="match")
    mirror = InterpretedTables(tables, rules, 21, "match")
    rng = np.random.default_rng(21)
    finished = 0
    assert_same_states(mirror.states, table.states)
    for ply in range(deals * rules.deck_size):
        sets = table.legal_sets
        assert mirror.legal_sets() == sets.tolist()
        cards = random_cards(table.legal_masks, rng)
        step = table.play(cards)
        thirds, over, margins = mirror.play(cards.tolist())
        assert step.thirds.tolist() == thirds
        assert step.is_over.tolist() == over
        assert step.margins.tolist() == margins
        assert_same_states(mirror.states, table.states)
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
        assert_same_states(mirror.states, table.states)


# ------------------------------------------------------------ observations


def interpreted_observation(
    state: State, rules: RuleSet, seat: int, layout: Layout
) -> npt.NDArray[np.int8]:
    words = np.full(layout.size // 8, -1, np.int64)
    encode(view_of(state, rules, seat), rules, layout.places, words)
    return words.view(np.int8)


@pytest.mark.parametrize("observation", KINDS)
@pytest.mark.parametrize("name", PLAYABLE)
def test_views_and_observations_are_the_same_interpreted_and_compiled_after_every_ply(
    name: str, observation: str
) -> None:
    rules = PRESETS[name]
    tables, deals = (30, 3) if observation != "history" else (5, 2)
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


# ------------------------------------------------------------ AEC


@dataclass
class PlayedDeals:
    """Deals played to their ends at the tables of a batch. Shapes: B tables, T plies, S seats."""

    cards: list[list[int]]  # [B][T], random legal ones
    seats: list[list[int]]  # [B][T], to act; one more at the end: the last trick's winner
    masks: npt.NDArray[np.bool_]  # [B, T, A]
    observations: npt.NDArray[np.int8]  # [B, T, F], of the seats to act
    ends: npt.NDArray[np.int8]  # [B, S, F], what each seat sees at the end
    thirds: list[list[list[int]]]  # [B][T][2], after the ply
    rewards: list[list[float]]  # [B][T], seat 0's for the ply


def play_deals(table: BatchTable, rng: np.random.Generator, reward: str) -> PlayedDeals:
    """Play the deal at every table; the tables then hold the next deals."""
    rules = table.rules
    cards, seats, masks, observations, thirds, rewards = [], [], [], [], [], []
    before: npt.NDArray[Any] = np.zeros((table.num_tables, 2), np.int32)
    for ply in range(rules.deck_size):
        assert (table.plies == ply).all()
        masks.append(table.legal_masks)
        sets = table.legal_sets
        assert (masks[-1] == (sets[:, None] >> np.arange(40) & 1)).all()
        seats.append(table.seats)
        observations.append(table.observations)
        cards.append(random_cards(masks[-1], rng))
        step = table.play(cards[-1])
        thirds.append(step.thirds)
        gained = step.thirds - before
        margins = (gained[:, 0] - gained[:, 1]) / rules.total_thirds
        if rules.fewest_wins:
            margins = -margins
        rewards.append(margins if reward == "tricks" else step.margins / house_total(rules))
        before = step.thirds
        assert (step.is_over == (ply + 1 == rules.deck_size)).all()
    last_winner = table.snapshot().states[1]["leader"]
    all_seats = [np.full(table.num_tables, seat) for seat in range(rules.seats)]
    return PlayedDeals(
        cards=np.stack(cards, 1).tolist(),
        seats=np.stack([*seats, last_winner], 1).tolist(),
        masks=np.stack(masks, 1),
        observations=np.stack(observations, 1),
        ends=np.stack([table.observe(seat, last=True) for seat in all_seats], 1),
        thirds=np.stack(thirds, 1).tolist(),
        rewards=np.stack(rewards, 1).tolist(),
    )


@pytest.mark.parametrize(("reward", "seed"), [("house", 27), ("tricks", 28)])
@pytest.mark.parametrize("name", PLAYABLE)
def test_5_000_deals_are_the_same_in_the_environment_and_the_batch_after_every_ply(
    name: str, reward: Literal["house", "tricks"], seed: int
) -> None:
    """Deal k of the seed at table k, one k after the other in the environment."""
    rules = PRESETS[name]
    tables, rounds = 500, 10
    table = BatchTable(tables, rules, seed=seed)
    env = tressette_v0.raw_env(rules=name, reward=reward)
    rng = np.random.default_rng(seed)
    agents = env.possible_agents
    finished = 0
    for start in range(rounds):
        played = play_deals(table, rng, reward)
        for deal_at in range(tables):
            env.reset(seed=seed if start == deal_at == 0 else None)
            masks = list(map(bytes, played.masks[deal_at]))
            observations = list(map(bytes, played.observations[deal_at]))
            seats = played.seats[deal_at]
            agent = env.agent_selection
            for ply, card in enumerate(played.cards[deal_at]):
                assert agent == agents[seats[ply]]
                assert not env.terminations[agent]
                seen = env.observe(agent)
                assert seen["observation"].tobytes() == observations[ply]
                assert seen["action_mask"].tobytes() == masks[ply]
                env.step(card)
                agent = env.agent_selection
                assert [*env.thirds] == played.thirds[deal_at][ply]
                gained = played.rewards[deal_at][ply]
                assert [*env.rewards.values()] == [gained, -gained] * (rules.seats // 2)
            assert agent == agents[seats[-1]]
            assert all(env.terminations.values())
            for seat, other in enumerate(agents):
                seen = env.observe(other)
                assert seen["observation"].tobytes() == played.ends[deal_at, seat].tobytes()
                assert not seen["action_mask"].any()
            finished += 1
    assert finished == 5000
    assert env.deals_dealt == finished


@pytest.mark.parametrize("name", PLAYABLE)
def test_the_environment_is_the_same_as_the_rules_and_the_batch_after_every_ply(name: str) -> None:
    """All seats' views and observations, also of the seats that are not to act; three seeds."""
    rules = PRESETS[name]
    for seed in (0, 1, 2**63 - 1):
        table = BatchTable(1, rules, seed=seed)
        env = tressette_v0.raw_env(rules=name)
        mirror = InterpretedTables(1, rules, seed, "deal")
        rng = np.random.default_rng(seed)
        env.reset(seed=seed)
        for episode in range(3):
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


# ------------------------------------------------------------ gymnasium


class RandomOfSeed:
    """An opponent whose card follows from the seed of its decision, and who remembers them all."""

    def __init__(self) -> None:
        self.seen: list[tuple[View, int]] = []

    def act(self, view: View, seed: int) -> int:
        card = view.legal_cards[seed % len(view.legal_cards)]
        self.seen.append((view, card))
        return card


@pytest.mark.parametrize(("reward", "seed"), [("house", 30), ("tricks", 40)])
@pytest.mark.parametrize("name", PLAYABLE)
def test_a_single_seat_sees_and_gets_what_the_environment_gives_that_seat(
    name: str, reward: Literal["house", "tricks"], seed: int
) -> None:
    """The opponents' cards are taken from the single-seat game and played on the other table."""
    rules = PRESETS[name]
    deals = -(-10_000 // (len(PLAYABLE) * 2 * rules.seats))  # of each house, reward and seat
    for seat in range(rules.seats):
        opponent = RandomOfSeed()
        env = SingleSeatEnv(opponent, seat=seat, rules=name, reward=reward)
        table = tressette_v0.raw_env(rules=name, reward=reward)
        me = f"player_{seat}"
        rng = np.random.default_rng(seed + seat)
        for episode in range(deals):
            opponent.seen.clear()
            new_seed = seed + seat if episode == 0 else None
            seen, _ = env.reset(seed=new_seed)
            table.reset(seed=new_seed)
            over, given, expected = False, 0.0, 0.0
            while True:
                for view, card in opponent.seen:
                    agent = table.agent_selection
                    assert agent != me
                    assert view == table.view(agent)
                    table.step(card)
                    expected += table.rewards[me]
                opponent.seen.clear()
                at_table = table.observe(me)
                assert seen["observation"].tobytes() == at_table["observation"].tobytes()
                assert seen["action_mask"].tobytes() == at_table["action_mask"].tobytes()
                assert env.action_masks().tobytes() == at_table["action_mask"].tobytes()
                assert env.table.thirds == table.thirds
                assert given == expected
                assert over == table.terminations[me]
                if over:
                    break
                assert table.agent_selection == me
                card = int(random_cards(seen["action_mask"][None].astype(bool), rng)[0])
                table.step(card)
                expected = table.rewards[me]
                seen, given, over, truncated, _ = env.step(card)
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
            code, turn = kernels.play_one(rows, rules.row, card)
            assert turn == rows["turn"][0]
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


# ------------------------------------------------------------ the plays of the deal before


def is_clear(rows: npt.NDArray[np.void]) -> bool:
    """Whether the plays of states or views are 0 from their ``ply`` on."""
    return not rows["plays"][np.arange(40) >= rows["ply"][:, None]].any()


@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("name", ["playmore", "gamelake_partners", "mini_2x4"])
def test_a_new_deal_shows_no_plays_of_the_one_before(
    name: str, episode: Literal["deal", "match"]
) -> None:
    rules = PRESETS[name]
    table = BatchTable(3, rules, seed=6, episode=episode)
    one = BatchTable(1, rules, seed=6, episode=episode)
    mirror = InterpretedTables(3, rules, 6, episode)
    env = tressette_v0.raw_env(rules=name, episode=episode)
    env.reset(seed=6)
    single = SingleSeatEnv(RandomOfSeed(), rules=name)
    single.reset(seed=6)
    for ply in range(2 * rules.deck_size + 5):
        cards = 39 - table.legal_masks[:, ::-1].argmax(1)
        table.play(cards)
        mirror.play(cards.tolist())
        one.play_card(card_list(int(one.legal_sets[0]))[0])
        env.step(int(kernels.legal_one(env._states, rules.row)).bit_length() - 1)
        if all(env.terminations.values()):
            env.reset()
        if single.step(int(single.action_masks().argmax()))[2]:
            single.reset()
        states = np.concatenate([table.states, one.states, *map(state_to_record, mirror.states)])
        assert is_clear(states) and (states["ply"][:3] < rules.deck_size).all()
        for seat in range(rules.seats):
            assert is_clear(table.views(np.full(3, seat)))
            for view in (
                table.view(1, seat),
                one.view(0, seat),
                view_of(mirror.states[2], rules, seat),
                env.view(f"player_{seat}"),
                single.table.view(f"player_{seat}"),
            ):
                assert is_clear(view.to_record())
        assert is_clear(table.views_at(np.array([0, 2])))
        if ply % 10 == 0:
            assert is_clear(WorldSampler(one.view(0)).sample(4, seed=ply))
