"""The command ``tressette report``: a file of results, and runs, as one page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from tressette_env.errors import RunFolderError
from tressette_train.chart_file import check_chart_file, write_chart
from tressette_train.metrics import read_metrics
from tressette_train.output_file import check_output, write_output
from tressette_train.ratings import rate
from tressette_train.report.page import Run, pairings_of, report_page
from tressette_train.report.replays import worst_deals
from tressette_train.results_file import ResultsFileError, read_results

__all__ = ["run"]


def run(results: Path, runs: Sequence[Path], out: Path, chart: Path | None = None) -> None:
    """Write the page, and the chart.

    Parameters
    ----------
    results : Path
        Written by ``tressette eval --out``.
    runs : sequence of Path
        Run folders whose learning curves it shows.
    out : Path
        The page; another file there is replaced.
    chart : Path, optional
        PNG file for margins, ratings and intervals; replaced as well.

    Raises
    ------
    TressetteError
        If a file cannot be read, or an output cannot be written; nothing has been written then.
    """
    check_output("--out", out)
    if chart is not None:
        check_chart_file(chart)
    read = read_results(results)
    logged = [_read_run(folder) for folder in runs]
    pairings = pairings_of(read)
    if all(one.agent == one.opponent for one in pairings):
        raise ResultsFileError(
            f"{results}: expected different agents, got only {pairings[0].agent} against itself; "
            "there is nothing to compare"
        )
    ratings = rate(pairings)
    command = ["tressette", "report", str(results)]
    command += [part for folder in runs for part in ("--runs", str(folder))]
    command += ["--out", str(out)]
    page = report_page(read, ratings, worst_deals(read), logged, shlex.join(command))
    write_output("--out", out, page.encode())
    if chart is not None:
        from tressette_train.report.results_chart import results_figure  # loads matplotlib

        write_chart(results_figure(read), chart)
    for warning in ratings.warnings:
        print(warning)
    print(f"wrote {out}: {len(pairings)} pairings, {len(logged)} runs")


def _read_run(folder: Path) -> Run:
    try:
        rows = read_metrics(folder)
    except OSError as error:
        raise RunFolderError(
            f"--runs: {folder}: its metrics cannot be read ({error.strerror or error})"
        ) from None
    if not rows:
        raise RunFolderError(
            f"--runs: expected the folder of a run, such as runs/quick, got {folder}, which has no "
            "metrics.jsonl with a whole row; 'tressette runs' lists runs"
        )
    return folder.resolve().name, rows
