"""The vector environment: deal by deal the single environment, many times at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

from tressette_env import SingleSeatEnv, tressette_v0
from tressette_env.deals import deck_of, first_leader
from tressette_env.errors import (
    AgentFailedError,
    AgentSpecError,
    IllegalCardError,
    OptionError,
    RulesError,
    StepOrderError,
)
from tressette_env.vector import TressetteVectorEnv

NEXT, SAME = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP
SEED = 5

Observations = dict[str, Any]


def make(num_envs: int, opponent: Any = "greedy", **options: Any) -> TressetteVectorEnv:
    env: Any = gymnasium.make_vec("Tressette-v0", num_envs=num_envs, opponent=opponent, **options)
    assert isinstance(env, TressetteVectorEnv)
    return env


def random_cards(masks: Any, rng: np.random.Generator) -> Any:
    """A legal card a row; 0 where none is legal."""
    return np.array([rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks])


def lowest_cards(masks: Any) -> Any:
    return masks.argmax(1)


def assert_same(row: int, many: Observations, one: Observations) -> None:
    for name in ("observation", "action_mask"):
        assert (many[name][row] == one[name]).all(), name


def assert_equal(found: Observations, one: Observations) -> None:
    assert set(found) == set(one)
    for name in found:
        assert (found[name] == one[name]).all(), name


class SingleDeals:
    """For each table a single environment at the same deal, with the learner in the same seat."""

    def __init__(self, vector: TressetteVectorEnv, **options: Any) -> None:
        self.vector = vector
        self.options = options
        self.envs = [self.new(row) for row in range(vector.num_envs)]

    def new(self, row: int) -> tuple[SingleSeatEnv, Observations]:
        rules = self.vector.rules
        number = int(self.vector.table.deal_numbers[row])
        env = SingleSeatEnv("greedy", rules=rules, seat=int(self.vector.seats[row]), **self.options)
        deck, leader = deck_of(rules, SEED, number), first_leader(rules, SEED, number)
        observation, _ = env.reset(seed=0, options={"deck": deck, "leader": leader})
        return env, observation

    def restart(self, row: int) -> Observations:
        self.envs[row] = self.new(row)
        return self.envs[row][1]


# ---------------------------------------------------------------------------------- equivalence


@pytest.mark.parametrize("mode", [NEXT, SAME], ids=lambda mode: str(mode.name))
@pytest.mark.parametrize("reward", ["house", "tricks"])
@pytest.mark.parametrize(
    "rules", ["playmore", "yeeqia", "gamelake", "cuperativa", "gamelake_partners", "mini_2x5"]
)
def test_equals_the_single_environment_deal_by_deal(
    rules: str, reward: str, mode: AutoresetMode
) -> None:
    vector = make(6, rules=rules, reward=reward, autoreset_mode=mode)
    observations, _ = vector.reset(seed=SEED)
    singles = SingleDeals(vector, reward=reward)
    for row, (_, first) in enumerate(singles.envs):
        assert_same(row, observations, first)
    rng = np.random.default_rng(0)
    ended = np.zeros(6, np.bool_)
    episodes = 0
    for _ in range(50):
        cards = random_cards(observations["action_mask"], rng)
        observations, rewards, terminations, truncations, infos = vector.step(cards)
        assert not truncations.any()
        for row in range(6):
            if mode is NEXT and ended[row]:
                assert rewards[row] == 0
                assert not terminations[row]
                assert_same(row, observations, singles.restart(row))
                continue
            one, reward_of_one, over, _, _ = singles.envs[row][0].step(int(cards[row]))
            assert rewards[row] == pytest.approx(reward_of_one, abs=1e-12)
            assert terminations[row] == over
            if over and mode is SAME:
                assert infos["_final_obs"][row]
                assert_equal(infos["final_obs"][row], one)
                one = singles.restart(row)
            assert_same(row, observations, one)
        ended = terminations.copy()
        episodes += int(ended.sum())
    assert episodes >= 6


@pytest.mark.parametrize("reward", ["house", "tricks"])
@pytest.mark.parametrize("rules", ["gamelake_short", "gamelake_partners_short"])
def test_matches_equal_those_of_the_aec_environment(rules: str, reward: str) -> None:
    # A match of environment i plays deals i, i + B, i + 2B, ...; with one table these are the
    # seed's deals in order, which the AEC environment plays too.
    vector = make(1, Lowest(), seat=1, rules=rules, reward=reward, episode="match")
    observations, _ = vector.reset(seed=SEED)
    aec = tressette_v0.raw_env(rules=rules, reward=reward, episode="match")  # type: ignore[arg-type]
    aec.reset(seed=SEED)
    play_lowest_until(aec, "player_1")
    steps, over = 0, False
    while not over:
        assert_same(0, observations, aec.observe("player_1"))
        card = int(observations["action_mask"][0].argmax())
        observations, rewards, terminations, _, _ = vector.step(np.array([card]))
        aec.step(card)
        given = aec.rewards["player_1"] + play_lowest_until(aec, "player_1")
        over = aec.terminations["player_1"]
        assert rewards[0] == pytest.approx(given, abs=1e-12)
        assert terminations[0] == over
        steps += 1
    assert_same(0, observations, aec.observe("player_1"))
    assert aec.deals_dealt > 1
    assert steps == aec.deals_dealt * 40 // aec.rules.seats


def play_lowest_until(aec: Any, agent: str) -> float:
    """Play for the other seats until the agent is to act; return its rewards on the way."""
    given = 0.0
    while aec.agent_selection != agent and not aec.terminations[agent]:
        aec.step(int(aec.observe(aec.agent_selection)["action_mask"].argmax()))
        given += aec.rewards[agent]
    return given


class Lowest:
    """Plays the lowest legal card; keeps how many decisions it was asked for."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def act_batch(self, views: Any, rules: Any, seeds: Any) -> Any:
        self.batches.append(len(views))
        legal = views["legal"]
        return np.bitwise_count((legal & -legal) - 1).astype(np.int64)


