"""Reading configs from YAML: where every value stands, and errors that say so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tressette_env.errors import ConfigError, did_you_mean
from tressette_train.config import TrainConfig

__all__ = ["change_config", "config_from_json", "read_config"]

_EXPECTED = "expected keys such as 'decisions: 1000000'"
_SHORTER = (
    ("a valid integer", "a whole number"),
    ("a valid ", "a "),
    ("expected greater", "expected a number greater"),
    ("expected less", "expected a number less"),
)
_KeyPath = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """YAML's safe loader that also reads 1e-4 as a number."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)


@dataclass
class _Source:
    """Values read, and for each key where it was given."""

    name: str
    places: dict[_KeyPath, str] = field(default_factory=dict)

    def place(self, keys: _KeyPath) -> str:
        """Where a key stands; for a missing one, its section."""
        while keys and keys not in self.places:
            keys = keys[:-1]
        return self.places.get(keys, self.name)

    def line(self, keys: _KeyPath) -> int:
        """Line of that place; 0 for what is not in the file."""
        number = self.place(keys).rpartition(", line ")[2]
        return int(number) if number.isdigit() else 0


def read_config(path: str | Path, overrides: Sequence[str] = ()) -> TrainConfig:
    """Read and check a config file.

    Parameters
    ----------
    path : str or Path
        YAML file.
    overrides : sequence of str
        ``section.key=value`` each, the value in YAML.

    Raises
    ------
    ConfigError
        If the file is missing, not YAML, or any key or value is wrong.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"config {file}: cannot be read: {reason}") from error
    source = _Source(str(file))
    values = _parse(text, source, lambda line: f"{file}, line {line}")
    if values is None:
        raise ConfigError(f"config {file}: {_EXPECTED}, it is empty")
    if not isinstance(values, dict):
        raise ConfigError(f"{file}, line 1: {_EXPECTED}, got {values!r}")
    for override in overrides:
        _override(values, override, source)
    return _validate(values, source)


def change_config(
    config: TrainConfig, overrides: Sequence[str], name: str, changeable: Sequence[str]
) -> TrainConfig:
    """Return a config with changes, of which only some keys or sections are allowed.

    Raises
    ------
    ConfigError
        If a key may not change, or a value is wrong.
    """
    values = config.model_dump(mode="json")
    source = _Source(name)
    for override in overrides:
        _override(values, override, source)
        key = override.partition("=")[0].strip()
        if key.partition(".")[0] not in changeable:
            raise ConfigError(
                f"--set {override}: the run was trained with another {key!r}, which may not change "
                f"when it is resumed (what may: {', '.join(changeable)})"
            )
    return _validate(values, source)


def config_from_json(values: Any, name: str) -> TrainConfig:
    """Check a config that was stored as JSON in the file ``name``."""
    if not isinstance(values, dict):
        raise ConfigError(f"{name}: expected a config, got {type(values).__name__}")
    return _validate(values, _Source(name))


def _parse(text: str, source: _Source, place: Any, under: _KeyPath = ()) -> Any:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        return None if node is None else _build(loader, node, under, source, place)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{place(line)}: not YAML: {error.problem}") from error
    except RecursionError as error:
        raise ConfigError(f"{place(1)}: a value that holds itself") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{place(1)}: not YAML: {str(error).splitlines()[0]}") from error
    finally:
        loader.dispose()


def _build(loader: _Loader, node: yaml.Node, keys: _KeyPath, source: _Source, place: Any) -> Any:
    """Turn a node into values, noting where each key stands."""
    here = place(node.start_mark.line + 1)
    source.places.setdefault(keys, here)
    if isinstance(node, yaml.SequenceNode):
        return [
            _build(loader, item, (*keys, index), source, place)
            for index, item in enumerate(node.value)
        ]
    if not isinstance(node, yaml.MappingNode):
        return loader.construct_object(node, deep=True)
    values: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = place(key_node.start_mark.line + 1)
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise ConfigError(f"{line}: expected a key that is a word, got {key!r}")
        if key in values:
            first = source.places[(*keys, key)]
            raise ConfigError(f"{line}: the key {_dotted((*keys, key))!r} is given twice ({first})")
        source.places[(*keys, key)] = line
        values[key] = _build(loader, value_node, (*keys, key), source, place)
    return values


def _override(values: dict[str, Any], override: str, source: _Source) -> None:
    """Put ``section.key=value`` into the values."""
    place = f"--set {override}"
    name, equals, text = override.partition("=")
    parts = name.strip().split(".")
    if not equals or not all(parts):
        raise ConfigError(f"{place}: expected SECTION.KEY=VALUE, as in ppo.learning_rate=1e-4")
    # Names of agents may hold dots, as paths do: below opponents.agents the rest is one key.
    if parts[:2] == ["opponents", "agents"] and len(parts) > 3:
        parts = [*parts[:2], ".".join(parts[2:])]
    section = values
    for part in parts[:-1]:
        inner = section.setdefault(part, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"{place}: {part!r} is a value, not a section")
        section = inner
    keys = tuple(parts)
    source.places = {
        known: where for known, where in source.places.items() if known[: len(keys)] != keys
    }
    source.places[keys] = place
    section[parts[-1]] = _parse(text, source, lambda line: place, keys)


def _validate(values: dict[str, Any], source: _Source) -> TrainConfig:
    try:
        return TrainConfig.model_validate(values)
    except ValidationError as error:
        problems = sorted(error.errors(), key=lambda problem: source.line(problem["loc"]))
        more = len(problems) - 1
        rest = f" (and {more} more {'problem' if more == 1 else 'problems'})" if more else ""
        raise ConfigError(_explain(problems[0], source) + rest) from error


def _explain(problem: ErrorDetails, source: _Source) -> str:
    keys = problem["loc"]
    place, key = source.place(keys), _dotted(keys)
    got = problem["input"]
    if problem["type"] == "extra_forbidden":
        known = _known_keys(keys[:-1])
        suggestion = did_you_mean(str(keys[-1]), known)
        return f"{place}: unknown key {key!r}{suggestion} (keys here: {', '.join(known)})"
    if problem["type"] == "missing":
        return f"{place}: the key {key!r} is missing"
    if problem["type"] == "value_error":
        reason = str(problem["ctx"]["error"])
        return f"{place}: {key}: {reason}" if key else f"{place}: {reason}"
    expected = problem["msg"].replace("Input should be", "expected", 1)
    for long, short in _SHORTER:
        expected = expected.replace(long, short)
    if problem["type"] in ("model_type", "model_attributes_type", "dict_type"):
        expected = "expected a section with keys of its own"
    return f"{place}: {key}: {expected}, got {got!r}"


def _known_keys(section: _KeyPath) -> list[str]:
    model: Any = TrainConfig
    for part in section:
        inner = model.model_fields[str(part)].annotation
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return list(model.model_fields)


def _dotted(keys: _KeyPath) -> str:
    return ".".join(str(key) for key in keys)
