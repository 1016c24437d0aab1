"""The command ``tressette eval``: progress, and results as a table or as JSON."""

from __future__ import annotations

import itertools
import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from tressette_env.errors import OptionError, shown
from tressette_env.rulesets import RuleSet, get_rules
from tressette_train.critic import load_critic
from tressette_train.deal_sets import get_deal_set
from tressette_train.evaluate import PairingResult, cards_to_play, check_deals, evaluate, versions
from tressette_train.ladder import (
    HOUSES,
    RUNGS,
    LadderResult,
    cards_to_climb,
    check_rungs,
    climb,
    is_slow,
    ladder_page,
)
from tressette_train.output_file import check_output, write_output
from tressette_train.results_file import to_bytes
from tressette_train.tables import results_table

__all__ = ["Deals", "choose_deals", "results_json", "run", "run_ladder"]


@dataclass(frozen=True)
class Deals:
    """What is to be played: deals 0 to ``deals - 1`` of a seed, and their name if they have one."""

    rules: str = "playmore"
    deals: int = 2000
    seed: int = 0
    deal_set: str | None = None

    @property
    def options(self) -> list[str]:
        """On the command line."""
        if self.deal_set is not None:
            return ["--deal-set", self.deal_set]
        return ["--rules", self.rules, "--deals", str(self.deals), "--seed", str(self.seed)]


_BATCH = 64  # deals that are played, recorded and given to a process at once


def choose_deals(
    rules: str | None, deals: int | None, seed: int | None, deal_set: str | None
) -> Deals:
    """Put together what the command line says of the deals, and what it leaves to the defaults.

    Raises
    ------
    TressetteError
        If a deal set is named that does not exist, or together with what it fixes.
    """
    given = {"--rules": rules, "--deals": deals, "--seed": seed}
    named = [option for option, value in given.items() if value is not None]
    if deal_set is None:
        chosen = {option[2:]: given[option] for option in named}
        return Deals(**chosen)  # type: ignore[arg-type]
    if named:
        raise OptionError(
            f"--deal-set fixes the house, the deals and the seed: leave out {' and '.join(named)}, "
            "or leave out --deal-set"
        )
    found = get_deal_set(deal_set)
    return Deals(found.rules, found.deals, found.seed, found.name)


def run(
    agents: Sequence[str],
    what: Deals,
    as_json: bool,
    *,
    until: float | None = None,
    workers: int = 1,
    out: Path | None = None,
    record: Path | None = None,
    critic: str | None = None,
) -> None:
    """Evaluate the agents and print what came out: one JSON object, or a table.

    What was finished is printed, too, if Ctrl-C or an agent that fails ends it; the file of results
    is then left alone.

    Parameters
    ----------
    agents : sequence of str
    what : Deals
    as_json : bool
    until, workers, record, critic
        As for ``evaluate``.
    out : Path, optional
        File for every deal; another file there is replaced.

    Raises
    ------
    TressetteError
        As ``evaluate``, or if the file cannot be written.
    """
    if out is not None:
        check_output("--out", out)
    rules = get_rules(what.rules)
    judge = None if critic is None else load_critic(critic, rules)
    if judge is not None:
        # Before a card is dealt: whoever sees it knows that the critic was not chosen by the deals.
        print(f"critic {judge.name}: sha256 {judge.sha256}", file=sys.stderr)
    total = cards_to_play(len(agents), rules, what.deals)
    finished: list[PairingResult] = []
    try:
        with _progress(total) as advance:
            evaluate(
                agents,
                what.rules,
                what.deals,
                what.seed,
                until=until,
                workers=workers,
                record=record,
                critic=judge,
                batch_size=_BATCH,
                on_progress=advance,
                on_result=finished.append,
            )
        if out is not None:
            command = ["tressette", "eval", *agents, *what.options]
            command += [] if until is None else ["--until", str(until)]
            command += [] if critic is None else ["--critic", critic]
            data = to_bytes(finished, shlex.join(command), what.deal_set)
            write_output("--out", out, data, "the results are on standard output")
    finally:
        if finished and as_json:
            print(results_json(finished, what.deal_set, until))
        elif finished:
            if what.deal_set is not None:
                print(f"deal set {what.deal_set}")
            if until is not None:
                print(_until_text(finished, what, until))
            Console().print(results_table(finished))


def _until_text(results: Sequence[PairingResult], what: Deals, until: float) -> str:
    """Say how far it came, and which intervals these are."""
    widest = max(result.best_margin.half_width for result in results)
    return (
        f"until ±{until:g} thirds: {'' if widest <= until else 'not '}reached, ±{widest:.2f} after "
        f"{results[0].deals} of at most {what.deals} deals; the intervals are for repeated looks"
    )


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

    Everything is checked before a card is played. What was finished is printed, too, if Ctrl-C or
    an agent that fails ends it; the file is then left alone.

    Parameters
    ----------
    agents : sequence of str
        Rungs, weakest first; none: the kit's for the seats of the house.
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
        As ``climb``, or if the page cannot be written; it is on standard output then.
    """
    if write is not None:
        check_output("--write", write)
    count = 1000 if deals is None else deals
    check_deals(count, "--deals")
    houses = _houses(rules)
    rungs = [check_rungs(agents or RUNGS[house.seats], house) for house in houses]
    specs = [tuple(agent.spec for agent in made) for made in rungs]
    if slow_deals is not None:
        check_deals(slow_deals, "--slow-deals")
        if not any(is_slow(spec) for names in specs for spec in names):
            raise OptionError("--slow-deals goes with pimc, and no rung of this ladder is one")
    command = ["tressette", "eval", *agents, "--ladder"]
    command += ["--rules", ",".join(house.name for house in houses)]
    command += ["--deals", str(count)]
    command += [] if slow_deals is None else ["--slow-deals", str(slow_deals)]
    command += ["--seed", str(seed)]
    began = time.monotonic()
    finished: list[list[PairingResult]] = [[] for _ in houses]

    def page() -> str:
        ladders = map(LadderResult, houses, specs, map(tuple, finished))
        return ladder_page(list(ladders), shlex.join(command), time.monotonic() - began)

    text = ""
    try:
        total = sum(
            cards_to_climb(names, house, count, slow_deals)
            for names, house in zip(specs, houses, strict=True)
        )
        with _progress(total) as advance:
            for made, house, results in zip(rungs, houses, finished, strict=True):
                climb(
                    made,
                    house,
                    count,
                    seed,
                    slow_deals=slow_deals,
                    on_progress=advance,
                    on_result=results.append,
                )
        text = page()
        if write is not None:
            write_output("--write", write, text.encode(), "the results are on standard output")
    finally:
        if any(finished) and as_json:
            print(results_json(list(itertools.chain(*finished))))
        elif any(finished):
            print(text or page(), end="")


def _houses(rules: str | None) -> list[RuleSet]:
    """Read the houses of a ladder, separated by commas."""
    names = HOUSES if rules is None else [name.strip() for name in rules.split(",")]
    if len(set(names)) < len(names) or "" in names:
        raise OptionError(f"--rules: expected presets like A,B, each once, got {shown(rules)}")
    return [get_rules(name) for name in names]


def results_json(
    results: Sequence[PairingResult], deal_set: str | None = None, until: float | None = None
) -> str:
    """Return the results and the versions they depend on as one JSON object."""
    content = {
        "deal_set": deal_set,
        "until": until,
        "results": [result.to_json() for result in results],
        "versions": versions(),
    }
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