def test_opponents_decide_in_batches() -> None:
    opponent = Lowest()
    vector = make(64, opponent, seat=0)
    masks = vector.reset(seed=0)[0]["action_mask"]
    for _ in range(20):
        masks = vector.step(lowest_cards(masks))[0]["action_mask"]
    assert max(opponent.batches) > 16
    assert sum(opponent.batches) >= 64 * 19


# ------------------------------------------------------------------------------- what is returned


def test_shapes_dtypes_and_spaces() -> None:
    vector = make(3)
    observations, infos = vector.reset(seed=0)
    size = vector.table.layout.size
    assert infos == {}
    for _ in range(45):
        assert observations["observation"].shape == (3, size)
        assert observations["action_mask"].shape == (3, 40)
        assert observations in vector.observation_space
        for row in range(3):
            one = {name: values[row] for name, values in observations.items()}
            assert one in vector.single_observation_space
        cards = lowest_cards(observations["action_mask"])
        assert cards in vector.action_space
        observations, rewards, terminations, truncations, infos = vector.step(cards)
        assert (rewards.dtype, rewards.shape) == (np.float64, (3,))
        assert (terminations.dtype, terminations.shape) == (np.bool_, (3,))
        assert (truncations.dtype, truncations.shape) == (np.bool_, (3,))
    assert vector.metadata["autoreset_mode"] is NEXT


def test_masks_are_the_legal_cards_and_empty_after_the_end() -> None:
    vector = make(8)
    observations, _ = vector.reset(seed=0)
    ends = 0
    for _ in range(45):
        masks = observations["action_mask"]
        over = ~masks.any(1)
        legal = vector.table.legal_masks
        assert (masks[~over] == legal[~over]).all()
        observations, _, terminations, _, _ = vector.step(lowest_cards(masks))
        assert (terminations == ~observations["action_mask"].any(1)).all()
        ends += int(terminations.sum())
    assert ends == 16


def test_final_observations_are_there_where_an_episode_ended_alone() -> None:
    vector = make(16, autoreset_mode=SAME, rules="mini_2x5", seat=0)
    masks = vector.reset(seed=1)[0]["action_mask"]
    seen = 0
    for _ in range(30):
        observations, _, terminations, _, infos = vector.step(lowest_cards(masks))
        masks = observations["action_mask"]
        assert masks.any(1).all()
        assert bool(infos) == bool(terminations.any())
        if infos:
            last = infos["final_obs"]
            assert (infos["_final_obs"] == terminations).all()
            for over, one in zip(terminations, last, strict=True):
                assert (one is not None) == over
                if over:
                    assert one["observation"].any() and not one["action_mask"].any()
            seen += 1
    assert seen


