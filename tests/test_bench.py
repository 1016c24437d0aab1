"""The benchmark: that rows do what they say and figures are put together rightly; no speeds."""

from __future__ import annotations

import io
import json
import sys
import types
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

from tressette_agents.networks import ActorCritic, PolicyNetwork
from tressette_env import BatchTable
from tressette_env.cards import card_list
from tressette_env.errors import OptionError, TressetteError
from tressette_env.rulesets import get_rules
from tressette_train import cli
from tressette_train.bench import chart, command, page, peer_rows, startup_rows
from tressette_train.bench.batch_rows import KINDS, batch_rows
from tressette_train.bench.chart import draw_report
from tressette_train.bench.command import GROUPS, make_plan, rows_of, run_benchmark
from tressette_train.bench.env_rows import env_rows, play_raw, play_wrapped, vector_rows
from tressette_train.bench.learning_rows import inference_rows, training_rows
from tressette_train.bench.report import Report, read_report
from tressette_train.bench.screen import markdown, notes, sheets, target_sheet, to_rich
from tressette_train.bench.targets import TARGETS, target_json
from tressette_train.bench.timing import PLAYS, SECONDS, Measured, Row, measure

RULES = get_rules("mini_2x4")


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command line in this process; return its exit code."""
    monkeypatch.setattr(sys, "argv", ["tressette", "bench", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def plays_of(row: Row, units: int) -> int:
    with ExitStack() as stack:
        return row.start(stack)(units)


# ------------------------------------------------------------------------------------------ timing


def test_rows_are_measured_in_turns() -> None:
    order: list[str] = []

    def row(name: str) -> Row:
        def start(stack: ExitStack) -> Any:
            order.append(f"start {name}")
            stack.callback(order.append, f"close {name}")

            def play(units: int) -> int:
                order.append(name)
                return units

            return play

        return Row(name, "group", start, unit=SECONDS)

    shown: list[str] = []
    found = measure([row("a"), row("b")], 3, 0.1, shown.append)
    warm_up = ["start a", "a", "start b", "b"]
    assert order == [*warm_up, *["a", "b"] * 3, "close b", "close a"]
    assert shown == ["a", "b"] * 4
    assert [len(one.values) for one in found] == [3, 3]
    assert [one.plays for one in found] == [1, 1]


def test_samples_are_long_enough_and_counted() -> None:
    done: list[int] = []

    def start(stack: ExitStack) -> Any:
        def play(units: int) -> int:
            done.append(units)
            total = 0
            for _ in range(units):
                total += int(np.arange(1000).sum() > 0)
            return 7 * total

        return play

    (found,) = measure([Row("loop", "group", start)], 4, 0.02)
    assert done[0] == 1
    assert len(set(done[-4:])) == 1  # every sample the same work
    assert found.unit == PLAYS
    assert found.plays == 7 * done[-1]
    assert found.low <= found.median <= found.high
    assert found.first_s > 0
    assert found.cores > 0


def test_a_row_is_closed_when_another_one_fails() -> None:
    closed: list[str] = []

    def good(stack: ExitStack) -> Any:
        stack.callback(closed.append, "good")
        return lambda units: units

    def bad(stack: ExitStack) -> Any:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        measure([Row("good", "g", good, unit=SECONDS), Row("bad", "g", bad)], 1, 0.001)
    assert closed == ["good"]


# -------------------------------------------------------------------------------- rows really play


def test_batch_rows_play_a_card_a_table_and_ply() -> None:
    rows = batch_rows(RULES, [1, 3, 1024], [1, 2])
    assert {row.name for row in rows} == set(KINDS)
    assert len({(row.name, row.tables, row.threads) for row in rows}) == len(rows) == 4 * 4
    assert all(row.tables >= 1024 for row in rows if row.threads == 2)
    for row in rows:
        assert plays_of(row, 11) == 11 * row.tables


@pytest.mark.parametrize("rules", ["playmore", "gamelake_partners", "mini_2x4"])
def test_rows_of_one_table_play_whole_deals(rules: str) -> None:
    house = get_rules(rules)
    for row in env_rows(house):
        units = 3 * (house.deck_size if row.name.startswith("one table") else 1)
        assert plays_of(row, units) == 3 * house.deck_size, row.name


@pytest.mark.parametrize("name", ["one table", "one table, lowest", "one table, arrays"])
def test_rows_of_one_table_call_and_draw_as_their_names_say(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = [row for row in env_rows(get_rules("playmore")) if row.name == name]
    called: list[str] = []
    lowest: list[bool] = []

    def spy(method: str) -> None:
        inner = getattr(BatchTable, method)

        def call(self: BatchTable, card: Any, **options: Any) -> Any:
            legal = int(self.legal_sets[0])
            called.append(method)
            lowest.append(int(np.asarray(card).ravel()[0]) == card_list(legal)[0])
            return inner(self, card, **options)

        monkeypatch.setattr(BatchTable, method, call)

    spy("play")
    spy("play_card")
    assert plays_of(row, 200) == 200
    assert called == ["play" if name == "one table, arrays" else "play_card"] * 200
    if name == "one table, lowest":
        assert all(lowest)
    else:
        assert 0 < sum(lowest) < 150  # of two or more cards that may be played any may come


def test_vector_rows_count_the_opponents_cards() -> None:
    rows = vector_rows(get_rules("playmore"), [5, 1024], [1, 2])
    assert [(row.tables, row.threads) for row in rows] == [(5, 1), (1024, 1), (1024, 2)]
    with ExitStack() as stack:
        play = rows[0].start(stack)
        plays = [play(1) for _ in range(84)]  # 20 decisions a deal, and the step that starts anew
    assert 5 * 155 <= sum(plays) <= 5 * 165
    assert 5 <= plays[0] <= 15


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_rows_write_what_their_names_say(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = [row for row in batch_rows(RULES, [5], [1]) if row.name == kind]
    given = []
    play = BatchTable.play_randomly

    def spy(self: BatchTable, plies: int, *seed: int, **options: Any) -> Any:
        given.append({name for name, value in options.items() if value is not None})
        return play(self, plies, *seed, **options)

    monkeypatch.setattr(BatchTable, "play_randomly", spy)
    assert plays_of(row, 3) == 15
    expected = {"rules": set(), "masks": {"masks"}, "observations": {"masks", "observations"}}
    if kind in expected:
        assert given[-1] - {"out"} == expected[kind]


def test_inference_observes_before_every_card(monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = inference_rows(RULES, [3], [1])
    seen = []
    observe = BatchTable.observe

    def spy(self: BatchTable, *given: Any, **options: Any) -> Any:
        seen.append(observe(self, *given, **options).copy())
        return seen[-1]

    monkeypatch.setattr(BatchTable, "observe", spy)
    assert plays_of(row, 7) == 21
    assert len(seen) == 7 and len({one.tobytes() for one in seen}) == 7


def test_learning_rows_play() -> None:
    rows = inference_rows(RULES, [3, 1024], [1, 2])
    assert [(row.tables, row.threads) for row in rows] == [(3, 1), (1024, 1), (1024, 2)]
    for row in rows:
        assert plays_of(row, 9) == 9 * row.tables


@pytest.mark.parametrize("threads", [1, 2])
def test_training_rows_are_the_trainers_loop_and_its_arithmetic(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both rows compute alike: forwards of as many rows, backwards of as many minibatches."""
    work = {"forward": 0, "policy": 0, "backward": 0}
    judge, policy, grad = ActorCritic.judge, PolicyNetwork.forward, torch.autograd.grad

    def counted_forward(self: Any, rows: Any, hidden: Any = None) -> Any:
        work["forward"] += len(rows)
        return judge(self, rows, hidden)

    def counted_policy(self: Any, rows: Any) -> Any:
        work["policy"] += len(rows)
        return policy(self, rows)

    def counted_grad(*given: Any) -> Any:
        work["backward"] += 1
        return grad(*given)

    monkeypatch.setattr(ActorCritic, "judge", counted_forward)
    monkeypatch.setattr(PolicyNetwork, "forward", counted_policy)
    monkeypatch.setattr(torch.autograd, "grad", counted_grad)
    counts = []
    for row in training_rows(RULES, [threads]):
        assert row.threads == threads
        with ExitStack() as stack:
            play = row.start(stack)
            play(1)
            before = dict(work)
            assert play(2) == 2 * row.tables * RULES.stock_size  # deals end with the stock
            counts.append({name: work[name] - before[name] for name in work})
    trained, alone = counts
    assert trained["forward"] == pytest.approx(alone["forward"], rel=0.02)
    assert trained["policy"] == alone["policy"] == 0
    assert trained["backward"] == alone["backward"] > 0


