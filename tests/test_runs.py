"""``tressette runs``: every run in a line, whatever state it is in."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tressette_train import cli
from tressette_train.config import TrainConfig
from tressette_train.run_folder import RunFolder
from tressette_train.runs_command import summarise_runs


def make_run(
    runs: Path, name: str, rows: list[dict[str, float]], decisions: int = 1000
) -> RunFolder:
    folder = RunFolder.create(runs / name, TrainConfig(rules="mini_2x4", decisions=decisions))
    folder.metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def row(update: int, decisions: int) -> dict[str, float]:
    return {
        "update": update,
        "decisions": decisions,
        "seconds": 90.0,
        "margin_thirds/greedy": 1.25,
        "policy/kl": 0.1,
    }


def test_the_state_of_every_run(tmp_path: Path) -> None:
    make_run(tmp_path, "new", [])
    make_run(tmp_path, "stopped", [row(0, 300), row(1, 600)])
    make_run(tmp_path, "finished", [row(0, 500), row(1, 1000)])
    training = make_run(tmp_path, "training", [row(0, 10)])
    cut = make_run(tmp_path, "cut", [row(4, 400)])
    with cut.metrics.open("a") as file:
        file.write('{"update": 5, "deci')  # a kill in the middle of a row
    damaged = make_run(tmp_path, "damaged", [row(0, 10)])
    damaged.config.write_text("rules: [")
    empty = make_run(tmp_path, "garbage", [])
    empty.metrics.write_text("no json at all")
    (tmp_path / "something_else").mkdir()
    with training.locked():
        found = {Path(one.path).name: one for one in summarise_runs(tmp_path)}
    assert {name: one.state for name, one in found.items()} == {
        "new": "new",
        "stopped": "stopped",
        "finished": "finished",
        "training": "training",
        "cut": "stopped",
        "damaged": "damaged",
        "garbage": "damaged",
    }
    one = found["stopped"]
    assert (one.rules, one.updates, one.decisions, one.budget) == ("mini_2x4", 2, 600, 1000)
    assert one.margins_thirds == {"greedy": 1.25} and one.seconds == 90.0
    assert found["cut"].decisions == 400
    assert "config.yaml" in found["damaged"].problem


@pytest.mark.parametrize("width", ["60", "200"])
def test_every_name_and_figure_is_printed_whole(
    width: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path, "a", [row(0, 300)])
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.chdir(tmp_path.parent)
    monkeypatch.setattr(sys, "argv", ["tressette", "runs", tmp_path.name])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    out = capsys.readouterr().out
    for part in (f"{tmp_path.name}/a", "stopped", "300 (30 %)", "1.5", "greedy +1.2"):
        assert part in out or part.replace("+1.2", "+1.3") in out
    assert max(map(len, out.splitlines())) <= int(width)


def test_as_json_and_where_there_is_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, expected in (([], "no runs in"), (["--json"], '{\n  "runs": []\n}')):
        monkeypatch.setattr(sys, "argv", ["tressette", "runs", str(tmp_path), *arguments])
        with pytest.raises(SystemExit):
            cli.main()
        assert expected in capsys.readouterr().out


def test_a_file_is_no_folder_of_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(sys, "argv", ["tressette", "runs", str(tmp_path / "file")])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "cannot be read as a folder of runs" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        '{"update": null, "decisions": null}',
        '{"update": 1, "decisions": "many"}',
        '{"update": 1, "decisions": Infinity}',
        '{"update": 1, "decisions": 5, "margin_thirds/greedy": "x"}',
        '{"update": 1, "decisions": 5, "margin_thirds/greedy": NaN}',
        '{"update": -1, "decisions": 5}',
        "[1, 2]",
    ],
)
def test_a_damaged_row_is_passed_over_for_the_one_before(line: str, tmp_path: Path) -> None:
    folder = make_run(tmp_path, "one", [row(0, 10)])
    with folder.metrics.open("a") as file:
        file.write(line + "\n")
    (found,) = summarise_runs(tmp_path)
    assert (found.decisions, found.problem) == (10, "")
