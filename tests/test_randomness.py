"""The random numbers: published vectors, and streams that go on in every interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tressette_env import PRESETS, BatchTable, SingleSeatEnv, kernels_random, tressette_v0
from tressette_env.deals import deck_of
from tressette_env.errors import OptionError
from tressette_env.randomness import (
    MAX_SEED,
    check_seed,
    fresh_seed,
    random_word,
    rotate_left,
    stream_next,
    stream_output,
    threefry,
)
from tressette_env.view import View

WORDS = st.integers(0, 2**32 - 1)
EDGE_SEEDS = [0, 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, MAX_SEED]


# ------------------------------------------------------------ generators


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [  # Random123, kat_vectors: threefry2x32, 20 rounds
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry_gives_the_published_vectors(
    key: tuple[int, int], counter: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert threefry(*key, *counter) == expected


def threefry_of_the_paper(key: tuple[int, int], counter: tuple[int, int]) -> tuple[int, int]:
    """Threefry-2x32-20 as a loop over numpy's 32-bit words, which wrap around by themselves."""
    rotations = [13, 15, 26, 6, 17, 29, 16, 24]
    keys = np.array([*key, 0x1BD11BDA ^ key[0] ^ key[1]], np.uint32)
    x = np.array(counter, np.uint32) + keys[:2]
    for number in range(20):
        places = np.uint32(rotations[number % 8])
        x[0] += x[1]
        x[1] = (x[1] << places | x[1] >> (np.uint32(32) - places)) ^ x[0]
        if number % 4 == 3:
            group = number // 4 + 1
            x[0] += keys[group % 3]
            x[1] += keys[(group + 1) % 3] + np.uint32(group)
    return int(x[0]), int(x[1])


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@given(WORDS, WORDS, WORDS, WORDS)
def test_threefry_agrees_with_a_second_implementation(k0: int, k1: int, c0: int, c1: int) -> None:
    assert threefry(k0, k1, c0, c1) == threefry_of_the_paper((k0, k1), (c0, c1))


def test_xoshiro_gives_the_published_vectors() -> None:
    """The first outputs of the authors' C code from 1, 2, 3, 4, as in rand_xoshiro's tests."""
    words = (1, 2, 3, 4)
    outputs = []
    for _ in range(10):
        outputs.append(stream_output(words[0], words[3]))
        words = stream_next(*words)
    assert outputs == [
        *(641, 1573767, 3222811527, 3517856514, 836907274),
        *(4247214768, 3867114732, 1355841295, 495546011, 621204420),
    ]


def xoshiro_in_bytes(words: tuple[int, int, int, int]) -> Iterator[int]:
    """xoshiro128++ line by line from the authors' C code, on ``uint32``."""
    s = np.array(words, np.uint32)

    def rotl(x: Any, k: int) -> Any:
        return x << np.uint32(k) | x >> np.uint32(32 - k)

    with np.errstate(over="ignore"):
        while True:
            yield int(rotl(s[0] + s[3], 7) + s[0])
            t = s[1] << np.uint32(9)
            s[2] ^= s[0]
            s[3] ^= s[1]
            s[1] ^= s[2]
            s[0] ^= s[3]
            s[2] ^= t
            s[3] = rotl(s[3], 11)


@given(WORDS, WORDS, WORDS, WORDS)
def test_xoshiro_agrees_with_a_second_implementation(s0: int, s1: int, s2: int, s3: int) -> None:
    words = (s0, s1, s2, s3)
    expected = xoshiro_in_bytes(words)
    for _ in range(25):
        assert stream_output(words[0], words[3]) == next(expected)
        words = stream_next(*words)


@given(WORDS, st.integers(1, 31))
def test_rotation_loses_no_bit(word: int, places: int) -> None:
    turned = rotate_left(word, places)
    assert 0 <= turned < 2**32
    assert rotate_left(turned, 32 - places) == word


@pytest.mark.parametrize("seed", EDGE_SEEDS)
def test_random_words_are_seeds_and_the_same_compiled(seed: int) -> None:
    numbers = [0, 1, 2**32 - 1, 2**32, 2**61, 2**62 + 5, MAX_SEED]
    out = np.empty(1, np.int64)
    for number in numbers:
        word = random_word(seed, number)
        assert 0 <= word <= MAX_SEED
        kernels_random.random_words(np.array([seed]), number, out)
        assert out[0] == word
    assert len({random_word(seed, number) for number in numbers}) == len(numbers)


@numba.njit
def _words(count: int) -> npt.NDArray[np.int64]:
    out = np.empty(count, np.int64)
    for number in range(count):
        out[number] = random_word(123, number)
    return out


def test_every_bit_of_the_random_words_is_fair() -> None:
    words = _words(100_000)
    bits = words[:, None] >> np.arange(63) & 1
    assert np.abs(bits.mean(0) - 0.5).max() < 5 * 0.5 / np.sqrt(len(words))
    assert len(np.unique(words)) == len(words)
    changed = bits[1:] != bits[:-1]
    assert np.abs(changed.mean(0) - 0.5).max() < 5 * 0.5 / np.sqrt(len(words))


# ------------------------------------------------------------ seeds


@pytest.mark.parametrize("seed", EDGE_SEEDS)
def test_a_seed_from_0_to_the_largest_is_taken_as_it_is(seed: int) -> None:
    assert check_seed(seed) == seed
    assert check_seed(np.int64(seed)) == seed
    assert type(check_seed(np.int64(seed))) is int


