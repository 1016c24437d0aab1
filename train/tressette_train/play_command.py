"""The command ``tressette play``: a person in the terminal against an agent.

What is printed is what the person's seat may know, unless everything is to be revealed.
"""

from __future__ import annotations

import contextlib
import operator
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Literal, NoReturn

from tressette_env.asking import failure_text
from tressette_env.card_notation import card_name, card_text, parse_card
from tressette_env.cards import NUM_CARDS, card_list, sort_cards
from tressette_env.errors import AgentFailedError, NotationError, OptionError, shown
from tressette_env.match import house_score
from tressette_env.policies import Agent, as_agent, decision_seed
from tressette_env.rules import side_of
from tressette_env.rulesets import get_rules
from tressette_env.tressette_v0 import raw_env
from tressette_env.view import View
from tressette_train.match_play import side_seed

__all__ = ["read_card", "run"]

_HELP = """\
Type a card as rank and suit: 3D is the Tre di denari. Capitals do not matter.
  ranks, strongest first: 3 2 A K (Re) Q (Cavallo) J (Fante) 7 6 5 4
  suits: D denari (coins), C coppe (cups), S spade (swords), B bastoni (batons)
  or its Italian name: tre di denari
?  this help      q  quit"""

_CARDS_BY_NAME = {card_name(card).lower(): card for card in range(NUM_CARDS)}


class _Quit(Exception):
    """The person asked to stop, or the input ended."""


