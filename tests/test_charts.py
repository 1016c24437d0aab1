"""Charts that commands draw, and the figures in them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cli import run

from tressette_train.charts import runs_figure
from tressette_train.evaluate import evaluate
from tressette_train.exploit.chart import exploit_figure
from tressette_train.exploit.measure import exploit, reference
from tressette_train.intervals import mean_interval
from tressette_train.match_play import PairedDeals
from tressette_train.report.results_chart import deals_needed, half_widths, results_figure
from tressette_train.results_file import read_results, to_bytes

PNG = b"\x89PNG"


def paired(margins: list[tuple[int, int]]) -> PairedDeals:
    thirds = np.array(margins, np.int64)
    return PairedDeals(thirds, thirds, np.tile([True, False], (len(thirds), 1)))


def texts(figure: Any) -> list[str]:
    """Return all that a figure writes, panel by panel."""
    found = []
    for axes in figure.get_axes():
        found += [text.get_text() for text in axes.texts]
        found += [label.get_text() for label in (*axes.get_yticklabels(), axes.title)]
        found += [axes.get_title(loc="left")]
        if axes.get_legend() is not None:
            found += [text.get_text() for text in axes.get_legend().get_texts()]
    return found


# ----------------------------------------------------------------------------- results


def test_half_widths_worked_out_by_hand() -> None:
    # Pairs 2, 4: s = sqrt(2), t(1) = 12.7062. Singles 5, -1, 1, 7: s = sqrt(40 / 3), t(3) = 3.1824.
    with_pairs, without = half_widths(paired([(5, -1), (1, 7)]), np.array([2]))
    assert with_pairs[0] == pytest.approx(12.7062 * math.sqrt(2) / math.sqrt(2), abs=1e-3)
    assert without[0] == pytest.approx(3.18245 * math.sqrt(40 / 3) / 2, abs=1e-3)


def test_half_the_interval_takes_four_times_the_deals() -> None:
    deals = paired([(5, -1), (1, 7), (0, 4)] * 20)
    now = mean_interval(deals.margins_thirds.mean(1)).half_width
    assert deals_needed(deals, now) == 60
    assert deals_needed(deals, now / 2) == 240


def test_the_report_draws_margins_ratings_and_intervals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    results = evaluate(["greedy", "random", "counting"], deals=40, seed=1)
    file, page, chart = (tmp_path / name for name in ("r.json", "page.html", "r.png"))
    file.write_bytes(to_bytes(results, "tressette eval"))
    assert run(monkeypatch, "report", str(file), "--out", str(page), "--chart", str(chart)) == 0
    assert capsys.readouterr().err == ""
    assert chart.read_bytes().startswith(PNG)
    written = texts(results_figure(read_results(file)))
    for result in results:
        margin = result.margin_thirds
        assert f"{margin.mean:+.2f}\n± {margin.half_width:.2f}" in written
        assert f"{-margin.mean:+.2f}\n± {margin.half_width:.2f}" in written
    closest = min(results, key=lambda one: abs(one.margin_thirds.mean))
    assert f"How well is {closest.agent} over {closest.opponent} known?" in written


# ----------------------------------------------------------------------------- exploitability


def test_several_agents_are_measured_as_each_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    chart = tmp_path / "bars.png"
    command = ["exploit", "greedy", "counting", "--until", "0.05", "--json", "--chart", str(chart)]
    assert run(monkeypatch, *command) == 0
    content = json.loads(capsys.readouterr().out)
    alone = exploit("greedy", "mini_2x4")
    first, second = content["results"]
    assert first == alone.to_json()
    assert second["agent"] == "counting"
    assert {"value_leader_thirds", "equilibrium", "versions"} < set(content)
    assert chart.read_bytes().startswith(PNG)
    figure = exploit_figure([alone], reference("mini_2x4", 0.05))
    assert f"{alone.exploitability:.4f}" in texts(figure)


# ----------------------------------------------------------------------------- runs


def test_every_run_has_a_curve_in_every_panel() -> None:
    rows = [{"decisions": 1000.0 * k, "margin_thirds/greedy": float(k)} for k in range(1, 5)]
    figure = runs_figure({"first": rows, "second": rows[:2]})
    written = texts(figure)
    assert {"over greedy", "first", "second"} <= set(written)
    measured = [
        {"decisions": 1e6, "reference_margin_thirds/random": 2.0, "reference_half_width/random": 1}
    ]
    figure = runs_figure({"first": [*rows, *measured], "second": rows})
    assert {"over greedy", "over random"} <= set(texts(figure))


def test_a_chart_of_no_runs_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    chart = tmp_path / "runs.png"
    assert run(monkeypatch, "runs", str(tmp_path), "--chart", str(chart)) == 2
    error = capsys.readouterr().err
    assert "expected runs with a logged update" in error
    assert error.count("\n") == 1
    assert not chart.exists()
