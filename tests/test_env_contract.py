"""The PettingZoo environment keeps its contract: PettingZoo's checkers, rewards, seeds, copies."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pettingzoo import AECEnv
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.test.state_test import state_test
from pettingzoo.utils.wrappers import BaseWrapper

from tressette_env import tressette_v0
from tressette_env.deals import deck_of
from tressette_env.notation import parse_record, record_text
from tressette_env.rulesets import PRESETS, RuleSet, playable_presets

PRESET_NAMES = playable_presets()
FOUR_SEATS = [name for name in PRESET_NAMES if PRESETS[name].seats == 4]
MAKERS = [tressette_v0.env, tressette_v0.raw_env]

# What PettingZoo's api_test says about every environment with an action mask in its observation: it
# would rather see an array than a Dict.
UNAVOIDABLE = (
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box",
)


def random_card(env: Any, rng: np.random.Generator) -> int:
    mask = env.observe(env.agent_selection)["action_mask"]
    return int(rng.choice(np.flatnonzero(mask)))


def play_to_end(env: Any, rng: np.random.Generator) -> dict[str, float]:
    """Play random legal cards; return the rewards that each seat reads through last(), added up."""
    read = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, info = env.last()
        assert not truncated
        assert info == {}
        read[agent] += reward
        env.step(None if terminated else random_card(env, rng))
    return read


# Worth and strength once more, from R2 and R3 as they are written.
RANKS = "4567JQKA23"
WORTH = {**dict.fromkeys("4567", 0), **dict.fromkeys("JQK23", 1), "A": 3}


def worth(card: int) -> int:
    return WORTH[RANKS[card % 10]]


def winner_of(trick: list[tuple[int, int]]) -> int:
    """Seat that wins a trick of (seat, card): the strongest card of the led suit (R7)."""
    led = trick[0][1] // 10
    return max((card % 10, seat) for seat, card in trick if card // 10 == led)[1]


# ------------------------------------------------------------------- the checkers of PettingZoo


@pytest.mark.parametrize(("reward", "observation"), [("house", "flat"), ("tricks", "history")])
@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("rules", PRESET_NAMES)
def test_api(rules: str, episode: str, reward: str, observation: str) -> None:
    env = tressette_v0.env(rules=rules, episode=episode, reward=reward, observation=observation)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(env, num_cycles=400)
    messages = {str(warning.message) for warning in caught}
    assert [text for text in messages if not text.startswith(UNAVOIDABLE)] == []


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("rules", PRESET_NAMES)
def test_seed(rules: str, make: Callable[..., Any]) -> None:
    seed_test(lambda: make(rules=rules, episode="match"), num_cycles=100)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("rules", ["cuperativa", "gamelake_partners", "mini_2x4"])
def test_render(rules: str, make: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    render_test(lambda render_mode: make(rules=rules, render_mode=render_mode))
    assert "player_0" in capsys.readouterr().out  # "human" prints


class _AnyAction(BaseWrapper[str, Any, Any]):
    """Takes any action for a legal one: PettingZoo's state_test samples without the mask."""

    def step(self, action: Any) -> None:
        if action is not None:
            legal = np.flatnonzero(self.observe(self.agent_selection)["action_mask"])
            action = int(legal[action % len(legal)])
        super().step(action)


@pytest.mark.parametrize("rules", PRESET_NAMES)
def test_state(rules: str) -> None:
    # The environment has no parallel form (one seat plays at a time); the AEC form has all that the
    # checker asks of one.
    state_test(_AnyAction(tressette_v0.env(rules=rules)), tressette_v0.env(rules=rules), 100)