def test_startup_rows_run_their_programs() -> None:
    rows = startup_rows.startup_rows()
    assert [row.name for row in rows] == list(startup_rows.PROGRAMS)
    assert {row.unit for row in rows} == {SECONDS}
    for row in rows:
        plays_of(row, 1)  # raises if the program fails


def test_play_loops_reach_every_end() -> None:
    from tressette_env import tressette_v0

    raw = tressette_v0.raw_env(rules="mini_2x4")
    raw.reset(seed=0)
    assert play_raw(raw, 4) == 4 * 8
    assert raw.deals_dealt == 5
    env = tressette_v0.env(rules="mini_2x4")
    env.reset(seed=0)
    assert play_wrapped(env, 4) == 4 * 8
    assert not env.agents


# ------------------------------------------------------------------------------------------- plans


def test_a_plan_covers_every_size_once() -> None:
    plan = make_plan()
    assert plan.tables == [1, 64, 1024, 4096, 65536]
    assert plan.threads == [1, 2]
    assert plan.groups == GROUPS
    rows = rows_of(plan)
    keys = [(row.name, row.tables, row.threads) for row in rows]
    assert len(set(keys)) == len(keys)
    assert {row.group for row in rows} == set(GROUPS)


def test_a_quick_plan_is_a_part_that_has_every_target() -> None:
    whole = {(row.name, row.tables, row.threads) for row in rows_of(make_plan())}
    quick = {(row.name, row.tables, row.threads) for row in rows_of(make_plan(quick=True))}
    assert quick < whole
    for needed in (("masks", 4096, 1), ("masks", 65536, 2), ("aec raw", 1, 1), ("one table", 1, 1)):
        assert needed in quick


