"""Calls that wait for one another, and threads that share the rows of a call.

Agents that search and solvers keep arrays to work in. ``SharedWork`` gives each of its threads
arrays of its own and lets one call in at a time, so that any number of Python threads may use one
object. In a forked process, and in a pickled or copied object, work starts afresh: locks, threads
and half-written arrays stay behind.
"""

from __future__ import annotations

import operator
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any, Generic, TypeVar

from tressette_env.errors import OptionError, shown

__all__ = ["MAX_THREADS", "SharedWork", "whole_option"]

MAX_THREADS = 256

Part = TypeVar("Part")


def whole_option(name: str, value: object, least: int, most: int) -> int:
    """Return an option that is a whole number, numpy's included, within bounds."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise OptionError(
            f"{name}: expected a whole number from {least} to {most}, got {shown(value)}"
        )
    return number


class SharedWork(ABC, Generic[Part]):
    """Base of what works on many rows in one call; defines ``new_part`` and calls ``share``.

    Parameters
    ----------
    threads : int
        Most threads for one call, 1 to 256.

    Raises
    ------
    OptionError
        If the number of threads is out of range.
    """

    _lock: threading.Lock
    _pool: ThreadPoolExecutor | None
    _parts: list[Part]
    _stopped: bool

    def __init__(self, threads: int) -> None:
        self.threads = whole_option("threads", threads, 1, MAX_THREADS)
        self._start_afresh()

    @abstractmethod
    def new_part(self) -> Part:
        """Return what one thread works in; nothing else uses it meanwhile."""

    def share(
        self,
        work: Callable[[Part, int, int], None],
        rows: int,
        rows_a_thread: int = 1,
        rows_a_call: int = 1,
    ) -> None:
        """Call ``work(part, low, high)`` for ranges of rows, in several threads.

        Parameters
        ----------
        work : callable
            Of its rows, what it does must not depend on the ranges.
        rows : int
        rows_a_thread : int
            Fewer are not worth another thread.
        rows_a_call : int
            Most for one call of ``work``. Python looks for signals between calls only, so that
            none should last longer than about a second.

        Raises
        ------
        Exception
            What ``work`` raises, once all threads are done.
        """
        with self._lock:
            threads = max(1, min(self.threads, rows // rows_a_thread))
            while len(self._parts) < threads:
                self._parts.append(self.new_part())
            bounds = [rows * thread // threads for thread in range(threads + 1)]
            self._stopped = False

            def work_on(part: Part, low: int, high: int) -> None:
                for start in range(low, high, rows_a_call):
                    if self._stopped:
                        return
                    work(part, start, min(start + rows_a_call, high))

            others: list[Future[None]] = []
            try:
                for part, (low, high) in zip(self._parts[1:], pairwise(bounds[1:]), strict=False):
                    others += self._submit(work_on, part, low, high)
                work_on(self._parts[0], bounds[0], bounds[1])
                for other in others:
                    other.result()
            except BaseException:
                self._stopped = True
                self._parts = []  # where it was left, nobody knows
                wait(others)  # which another Ctrl-C ends: what they work in is no longer ours
                raise

    @property
    def is_stopped(self) -> bool:
        """Whether another thread has failed, or Ctrl-C come: no one waits for the answer."""
        return self._stopped

    def forget(self) -> None:
        """Drop what the threads have worked in; the next call starts with nothing remembered."""
        with self._lock:
            self._parts = []

    def _submit(self, work: Callable[..., None], *arguments: Any) -> list[Future[None]]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1, "tressette")
        job: Future[None] = Future()

        def run() -> None:
            if not job.set_running_or_notify_cancel():
                return
            try:
                work(*arguments)
            except BaseException as error:
                job.set_exception(error)
            else:
                job.set_result(None)

        try:
            self._pool.submit(run)
        except RuntimeError:  # no thread can be started ...
            if job.cancel():  # ... and none takes the job, though the pool keeps it in its queue
                work(*arguments)
                return []
        return [job]

    def _start_afresh(self) -> None:
        self._lock = threading.Lock()
        self._pool = None
        self._parts = []
        self._stopped = False
        _in_use.add(self)

    def __getstate__(self) -> dict[str, Any]:
        own = ("_lock", "_pool", "_parts", "_stopped")
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start_afresh()


_in_use: weakref.WeakSet[SharedWork[Any]] = weakref.WeakSet()


def _start_all_afresh() -> None:
    for one in list(_in_use):
        one._start_afresh()


if hasattr(os, "register_at_fork"):
    # A fork has one thread only: no other holds the locks, and none of the pools' has come along.
    os.register_at_fork(after_in_child=_start_all_afresh)