def test_names_and_spaces() -> None:
    for rules in PRESET_NAMES:
        env = tressette_v0.env(rules=rules)
        seats = PRESETS[rules].seats
        assert env.possible_agents == [f"player_{seat}" for seat in range(seats)]
        for agent in env.possible_agents:
            assert env.action_space(agent).n == 40
            assert env.action_space(agent).start == 0
            space = env.observation_space(agent)
            assert set(space.spaces) == {"observation", "action_mask"}
            assert all(box.dtype == np.int8 for box in space.spaces.values())
            assert space["action_mask"].shape == (40,)
    assert tressette_v0.env().metadata["name"] == "tressette_v0"
    assert isinstance(tressette_v0.env(), AECEnv)
    assert not isinstance(tressette_v0.raw_env(), BaseWrapper)
    assert type(tressette_v0.env().unwrapped) is tressette_v0.raw_env


# ------------------------------------------------------------------------ observations and masks


@pytest.mark.parametrize("rules", PRESET_NAMES)
def test_every_seat_can_observe_at_any_time(rules: str) -> None:
    env = tressette_v0.env(rules=rules, episode="match", observation="history")
    rng = np.random.default_rng(1)
    env.reset(seed=1)

    def check(over: bool) -> None:
        for agent in env.possible_agents:
            seen = env.observe(agent)
            assert env.observation_space(agent).contains(seen)
            may_play = not over and agent == env.agent_selection
            assert bool(seen["action_mask"].any()) == may_play

    check(over=False)
    for agent in env.agent_iter():
        over = env.terminations[agent]
        env.step(None if over else random_card(env, rng))
        # Also after the end, and for seats that have left.
        check(over or all(env.terminations.values()))
    assert env.agents == []
    check(over=True)


@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("rules", PRESET_NAMES)
def test_someone_may_always_play(rules: str, episode: str) -> None:
    env = tressette_v0.raw_env(rules=rules, episode=episode)
    rng = np.random.default_rng(2)
    for _ in range(3):
        env.reset(seed=2)
        while not any(env.terminations.values()):
            assert env.last()[0]["action_mask"].any()
            env.step(random_card(env, rng))


def test_buffers_are_never_reused() -> None:
    env = tressette_v0.env(observation="history")
    rng = np.random.default_rng(3)
    env.reset(seed=3)
    kept: list[np.ndarray] = []
    copies: list[np.ndarray] = []
    for _ in env.agent_iter():
        over = all(env.terminations.values())
        new = [array for agent in env.possible_agents for array in env.observe(agent).values()]
        new.append(env.state())
        for array in new:
            assert array.flags.owndata
            assert not any(np.shares_memory(array, other) for other in kept)
        kept += new
        copies += [array.copy() for array in new]
        env.step(None if over else random_card(env, rng))
    assert all(map(np.array_equal, kept, copies))


def test_infos_keep_their_keys() -> None:
    env = tressette_v0.raw_env(rules="gamelake_partners")
    rng = np.random.default_rng(4)
    env.reset(seed=4)
    while not any(env.terminations.values()):
        assert env.infos == {agent: {} for agent in env.possible_agents}
        env.step(random_card(env, rng))
    assert env.infos == {agent: {} for agent in env.possible_agents}


# --------------------------------------------------------------------------------------- rewards


