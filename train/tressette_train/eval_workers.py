"""Processes that play deals for an evaluation.

Each is a fresh interpreter that makes its own agents from their specs and plays one chunk after
another. It never outlives whoever started it: when the pipe to it is closed, however that comes
about, it ends.
"""

from __future__ import annotations

import functools
import multiprocessing
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Self, cast

from tressette_env.errors import AgentFailedError, TressetteError
from tressette_env.policies import Agent, as_agent
from tressette_env.rulesets import RuleSet
from tressette_train.chunks import Chunk
from tressette_train.critic import Critic
from tressette_train.match_play import PairedDeals, play_pairing

__all__ = ["EvalWorkers"]

_END_SECONDS = 2.0  # for a process to end by itself


class EvalWorkers:
    """A ``Player`` with several processes; they start when they are first needed.

    Parameters
    ----------
    pairs : sequence of (str, str)
        Specs of each pairing.
    rules : RuleSet
    seed : int
    workers : int
        Most processes.
    critic : Critic, optional
        As for ``play_pairing``.
    """

    def __init__(
        self,
        pairs: Sequence[tuple[str, str]],
        rules: RuleSet,
        seed: int,
        workers: int,
        critic: Critic | None = None,
    ) -> None:
        self.pairs = pairs
        self.rules = rules
        self.seed = seed
        self.workers = workers
        self.critic = critic
        self._processes: dict[Connection, BaseProcess] = {}

    def __call__(
        self, chunks: Sequence[Chunk], on_progress: Callable[[int], None]
    ) -> Iterator[tuple[Chunk, PairedDeals]]:
        """Yield each chunk's deals as soon as they are played.

        Raises
        ------
        AgentFailedError
            As ``play_pairing``, or if a process ends before its chunk.
        """
        waiting, busy = deque(chunks), dict[Connection, Chunk]()
        while len(self._processes) < min(self.workers, len(chunks)):
            self._start()
        idle = list(self._processes)
        while waiting or busy:
            while waiting and idle:
                connection, chunk = idle.pop(), waiting.popleft()
                busy[connection] = chunk
                self._send(connection, chunk)
            for ready in wait(list(busy)):
                connection = cast("Connection", ready)
                message = self._receive(connection, busy[connection])
                if isinstance(message, int):
                    on_progress(message)
                elif isinstance(message, BaseException):
                    raise message
                else:
                    idle.append(connection)
                    yield busy.pop(connection), message

    def _start(self) -> None:
        # Not a fork: threads of numba and torch, and locks that they hold, would be missing there.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(
            target=_work,
            args=(theirs, self.pairs, self.rules, self.seed, self.critic),
            daemon=True,
        )
        process.start()
        theirs.close()  # so that its end is seen here
        self._processes[ours] = process

    def _send(self, connection: Connection, chunk: Chunk) -> None:
        try:
            connection.send(chunk)
        except OSError:
            self._receive(connection, chunk)  # it has ended, which is told there

    def _receive(self, connection: Connection, chunk: Chunk) -> Any:
        try:
            return connection.recv()
        except (EOFError, OSError):
            process = self._processes[connection]
            process.join(_END_SECONDS)
            first, second = self.pairs[chunk.pairing]
            raise AgentFailedError(
                f"expected deals {chunk.start} to {chunk.stop - 1} of {first} against {second}, "
                f"but the process that played them ended (exit code {process.exitcode}); fewer "
                "workers need less memory, and without any an error of the agent's is seen"
            ) from None

    def close(self, at_once: bool = True) -> None:
        """End the processes, whatever they do; those that have nothing to do end by themselves."""
        for connection in self._processes:
            connection.close()
        processes = self._processes.values()
        for process in processes:
            if at_once:
                process.terminate()
        for force in (BaseProcess.terminate, BaseProcess.kill):
            for process in processes:
                process.join(_END_SECONDS)
                if process.is_alive():
                    force(process)
        for process in processes:
            process.join()
        self._processes.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(at_once=kind is not None)


def _work(
    connection: Connection,
    pairs: Sequence[tuple[str, str]],
    rules: RuleSet,
    seed: int,
    critic: Critic | None,
) -> None:
    """Play chunks until there are no more; what a process of ``EvalWorkers`` does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all, and one says what follows
    # As an exception, so that agents end what they have started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

    @functools.cache
    def agent(spec: str) -> Agent:
        return as_agent(spec, may_cheat=True)

    try:
        while True:
            chunk = connection.recv()
            first, second = map(agent, pairs[chunk.pairing])
            count = chunk.stop - chunk.start
            connection.send(
                play_pairing(
                    first,
                    second,
                    rules,
                    count,
                    seed,
                    first_deal=chunk.start,
                    batch_size=count,
                    critic=critic,
                    on_progress=connection.send,
                )
            )
    except (EOFError, OSError):
        return  # nobody is there any more
    except TressetteError as error:
        _tell(connection, error)
    except Exception:  # whatever it is: the parent waits for an answer, and is to say it
        _tell(connection, RuntimeError(f"in a process of an evaluation: {traceback.format_exc()}"))
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it is ending


def _tell(connection: Connection, error: Exception) -> None:
    try:
        connection.send(error)
    except OSError:
        return
