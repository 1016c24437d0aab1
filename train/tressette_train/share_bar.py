"""A bar on standard error for commands that know what share of their work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

__all__ = ["counter", "share_bar"]


@contextmanager
def share_bar() -> Iterator[Callable[[str, float], None]]:
    """Show a bar while the block runs, if standard error is a terminal.

    Yields
    ------
    callable
        To be told what is being done, and what share of all is done, 0 to 1.
    """
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("starting (the first run compiles for some seconds)", total=1.0)

        def show(what: str, share: float) -> None:
            bar.update(task, completed=share, description=what)

        yield show


def counter(show: Callable[[str, float], None], what: str, total: int) -> Callable[[int], None]:
    """Return what is told of parts that are done, and shows them as a share of ``total``."""
    done = 0

    def advance(more: int) -> None:
        nonlocal done
        done += more
        show(what, done / total)

    return advance
