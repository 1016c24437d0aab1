"""Agents and solvers that several Python threads share, that fork, are copied or interrupted."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tressette_agents import (
    ismcts,
    ismcts_kernels,
    make_agent,
    pimc_kernels,
    search_agent,
    shared_work,
)
from tressette_agents.flat import FlatAgent
from tressette_agents.ismcts import IsmctsAgent
from tressette_agents.pimc import PimcAgent
from tressette_agents.pimc_kernels import SPREAD
from tressette_agents.search_agent import SearchAgent
from tressette_agents.shared_work import SharedWork
from tressette_agents.solver import EndingSolver
from tressette_agents.solver_open import OpenSolver
from tressette_agents.solver_partners import PartnersSolver
from tressette_env.batch import BatchTable
from tressette_env.errors import OptionError, RulesError
from tressette_env.rulesets import PRESETS, RuleSet

PLAYMORE = PRESETS["playmore"]
VIEWS = BatchTable(24, PLAYMORE, 6).views()
SEEDS = np.arange(24)


def ask(agent: Any) -> list[int]:
    cards: list[int] = agent.act_batch(VIEWS, PLAYMORE, SEEDS).tolist()
    return cards


# What is shared, and a call of it whose answer is known to be the same every time.
SHARED: dict[str, tuple[Callable[[], Any], Callable[[Any], list[int]]]] = {
    "flat": (lambda: make_agent("flat:worlds=3,threads=2"), ask),
    "ismcts": (lambda: make_agent("ismcts:iterations=20,threads=2"), ask),
    "pimc": (lambda: make_agent("pimc:worlds=1,threads=2"), ask),
    "endings": (
        lambda: EndingSolver(4, threads=2),
        lambda solver: solver.solve([3, 5, 6], [24, 40, 80]).tolist(),
    ),
    "open": (
        lambda: OpenSolver("always", 4, threads=2),
        lambda solver: solver.solve([1, 2], [4, 8], [[5, 6], [5, 7]]).tolist(),
    ),
    "partners": (
        lambda: PartnersSolver(4, threads=2),
        lambda solver: solver.solve([[1, 2, 4, 8], [2, 4, 8, 16]], [0, 1]).tolist(),
    ),
}
names = pytest.mark.parametrize("name", SHARED)


class Recorder(SharedWork[list[int]]):
    def new_part(self) -> list[int]:
        return []


def test_only_one_call_works_at_a_time() -> None:
    shared, inside, most = Recorder(1), 0, 0

    def work(part: list[int], low: int, high: int) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.005)
        inside -= 1

    callers = [threading.Thread(target=shared.share, args=(work, 1)) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert most == 1


@names
def test_a_second_call_waits_for_the_first(name: str) -> None:
    make, call = SHARED[name]
    shared, answers = make(), []
    expected = call(make())
    second = threading.Thread(target=lambda: answers.append(call(shared)))
    with shared._lock:  # as during a call of another thread
        second.start()
        second.join(0.05)
        assert not answers
    second.join(20)
    assert answers == [expected]


def test_exact_endings_are_asked_one_call_at_a_time_too() -> None:
    agent: Any = make_agent("greedy+endings")
    assert isinstance(agent._solver, SharedWork)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("in_a_call", [False, True])
@names
def test_a_fork_does_not_wait_for_threads_that_it_has_not(name: str, in_a_call: bool) -> None:
    make, call = SHARED[name]
    shared = make()
    call(shared)  # the threads of this process have started
    child = multiprocessing.get_context("fork").Process(target=call, args=(shared,))
    if in_a_call:
        with shared._lock:
            child.start()
    else:
        child.start()
    child.join(20)
    hangs = child.exitcode is None
    child.kill()
    assert not hangs and child.exitcode == 0
    assert call(shared) == call(make())


@names
def test_copies_and_pickles_answer_the_same_and_leave_the_memory_behind(name: str) -> None:
    make, call = SHARED[name]
    shared = make()
    expected = call(shared)
    assert len(pickle.dumps(shared)) < 1000
    for other in (pickle.loads(pickle.dumps(shared)), copy.deepcopy(shared), copy.copy(shared)):
        assert other._lock is not shared._lock and other._parts == []
        assert call(other) == expected


@pytest.mark.parametrize("spec", ["greedy+endings", "flat:worlds=2+endings", "clairvoyant"])
def test_agents_made_of_others_are_copied_and_pickled(spec: str) -> None:
    agent = make_agent(spec)
    for other in (pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)):
        assert other.spec == spec
        if not agent.cheats:
            assert ask(other) == ask(agent)


def test_few_rows_are_not_worth_another_thread() -> None:
    shared, calls = Recorder(4), []
    shared.share(lambda part, low, high: calls.append((low, high)), 17, 8, 100)
    assert sorted(calls) == [(0, 8), (8, 17)]
    shared.share(lambda part, low, high: None, 3, 8)
    assert len(shared._parts) == 2


def test_forgetting_waits_for_a_call() -> None:
    shared = Recorder(1)
    shared.share(lambda part, low, high: part.append(low), 1)
    with shared._lock:
        other = threading.Thread(target=shared.forget)
        other.start()
        other.join(0.05)
        assert shared._parts == [[0]]
    other.join(5)
    assert shared._parts == []


def test_where_no_thread_can_be_started_the_caller_does_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse)
    calls: list[tuple[int, int]] = []
    Recorder(3).share(lambda part, low, high: calls.append((low, high)), 3, 1, 1)
    assert sorted(calls) == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize("when", ["before", "after"])
def test_work_that_the_pool_keeps_when_it_cannot_start_a_thread_is_done_once(
    when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool queues it first: a thread it has may take it before the caller does, or after."""
    queued: list[Callable[[], None]] = []

    def refuse(_pool: object, work: Callable[..., None], *arguments: Any) -> None:
        if when == "before":
            work(*arguments)
        else:
            queued.append(lambda: work(*arguments))
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse)
    calls: list[tuple[int, int]] = []
    Recorder(3).share(lambda part, low, high: calls.append((low, high)), 3)
    for late in queued:
        late()
    assert sorted(calls) == [(0, 1), (1, 2), (2, 3)]


