"""The gymnasium environment: the same game as the AEC environment, from one learner's chair."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.passive_env_checker import env_step_passive_checker

from tressette_env import SingleSeatEnv, tressette_v0
from tressette_env.notation import parse_record
from tressette_env.policies import Agent, decision_seed
from tressette_env.rulesets import PRESETS, RuleSet, playable_presets
from tressette_env.view import View


class Seeded:
    """A policy of its own making, with ``act`` only: a legal card that depends on the seed."""

    def act(self, view: View, seed: int) -> int:
        assert type(view) is View
        assert view.turn == 0
        cards = view.legal_cards
        return cards[seed % len(cards)]


class SeededBatch:
    """The same policy with ``act_batch`` only."""

    def act_batch(self, views: Any, rules: RuleSet, seeds: Any) -> Any:
        assert isinstance(rules, RuleSet)
        seeded = Seeded()
        cards = [
            seeded.act(View.from_record(row, rules), int(seed))
            for row, seed in zip(views, seeds, strict=True)
        ]
        return np.array(cards, np.int64)


class Recorded:
    """The same policy, keeping what it was asked and what it said."""

    def __init__(self) -> None:
        self.decisions: list[tuple[View, int, int]] = []

    def act(self, view: View, seed: int) -> int:
        card = Seeded().act(view, seed)
        self.decisions.append((view, seed, card))
        return card


class First(Agent):
    """An agent of the kit's kind: the lowest legal card."""

    spec = "first"

    def act(self, view: View, seed: int) -> int:
        return view.legal_cards[0]


def first_legal(env: SingleSeatEnv) -> int:
    return int(np.argmax(env.action_masks()))


def random_legal(env: SingleSeatEnv, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(env.action_masks())))


# -------------------------------------------------------------------------- gymnasium's checkers


class AnyAction(SingleSeatEnv):
    """Takes any action for a legal one: gymnasium's check_env samples without the mask."""

    def step(self, action: Any) -> Any:
        legal = np.flatnonzero(self.action_masks())
        return super().step(legal[int(action) % len(legal)])


@pytest.fixture
def any_action_id() -> Iterator[str]:
    name = "TressetteAnyAction-v0"
    gymnasium.register(name, entry_point=AnyAction)
    yield name
    del gymnasium.registry[name]


@pytest.mark.parametrize(("episode", "observation"), [("deal", "flat"), ("match", "history")])
@pytest.mark.parametrize("rules", playable_presets())
def test_check_env(any_action_id: str, rules: str, episode: str, observation: str) -> None:
    env = gymnasium.make(
        any_action_id,
        opponent=Seeded(),
        rules=rules,
        episode=episode,
        observation=observation,
        disable_env_checker=True,
    )
    check_env(env.unwrapped)  # warnings are errors; checks every render mode, too


@pytest.mark.parametrize("rules", ["playmore", "gamelake_partners"])
def test_passive_checker_over_whole_episodes(rules: str) -> None:
    env = gymnasium.make("Tressette-v0", opponent=Seeded(), rules=rules, render_mode="ansi")
    rng = np.random.default_rng(1)
    for seed in (1, None):
        observation, _ = env.reset(seed=seed)
        over = False
        while not over:
            action = rng.choice(np.flatnonzero(observation["action_mask"]))
            observation, _, over, truncated, info = env_step_passive_checker(env, action)
            assert not truncated
            assert info == {}
            assert isinstance(env.render(), str)


def test_spaces_are_those_of_the_table() -> None:
    for rules in playable_presets():
        env = SingleSeatEnv(Seeded(), rules=rules)
        table = tressette_v0.env(rules=rules)
        assert env.observation_space == table.observation_space("player_0")
        assert env.action_space == table.action_space("player_0")


# ------------------------------------------------------------ the same game as the AEC environment


