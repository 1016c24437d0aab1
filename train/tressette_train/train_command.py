"""The command ``tressette train``: checks everything, trains, and says where everything is."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from rich.console import Console

from tressette_env.errors import ConfigError, OptionError
from tressette_train.charts import draw_learning_curve
from tressette_train.checkpoint import newest_checkpoint
from tressette_train.config import TrainConfig
from tressette_train.config_file import change_config, read_config
from tressette_train.display import TrainingDisplay
from tressette_train.evaluate import evaluate
from tressette_train.run_folder import RUNS, RunFolder, default_folder
from tressette_train.tables import results_table
from tressette_train.trainer import Trainer

__all__ = ["CHANGEABLE", "run"]

STOPPED = 130  # exit code after Ctrl-C, as shells have it

#: Keys, or sections, that ``--set`` may change when a run is resumed.
CHANGEABLE = ("decisions", "torch_threads", "checkpoint", "benchmark")


def run(
    config_file: Path | None,
    overrides: Sequence[str] = (),
    name: str | None = None,
    run_dir: Path | None = None,
    resume: Path | None = None,
    benchmark: bool = False,
) -> int:
    """Train, and return the exit code: 0, or 130 after Ctrl-C.

    Raises
    ------
    TressetteError
        If anything in the arguments, the config or the folder is wrong, or training had to stop.
    """
    console = Console()
    with TrainingDisplay(console) as display, contextlib.ExitStack() as held:
        if resume is not None:
            if config_file is not None or name is not None or run_dir is not None:
                raise OptionError(
                    "train: --resume takes the config and the folder of the run; expected no "
                    "CONFIG, --name or --run-dir beside it"
                )
            folder = RunFolder.open(resume)
            held.enter_context(folder.locked())
            trainer = _resume(folder, overrides, display)
        else:
            trainer = _start(config_file, overrides, name, run_dir, display)
            held.enter_context(trainer.folder.locked())
        with _stops_on_ctrl_c(trainer, display):
            trainer.train()
        with trainer.folder.writing("the chart"):
            draw_learning_curve(trainer.folder.path, _title(trainer))
    if not trainer.is_finished:
        _tell(console, f"stopped after update {trainer.counters.update}; everything is saved")
        _tell(console, f"go on with: tressette train --resume {trainer.folder.path}")
        return STOPPED
    _say_where(console, trainer)
    if benchmark:
        _benchmark(console, trainer.config, trainer.folder)
    return 0


def _start(
    config_file: Path | None,
    overrides: Sequence[str],
    name: str | None,
    run_dir: Path | None,
    display: TrainingDisplay,
) -> Trainer:
    if config_file is None:
        raise OptionError("train: expected a config, such as configs/quick.yaml, or --resume RUN")
    if name is not None and run_dir is not None:
        raise OptionError("train: expected --name or --run-dir, got both")
    if name is not None and (Path(name).name != name or name in (".", "..")):
        raise OptionError(f"train: --name {name!r}: expected a folder's name; paths: --run-dir")
    config = read_config(config_file, overrides)
    path = run_dir or (RUNS / name if name else default_folder(config_file))
    RunFolder.check_free(path)
    trainer = Trainer(config, RunFolder(path), display)
    RunFolder.create(path, config)
    display.message(
        f"training {config.rules} for {config.decisions:,} decisions, seed {config.seed}, in {path}"
    )
    return trainer


def _resume(folder: RunFolder, overrides: Sequence[str], display: TrainingDisplay) -> Trainer:
    path = folder.path
    found = newest_checkpoint(folder.checkpoints, lambda _: None)
    config = change_config(found.config, overrides, str(path), CHANGEABLE)
    trainer = Trainer(config, folder, display)
    trainer.resume()
    if trainer.is_finished:
        raise ConfigError(
            f"run {path} is finished ({trainer.counters.decisions:,} decisions): to train on, add "
            f"--set decisions={2 * config.decisions}"
        )
    display.message(
        f"going on with {path} after update {trainer.counters.update} "
        f"({trainer.counters.decisions:,} of {config.decisions:,} decisions)"
    )
    return trainer


@contextlib.contextmanager
def _stops_on_ctrl_c(trainer: Trainer, display: TrainingDisplay) -> Iterator[None]:
    """Make the first Ctrl-C finish the update; a second one interrupts at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if trainer.stop_requested:
            raise KeyboardInterrupt
        trainer.stop_requested = True
        display.message("stopping after this update (again Ctrl-C: at once)")

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _title(trainer: Trainer) -> str:
    name, seed = trainer.folder.path.name, trainer.config.seed
    return f"{name}: self-play on {trainer.rules.name}, seed {seed}"


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
        f"next         tressette eval learned:{folder.path} greedy random --rules "
        f"{trainer.rules.name}\n"
        f"             tressette play --against learned:{folder.path} --rules {trainer.rules.name}",
    )


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