# --------------------------------------------------------------------------------- interruptions


def test_what_another_thread_raises_is_raised() -> None:
    def work(part: list[int], low: int, high: int) -> None:
        if low:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Recorder(2).share(work, 2)


def test_a_failed_call_ends_when_all_its_threads_have() -> None:
    begun, go = threading.Event(), threading.Event()
    ended: list[int] = []

    def work(part: list[int], low: int, high: int) -> None:
        if low == 0:
            begun.wait(5)
            threading.Timer(0.1, go.set).start()
            raise ZeroDivisionError
        begun.set()
        go.wait(5)
        ended.append(low)

    with pytest.raises(ZeroDivisionError):
        Recorder(2).share(work, 2)
    assert ended == [1]


def test_after_ctrl_c_the_other_threads_stop_and_the_next_call_starts_afresh() -> None:
    shared, rows = Recorder(2), []
    begun = threading.Event()

    def work(part: list[int], low: int, high: int) -> None:
        part.append(low)
        if low == 0:
            begun.wait(5)
            raise KeyboardInterrupt
        rows.append(low)
        begun.set()
        while not shared.is_stopped:
            time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        shared.share(work, 100)
    assert rows == [50]
    found: list[list[int]] = []
    shared.share(lambda part, low, high: found.append([*part, low, high]), 1)
    assert found == [[0, 1]]


