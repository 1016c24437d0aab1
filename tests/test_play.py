"""A person in the terminal: what is asked, shown, hidden and kept."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tressette_env.card_notation import card_name, card_text
from tressette_env.cards import card_list
from tressette_env.deals import deck_of, first_leader
from tressette_env.errors import AgentFailedError, NotationError
from tressette_env.notation import parse_card, parse_hand, parse_record
from tressette_env.records import replay_game
from tressette_env.rulesets import PRESETS
from tressette_train import cli
from tressette_train.play_command import read_card

EVERY_CARD = [card_text(card) for card in range(40)]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(typed: list[str], *options: str, code: int = 0) -> str:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
        monkeypatch.setattr(sys, "argv", ["tressette", "play", *options])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        assert (ended.value.code or 0) == code, printed.err
        assert printed.err == ""
        return printed.out

    return run


@pytest.mark.parametrize(
    ("house", "seat"),
    [("playmore", "0"), ("gamelake", "1"), ("gamelake_partners", "3"), ("mini_2x4", "0")],
)
def test_a_whole_deal_from_the_keyboard(play: Any, house: str, seat: str, tmp_path: Path) -> None:
    """Every card is tried in turn until one may be played: the deal comes to its end."""
    file = tmp_path / "game.txt"
    options = ["--against", "greedy", "--rules", house, "--seat", seat, "--seed", "3"]
    out = play(EVERY_CARD * 20, *options, "--record", str(file))
    rules = PRESETS[house]
    record = parse_record(file.read_text())
    (replayed,) = record.deals
    assert (record.seed, replayed.number, len(replayed.plays)) == (3, 0, rules.deck_size)
    replay_game(record)
    side = int(seat) % 2
    ours, theirs = replayed.thirds[side], replayed.thirds[1 - side]
    assert f"The deal is over: {ours} - {theirs} thirds" in out
    assert ("You win." if ours > theirs else "You lose.") in out
    assert out.count("the trick: ") == rules.deck_size // rules.seats
    assert f"record: {file}" in out


def test_the_same_seed_is_the_same_game(play: Any) -> None:
    typed = EVERY_CARD * 20
    first = play(typed, "--against", "random", "--seed", "8")
    assert play(typed, "--against", "random", "--seed", "8") == first
    assert play(typed, "--against", "random", "--seed", "9") != first


def test_the_others_cards_are_shown_only_when_asked_for(play: Any) -> None:
    deck = deck_of(PRESETS["playmore"], 3, 0)
    assert first_leader(PRESETS["playmore"], 3, 0) == 0  # nothing has been played when it asks
    hidden = [card_name(card) for card in deck[10:]]
    closed = play(["q"], "--seed", "3")
    assert all(card_name(card) in closed for card in deck[:10])
    assert not any(name in closed for name in hidden)
    opened = play(["q"], "--seed", "3", "--reveal")
    assert all(name in opened for name in hidden)


def test_what_the_person_draws_is_shown_and_not_what_the_other_draws(play: Any) -> None:
    """Seat 0 leads a 5 that the greedy seat 1 beats: seat 1 draws first, seat 0 second (R8)."""
    deck = deck_of(PRESETS["playmore"], 3, 0)
    out = play(["5D", "q"], "--seed", "3")
    assert f"You draw {card_name(deck[21])}" in out
    assert card_name(deck[20]) not in out
    assert "player_1 takes the trick: +0 thirds (you 0, they 0)" in out


def test_help_mistakes_and_leaving(play: Any) -> None:
    out = play(["?", "4X", "", "3D", "q"], "--seed", "3")
    assert "suits: D denari" in out
    assert "expected a card, got '4x'" in out.lower()
    assert "you do not hold 3D (Tre di denari)" in out
    assert "Stopped before the end. The same deal again: --seed 3" in out


def test_the_end_of_the_input_ends_the_game_and_keeps_the_record(play: Any, tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    out = play(["5D"], "--seed", "3", "--record", str(file))
    assert "Stopped before the end" in out
    (deal,) = parse_record(file.read_text()).deals
    assert deal.plays[0] == parse_card("5D")
    assert deal.thirds is None


def test_control_c_ends_politely(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupted)
    assert "Stopped before the end" in play([], "--seed", "3")


def test_a_record_is_never_overwritten(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "game.txt"
    file.write_text("precious")
    monkeypatch.setattr(sys, "argv", ["tressette", "play", "--record", str(file)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "exists already" in capsys.readouterr().err
    assert file.read_text() == "precious"


def test_a_match_goes_on_to_the_target(play: Any, tmp_path: Path) -> None:
    file = tmp_path / "match.txt"
    out = play(EVERY_CARD * 200, "--match", "--seed", "3", "--record", str(file))
    record = parse_record(file.read_text())
    after = replay_game(record)
    assert len(after) > 1
    assert after[-1].match_over
    ours, theirs = after[-1].totals
    assert f"The match is over: {ours} - {theirs} points" in out
    assert f"Match you {after[0].totals[0]}, they {after[0].totals[1]}" in out
    assert out.count("A new deal.") == len(after) - 1


def test_an_illegal_card_of_the_agent_is_the_agents_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tressette_agents.greedy import GreedyAgent

    monkeypatch.setattr(GreedyAgent, "act", lambda self, view, seed: 40)
    monkeypatch.setattr(sys, "stdin", io.StringIO("5D\n"))
    monkeypatch.setattr(sys, "argv", ["tressette", "play", "--seed", "3"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("tressette: agent 'greedy' at seat 1 played 40, not legal")
    assert "--seed 3" in error
    assert issubclass(AgentFailedError, ValueError)


@pytest.mark.parametrize(
    ("text", "card"),
    [
        ("3D", "3D"),
        ("3d", "3D"),
        (" k s ", "KS"),
        ("tre di denari", "3D"),
        ("Asso  di Coppe", "AC"),
        ("RE DI SPADE", "KS"),
    ],
)
def test_cards_are_read_as_people_type_them(text: str, card: str) -> None:
    hand = parse_hand("D:3 C:A S:K")
    assert read_card(text, hand, hand) == parse_card(card)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("4D", "you do not hold 4D"),
        ("AC", "does not follow suit; you may play 3D"),
        ("zzz", "expected a card"),
        ("tre di coppa", "expected a card"),
    ],
)
def test_what_may_not_be_played_is_explained(text: str, words: str) -> None:
    hand = parse_hand("D:3 C:A S:K")
    assert card_list(parse_hand("D:3")) == [parse_card("3D")]
    with pytest.raises(NotationError, match=words):
        read_card(text, parse_hand("D:3"), hand)


# ----------------------------------------------------------------------------- records are kept


def play_to_the_end(monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    """Type cards until one may be played; return the exit code."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{card}\n" for card in EVERY_CARD * 20)))
    monkeypatch.setattr(sys, "argv", ["tressette", "play", "--seed", "3", *options])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


