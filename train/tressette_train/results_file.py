"""Files of results: every deal of every pairing, so that two measurements can be compared later.

JSON, one pairing a line. A file is written whole or not at all, and read with everything checked:
what is in it agrees with itself, or is refused with the place that does not.
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy.typing as npt

from tressette_env.errors import OptionError, RulesError, TressetteError, shown
from tressette_env.randomness import check_seed
from tressette_env.rulesets import RuleSet, get_rules
from tressette_train.bench.machine import describe_machine
from tressette_train.deal_rows import ROWS, RowsError, rows_from_json, rows_to_json
from tressette_train.evaluate import PairingResult, check_deals, versions
from tressette_train.match_play import PairedDeals

__all__ = ["FORMAT", "FORMAT_VERSION", "Results", "ResultsFileError", "read_results", "to_bytes"]

FORMAT = "tressette-results"
FORMAT_VERSION = 1

_AGAIN = "write it again with 'tressette eval AGENT AGENT --out FILE'"
_HEAD: dict[str, type | tuple[type, ...]] = {  # what stands beside the pairings, and of what type
    "rules": str,
    "deal_set": (str, type(None)),
    "seed": int,
    "deals": int,
    "agents": list,
    "versions": dict,
    "machine": dict,
    "command": str,
    "date": str,
}
_KINDS: dict[object, str] = {str: "a text", int: "an integer", list: "a list", dict: "an object"}


class ResultsFileError(TressetteError):
    """A file of results that is missing, damaged, or of another format."""


@dataclass(frozen=True)
class Results:
    """What a file of results holds.

    Attributes
    ----------
    path : Path
    rules : RuleSet
    deal_set : str, optional
        Name of the fixed deals, if they were.
    seed, deals : int
    agents : tuple of str
        Specs, in the order in which they were named.
    head : dict
        Versions, machine, command and date as JSON values.
    figures : dict
        By (agent, opponent), the first of each: what ``PairingResult.to_json`` said.
    paired : dict
        By (agent, opponent), the first of each: every deal.
    """

    path: Path
    rules: RuleSet
    deal_set: str | None
    seed: int
    deals: int
    agents: tuple[str, ...]
    head: dict[str, Any]
    figures: dict[tuple[str, str], dict[str, Any]]
    paired: dict[tuple[str, str], PairedDeals]


def to_bytes(results: Sequence[PairingResult], command: str, deal_set: str | None = None) -> bytes:
    """Return the content of a file.

    Parameters
    ----------
    results : sequence of PairingResult
        Every pairing of the agents, as ``evaluate`` returns them.
    command : str
        That makes them again.
    deal_set : str, optional
        Name of the deals.
    """
    first = results[0]
    # The first agent's pairings come first, one with each of the others: of n agents n - 1.
    others = (math.isqrt(1 + 8 * len(results)) - 1) // 2
    head = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "rules": first.rules,
        "deal_set": deal_set,
        "seed": first.seed,
        "deals": first.deals,
        "agents": [first.agent, *(result.opponent for result in results[:others])],
        "versions": versions(),
        "machine": describe_machine(),
        "command": command,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    pairings = ",\n".join(
        json.dumps({**result.to_json(), **rows_to_json(result.paired)}, allow_nan=False)
        for result in results
    )
    lines.append(f'"pairings": [\n{pairings}\n]')
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def read_results(path: str | Path) -> Results:
    """Read a file that ``tressette eval --out`` has written.

    Raises
    ------
    ResultsFileError
        If there is none, it is not whole, or what is in it does not agree with itself.
    """
    file = Path(path)
    content = _load(file)
    head = {}
    for name, kind in _HEAD.items():
        if not isinstance(content.get(name, ...), kind) or isinstance(content[name], bool):
            _refuse(file, name, _KINDS.get(kind, "a text or null"), content.get(name))
        head[name] = content[name]
    try:
        rules = get_rules(head["rules"])
        check_seed(head["seed"])
        check_deals(head["deals"])
    except (OptionError, RulesError) as error:
        raise ResultsFileError(f"{file}: {error}; {_AGAIN}") from None
    agents, pairings = head["agents"], content.get("pairings")
    if len(agents) < 2 or not all(isinstance(spec, str) for spec in agents):
        _refuse(file, "agents", "at least two texts", agents)
    pairs = list(itertools.combinations(agents, 2))
    if not isinstance(pairings, list) or len(pairings) != len(pairs):
        count = len(pairings) if isinstance(pairings, list) else pairings
        _refuse(file, "pairings", f"a list of {len(pairs)} for {len(agents)} agents", count)
    figures: dict[tuple[str, str], dict[str, Any]] = {}
    paired: dict[tuple[str, str], PairedDeals] = {}
    for number, (pair, pairing) in enumerate(zip(pairs, pairings, strict=True)):
        where = f"pairings[{number}]"
        if not isinstance(pairing, dict):
            _refuse(file, where, "an object", pairing)
        expected = {"agent": pair[0], "opponent": pair[1], "rules": rules.name}
        expected |= {"seed": head["seed"], "deals": head["deals"]}
        for name, value in expected.items():
            if pairing.get(name) != value:
                _refuse(file, f"{where}.{name}", repr(value), pairing.get(name))
        deals = _read_deals(file, where, pairing, head["deals"], rules)
        figures.setdefault(pair, {key: pairing[key] for key in pairing if key not in ROWS})
        paired.setdefault(pair, deals)
    return Results(
        file,
        rules,
        head["deal_set"],
        head["seed"],
        head["deals"],
        tuple(agents),
        {name: head[name] for name in ("versions", "machine", "command", "date")},
        figures,
        paired,
    )


def _load(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_bytes().decode())
    except OSError as error:
        reason = error.strerror or error
        raise ResultsFileError(f"results file {file}: cannot be read ({reason})") from None
    except json.JSONDecodeError as error:
        raise ResultsFileError(
            f"{file}, line {error.lineno}, column {error.colno}: not a whole file of results "
            f"({error.msg}); {_AGAIN}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ResultsFileError(f"{file}: not a file of results ({error}); {_AGAIN}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else content
        _refuse(file, "format", repr(FORMAT), found)
    if content.get("format_version") != FORMAT_VERSION:
        raise ResultsFileError(
            f"{file}: format version {shown(content.get('format_version'))}, this version of "
            f"tressette reads {FORMAT_VERSION}; {_AGAIN}"
        )
    return content


def _read_deals(
    file: Path, where: str, pairing: dict[str, Any], deals: int, rules: RuleSet
) -> PairedDeals:
    """Read the rows of a pairing; its mean is theirs."""
    corrected = pairing.get("corrected")
    try:
        paired = rows_from_json(pairing, deals, rules, corrected is not None)
    except RowsError as error:
        raise ResultsFileError(f"{file}: {where}.{error}; {_AGAIN}") from None
    _check_mean(file, f"{where}.margin_thirds", pairing.get("margin_thirds"), paired.margins_thirds)
    if corrected is not None:
        known = corrected if isinstance(corrected, dict) else {}
        critic = known.get("critic")
        if not isinstance(critic, dict) or not isinstance(critic.get("sha256"), str):
            _refuse(file, f"{where}.corrected.critic", "its name and sha256", critic)
        said = known.get("margin_thirds")
        _check_mean(file, f"{where}.corrected.margin_thirds", said, paired.best_thirds)
    return paired


def _check_mean(file: Path, where: str, said: object, margins: npt.NDArray[Any]) -> None:
    mean = float(margins.mean())
    if not isinstance(said, int | float) or not math.isclose(said, mean, abs_tol=1e-9):
        _refuse(file, where, f"{mean:.6g}, the mean of its deals", said)


def _refuse(file: Path, where: str, expected: str, got: object) -> NoReturn:
    raise ResultsFileError(f"{file}: {where}: expected {expected}, got {shown(got)}; {_AGAIN}")
