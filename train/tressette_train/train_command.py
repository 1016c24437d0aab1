"""The command ``tressette train``: checks everything, trains, and says where everything is.

Under ``torchrun`` all ranks run it; the first one makes the folder, writes and talks.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tressette_env.errors import OptionError
from tressette_train.config import TrainConfig
from tressette_train.config_file import read_config
from tressette_train.evaluate import evaluate
from tressette_train.ranks import Ranks
from tressette_train.run_folder import RunFolder, default_folder
from tressette_train.tables import results_table
from tressette_train.trainer import Trainer
from tressette_train.training_session import STOPPED, TrainingSession, named_folder, train_session

__all__ = ["run"]


def run(
    config_file: Path | None,
    overrides: Sequence[str] = (),
    name: str | None = None,
    run_dir: Path | None = None,
    resume: Path | None = None,
    benchmark: bool = False,
) -> int:
    """Train, and return the exit code: 0, or 130 after Ctrl-C or a termination signal.

    Raises
    ------
    TressetteError
        If anything in the arguments, the config or the folder is wrong, or training had to stop.
    """
    with Ranks.joined() as ranks:
        console = Console(quiet=not ranks.is_first)
        trainer = train_session(
            console,
            ranks,
            lambda session: _open(session, config_file, overrides, name, run_dir, resume),
        )
    if not ranks.is_first:
        return 0 if trainer.is_finished else STOPPED
    if not trainer.is_finished:
        _tell(console, f"stopped after update {trainer.counters.update}; everything is saved")
        _tell(console, f"go on with: tressette train --resume {trainer.folder.path}")
        return STOPPED
    _say_where(console, trainer)
    if benchmark:
        _benchmark(console, trainer.config, trainer.folder)
    return 0


def _open(
    session: TrainingSession,
    config_file: Path | None,
    overrides: Sequence[str],
    name: str | None,
    run_dir: Path | None,
    resume: Path | None,
) -> Trainer:
    """Start the run that the arguments ask for, or go on with it."""
    if resume is not None:
        if not (config_file is None and name is None and run_dir is None):
            raise OptionError(
                "train: --resume takes the config and the folder of the run; expected no "
                "CONFIG, --name or --run-dir beside it"
            )
        return session.resume(resume, overrides)
    if config_file is None:
        raise OptionError("train: expected a config, such as configs/quick.yaml, or --resume RUN")
    folder = named_folder("train", name, run_dir, lambda: default_folder(config_file.stem))
    return session.start(read_config(config_file, overrides), folder)


def _say_where(console: Console, trainer: Trainer) -> None:
    folder, counters = trainer.folder, trainer.counters
    _tell(
        console,
        f"trained on {counters.decisions:,} decisions in {counters.seconds:.0f} s "
        f"({counters.plays / max(counters.seconds, 1e-9):,.0f} plays/s)",
    )
    _tell(console, f"policy       {folder.policy}")
    board = folder.tensorboard
    _tell(console, f"TensorBoard  {board}  (tensorboard --logdir {board})")
    _tell(console, f"chart        {folder.chart}")
    _tell(
        console,
        f"next         {_program()} eval learned:{folder.path} greedy random --rules "
        f"{trainer.rules.name}\n"
        f"             {_program()} play --against learned:{folder.path} "
        f"--rules {trainer.rules.name}",
    )


def _program() -> str:
    """Return what to type for this program: its path, where its name alone would not be found."""
    called = Path(sys.argv[0])
    is_found = called.name != "tressette" or shutil.which("tressette")
    return "tressette" if is_found else str(called)


def _benchmark(console: Console, config: TrainConfig, folder: RunFolder) -> None:
    """Print the policy's margins on deals that training has not used."""
    settings = config.benchmark
    policy = f"learned:{folder.path}"
    results = [
        result
        for agent in settings.agents
        for result in evaluate([policy, agent], config.rules, settings.deals, settings.seed)
    ]
    console.print(results_table(results))


def _tell(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
