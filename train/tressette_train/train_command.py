"""The command ``tressette train``: checks everything, trains, and says where everything is.

Under ``torchrun`` all ranks run it; the first one makes the folder, writes and talks.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

import torch
from rich.console import Console

from tressette_env.errors import ConfigError, OptionError, TressetteError
from tressette_train.charts import draw_learning_curve
from tressette_train.checkpoint import newest_checkpoint
from tressette_train.config import TrainConfig
from tressette_train.config_file import change_config, read_config
from tressette_train.device import describe_device
from tressette_train.display import TrainingDisplay
from tressette_train.evaluate import evaluate
from tressette_train.learner import DivergedError
from tressette_train.ranks import Ranks
from tressette_train.run_folder import RUNS, RunFolder, default_folder
from tressette_train.tables import results_table
from tressette_train.trainer import Trainer

__all__ = ["CHANGEABLE", "run"]

STOPPED = 130  # exit code after Ctrl-C, as shells have it

#: Keys, or sections, that ``--set`` may change when a run is resumed.
CHANGEABLE = ("decisions", "torch_threads", "device", "checkpoint", "evaluation", "benchmark")


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
        trainer = _train(console, ranks, config_file, overrides, name, run_dir, resume)
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


def _train(
    console: Console,
    ranks: Ranks,
    config_file: Path | None,
    overrides: Sequence[str],
    name: str | None,
    run_dir: Path | None,
    resume: Path | None,
) -> Trainer:
    """Train until the budget is used up or a signal comes, and draw the chart."""
    with (
        _says_if_memory_is_short(),
        TrainingDisplay(console) as display,
        contextlib.ExitStack() as held,
    ):
        with _one_rank_complains(ranks):
            if resume is None:
                trainer = _start(config_file, overrides, name, run_dir, display, ranks)
            elif config_file is None and name is None and run_dir is None:
                folder = RunFolder.open(resume)
                if ranks.is_first:
                    held.enter_context(folder.locked())
                trainer = _resume(folder, overrides, display, ranks)
            else:
                raise OptionError(
                    "train: --resume takes the config and the folder of the run; expected no "
                    "CONFIG, --name or --run-dir beside it"
                )
            if ranks.is_first:
                held.enter_context(trainer.folder.locked())
        display.message(f"device: {describe_device(trainer.device)}")
        with _stops_on_signals(trainer, display), _one_rank_complains(ranks, DivergedError):
            trainer.train()
        if ranks.is_first:
            with trainer.folder.writing("the chart"):
                draw_learning_curve(trainer.folder.path, _title(trainer))
    return trainer


@contextlib.contextmanager
def _one_rank_complains(
    ranks: Ranks, kind: type[TressetteError] = TressetteError
) -> Iterator[None]:
    """End the other ranks without a word if the block fails so: what is wrong they all find."""
    try:
        yield
    except kind:
        if ranks.is_first:
            raise
        raise SystemExit(1) from None


@contextlib.contextmanager
def _says_if_memory_is_short() -> Iterator[None]:
    try:
        yield
    except (MemoryError, torch.cuda.OutOfMemoryError) as error:
        raise ConfigError(
            "train: not enough memory; expected a smaller rollout.tables, rollout.deals or "
            "minibatch; what was saved is kept"
        ) from error


def _start(
    config_file: Path | None,
    overrides: Sequence[str],
    name: str | None,
    run_dir: Path | None,
    display: TrainingDisplay,
    ranks: Ranks,
) -> Trainer:
    if config_file is None:
        raise OptionError("train: expected a config, such as configs/quick.yaml, or --resume RUN")
    if name is not None and run_dir is not None:
        raise OptionError("train: expected --name or --run-dir, got both")
    if name is not None and (Path(name).name != name or name in (".", "..")):
        raise OptionError(f"train: --name {name!r}: expected a folder's name; paths: --run-dir")
    config = read_config(config_file, overrides)
    ranks.share(config.shards)
    _check_same(ranks, config)
    path = ranks.from_first(run_dir or (RUNS / name if name else default_folder(config_file)))
    if ranks.is_first:
        RunFolder.check_free(path)
    trainer = Trainer(config, RunFolder(path), display, ranks)
    if ranks.is_first:
        RunFolder.create(path, config)
    display.message(
        f"training {config.rules} for {config.decisions:,} decisions, seed {config.seed}, in {path}"
    )
    return trainer


def _resume(
    folder: RunFolder, overrides: Sequence[str], display: TrainingDisplay, ranks: Ranks
) -> Trainer:
    path = folder.path
    if not any(folder.checkpoints.glob("*.safetensors")):
        return _restart(folder, overrides, display, ranks)
    found = newest_checkpoint(folder.checkpoints, lambda _: None)
    written = _written_config(folder, found.config)
    config = change_config(written, overrides, str(path), CHANGEABLE)
    _check_same(ranks, config)
    trainer = Trainer(config, folder, display, ranks)
    trainer.resume()
    ranks.check_same({"update of the checkpoint": trainer.counters.update})
    if trainer.is_finished:
        raise ConfigError(
            f"run {path} is finished ({trainer.counters.decisions:,} decisions): to train on, add "
            f"--set decisions={2 * config.decisions}"
        )
    if config != written and ranks.is_first:
        with folder.writing("the config"):
            folder.write_config(config)
    display.message(
        f"going on with {path} after update {trainer.counters.update} "
        f"({trainer.counters.decisions:,} of {config.decisions:,} decisions)"
    )
    return trainer


def _check_same(ranks: Ranks, config: TrainConfig) -> None:
    values = _flat(config)
    values.pop("torch_threads")  # results do not depend on it
    ranks.check_same(values)


def _restart(
    folder: RunFolder, overrides: Sequence[str], display: TrainingDisplay, ranks: Ranks
) -> Trainer:
    """Start a run from the beginning that was stopped before its first checkpoint."""
    config = read_config(folder.config, overrides)
    _check_same(ranks, config)
    trainer = Trainer(config, folder, display, ranks)
    if ranks.is_first:
        with folder.writing("the config"):
            folder.write_config(config)
    display.message(f"{folder.path} has no checkpoint yet: starting from the beginning")
    return trainer


def _written_config(folder: RunFolder, trained: TrainConfig) -> TrainConfig:
    """Return the config in the run's file, which may differ from the trained one where allowed."""
    advice = f"restore the file; --set changes {', '.join(CHANGEABLE)} when a run is resumed"
    try:
        written = read_config(folder.config)
    except ConfigError as error:
        raise ConfigError(f"{error}; {advice}") from error
    there, here = _flat(written), _flat(trained)
    keys = [
        key
        for key in {**here, **there}
        if here.get(key) != there.get(key) and key.partition(".")[0] not in CHANGEABLE
    ]
    if keys:
        more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
        raise ConfigError(
            f"{folder.config}: differs from what the run was trained with in "
            f"{', '.join(keys[:3])}{more}; {advice}"
        )
    return written


def _flat(config: TrainConfig) -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in config.model_dump(mode="json").items():
        section = value if isinstance(value, dict) else {"": value}
        flat |= {f"{key}.{name}".rstrip("."): inner for name, inner in section.items()}
    return flat


@contextlib.contextmanager
def _stops_on_signals(trainer: Trainer, display: TrainingDisplay) -> Iterator[None]:
    """Make the first Ctrl-C or SIGTERM finish the update; a second Ctrl-C interrupts at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if trainer.stop_requested and number == signal.SIGINT:
            raise KeyboardInterrupt
        trainer.stop_requested = True
        display.message("stopping after this update (Ctrl-C once more: at once)")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
