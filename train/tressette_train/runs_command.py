"""The command ``tressette runs``: what has been trained, how far it is, and how it did."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tressette_env.errors import ConfigError, RunFolderError, TressetteError
from tressette_train.chart_file import check_chart_file, write_chart
from tressette_train.config_file import read_config
from tressette_train.metrics import parse_row, read_metrics
from tressette_train.run_folder import RUNS, RunFolder

__all__ = ["RunSummary", "run", "summarise_runs"]

_MARGIN = "margin_thirds/"
_WIDE = 90  # columns of a terminal that hold the table


@dataclass(frozen=True)
class RunSummary:
    """One run in a line.

    Attributes
    ----------
    path : str
    state : {"training", "finished", "stopped", "new", "damaged"}
        "new": no update was logged.
    rules : str
    updates, decisions : int
        That were made.
    budget : int, optional
        Decisions that the config asks for; None: it asks for a time.
    seconds : float
        Time spent on updates.
    used : float
        Share of the config's budget that is used up, of decisions or of time.
    changed : str
        When a file of it was last written, ISO 8601 to the minute.
    margins_thirds : dict of str to float
        The last update's margin over each opponent of the pool.
    problem : str
        Why it is damaged.
    """

    path: str
    state: str
    rules: str = ""
    updates: int = 0
    decisions: int = 0
    budget: int | None = 0
    seconds: float = 0.0
    used: float = 0.0
    changed: str = ""
    margins_thirds: dict[str, float] | None = None
    problem: str = ""


def summarise_runs(folder: Path) -> list[RunSummary]:
    """Return the runs in a folder, the one that was written to last first.

    Raises
    ------
    RunFolderError
        If it cannot be read, or is a file.
    """
    if not folder.exists():
        return []
    try:
        paths = [path for path in folder.iterdir() if (path / "config.yaml").is_file()]
        paths.sort(key=_last_change, reverse=True)
    except OSError as error:
        raise RunFolderError(
            f"{folder}: cannot be read as a folder of runs ({error.strerror or error})"
        ) from None
    return [_summary(RunFolder(path)) for path in paths]


def run(folder: Path = RUNS, as_json: bool = False, chart: Path | None = None) -> None:
    """Print the runs in a folder; and draw what they have learned.

    Raises
    ------
    TressetteError
        If the folder cannot be read, or the chart cannot be written or would be empty.
    """
    if chart is not None:
        check_chart_file(chart)
    found = summarise_runs(folder)
    if chart is not None:
        _draw(found, chart, folder)
    if as_json:
        print(json.dumps({"runs": [asdict(one) for one in found]}, indent=2, allow_nan=False))
        return
    if not found:
        print(f"no runs in {folder}: 'tressette train configs/quick.yaml' makes one")
        return
    console = Console()
    if console.width < _WIDE:
        for one in found:
            console.print(Text("\n".join(_lines(one)) + "\n", overflow="fold"))
        return
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("run", "rules", "state"):
        table.add_column(column, overflow="fold")
    for column in ("decisions", "minutes", "changed"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("last margins, thirds a deal", overflow="fold")
    for one in found:
        table.add_row(*map(Text, (one.path, one.rules, *_cells(one), _margins(one))))
    console.print(table)


def _draw(found: list[RunSummary], chart: Path, folder: Path) -> None:
    from tressette_train.charts import runs_figure  # loads matplotlib

    drawn = [one for one in reversed(found) if one.updates]
    if not drawn:
        raise RunFolderError(f"--chart: expected runs with a logged update in {folder}, got none")
    rows = {Path(one.path).name: read_metrics(Path(one.path)) for one in drawn}
    write_chart(runs_figure(rows), chart)


def _cells(one: RunSummary) -> tuple[str, str, str, str]:
    share = "" if one.problem else f" ({100 * one.used:.0f} %)"
    minutes = f"{one.seconds / 60:.1f}"
    return one.state, f"{one.decisions:,}{share}", minutes, one.changed.replace("T", " ")


def _lines(one: RunSummary) -> list[str]:
    state, decisions, minutes, changed = _cells(one)
    return [
        f"{one.path}  {state}",
        f"  {one.rules}, {decisions} decisions",
        f"  {minutes} minutes, changed {changed}",
        *([f"  {_margins(one)}"] if _margins(one) else []),
    ]


def _margins(one: RunSummary) -> str:
    if one.problem:
        return one.problem
    return ", ".join(f"{name} {value:+.1f}" for name, value in (one.margins_thirds or {}).items())


def _summary(folder: RunFolder) -> RunSummary:
    path = str(folder.path)
    try:
        config = read_config(folder.config)
        row = _last_row(folder.metrics)
    except (TressetteError, OSError) as error:
        return RunSummary(path, "damaged", problem=str(error), changed=_changed(folder.path))
    decisions = int(row.get("decisions", 0))
    seconds = float(row.get("seconds", 0.0))
    used = config.used(decisions, seconds)
    state = "new" if not row else "finished" if used >= 1 else "stopped"
    if folder.is_locked():
        state = "training"
    margins = {
        name.removeprefix(_MARGIN): float(value)
        for name, value in row.items()
        if name.startswith(_MARGIN)
    }
    return RunSummary(
        path,
        state,
        config.rules,
        int(row["update"]) + 1 if row else 0,
        decisions,
        config.decisions,
        seconds,
        used,
        _changed(folder.path),
        margins,
    )


def _last_row(metrics: Path) -> dict[str, Any]:
    """Return the last whole row of the metrics; {} if there is none."""
    if not metrics.is_file():
        return {}
    for line in reversed(metrics.read_bytes().splitlines()):
        row = parse_row(line)
        if row is not None:  # else it was cut off by a kill
            return row
    if metrics.stat().st_size:
        raise ConfigError(f"{metrics}: no whole row in it")
    return {}


def _last_change(path: Path) -> float:
    return max(one.stat().st_mtime for one in (path / "config.yaml", *path.glob("metrics.jsonl")))


def _changed(path: Path) -> str:
    moment = datetime.datetime.fromtimestamp(_last_change(path))
    return moment.isoformat(timespec="minutes")
