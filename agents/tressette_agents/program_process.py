"""A program that answers lines: started, asked, watched, and never left behind.

One thread writes and reads, whichever the pipes are ready for, so that neither side can wait for
the other with both pipes full. Whatever a program does wrong ends it, with one error that says what
was expected, what came, and what it last said on its standard error.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import time
import weakref
from collections.abc import Iterable, Iterator
from typing import IO

from tressette_agents.program_lines import MAX_LINE, QUIT
from tressette_env.errors import AgentFailedError, shown

__all__ = ["QUIT_SECONDS", "ProgramProcess"]

QUIT_SECONDS = 1.0  # for a program that is told to quit; then it is killed
_EXIT_SECONDS = 1.0  # from the end of a program's output to its exit status
_PIPE_BYTES = 1 << 16
_STDERR_BYTES, _STDERR_LINES, _STDERR_LETTERS = 2000, 3, 300


class ProgramProcess:
    """A running program, in a process group of its own.

    Ends with the object, with ``close``, and with the interpreter: told to quit, then killed, with
    what it has started. Ctrl-C at the terminal does not reach it, but ends whoever asks it.

    Parameters
    ----------
    command : str
        Split as by a shell.

    Raises
    ------
    AgentFailedError
        If it cannot be started.
    """

    def __init__(self, command: str) -> None:
        self.title = f"program {shown(command)}"
        words = shlex.split(command)
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            here = os.path.isfile(words[0]) and os.sep not in words[0]
            hint = f"; did you mean {f'./{words[0]}'!r}?" if here else ""
            raise AgentFailedError(f"{self.title} could not be started: {error}{hint}") from error
        assert process.stdin and process.stdout and process.stderr
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe.fileno(), False)
        self._heard = bytearray()  # of its output, not yet handed out
        self._complaints = bytearray()  # the last of its standard error
        self._waiting: Iterator[bytes] = iter(())  # lines to write
        self._unsent = bytearray()  # the first of them
        self._end = weakref.finalize(self, _end, process, os.getpid(), QUIT_SECONDS)

    def ask(
        self, questions: Iterable[bytes], count: int, seconds: float, expected: str
    ) -> Iterator[bytes]:
        """Write lines and give back the answers as they come, without their line ends.

        Parameters
        ----------
        questions : iterable of bytes
            Whole lines, taken when there is room for them.
        count : int
            How many answers they ask for.
        seconds : float
            The longest time from one answer to the next.
        expected : str
            What an answer is, for messages.

        Raises
        ------
        AgentFailedError
            If anything but ``count`` lines comes, each in time; ``row`` says in place of which.
        """
        self._read(self._stdout, self._heard)
        if self._heard:
            raise self.failure(f"expected no line before a question, got {self._shown()}")
        self._waiting = iter(questions)
        with selectors.PollSelector() as ready:
            ready.register(self._stdin, selectors.EVENT_WRITE)
            ready.register(self._stdout, selectors.EVENT_READ)
            ready.register(self._stderr, selectors.EVENT_READ)
            for row in range(count):
                yield self._answer(ready, row, seconds, expected)
        last = count - 1
        if self._heard:
            raise self.failure(f"expected one line a question, got more: {self._shown()}", last)
        if self._unsent:
            raise self.failure("expected answers to questions, got some before", last)

    def failure(self, what: str, row: int = 0) -> AgentFailedError:
        """End the program at once, and return the error to raise for what it did."""
        self._end.detach()
        _kill(self._process)
        self._read_complaints()
        _close_pipes(self._process)
        lines = self._complaints.decode("utf-8", "backslashreplace").splitlines()
        last = " | ".join(" ".join(line.split()) for line in lines[-_STDERR_LINES:])
        last = "".join(letter if letter.isprintable() else "?" for letter in last)
        said = f"; its standard error ends: {last[-_STDERR_LETTERS:]}" if last.strip() else ""
        return AgentFailedError(f"{self.title}: {what}{said}", row)

    def close(self, seconds: float = QUIT_SECONDS) -> None:
        """Tell the program to quit, give it the time, and kill what is left of it."""
        if self._end.detach():
            _end(self._process, os.getpid(), seconds)

    def forget(self) -> None:
        """Leave the program to the process that this one was forked from."""
        if self._end.detach():
            self._process.returncode = 0  # not this process's child: nothing to wait for
            _close_pipes(self._process)

    def _answer(
        self, ready: selectors.BaseSelector, row: int, seconds: float, expected: str
    ) -> bytes:
        deadline = time.monotonic() + seconds
        while (end := self._heard.find(b"\n")) < 0:
            if len(self._heard) > MAX_LINE:
                raise self.failure(
                    f"expected {expected}, got a line of more than {MAX_LINE} bytes: "
                    f"{self._shown()}",
                    row,
                )
            left = deadline - time.monotonic()
            pipes = [key.fileobj for key, _ in ready.select(max(0.0, left))]
            # An answer that is there counts, however late this process looks for it.
            if self._stdout in pipes:
                if not self._read(self._stdout, self._heard):
                    raise self.failure(f"expected {expected}, but it {self._how_it_ended()}", row)
            elif left <= 0:
                raise self.failure(
                    f"expected {expected} within {seconds * 1000:.0f} ms, got none; it was killed",
                    row,
                )
            if self._stderr in pipes and not self._read_complaints():
                ready.unregister(self._stderr)
            if self._stdin in pipes:
                began = time.monotonic()
                if self._write():
                    ready.unregister(self._stdin)
                deadline += time.monotonic() - began  # what lines take to make is not its time
        line = bytes(self._heard[:end])
        del self._heard[: end + 1]
        return line

    def _shown(self) -> str:
        return shown(bytes(self._heard[:80]))

    def _read(self, pipe: IO[bytes], into: bytearray) -> bool:
        """Read what is there, if anything; false at the end."""
        try:
            data = os.read(pipe.fileno(), _PIPE_BYTES)
        except BlockingIOError:
            return True
        into += data
        return bool(data)

    def _read_complaints(self) -> bool:
        is_open = self._read(self._stderr, self._complaints)
        del self._complaints[:-_STDERR_BYTES]
        return is_open

    def _write(self) -> bool:
        """Write what there is room for; true when nothing is left, or nobody reads."""
        while len(self._unsent) < _PIPE_BYTES and (line := next(self._waiting, b"")):
            self._unsent += line
        try:
            del self._unsent[: os.write(self._stdin.fileno(), self._unsent)]
        except BlockingIOError:
            return False
        except BrokenPipeError:  # it has ended, or closed its input: its output tells, or time
            return True
        return not self._unsent

    def _how_it_ended(self) -> str:
        try:
            status = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its output"
        if status >= 0:
            return f"ended with exit status {status}"
        return f"was ended by signal {-status} ({signal.strsignal(-status)})"


def _end(process: subprocess.Popen[bytes], owner: int, seconds: float) -> None:
    """End a program; in a fork, which has only copies of the pipes, leave it alone."""
    if os.getpid() != owner:
        return
    assert process.stdin and process.stdout and process.stderr
    if seconds:
        with contextlib.suppress(OSError):
            os.write(process.stdin.fileno(), QUIT)
        process.stdin.close()
        _wait_for_end(process.stdout, seconds)
    _kill(process)
    _close_pipes(process)


def _wait_for_end(pipe: IO[bytes], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    with selectors.PollSelector() as ready:
        ready.register(pipe, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0 and ready.select(left):
            if not os.read(pipe.fileno(), _PIPE_BYTES):
                return


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and what it has started, which is all in its process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        assert pipe
        pipe.close()