class Disk:
    """Writes that fail as on a full disk, half way, after the first ``room`` of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        write = Path.write_text
        self.calls = 0

        def write_text(path: Path, text: str, **options: Any) -> int:
            self.calls += 1
            if self.calls > room:
                write(path, text[: len(text) // 2], **options)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(path, text, **options)

        monkeypatch.setattr(Path, "write_text", write_text)


def test_a_disk_full_from_the_start_is_told_before_the_game(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    Disk(monkeypatch, room=0)
    assert play_to_the_end(monkeypatch, "--record", str(tmp_path / "game.txt")) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.endswith("game.txt cannot be written: No space left on device\n")
    assert list(tmp_path.iterdir()) == []


def test_on_a_disk_that_fills_up_the_record_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    disk = Disk(monkeypatch, room=6)
    file = tmp_path / "game.txt"
    assert play_to_the_end(monkeypatch, "--record", str(file)) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("tressette: record: ")
    assert printed.err.count("\n") == 1
    assert "No space left on device; the record is printed above" in printed.err
    whole = parse_record(printed.out[printed.out.index("tressette-record") :])
    assert len(whole.deals[0].plays) == 40
    # the file has what was last written whole: five tricks, after the empty record
    assert list(tmp_path.iterdir()) == [file]
    assert parse_record(file.read_text()).deals[0].plays == whole.deals[0].plays[:10]
    assert disk.calls == 22


def test_the_file_holds_every_trick_while_the_game_goes_on(play: Any, tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    counts = []

    class Keyboard(io.StringIO):
        def readline(self, size: int | None = -1) -> str:
            counts.append(len(parse_record(file.read_text()).deals[0].plays))
            return EVERY_CARD[len(counts) % 40] + "\n" if len(counts) < 200 else ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", Keyboard())
        patch.setattr(sys, "argv", ["tressette", "play", "--seed", "3", "--record", str(file)])
        with pytest.raises(SystemExit):
            cli.main()
    assert counts[0] == 0
    assert len(set(counts)) > 3
    assert all(count % 2 == 0 for count in counts)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_game_ended_by_the_system_keeps_its_record(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    number = getattr(signal, name)
    before = signal.getsignal(number)

    def asked(prompt: str) -> str:
        signal.raise_signal(number)
        return "q"

    monkeypatch.setattr("builtins.input", asked)
    monkeypatch.setattr(
        sys, "argv", ["tressette", "play", "--seed", "3", "--record", str(tmp_path / "game.txt")]
    )
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 128 + number
    assert signal.getsignal(number) == before
    assert parse_record((tmp_path / "game.txt").read_text()).seed == 3


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda: [1, 2], "at seat 1 played [1, 2], which is no card's number"),
        (lambda: 3.0, "at seat 1 played 3.0, which is no card's number"),
        (lambda: None, "at seat 1 played None, which is no card's number"),
        (lambda: sys.exit(0), "at seat 1 raised SystemExit: 0"),
        (lambda: 1 // 0, "at seat 1 raised ZeroDivisionError"),
        (lambda: int("x" * 9000), "at seat 1 raised ValueError"),
    ],
)
def test_an_agent_that_does_not_answer_with_a_card_is_blamed(
    answer: Any, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tressette_agents.greedy import GreedyAgent

    monkeypatch.setattr(GreedyAgent, "act", lambda self, view, seed: answer())
    assert play_to_the_end(monkeypatch) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert len(error) < 500