def test_lists_are_put_in_order() -> None:
    plan = make_plan(tables="64, 1,64", threads="2,1", only="batch")
    assert (plan.tables, plan.threads, plan.groups) == ([1, 64], [1, 2], ("batch",))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"tables": "0"}, "--tables"),
        ({"tables": "1,,2"}, "--tables"),
        ({"tables": "many"}, "--tables"),
        ({"tables": "-1"}, "--tables"),
        ({"tables": "9999999999"}, "--tables"),
        ({"threads": "0"}, "--threads"),
        ({"threads": "1.5"}, "--threads"),
        ({"only": "batches"}, "did you mean 'batch'"),
        ({"repeats": 0}, "--repeats"),
        ({"seconds": 0.0}, "--seconds"),
        ({"seconds": float("nan")}, "--seconds"),
        ({"rules": "playmor"}, "playmore"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], word: str) -> None:
    with pytest.raises(TressetteError, match=word):
        make_plan(**options)


# ----------------------------------------------------------------------------------------- reports


def row(name: str, tables: int, threads: int, *values: float, group: str = "batch") -> Measured:
    return Measured(name, group, tables, threads, PLAYS, 0.5, 1000, values, float(threads))


def a_report() -> Report:
    return Report(
        settings={"rules": "playmore", "repeats": 3, "seconds": 0.3, "quick": False},
        machine={"cpu": "a CPU", "cores": 2, "numpy": "2.0", "load_before": 0.0, "load_after": 1.0},
        memory={"state_bytes": 160, "kept_bytes": 320},
        rows=(
            row("masks", 1024, 1, 30e6, 40e6, 20e6),
            row("masks", 4096, 1, 20e6, 30e6, 25e6),
            row("masks", 65536, 1, 20e6, 20e6, 20e6),
            row("masks", 65536, 2, 30e6, 40e6, 20e6),
            row("aec raw", 1, 1, 90e3, 70e3, 80e3, group="environments"),
            row("openspiel hearts, decisions", 1, 1, 1e6, 1e6, 0.5e6, group="peers"),
            Measured("start import", "startup", 1, 1, SECONDS, 2.0, 0, (0.5, 0.4, 0.7), 0.0),
        ),
        missing_peers=("rlcard",),
    )


