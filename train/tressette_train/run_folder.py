"""The folder of a run: what lies where, and one clear line when it cannot be written.

::

    runs/NAME/
      config.yaml                 every setting of the run
      policy.safetensors          the policy: ``learned:runs/NAME`` plays it
      best.safetensors            the best by ``evaluation``: ``learned:runs/NAME/best.safetensors``
      checkpoints/                the newest states of the training, to go on from
      metrics.jsonl, tensorboard/ what was measured, a row an update
      learning_curve.png
      .lock                       locked while a process trains here
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import yaml

from tressette_agents.policy_file import POLICY_FILE
from tressette_agents.whole_file import write_whole
from tressette_env.errors import RunFolderError
from tressette_train.config import TrainConfig

__all__ = ["RunFolder", "default_folder"]

if sys.platform != "win32":
    import fcntl

RUNS = Path("runs")
_TRIES, _PAUSE = 20, 0.05  # s; who only asks whether a run is training holds its lock for a moment
_STILLBORN = (
    "its training was killed before it wrote a config, so nothing is in it: remove the folder and "
    "start again, or choose another --name or --run-dir"
)


def default_folder(name: str, runs: Path = RUNS) -> Path:
    """Return the first of ``runs/NAME``, ``runs/NAME-2``, ... that does not exist."""
    number = 1
    folder = runs / name
    while folder.exists():
        number += 1
        folder = runs / f"{name}-{number}"
    return folder


class RunFolder:
    """Paths of a run, and writing to them.

    Parameters
    ----------
    path : Path
        An existing folder; ``create`` makes a new one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.yaml"
        self.policy = path / POLICY_FILE
        self.best_policy = path / "best.safetensors"
        self.checkpoints = path / "checkpoints"
        self.metrics = path / "metrics.jsonl"
        self.tensorboard = path / "tensorboard"
        self.chart = path / "learning_curve.png"
        self._is_locked = False

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is anything to go on from."""
        return any(self.checkpoints.glob("*.safetensors"))

    @staticmethod
    def check_free(path: Path) -> None:
        """Raise ``RunFolderError`` unless the folder is empty, or does not exist."""
        try:
            if path.exists() and not path.is_dir():
                raise RunFolderError(f"run folder {path}: expected a folder, this is a file")
            if (path / "checkpoints").is_dir() and not (path / "config.yaml").exists():
                raise RunFolderError(f"run folder {path}: {_STILLBORN}")
            if path.exists() and any(one not in _leftovers(path) for one in path.iterdir()):
                raise RunFolderError(
                    f"run folder {path} already holds files: choose another --name or --run-dir, "
                    f"or go on with the run in it: tressette train --resume {path}"
                )
        except OSError as error:
            raise RunFolderError(_unwritable(path, error)) from error

    @classmethod
    def create(cls, path: Path, config: TrainConfig) -> RunFolder:
        """Make the folder of a new run, with its config.

        Raises
        ------
        RunFolderError
            If it holds anything already, or cannot be written; nothing is left behind then.
        """
        cls.check_free(path)
        try:
            folder = cls(path)
            made = [one for one in (path, *path.parents) if not one.exists()]
            try:
                path.mkdir(parents=True, exist_ok=True)
                for leftover in _leftovers(path):
                    leftover.unlink(missing_ok=True)
                folder.checkpoints.mkdir()  # fails for one of two that start at the same time
                made.insert(0, folder.checkpoints)
                folder.write_config(config)
            except OSError:
                for one in made:
                    with contextlib.suppress(OSError):
                        one.rmdir()
                raise
        except OSError as error:
            raise RunFolderError(_unwritable(path, error)) from error
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open the folder of an earlier run, to go on with it.

        Raises
        ------
        RunFolderError
            If there is no run in it, or it cannot be written.
        """
        folder = cls(path)
        if folder.checkpoints.is_dir() and not folder.config.exists():
            raise RunFolderError(f"run folder {path}: {_STILLBORN}")
        if not folder.checkpoints.is_dir():
            raise RunFolderError(
                f"run folder {path}: there is no run to resume; expected a folder that 'tressette "
                "train' made, such as runs/quick"
            )
        try:
            with tempfile.TemporaryFile(dir=path):
                pass
        except OSError as error:
            raise RunFolderError(_unwritable(path, error)) from error
        return folder

    def write_config(self, config: TrainConfig) -> None:
        """Write the config's file.

        Raises
        ------
        OSError
            If it cannot be written; an older one is kept whole.
        """
        text = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)
        write_whole(self.config, text.encode())

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from training in the folder during the block; blocks may nest.

        The system gives the lock back when the process ends, however it ends. Where the system or
        the file system has no locks, nobody is kept out.

        Raises
        ------
        RunFolderError
            If another process, or another ``RunFolder``, has the lock.
        """
        if self._is_locked or sys.platform == "win32":
            yield
            return
        with self.writing("the lock"):
            file = (self.path / ".lock").open("w")
        with file:
            if not _lock(file, _TRIES):
                raise RunFolderError(
                    f"run folder {self.path}: another process is training in it; stop that one, "
                    "wait for it, or choose another folder"
                )
            self._is_locked = True
            try:
                yield
            finally:
                self._is_locked = False

    def is_locked(self) -> bool:
        """Whether another process, or another ``RunFolder``, trains in the folder now."""
        if sys.platform == "win32":
            return False
        try:
            with (self.path / ".lock").open("r") as file:
                return not _lock(file, 1)
        except OSError:
            return False  # nobody has trained here, or it cannot be told

    def remove_leftovers(self) -> None:
        """Remove what killed processes left of files they were writing; for who has the lock."""
        for folder in (self.path, self.checkpoints):
            for leftover in folder.glob(".*.tmp"):
                with contextlib.suppress(OSError):  # it does no harm
                    leftover.unlink()

    @contextlib.contextmanager
    def writing(self, what: str) -> Iterator[None]:
        """Turn an ``OSError`` of the block into a ``RunFolderError`` that says what is safe."""
        try:
            yield
        except OSError as error:
            kept = sorted(self.checkpoints.glob("*.safetensors"))
            rest = "no checkpoint had been written"
            if kept:
                rest = (
                    f"the checkpoint {kept[-1].name} is whole; make room or give access, and go on "
                    f"with: tressette train --resume {self.path}"
                )
            message = f"{_unwritable(self.path, error)}, while writing {what}; {rest}"
            raise RunFolderError(message) from error


def _lock(file: IO[str], tries: int) -> bool:
    """Lock a file, and return whether that was possible: another may have it."""
    for left in reversed(range(tries)):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if left:
                time.sleep(_PAUSE)
        except OSError:
            return True  # a file system without locks
        else:
            return True
    return False


def _leftovers(path: Path) -> list[Path]:
    """Return what a process left that was killed while it wrote a folder's first file."""
    return list(path.glob(".config.yaml.*.tmp"))


def _unwritable(path: Path, error: OSError) -> str:
    reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
    return f"run folder {os.fspath(path)}: cannot be written: {reason}"
