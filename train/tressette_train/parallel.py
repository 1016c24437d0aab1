"""Equal shards of an update, computed by one thread or several: the same results bit for bit.

Every shard is computed by single-threaded kernels, and what the shards give is always combined in
their order. So the number of threads changes how long an update takes, and nothing else.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeVar

import torch

from tressette_env.randomness import random_word

__all__ = ["ShardWorkers", "available_cores", "choose_threads", "stream_seed"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_TRAINING = 1 << 62  # numbers of a seed from here on are training's, below it decks and dice


def stream_seed(seed: int, purpose: int, update: int, shard: int) -> int:
    """Seed of one random stream: a function of the run's seed and of where it is used.

    No stream outlives an update, so that a resumed run needs only the number of the update.
    """
    return random_word(random_word(random_word(seed, _TRAINING + purpose), update), shard)


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ShardWorkers:
    """Runs a function on every shard.

    While it is open torch's own kernels have one thread; then their number is put back.

    Parameters
    ----------
    threads : int
        Shards computed at the same time.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._threads_before = torch.get_num_threads()
        torch.set_num_threads(1)
        self._executor = (
            ThreadPoolExecutor(threads, "shard", initializer=torch.set_num_threads, initargs=(1,))
            if threads > 1
            else None
        )

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return the function's results in the order of the items."""
        if self._executor is None:
            return [function(item) for item in items]
        return list(self._executor.map(function, items))

    def close(self) -> None:
        """End the threads."""
        if self._executor is not None:
            self._executor.shutdown()
        torch.set_num_threads(self._threads_before)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def choose_threads(
    shards: int, trial: Callable[[ShardWorkers], None], repeats: int = 5
) -> tuple[int, dict[int, float]]:
    """Choose the number of threads by timing a small piece of real work.

    Parameters
    ----------
    shards : int
    trial : callable
        Computes every shard once with the given workers.
    repeats : int
        Times it is timed for each number of threads; the middle one counts.

    Returns
    -------
    threads : int
        The largest number that was not clearly slower than the quickest: what else the machine
        does at the start may end soon, and threads that wait here take no time from others.
    seconds : dict
        Time of the trial for each number that was tried: 1, 2, 4, ...
    """
    seconds: dict[int, float] = {}
    threads = 1
    while threads <= min(shards, available_cores()):
        with ShardWorkers(threads) as workers:
            trial(workers)
            times = []
            for _ in range(repeats):
                start = time.perf_counter()
                trial(workers)
                times.append(time.perf_counter() - start)
        seconds[threads] = sorted(times)[repeats // 2]
        threads *= 2
    quickest = min(seconds.values())
    return max(count for count, time_ in seconds.items() if time_ <= 1.25 * quickest), seconds
