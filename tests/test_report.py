"""The page of a file of results: whole markup, nothing from outside, nothing unescaped."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cli import run

from tressette_env.notation import parse_record
from tressette_train.evaluate import evaluate
from tressette_train.intervals import Interval
from tressette_train.ratings import rate
from tressette_train.report.charts import bar, histogram, learning_chart, margin_series
from tressette_train.report.html import tag
from tressette_train.report.page import pairings_of, report_page
from tressette_train.report.replays import worst_deals
from tressette_train.results_file import Results, read_results, to_bytes

EMPTY = {"meta", "br", "hr"}  # elements without an end
AGENTS = ("greedy", "random", "counting")
ODD = '<b onclick="x">&\'"\u202e\ud800\x00'


class Page(HTMLParser):
    """Reads a page; an element that is not closed, or not by its own end, is an error."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.count: dict[str, int] = {}
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, name: str, attributes: Any) -> None:
        self.count[name] = self.count.get(name, 0) + 1
        self.attributes += attributes
        self.texts.setdefault(name, []).append("")
        if name not in EMPTY:
            self.open.append(name)

    def handle_startendtag(self, name: str, attributes: Any) -> None:
        raise AssertionError(f"<{name}/> closes nothing in HTML")

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name

    def handle_data(self, data: str) -> None:
        for name in set(self.open):
            self.texts[name][-1] += data


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results") / "results.json"
    path.write_bytes(to_bytes(evaluate(AGENTS, deals=60, seed=1), "tressette eval ..."))
    return path


@pytest.fixture
def changed(file: Path, tmp_path: Path) -> Iterator[Any]:
    """Write a copy of the file with every ``counting`` replaced, and read it."""

    def change(name: str) -> Results:
        path = tmp_path / "changed.json"
        text = file.read_text(encoding="utf-8")
        path.write_text(text.replace('"counting"', json.dumps(name)), encoding="utf-8")
        return read_results(path)

    yield change


ROWS = [
    {"update": n, "decisions": 100_000 * (n + 1), "margin_thirds/snapshot": 0.3 * n - 1.0}
    | (
        {"reference_margin_thirds/greedy": n - 3.0, "reference_half_width/greedy": 0.5}
        if n % 3
        else {}
    )
    for n in range(30)
]


def page_of(results: Results, runs: Any = ()) -> str:
    return report_page(results, rate(pairings_of(results)), worst_deals(results), runs, "command")


def check_page(text: str) -> Page:
    """Read a page and see that it loads and runs nothing."""
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert not set(page.count) & {"script", "link", "img", "iframe", "object", "a", "base", "form"}
    for name, value in page.attributes:
        assert name not in ("src", "href", "srcset", "data", "action")
        assert not name.startswith("on")
        assert "url(" not in (value or "")
    assert not re.search(r"https?:|//[a-z]|@import|url\(", text)
    assert ("name", "viewport") in page.attributes
    assert "prefers-color-scheme: dark" in page.texts["style"][0]
    text.encode()
    return page


# ----------------------------------------------------------------------------- the page


def test_the_page_holds_what_it_should(file: Path) -> None:
    results = read_results(file)
    page = check_page(page_of(results, [("quick", ROWS)]))
    assert page.texts["h2"] == [
        "Ratings",
        "Margins",
        "By seat and lead",
        "By stage of the deal",
        "Margins of pairs",
        "Learning: quick",
        "Worst deals of greedy",
    ]
    assert page.count["table"] == 4
    paired = results.paired["greedy", "random"]
    assert paired.stock_thirds is not None
    before = paired.stock_thirds.mean()
    for part in (before, paired.margins_thirds.mean() - before):
        assert any(text.startswith(f"{part:+.2f}") for text in page.texts["td"])
    assert page.count["figure"] == 3
    assert page.texts["footer"] == ["Made by command"]
    margin = results.figures["greedy", "random"]["margin_thirds"]
    cells = page.texts["td"]
    assert any(text.startswith(f"{margin:+.2f}") for text in cells)
    assert any(text.startswith(f"{-margin:+.2f}") for text in cells)
    low, high = results.figures["greedy", "random"]["ci95"]
    assert any(f"{low:+.2f} to {high:+.2f}" in text for text in cells)
    by_lead = results.figures["greedy", "random"]["margin_thirds_by_lead"]
    for value in by_lead.values():
        assert any(text.startswith(f"{value:+.2f}") for text in cells)