@pytest.mark.parametrize("mode", [NEXT, SAME], ids=lambda mode: str(mode.name))
def test_returned_arrays_are_never_written_again(mode: AutoresetMode) -> None:
    vector = make(4, autoreset_mode=mode)
    kept: list[tuple[Any, Any]] = []

    def keep(values: Any) -> None:
        if isinstance(values, dict):
            for value in values.values():
                keep(value)
        else:
            kept.append((values, values.copy()))

    observations, _ = vector.reset(seed=0)
    for _ in range(45):
        keep(observations)
        observations, *others = vector.step(lowest_cards(observations["action_mask"]))
        for other in others:
            keep(other)
    for now, then in kept:
        assert (now == then).all()


def test_without_copies_the_same_arrays_come_back() -> None:
    copied, shared = make(4), make(4, copy=False)
    one, _ = copied.reset(seed=0)
    two, _ = shared.reset(seed=0)
    first = two
    for _ in range(45):
        for name, values in two.items():
            assert (one[name] == values).all()
            assert values is first[name]
        cards = lowest_cards(one["action_mask"])
        one, *others = copied.step(cards)
        two, *others_too = shared.step(cards)
        for left, right in zip(others[:3], others_too[:3], strict=True):
            assert (left == right).all()


# -------------------------------------------------------------------------------- seats and seeds


def test_a_fixed_seat_is_kept_and_a_drawn_one_is_not() -> None:
    fixed, drawn = make(200, seat=1, rules="mini_2x4"), make(200, rules="mini_2x4")
    seats = set()
    for vector in (fixed, drawn):
        masks = vector.reset(seed=0)[0]["action_mask"]
        for _ in range(20):
            if vector is fixed:
                assert (vector.seats == 1).all()
            else:
                seats.add(tuple(vector.seats))
                assert 60 <= vector.seats.sum() <= 140
            masks = vector.step(lowest_cards(masks))[0]["action_mask"]
    assert len(seats) > 1


def play(vector: TressetteVectorEnv, steps: int, reset: dict[str, Any]) -> list[Any]:
    observations, _ = vector.reset(**reset)
    found = [observations["observation"].copy()]
    for _ in range(steps):
        cards = lowest_cards(observations["action_mask"])
        observations, rewards, terminations, _, _ = vector.step(cards)
        found += [observations["observation"].copy(), rewards, terminations]
    return found


def same(left: list[Any], right: list[Any]) -> bool:
    return all((one == two).all() for one, two in zip(left, right, strict=True))


def test_a_seed_decides_everything_zero_too() -> None:
    zero = play(make(5), 45, {"seed": 0})
    vector = make(5)
    assert same(zero, play(vector, 45, {"seed": 0}))
    assert not same(zero, play(vector, 45, {"seed": 1}))
    assert same(zero, play(vector, 45, {"seed": 0}))


def test_reset_without_a_seed_goes_on_with_the_stream() -> None:
    vector = make(5)
    first = play(vector, 10, {"seed": 3})
    numbers = vector.table.deal_numbers
    second = play(vector, 10, {})
    assert vector.table.seed == 3
    assert vector.table.deal_numbers.min() > numbers.max()
    assert not same(first, second)
    again = make(5)
    play(again, 10, {"seed": 3})
    assert same(second, play(again, 10, {}))


def test_a_first_reset_without_a_seed_draws_one() -> None:
    assert not same(play(make(2), 1, {}), play(make(2), 1, {}))


def test_deals_do_not_depend_on_the_number_of_environments() -> None:
    few, many = make(3, seat=0), make(9, seat=0)
    left, right = few.reset(seed=7)[0], many.reset(seed=7)[0]
    assert (left["observation"] == right["observation"][:3]).all()


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(threads: int) -> None:
    for options in ({"rules": "playmore"}, {"rules": "gamelake_partners"}):
        one = play(make(37, **options), 45, {"seed": 2})
        assert same(one, play(make(37, num_threads=threads, **options), 45, {"seed": 2}))