class _Terminated(BaseException):
    """The system asked the program to end; no agent's mistake, whoever is at turn."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run(
    against: str,
    rules: str,
    seed: int | None,
    seat: int,
    match: bool,
    reveal: bool,
    record: Path | None,
) -> None:
    """Play one deal, or one match, and print the result.

    Parameters
    ----------
    against : str
        Spec of the agent that plays every other seat, the partner's included.
    rules : str
        Preset name.
    seed : int, optional
        Deals and dice; None draws one, which is printed.
    seat : int
        The person's seat.
    match : bool
        Deals to the target (R13) instead of one.
    reveal : bool
        Show every hand and the stock.
    record : Path, optional
        A new file, to hold the game's record, also that of a game not finished.

    Raises
    ------
    TressetteError
        If an argument is out of range, the file exists or cannot be written, or the agent fails.
    """
    house = get_rules(rules)
    if not 0 <= seat < house.seats:
        raise OptionError(f"seat: expected 0 to {house.seats - 1} for {house.name}, got {seat}")
    agent = as_agent(against)
    agent.check_rules(house)
    table = raw_env(rules=house, episode="match" if match else "deal", reveal=reveal)
    table.reset(seed=seed)
    saved = None if record is None else _RecordFile(record, table)
    game = _Game(table, agent, seat, saved)
    with _ending_tidily():
        try:
            game.play()
        except (_Quit, KeyboardInterrupt):
            print(f"\nStopped before the end. The same deal again: --seed {table.seed}")
        except _Terminated as signalled:
            raise SystemExit(128 + signalled.number) from None
        finally:
            if saved is not None:
                saved.finish()


@contextlib.contextmanager
def _ending_tidily() -> Iterator[None]:
    """Let the signals that end a program end the game first."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise _Terminated(number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            if (number := getattr(signal, name, None)) is not None:
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _RecordFile:
    """The file of a game's record: whole at any time, from before the first card on.

    Raises
    ------
    OptionError
        If the file exists, or cannot be written: a game is not lost to a wrong path.
    """

    def __init__(self, path: Path, table: raw_env) -> None:
        self.path = path
        self.table = table
        try:
            path.open("x").close()
        except FileExistsError:
            raise OptionError(f"record: {path} exists already; name a new file") from None
        except OSError as error:
            raise OptionError(f"record: {path} cannot be written: {error.strerror}") from None
        try:
            self._write()
        except OSError as error:
            with contextlib.suppress(OSError):
                path.unlink()
            raise OptionError(f"record: {path} cannot be written: {error.strerror}") from None

    def save(self) -> None:
        """Write the game so far, if that is possible now."""
        with contextlib.suppress(OSError):
            self._write()

    def finish(self) -> None:
        """Write the game and say where it is; print it if it cannot be written.

        Raises
        ------
        OptionError
            If it could not be written.
        """
        try:
            self._write()
        except OSError as error:
            print(f"\n{self.table.record()}")
            reason = error.strerror or error
            raise OptionError(
                f"record: {self.path} cannot be written: {reason}; the record is printed above"
            ) from None
        print(f"record: {self.path} (show it with: tressette replay {self.path})")

    def _write(self) -> None:
        """Write beside the file and put that in its place: never half a record."""
        aside = self.path.with_name(f".tressette-{os.getpid()}.tmp")
        try:
            aside.write_text(self.table.record(), encoding="utf-8")
            aside.replace(self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                aside.unlink()
            raise


def read_card(text: str, legal: int, hand: int) -> int:
    """Card number of what a person typed: ``3D``, ``3d`` or ``tre di denari``.

    Raises
    ------
    NotationError
        If it is no card, not in the hand, or may not be played now.
    """
    words = " ".join(text.lower().split())
    card = _CARDS_BY_NAME.get(words)
    if card is None:
        card = parse_card(words.replace(" ", ""))
    if not hand >> card & 1:
        raise NotationError(f"you do not hold {card_text(card)} ({card_name(card)})")
    if not legal >> card & 1:
        raise NotationError(f"{card_text(card)} does not follow suit; you may play {_texts(legal)}")
    return card


def _texts(cards: int) -> str:
    return " ".join(card_text(card) for card in sort_cards(card_list(cards)))


class _Game:
    def __init__(
        self, table: raw_env, agent: Agent, seat: int, saved: _RecordFile | None = None
    ) -> None:
        self.table = table
        self.saved = saved
        self.rules = table.rules
        self.agent = agent
        self.seat = seat
        self.me = table.possible_agents[seat]

    def play(self) -> None:
        others = [self._name(seat) for seat in range(self.rules.seats) if seat != self.seat]
        print(f"{self.rules.name}, seed {self.table.seed}. You are {self.me}.")
        print(f"{', '.join(others)}: {self.agent.spec}.")
        print("Type a card like 3D, ? for help, q to quit.")
        while not self.table.terminations[self.me]:
            self._play_card()
        self._show_result()

    def _play_card(self) -> None:
        before = self._view()
        totals, deals = self.table.totals, self.table.deals_dealt
        turn = self.table.possible_agents.index(self.table.agent_selection)
        if turn == self.seat:
            card = self._ask(before)
        else:
            card = self._let_agent_choose(turn)
            print(f"{self._name(turn)} plays {card_name(card)}")
        self.table.step(card)
        if self.table.deals_dealt != deals:
            won = [now - then for now, then in zip(self.table.totals, totals, strict=True)]
            print(f"The deal is over: {self._ours(won)} {self._unit}.")
            print(f"Match {self._ours(self.table.totals)}. A new deal.")
        elif before.table_size == self.rules.seats - 1:
            self._show_trick(before)
        if self.saved is not None and before.table_size == self.rules.seats - 1:
            self.saved.save()

    def _view(self) -> View:
        return self.table.view(self.me)

    def _let_agent_choose(self, turn: int) -> int:
        view = self.table.view(self.table.possible_agents[turn])
        assert self.table.seed is not None
        dice = side_seed(self.table.seed, side_of(turn))
        try:
            answer = self.agent.act(view, decision_seed(dice, self.table.deals_dealt - 1, view.ply))
        except (Exception, SystemExit) as error:
            self._blame(turn, f"raised {failure_text(error)}", error)
        try:
            card = operator.index(answer)
        except Exception as error:
            self._blame(turn, f"played {shown(answer)}, which is no card's number", error)
        if card not in view.legal_cards:
            self._blame(
                turn, f"played {shown(card)}, not legal; expected one of {view.legal_cards}"
            )
        return card

    def _blame(self, turn: int, what: str, cause: BaseException | None = None) -> NoReturn:
        raise AgentFailedError(
            f"agent {self.agent.spec!r} at seat {turn} {what}; "
            f"reproduce with --seed {self.table.seed}"
        ) from cause

    def _ask(self, view: View) -> int:
        print()
        print(self.table.render())
        print(f"You may play {_texts(view.legal)}")
        while True:
            try:
                text = input("Your card: ").strip()
            except EOFError:
                raise _Quit from None
            if not sys.stdin.isatty():
                print(text)
            if text.lower() in ("q", "quit", "exit"):
                raise _Quit
            if text.lower() in ("?", "help"):
                print(_HELP)
            elif text:
                try:
                    return read_card(text, view.legal, view.hand)
                except NotationError as error:
                    print(f"{error.reason}. Type ? for help.")

    def _show_trick(self, before: View) -> None:
        after = self._view()
        winner = (self.seat + after.leader) % self.rules.seats
        taken = sum(after.thirds) - sum(before.thirds)
        verb = "take" if winner == self.seat else "takes"
        print(
            f"{self._name(winner)} {verb} the trick: {taken:+d} thirds "
            f"({self._ours(self.table.thirds)})"
        )
        drawn = after.hand & ~before.hand
        if drawn:
            print(f"You draw {card_name(card_list(drawn)[0])}")

    def _show_result(self) -> None:
        ours, theirs = self.table.thirds[self._side], self.table.thirds[1 - self._side]
        scores = [house_score(thirds, self.rules) for thirds in (ours, theirs)]
        text = f"The deal is over: {ours} - {theirs} thirds"
        if self.rules.scored_in_points:
            text += f", {scores[0]} - {scores[1]} points"
        print(f"\n{text}.")
        if self.table.episode == "match":
            scores = [self.table.totals[self._side], self.table.totals[1 - self._side]]
            print(f"The match is over: {scores[0]} - {scores[1]} {self._unit}.")
        ahead = scores[0] - scores[1]
        if self.rules.fewest_wins:
            ahead = -ahead
        print("You win." if ahead > 0 else "You lose." if ahead < 0 else "Nobody wins.")

    @property
    def _side(self) -> Literal[0, 1]:
        return 1 if side_of(self.seat) else 0

    @property
    def _unit(self) -> str:
        return self.rules.scoring

    def _ours(self, scores: tuple[int, int] | list[int]) -> str:
        return f"you {scores[self._side]}, they {scores[1 - self._side]}"

    def _name(self, seat: int) -> str:
        if seat == self.seat:
            return "You"
        partner = " (your partner)" if side_of(seat) == self._side else ""
        return f"player_{seat}{partner}"
