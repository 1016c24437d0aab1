"""Parts of the results: each command is run once, and what it printed is kept with it."""

from __future__ import annotations

import datetime
import hashlib
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tressette_agents.whole_file import write_whole
from tressette_env.errors import ConfigError, RunFolderError, TressetteError
from tressette_train.bench.machine import describe_machine
from tressette_train.checkpoint import newest_checkpoint
from tressette_train.results_page.plan import Part
from tressette_train.run_folder import RunFolder

__all__ = ["Outcome", "PartFailedError", "collect"]

#: What is kept of a part: command, sha256 of the files that it names, output (JSON; None of a
#: training), seconds, date and machine.
Outcome = dict[str, Any]

_PROGRAM = (
    "import sys; sys.argv[0] = 'tressette'; from tressette_train.cli import main; sys.exit(main())"
)
_KEYS = {"command", "files", "output", "seconds", "date", "machine"}


class PartFailedError(TressetteError):
    """A command of the plan failed; what was finished before is kept."""


def collect(
    parts: list[Part], folder: Path, tell: Callable[[str], None]
) -> list[tuple[Part, Outcome]]:
    """Return what the parts found, after running those whose file is not in the folder.

    Parameters
    ----------
    parts : list of Part
    folder : Path
        Made if it is missing; ``SECTION-NAME.json`` for each part.
    tell : callable
        Told a line before each command.

    Raises
    ------
    TressetteError
        If a command fails, if a file is damaged or was made by another command, or if nothing can
        be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--folder: {folder} cannot be made ({error.strerror})") from None
    kept = {part.label: _read(part, folder) for part in parts}  # first: a mistake costs nothing
    found = []
    for number, part in enumerate(parts, 1):
        outcome = kept[part.label]
        if outcome is None:
            outcome = _run(part, folder, tell, f"[{number}/{len(parts)}]")
        found.append((part, outcome))
    return found


def _file(part: Part, folder: Path) -> Path:
    return folder / f"{part.label}.json"


def _shown(part: Part, folder: Path) -> str:
    return shlex.join(["tressette", *part.command(folder)])


def _read(part: Part, folder: Path) -> Outcome | None:
    path = _file(part, folder)
    try:
        outcome = json.loads(path.read_text(encoding="utf-8"))
        is_whole = isinstance(outcome, dict) and outcome.keys() >= _KEYS
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        is_whole = False
    if not is_whole:
        raise ConfigError(f"{path}: damaged; expected a part's results: remove it to run it again")
    if outcome["command"] != _shown(part, folder):
        raise ConfigError(
            f"{path}: made by another command ({outcome['command']}) than the plan has now: remove "
            "it to run the new one, or choose another --folder"
        )
    for name, digest in outcome["files"].items():
        if _digests([name]).get(name) != digest:
            raise ConfigError(
                f"{path}: made with another {name} than is there now: remove it to run it again"
            )
    return dict(outcome)


def _run(part: Part, folder: Path, tell: Callable[[str], None], place: str) -> Outcome:
    words = _going_on(part, folder)
    shown = shlex.join(["tressette", *words])
    began = time.monotonic()
    output, code = "null", 0
    if words:
        tell(f"{place} {shown}")
        code, output = _finished(words, prints_figures=part.section != "training")
    if code == 0:
        try:
            content = json.loads(output)
        except ValueError:
            code = 1
    if code:
        raise PartFailedError(
            f"{part.section}: {part.name}: {shown} ended with {code}; what is finished is kept in "
            f"{folder}, the same command goes on from there"
        )
    outcome = {
        "command": _shown(part, folder),
        "files": _digests(part.command(folder)),
        "output": content,
        "seconds": _seconds_of_training(part, folder) or time.monotonic() - began,
        "date": datetime.date.today().isoformat(),
        "machine": describe_machine(),
    }
    path = _file(part, folder)
    try:
        write_whole(path, json.dumps(outcome, allow_nan=False).encode())
    except OSError as error:
        raise PartFailedError(f"{path}: cannot be written: {error.strerror}") from error
    return outcome


def _seconds_of_training(part: Part, folder: Path) -> float:
    """Return what a training took, all of its parts if it was stopped; 0 for other parts."""
    run = part.run_folder(folder)
    if part.section != "training" or run is None:
        return 0.0
    return newest_checkpoint(RunFolder(run).checkpoints, lambda _: None).counters.seconds


def _finished(words: list[str], *, prints_figures: bool) -> tuple[int, str]:
    """Run a command and return its exit code and figures; what it tells goes where ours goes."""
    out = subprocess.PIPE if prints_figures else None
    with subprocess.Popen([sys.executable, "-c", _PROGRAM, *words], stdout=out) as process:
        try:
            printed, _ = process.communicate()
        except KeyboardInterrupt:
            process.wait()  # it has been told, too, and saves before it ends
            raise
    return process.returncode, printed.decode(errors="replace") if prints_figures else "null"


def _digests(words: Iterable[str]) -> dict[str, str]:
    """Return the sha256 of those words that name files, such as configs."""
    paths = {word: Path(word) for word in words}
    return {
        word: hashlib.sha256(path.read_bytes()).hexdigest()
        for word, path in paths.items()
        if path.is_file()
    }


def _going_on(part: Part, folder: Path) -> list[str]:
    """Return the command; one that goes on if its run was begun, none if its training is done."""
    words, run = part.command(folder), part.run_folder(folder)
    if run is None or not (run / "checkpoints").is_dir():
        return words
    if part.section == "attacks":
        return ["attack", "--resume", str(run), "--json"]
    try:
        found = newest_checkpoint(RunFolder(run).checkpoints, lambda _: None)
    except RunFolderError:
        return ["train", "--resume", str(run)]
    is_done = found.config.used(found.counters.decisions, found.counters.seconds) >= 1
    return [] if is_done else ["train", "--resume", str(run)]
