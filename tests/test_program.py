"""Programs that play by lines: what they are told, whose cards they play, and how they fail."""

from __future__ import annotations

import contextlib
import copy
import multiprocessing
import os
import pickle
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_agents import HOUSES

from tressette_agents import make_agent, program
from tressette_agents.greedy import cheapest
from tressette_agents.program import ProgramAgent
from tressette_agents.program_lines import MAX_LINE, rules_line, view_lines
from tressette_env.asking import ask
from tressette_env.batch import BatchTable
from tressette_env.card_notation import parse_card
from tressette_env.cards import SUIT_LETTERS, card_set
from tressette_env.errors import AgentFailedError, AgentSpecError, RulesError
from tressette_env.rulesets import PRESETS, RuleSet
from tressette_env.view import View
from tressette_train.evaluate import evaluate

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
PLAYMORE = PRESETS["playmore"]
VIEWS = BatchTable(5, PLAYMORE, 3).views()
SEEDS = np.arange(5)

# What the Python engines here have in common; each goes on from where it has said who it is.
START = """
import os, sys, time
def hear():
    return sys.stdin.readline()
def say(text):
    print(text, flush=True)
def cards(line, key="legal"):
    return line.split(f" {key}=")[1].split()[0].split(",")
hear()
"""
GREET = "say('tressette 1 name=test houses=any'); hear()\n"
PLAY = "for line in sys.stdin:\n    if line.startswith('view'): say(cards(line)[0])\n"

MakeProgram = Callable[..., ProgramAgent]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[MakeProgram]:
    """Make the agent of a Python engine from what it does after its first line."""
    made: list[ProgramAgent] = []

    def make(body: str, greet: str = GREET, **options: int) -> ProgramAgent:
        path = tmp_path / f"engine_{len(made)}.py"
        path.write_text(START + greet + body, encoding="utf-8")
        command = shlex.join([sys.executable, "-I", "-S", str(path)])
        made.append(ProgramAgent(command, **options))
        return made[-1]

    yield make
    for agent in made:
        agent.close()


@pytest.fixture(scope="module")
def c_engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    path = tmp_path_factory.mktemp("c") / "engine"
    source = str(ROOT / "tests/engine_example.c")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2"]
    subprocess.run([compiler, *flags, "-o", str(path), source], check=True)
    return path


