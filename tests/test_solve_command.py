"""``tressette solve``: values of every card, from the command line."""

from __future__ import annotations

import json
import signal
import sys
import threading

import pytest

from tressette_agents.solver import card_values
from tressette_agents.solver_open import open_card_values
from tressette_agents.solver_partners import partners_card_values
from tressette_env.notation import card_text, parse_card, parse_deck, parse_hand
from tressette_train import cli, solve_command


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["tressette", "solve", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def solved(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> dict[str, int]:
    assert run(monkeypatch, *arguments, "--json") == 0
    content = json.loads(capsys.readouterr().out)
    values = {one["card"]: one["value_thirds"] for one in content["cards"]}
    assert content["value_thirds"] == max(values.values())
    assert list(values.values()) == sorted(values.values(), reverse=True)
    return values


def named(values: dict[int, int]) -> dict[str, int]:
    return {card_text(card): value for card, value in values.items()}


@pytest.mark.parametrize("led", [None, "JD"])
def test_an_ending(
    led: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own, other = "D:AQ C:7", "D:3 S:K" if led else "D:3J S:K"
    options = ("--led", led) if led else ()
    found = solved(monkeypatch, capsys, f"{own} / {other}", *options)
    card = parse_card(led) if led else None
    assert found == named(card_values(parse_hand(own), parse_hand(other), card))


@pytest.mark.parametrize("follow", ["always", "stock_empty"])
def test_the_last_draws(
    follow: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own, other, stock = "D:24 C:A", "D:K S:37", "3D 4C"
    found = solved(monkeypatch, capsys, f"{own} / {other}", "--stock", stock, "--follow", follow)
    hands = (parse_hand(own), parse_hand(other))
    assert found == named(open_card_values(*hands, parse_deck(stock), None, follow))  # type: ignore[arg-type]


def test_four_hands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    hands = ["D:A4", "D:3K", "C:45", "D:2 S:2"]
    found = solved(monkeypatch, capsys, " / ".join(hands))
    assert found == named(partners_card_values([parse_hand(hand) for hand in hands], 0))


def test_the_lines_name_the_best_card_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "D:AQ C:7 / D:3J S:K") == 0
    assert capsys.readouterr().out.splitlines() == [
        "the player to act takes 5 of the 10 thirds that are left, with best play by all",
        "  AD   5  best      Asso di denari",
        "  QD   3  2 less    Cavallo di denari",
        "  7C   1  4 less    Sette di coppe",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["D:AQ / D:3"], "expected hands of equal size"),
        (["D:AQ / D:AK"], "expected different cards in the two hands"),
        (["D:AQ / D:3 K"], "position: line 1, column 12: expected the cards of a suit, got 'K'"),
        (["D:AQ C:7 / D:3J X:K"], "position: line 1, column 17"),
        (["D:AQ /\nD:33"], "position: line 2, column 4: expected each card once"),
        (["D:A/D:2/D:K/D:\u00e9"], "position: line 1, column 15: expected plain ASCII"),
        (["D:AQ/"], "expected a hand, got the end of hand 2 of 2"),
        (["/ / D:A /"], "got the end of hand 1 of 4"),
        ([""], "got none"),
        ([" / ".join(["D:2"] * 5)], "got 5"),
        (["D:AQ / D:3", "--led", "4D 5D"], "--led: expected one card, got 2: '4D 5D'"),
        (["D:AQ / D:3", "--led", ""], "--led: line 1, column 1: expected cards"),
        (["D:2 / D:K", "--stock", ""], "--stock: line 1, column 1: expected cards"),
        (["D:2 / D:K", "--follow", "stock_empty"], "--follow goes with --stock"),
        (["D:2 / D:K / D:3 / D:4", "--follow", "always"], "go with two hands, got four and --fol"),
        (["D:2 / D:K / D:3 / D:4", "--follow", "x"], "--follow: expected always or"),
        (["D:2 / D:K / D:3 / D:4", "--stock", "5D 6D"], "go with two hands"),
        (["D:AQ"], "expected two or four hands separated by '/'"),
        (["D:A / D:3 / C:4"], "got 3"),
        (["D:AQ / D:3", "--led", "44"], "--led: line 1"),
        (["D:AQ / D:3", "--led", "AD"], "expected a led card that is in neither hand"),
        (["D:2 / D:K", "--stock", "3D"], "expected an even number of cards"),
        (["D:2 / D:K", "--stock", "3D 2D"], "expected no card of the stock in a hand"),
        (["D:2 / D:K", "--stock", "3D 4D", "--follow", "x"], "--follow: expected always or"),
        (["D:2 / D:K / D:3 / D:4", "--led", "5D"], "go with two hands"),
        (["D:2 / D:K / D:3 / D:45"], "expected hands of equal size"),
        (["D:2 / D:K / D:3 / D:3"], "expected different cards in the four hands"),
        (["/"], "expected a hand, got the end of hand 1 of 2"),
    ],
)
def test_what_is_no_position_is_refused_in_one_line(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, *arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err and len(printed.err.splitlines()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a signal")
def test_ctrl_c_ends_a_search_that_takes_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python tells a signal to the main thread, and not while that is in compiled code."""
    searching, never = threading.Event(), threading.Event()

    def search(*_: object) -> dict[int, int]:
        assert threading.current_thread() is not threading.main_thread()
        searching.set()
        never.wait()
        return {}

    def press() -> None:
        assert searching.wait(60)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    monkeypatch.setattr(solve_command, "_values", search)
    threading.Thread(target=press, daemon=True).start()
    try:
        assert run(monkeypatch, "D:2 / D:K") == 130
    finally:
        never.set()