def test_a_second_ctrl_c_leaves_no_arrays_that_a_thread_still_works_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared, go = Recorder(2), threading.Event()

    def work(part: list[int], low: int, high: int) -> None:
        part.append(low)
        if low == 0:
            raise KeyboardInterrupt
        go.wait(5)

    def interrupted(_futures: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shared_work, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            shared.share(work, 2)
    found: list[list[int]] = []
    shared.share(lambda part, low, high: found.append([*part, low]), 1)
    go.set()
    assert found == [[0]]


def test_rows_are_handed_out_in_calls_of_a_bounded_size() -> None:
    shared, calls = Recorder(2), []
    shared.share(lambda part, low, high: calls.append((low, high)), 10, 1, 2)
    assert sorted(calls) == [(0, 2), (2, 4), (4, 5), (5, 7), (7, 9), (9, 10)]
    assert make_agent("flat:worlds=50000").views_a_call == 2  # type: ignore[attr-defined]


def test_pimc_heeds_ctrl_c_after_every_solved_world(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = make_agent("pimc:worlds=50,threads=1")
    expected = agent.act_batch(VIEWS[:1], PLAYMORE, SEEDS[:1])
    solved: list[int] = []

    def interrupted(view: Any, rule: Any, seed: int, first: int, end: int, *rest: Any) -> None:
        solved.append(end - first)
        if len(solved) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pimc_kernels, "add_corrections", interrupted)
        with pytest.raises(KeyboardInterrupt):
            agent.act_batch(VIEWS[:1], PLAYMORE, SEEDS[:1])
    assert solved == [SPREAD] * 3
    assert (agent.act_batch(VIEWS[:1], PLAYMORE, SEEDS[:1]) == expected).all()


@pytest.mark.parametrize("spec", ["pimc:worlds=50,threads=1", "ismcts:iterations=50,threads=1"])
def test_a_thread_gives_up_its_search_when_another_has_failed(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent: Any = make_agent(spec)
    calls: list[int] = []

    def stopped(*_: Any) -> None:
        calls.append(1)
        agent._stopped = len(calls) == 2

    monkeypatch.setattr(pimc_kernels, "add_corrections", stopped)
    monkeypatch.setattr(ismcts_kernels, "best_cards", stopped)
    monkeypatch.setattr(ismcts, "_ITERATIONS_A_CALL", 1)
    agent.act_batch(VIEWS[:1], PLAYMORE, SEEDS[:1])
    assert len(calls) == 2


def test_solvers_hand_out_few_positions_at_a_time() -> None:
    solver, calls = PartnersSolver(4), []

    def kernel(tables: Any, rows: slice, out: Any) -> None:
        calls.append((rows.start, rows.stop, len(out)))
        out[:] = range(rows.start, rows.stop)

    assert solver._solve(kernel, 10).tolist() == list(range(10))
    assert calls == [(0, 4, 4), (4, 8, 4), (8, 10, 2)]


# ---------------------------------------------------------------------------------- search agents


class Stub(SearchAgent[None]):
    """Plays its seeds; that no deal fits, where the seed is 5."""

    spec = "stub"

    def new_part(self) -> None:
        return None

    def search(
        self,
        views: npt.NDArray[np.void],
        rules: RuleSet,
        seeds: npt.NDArray[np.int64],
        chosen: npt.NDArray[np.int64],
        memory: None,
    ) -> None:
        chosen[:] = np.where(seeds == 5, -2, seeds)


def test_search_gets_a_bounded_number_of_views_and_a_thread_enough_of_them() -> None:
    class Counted(Stub):
        views_a_call = 5

        def search(self, views: Any, rules: Any, seeds: Any, chosen: Any, memory: None) -> None:
            sizes.append(len(views))

    sizes: list[int] = []
    agent = Counted(16)
    agent.act_batch(VIEWS, PLAYMORE, SEEDS)
    assert sorted(sizes) == [3, 3, 3, 5, 5, 5]  # three threads of eight views
    assert len(agent._parts) == 3


def test_a_view_that_no_deal_fits_is_named() -> None:
    agent = Stub(2)
    with pytest.raises(OptionError, match=r"no hidden cards fit \(view 5 of 24\)"):
        agent.act_batch(VIEWS, PLAYMORE, SEEDS)
    assert agent.act_batch(VIEWS, PLAYMORE, SEEDS + 10).tolist() == (SEEDS + 10).tolist()


@pytest.mark.parametrize(("cores", "threads"), [(6, 6), (1000, 256)])
def test_zero_threads_are_one_a_core(
    cores: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_agent, "_available_cores", lambda: cores)
    assert Stub(0).threads == threads


def test_rules_that_an_agent_does_not_play_are_refused_by_act_batch() -> None:
    class Picky(Stub):
        def check_rules(self, rules: RuleSet) -> None:
            raise RulesError("no")

    with pytest.raises(RulesError, match="no"):
        Picky(1).act_batch(VIEWS, PLAYMORE, SEEDS)


# --------------------------------------------------------------------------------------- options


def test_true_is_no_number_of_threads() -> None:
    with pytest.raises(OptionError, match="threads: expected a whole number"):
        Recorder(True)


@pytest.mark.parametrize(
    ("make", "option", "value"),
    [
        (FlatAgent, "worlds", 0),
        (FlatAgent, "threads", 257),
        (IsmctsAgent, "iterations", 1.5),
        (PimcAgent, "worlds", None),
        (PimcAgent, "ms", -1),
        (PimcAgent, "draws", 5),
        (PimcAgent, "tricks", 10),
    ],
)
def test_agents_made_in_python_have_the_bounds_of_specs(make: Any, option: str, value: Any) -> None:
    with pytest.raises(OptionError, match=f"{option}: expected a whole number from"):
        make(**{option: value})


@pytest.mark.parametrize(
    ("make", "option", "value", "expected"),
    [
        (FlatAgent, "rollout", "gredy", "one of counting, greedy; got 'gredy'"),
        (FlatAgent, "leaf", None, "one of estimate, play; got None"),
        (PimcAgent, "rollout", 0, "one of counting, greedy; got 0"),
        (IsmctsAgent, "rollout", "random", "one of counting, greedy; got 'random'"),
        (IsmctsAgent, "leaf", "ply", "one of estimate, play; got 'ply'"),
        (IsmctsAgent, "explore", float("nan"), "a number from 0 to 100, got nan"),
        (IsmctsAgent, "explore", -1, "a number from 0 to 100, got -1"),
        (IsmctsAgent, "explore", None, "a number from 0 to 100, got None"),
        (IsmctsAgent, "explore", 10**400, "a number from 0 to 100, got 1000"),
    ],
)
def test_words_and_numbers_that_no_spec_may_have_are_refused_in_python_too(
    make: Any, option: str, value: Any, expected: str
) -> None:
    with pytest.raises(OptionError, match=f"^{option}: expected {expected}"):
        make(**{option: value})


@pytest.mark.parametrize("make", [EndingSolver, OpenSolver, PartnersSolver])
def test_solvers_take_numpy_integers_and_refuse_what_is_out_of_range(make: Any) -> None:
    assert make(table_bits=np.int64(5), threads=np.int32(2)).threads == 2
    for options in ({"threads": 257}, {"threads": "2"}, {"table_bits": 25}, {"table_bits": None}):
        (name,) = options
        with pytest.raises(OptionError, match=f"{name}: expected a whole number from"):
            make(**options)