def test_ratios_are_taken_round_by_round() -> None:
    ratios = {ratio.name: ratio for ratio in a_report().ratios}
    assert ratios["masks: time per play, 65,536 over 1,024"].values == (1.5, 2.0, 1.0)
    assert ratios["masks: two threads over one, 65,536"].values == (1.5, 2.0, 1.0)
    assert len(ratios) == 2
    (peer,) = a_report().peer_ratios
    assert peer.name == "masks 4,096 over openspiel hearts, decisions"
    assert peer.values == (20.0, 30.0, 50.0)
    assert peer.median == 30


def test_targets_say_what_was_measured_and_met() -> None:
    found = {target["name"]: target for target in target_json(a_report())}
    assert len(found) == len(TARGETS)
    masks = found["play with masks, 4,096 tables"]
    assert (masks["measured"], masks["met"], masks["goal_met"]) == (25e6, True, False)
    hearts = found["the same over OpenSpiel hearts, decisions"]
    assert (hearts["measured"], hearts["met"], hearts["goal_met"]) == (30, True, None)
    assert found["time a play, 65,536 over 1,024"]["met"] is True  # 1.5, and that is the bound
    assert found["two threads over one, 65,536"]["met"] is False
    assert found["AEC, raw: step and observe"]["met"] is True
    assert found["AEC, wrapped: last() loop"]["met"] is None
    assert found["state of a table"]["met"] is True
    assert found["import tressette_env"]["measured"] == 0.5
    marks = {line[0]: line[-1] for line in target_sheet(a_report()).lines}
    assert marks["play with masks, 4,096 tables"] == "yes"
    assert marks["two threads over one, 65,536"] == "NO"
    assert marks["AEC, wrapped: last() loop"] == "-"


