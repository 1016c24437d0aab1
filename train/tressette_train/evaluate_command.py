"""The command ``tressette eval``: progress, and results as a table or as JSON."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from tressette_agents.whole_file import write_whole
from tressette_env.errors import OptionError
from tressette_env.rulesets import get_rules
from tressette_train.evaluate import PairingResult, cards_to_play, evaluate, versions
from tressette_train.ladder import HOUSES, RUNGS, cards_to_climb, climb, ladder_page
from tressette_train.tables import results_table

__all__ = ["results_json", "run", "run_ladder"]


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


def run_ladder(
    agents: Sequence[str],
    rules: str | None,
    deals: int | None,
    slow_deals: int | None,
    seed: int,
    as_json: bool,
    write: Path | None,
) -> None:
    """Play the kit's ladder, or one of the given agents, and print it as a page or as JSON.

    Parameters
    ----------
    agents : sequence of str
        Rungs, weakest first; none: the kit's.
    rules : str, optional
        Presets, separated by commas; by default those of the kit's ladder.
    deals : int, optional
        For each pairing.
    slow_deals : int, optional
        For each pairing with a rung that takes many milliseconds for a card.
    seed : int
    as_json : bool
    write : Path, optional
        File for the page; another page there is replaced.

    Raises
    ------
    TressetteError
        As ``evaluate``, or if the page cannot be written.
    """
    rungs = agents or RUNGS
    houses = [get_rules(name) for name in (rules.split(",") if rules else HOUSES)]
    count = 1000 if deals is None else deals
    command = ["tressette", "eval", *agents, "--ladder"]
    command += ["--rules", ",".join(house.name for house in houses)]
    command += ["--deals", str(count)]
    command += [] if slow_deals is None else ["--slow-deals", str(slow_deals)]
    command += ["--seed", str(seed)]
    began = time.monotonic()
    total = sum(cards_to_climb(rungs, house, count, slow_deals) for house in houses)
    with _progress(total) as advance:
        ladders = [
            climb(rungs, house, count, seed, slow_deals=slow_deals, on_progress=advance)
            for house in houses
        ]
    page = ladder_page(ladders, shlex.join(command), time.monotonic() - began)
    if write is not None:
        try:
            write_whole(write.resolve(), page.encode())
        except OSError as error:
            raise OptionError(
                f"--write: {write} cannot be written ({error.strerror or error})"
            ) from None
    if as_json:
        print(results_json([result for ladder in ladders for result in ladder.results]))
    else:
        print(page, end="")


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