@pytest.mark.parametrize("reward", ["house", "tricks"])
@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("rules", playable_presets())
def test_same_game_as_the_table(rules: str, episode: str, reward: str) -> None:
    opponent = Recorded()
    single = SingleSeatEnv(opponent, rules=rules, episode=episode, reward=reward)
    table = tressette_v0.env(rules=rules, episode=episode, reward=reward)
    rng = np.random.default_rng(2)
    for number in range(3):
        seed = 2 if number == 0 else None
        opponent.decisions.clear()
        observation, info = single.reset(seed=seed)
        assert info == {}
        table.reset(seed=seed)
        learner = f"player_{single.seat}"
        total = 0.0
        over = False
        waiting = iter(opponent.decisions)

        def catch_up(waiting: Any, learner: str) -> float:
            """Play the others' cards at the table by hand; return the learner's rewards."""
            gained = 0.0
            while table.agent_selection != learner and not table.terminations[learner]:
                view, _, card = next(waiting)
                assert view == table.unwrapped.view(table.agent_selection)
                table.step(card)
                gained += table.rewards[learner]
            return gained

        assert catch_up(waiting, learner) == 0
        while True:
            at_table = table.observe(learner)
            for key in ("observation", "action_mask"):
                assert np.array_equal(observation[key], at_table[key])
            assert np.array_equal(single.action_masks(), at_table["action_mask"].astype(bool))
            assert over == table.terminations[learner]
            if over:
                break
            card = random_legal(single, rng)
            observation, gained, over, truncated, info = single.step(card)
            assert (truncated, info) == (False, {})
            assert isinstance(gained, float)
            table.step(card)
            expected = table.rewards[learner] + catch_up(waiting, learner)
            assert gained == pytest.approx(expected)
            total += gained
        assert next(waiting, None) is None
        side = int(learner[-1]) % 2
        own, other = table.unwrapped.thirds[side], table.unwrapped.thirds[1 - side]
        if reward == "house":
            assert gained == total != 0  # all of it comes with the last step
        elif episode == "deal":
            assert total == pytest.approx((own - other) / PRESETS[rules].total_thirds)
        assert single.table.record() == table.unwrapped.record()


def test_reward_of_a_trick_the_learner_wins_and_leads_on() -> None:
    """The learner answers, wins, and leads the next: the reward comes with the answer."""
    # Seat 1 leads 4C; seat 0 follows with AC and takes 3 thirds, and is to act again.
    deck = [17, *range(9), *range(10, 17), 18, 19, 20, 21, 9, *range(22, 40)]
    env = SingleSeatEnv(First(), seat=0, reward="tricks")
    observation, _ = env.reset(options={"deck": deck, "leader": 1})
    assert np.flatnonzero(observation["action_mask"]).tolist() == [17]
    observation, reward, over, _, _ = env.step(17)
    assert reward == pytest.approx(3 / 35)
    assert not over
    assert env.table.agent_selection == "player_0"
    assert env.table.view("player_0").table == []
    # Seat 0 leads 4D, seat 1 must take it with 3D (1 third) and leads on: all in one step.
    observation, reward, over, _, _ = env.step(0)
    assert reward == pytest.approx(-1 / 35)
    assert len(env.table.view("player_0").table) == 1


def test_rewards_after_the_learners_last_card() -> None:
    """The learner leads its last card; the opponent's answer ends the deal, in the same step."""
    for rules in ("playmore", "gamelake_partners"):
        found = 0
        for seed in range(20):
            env = SingleSeatEnv(Seeded(), seat=0, rules=rules, reward="tricks")
            env.reset(seed=seed)
            size = PRESETS[rules].deck_size
            over, total = False, 0.0
            while not over:
                leads_last = env.table.view("player_0").ply == size - PRESETS[rules].seats
                _, reward, over, _, _ = env.step(first_legal(env))
                total += reward
                assert over or not leads_last
                found += over and leads_last
            own, other = env.table.thirds
            assert own + other == 35
            assert total == pytest.approx((own - other) / 35)
            assert abs(reward) >= 3 / 35 - 1e-9  # the last trick's own points are in it (R10)
        assert found > 2


# ----------------------------------------------------------------------------- seats and opponents


def test_the_seat_is_drawn_for_every_episode() -> None:
    for rules in ("playmore", "gamelake_partners"):
        seats = PRESETS[rules].seats
        env = SingleSeatEnv(Seeded(), rules=rules)
        assert env.seat is None
        runs = []
        for _ in range(2):
            env.reset(seed=3)
            run = [env.seat]
            for _ in range(79):
                env.reset()
                run.append(env.seat)
            runs.append(run)
        assert runs[0] == runs[1]
        counts = np.bincount(runs[0], minlength=seats)
        assert len(counts) == seats
        assert counts.min() > 80 / seats / 2
        by_seed = []
        for seed in range(40):
            env.reset(seed=seed)
            by_seed.append(env.seat)
        assert set(by_seed) == set(range(seats))


