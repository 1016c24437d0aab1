"""The command ``tressette attack``: trains against one agent alone, then says what that won.

The run is an ordinary one, with a folder as ``tressette train`` makes it; so Ctrl-C saves, and
``--resume`` goes on.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from tressette_env.errors import OptionError
from tressette_env.policies import Agent, as_agent
from tressette_env.rulesets import get_rules
from tressette_train.attack import Attack, attack_config, attacked_agent, measure
from tressette_train.checkpoint import Counters, newest_checkpoint
from tressette_train.config import TrainConfig
from tressette_train.config_file import change_config, read_config
from tressette_train.evaluate import cards_to_play, check_deals, versions
from tressette_train.output_file import check_output, write_output
from tressette_train.ranks import Ranks
from tressette_train.results_file import to_bytes
from tressette_train.run_folder import RunFolder, default_folder
from tressette_train.share_bar import counter, share_bar
from tressette_train.tables import results_table
from tressette_train.training_session import CHANGEABLE, STOPPED, named_folder, train_session

__all__ = ["MINUTES", "Order", "run"]

MINUTES = 20.0  # of training, if nothing else is said
_MAX_NAME = 60  # characters of an agent's spec in a folder's name


@dataclass(frozen=True)
class Order:
    """What the command line asks for; None: what is usual, or what the resumed run has.

    Attributes
    ----------
    agent, rules : str, optional
    minutes, decisions
        The budget; one of them.
    seed : int, optional
        Of the training.
    deals, deals_seed : int, optional
        Of the measurement.
    start_from : str, optional
        Policy that the learner starts as.
    name : str, optional
    run_dir : Path, optional
    """

    agent: str | None = None
    rules: str | None = None
    minutes: float | None = None
    decisions: int | None = None
    seed: int | None = None
    deals: int | None = None
    deals_seed: int | None = None
    start_from: str | None = None
    name: str | None = None
    run_dir: Path | None = None

    def config(self) -> TrainConfig:
        """Return the config of the new run.

        Raises
        ------
        TressetteError
            As ``attack_config``, or if no agent is named.
        """
        if self.agent is None:
            raise OptionError("attack: expected the spec of an agent, like greedy, or --resume RUN")
        given = {key: getattr(self, key) for key in ("rules", "seed", "deals", "deals_seed")}
        minutes = MINUTES if self.decisions is None and self.minutes is None else self.minutes
        return attack_config(
            self.agent,
            minutes=minutes,
            decisions=self.decisions,
            start_from=self.start_from,
            **{key: value for key, value in given.items() if value is not None},
        )

    def check(self, is_resumed: bool) -> None:
        """Raise ``OptionError`` if options contradict each other."""
        if self.minutes is not None and self.decisions is not None:
            raise OptionError("attack: expected --minutes or --decisions, got both")
        if self.deals is not None:
            check_deals(self.deals, "--deals")
        fixed = {
            "AGENT": self.agent,
            "--rules": self.rules,
            "--seed": self.seed,
            "--from": self.start_from,
            "--name": self.name,
            "--run-dir": self.run_dir,
        }
        given = [option for option, value in fixed.items() if value is not None]
        if is_resumed and given:
            raise OptionError(
                f"attack: --resume takes all but the budget and the deals from the run: leave out "
                f"{' and '.join(given)}"
            )

    @property
    def changes(self) -> list[str]:
        """The budget, as ``--set`` has it: a new one takes the place of the run's."""
        if self.minutes is None and self.decisions is None:
            return []
        budget = {"minutes": self.minutes, "decisions": self.decisions}
        return [f"{key}={json.dumps(value)}" for key, value in budget.items()]


