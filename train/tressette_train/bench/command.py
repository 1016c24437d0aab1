"""The command ``tressette bench``: what to measure, and how to show it."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tressette_env.errors import OptionError, did_you_mean
from tressette_env.rulesets import RuleSet, get_rules
from tressette_train.bench.batch_rows import GROUP as BATCH
from tressette_train.bench.env_rows import GROUP as ENVIRONMENTS
from tressette_train.bench.learning_rows import GROUP as LEARNING
from tressette_train.bench.report import Report, read_report
from tressette_train.bench.startup_rows import GROUP as STARTUP
from tressette_train.bench.timing import Row, measure

__all__ = ["GROUPS", "Plan", "make_plan", "rows_of", "run", "run_benchmark", "show_signature"]

GROUPS = (BATCH, ENVIRONMENTS, LEARNING, STARTUP)
_TABLES, _THREADS = "1,64,1024,4096,65536", "1,2"
_QUICK_TABLES = "1024,4096,65536"
_MAX_TABLES, _MAX_THREADS = 1 << 22, 256
_SHARED = ("masks", 65536)  # the one row that a quick run measures with more than one thread
_NOT_QUICK = ("rules", "start python", "start first batch")


@dataclass(frozen=True)
class Plan:
    """What a run measures.

    Attributes
    ----------
    rules : RuleSet
    tables, threads : list of int
        Ascending.
    groups : tuple of str
        Of ``GROUPS``.
    repeats : int
        Samples of each row.
    seconds : float
        Least length of a sample that is aimed at.
    peers, quick : bool
    """

    rules: RuleSet
    tables: list[int]
    threads: list[int]
    groups: tuple[str, ...]
    repeats: int
    seconds: float
    peers: bool = False
    quick: bool = False


def make_plan(
    rules: str = "playmore",
    tables: str | None = None,
    threads: str | None = None,
    only: str | None = None,
    repeats: int | None = None,
    seconds: float | None = None,
    peers: bool = False,
    quick: bool = False,
) -> Plan:
    """Read the options of the command line; lists are separated by commas.

    Raises
    ------
    OptionError, RulesError
        If one is out of range, or the rules cannot be played.
    """
    groups = GROUPS if only is None else tuple(only.split(","))
    for group in groups:
        if group not in GROUPS:
            raise OptionError(
                f"--only: expected some of {', '.join(GROUPS)}; got {group!r}"
                f"{did_you_mean(group, GROUPS)}"
            )
    repeats = (3 if quick else 5) if repeats is None else repeats
    seconds = (0.2 if quick else 0.3) if seconds is None else seconds
    if not 1 <= repeats <= 1000:
        raise OptionError(f"--repeats: expected 1 to 1000, got {repeats}")
    if not 0.001 <= seconds <= 600:
        raise OptionError(f"--seconds: expected 0.001 to 600, got {seconds}")
    return Plan(
        rules=get_rules(rules),
        tables=_numbers("--tables", tables, _QUICK_TABLES if quick else _TABLES, _MAX_TABLES),
        threads=_numbers("--threads", threads, _THREADS, _MAX_THREADS),
        groups=groups,
        repeats=repeats,
        seconds=seconds,
        peers=peers,
        quick=quick,
    )


def rows_of(plan: Plan) -> list[Row]:
    """Return the rows of a plan; a quick one has fewer of each kind, each as in a whole run."""
    from tressette_train.bench import batch_rows, env_rows, learning_rows, peer_rows, startup_rows

    rules, tables, threads = plan.rules, plan.tables, plan.threads
    middle = [count for count in tables if count == 4096] or tables[-1:]
    rows: list[Row] = []
    if BATCH in plan.groups:
        rows += batch_rows.batch_rows(rules, tables, threads)
    if ENVIRONMENTS in plan.groups:
        rows += env_rows.env_rows(rules)
        rows += env_rows.vector_rows(rules, middle if plan.quick else tables, threads)
    if LEARNING in plan.groups:
        rows += learning_rows.inference_rows(rules, middle if plan.quick else tables, threads)
        rows += learning_rows.training_rows(rules, threads)
    if STARTUP in plan.groups:
        rows += startup_rows.startup_rows()
    if plan.quick:
        rows = [row for row in rows if row.threads == 1 or (row.name, row.tables) == _SHARED]
        rows = [row for row in rows if row.name not in _NOT_QUICK]
    if plan.peers:
        rows += peer_rows.peer_rows()
    return rows


def run_benchmark(plan: Plan, on_progress: Callable[[str], None] = lambda name: None) -> Report:
    """Measure the rows of a plan side by side."""
    from tressette_env import BatchTable
    from tressette_env.state import STATE_DTYPE
    from tressette_train.bench.machine import describe_machine, load_average
    from tressette_train.bench.peer_rows import missing_peers

    before = load_average()
    measured = measure(rows_of(plan), plan.repeats, plan.seconds, on_progress)
    kept = BatchTable(1, plan.rules, seed=0).snapshot().states.nbytes
    return Report(
        settings={
            "rules": plan.rules.name,
            "repeats": plan.repeats,
            "seconds": plan.seconds,
            "quick": plan.quick,
        },
        machine={**describe_machine(), "load_before": before, "load_after": load_average()},
        memory={"state_bytes": STATE_DTYPE.itemsize, "kept_bytes": kept},
        rows=tuple(measured),
        missing_peers=tuple(missing_peers()) if plan.peers else (),
    )


def run(
    plan: Plan,
    read: Path | None,
    as_json: bool,
    targets: bool,
    chart: Path | None,
    write: Path | None,
) -> None:
    """Measure, or read what was measured before, and show it.

    Parameters
    ----------
    plan : Plan
        What to measure.
    read : Path, optional
        What an earlier run printed with ``--json``, to be shown instead of measuring.
    as_json : bool
        Print one JSON object instead of tables.
    targets : bool
        Print the targets only.
    chart, write : Path, optional
        PNG to draw; Markdown page to write the results into.

    Raises
    ------
    TressetteError
        If a file is not as expected; seen before anything is measured.
    """
    from tressette_train.bench.chart import check_chart, draw_report
    from tressette_train.bench.page import check_page, write_results

    report = None if read is None else read_report(read)
    if chart is not None:
        check_chart(chart, rows_of(plan) if report is None else report.rows)
    if write is not None:
        check_page(write)
    if report is None:
        with _progress(len(rows_of(plan)), plan.repeats) as advance:
            report = run_benchmark(plan, advance)
    with ExitStack() as last:  # last in, first out; what fails keeps nothing else from being done
        last.callback(_show, report, as_json, targets)
        if write is not None:
            last.callback(write_results, report, write)
        if chart is not None:
            last.callback(draw_report, report, chart)


def show_signature(as_json: bool) -> None:
    """Print the integers that change only when behaviour does."""
    from tressette_train.bench.signature import COLUMNS, signature

    found = signature()
    if as_json:
        print(json.dumps({"signature": found}, indent=2))
        return
    for column, meaning in COLUMNS.items():
        print(f"{column}: {meaning}")
    width = max(map(len, found))
    print(f"\n{'':{width}}", *(f"{column:>{_column(column)}}" for column in COLUMNS))
    for name, numbers in found.items():
        cells = (f"{numbers[column]:>{_column(column)}}" for column in COLUMNS)
        print(f"{name:{width}}", *cells)


def _column(name: str) -> int:
    return max(len(name), 9 if name == "perft" else 10)


def _show(report: Report, as_json: bool, targets: bool) -> None:
    from tressette_train.bench.screen import notes, sheets, target_sheet, to_rich
    from tressette_train.bench.targets import target_json

    if as_json:
        content = {**report.to_json(), "targets": target_json(report)}
        print(json.dumps(content, indent=2, allow_nan=False))
        return
    console = Console()
    for sheet in [target_sheet(report)] if targets else sheets(report):
        console.print(to_rich(sheet, console.width))
    for note in notes(report):
        console.print(note, highlight=False, markup=False)


def _numbers(option: str, given: str | None, default: str, most: int) -> list[int]:
    """Read integers separated by commas, ascending and each once."""
    text = default if given is None else given
    parts: Sequence[str] = text.split(",")
    if not all(part.strip().isascii() and part.strip().isdigit() for part in parts):
        raise OptionError(f"{option}: expected integers separated by commas, got {text!r}")
    numbers = sorted({int(part) for part in parts})
    if numbers[0] < 1 or numbers[-1] > most:
        raise OptionError(f"{option}: expected integers from 1 to {most}, got {text!r}")
    return numbers


@contextmanager
def _progress(rows: int, rounds: int) -> Iterator[Callable[[str], None]]:
    """Show on standard error how far the block is: a bar, or a line a round without a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        calls = itertools.count()

        def say(_: str) -> None:
            done, row = divmod(next(calls), rows)
            if row == 0:
                what = f"round {done} of {rounds}" if done else f"setting up {rows} rows"
                print(f"bench: {what}", file=sys.stderr, flush=True)

        yield say
        return
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    ) as bar:
        total = rows * (1 + rounds)
        task = bar.add_task("starting (the first run compiles for some seconds)", total=total)
        yield lambda name: bar.update(task, advance=1, description=f"measuring {name}")
