"""The command ``tressette eval``: progress, and results as a table or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from tressette_env.rulesets import get_rules
from tressette_train.evaluate import PairingResult, cards_to_play, evaluate, versions
from tressette_train.tables import results_table

__all__ = ["results_json", "run"]


def run(agents: Sequence[str], rules: str, deals: int, seed: int, as_json: bool) -> None:
    """Evaluate the agents and print what came out: one JSON object, or a table.

    Raises
    ------
    TressetteError
        As ``evaluate``; nothing has been printed then.
    """
    total = cards_to_play(len(agents), get_rules(rules), deals)
    with _progress(total) as advance:
        results = evaluate(agents, rules, deals, seed, on_progress=advance)
    if as_json:
        print(results_json(results))
    else:
        Console().print(results_table(results))


def results_json(results: Sequence[PairingResult]) -> str:
    """Return the results and the versions they depend on as one JSON object."""
    content = {"results": [result.to_json() for result in results], "versions": versions()}
    return json.dumps(content, indent=2, allow_nan=False)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error while the block runs, if that is a terminal."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("starting (the first run compiles for some seconds)", total=total)

        def advance(cards: int) -> None:
            bar.update(task, advance=cards, description="playing")

        yield advance
