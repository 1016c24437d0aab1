"""Rows for the interfaces that play card by card: one table, PettingZoo, gymnasium.

The loops over PettingZoo environments serve its other games as well, so that a comparison times the
same lines of Python.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_env import BatchTable, RuleSet
from tressette_train.bench.timing import Player, Row

__all__ = ["GROUP", "env_rows", "play_raw", "play_wrapped", "vector_rows"]

GROUP = "environments"


def env_rows(rules: RuleSet) -> list[Row]:
    """Return a row for each interface of one table; cards are random legal ones.

    ``one table`` is a ``BatchTable`` of one: a call of ``play_card`` a card. Its random card is
    drawn in Python; ``one table, lowest`` plays the lowest one, to tell the call from the choice.
    ``one table, arrays`` draws as well, and calls ``play``.
    """
    return [
        Row("one table", GROUP, lambda stack: _one_table(rules, drawn=True)),
        Row("one table, lowest", GROUP, lambda stack: _one_table(rules, drawn=False)),
        Row("one table, arrays", GROUP, lambda stack: _one_table_of_arrays(rules)),
        Row("aec raw", GROUP, lambda stack: _aec(rules, "raw_env", play_raw)),
        Row("aec wrapped", GROUP, lambda stack: _aec(rules, "env", play_wrapped)),
        Row("single", GROUP, lambda stack: _single(rules)),
    ]


def vector_rows(rules: RuleSet, tables: list[int], threads: list[int]) -> list[Row]:
    """Return rows for the vector environment against ``random``; the learner's card is the lowest.

    Every card counts as a play, the opponents' too.
    """
    return [
        Row("vector", GROUP, _Vector(rules, count, shared), count, shared)
        for shared in threads
        for count in tables
        if shared == 1 or count >= 1024
    ]


def play_raw(env: Any, deals: int) -> int:
    """Play deals of a PettingZoo environment: ``observe``, a random card of the mask, ``step``."""
    plays = 0
    for _ in range(deals):
        env.reset()
        agent = env.agent_selection
        while True:
            env.step(_random_action(env.observe(agent)["action_mask"]))
            plays += 1
            agent = env.agent_selection
            if env.terminations[agent] or env.truncations[agent]:
                break
    return plays


def play_wrapped(env: Any, deals: int) -> int:
    """Play deals of a PettingZoo environment as its documentation does, in a ``last()`` loop."""
    plays = 0
    for _ in range(deals):
        env.reset()
        for _ in env.agent_iter():
            observation, _, termination, truncation, _ = env.last()
            if termination or truncation:
                env.step(None)
            else:
                env.step(_random_action(observation["action_mask"]))
                plays += 1
    return plays


def _random_action(mask: npt.NDArray[Any]) -> int:
    legal = mask.nonzero()[0]
    return int(legal[int(random.random() * len(legal))])


def _one_table(rules: RuleSet, drawn: bool) -> Player:
    table = BatchTable(1, rules, seed=0)
    draw, play_card = random.random, table.play_card

    def play(plies: int) -> int:
        legal = int(table.legal_sets[0])
        for _ in range(plies):
            if drawn:
                for _ in range(int(draw() * legal.bit_count())):
                    legal &= legal - 1
            legal, _ = play_card((legal & -legal).bit_length() - 1)
        return plies

    return play


def _one_table_of_arrays(rules: RuleSet) -> Player:
    table = BatchTable(1, rules, seed=0)
    step = table.play_randomly(1)
    cards = np.zeros(1, np.int64)
    draw = random.random

    def play(plies: int) -> int:
        for _ in range(plies):
            legal = int(step.legal_sets[0])
            for _ in range(int(draw() * legal.bit_count())):
                legal &= legal - 1
            cards[0] = (legal & -legal).bit_length() - 1
            table.play(cards, out=step)
        return plies

    return play


def _aec(rules: RuleSet, entry: str, play: Callable[[Any, int], int]) -> Player:
    from tressette_env import tressette_v0

    env = getattr(tressette_v0, entry)(rules=rules)
    env.reset(seed=0)
    return lambda deals: play(env, deals)


def _single(rules: RuleSet) -> Player:
    from tressette_env import SingleSeatEnv

    env = SingleSeatEnv("random", rules=rules)
    env.reset(seed=0)

    def play(deals: int) -> int:
        for _ in range(deals):
            observation, _ = env.reset()
            over = False
            while not over:
                action = _random_action(observation["action_mask"])
                observation, _, over, _, _ = env.step(action)
        return deals * rules.deck_size

    return play


class _Vector:
    """Makes the player of a row of the vector environment."""

    def __init__(self, rules: RuleSet, tables: int, threads: int) -> None:
        self.rules = rules
        self.tables = tables
        self.threads = threads

    def __call__(self, stack: ExitStack) -> Player:
        import gymnasium

        env: Any = gymnasium.make_vec(
            "Tressette-v0",
            num_envs=self.tables,
            opponent="random",
            rules=self.rules,
            num_threads=self.threads,
        )
        stack.callback(env.close)
        masks = env.reset(seed=0)[0]["action_mask"]

        def played() -> int:
            deals = env.table.deal_numbers // self.tables
            return int((deals * self.rules.deck_size + env.table.plies).sum())

        def play(steps: int) -> int:
            nonlocal masks
            before = played()
            for _ in range(steps):
                masks = env.step(masks.argmax(1))[0]["action_mask"]
            return played() - before

        return play