def is_running(pid: int) -> bool:
    """Whether a process is there; one that has ended, and nobody has waited for, is not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not Path("/proc/self").exists()


def ends(pid: int, seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    return not is_running(pid)


def pid_of(agent: ProgramAgent) -> int:
    agent.check_rules(PLAYMORE)
    assert agent._process is not None
    return agent._process._process.pid


def first_legal(views: Any) -> list[int]:
    return [int(legal & -legal).bit_length() - 1 for legal in views["legal"].tolist()]


def positions(rules: RuleSet, tables: int) -> Iterator[Any]:
    table = BatchTable(tables, rules, seed=8)
    for _ in range(rules.deck_size):
        yield table.views()
        table.play_randomly(1)


# ------------------------------------------------------------------------ what they are told


def fields_of(line: str) -> dict[str, str]:
    return dict(word.split("=") for word in line.split()[1:])


def cards_of(text: str) -> list[int]:
    return [] if text == "-" else [parse_card(card) for card in text.split(",")]


def read_view(line: str, rules: RuleSet) -> tuple[View, int]:
    """Read a view back from its line, as the page says it is written."""
    told = fields_of(line)
    view = View(rules)
    view.hand, view.legal = card_set(cards_of(told["hand"])), card_set(cards_of(told["legal"]))
    view.unseen = card_set(cards_of(told["unseen"]))
    plays, table = cards_of(told["plays"]), cards_of(told["table"])
    assert table == plays[len(plays) - len(table) :]
    view.plays[: len(plays)] = plays
    view.ply, view.table_size = len(plays), len(table)
    for card, seat in zip(plays, told["by"].strip("-"), strict=True):
        view.played[int(seat)] |= 1 << card
    for seat, (known, voids) in enumerate(
        zip(told["known"].split("/"), told["voids"].split("/"), strict=True)
    ):
        view.known[seat] = card_set(cards_of(known))
        view.voids[seat] = sum(1 << SUIT_LETTERS.index(suit) for suit in voids.strip("-"))
    view.seat, view.leader = int(told["seat"]), int(told["leader"])
    view.stock_left = int(told["stock_left"])
    view.thirds = [int(part) for part in told["thirds"].split(",")]
    view.totals = [int(part) for part in told["totals"].split(",")]
    return view, int(told["seed"])


@pytest.mark.parametrize("house", HOUSES, ids=[house.name for house in HOUSES])
def test_a_line_tells_everything_that_a_seat_may_know(house: RuleSet) -> None:
    for views in positions(house, 8):
        seeds = np.random.default_rng(1).integers(0, 2**63 - 1, len(views))
        views["totals"] = [12, 300]
        for row, line in enumerate(view_lines(views, house, seeds)):
            assert len(line) <= MAX_LINE
            expected = View.from_record(views[row], house)
            assert read_view(line.decode("ascii"), house) == (expected, seeds[row])


@pytest.mark.parametrize("house", HOUSES, ids=[house.name for house in HOUSES])
def test_the_rules_are_told_field_by_field(house: RuleSet) -> None:
    line = rules_line(house)
    told = fields_of(line.decode("ascii"))
    assert tuple(cards_of(told.pop("deck"))) == house.deck
    assert {*told} == {*house.__dataclass_fields__} - {"deck", "source"}
    for name, text in told.items():
        assert text == str(getattr(house, name)).replace("None", "none")


def test_a_house_of_any_name_is_told_in_one_word() -> None:
    line = rules_line(PLAYMORE.replace(name="la mia casa=\n" + "è" * 2000))
    assert fields_of(line.decode("ascii"))["name"] == "la_mia_casa__" + "_" * 27
    assert len(line) <= MAX_LINE


def test_the_conversation_of_the_page_is_what_both_sides_say(c_engine: Path) -> None:
    talk = re.findall(r"^([<>]) (.*)$", PAGE, re.MULTILINE)
    said = "".join(f"{line}\n" for side, line in talk if side == ">")
    answers = "".join(f"{line}\n" for side, line in talk if side == "<")
    table = BatchTable(1, PLAYMORE, 7)
    expected = [b"tressette 1\n", rules_line(PLAYMORE)]
    for seed, card in ((1, "KC"), (2, "4C")):
        expected += view_lines(table.views(), PLAYMORE, np.array([seed]))
        table.play([parse_card(card)])
    assert said.encode() == b"".join([*expected, b"quit\n"])
    done = subprocess.run([str(c_engine)], input=said, capture_output=True, text=True, check=True)
    assert done.stdout == answers


def test_the_rules_come_again_only_when_they_change(engine: MakeProgram, tmp_path: Path) -> None:
    log = tmp_path / "log"
    agent = engine(
        f"log = open({str(log)!r}, 'w')\n"
        "for line in sys.stdin:\n"
        "    print(*line.split()[:2], file=log, flush=True)\n"
        "    if line.startswith('view'): say(cards(line)[0])\n",
        "say('tressette 1 name=test houses=any')\n",
    )
    for house in ("playmore", "playmore", "gamelake", "playmore"):
        agent.act_batch(VIEWS[:1], PRESETS[house], SEEDS[:1])
    agent.close()
    rules, view = ["rules name=playmore", "view seed=0"]
    other = "rules name=gamelake"
    assert log.read_text().splitlines() == [rules, view, view, other, view, rules, view, "quit"]


# ------------------------------------------------------------------------ whose cards they play


@pytest.mark.parametrize("house", HOUSES, ids=[house.name for house in HOUSES])
def test_the_c_engine_plays_the_rule_written_in_python_card_for_card(
    house: RuleSet, c_engine: Path
) -> None:
    agent = make_agent(f"program:{c_engine}")
    for views in positions(house, 30):
        cards = ask(agent, views, house, np.arange(len(views)))
        assert cards.tolist() == [cheapest(legal) for legal in views["legal"].tolist()]


def test_the_python_engine_of_the_page_plays_as_the_c_engine(
    c_engine: Path, tmp_path: Path
) -> None:
    (example,) = re.findall(r"^```py\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "engine.py").write_text(example)
    command = shlex.join([sys.executable, str(tmp_path / "engine.py")])
    agents = [make_agent(f"program:{command}"), make_agent(f"program:{c_engine}")]
    for views in positions(PLAYMORE, 10):
        one, other = (ask(agent, views, PLAYMORE, np.arange(len(views))) for agent in agents)
        assert one.tolist() == other.tolist()


def test_eval_rates_a_program_as_the_agent_it_is(c_engine: Path) -> None:
    class Cheapest:
        def act(self, view: View, seed: int) -> int:
            return cheapest(view.legal)

    spec = f"program:{c_engine},ms=5000"
    (rated,) = evaluate([spec, "random"], rules="playmore", deals=400, seed=1)
    (expected,) = evaluate([Cheapest(), "random"], rules="playmore", deals=400, seed=1)
    assert rated.agent == spec
    assert rated.margin_thirds == expected.margin_thirds
    assert rated.margin_thirds.low > 1  # +3.2 over 300 deals


def test_a_single_view_gets_the_card_of_many(engine: MakeProgram) -> None:
    agent = engine(PLAY)
    many = agent.act_batch(VIEWS, PLAYMORE, SEEDS).tolist()
    assert many == first_legal(VIEWS)
    assert [agent.act(View.from_record(row, PLAYMORE), 0) for row in VIEWS] == many


def test_a_program_draws_with_the_seed_that_it_is_told(engine: MakeProgram) -> None:
    agent = engine(
        "for line in sys.stdin:\n"
        "    seed = int(line.split('seed=')[1].split()[0])\n"
        "    say(cards(line)[seed % len(cards(line))])\n"
    )
    row, seeds = np.repeat(VIEWS[:1], 20), np.arange(20) + 2**62
    cards = agent.act_batch(row, PLAYMORE, seeds).tolist()
    assert len({*cards}) == len(View.from_record(row[0], PLAYMORE).legal_cards)
    assert agent.act_batch(row[::-1], PLAYMORE, seeds[::-1]).tolist() == cards[::-1]


def test_a_seat_that_is_not_to_act_is_not_asked_about(engine: MakeProgram) -> None:
    views = VIEWS.copy()
    views["legal"][[0, 3]] = 0
    expected = first_legal(VIEWS)
    expected[0] = expected[3] = -1
    agent = engine(PLAY)
    assert agent.act_batch(views, PLAYMORE, SEEDS).tolist() == expected
    assert agent.act_batch(views[:1], PLAYMORE, SEEDS[:1]).tolist() == [-1]
    assert agent.act_batch(views[:0], PLAYMORE, SEEDS[:0]).tolist() == []


@pytest.mark.parametrize("chunk", [1, 1000], ids=["one by one", "read first"])
def test_more_views_than_pipes_hold_are_asked_about_in_one_call(
    chunk: int, engine: MakeProgram
) -> None:
    """Standard error, too, may fill its pipe."""
    agent = engine(
        "while True:\n"
        f"    lines = [hear() for _ in range({chunk})]\n"
        "    sys.stderr.write('x' * 2000 + '\\n')\n"
        "    say('\\n'.join(cards(line)[0] + ' ' * 200 for line in lines))\n",
        ms=20_000,
    )
    views = np.tile(VIEWS, 600)
    assert agent.act_batch(views, PLAYMORE, np.arange(3000)).tolist() == first_legal(views)


def test_the_time_that_views_take_to_write_is_not_the_programs(
    engine: MakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(views: Any, rules: RuleSet, seeds: Any) -> Iterator[bytes]:
        time.sleep(1.1)
        yield from view_lines(views, rules, seeds)

    monkeypatch.setattr(program, "view_lines", slowly)
    agent = engine(PLAY, ms=1000)
    assert agent.act_batch(VIEWS, PLAYMORE, SEEDS).tolist() == first_legal(VIEWS)


def test_answers_before_the_questions_are_refused(engine: MakeProgram) -> None:
    views = np.repeat(VIEWS[:1], 2000)
    answers = "say('\\n'.join([cards(hear())[0]] * 2000)); time.sleep(60)\n"
    with pytest.raises(AgentFailedError, match="expected answers to questions, got some before"):
        engine(answers, ms=20_000).act_batch(views, PLAYMORE, np.arange(2000))


def test_windows_line_ends_and_small_letters_are_read(engine: MakeProgram) -> None:
    agent = engine(PLAY.replace("say(cards(line)[0])", "say(cards(line)[0].lower() + '\\r')"))
    assert agent.act_batch(VIEWS, PLAYMORE, SEEDS).tolist() == first_legal(VIEWS)


def test_only_the_houses_that_it_names_are_asked_of_it(engine: MakeProgram) -> None:
    agent = engine(PLAY, "say('tressette 1 more=later houses=yeeqia,playmore name=two')\n")
    agent.check_rules(PLAYMORE)
    agent.check_rules(PLAYMORE.replace(name="mine", source="written here"))
    for house in (PRESETS["gamelake"], PLAYMORE.replace(name="playmore", target=31)):
        for refused in (agent.check_rules, lambda house: agent.act_batch(VIEWS, house, SEEDS)):
            with pytest.raises(RulesError, match=r"does not play '.*: .* yeeqia, playmore"):
                refused(house)
    assert agent.act_batch(VIEWS, PLAYMORE, SEEDS).tolist() == first_legal(VIEWS)


# ------------------------------------------------------------------------ how they fail

FAILURES = {
    "ends": (
        "print('one\\n\\ttwo', file=sys.stderr); sys.exit(3)",
        ["expected a card", "ended with exit status 3", "standard error ends: one | two"],
    ),
    "crashes": (
        "sys.stderr.write('\\x1b[31mred\\n' + 'x' * 100_000 + 'last'); sys.stderr.flush()\n"
        "os.kill(os.getpid(), 11)",
        ["was ended by signal 11 (Segmentation fault)", "xlast"],
    ),
    "no card": ("say('hello')", ["expected a card such as 3D, got b'hello'"]),
    "blank line": ("say('')", ["expected a card such as 3D, got b''"]),
    "two cards": ("say('3D 2D')", ["expected a card such as 3D, got b'3D 2D'"]),
    "illegal": (
        "say(cards(line, 'unseen')[0])",
        ["expected one of ", "which is not legal", "; asked: view seed=0 seat=", " legal="],
    ),
    "slow": (
        "print('thinking', file=sys.stderr, flush=True); time.sleep(60)",
        ["expected a card such as 3D within 200 ms, got none; it was killed", "thinking"],
    ),
    "slow, and talking": (
        "while True: print('thinking', file=sys.stderr, flush=True)",
        ["within 200 ms, got none", "thinking | thinking | thinking"],
    ),
    "half a line": ("sys.stdout.write('3'); sys.stdout.flush(); time.sleep(60)", ["200 ms"]),
    "closes output": ("os.close(1); time.sleep(60)", ["but it closed its output"]),
    "closes input": ("os.close(0); time.sleep(60)", ["within 200 ms"]),
    "garbage": (
        "os.write(1, bytes(range(128, 256)) + b'\\n')",
        ["expected a card such as 3D, got b'\\x80\\x81"],
    ),
    "no line end": (
        "while True: os.write(1, b'x' * 5000)",
        ["got a line of more than 1000 bytes: b'xxx"],
    ),
    "no end": (
        "while True: os.write(1, f'{cards(line)[0]}\\n'.encode() * 10_000)",
        ["expected one line a question, got more: b'"],
    ),
    "two lines": ("os.write(1, f'{cards(line)[0]}\\n4D\\n'.encode())", ["got more: b'4D\\n'"]),
}


def message_of(agent: ProgramAgent, count: int = 1) -> str:
    with pytest.raises(AgentFailedError) as caught:
        agent.act_batch(VIEWS[:count], PLAYMORE, SEEDS[:count])
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 1500
    assert message.startswith(f"program '{agent.command[:20]}")
    return message


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_names_the_program_what_was_expected_and_what_came(
    name: str, engine: MakeProgram
) -> None:
    body, words = FAILURES[name]
    is_slow = any("200 ms" in word for word in words)
    agent = engine(f"line = hear()\n{body}\n", ms=200 if is_slow else 20_000)
    pid = pid_of(agent)
    message = message_of(agent)
    assert " (test): " in message
    for word in words:
        assert word in message
    assert not is_running(pid)


HANDSHAKES = {
    "nothing": ("time.sleep(60)", ["'tressette 1 name=... houses=...'", "within 200 ms"]),
    "end": ("sys.exit(0)", ["as its first line, but it ended with exit status 0"]),
    "crash": ("raise OSError('no model')", ["exit status 1", "OSError: no model"]),
    "hello": ("say('hello')", ["got b'hello'"]),
    "blank": ("say('')", ["got b''"]),
    "no version": ("say('tressette')", ["got b'tressette'"]),
    "version": (
        "say('tressette 2 name=test houses=any')",
        ["got version '2' of the protocol, and this is 1"],
    ),
    "no name": ("say('tressette 1 houses=any')", ["got the name ''"]),
    "long name": (f"say('tressette 1 name={'x' * 41} houses=any')", ["got the name 'xxx"]),
    "no houses": ("say('tressette 1 name=test')", ["got the house '', which is none"]),
    "house": (
        "say('tressette 1 name=test houses=playmore,plymore')",
        ["got the house 'plymore', which is none; did you mean 'playmore'?"],
    ),
    "no line end": ("while True: os.write(1, b'x' * 5000)", ["line of more than 1000 bytes"]),
    "card": (
        "os.write(1, b'tressette 1 name=test houses=any\\n3D\\n')",
        ["got more: b'3D\\n'"],
    ),
}


@pytest.mark.parametrize("name", HANDSHAKES)
def test_a_wrong_first_line_is_refused(name: str, engine: MakeProgram) -> None:
    body, words = HANDSHAKES[name]
    agent = engine("time.sleep(60)\n", f"{body}\n", start=200 if name == "nothing" else 10_000)
    with pytest.raises(AgentFailedError) as caught:
        agent.check_rules(PLAYMORE)
    for word in words:
        assert word in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_program_that_cannot_be_started_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes").write_text("no program")
    for command, words in [
        ("./nothing --fast", ["'./nothing --fast' could not be started", "No such file"]),
        ("./notes", ["could not be started", "Permission denied"]),
        (".", ["could not be started", "Permission denied"]),
        ("notes", ["No such file", "did you mean './notes'?"]),
    ]:
        with pytest.raises(AgentFailedError) as caught:
            make_agent(f"program:{command}").check_rules(PLAYMORE)
        assert all(word in str(caught.value) for word in words), caught.value


def test_a_line_that_nobody_asked_for_is_refused_at_the_next_question(
    engine: MakeProgram, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    agent = engine(
        "say(cards(hear())[0])\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.005)\n"
        "say('3D')\n"
        "hear()\n"
    )
    agent.act_batch(VIEWS[:1], PLAYMORE, SEEDS[:1])
    go.touch()
    assert agent._process is not None
    assert select.select([agent._process._stdout], [], [], 60)[0]
    assert "expected no line before a question, got b'3D\\n'" in message_of(agent)


def test_a_program_that_ended_between_questions_is_told_of(engine: MakeProgram) -> None:
    agent = engine("say(cards(hear())[0]); sys.exit(4)\n")
    agent.act_batch(VIEWS[:1], PLAYMORE, SEEDS[:1])
    time.sleep(0.2)
    assert "ended with exit status 4" in message_of(agent)


def test_the_error_says_at_which_of_many_views(engine: MakeProgram) -> None:
    views = VIEWS.copy()
    views["legal"][1] = 0  # not asked about
    agent = engine("say(cards(hear())[0]); hear(); say('hello')\n", ms=2000)
    for _ in range(2):  # and again: it has been started anew
        with pytest.raises(AgentFailedError, match=r"got b'hello'.* asked: view seed=2 ") as caught:
            agent.act_batch(views, PLAYMORE, SEEDS)
        assert caught.value.row == 2


def test_whoever_asks_hears_of_a_failing_program(engine: MakeProgram) -> None:
    body = "for line in sys.stdin: say('hello' if ' seed=3 ' in line else cards(line)[0])\n"
    with pytest.raises(AgentFailedError, match=r"program .*got b'hello'") as caught:
        ask(engine(body), VIEWS, PLAYMORE, SEEDS)
    assert caught.value.row == 3


# ------------------------------------------------------------------------ that nothing is left


def test_close_lets_a_program_quit(engine: MakeProgram, tmp_path: Path) -> None:
    agent = engine(f"{PLAY}    if line == 'quit\\n': open({str(tmp_path / 'quit')!r}, 'w')\n")
    pid = pid_of(agent)
    agent.act_batch(VIEWS, PLAYMORE, SEEDS)
    agent.close()
    agent.close()
    assert (tmp_path / "quit").exists()
    assert not is_running(pid)
    assert agent.act_batch(VIEWS, PLAYMORE, SEEDS).tolist() == first_legal(VIEWS)  # started anew
    assert pid_of(agent) != pid


STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"


def test_a_program_that_does_not_quit_is_killed_with_what_it_has_started(
    engine: MakeProgram, tmp_path: Path
) -> None:
    child = tmp_path / "child"
    agent = engine(
        f"{STUBBORN}pid = os.fork()\nif pid: open({str(child)!r}, 'w').write(f'{{pid}}\\n')\n"
        "time.sleep(600)\n",
        GREET.replace("; hear()", ""),
    )
    pid = pid_of(agent)
    while not (child.exists() and child.read_text().endswith("\n")):
        time.sleep(0.005)
    agent.close()
    assert not is_running(pid)
    assert ends(int(child.read_text()))


def test_a_program_ends_with_its_agent(engine: MakeProgram) -> None:
    agent = copy.copy(engine(PLAY))
    pid = pid_of(agent)
    del agent
    assert not is_running(pid)


ASKER = """
import sys
import numpy as np
from tressette_agents.program import ProgramAgent
from tressette_env.rulesets import get_rules
from tressette_env.view import View
view = View(get_rules("playmore"))
view.hand = view.legal = 7
agent = ProgramAgent(sys.argv[1], ms=600_000)
agent.check_rules(view.rules)
print(agent._process._process.pid, flush=True)
if sys.argv[2] == "ask":
    agent.act(view, 0)