def run(order: Order, resume: Path | None, as_json: bool, out: Path | None) -> int:
    """Attack an agent, and return the exit code: 0, or 130 after Ctrl-C.

    Parameters
    ----------
    order : Order
    resume : Path, optional
        Folder of an earlier attack to go on with; a finished one is measured again.
    as_json : bool
        Print one JSON object; what is told on the way goes to standard error.
    out : Path, optional
        File for every deal of the measurement; another file there is replaced.

    Raises
    ------
    TressetteError
        If anything in the arguments or the folder is wrong, or training had to stop.
    """
    order.check(resume is not None)
    if out is not None:
        check_output("--out", out)
    with Ranks.joined() as ranks:
        console = Console(quiet=not ranks.is_first, stderr=as_json)
        attacked = _train(console, ranks, order, resume)
    if not ranks.is_first:
        return 0 if attacked.is_finished else STOPPED
    path, again = attacked.folder.path, f"tressette attack --resume {attacked.folder.path}"
    if not attacked.is_finished:
        _tell(console, f"stopped after update {attacked.counters.update}; everything is saved")
        _tell(console, f"go on with: {again}")
        return STOPPED
    counters = attacked.counters
    _tell(
        console,
        f"trained on {counters.decisions:,} decisions in {counters.seconds:.0f} s against "
        f"{attacked.agent.spec} alone\npolicy       {attacked.folder.policy}",
    )
    try:
        found = _measure(attacked, order)
    except KeyboardInterrupt:
        _tell(console, f"stopped; the run is finished, to measure it: {again}")
        return STOPPED
    if out is not None:
        command = shlex.join(["tressette", "attack", "--resume", str(path)])
        otherwise = f"the run is kept: {again}"
        write_output("--out", out, to_bytes([found.result], command), otherwise)
    if as_json:
        print(json.dumps(_content(found, attacked), indent=2, allow_nan=False))
    else:
        console.print(results_table([found.result]))
        _tell(console, found.verdict)
    return 0


@dataclass(frozen=True)
class _Attacked:
    """A run that has been trained, to its end or not."""

    folder: RunFolder
    config: TrainConfig
    counters: Counters
    agent: Agent

    @property
    def is_finished(self) -> bool:
        return self.config.used(self.counters.decisions, self.counters.seconds) >= 1


def _train(console: Console, ranks: Ranks, order: Order, resume: Path | None) -> _Attacked:
    """Start a run or go on with one; of a finished one there is nothing to do."""
    if resume is not None:
        folder = RunFolder.open(resume)
        config = change_config(read_config(folder.config), order.changes, str(resume), CHANGEABLE)
        spec = attacked_agent(config, f"run {resume}")
        if folder.has_checkpoint:
            counters = newest_checkpoint(folder.checkpoints, lambda _: None).counters
            done = _Attacked(folder, config, counters, as_agent(spec))
            if done.is_finished:
                return done
        trainer = train_session(
            console, ranks, lambda session: session.resume(resume, order.changes)
        )
    else:
        config = order.config()
        spec = attacked_agent(config, "attack")
        name = re.sub(r"[^\w.=-]+", "-", f"attack-{config.rules}-{spec[:_MAX_NAME]}")
        path = named_folder("attack", order.name, order.run_dir, lambda: default_folder(name))
        trainer = train_session(console, ranks, lambda session: session.start(config, path))
    return _Attacked(trainer.folder, trainer.config, trainer.counters, trainer.pool.agents[spec])


def _measure(attacked: _Attacked, order: Order) -> Attack:
    """Measure the run's policy on the deals that are asked for, or on those of its config."""
    usual, rules = attacked.config.benchmark, attacked.config.rules
    deals = usual.deals if order.deals is None else order.deals
    seed = usual.seed if order.deals_seed is None else order.deals_seed
    total = cards_to_play(2, get_rules(rules), deals)
    with share_bar() as show:
        advance = counter(show, "measuring", total)
        return measure(attacked.folder.path, attacked.agent, rules, deals, seed, advance)


def _content(found: Attack, attacked: _Attacked) -> dict[str, Any]:
    """Return everything as JSON values."""
    counters, config = attacked.counters, attacked.config
    return {
        **found.to_json(),
        "training": {
            "run": str(attacked.folder.path),
            "updates": counters.update,
            "decisions": counters.decisions,
            "seconds": counters.seconds,
            "seed": config.seed,
            "exact_endings": config.rollout.exact_endings,
            "start_from": config.start_from,
        },
        "versions": versions(),
    }


def _tell(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