# ------------------------------------------------------------------------------------- gymnasium


@pytest.mark.parametrize("mode", [NEXT, SAME], ids=lambda mode: str(mode.name))
def test_gymnasium_makes_it_by_name(mode: AutoresetMode) -> None:
    env = gymnasium.make_vec(
        "Tressette-v0",
        num_envs=2,
        vectorization_mode="vector_entry_point",
        opponent="random",
        autoreset_mode=mode,
    )
    assert isinstance(env, TressetteVectorEnv)
    assert env.spec is not None
    assert env.spec.id == "Tressette-v0"
    env.close()


@pytest.mark.parametrize("way", ["sync", "vector_entry_point"])
def test_gymnasiums_ways_to_make_many_give_the_same_game(way: str) -> None:
    """``sync`` puts gymnasium's passive checker around each single environment."""
    env = gymnasium.make_vec("Tressette-v0", num_envs=2, vectorization_mode=way, opponent="greedy")
    observations, _ = env.reset(seed=0)
    for _ in range(45):
        assert observations in env.observation_space
        observations, *_ = env.step(lowest_cards(observations["action_mask"]))
    env.close()


def test_matches_gymnasiums_own_vector_of_single_environments() -> None:
    """Shapes, dtypes and spaces are those that gymnasium derives from the single environment."""
    theirs = gymnasium.vector.SyncVectorEnv([lambda: SingleSeatEnv("greedy")] * 3)
    ours = make(3)
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.single_action_space == theirs.single_action_space
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    left, right = ours.reset(seed=0)[0], theirs.reset(seed=0)[0]
    for name in left:
        assert (left[name].dtype, left[name].shape) == (right[name].dtype, right[name].shape)
    for _ in range(25):
        left, *ours_rest = ours.step(lowest_cards(left["action_mask"]))
        right, *theirs_rest = theirs.step(lowest_cards(right["action_mask"]))
        for one, two in zip(ours_rest[:3], theirs_rest[:3], strict=True):
            assert (one.dtype, one.shape) == (two.dtype, two.shape)


@pytest.mark.parametrize("mode", [NEXT, SAME], ids=lambda mode: str(mode.name))
def test_episode_statistics_of_gymnasiums_wrapper(mode: AutoresetMode) -> None:
    env: Any = RecordEpisodeStatistics(make(4, autoreset_mode=mode))
    observations, _ = env.reset(seed=0)
    returns, total, lengths = [], np.zeros(4), []
    ended = np.zeros(4, np.bool_)
    for _ in range(45):
        observations, rewards, terminations, _, infos = env.step(
            lowest_cards(observations["action_mask"])
        )
        total += np.where(ended & (mode is NEXT), 0, rewards)
        for row in np.flatnonzero(terminations):
            returns.append((total[row], infos["episode"]["r"][row]))
            lengths.append(int(infos["episode"]["l"][row]))
            total[row] = 0
        ended = terminations
    assert len(returns) == 8
    for ours, recorded in returns:
        assert recorded == pytest.approx(ours, abs=1e-6)
    assert set(lengths) == {20}


def test_infos_as_a_list_of_each_environment() -> None:
    listed: Any = DictInfoToList(make(2, autoreset_mode=SAME))
    masks = listed.reset(seed=0)[0]["action_mask"]
    found = []
    for _ in range(20):
        observations, _, _, _, infos = listed.step(lowest_cards(masks))
        masks = observations["action_mask"]
        found += infos
    assert any("final_obs" in info for info in found)


def test_infos_of_same_step_are_laid_out_like_gymnasiums_own() -> None:
    """Keys, types and contents of a ``SyncVectorEnv`` of the same environments."""
    ours = make(3, autoreset_mode=SAME, rules="mini_2x4", seat=0)
    theirs: Any = gymnasium.make_vec(
        "Tressette-v0",
        num_envs=3,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": SAME},
        rules="mini_2x4",
        opponent="greedy",
        seat=0,
    )
    seen = []
    for env in (ours, theirs):
        masks = env.reset(seed=4)[0]["action_mask"]
        for _ in range(6):
            observations, _, terminations, _, infos = env.step(lowest_cards(masks))
            masks = observations["action_mask"]
            if terminations.any():
                break
        seen.append((infos, terminations))
    (found, ended), (expected, _) = seen
    assert found.keys() == expected.keys()
    for key in found:
        assert type(found[key]) is type(expected[key]), key
    assert found["final_obs"].dtype == expected["final_obs"].dtype == object
    assert found["final_obs"].shape == expected["final_obs"].shape == (3,)
    one = found["final_obs"][int(ended.argmax())]
    other = next(each for each in expected["final_obs"] if each is not None)
    assert one.keys() == other.keys()
    for name in one:
        assert (one[name].dtype, one[name].shape) == (other[name].dtype, other[name].shape)