def sign(agent: str) -> int:
    """+1 for seats of side 0 (0 and 2), -1 for seats of side 1 (R4)."""
    return -1 if int(agent.removeprefix("player_")) % 2 else 1


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("rules", PRESET_NAMES)
def test_house_reward_of_a_deal(rules: str, make: Callable[..., Any]) -> None:
    house = PRESETS[rules]
    env = make(rules=rules)
    rng = np.random.default_rng(5)
    env.reset(seed=5)
    for _ in range(5):
        while not any(env.terminations.values()):
            assert set(env.rewards.values()) == {0.0}
            env.step(random_card(env, rng))
        assert set(env.terminations.values()) == {True}
        own, other = env.unwrapped.thirds
        assert own + other == house.total_thirds
        if house.scoring == "points":
            expected = (own // 3 - other // 3) / 11
        else:
            expected = (own - other) / house.total_thirds
        assert expected != 0
        at_end = dict(env.rewards)
        assert at_end == {agent: sign(agent) * expected for agent in env.possible_agents}
        assert sum(at_end.values()) == 0
        assert play_to_end(env, rng) == at_end  # read by every seat through last()
        env.reset()


@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("rules", PRESET_NAMES)
def test_trick_rewards(rules: str, episode: str) -> None:
    house = PRESETS[rules]
    env = tressette_v0.env(rules=rules, episode=episode, reward="tricks")
    rng = np.random.default_rng(6)
    env.reset(seed=6)
    trick: list[tuple[int, int]] = []
    plies = 0
    total = 0.0
    while not any(env.terminations.values()):
        seat = env.possible_agents.index(env.agent_selection)
        card = random_card(env, rng)
        env.step(card)
        trick.append((seat, card))
        plies += 1
        if len(trick) < house.seats:
            assert set(env.rewards.values()) == {0.0}
            continue
        last = plies % house.deck_size == 0
        won = sum(worth(card) for _, card in trick) + 3 * last  # R10: 3 thirds, once
        side = winner_of(trick) % 2
        margin = (-won if side else won) / house.total_thirds
        assert env.rewards == {
            agent: pytest.approx(sign(agent) * margin) for agent in env.possible_agents
        }
        total += margin
        trick = []
    if episode == "deal":
        own, other = env.unwrapped.thirds
        assert total == pytest.approx((own - other) / house.total_thirds)


def test_trick_rewards_read_through_last_add_up() -> None:
    for rules in ("playmore", "gamelake_partners"):
        env = tressette_v0.env(rules=rules, reward="tricks")
        env.reset(seed=7)
        read = play_to_end(env, np.random.default_rng(7))
        own, other = env.unwrapped.thirds
        for agent, reward in read.items():
            assert reward == pytest.approx(sign(agent) * (own - other) / 35)


@pytest.mark.parametrize("rules", PRESET_NAMES)
def test_match_reward(rules: str) -> None:
    house = PRESETS[rules]
    env = tressette_v0.env(rules=rules, episode="match")
    rng = np.random.default_rng(8)
    winners = set()
    env.reset(seed=8)
    for _ in range(6):
        while not any(env.terminations.values()):
            assert set(env.rewards.values()) == {0.0}
            env.step(random_card(env, rng))
        assert set(env.terminations.values()) == {True}
        deals = parse_record(env.unwrapped.record()).deals
        unit = 3 if house.scoring == "points" else 1
        totals = [sum(deal.thirds[side] // unit for deal in deals) for side in (0, 1)]
        assert env.unwrapped.totals == tuple(totals)
        assert house.target is None or max(totals) >= house.target
        won = 1.0 if totals[0] > totals[1] else -1.0
        winners.add(won)
        assert env.rewards == {agent: sign(agent) * won for agent in env.possible_agents}
        assert play_to_end(env, rng) == {agent: sign(agent) * won for agent in env.possible_agents}
        env.reset()
    assert winners == {1.0, -1.0}


@pytest.mark.parametrize("rules", FOUR_SEATS)
def test_partners_share_the_reward(rules: str) -> None:
    env = tressette_v0.env(rules=rules, reward="tricks")
    rng = np.random.default_rng(9)
    env.reset(seed=9)
    seen = 0
    while not any(env.terminations.values()):
        env.step(random_card(env, rng))
        assert env.rewards["player_0"] == env.rewards["player_2"]
        assert env.rewards["player_1"] == env.rewards["player_3"]
        assert env.rewards["player_0"] == -env.rewards["player_1"]
        seen += env.rewards["player_0"] != 0
    assert seen > 5


@pytest.mark.parametrize("reward", ["house", "tricks"])
@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("rules", ["playmore", "yeeqia", "gamelake_partners"])
def test_objective_fewest_flips_the_sign(rules: str, episode: str, reward: str) -> None:
    most, fewest = PRESETS[rules], PRESETS[rules].replace(name="a perdere", objective="fewest")
    if episode == "match":  # one deal: the same cards end both matches
        most, fewest = most.replace(target=1), fewest.replace(target=1)
    read = []
    for house in (most, fewest):
        env = tressette_v0.env(rules=house, episode=episode, reward=reward)
        env.reset(seed=10)
        read.append(play_to_end(env, np.random.default_rng(10)))
    assert read[0]["player_0"] != 0
    assert read[1] == {agent: -reward for agent, reward in read[0].items()}


def test_thirds_points_and_totals() -> None:
    env = tressette_v0.env(rules="playmore", episode="match").unwrapped
    rng = np.random.default_rng(11)
    env.reset(seed=11)
    taken, trick, before = [0, 0], [], (0, 0)
    for ply in range(1, 80):
        seat = env.possible_agents.index(env.agent_selection)
        card = random_card(env, rng)
        env.step(card)
        trick.append((seat, card))
        if len(trick) == 2:
            taken[winner_of(trick) % 2] += sum(worth(card) for _, card in trick)
            trick = []
        if ply == 40:
            before = env.totals  # the first deal is over, the second has been dealt
            assert sum(before) == 11
            taken = [0, 0]
        assert env.thirds == tuple(taken)
        assert env.points == (taken[0] // 3, taken[1] // 3)
        assert env.totals == before


# ------------------------------------------------------------------------------- seeds and decks


def decks_played(env: Any, rng: np.random.Generator, episodes: int) -> list[Any]:
    """Decks and leaders of some episodes, the first of which has been dealt."""
    seen = []
    for _ in range(episodes):
        play_to_end(env, rng)
        seen += [(d.number, d.deck, d.leader) for d in parse_record(env.unwrapped.record()).deals]
        env.reset()
    return seen


@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("make", MAKERS)
def test_reset_without_a_seed_goes_on(make: Callable[..., Any], episode: str) -> None:
    runs = []
    for _ in range(2):
        env = make(episode=episode)
        env.reset(seed=12)
        runs.append(decks_played(env, np.random.default_rng(12), 3))
    assert runs[0] == runs[1]
    house = PRESETS["playmore"]
    assert [deck for _, deck, _ in runs[0]] == [
        deck_of(house, 12, number) for number in range(len(runs[0]))
    ]
    assert len({deck for _, deck, _ in runs[0]}) == len(runs[0]) >= 3


def test_decks_do_not_depend_on_the_play() -> None:
    runs = []
    for play_seed in (1, 2):
        env = tressette_v0.env(episode="match")
        env.reset(seed=13)
        runs.append(decks_played(env, np.random.default_rng(play_seed), 2))
    for first, second in zip(*runs, strict=False):
        assert first[:2] == second[:2]
    assert len(runs[0]) > 3


def test_a_reset_in_the_middle_goes_on_too() -> None:
    env = tressette_v0.env()
    env.reset(seed=14)
    env.step(random_card(env, np.random.default_rng(14)))
    env.reset()
    (deal,) = parse_record(env.unwrapped.record()).deals
    assert (deal.number, deal.plays) == (1, ())
    env.reset(seed=14)
    assert parse_record(env.unwrapped.record()).deals[0].number == 0


def test_seed_zero_is_a_seed() -> None:
    records = []
    for seed in (0, 0, np.int64(0), 1):
        env = tressette_v0.env()
        env.reset(seed=99)
        env.reset(seed=seed)
        assert env.unwrapped.seed == seed
        records.append(env.unwrapped.record())
    assert records[0] == records[1] == records[2] != records[3]
    assert parse_record(records[0]).seed == 0


def test_the_largest_seed_is_a_seed() -> None:
    env = tressette_v0.env()
    env.reset(seed=2**63 - 1)
    assert parse_record(env.unwrapped.record()).seed == 2**63 - 1


def test_without_any_seed_deals_differ_and_the_seed_is_told() -> None:
    decks = set()
    for _ in range(3):
        env = tressette_v0.env()
        env.reset()
        first = parse_record(env.unwrapped.record())
        assert first.seed == env.unwrapped.seed
        again = tressette_v0.env()
        again.reset(seed=first.seed)
        assert parse_record(again.unwrapped.record()) == first
        decks.add(first.deals[0].deck)
    assert len(decks) == 3


@pytest.mark.parametrize("rules", PRESET_NAMES)
def test_deck_and_leader_options(rules: str) -> None:
    house = PRESETS[rules]
    deck = np.random.default_rng(15).permutation(house.deck)
    size = house.hand_size
    for leader in range(house.seats):
        env = tressette_v0.env(rules=rules)
        env.reset(seed=15, options={"deck": deck, "leader": leader})
        assert env.agent_selection == f"player_{leader}"
        for seat, agent in enumerate(env.possible_agents):
            hand = np.flatnonzero(env.observe(agent)["observation"][:40])
            assert sorted(deck[size * seat : size * (seat + 1)]) == hand.tolist()
        (deal,) = parse_record(env.unwrapped.record()).deals
        assert (deal.deck, deal.leader, deal.number) == (tuple(deck), leader, None)


def test_leader_without_deck_keeps_the_deal() -> None:
    for leader in (0, 1):
        env = tressette_v0.env()
        env.reset(seed=16, options={"leader": leader})
        (deal,) = parse_record(env.unwrapped.record()).deals
        assert (deal.number, deal.leader) == (0, leader)
        assert deal.deck == deck_of(PRESETS["playmore"], 16, 0)


def test_a_given_deck_takes_no_number_of_the_stream() -> None:
    env = tressette_v0.env()
    env.reset(seed=17)
    env.reset(options={"deck": range(40)})
    env.reset()
    assert parse_record(env.unwrapped.record()).deals[0].number == 1


@pytest.mark.parametrize("rules", ["playmore", "gamelake_partners"])
def test_options_in_a_match(rules: str) -> None:
    """The given deck is the first deal, the lead passes on from the given leader (R14)."""
    house = PRESETS[rules]
    deck = tuple(reversed(range(40)))
    env = tressette_v0.env(rules=rules, episode="match")
    env.reset(seed=18, options={"deck": deck, "leader": house.seats - 1})
    play_to_end(env, np.random.default_rng(18))
    deals = parse_record(env.unwrapped.record()).deals
    assert len(deals) >= 2
    assert (deals[0].deck, deals[0].number) == (deck, None)
    for index, deal in enumerate(deals):
        assert deal.leader == (house.seats - 1 + index) % house.seats
        if index:
            assert (deal.number, deal.deck) == (index - 1, deck_of(house, 18, index - 1))


def test_the_trick_winner_draws_the_top_card() -> None:
    """Stock 39, 38, ...: whoever wins draws 39, the other 38, not in seat order (R8)."""
    deck = list(range(40))
    deck[20:] = deck[:19:-1]
    for lead, reply, winner in ((9, 10, "player_0"), (0, 10, "player_0")):
        env = tressette_v0.env(rules="cuperativa")
        env.reset(options={"deck": deck, "leader": 0})
        env.step(lead)
        env.step(reply)
        assert env.agent_selection == winner
        assert env.observe("player_0")["observation"][39]
        assert env.observe("player_1")["observation"][38]
    swapped = deck[10:20] + deck[:10] + deck[20:]
    env = tressette_v0.env(rules="cuperativa")
    env.reset(options={"deck": swapped, "leader": 1})
    env.step(5)
    env.step(10)  # off suit: seat 1 wins and draws first
    assert env.agent_selection == "player_1"
    assert env.observe("player_1")["observation"][39]
    assert env.observe("player_0")["observation"][38]


# ---------------------------------------------------------------------------- records and copies


@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("rules", ["playmore", "yeeqia", "gamelake_partners_short", "mini_2x5"])
def test_record_reads_back_at_every_ply(rules: str, episode: str) -> None:
    env = tressette_v0.env(rules=rules, episode=episode).unwrapped
    rng = np.random.default_rng(19)
    env.reset(seed=19)
    size = PRESETS[rules].deck_size
    played: list[int] = []
    while True:
        text = env.record()
        record = parse_record(text)
        assert record_text(record) == text
        assert (record.rules, record.seed) == (PRESETS[rules], 19)
        assert [card for deal in record.deals for card in deal.plays] == played
        over = all(env.terminations.values())
        whole = len(played) // size
        assert len(record.deals) == whole + (0 if over else 1)
        for deal in record.deals[:whole]:
            assert sum(deal.thirds) == PRESETS[rules].total_thirds
        if over:
            break
        assert record.deals[-1].thirds is None
        played.append(random_card(env, rng))
        env.step(played[-1])


def test_record_replays_to_the_same_game() -> None:
    env = tressette_v0.env(rules="gamelake_short", episode="match")
    env.reset(seed=20)
    play_to_end(env, np.random.default_rng(20))
    record = parse_record(env.unwrapped.record())
    again = tressette_v0.env(rules=record.rules, episode="match")
    again.reset(seed=record.seed)
    for deal in record.deals:
        for card in deal.plays:
            again.step(card)
    assert again.unwrapped.record() == env.unwrapped.record()
    assert again.unwrapped.totals == env.unwrapped.totals


COPIES: list[Callable[[Any], Any]] = [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]


def trace(env: Any, seed: int, plies: int) -> list[Any]:
    """Everything that can be read while random cards are played, over the ends of episodes."""
    rng = np.random.default_rng(seed)
    seen: list[Any] = []
    for _ in range(plies):
        if not env.agents:
            env.reset()
        over = all(env.terminations.values())
        seen.append([env.agent_selection, dict(env.rewards), env.last()[1], env.unwrapped.record()])
        seen += [env.observe(agent)["observation"].tobytes() for agent in env.possible_agents]
        seen.append(env.state().tobytes())
        env.step(None if over else random_card(env, rng))
    return seen


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("copied", COPIES, ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("episode", ["deal", "match"])
def test_copies_go_on_alike(
    copied: Callable[[Any], Any], make: Callable[..., Any], episode: str
) -> None:
    env = make(rules="gamelake_short", episode=episode, reward="tricks")
    env.reset(seed=21)
    for plies in (0, 1, 6, 33, 40, 41):  # within tricks, at the ends of a trick and of a deal
        trace(env, 21, plies)
        if not env.agents:
            env.reset()
        before = env.unwrapped.record()
        twin = copied(env)
        expected = trace(twin, 22, 130)
        assert env.unwrapped.record() == before  # the copy's play left the original alone
        assert trace(copied(env), 22, 130) == expected
    assert trace(env, 22, 130) == expected


@pytest.mark.parametrize("copied", COPIES, ids=["deepcopy", "pickle"])
def test_copies_run_the_same_machine_code(copied: Callable[[Any], Any]) -> None:
    """Copied arrays of constants stay read-only: to compiled functions that is part of the type."""
    env = tressette_v0.raw_env()
    env.reset(seed=0)
    twin = copied(env)
    assert twin.rules == env.rules
    assert not twin.rules.row.flags.writeable
    assert not twin.layout.places.flags.writeable
    assert np.array_equal(twin.layout.places, env.layout.places)


@pytest.mark.parametrize("rules", ["playmore", "gamelake_partners"])
def test_lead_passes_on_through_saving_and_restoring(rules: str) -> None:
    """Three deals or more, the environment pickled after every card (R14)."""
    house = PRESETS[rules].replace(target=31)
    env = tressette_v0.env(rules=house, episode="match")
    rng = np.random.default_rng(23)
    env.reset(seed=23)
    while not any(env.terminations.values()):
        env = pickle.loads(pickle.dumps(env))
        env.step(random_card(env, rng))
    leaders = [deal.leader for deal in parse_record(env.unwrapped.record()).deals]
    assert len(leaders) >= 3
    assert leaders == [(leaders[0] + k) % house.seats for k in range(len(leaders))]


def test_rules_may_be_given_as_an_object() -> None:
    house = RuleSet("mine", follow="stock_empty", scoring="thirds", target=60)
    env = tressette_v0.env(rules=house, episode="match")
    env.reset(seed=24)
    play_to_end(env, np.random.default_rng(24))
    assert parse_record(env.unwrapped.record()).rules == house
    assert max(env.unwrapped.totals) >= 60