def test_the_worst_deals_are_played_again_as_they_were(file: Path) -> None:
    results = read_results(file)
    worst = worst_deals(results)
    means = {
        (opponent, number): margin
        for (agent, opponent), paired in results.paired.items()
        if agent == "greedy"
        for number, margin in enumerate(paired.margins_thirds.mean(1))
    }
    assert [deal.margin_thirds for deal in worst] == sorted(means.values())[:5]
    records = check_page(page_of(results)).texts["pre"]
    assert len(records) == 10
    for deal in worst:
        assert deal.margin_thirds == means[deal.opponent, deal.number]
        for side, game in enumerate(deal.games):
            assert game.problem == ""
            record = parse_record(game.record)
            assert record == parse_record(records.pop(0))
            assert record.seed == 1
            (played,) = record.deals
            assert played.number == deal.number
            assert played.thirds is not None
            assert played.thirds[side] - played.thirds[1 - side] == game.margin_thirds
            assert (played.leader == side) == game.leads


def test_a_deal_that_goes_otherwise_now_says_so(file: Path) -> None:
    results = dataclasses.replace(read_results(file), seed=2)
    games = [game for deal in worst_deals(results) for game in deal.games]
    assert any("played again it gave" in game.problem for game in games)
    assert "played again it gave" in page_of(results)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("learned:nowhere.safetensors", "cannot be played again"),
        ("program:touch started", "is a program, and a page starts none"),
        ("Program:touch started", "cannot be played again"),
        (ODD, "cannot be played again"),
    ],
)
def test_a_file_from_elsewhere(
    name: str, reason: str, changed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results = changed(name)
    page = check_page(page_of(results))
    assert any(reason in text for text in page.texts["p"])
    assert not (tmp_path / "started").exists()
    assert "b" not in page.count
    shown = re.sub("[\u202e\ud800\x00]", "\ufffd", name)
    assert shown in page.texts["th"]


def test_everything_else_from_files_is_escaped(file: Path) -> None:
    results = read_results(file)
    head = {**results.head, "command": ODD, "date": ODD, "machine": {"cpu": ODD}}
    head["versions"] = {ODD: ODD}
    rows = [{"update": 0, "decisions": 5, f"margin_thirds/{ODD}": 1.0}]
    odd = dataclasses.replace(results, head=head, deal_set=ODD)
    text = report_page(odd, rate(pairings_of(odd)), [], [(ODD, rows)], ODD)
    assert "b" not in check_page(text).count


def test_cheats_and_cycles_are_told(changed: Any) -> None:
    results = changed("clairvoyant")
    for (agent, opponent), figures in results.figures.items():
        figures["agent_cheats"] = agent == "clairvoyant"
        figures["opponent_cheats"] = opponent == "clairvoyant"
    page = check_page(report_page(results, rate(pairings_of(results)), [], [], "command"))
    assert "clairvoyant (cheats)" in page.texts["th"]
    assert any("No agents go round" in text for text in page.texts["p"])
    results.paired["random", "clairvoyant"].margins_thirds[:] += 200
    page = check_page(report_page(results, rate(pairings_of(results)), [], [], "command"))
    assert any("intransitive" in text for text in page.texts["p"])


def test_an_agent_against_itself_is_in_the_matrix(tmp_path: Path) -> None:
    path = tmp_path / "self.json"
    path.write_bytes(to_bytes(evaluate(["greedy", "greedy", "random"], deals=8), "command"))
    results = read_results(path)
    page = check_page(page_of(results))
    assert any(text.startswith("+0.00") for text in page.texts["td"])
    assert {deal.opponent for deal in worst_deals(results)} == {"random"}


# ----------------------------------------------------------------------------- its parts


def test_text_is_escaped_and_elements_are_not() -> None:
    inner = tag("b", "<", 3, None, class_="a b", aria_hidden="true", style=None)
    assert inner == '<b class="a b" aria-hidden="true">&lt;3</b>'
    assert tag("p", inner, title='"&') == f'<p title="&quot;&amp;">{inner}</p>'
    assert tag("p", "\x1b[0m\ud800\n\t") == "<p>\ufffd[0m\ufffd\n\t</p>"
    assert tag("meta", name="a") == '<meta name="a">'


def test_a_histogram_counts_every_deal() -> None:
    values = np.array([-3, -3, 0, 1, 5.0])
    page = Page(histogram(values, 5))
    heights = [value for name, value in page.attributes if name == "height"]
    assert heights == ["100.00%", "50.00%", "50.00%", "50.00%"]
    kinds = [value for name, value in page.attributes if name == "class"]
    assert [kind for kind in kinds if kind in ("below", "level", "above")] == [
        "below",
        "level",
        "above",
        "above",
    ]
    places = [float((value or "")[:-1]) for name, value in page.attributes if name == "x"]
    assert places == pytest.approx([100 * (5 + v) / 11 for v in (-3, 0, 1, 5)], abs=0.01)


def test_a_bar_lies_where_its_interval_does() -> None:
    drawn = bar(Interval(5, 2, 8), 0, 10)
    assert 'x1="21.80%" x2="78.20%"' in drawn
    assert 'cx="50.00%"' in drawn


def test_learning_curves_leave_out_what_is_no_number() -> None:
    rows = [*ROWS, {"update": 30, "decisions": 4e6, "margin_thirds/snapshot": float("nan")}]
    curves, points = margin_series(rows)
    assert set(curves) == {"snapshot"}
    assert set(points) == {"greedy"}
    assert points["greedy"][0].tolist() == pytest.approx([0.2, -2.0, 0.5])
    assert np.isfinite(curves["snapshot"]).all()
    drawn = learning_chart(curves, points)
    numbers = [float(text) for text in re.findall(r"-?\d+\.\d\d(?= | L|\")", drawn)]
    assert min(numbers) >= 0
    assert max(numbers) <= 100
    many = [{"update": n, "decisions": n + 1, "margin_thirds/a": 1.0} for n in range(5000)]
    assert len(margin_series(many)[0]["a"]) <= 300


# ----------------------------------------------------------------------------- the command


def test_the_command(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a run"
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    out = tmp_path / "page.html"
    command = ["report", str(file), "--runs", str(folder), "--out", str(out)]
    assert run(monkeypatch, *command) == 0
    assert f"wrote {out}: 3 pairings, 1 runs\n" in capsys.readouterr().out
    text = out.read_text(encoding="utf-8")
    page = check_page(text)
    assert "Learning: a run" in page.texts["h2"]
    assert page.texts["footer"][0].startswith(f"Made by tressette report {file} --runs '")
    assert run(monkeypatch, *command) == 0
    assert out.read_text(encoding="utf-8") == text


def test_a_mistake_is_told_in_one_line(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "page.html"
    alone = tmp_path / "alone.json"
    alone.write_bytes(to_bytes(evaluate(["greedy", "greedy"], deals=4), "command"))
    for command, told in (
        ([str(file), "--runs", str(tmp_path), "--out", str(out)], "has no metrics.jsonl"),
        ([str(tmp_path / "none.json"), "--out", str(out)], "none.json"),
        ([str(file), "--out", str(tmp_path / "no" / "page.html")], "--out"),
        ([str(file)], "--out"),
        ([str(alone), "--out", str(out)], "got only greedy against itself"),
    ):
        assert run(monkeypatch, "report", *command) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("tressette: ")
        assert printed.err.count("\n") == 1
        assert told in printed.err
        assert not out.exists()
