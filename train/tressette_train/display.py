"""What a person sees while training: a bar on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from tressette_train.checkpoint import Counters
from tressette_train.config import TrainConfig

__all__ = ["TrainingDisplay"]

_LINE_EVERY_SECONDS = 15.0


class TrainingDisplay:
    """Shows the progress of a run on a console.

    Parameters
    ----------
    console : Console
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[status]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("training", total=1, status="starting", visible=False)
        self._began = (0.0, Counters())  # time and counters when this session began
        self._line_at = 0.0
        self._measured: dict[str, str] = {}  # the last margin over each reference

    def message(self, text: str) -> None:
        """Show a line."""
        self._bar.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def begin(self, counters: Counters) -> None:
        """Start the clock of this session."""
        self._began = (time.monotonic(), replace(counters))
        self._line_at = self._began[0]

    def progress(self, counters: Counters, config: TrainConfig, row: dict[str, float]) -> None:
        """Show how far training is, plays per second, time left, and margins."""
        now = time.monotonic()
        began, before = self._began
        seconds = max(now - began, 1e-9)
        plays = (counters.plays - before.plays) / seconds
        used = config.used(counters.decisions, counters.seconds)
        used_before = config.used(before.decisions, before.seconds)
        left = max(1 - used, 0.0) * seconds / max(used - used_before, 1e-9)
        margins = ", ".join(
            f"{tag.partition('/')[2]} {value:+.1f}"
            for tag, value in row.items()
            if tag.startswith("margin_thirds/")
        )
        for tag, value in row.items():
            section, _, name = tag.partition("/")
            if section == "reference_margin_thirds":
                half_width = row[f"reference_half_width/{name}"]
                self._measured[name] = f"{name} {value:+.1f} ± {half_width:.1f}"
        measured = ", ".join(self._measured.values())
        status = (
            f"{plays:,.0f} plays/s, {_duration(left)} left"
            + (f", thirds over {margins}" if margins else "")
            + (f", measured over {measured}" if measured else "")
        )
        self._bar.update(
            self._task,
            completed=min(used, 1.0),
            status=status,
            visible=True,
        )
        is_end = used >= 1
        if not self.console.is_terminal and (now - self._line_at >= _LINE_EVERY_SECONDS or is_end):
            self._line_at = now
            share = min(int(100 * used), 100)
            self.message(f"{share:3d} % of {config.budget}: {status}")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