def test_a_report_survives_json() -> None:
    report = a_report()
    content = json.loads(json.dumps(report.to_json()))
    again = Report.from_json(content)
    assert again == report
    assert again.to_json() == content
    (start,) = (one for one in content["rows"] if one["name"] == "start import")
    assert (start["unit"], start["min"], start["median"], start["max"]) == ("s", 0.4, 0.5, 0.7)


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"format": 99}', '{"format": 1}'])
def test_files_that_are_no_report(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bench.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(OptionError):
        read_report(path)
    with pytest.raises(TressetteError, match="cannot be read"):
        read_report(tmp_path / "none.json")


def test_tables_fit_a_terminal_and_say_what_is_missing() -> None:
    from rich.console import Console

    from tressette_train.bench.screen import to_rich

    report = a_report()
    console = Console(width=80, record=True, file=io.StringIO())
    for sheet in (*sheets(report), target_sheet(report)):
        console.print(to_rich(sheet))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    assert "masks" in text
    assert "25.0 M" in text
    assert "…" not in text
    assert any("rlcard" in note and "tressette[peers]" in note for note in notes(report))
    assert any("160 bytes" in note for note in notes(report))


def test_charts(tmp_path: Path) -> None:
    path = tmp_path / "bench.png"
    draw_report(a_report(), path)
    assert path.read_bytes().startswith(b"\x89PNG")
    for only in (a_report().rows[:3], a_report().rows[4:5]):
        draw_report(Report({}, {}, {"state_bytes": 1, "kept_bytes": 1}, only), path)
    with pytest.raises(OptionError, match="there is none"):
        draw_report(Report({}, {}, {"state_bytes": 1, "kept_bytes": 1}, ()), path)


def test_results_go_between_the_marks_of_a_page(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"before\n\n{page.BEGIN}\nold\n{page.END}\n\nafter\n", encoding="utf-8")
    page.write_results(a_report(), path)
    once = path.read_text(encoding="utf-8")
    assert once.startswith(f"before\n\n{page.BEGIN}\n")
    assert once.endswith(f"{page.END}\n\nafter\n")
    assert "old" not in once
    assert "| masks | 4,096 | 1 | 25.0 M | 20.0 M | 30.0 M |" in once
    page.write_results(a_report(), path)
    assert path.read_text(encoding="utf-8") == once


@pytest.mark.parametrize("text", ["", page.BEGIN, page.END + page.BEGIN, page.BEGIN * 2 + page.END])
def test_a_page_without_its_marks_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(OptionError, match="--write"):
        page.write_results(a_report(), path)
    assert path.read_text(encoding="utf-8") == text


def test_the_page_of_the_documents_has_its_marks() -> None:
    page.check_page(Path(__file__).parents[1] / "docs" / "benchmarks.md")


def test_markdown_tables_have_as_many_cells_as_columns() -> None:
    for sheet in sheets(a_report()):
        lines = markdown(sheet).splitlines()[2:]
        assert {line.count("|") for line in lines} == {len(sheet.columns) + 1}


def test_without_a_terminal_a_line_a_round_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--only", "batch", "--tables", "1", "--threads", "1", "--repeats", "2"]
    assert run(monkeypatch, *options, "--seconds", "0.001", "--rules", "mini_2x4") == 0
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("bench: setting up ")
    assert told[1:] == ["bench: round 1 of 2", "bench: round 2 of 2"]


@pytest.mark.parametrize("width", [30, 40, 60, 80])
def test_names_are_not_cut_on_narrow_terminals(width: int) -> None:
    for sheet in (*sheets(a_report()), target_sheet(a_report())):
        out = io.StringIO()
        Console(file=out, width=width).print(to_rich(sheet, width))
        words = {word for line in sheet.lines for word in line[0].split()}
        shown = set(out.getvalue().split())
        assert words <= shown, words - shown
        assert max(map(len, out.getvalue().splitlines())) <= width


# ------------------------------------------------------------------------------------------- peers


class FakeState:
    def __init__(self) -> None:
        self.moves: list[int] = []

    def is_terminal(self) -> bool:
        return len(self.moves) == 6

    def is_chance_node(self) -> bool:
        return len(self.moves) < 2

    def legal_actions(self) -> list[int]:
        return [1, 2, 3]

    def apply_action(self, action: int) -> None:
        assert action in (1, 2, 3)
        self.moves.append(action)

    def history(self) -> list[int]:
        return self.moves

    def full_history(self) -> list[Any]:
        players = [-1, -1, 0, 1, 0, 1]
        return [types.SimpleNamespace(player=player) for player in players]


class FakeGame:
    def new_initial_state(self) -> FakeState:
        return FakeState()

    def num_players(self) -> int:
        return 2


def fake_spiel() -> Any:
    def evaluate_bots(state: FakeState, bots: list[int], seed: int) -> None:
        assert len(bots) == 2
        state.moves = [1] * 6

    spiel: Any = types.ModuleType("pyspiel")
    spiel.__spec__ = types.SimpleNamespace(name="pyspiel")
    spiel.registered_names = lambda: ["hearts", "chess"]
    spiel.load_game = lambda name: FakeGame()
    spiel.make_uniform_random_bot = lambda seat, seed: seat
    spiel.evaluate_bots = evaluate_bots
    return spiel


def test_peers_that_are_there_play(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", fake_spiel())
    rows = [one for one in peer_rows.peer_rows() if one.name.startswith("openspiel")]
    kinds = [one.name.removeprefix("openspiel hearts") for one in rows]
    assert kinds == ["", ", decisions", ", C++"]
    assert [plays_of(one, 5) for one in rows] == [30, 20, 30]
    assert "open_spiel" not in peer_rows.missing_peers()


def test_peers_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_rows, "_is_there", lambda module: False)
    assert peer_rows.peer_rows() == []
    assert peer_rows.missing_peers() == ["open_spiel", "rlcard", "pettingzoo[classic]"]


def test_installed_peers_really_play() -> None:
    for one in peer_rows.peer_rows():
        assert plays_of(one, 2) >= 2


def test_every_peer_has_a_counterpart_of_ours() -> None:
    ours = {one.name for one in rows_of(make_plan())}
    for name in (
        "openspiel hearts",
        "openspiel hearts, C++",
        "rlcard bridge",
        "pettingzoo leduc_holdem_v4 raw",
        "pettingzoo leduc_holdem_v4 wrapped",
    ):
        assert peer_rows.counterpart(name) in ours


# --------------------------------------------------------------------------------- the command line

SMALL = ("--rules", "mini_2x4", "--tables", "1,8", "--seconds", "0.002", "--repeats", "2")


def test_bench_prints_one_json_object(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    chart = tmp_path / "bench.png"
    options = ("--only", "batch,environments", "--json", "--chart", str(chart))
    assert run(monkeypatch, *SMALL, *options) == 0
    printed = capsys.readouterr()
    assert all(line.startswith("bench: ") for line in printed.err.splitlines())
    content = json.loads(printed.out)
    assert content["format"] == 1
    assert content["settings"] == {
        "rules": "mini_2x4",
        "repeats": 2,
        "seconds": 0.002,
        "quick": False,
    }
    assert {"cpu", "cores", "os", "python", "numpy", "numba", "torch"} <= set(content["machine"])
    assert content["memory"]["state_bytes"] <= 160
    for one in content["rows"]:
        assert one["unit"] == "plays/s"
        assert 0 < one["min"] <= one["median"] <= one["max"]
        assert len(one["values"]) == 2
        assert one["plays_per_sample"] > 0
        assert one["first_s"] > 0
    assert len(content["targets"]) == len(TARGETS)
    assert chart.read_bytes().startswith(b"\x89PNG")
    saved = tmp_path / "bench.json"
    saved.write_text(printed.out, encoding="utf-8")
    assert run(monkeypatch, "--read", str(saved), "--json") == 0
    assert json.loads(capsys.readouterr().out) == content
    assert run(monkeypatch, "--read", str(saved), "--targets") == 0
    assert "one table from Python" in capsys.readouterr().out


def test_bench_prints_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *SMALL, "--only", "batch", "--peers") == 0
    out = capsys.readouterr().out
    for text in ("Plays a second, mini_2x4", "observations", "machine:", "versions:"):
        assert text in out


def test_bench_signature(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--signature") == 0
    text = capsys.readouterr().out
    assert run(monkeypatch, "--signature", "--json") == 0
    content = json.loads(capsys.readouterr().out)["signature"]
    for name, numbers in content.items():
        line = next(one for one in text.splitlines() if one.split()[:1] == [name])
        assert [int(cell) for cell in line.split()[1:]] == list(numbers.values())


@pytest.mark.parametrize(
    "options",
    [
        ("--tables", "none"),
        ("--only", "speed"),
        ("--repeats", "0"),
        ("--repeats", "x"),
        ("--rules", "bridge"),
        ("--read", "no-such-file.json"),
        ("--chart", "bench.jpg"),
        ("--chart", "no-such-folder/bench.png"),
        ("--chart", "x" * 246 + ".png"),  # no room for the name it is written under
        ("--chart", "bench.png", "--only", "startup"),
        ("--write", "no-such-page.md"),
        ("--unknown",),
    ],
    ids=" ".join,
)
def test_mistakes_end_with_one_line_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    options: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "run_benchmark", None)
    assert run(monkeypatch, *options) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tressette: ")
    assert printed.err.count("\n") == 1


def test_a_run_from_python() -> None:
    plan = make_plan("mini_2x4", "1", "1", "batch", 1, 0.001)
    shown: list[str] = []
    report = run_benchmark(plan, shown.append)
    assert [one.name for one in report.rows] == list(KINDS)
    assert shown == list(KINDS) * 2
    assert report.missing_peers == ()


def test_what_was_measured_is_shown_and_written_though_the_chart_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(report: Report, path: Path) -> None:
        raise OptionError("--chart: the disk is full")

    path = tmp_path / "page.md"
    path.write_text(f"{page.BEGIN}\nold\n{page.END}\n", encoding="utf-8")
    monkeypatch.setattr(chart, "draw_report", full)
    monkeypatch.setattr(command, "run_benchmark", lambda *_: a_report())
    options = ("--chart", str(tmp_path / "bench.png"), "--write", str(path), "--json")
    assert run(monkeypatch, *options) == 2
    printed = capsys.readouterr()
    assert json.loads(printed.out)["rows"]
    assert printed.err == "tressette: --chart: the disk is full\n"
    assert "25.0 M" in path.read_text(encoding="utf-8")