@pytest.mark.parametrize("seat", [0, 1, np.int64(1)])
def test_a_fixed_seat_stays(seat: int) -> None:
    env = SingleSeatEnv(Seeded(), seat=seat)
    for seed in range(5):
        observation, _ = env.reset(seed=seed)
        assert env.seat == seat
        assert np.array_equal(
            observation["observation"], env.table.observe(f"player_{seat}")["observation"]
        )


def trace(env: SingleSeatEnv, seed: int | None, episodes: int = 2) -> list[Any]:
    seen: list[Any] = []
    rng = np.random.default_rng(4)
    for number in range(episodes):
        observation, _ = env.reset(seed=seed if number == 0 else None)
        over = False
        while not over:
            seen.append((env.seat, observation["observation"].tobytes()))
            observation, reward, over, _, _ = env.step(random_legal(env, rng))
            seen.append(reward)
        seen.append(env.table.record())
    return seen


def test_opponents_of_every_kind_play_alike() -> None:
    expected = trace(SingleSeatEnv(Seeded()), 5)
    assert trace(SingleSeatEnv(SeededBatch()), 5) == expected
    assert trace(SingleSeatEnv(Recorded()), 5) == expected
    assert trace(SingleSeatEnv(First()), 5) != expected


def test_an_opponent_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    from tressette_env import policies

    made = []

    def make(options: str) -> Any:
        made.append(options)
        return Seeded()

    monkeypatch.setattr(EntryPoint, "load", lambda self: make)
    entry = EntryPoint("mine", "nowhere:make", policies.ENTRY_POINT_GROUP)
    monkeypatch.setattr(policies, "entry_points", lambda group: [entry])
    expected = trace(SingleSeatEnv(Seeded()), 6)
    assert trace(SingleSeatEnv("mine:level=3"), 6) == expected
    assert made == ["level=3"]
    assert SingleSeatEnv("mine").opponent.spec == "mine"


@pytest.mark.parametrize("opponent", ["random", "greedy"])
def test_installed_opponents(opponent: str) -> None:
    env = SingleSeatEnv(opponent)
    assert trace(env, 7) == trace(SingleSeatEnv(opponent), 7)
    assert env.opponent.spec == opponent


def test_opponents_see_their_own_seat_only() -> None:
    opponent = Recorded()
    env = SingleSeatEnv(opponent, rules="gamelake_partners", seat=2)
    env.reset(seed=8)
    over = False
    while not over:
        _, _, over, _, _ = env.step(first_legal(env))
    assert {view.seat for view, _, _ in opponent.decisions} == {0, 1, 3}
    seeds = [seed for _, seed, _ in opponent.decisions]
    assert len(set(seeds)) == len(seeds) == 30  # every decision has dice of its own


def opponents_dice(env: SingleSeatEnv, opponent: Recorded, **reset: Any) -> list[int]:
    """Play an episode; return the opponent's seeds, which must be those that are documented."""
    opponent.decisions.clear()
    env.reset(**reset)
    first = env.table.deals_dealt
    over = False
    while not over:
        _, _, over, _, _ = env.step(first_legal(env))
    assert env.table.seed is not None
    expected, dealt, ply = [], first, -1
    for view, _, _ in opponent.decisions:
        dealt += view.ply <= ply  # the next deal of a match
        ply = view.ply
        expected.append(decision_seed(env.table.seed, dealt - 1, ply))
    assert dealt == env.table.deals_dealt
    seeds = [seed for _, seed, _ in opponent.decisions]
    assert seeds == expected
    return seeds