@pytest.mark.parametrize("wrong", [-1, 2**63, 1.0, "1", None, True, b"1", [1], np.bool_(True)])
def test_what_is_no_seed_is_refused_everywhere(wrong: Any) -> None:
    env = tressette_v0.raw_env()
    env.reset(seed=4)
    before = env.observe("player_0")["observation"]
    calls: list[Callable[[], Any]] = [
        lambda: check_seed(wrong),
        lambda: check_seed(wrong, "seed"),
    ]
    if wrong is not None:
        calls += [lambda: BatchTable(2, seed=wrong), lambda: env.reset(seed=wrong)]
    for call in calls:
        with pytest.raises(OptionError, match=r"seed: expected an integer from 0 to 2\*\*63 - 1"):
            call()
    assert (env.observe("player_0")["observation"] == before).all()


def test_a_fresh_seed_is_a_seed_and_another_each_time() -> None:
    seeds = [fresh_seed() for _ in range(20)]
    assert [check_seed(seed) for seed in seeds] == seeds
    assert len(set(seeds)) == 20


def test_a_table_without_a_seed_draws_one_and_tells_it() -> None:
    first, second = BatchTable(3), BatchTable(3)
    assert first.seed != second.seed
    again = BatchTable(3, seed=first.seed)
    assert (again.observations == first.observations).all()


class Lowest:
    """The lowest legal card, as an opponent without dice."""

    def act(self, view: View, seed: int) -> int:
        return view.legal_cards[0]


def hands_of(env: Any) -> tuple[bytes, ...]:
    table = getattr(env, "table", env)
    return tuple(table.observe(agent)["observation"].tobytes() for agent in table.possible_agents)


def dealt_by_aec(seed: int) -> Any:
    env = tressette_v0.raw_env()
    env.reset(seed=seed)
    return env.state()


def dealt_by_env(seed: int) -> Any:
    env = tressette_v0.env()
    env.reset(seed=seed)
    return env.state()


def dealt_by_single(seed: int) -> Any:
    env = SingleSeatEnv(Lowest(), seat=0, rules=PRESETS["playmore"])
    env.reset(seed=seed)
    env.table.reset(seed=seed)
    return env.table.state()


def dealt_by_batch(seed: int) -> Any:
    return BatchTable(1, seed=seed).states["hands"][0]


@pytest.mark.parametrize("dealt", [dealt_by_aec, dealt_by_env, dealt_by_single, dealt_by_batch])
def test_seed_0_is_a_seed_like_any_other(dealt: Callable[[int], Any]) -> None:
    assert (dealt(0) == dealt(0)).all()
    others = [dealt(seed).tobytes() for seed in (0, 1, 2, MAX_SEED)]
    assert len(set(others)) == 4


def test_seed_0_deals_the_same_cards_in_every_interface() -> None:
    deck = deck_of(PRESETS["playmore"], 0, 0)
    hands = [sum(1 << card for card in deck[10 * seat : 10 * seat + 10]) for seat in range(2)]
    assert dealt_by_batch(0)[:2].tolist() == hands
    assert dealt_by_aec(0)[:40].tolist() == [hands[0] >> card & 1 for card in range(40)]
    assert (dealt_by_env(0) == dealt_by_aec(0)).all()
    assert (dealt_by_single(0) == dealt_by_aec(0)).all()


def episodes_of_aec(seed: int, options: dict[str, Any], picks: int) -> list[tuple[bytes, ...]]:
    """What three episodes start with, only the first reset being given a seed."""
    env = tressette_v0.env(**options)
    seen = []
    for episode in range(3):
        env.reset(seed=seed if episode == 0 else None)
        seen.append(hands_of(env.unwrapped))
        while not any(env.terminations.values()):
            legal = np.flatnonzero(env.observe(env.agent_selection)["action_mask"])
            env.step(int(legal[picks % len(legal)]))
    return seen


@pytest.mark.parametrize("name", ["playmore", "gamelake_partners", "mini_2x5"])
@pytest.mark.parametrize("episode", ["deal", "match"])
@pytest.mark.parametrize("seed", [0, 5])
def test_a_reset_without_a_seed_goes_on_with_the_seeded_stream(
    name: str, episode: str, seed: int
) -> None:
    options = {"rules": name, "episode": episode}
    runs = [episodes_of_aec(seed, options, 0) for _ in range(2)]
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 3
    if episode == "deal":  # whatever the cards played
        assert episodes_of_aec(seed, options, 3) == runs[0]


@pytest.mark.parametrize("seat", [0, None])
@pytest.mark.parametrize("seed", [0, 5])
def test_a_single_seat_goes_on_with_the_seeded_stream(seat: int | None, seed: int) -> None:
    runs: list[list[Any]] = []
    for _ in range(2):
        env = SingleSeatEnv(Lowest(), seat=seat)
        seen: list[Any] = []
        for episode in range(3):
            observation, _ = env.reset(seed=seed if episode == 0 else None)
            seen.append((env.seat, observation["observation"].tobytes()))
            over = False
            while not over:
                action = int(observation["action_mask"].argmax())
                observation, reward, over, _, _ = env.step(action)
                seen.append((reward, observation["observation"].tobytes()))
        runs.append(seen)
    assert runs[0] == runs[1]


def test_a_seed_given_again_starts_the_stream_again() -> None:
    env = tressette_v0.raw_env()
    env.reset(seed=8)
    first = hands_of(env)
    env.reset()
    assert hands_of(env) != first
    env.reset(seed=8)
    assert hands_of(env) == first


def test_global_random_numbers_are_neither_used_nor_disturbed() -> None:
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # type: ignore[index, union-attr]  # noqa: NPY002
    env = tressette_v0.raw_env()
    env.reset(seed=8)
    BatchTable(5, seed=3)
    assert (np.random.get_state()[1] == before).all()  # type: ignore[index]  # noqa: NPY002
