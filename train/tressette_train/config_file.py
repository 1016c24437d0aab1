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

from tressette_env.errors import ConfigError, TressetteError, did_you_mean, shown
from tressette_env.policies import as_agent
from tressette_env.rulesets import get_rules
from tressette_train.config import TrainConfig

__all__ = ["change_config", "config_from_json", "read_config"]

_MAX_CHARACTERS = 100_000  # of a file, or of one --set; the kit's own have about a thousand
_MAX_BITS = 64  # of a whole number: longer ones cannot even be printed
_EXPECTED = "expected keys such as 'decisions: 1000000'"
_SHORTER = (
    ("a valid integer", "a whole number"),
    ("a valid ", "a "),
    ("expected greater", "expected a number greater"),
    ("expected less", "expected a number less"),
)
_KeyPath = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """YAML's safe loader that also reads 1e-4 as a number, and has no aliases.

    A few lines of aliases of aliases stand for more values than any machine can hold.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Refuse an alias; compose anything else."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            problem = f"the alias {shown('*' + event.anchor)}; write the value out instead"
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        return super().compose_node(parent, index)


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
        with file.open(encoding="utf-8") as stream:
            text = stream.read(_MAX_CHARACTERS + 1)
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or no path at all
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"config {file}: cannot be read: {reason}") from error
    source = _Source(str(file))
    values = _parse(text, source, lambda line: f"{file}, line {line}")
    if values is None:
        raise ConfigError(f"config {file}: {_EXPECTED}, it is empty")
    if not isinstance(values, dict):
        raise ConfigError(f"{file}, line 1: {_EXPECTED}, got {shown(values)}")
    for override in overrides:
        _override(values, override, source)
    return _check_agents(_validate(values, source), source)


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
                f"{_set(override)}: the run was trained with another {shown(key)}, which may not "
                f"change when it is resumed (what may: {', '.join(changeable)})"
            )
    return _check_agents(_validate(values, source), source)


def config_from_json(values: Any, name: str) -> TrainConfig:
    """Check a config that was stored as JSON in the file ``name``."""
    if not isinstance(values, dict):
        raise ConfigError(f"{name}: expected a config, got {type(values).__name__}")
    return _validate(values, _Source(name))


def _parse(text: str, source: _Source, place: Any, under: _KeyPath = ()) -> Any:
    if len(text) > _MAX_CHARACTERS:
        raise ConfigError(f"{place(1)}: expected at most {_MAX_CHARACTERS:,} characters, got more")
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        return None if node is None else _build(loader, node, under, source, place)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{place(line)}: not YAML: {_plain(str(error.problem))}") from error
    except RecursionError as error:
        raise ConfigError(f"{place(1)}: values nested too deeply") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        what = f"the character {text[error.position]!a} is not allowed"
        raise ConfigError(f"{place(line)}: not YAML: {what}") from error


def _scalar(loader: _Loader, node: yaml.Node, here: str) -> Any:
    """Make the value of a node that has no keys of its own."""
    try:
        value = loader.construct_object(node, deep=True)
    except yaml.YAMLError:
        raise
    except Exception as error:  # PyYAML lets through what int(), float(), a date ... raise
        kind = node.tag.rpartition(":")[2]
        raise ConfigError(f"{here}: not YAML: {shown(node.value)} is no {_plain(kind)}") from error
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise ConfigError(f"{here}: a number out of range, got {_plain(node.value)}")
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ConfigError(f"{here}: expected text, got half a character in {shown(value)}")
    return value


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
        return _scalar(loader, node, here)
    values: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = place(key_node.start_mark.line + 1)
        key = _scalar(loader, key_node, line)
        if not isinstance(key, str):
            raise ConfigError(f"{line}: expected a key that is a word, got {shown(key)}")
        if key in values:
            first, name = source.places[(*keys, key)], shown(_dotted((*keys, key)))
            raise ConfigError(f"{line}: the key {name} is given twice ({first})")
        source.places[(*keys, key)] = line
        values[key] = _build(loader, value_node, (*keys, key), source, place)
    return values


def _override(values: dict[str, Any], override: str, source: _Source) -> None:
    """Put ``section.key=value`` into the values."""
    place = _set(override)
    name, equals, text = override.partition("=")
    parts = name.strip().split(".")
    if not equals or not all(parts) or not name.isprintable():
        raise ConfigError(f"{place}: expected SECTION.KEY=VALUE, as in ppo.learning_rate=1e-4")
    # Names of agents may hold dots, as paths do: below opponents.agents the rest is one key.
    if parts[:2] == ["opponents", "agents"] and len(parts) > 3:
        parts = [*parts[:2], ".".join(parts[2:])]
    section = values
    for depth, part in enumerate(parts[:-1], 1):
        if part not in section:
            source.places[tuple(parts[:depth])] = place
        inner = section.setdefault(part, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"{place}: {shown(part)} is a value, not a section")
        section = inner
    keys = tuple(parts)
    source.places = {
        known: where for known, where in source.places.items() if known[: len(keys)] != keys
    }
    source.places[keys] = place
    section[parts[-1]] = _parse(text, source, lambda line: place, keys)


def _set(override: str) -> str:
    return f"--set {_plain(override)}"


def _plain(text: str) -> str:
    """Return a short text as it is; another one cut, and without what acts on a terminal."""
    if len(text) <= 80 and text.isprintable():
        return text
    return shown(text[:100])


def _check_agents(config: TrainConfig, source: _Source) -> TrainConfig:
    """Make all agents that the config names: better refused now than then."""
    named: list[tuple[_KeyPath, str]] = [
        (("benchmark", "agents", index), spec) for index, spec in enumerate(config.benchmark.agents)
    ]
    if config.evaluation.every:
        specs = enumerate(config.evaluation.agents)
        named += [(("evaluation", "agents", index), spec) for index, spec in specs]
    if config.opponents.share > 0:
        weights = config.opponents.agents.items()
        named += [(("opponents", "agents", spec), spec) for spec, weight in weights if weight > 0]
    if config.warm_start is not None:
        named.append((("warm_start",), config.warm_start))
    for keys, spec in named:
        try:
            as_agent(spec).check_rules(get_rules(config.rules))
        except TressetteError as error:
            key = ".".join(map(str, keys[:2]))
            raise ConfigError(f"{source.place(keys)}: {key}: {error}") from error
    return config


def _validate(values: dict[str, Any], source: _Source) -> TrainConfig:
    try:
        return TrainConfig.model_validate(values)
    except ValidationError as error:
        problems = sorted(error.errors(), key=lambda problem: source.line(_keys(problem, source)))
        more = len(problems) - 1
        rest = f" (and {more} more {'problem' if more == 1 else 'problems'})" if more else ""
        raise ConfigError(_explain(problems[0], source) + rest) from error


def _explain(problem: ErrorDetails, source: _Source) -> str:
    keys = problem["loc"]
    place, key = source.place(_keys(problem, source)), _plain(_dotted(keys))
    if problem["type"] == "extra_forbidden":
        known = _known_keys(keys[:-1])
        suggestion = did_you_mean(str(keys[-1]), known)
        name = shown(_dotted(keys))
        return f"{place}: unknown key {name}{suggestion} (keys here: {', '.join(known)})"
    if problem["type"] == "missing":
        return f"{place}: the key {shown(key)} is missing"
    if problem["type"] == "value_error":
        reason = str(problem["ctx"]["error"])
        return f"{place}: {key}: {reason}" if key else f"{place}: {reason}"
    expected = re.sub(r"^(Input should be|\w+ should have)", "expected", problem["msg"])
    for long, short in _SHORTER:
        expected = expected.replace(long, short)
    if problem["type"] in ("model_type", "model_attributes_type", "dict_type"):
        expected = "expected a section with keys of its own"
    return f"{place}: {key}: {expected}, got {shown(problem['input'])}"


def _keys(problem: ErrorDetails, source: _Source) -> _KeyPath:
    """Return the key at fault; where settings contradict each other, the first one given."""
    if problem["loc"] or problem["type"] != "value_error":
        return problem["loc"]
    words = re.findall(r"[a-z_]+(?:\.[a-z_]+)*", str(problem["ctx"]["error"]))
    named = [tuple(word.split(".")) for word in words]
    return next((keys for keys in named if keys in source.places), ())


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
