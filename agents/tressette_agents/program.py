"""``program:COMMAND``: plays what another program, in whatever language, answers.

The program gets views as lines on its standard input and answers with cards on its standard output;
``docs/protocol.md`` says how. It plays as any agent does: from one seat's view and a seed.
"""

from __future__ import annotations

import os
import re
import shlex
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tressette_agents.options import count_option
from tressette_agents.program_lines import (
    GREETING,
    VERSION,
    Greeting,
    read_card,
    read_greeting,
    rules_line,
    view_lines,
)
from tressette_agents.program_process import ProgramProcess
from tressette_env.card_notation import card_text, deck_text
from tressette_env.cards import card_list
from tressette_env.errors import AgentFailedError, AgentSpecError, RulesError, shown
from tressette_env.policies import Agent, parse_options
from tressette_env.rulesets import RuleSet

__all__ = ["ProgramAgent", "make"]

MAX_MS = 3_600_000
_DEFAULTS = {"ms": 1000, "start": 10_000}
_OPTIONS = {name: count_option(1, MAX_MS) for name in _DEFAULTS}
_LAST_OPTION = re.compile(rf"(.*),((?:{'|'.join(_OPTIONS)})=[^,\s\"']*)", re.DOTALL)
_HAS_POLL = os.name == "posix"  # elsewhere pipes cannot be waited for


class ProgramAgent(Agent):
    """Asks a program, which is started when it is first needed, and after a failure anew.

    It may be shared by several Python threads: their calls wait for one another. Pickled, copied or
    in a forked process it starts a program of its own.

    Parameters
    ----------
    command : str
        Split as by a shell.
    ms : int
        The longest time for a card, in milliseconds, from the one before.
    start : int
        The longest time from the start to the program's first line, in milliseconds.
    """

    _lock: threading.Lock
    _process: ProgramProcess | None
    _greeting: Greeting
    _told: RuleSet | None

    def __init__(
        self, command: str, ms: int = _DEFAULTS["ms"], start: int = _DEFAULTS["start"]
    ) -> None:
        options = {"ms": ms, "start": start}
        given = [f",{name}={value}" for name, value in options.items() if value != _DEFAULTS[name]]
        self.spec = f"program:{command}{''.join(given)}"
        self.command = command
        self.ms = ms
        self.start = start
        self._start_afresh()

    def check_rules(self, rules: RuleSet) -> None:
        """Raise ``RulesError`` unless the program has said that it plays these rules."""
        with self._lock:
            self._running(rules)

    def act_batch(
        self, views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Ask for a card for each view; -1, unasked, where the seat is not to act.

        Raises
        ------
        RulesError
            If the program does not play these rules.
        AgentFailedError
            If it answers anything but a legal card for each view, in time; it is ended then.
        """
        chosen = np.full(len(views), -1, np.int64)
        at = np.flatnonzero(views["legal"])
        if not len(at):
            return chosen
        with self._lock:
            process = self._running(rules)
            try:
                for place, card in enumerate(self._answers(process, views[at], rules, seeds[at])):
                    chosen[at[place]] = card
            except AgentFailedError as error:
                self._process = None
                row = int(at[error.row])
                (asked,) = view_lines(views[row : row + 1], rules, seeds[row : row + 1])
                raise AgentFailedError(f"{error}; asked: {asked.decode().strip()}", row) from None
            except BaseException:  # Ctrl-C: what it would still say answers nothing
                self._close(0)
                raise
        return chosen

    def close(self) -> None:
        """End the program, if it runs; another call starts it again."""
        with self._lock:
            self._close()

    def _answers(
        self,
        process: ProgramProcess,
        views: npt.NDArray[np.void],
        rules: RuleSet,
        seeds: npt.NDArray[np.int64],
    ) -> Iterator[int]:
        """Yield the program's card for each view."""
        legal = views["legal"].tolist()
        questions = self._questions(views, rules, seeds)
        answers = process.ask(questions, len(views), self.ms / 1000, "a card such as 3D")
        for row, line in enumerate(answers):
            card = read_card(line)
            if card < 0:
                raise process.failure(f"expected a card such as 3D, got {shown(line)}", row)
            if not legal[row] >> card & 1:
                allowed = deck_text(card_list(legal[row]))
                raise process.failure(
                    f"expected one of {allowed}, got {card_text(card)}, which is not legal", row
                )
            yield card

    def _questions(
        self, views: npt.NDArray[np.void], rules: RuleSet, seeds: npt.NDArray[np.int64]
    ) -> Iterator[bytes]:
        if rules != self._told:
            self._told = rules
            yield rules_line(rules)
        yield from view_lines(views, rules, seeds)

    def _running(self, rules: RuleSet) -> ProgramProcess:
        """Return the program, greeted; the lock is held."""
        if self._process is None:
            process = ProgramProcess(self.command)
            try:
                self._greeting = self._greet(process)
            except BaseException:
                process.close(0)
                raise
            process.title += f" ({self._greeting.name})"
            self._process, self._told = process, None
        if rules is not self._told and not self._greeting.plays(rules):
            raise RulesError(
                f"agent {self.spec!r} does not play {rules.name!r}: it has said that it plays "
                f"{', '.join(self._greeting.houses or ())}"
            )
        return self._process

    def _greet(self, process: ProgramProcess) -> Greeting:
        expected = f"'tressette {VERSION} name=... houses=...' as its first line"
        (answer,) = process.ask([GREETING], 1, self.start / 1000, expected)
        try:
            return read_greeting(answer)
        except ValueError as error:
            raise process.failure(f"expected {expected}, {error}") from None

    def _close(self, *seconds: float) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close(*seconds)

    def _start_afresh(self) -> None:
        self._lock = threading.Lock()
        self._process = None
        self._told = None
        _in_use.add(self)

    def _leave_to_parent(self) -> None:
        process = self._process
        self._start_afresh()
        if process is not None:
            process.forget()

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("spec", "command", "ms", "start")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start_afresh()


_in_use: weakref.WeakSet[ProgramAgent] = weakref.WeakSet()


def _leave_all_to_parent() -> None:
    for agent in list(_in_use):
        agent._leave_to_parent()


if hasattr(os, "register_at_fork"):
    # Two processes that asked one program would get each other's answers; and while a fork keeps
    # the pipes open, a program does not see that its asker has ended.
    os.register_at_fork(after_in_child=_leave_all_to_parent)


def make(options: str) -> ProgramAgent:
    """Make the agent from ``COMMAND``, or ``COMMAND,ms=1000,start=10000``.

    Options are read from the end: all before them is the command, commas included.

    Raises
    ------
    AgentSpecError
        If there is no command, it cannot be split, an option is wrong, or this system cannot wait
        for another program's output.
    """
    if not _HAS_POLL:
        raise AgentSpecError(
            "agent 'program': expected a system whose pipes can be waited for (Linux, macOS), got "
            f"{os.name!r}; on Windows it works within WSL"
        )
    command, given = options, ""
    while last := _LAST_OPTION.fullmatch(command):
        command, given = last[1], f"{last[2]},{given}"
    known = parse_options("program", given, _OPTIONS)
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise AgentSpecError(
            f"agent 'program': expected a command as a shell takes it, got {shown(command)} "
            f"({error})"
        ) from None
    if not words:
        raise AgentSpecError(
            "agent 'program': expected the command of a program, as in 'program:./engine' or "
            "'program:python3 engine.py,ms=500'"
        )
    return ProgramAgent(command, **known)
