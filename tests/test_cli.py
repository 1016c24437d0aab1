"""The command line: what it prints, and one line with exit code 2 for a user's mistake."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from textwrap import dedent
from typing import Any

import cost_of_a_card
import pytest

from tressette_train import cli
from tressette_train import evaluate as evaluation

TRESSETTE = Path(sys.executable).with_name("tressette")


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command line in this process; return its exit code."""
    monkeypatch.setattr(sys, "argv", ["tressette", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def run_outside(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command in a process of its own."""
    return subprocess.run(
        [TRESSETTE, *arguments],
        check=False,
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )


# ----------------------------------------------------------------------------- eval


def test_eval_prints_one_json_object(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", "greedy", "random", "greedy", "--deals", "40", "--seed", "1", "--json"]
    assert run(monkeypatch, *command) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    content = json.loads(printed.out)
    assert set(content) == {"deal_set", "until", "results", "versions"}
    assert content["deal_set"] is content["until"] is None
    assert set(content["versions"]) == {"tressette", "observation", "numpy", "python"}
    pairs = [(result["agent"], result["opponent"]) for result in content["results"]]
    assert pairs == [("greedy", "random"), ("greedy", "greedy"), ("random", "greedy")]
    first, itself, reverse = content["results"]
    assert (first["rules"], first["deals"], first["seed"]) == ("playmore", 40, 1)
    assert first["ci95"][0] < first["margin_thirds"] < first["ci95"][1]
    assert first["margin_thirds"] == -reverse["margin_thirds"] > 0
    assert (itself["margin_thirds"], itself["ci95"], itself["win_rate"]) == (0, [0, 0], 0.5)
    assert run(monkeypatch, *command) == 0
    assert capsys.readouterr().out == printed.out


def test_eval_takes_the_house_and_the_seed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = []
    command = ["eval", "greedy", "random", "--deals", "30", "--json"]
    for options in (["--seed", "1"], ["--seed", "2"], ["--seed", "1", "--rules", "gamelake"]):
        assert run(monkeypatch, *command, *options) == 0
        outputs.append(json.loads(capsys.readouterr().out)["results"][0])
    margins = {result["margin_thirds"] for result in outputs}
    assert len(margins) == 3
    assert outputs[2]["rules"] == "gamelake"


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_keeps_the_pairings_that_were_finished(
    as_json: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", "greedy", "random", "--deals", "10"] + ["--json"] * as_json
    assert run(monkeypatch, *command) == 0
    expected = capsys.readouterr().out
    played: list[None] = []

    def play(*given: Any, **options: Any) -> Any:
        if played:
            raise KeyboardInterrupt
        played.append(None)
        return play_pairing(*given, **options)

    play_pairing = evaluation.play_pairing
    monkeypatch.setattr(evaluation, "play_pairing", play)
    assert run(monkeypatch, *command[:3], "counting", *command[3:]) == 130
    printed = capsys.readouterr()
    assert printed.err == "tressette: stopped\n"
    assert printed.out == expected


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_sees_progress_and_standard_output_stays_json() -> None:
    import pty

    terminal, end = pty.openpty()
    shown: list[bytes] = []

    def read() -> None:
        # The other end closed reads as nothing, or as an error (Linux).
        with contextlib.suppress(OSError):
            while part := os.read(terminal, 4096):
                shown.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        done = subprocess.run(
            [TRESSETTE, "eval", "greedy", "random", "--deals", "500", "--json"],
            check=True,
            stdout=subprocess.PIPE,
            stderr=end,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "TERM": "xterm"},
            timeout=300,
        )
    finally:
        os.close(end)
        reader.join()
        os.close(terminal)
    assert b"playing" in b"".join(shown)
    assert json.loads(done.stdout)["results"][0]["deals"] == 500


@pytest.mark.parametrize("house", ["playmore", "yeeqia"])
def test_the_table_fits_80_columns_and_any_encoding(house: str) -> None:
    """Without a terminal: no colours, no progress bar."""
    done = run_outside(
        *("eval", "greedy", "random", "--rules", house, "--deals", "50"), PYTHONIOENCODING="ascii"
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in done.stdout
    row = next(line for line in lines if "greedy" in line)
    assert "random" in row
    assert f"{house}: 50 deals of seed 0" in done.stdout
    assert ("points" in done.stdout) == (house == "playmore")


def test_a_long_agent_name_is_shown_whole(tmp_path: Path) -> None:
    name = "an_agent_with_a_rather_long_name_from_another_package"
    package = install(tmp_path, name, "lambda views, rules, seeds: lowest(views)")
    done = run_outside("eval", name, "greedy", "--deals", "20", PYTHONPATH=str(package))
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert f"{name} against greedy" in done.stdout  # not cut in two


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["eval"], ["expected at least two, got none"]),
        (["eval", "greedy"], ["expected at least two, got 'greedy'"]),
        (["eval", "greedy", "gredy"], ["unknown agent 'gredy'", "did you mean 'greedy'?"]),
        (["eval", "greedy:x=1", "random"], ["unknown option 'x=1'"]),
        (["eval", "greedy", "random", "--rules", "playmor"], ["did you mean 'playmore'?"]),
        (["eval", "greedy", "random", "--rules", ""], ["unknown rule set ''"]),
        (["eval", "greedy", "random", "--slow-deals", "9"], ["--slow-deals goes with --ladder"]),
        (["eval", "greedy", "random", "--write", "page"], ["--write goes with --ladder"]),
        (["eval", "greedy", "random", "--rules", "fitres"], ["'fitres'", "cannot be played yet"]),
        (["eval", "greedy", "random", "--deals", "1"], ["deals", "from 2 up", "got 1"]),
        (["eval", "greedy", "random", "--deals", "some"], ["--deals"]),
        (["eval", "greedy", "random", "--seed", "-1"], ["seed", "got -1"]),
        (["eval", "greedy", "random", "--sed", "1"], ["--sed"]),
        (["eval", "greedy", "random", "--out", "/"], ["--out: / cannot be written"]),
        (["eval", "greedy", "random", "--deal-set", "NOPE"], ["'NOPE'", "playmore-2000-v1"]),
        (
            ["eval", "greedy", "random", "--deal-set", "playmore-2000-v1", "--seed", "0"],
            ["--deal-set fixes", "leave out --seed"],
        ),
        (["eval", "greedy", "random", "--until", "0"], ["until: expected a number", "got 0"]),
        (["eval", "greedy", "random", "--workers", "0"], ["workers: expected an integer from 1"]),
        (["eval", "greedy", "random", "--record", "/"], ["record /: cannot be read and written"]),
        (["eval", "--ladder", "--workers", "2"], ["--workers does not go with --ladder"]),
        (["eval", "--ladder", "--out", "x"], ["--out does not go with --ladder"]),
        (["compare", "no.json", "no.json"], ["no.json: cannot be read (No such file"]),
        (["evla", "greedy", "random"], ["evla", "eval"]),
        (["play", "--against", "gredy"], ["did you mean 'greedy'?"]),
        (["play", "--seat", "2"], ["seat: expected 0 to 1", "got 2"]),
        (["play", "--rules", "playmor"], ["did you mean 'playmore'?"]),
        (["play", "--seed", "-3"], ["seed", "got -3"]),
        (["play", "--record", "/nonexistent/folder/game.txt"], ["cannot be written"]),
        (["play", "--record", "/"], ["/"]),
    ],
)
def test_a_mistake_ends_with_one_line_and_exit_code_2(
    arguments: list[str],
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, *arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tressette: ")
    assert printed.err.count("\n") == 1
    assert printed.err.endswith("\n")
    assert all(word in printed.err for word in words), printed.err


def test_help_needs_neither_torch_nor_numba() -> None:
    code = """
        import sys
        from tressette_train import cli
        sys.argv = ["tressette", "--help"]
        try:
            cli.main()
        except SystemExit as ended:
            assert not ended.code, ended.code
        assert not {"torch", "numba"} & set(sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(code)], check=False, capture_output=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")
    for command in ("eval", "play", "replay", "perft"):
        assert command in done.stdout


# ----------------------------------------------------------------------------- cost_of_a_card.py


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--help"], 0, "usage: cost_of_a_card.py [-h] [house] [spec ...]"),
        (["playmor"], 2, "unknown rule set 'playmor'; did you mean 'playmore'?"),
        (["playmore", "gredy"], 2, "did you mean 'greedy'?"),
        (["playmore", "clairvoyant"], 2, "'clairvoyant' cheats"),
        (["gamelake_partners", "random", "random+endings"], 2, "does not play"),
        (["--house"], 2, "--house"),
    ],
)
def test_the_cost_of_a_card_is_explained_and_refused_before_it_is_measured(
    arguments: list[str],
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(cost_of_a_card, "costs", None)
    monkeypatch.setattr(sys, "argv", ["cost_of_a_card.py"])
    with pytest.raises(SystemExit) as ended:
        cost_of_a_card.main(arguments)
    assert ended.value.code == code
    printed = capsys.readouterr()
    assert words in (printed.err if code else printed.out)


def test_the_cost_of_a_card_is_that_of_agents_that_play_the_house(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cost_of_a_card, "costs", lambda rules, agent: (1.0, 2.0))
    two_seats_only = {spec for spec in cost_of_a_card.SPECS if spec.endswith("+endings")}
    for house, left_out in (("playmore", set()), ("gamelake_partners", two_seats_only)):
        cost_of_a_card.main([house])
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        shown = [spec for spec in cost_of_a_card.SPECS if spec not in left_out]
        assert [line[:2] for line in lines] == [[house, spec] for spec in shown]


# ----------------------------------------------------------------------------- agents of others


def install(folder: Path, name: str, act_batch: str) -> Path:
    """Write an installed package with one agent; return the folder for the search path."""
    site = folder / "site"
    metadata = site / "stranger-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[tressette.agents]\n{name} = stranger:make\n")
    (site / "stranger.py").write_text(
        dedent(
            f"""
            import numpy as np

            def lowest(views):
                return np.log2((views["legal"] & -views["legal"]).astype(float)).astype(int)

            class Stranger:
                def act_batch(self, views, rules, seeds):
                    return ({act_batch})(views, rules, seeds)

            def make(options):
                if options == "broken":
                    raise KeyError("no such thing")
                return Stranger()
            """
        )
    )
    return site


def test_a_strangers_agent_is_named_like_ours(tmp_path: Path) -> None:
    site = install(tmp_path, "stranger", "lambda views, rules, seeds: lowest(views)")
    done = run_outside(
        *("eval", "stranger:mood=good", "greedy", "--deals", "20", "--json"), PYTHONPATH=str(site)
    )
    assert (done.returncode, done.stderr) == (0, "")
    (result,) = json.loads(done.stdout)["results"]
    assert (result["agent"], result["opponent"]) == ("stranger:mood=good", "greedy")
    assert result["margin_thirds"] != 0


@pytest.mark.parametrize(
    ("spec", "act_batch", "words"),
    [
        ("stranger", "lambda views, rules, seeds: 0 * seeds", ["played 4D (0), not legal"]),
        ("stranger", "lambda views, rules, seeds: 1 // 0", ["raised ZeroDivisionError", "deal "]),
        ("stranger", "lambda views, rules, seeds: None", ["expected an integer array"]),
        ("stranger:broken", "lambda: 0", ["could not be made: KeyError"]),
    ],
)
def test_a_strangers_failing_agent_is_reported_in_one_line(
    spec: str, act_batch: str, words: list[str], tmp_path: Path
) -> None:
    site = install(tmp_path, "stranger", act_batch)
    done = run_outside(*("eval", "greedy", spec, "--deals", "20", "--json"), PYTHONPATH=str(site))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("tressette: agent 'stranger")
    assert all(word in done.stderr for word in words), done.stderr


# ----------------------------------------------------------------------------- the world outside

GAME = """tressette-record 1
rules "odd name"
fields seats=2 follow=always draws=hidden scoring=points target=21 declarations=none \
cappotto=none objective=most hand_size=10
cards D:32AKQJ7654 C:32AKQJ7654 S:32AKQJ7654 B:32AKQJ7654
source x
seed 7

deal number=0 leader=0
deck 6B 6D 5C 5D 2B AS QD 3D AC KD QS 4S AB 5S 3S 7S 4C 7B 2C 3B
deck 2D JC 6S JB 3C QB 6C KS 4D QC 7D 7C JS 4B 2S 5B AD KC JD KB
unfinished 0 cards
end
"""


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell command where ``$T`` is the installed command."""
    return subprocess.run(
        ["sh", "-c", command],
        check=False,
        capture_output=True,
        encoding="utf-8",
        cwd=folder,
        env={**os.environ, "T": str(TRESSETTE)},
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "command", ["replay game", "--help", "eval greedy random --deals 2 --json", "perft --depth 1"]
)
def test_an_output_that_is_full_is_told_in_one_line(command: str, tmp_path: Path) -> None:
    (tmp_path / "game").write_text(GAME)
    done = shell(f"$T {command} >/dev/full", tmp_path)
    assert done.returncode == 2
    assert done.stderr == ("tressette: the output cannot be written: No space left on device\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize(
    ("command", "code", "out", "error"),
    [
        ("$T play --seed 3 <&- | tail -n 1", 0, "Stopped before the end.", ""),
        ("$T replay - <&-", 2, "", "tressette: standard input, line 1, column 1: expected"),
        ("$T perft --depth 1 >&-", 0, "", ""),
        ("$T perft --depth x 2>&-", 2, "", ""),
        # a broken pipe is nobody's mistake
        ("($T replay game; echo $? >&2) | :", 0, "", "1"),
        ("printf '\\377\\nq\\n' | $T play --seed 3 | tail -n 1", 0, "Stopped before", ""),
        ("mkdir x; cd x; rmdir ../x; $T perft", 2, "", "tressette: the current folder does not"),
        ("$T replay /dev/zero", 2, "", "tressette: /dev/zero, line 1, column 1: expected at most"),
    ],
)
def test_streams_and_folders_that_are_gone(
    command: str, code: int, out: str, error: str, tmp_path: Path
) -> None:
    (tmp_path / "game").write_text(GAME)
    done = shell(command, tmp_path)
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith(out)
    assert done.stderr.startswith(error)
    assert done.stderr.count("\n") <= 1


def test_ctrl_c_while_a_command_is_imported_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tressette_train import commands

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "perft", interrupted)
    assert run(monkeypatch, "perft") == 130
    assert capsys.readouterr().err == "tressette: stopped\n"


def test_a_name_in_a_record_is_shown_and_never_acts_on_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, code, out, error in [
        ("odd name", 0, "odd name: 2 seats", ""),
        ("a\\nb", 0, "'a\\nb': 2 seats", ""),
        ("\\u202ex", 0, "'\\u202ex': 2 seats", ""),
        ("\\u001b[31m", 2, "", "a text without control characters"),
        ("\\ud800", 2, "", "a text without control characters"),
    ]:
        (tmp_path / "game").write_text(GAME.replace("odd name", name))
        assert run(monkeypatch, "replay", str(tmp_path / "game")) == code
        printed = capsys.readouterr()
        assert printed.out.startswith(out)
        assert error in printed.err
        assert "\x1b" not in printed.err


@pytest.mark.parametrize(
    ("act_batch", "words"),
    [
        ("lambda views, rules, seeds: [[1, 2], [3]]", "that is no array (ValueError"),
        ("lambda views, rules, seeds: exit(0)", "raised SystemExit: 0"),
    ],
)
def test_a_stranger_never_ends_the_measurement_silently(
    act_batch: str, words: str, tmp_path: Path
) -> None:
    site = install(tmp_path, "stranger", act_batch)
    done = run_outside("eval", "greedy", "stranger", "--deals", "2", PYTHONPATH=str(site))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tressette: agent 'stranger'")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
