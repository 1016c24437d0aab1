"""Names under which PettingZoo and gymnasium find the environments; what an import costs."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest

import tressette_env
from tressette_env import SingleSeatEnv, tressette_v0
from tressette_env.errors import TressetteError


class First:
    """Plays the lowest legal card."""

    def act(self, view: Any, seed: int) -> int:
        return int(view.legal_cards[0])


def test_pettingzoo_make() -> None:
    env = pettingzoo.make("aec", "Tressette-v0", rules="gamelake", episode="match")
    assert isinstance(env.unwrapped, tressette_v0.raw_env)
    assert env.unwrapped.rules.name == "gamelake"
    assert env.unwrapped.episode == "match"
    env.reset(seed=1)
    plain = tressette_v0.env(rules="gamelake", episode="match")
    plain.reset(seed=1)
    assert env.unwrapped.record() == plain.unwrapped.record()
    assert "Tressette-v0" in pettingzoo.aec_registry


def test_gymnasium_make() -> None:
    env = gymnasium.make("Tressette-v0", opponent=First(), seat=1, rules="cuperativa")
    assert isinstance(env.unwrapped, SingleSeatEnv)
    assert env.unwrapped.table.rules.name == "cuperativa"
    observation, _ = env.reset(seed=1)
    plain = SingleSeatEnv(First(), seat=1, rules="cuperativa")
    expected, _ = plain.reset(seed=1)
    assert all(np.array_equal(observation[key], expected[key]) for key in expected)
    assert env.unwrapped.seat == 1
    assert env.spec is not None
    assert env.spec.id == "Tressette-v0"


def test_gymnasium_make_with_an_installed_opponent() -> None:
    env = gymnasium.make("Tressette-v0", opponent="random")
    observation, _ = env.reset(seed=2)
    env.step(int(np.argmax(observation["action_mask"])))
    assert gymnasium.make("Tressette-v0").unwrapped.opponent.spec == "greedy"


def test_gymnasium_make_vec() -> None:
    envs = gymnasium.make_vec("Tressette-v0", num_envs=3, opponent=First(), rules="gamelake")
    assert type(envs.unwrapped).__name__ == "TressetteVectorEnv"
    observations, _ = envs.reset(seed=1)
    assert observations["action_mask"].shape == (3, 40)
    assert envs.unwrapped.rules.name == "gamelake"


def test_gymnasium_make_vec_of_copies() -> None:
    """The copies step together; an episode's end is followed by a reset."""
    envs = gymnasium.make_vec(
        "Tressette-v0",
        num_envs=2,
        vectorization_mode="sync",
        opponent=First(),
        rules="mini_2x4",
    )
    observations, _ = envs.reset(seed=3)
    single = SingleSeatEnv(First(), rules="mini_2x4")
    ends = 0
    expected, _ = single.reset(seed=3)
    starting = False
    for _ in range(20):
        assert observations["action_mask"].shape == (2, 40)
        for key, array in expected.items():
            assert np.array_equal(observations[key][0], array)
        actions = observations["action_mask"].argmax(axis=1)
        observations, rewards, over, _, _ = envs.step(actions)
        if starting:
            expected, _ = single.reset()
            starting = False
            continue
        expected, reward, starting, _, _ = single.step(actions[0])
        assert rewards[0] == pytest.approx(reward)
        assert over[0] == starting
        ends += starting
    envs.close()
    assert ends >= 2


def test_bad_arguments_through_make() -> None:
    for make in (
        lambda **options: pettingzoo.make("aec", "Tressette-v0", **options),
        lambda **options: gymnasium.make("Tressette-v0", opponent=First(), **options),
    ):
        with pytest.raises(TressetteError, match="unknown rule set 'poker'"):
            make(rules="poker")
        with pytest.raises(TressetteError, match="episode: expected 'deal' or 'match'"):
            make(episode="game")
    with pytest.raises(TressetteError, match="unknown agent 'nobody'"):
        gymnasium.make("Tressette-v0", opponent="nobody")


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_registers_and_loads_neither_torch_nor_numba() -> None:
    loaded = run(
        "import sys, gymnasium, pettingzoo, tressette_env\n"
        "assert 'Tressette-v0' in gymnasium.registry\n"
        "assert 'Tressette-v0' in pettingzoo.aec_registry\n"
        "print([name for name in ('torch', 'numba') if name in sys.modules])"
    )
    assert loaded.strip() == "[]"


def test_making_an_environment_does_not_load_torch() -> None:
    loaded = run(
        "import sys\n"
        "from tressette_env import tressette_v0\n"
        "tressette_v0.env().reset(seed=0)\n"
        "print('torch' in sys.modules)"
    )
    assert loaded.strip() == "False"


def test_names_of_the_package() -> None:
    for name in tressette_env.__all__:
        assert name in dir(tressette_env)
        assert getattr(tressette_env, name) is not None
    assert tressette_env.tressette_v0 is tressette_v0
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tressette_env.nothing