@pytest.mark.parametrize("mode", [NEXT, SAME])
@pytest.mark.parametrize("rules", ["playmore", "gamelake_partners", "gamelake_short"])
@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("opponent", ["greedy", "random"])
def test_one_table_plays_the_games_of_the_single_environment(
    rules: str, episode: str, opponent: str, mode: AutoresetMode
) -> None:
    """The same seed: the same seats drawn, the same dice of the opponents, the same rewards."""
    options: dict[str, Any] = {"rules": rules, "episode": episode, "opponent": opponent}
    vector, single = make(1, autoreset_mode=mode, **options), SingleSeatEnv(**options)
    observations, _ = vector.reset(seed=5)
    one, _ = single.reset(seed=5)
    rng, seats = np.random.default_rng(0), []
    while len(seats) < 5:
        assert_same(0, observations, one)
        seats.append(single.seat)
        over = False
        while not over:
            cards = random_cards(observations["action_mask"], rng)
            observations, rewards, terminations, _, infos = vector.step(cards)
            one, reward, over, _, _ = single.step(int(cards[0]))
            assert (rewards[0], terminations[0]) == (pytest.approx(reward, abs=1e-12), over)
            if not over:
                assert_same(0, observations, one)
        if mode is SAME:
            assert_equal(infos["final_obs"][0], one)
        else:
            assert_same(0, observations, one)
            observations, *_ = vector.step(np.zeros(1, np.int64))
        one, _ = single.reset()
    assert len(set(seats)) > 1


def test_after_a_failed_opponent_only_reset_goes_on() -> None:
    class Fails:
        """Raises once in its life."""

        def __init__(self) -> None:
            self.left = 30

        def act(self, view: Any, seed: int) -> int:
            self.left -= 1
            if self.left == 0:
                raise ArithmeticError("no more")
            return min(view.legal_cards)

    vector = make(4, opponent=Fails())
    masks = vector.reset(seed=1)[0]["action_mask"]
    with pytest.raises(AgentFailedError):
        for _ in range(20):
            masks = vector.step(lowest_cards(masks))[0]["action_mask"]
    with pytest.raises(StepOrderError, match="the opponent failed"):
        vector.step(lowest_cards(masks))
    masks = vector.reset()[0]["action_mask"]
    vector.step(lowest_cards(masks))


def test_seats_are_a_copy_and_threads_are_the_tables() -> None:
    vector = make(8, num_threads=2)
    vector.reset(seed=1)
    before = vector.seats
    vector.seats[:] = 9
    assert (vector.seats == before).all()
    assert vector.table.num_threads == 2


def test_copy_is_true_or_false() -> None:
    with pytest.raises(OptionError, match="copy: expected True or False, got 'no'"):
        TressetteVectorEnv(2, copy="no")  # type: ignore[arg-type]


def test_is_a_gymnasium_vector_environment_that_closes() -> None:
    vector = make(2)
    assert isinstance(vector, VectorEnv)
    vector.reset(seed=0)
    vector.close()
    assert vector.closed


def test_nothing_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        play(make(2), 25, {"seed": 0})