"""


@pytest.mark.parametrize("way", ["ask", "end"], ids=["Ctrl-C", "the interpreter's end"])
def test_a_program_ends_with_the_process_that_asks_it(way: str, engine: MakeProgram) -> None:
    agent = engine(f"import signal; signal.signal(2, signal.SIG_IGN)\n{STUBBORN}time.sleep(600)\n")
    command = [sys.executable, "-c", ASKER, agent.command, way]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as asker:
        assert asker.stdout
        pid = int(asker.stdout.readline())
        if way == "ask":
            assert is_running(pid)
            time.sleep(0.1)  # until it waits for the answer
            asker.send_signal(signal.SIGINT)
        try:
            _, said = asker.communicate(timeout=60)
        finally:
            asker.kill()
    assert ("KeyboardInterrupt" in said) == (way == "ask"), said
    assert not is_running(pid)


def test_after_ctrl_c_a_program_is_started_anew(
    engine: MakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = engine(PLAY)
    pid = pid_of(agent)

    def interrupt(line: bytes) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(program, "read_card", interrupt)
        with pytest.raises(KeyboardInterrupt):
            agent.act_batch(VIEWS, PLAYMORE, SEEDS)
    assert not is_running(pid)
    assert agent.act_batch(VIEWS, PLAYMORE, SEEDS).tolist() == first_legal(VIEWS)


# ------------------------------------------------------------------------ several at once


def test_each_agent_has_a_process_of_its_own(engine: MakeProgram) -> None:
    agent = engine(PLAY)
    others = [ProgramAgent(agent.command), pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)]
    agents = [agent, *others]
    assert len({pid_of(one) for one in agents}) == len(agents)
    assert {one.spec for one in agents} == {agent.spec}
    for one in agents:
        assert one.act_batch(VIEWS, PLAYMORE, SEEDS).tolist() == first_legal(VIEWS)


def test_threads_that_share_an_agent_get_their_own_answers(engine: MakeProgram) -> None:
    agent = engine(PLAY)
    parts = [np.roll(VIEWS, shift) for shift in range(8)]
    answers: dict[int, list[int]] = {}

    def call(number: int) -> None:
        for _ in range(5):
            answers[number] = agent.act_batch(parts[number], PLAYMORE, SEEDS).tolist()

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: first_legal(part) for number, part in enumerate(parts)}


def act_in_a_fork(agent: ProgramAgent, parents: int) -> None:
    assert agent._process is None
    assert agent.act_batch(VIEWS, PLAYMORE, SEEDS).tolist() == first_legal(VIEWS)
    assert pid_of(agent) != parents
    agent.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_asks_a_program_of_its_own(engine: MakeProgram) -> None:
    agent = engine(PLAY)
    pid = pid_of(agent)
    with agent._lock:  # a thread that asks right now is not in the fork
        child = multiprocessing.get_context("fork").Process(target=act_in_a_fork, args=(agent, pid))
        child.start()
    child.join(60)
    assert child.exitcode == 0
    assert pid_of(agent) == pid
    assert agent.act_batch(VIEWS, PLAYMORE, SEEDS).tolist() == first_legal(VIEWS)


# ------------------------------------------------------------------------ specs


@pytest.mark.parametrize(
    ("spec", "command", "ms", "start"),
    [
        ("program:./engine", "./engine", 1000, 10_000),
        ("program:./engine,ms=50", "./engine", 50, 10_000),
        ("program:./engine,start=7,ms=50", "./engine", 50, 7),
        ("program:./a,b,ms=1000/engine --x=1,2,ms=5", "./a,b,ms=1000/engine --x=1,2", 5, 10_000),
        ("program:sh -c 'x,ms=5'", "sh -c 'x,ms=5'", 1000, 10_000),
    ],
)
def test_options_are_read_from_the_end(spec: str, command: str, ms: int, start: int) -> None:
    agent = make_agent(spec)
    assert isinstance(agent, ProgramAgent)
    assert (agent.command, agent.ms, agent.start) == (command, ms, start)
    again = make_agent(agent.spec)
    assert isinstance(again, ProgramAgent)
    assert (again.command, again.ms, again.start) == (command, ms, start)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("program", ["expected the command of a program", "program:./engine"]),
        ("program:  ", ["expected the command of a program"]),
        ("program:,ms=5", ["expected the command of a program"]),
        ("program:./engine,ms=0", ["option ms", "from 1 to 3600000", "got '0'"]),
        ("program:./engine,ms=", ["option ms", "got ''"]),
        ("program:./engine,start=soon", ["option start", "got 'soon'"]),
        ("program:./engine,ms=5,ms=6", ["option ms: expected once"]),
        ("program:./engine 'x", ["as a shell takes it", "No closing quotation"]),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(spec: str, words: list[str]) -> None:
    with pytest.raises(AgentSpecError) as caught:
        make_agent(spec)
    assert all(word in str(caught.value) for word in words), caught.value


def test_a_system_whose_pipes_cannot_be_waited_for_is_told_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(program, "_HAS_POLL", False)
    with pytest.raises(AgentSpecError, match=r"Linux, macOS.*on Windows it works within WSL"):
        make_agent("program:./engine")


def test_exact_endings_can_be_added_to_a_program(c_engine: Path) -> None:
    agent = make_agent(f"program:{c_engine}+endings")
    agent.check_rules(PLAYMORE)
    cards = ask(agent, VIEWS, PLAYMORE, SEEDS)
    assert cards.tolist() == [cheapest(legal) for legal in VIEWS["legal"].tolist()]
