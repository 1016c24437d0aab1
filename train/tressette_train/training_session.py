"""A training run from its folder to its chart: one lock, one display, and Ctrl-C that saves.

What ``tressette train`` and ``tressette attack`` have in common. Under ``torchrun`` all ranks run
it; the first one makes the folder, writes and talks.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
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
from tressette_train.learner import DivergedError
from tressette_train.ranks import Ranks
from tressette_train.run_folder import RUNS, RunFolder
from tressette_train.trainer import Trainer

__all__ = ["CHANGEABLE", "STOPPED", "TrainingSession", "named_folder", "train_session"]

STOPPED = 130  # exit code after Ctrl-C, as shells have it

#: Keys, or sections, that ``--set`` may change when a run is resumed.
CHANGEABLE = (
    *("decisions", "minutes", "torch_threads", "device"),
    *("checkpoint", "evaluation", "benchmark"),
)


class TrainingSession:
    """What opens a run: given to the caller of ``train_session``, who chooses how.

    Parameters
    ----------
    display : TrainingDisplay
    ranks : Ranks
    held : ExitStack
        Holds the lock of the folder until everything is written.
    """

    def __init__(self, display: TrainingDisplay, ranks: Ranks, held: contextlib.ExitStack) -> None:
        self._display = display
        self._ranks = ranks
        self._held = held

    def start(self, config: TrainConfig, folder: Path) -> Trainer:
        """Make a new run in a folder that is free.

        Raises
        ------
        TressetteError
            If it is not, or anything that the config names is missing.
        """
        ranks, display = self._ranks, self._display
        ranks.share(config.shards)
        _check_same(ranks, config)
        path = ranks.from_first(folder)
        if ranks.is_first:
            RunFolder.check_free(path)
        trainer = Trainer(config, RunFolder(path), display, ranks)
        if ranks.is_first:
            RunFolder.create(path, config)
        display.message(
            f"training {config.rules} for {config.budget}, seed {config.seed}, in {path}"
        )
        return trainer

    def resume(self, folder: Path, overrides: Sequence[str] = ()) -> Trainer:
        """Go on with a run that is not finished.

        Parameters
        ----------
        folder : Path
        overrides : sequence of str
            ``key=value``, of ``CHANGEABLE``.

        Raises
        ------
        TressetteError
            If there is no such run, it is finished, or it may not be changed so.
        """
        run = RunFolder.open(folder)
        if self._ranks.is_first:
            self._held.enter_context(run.locked())
        return _resume(run, overrides, self._display, self._ranks)


def train_session(
    console: Console, ranks: Ranks, open_run: Callable[[TrainingSession], Trainer]
) -> Trainer:
    """Open a run, train until the budget is used up or a signal comes, and draw the chart.

    Parameters
    ----------
    console : Console
        For the display.
    ranks : Ranks
    open_run : callable
        Opens the run by ``TrainingSession.start`` or ``.resume``.

    Raises
    ------
    TressetteError
        If the run cannot be opened, or training had to stop.
    """
    with (
        _says_if_memory_is_short(),
        TrainingDisplay(console) as display,
        contextlib.ExitStack() as held,
    ):
        with _one_rank_complains(ranks):
            trainer = open_run(TrainingSession(display, ranks, held))
            if ranks.is_first:
                held.enter_context(trainer.folder.locked())
        display.message(f"device: {describe_device(trainer.device)}")
        with _stops_on_signals(trainer, display), _one_rank_complains(ranks, DivergedError):
            trainer.train()
        if ranks.is_first:
            with trainer.folder.writing("the chart"):
                draw_learning_curve(trainer.folder.path, _title(trainer))
    return trainer


def named_folder(
    command: str, name: str | None, run_dir: Path | None, otherwise: Callable[[], Path]
) -> Path:
    """Return the folder that ``--name`` or ``--run-dir`` stands for.

    Raises
    ------
    OptionError
        If both are given, or the name is a path.
    """
    if name is not None and run_dir is not None:
        raise OptionError(f"{command}: expected --name or --run-dir, got both")
    if name is not None and (Path(name).name != name or name in (".", "..")):
        raise OptionError(f"{command}: --name {name!r}: expected a folder's name; paths: --run-dir")
    return run_dir or (RUNS / name if name else otherwise())


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


def _resume(
    folder: RunFolder, overrides: Sequence[str], display: TrainingDisplay, ranks: Ranks
) -> Trainer:
    path = folder.path
    if not folder.has_checkpoint:
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
            f"{' '.join(_doubled(config))}"
        )
    if config != written and ranks.is_first:
        with folder.writing("the config"):
            folder.write_config(config)
    counters, done = trainer.counters, f"{trainer.counters.decisions:,}"
    if config.minutes is not None:
        done += f" decisions, {counters.seconds / 60:.1f} minutes"
    display.message(
        f"going on with {path} after update {counters.update} ({done} of {config.budget})"
    )
    return trainer


def _doubled(config: TrainConfig) -> list[str]:
    """Return what sets twice the budget."""
    budget = {"decisions": config.decisions, "minutes": config.minutes}
    return [
        f"--set {key}={2 * value:g}" if key == "minutes" else f"--set {key}={2 * value}"
        for key, value in budget.items()
        if value is not None
    ]


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
    opponents = trainer.config.opponents
    is_alone = opponents.share == 1 and not opponents.snapshots
    how = f"against {', '.join(trainer.pool.agents)}" if is_alone else "self-play"
    return f"{name}: {how} on {trainer.rules.name}, seed {seed}"