# --------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "error", "word"),
    [
        ({"num_envs": 0}, OptionError, "num_tables"),
        ({"num_envs": 2.0}, OptionError, "num_tables"),
        ({"seat": 2}, OptionError, "seat"),
        ({"seat": True}, OptionError, "seat"),
        ({"reward": "thirds"}, OptionError, "reward"),
        ({"episode": "game"}, OptionError, "episode"),
        ({"observation": "full"}, OptionError, "observation"),
        ({"autoreset_mode": AutoresetMode.DISABLED}, OptionError, "NEXT_STEP"),
        ({"autoreset_mode": "later"}, OptionError, "autoreset_mode"),
        ({"num_threads": 0}, OptionError, "num_threads"),
        ({"rules": "playmor"}, RulesError, "playmore"),
        ({"rules": "fitres"}, RulesError, "fitres"),
        ({"opponent": "greedi"}, AgentSpecError, "greedy"),
        ({"opponent": 3}, AgentSpecError, "act"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        TressetteVectorEnv(**{"num_envs": 2, **options})


@pytest.mark.parametrize("mode", ["NextStep", "NEXT_STEP", NEXT, "SameStep", "SAME_STEP", SAME])
def test_modes_by_name_or_value(mode: Any) -> None:
    vector = TressetteVectorEnv(1, "random", autoreset_mode=mode)
    assert vector.metadata["autoreset_mode"] in (NEXT, SAME)


def test_step_before_reset() -> None:
    with pytest.raises(StepOrderError, match="reset"):
        make(2).step(np.zeros(2, np.int64))


@pytest.mark.parametrize("options", [{"deck": list(range(40))}, {"leader": 0}])
def test_reset_knows_no_options(options: dict[str, Any]) -> None:
    vector = make(2)
    with pytest.raises(OptionError, match="options"):
        vector.reset(seed=0, options=options)
    vector.reset(seed=0, options={})


@pytest.mark.parametrize("seed", [-1, 1 << 63, "1"])
def test_bad_seeds_leave_everything_as_it_was(seed: Any) -> None:
    vector = make(2)
    before, _ = vector.reset(seed=4)
    with pytest.raises(OptionError, match="seed"):
        vector.reset(seed=seed)
    numbers = vector.table.deal_numbers
    assert (numbers == [0, 1]).all()
    assert (vector.table.observe(vector.seats) == before["observation"]).all()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda cards: cards.astype(np.float64),
        lambda cards: cards[:2],
        lambda cards: cards[:, None],
        lambda cards: cards.astype(np.bool_),
        lambda cards: None,
        lambda cards: int(cards[0]),
    ],
    ids=["floats", "too few", "two axes", "booleans", "none", "a number"],
)
def test_bad_action_arrays(spoil: Callable[[Any], Any]) -> None:
    vector = make(3)
    observations, _ = vector.reset(seed=0)
    cards = lowest_cards(observations["action_mask"])
    with pytest.raises(OptionError, match="actions"):
        vector.step(spoil(cards))
    assert_unmoved(vector, observations)


@pytest.mark.parametrize("card", [-1, 40, 1 << 40, None])
def test_an_illegal_card_in_one_environment_moves_none(card: int | None) -> None:
    vector = make(3)
    observations, _ = vector.reset(seed=0)
    cards = lowest_cards(observations["action_mask"])
    legal = observations["action_mask"][1]
    cards[1] = int(legal.argmin()) if card is None else card
    with pytest.raises(IllegalCardError, match="table 1") as caught:
        vector.step(cards)
    assert caught.value.legal == tuple(np.flatnonzero(legal))
    assert_unmoved(vector, observations)
    vector.step(lowest_cards(observations["action_mask"]))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8])
def test_other_integers_are_welcome(dtype: Any) -> None:
    left, right = make(3), make(3)
    cards = lowest_cards(left.reset(seed=0)[0]["action_mask"])
    right.reset(seed=0)
    one, two = left.step(cards), right.step(cards.astype(dtype))
    assert (one[0]["observation"] == two[0]["observation"]).all()
    three = make(3)
    three.reset(seed=0)
    assert (three.step(cards.tolist())[0]["observation"] == one[0]["observation"]).all()  # type: ignore[arg-type]


class Cheater:
    def act_batch(self, views: Any, rules: Any, seeds: Any) -> Any:
        return np.full(len(views), 41)


def test_an_opponent_that_plays_an_illegal_card_is_an_error() -> None:
    with pytest.raises(AgentFailedError, match=r"Cheater.*41.*seat"):
        play(make(4, Cheater()), 2, {"seed": 0})


def assert_unmoved(vector: TressetteVectorEnv, observations: Observations) -> None:
    assert (vector.table.observe(vector.seats) == observations["observation"]).all()
    assert (vector.table.legal_masks == observations["action_mask"]).all()
