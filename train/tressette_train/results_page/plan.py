"""Plans: which commands the page of results is made of, read from YAML."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from tressette_env.errors import ConfigError, did_you_mean, shown

__all__ = ["SECTIONS", "Part", "read_plan"]

#: What a plan may hold, in the order in which it is done, and the command that each section runs.
SECTIONS = {
    "training": "train",
    "ladders": "eval",
    "exploitability": "exploit",
    "attacks": "attack",
}
FOLDER = "{folder}"  # stands for the folder of the results in a command

_WANTED = "expected sections of commands, such as 'attacks: {greedy: attack greedy --json}'"
_MAX_CHARACTERS = 100_000


@dataclass(frozen=True)
class Part:
    """One command of a plan.

    Attributes
    ----------
    section, name : str
    words : tuple of str
        The command without ``tressette``; ``{folder}`` stands for the folder of the results.
    """

    section: str
    name: str
    words: tuple[str, ...]

    @property
    def label(self) -> str:
        """Its section and name, as its file is called."""
        return f"{self.section}-{self.name}"

    def command(self, folder: Path) -> list[str]:
        """Return the words with the folder put in."""
        return [word.replace(FOLDER, str(folder)) for word in self.words]

    def run_folder(self, folder: Path) -> Path | None:
        """Return the folder of the run that it trains (``--run-dir``); None if it trains none."""
        words = self.command(folder)
        return Path(words[words.index("--run-dir") + 1]) if "--run-dir" in words[:-1] else None


def read_plan(path: Path) -> list[Part]:
    """Read a plan.

    Parameters
    ----------
    path : Path
        YAML: under each section a name and a command for every part.

    Raises
    ------
    ConfigError
        If it cannot be read, or anything in it is not as expected.
    """
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_MAX_CHARACTERS)
        content = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"plan {path}: cannot be read: {reason}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"plan {path}: not YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(content, dict) or not content:
        raise ConfigError(f"plan {path}: {_WANTED}, got {shown(content)}")
    for section in content:
        if section not in SECTIONS:
            known = ", ".join(SECTIONS)
            hint = did_you_mean(str(section), SECTIONS)
            raise ConfigError(f"plan {path}: expected one of {known}, got {shown(section)}{hint}")
    return [
        part for section in SECTIONS for part in _parts(path, section, content.get(section) or {})
    ]


def _parts(path: Path, section: str, named: object) -> Iterator[Part]:
    if not isinstance(named, dict):
        raise ConfigError(f"plan {path}: {section}: {_WANTED}, got {shown(named)}")
    for name, command in named.items():
        place = f"plan {path}: {section}: {name}"
        if not isinstance(name, str) or not name or Path(name).name != name:
            raise ConfigError(f"plan {path}: {section}: expected a file's name, got {shown(name)}")
        try:
            words = tuple(shlex.split(command)) if isinstance(command, str) else ()
        except ValueError as error:  # a quotation that does not end
            raise ConfigError(f"{place}: not a command: {error}") from error
        wanted = SECTIONS[section]
        if words[:1] != (wanted,):
            raise ConfigError(f"{place}: expected '{wanted} ...', got {shown(command)}")
        if section == "training" and "--run-dir" not in words[:-1]:
            raise ConfigError(f"{place}: expected --run-dir and a folder, so that others find it")
        if section != "training" and "--json" not in words:
            raise ConfigError(f"{place}: expected --json in the command, whose figures are read")
        yield Part(section, name, words)
