"""Several processes, and records of finished deals: the same result, whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tressette_agents.random import RandomAgent
from tressette_env.errors import AgentFailedError, AgentSpecError, OptionError
from tressette_env.policies import Agent
from tressette_env.rulesets import PRESETS, get_rules
from tressette_train.chunks import Chunk
from tressette_train.eval_record import DealsRecord, DealsRecordError
from tressette_train.eval_workers import EvalWorkers
from tressette_train.evaluate import cards_to_play, evaluate
from tressette_train.evaluate_command import results_json
from tressette_train.match_play import play_pairing

RULES = "mini_2x5"
AGENTS = ["greedy", "random", "counting"]
TRESSETTE = Path(sys.executable).with_name("tressette")
posix = pytest.mark.skipif(sys.platform == "win32", reason="ends processes by signal")


def measure(**options: Any) -> list[dict[str, Any]]:
    results = evaluate(AGENTS, RULES, 50, 3, **{"batch_size": 8, **options})
    return [{**one.to_json(), "all": one.paired.margins_thirds.tolist()} for one in results]


@pytest.mark.parametrize("workers", [2, 3])
def test_the_result_does_not_depend_on_the_number_of_processes(workers: int) -> None:
    cards: list[int] = []
    told: list[str] = []
    found = measure(
        workers=workers, on_progress=cards.append, on_result=lambda one: told.append(one.opponent)
    )
    assert found == measure()
    assert sum(cards) == cards_to_play(3, PRESETS[RULES], 50)
    assert told == ["random", "counting", "counting"]


def test_more_rounds_use_the_same_processes() -> None:
    options: dict[str, Any] = {"until": 0.6, "batch_size": 64}
    few = evaluate(AGENTS[:2], RULES, 2000, 3, **options)
    many = evaluate(AGENTS[:2], RULES, 2000, 3, workers=2, **options)
    assert few[0].to_json() == many[0].to_json()
    assert few[0].deals > 256


def test_objects_are_asked_in_this_process() -> None:
    pids = set()

    class Here(Agent):
        spec = "here"

        def act_batch(self, views: Any, rules: Any, seeds: Any) -> Any:
            pids.add(os.getpid())
            return RandomAgent().act_batch(views, rules, seeds)

    evaluate([Here(), "greedy"], RULES, 6, workers=2)
    assert pids == {os.getpid()}


def failing_agent(folder: Path, monkeypatch: pytest.MonkeyPatch, act_batch: str) -> None:
    """Install an agent ``odd`` for this process and those that it starts."""
    metadata = folder / "odd-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[tressette.agents]\nodd = odd_agent:make\n")
    (folder / "odd_agent.py").write_text(
        "import os\n\nclass Odd:\n    def act_batch(self, views, rules, seeds):\n"
        f"        {act_batch}\n\ndef make(options):\n    return Odd()\n"
    )
    monkeypatch.syspath_prepend(str(folder))


@pytest.mark.parametrize(
    ("act_batch", "words"),
    [
        ("return 1 // 0", "agent 'odd' raised ZeroDivisionError.*deal 1 of seed 0; reproduce"),
        ("os._exit(3)", r"expected deals 0 to 3 of greedy against odd, but .*\(exit code 3\)"),
    ],
)
def test_what_fails_in_a_process_is_told_here(
    act_batch: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_agent(tmp_path, monkeypatch, act_batch)
    with pytest.raises(AgentFailedError, match=words):
        evaluate(["greedy", "odd"], RULES, 4, workers=2)


def test_an_agent_that_cannot_be_made_is_told() -> None:
    with (
        EvalWorkers([("greedy", "gredy")], get_rules(RULES), 0, 1) as workers,
        pytest.raises(AgentSpecError, match="did you mean 'greedy'"),
    ):
        list(workers([Chunk(0, 0, 2)], lambda cards: None))


# ----------------------------------------------------------------------------- ended from outside


def children_of(process: int) -> list[int]:
    done = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process)], check=False, capture_output=True, text=True
    )
    return [int(word) for word in done.stdout.split()]


def is_running(process: int) -> bool:
    done = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], check=False, capture_output=True, text=True
    )
    return bool(done.stdout.strip()) and not done.stdout.startswith("Z")


def wait_until(is_so: Callable[[], bool], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def lines_of(record: Path) -> int:
    return record.read_bytes().count(b"\n") if record.exists() else 0


@posix
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_no_process_is_left_and_the_same_command_goes_on(
    sent: signal.Signals, code: int, tmp_path: Path
) -> None:
    record = tmp_path / "deals.jsonl"
    command = [TRESSETTE, "eval", "counting", "greedy", "--deals", "6400", "--seed", "5"]
    command += ["--json", "--record", record, "--workers", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until(lambda: lines_of(record) >= 3)
        children = children_of(process.pid)
        assert len(children) >= 2
        process.send_signal(sent)
        _, said = process.communicate(timeout=300)
    assert process.returncode == code
    if sent == signal.SIGINT:
        assert said == b"tressette: stopped\n"
    wait_until(lambda: not any(map(is_running, children)))
    before = record.read_bytes()
    kept = before[: before.rfind(b"\n") + 1]
    assert 3 <= lines_of(record) < 101  # not at its end
    again = subprocess.run(command, check=True, capture_output=True)
    assert lines_of(record) == 101
    assert record.read_bytes().startswith(kept)
    alone = evaluate(["counting", "greedy"], deals=6400, seed=5, batch_size=64)
    assert again.stdout.decode() == f"{results_json(alone)}\n"


# ----------------------------------------------------------------------------- the record


def test_what_was_played_is_not_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "deals.jsonl"
    expected = measure()
    assert measure(record=record) == expected
    data = record.read_bytes()
    assert data.count(b"\n") == 1 + 3 * 7
    played: list[int] = []

    def play(*given: Any, **options: Any) -> Any:
        played.append(options["first_deal"])
        return play_pairing(*given, **options)

    monkeypatch.setattr("tressette_train.evaluate.play_pairing", play)
    cards: list[int] = []
    assert measure(record=record, on_progress=cards.append) == expected
    assert (played, record.read_bytes()) == ([], data)
    assert sum(cards) == cards_to_play(3, PRESETS[RULES], 50)
    # Cut anywhere, as a kill would: whole lines count, and it ends the same.
    for length in (0, 5, len(data) // 3, len(data) // 2, len(data) - 1):
        record.write_bytes(data[:length])
        assert measure(record=record) == expected
        assert sorted(record.read_bytes().splitlines()) == sorted(data.splitlines())
    # More deals: only those that are new.
    played.clear()
    evaluate(AGENTS, RULES, 64, 3, batch_size=8, record=record)
    assert sorted(set(played)) == [48, 56]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seed": 4}, "seed 3 there, 4 here; name another file"),
        ({"rules": "mini_2x4"}, "rules 'mini_2x5' there, 'mini_2x4' here"),
        ({"agents": ["greedy", "random"]}, r"agents \['greedy', 'random', 'counting'\] there"),
    ],
)
def test_the_record_of_another_evaluation_is_refused(
    changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    record = tmp_path / "deals.jsonl"
    measure(record=record)
    before = record.read_bytes()
    options: dict[str, Any] = {"agents": AGENTS, "rules": RULES, "deals": 50, "seed": 3, **changes}
    with pytest.raises(DealsRecordError, match=f"deals.jsonl: it is of another.*{words}"):
        evaluate(**options, record=record)
    assert record.read_bytes() == before


def test_other_versions_and_other_files_are_another_evaluation(tmp_path: Path) -> None:
    record, engine = tmp_path / "deals.jsonl", tmp_path / "engine"
    engine.write_text("one")
    house = get_rules(RULES)
    spec = f"program:{engine}"
    with DealsRecord(record, ["greedy", spec], house, 1, {"tressette": "1"}):
        pass
    with DealsRecord(record, ["greedy", spec], house, 1, {"tressette": "1"}) as same:
        assert same.found == {}
    with pytest.raises(DealsRecordError, match=r"versions {'tressette': '1'} there"):
        DealsRecord(record, ["greedy", spec], house, 1, {"tressette": "2"})
    engine.write_text("another")
    with pytest.raises(DealsRecordError, match=r"files {"):
        DealsRecord(record, ["greedy", spec], house, 1, {"tressette": "1"})


def test_a_damaged_record_is_refused_with_the_line(tmp_path: Path) -> None:
    record = tmp_path / "deals.jsonl"
    measure(record=record)
    lines = record.read_bytes().splitlines(keepends=True)
    values = json.loads(lines[2])
    for number, line, words in (
        (2, b"{...}\n", "line 3: expected a JSON object"),
        (2, b"7\n", "line 3: expected a JSON object, got b'7'"),
        (2, {"start": "0"}, "line 3: expected pairing, start and stop as integers"),
        (2, {"pairing": 3}, "line 3: expected deals of a pairing from 0 to 2"),
        (2, {"stop": values["stop"] + 1}, "line 3: margins_thirds: expected 9 rows"),
        (2, {"leads": [[True, True]] * 8}, r"line 3: leads\[0\]: expected one true, the other"),
        (0, b"{}\n", "line 1: expected the format 'tressette-eval-record', got None"),
    ):
        new = line if isinstance(line, bytes) else json.dumps({**values, **line}).encode() + b"\n"
        record.write_bytes(b"".join([*lines[:number], new, *lines[number + 1 :]]))
        with pytest.raises(DealsRecordError, match=words):
            measure(record=record)


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.write_text("no line end")
    with pytest.raises(DealsRecordError, match="line 1: expected the record of an evaluation"):
        measure(record=notes)
    assert notes.read_text() == "no line end"
    for path in (tmp_path, tmp_path / "no" / "file"):
        with pytest.raises(DealsRecordError, match="cannot be read and written"):
            measure(record=path)
    with pytest.raises(OptionError, match="record: expected agents as specs"):
        evaluate(["greedy", RandomAgent()], RULES, 4, record=notes)
