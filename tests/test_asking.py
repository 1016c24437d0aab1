"""What an agent may answer, wherever it plays."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from tressette_env import BatchTable, SingleSeatEnv
from tressette_env.asking import ask
from tressette_env.errors import AgentFailedError, AgentSpecError, StepOrderError
from tressette_env.policies import _made, as_agent
from tressette_env.rulesets import get_rules

PLAYMORE = get_rules("playmore")


class Batch:
    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.answer = answer

    def act_batch(self, views: Any, rules: Any, seeds: Any) -> Any:
        return self.answer(views)


class Single:
    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.answer = answer

    def act(self, view: Any, seed: int) -> Any:
        return self.answer(view)


def raises(error: BaseException) -> Callable[[Any], Any]:
    def answer(_: Any) -> Any:
        raise error

    return answer


FAILURES = [
    pytest.param(
        Batch(raises(RuntimeError("no\nidea"))), "raised RuntimeError: no idea", id="raise"
    ),
    pytest.param(Batch(lambda views: sys.exit(0)), "raised SystemExit", id="exit"),
    pytest.param(Batch(lambda views: [[1], [2, 3]]), "ValueError", id="ragged"),
    pytest.param(Batch(lambda views: None), "expected an integer array", id="none"),
    pytest.param(Batch(lambda views: np.zeros(len(views))), "float64", id="floats"),
    pytest.param(Batch(lambda views: np.zeros(1, int)), "[1]", id="short"),
    pytest.param(Batch(lambda views: np.full(len(views), 41)), "played no card (41)", id="41"),
    pytest.param(Batch(lambda views: np.full(len(views), -1)), "played no card (-1)", id="-1"),
    pytest.param(Single(lambda view: view.legal_cards[0] + 0.9), "expected a card number", id=".9"),
    pytest.param(Single(lambda view: "7"), "expected a card number from act, got '7'", id="text"),
    pytest.param(Single(lambda view: True), "expected a card number from act, got True", id="bool"),
]


@pytest.mark.parametrize(("policy", "expected"), FAILURES)
def test_whatever_is_not_a_legal_card_names_the_agent_in_one_line(
    policy: Any, expected: str
) -> None:
    views = BatchTable(3, seed=0).views()
    with pytest.raises(AgentFailedError) as caught:
        ask(as_agent(policy), views, PLAYMORE, np.zeros(3, np.int64))
    message = str(caught.value)
    assert expected in message
    assert type(policy).__name__ in message
    assert "seat" in message
    assert "\n" not in message


def test_the_error_says_at_which_view_the_agent_failed() -> None:
    views = BatchTable(5, seed=0).views()

    def answer(shown: Any) -> Any:
        cards = np.array([int(legal).bit_length() - 1 for legal in shown["legal"]])
        return np.where(shown["hand"] == views["hand"][3], 40, cards)

    with pytest.raises(AgentFailedError) as caught:
        ask(as_agent(Batch(answer)), views, PLAYMORE, np.zeros(5, np.int64))
    assert caught.value.row == 3


@pytest.mark.parametrize(("policy", "expected"), FAILURES)
def test_environments_name_a_failing_opponent_and_ask_for_a_reset(
    policy: Any, expected: str
) -> None:
    single = SingleSeatEnv(policy, seat=0)
    single.reset(seed=0, options={"leader": 0})
    card = int(single.action_masks().argmax())
    with pytest.raises(AgentFailedError):
        single.step(card)
    with pytest.raises(StepOrderError, match="opponent failed"):
        single.step(card)
    vector = gymnasium.make_vec("Tressette-v0", num_envs=2, opponent=policy)
    with pytest.raises(AgentFailedError):
        for _ in range(3):
            if _ == 0:
                observations, _infos = vector.reset(seed=0)
            observations, *_rest = vector.step(observations["action_mask"].argmax(1))


def test_a_factory_that_returns_no_agent_is_refused_when_the_agent_is_made() -> None:
    with pytest.raises(AgentSpecError, match=r"'odd'.*act or act_batch.*None"):
        _made("odd", lambda: None)