@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("rules", ["playmore", "gamelake_partners"])
def test_opponents_dice_follow_from_seed_deal_and_ply(rules: str, episode: str) -> None:
    """No two decisions of a run share their dice, nor do the same decisions under two seeds."""
    opponent = Recorded()
    env = SingleSeatEnv(opponent, rules=rules, episode=episode, seat=0)
    seats, size = PRESETS[rules].seats, PRESETS[rules].deck_size
    runs = []
    for seed in (14, 15, 14):
        episodes = [opponents_dice(env, opponent, seed=seed)]
        episodes += [opponents_dice(env, opponent) for _ in range(2)]
        assert all(len(dice) >= size // seats * (seats - 1) for dice in episodes)
        runs.append([die for dice in episodes for die in dice])
    assert runs[0] == runs[2]
    assert len({*runs[0], *runs[1]}) == len(runs[0]) + len(runs[1])


def test_opponents_dice_are_new_when_a_given_deck_is_played_again() -> None:
    opponent = Recorded()
    env = SingleSeatEnv(opponent, seat=0)
    options = {"deck": range(40), "leader": 1}
    first = opponents_dice(env, opponent, seed=16, options=options)
    again = opponents_dice(env, opponent, options=options)
    assert not {*first} & {*again}
    assert opponents_dice(env, opponent, seed=16, options=options) == first


def test_an_agent_that_refuses_the_rules_is_refused() -> None:
    class Picky(First):
        def check_rules(self, rules: RuleSet) -> None:
            raise ValueError(f"not {rules.name}")

    with pytest.raises(ValueError, match="not yeeqia"):
        SingleSeatEnv(Picky(), rules="yeeqia")


# --------------------------------------------------------------------------------- seeds and copies


def test_seeds() -> None:
    same = [trace(SingleSeatEnv(Seeded()), seed, 3) for seed in (0, 0, np.int64(0))]
    assert same[0] == same[1] == same[2]
    assert trace(SingleSeatEnv(Seeded()), 1, 3) != same[0]
    records = [record for record in same[0] if isinstance(record, str)]
    assert [parse_record(record).deals[0].number for record in records] == [0, 1, 2]
    env = SingleSeatEnv(Seeded())
    env.reset()
    assert env.table.seed is not None


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"]
)
def test_copies_go_on_alike(copied: Callable[[Any], Any]) -> None:
    env = SingleSeatEnv(Seeded(), reward="tricks", episode="match")
    env.reset(seed=9)
    for _ in range(25):
        env.step(first_legal(env))
    twin = copied(env)
    assert trace(twin, None) == trace(copied(env), None) == trace(env, None)


def test_observations_are_never_reused() -> None:
    env = SingleSeatEnv(Seeded())
    kept = [env.reset(seed=10)[0]]
    copies = copy.deepcopy(kept)
    over = False
    while not over:
        observation, _, over, _, _ = env.step(first_legal(env))
        for key, array in observation.items():
            assert not any(np.shares_memory(array, other[key]) for other in kept)
        kept.append(observation)
        copies.append(copy.deepcopy(observation))
    for one, other in zip(kept, copies, strict=True):
        assert all(np.array_equal(one[key], other[key]) for key in one)
    mask = env.action_masks()
    assert mask.dtype == np.bool_
    assert not mask.any()


def test_no_warning_is_given() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace(SingleSeatEnv(Seeded()), 11)


def test_options_reach_the_table() -> None:
    env = SingleSeatEnv(Seeded(), seat=1)
    env.reset(options={"deck": range(40), "leader": 1})
    (deal,) = parse_record(env.table.record()).deals
    assert (deal.deck, deal.leader, deal.plays) == (tuple(range(40)), 1, ())


# ---------------------------------------------------------------------------------------- pictures


def test_pictures_never_show_the_opponents_hand(capsys: pytest.CaptureFixture[str]) -> None:
    """Also with render_mode="human", which draws after every card of every seat."""
    env = SingleSeatEnv(Seeded(), seat=0, render_mode="human", rules="playmore")
    env.reset(seed=12)
    over = False
    while not over:
        _, _, over, _, _ = env.step(first_legal(env))
    printed = capsys.readouterr().out
    assert printed.count("player_0 (side 0)") >= 41  # once for the deal, once for every card
    others = [line for line in printed.splitlines() if "player_1 (side 1)" in line]
    assert others
    assert all(line.endswith(" cards") for line in others)
    env = SingleSeatEnv(Seeded(), seat=0, render_mode="human", reveal=True)
    env.reset(seed=12)
    lines = capsys.readouterr().out.splitlines()
    assert " di " in next(line for line in lines if "player_1 (side 1)" in line)
    assert env.render() is None
    assert capsys.readouterr().out


def test_picture_as_text_is_the_learners() -> None:
    env = SingleSeatEnv(Seeded(), seat=1, render_mode="ansi")
    env.reset(seed=13)
    assert env.render() == env.table.picture("player_1")
    assert env.render() != env.table.picture("player_0")
