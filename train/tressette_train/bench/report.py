"""One run of the benchmark as a whole: what was measured, where, and the ratios that follow."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tressette_env.errors import OptionError, TressetteError
from tressette_train.bench import peer_rows
from tressette_train.bench.timing import PLAYS, Measured

__all__ = ["FORMAT", "Ratio", "Report", "read_report"]

FORMAT = 1
_SMALL, _LARGE, _USUAL = 1024, 65536, 4096
_MEMORY = ("state_bytes", "kept_bytes")
_COMPILED = ("rules", "masks", "observations")


@dataclass(frozen=True)
class Ratio:
    """One speed over another, round by round of the same run.

    Attributes
    ----------
    name : str
    values : tuple of float
        One a round.
    """

    name: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle value."""
        return statistics.median(self.values)

    def to_json(self) -> dict[str, Any]:
        """Return name, least, middle and greatest value."""
        return {
            "name": self.name,
            "min": min(self.values),
            "median": self.median,
            "max": max(self.values),
        }


@dataclass(frozen=True)
class Report:
    """A run of the benchmark.

    Attributes
    ----------
    settings : dict
        Rules, repeats, seconds a sample.
    machine : dict
        As ``machine.describe_machine``, with the load before and after.
    memory : dict
        Bytes a table: ``state_bytes`` of its state, ``kept_bytes`` with what a ``BatchTable`` keeps
        beside it (the end of the last episode).
    rows : tuple of Measured
    missing_peers : tuple of str
        Packages asked for and not installed.
    """

    settings: dict[str, Any]
    machine: dict[str, Any]
    memory: dict[str, int]
    rows: tuple[Measured, ...]
    missing_peers: tuple[str, ...] = ()

    def find(self, name: str, tables: int | None = None, threads: int = 1) -> Measured | None:
        """Return the row of that name and size, None if it was not measured."""
        for row in self.rows:
            if row.name == name and row.threads == threads and tables in (None, row.tables):
                return row
        return None

    @property
    def ratios(self) -> list[Ratio]:
        """Ratios between this kit's rows: of sizes (time per play) and of threads (speed)."""
        found: list[Ratio] = []
        for name in _COMPILED:
            small, large = self.find(name, _SMALL), self.find(name, _LARGE)
            if small and large:
                found.append(
                    _ratio(f"{name}: time per play, {_LARGE:,} over {_SMALL:,}", small, large)
                )
        for name in (*_COMPILED, "play", "inference"):
            one, two = self.find(name, _LARGE, 1), self.find(name, _LARGE, 2)
            if one and two:
                found.append(_ratio(f"{name}: two threads over one, {_LARGE:,}", two, one))
        one, two = self.find("training"), self.find("training", None, 2)
        if one and two:
            found.append(_ratio("training: two threads over one", two, one))
        for threads in (1, 2):
            whole = self.find("training", None, threads)
            alone = self.find("networks alone", None, threads)
            if whole and alone:
                where = "one thread" if threads == 1 else "two threads"
                found.append(_ratio(f"training over its networks alone, {where}", whole, alone))
        return found

    @property
    def peer_ratios(self) -> list[Ratio]:
        """How much faster ours is than each peer, measured in the same rounds."""
        found: list[Ratio] = []
        batch = self.find("masks", _USUAL)
        for peer in self.rows:
            if peer.group != peer_rows.GROUP:
                continue
            name = peer_rows.counterpart(peer.name)
            ours = self.find(name, _USUAL if name == "rules" else 1)
            if ours:
                found.append(_ratio(f"{name} over {peer.name}", ours, peer))
            observing = peer.name.startswith("rlcard")
            ours = self.find("observations", _USUAL) if observing else batch
            if ours and not peer.name.startswith("pettingzoo"):
                found.append(_ratio(f"{ours.name} {_USUAL:,} over {peer.name}", ours, peer))
        return found

    def ratio(self, name: str) -> Ratio | None:
        """Return the ratio of that name, None if it was not measured."""
        for one in (*self.ratios, *self.peer_ratios):
            if one.name == name:
                return one
        return None

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values; ``from_json`` reads it back."""
        return {
            "format": FORMAT,
            "settings": self.settings,
            "machine": self.machine,
            "memory": self.memory,
            "rows": [row.to_json() for row in self.rows],
            "ratios": [ratio.to_json() for ratio in self.ratios],
            "peers": {
                "missing": list(self.missing_peers),
                "ratios": [ratio.to_json() for ratio in self.peer_ratios],
            },
        }

    @classmethod
    def from_json(cls, content: Any) -> Report:
        """Read what ``to_json`` gave; OptionError if it is something else."""
        try:
            if content["format"] != FORMAT:
                raise OptionError(
                    f"benchmark: expected format {FORMAT}, got {content['format']!r}; measure again"
                )
            rows = tuple(Measured.from_json(row) for row in content["rows"])
            if len({len(row.values) for row in rows}) > 1:
                raise ValueError("rows of different numbers of samples")
            return cls(
                settings=dict(content["settings"]),
                machine=dict(content["machine"]),
                memory={name: int(content["memory"][name]) for name in _MEMORY},
                rows=rows,
                missing_peers=tuple(
                    known
                    for known in peer_rows.MODULES.values()
                    if known in content["peers"]["missing"]
                ),
            )
        except OptionError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise OptionError(
                f"benchmark: expected what `tressette bench --json` prints; {error!r} in what came"
            ) from None


def read_report(path: Path) -> Report:
    """Read a file that ``tressette bench --json`` printed.

    Raises
    ------
    TressetteError
        If it cannot be read, or holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TressetteError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{path}: expected one JSON object ({error})") from None
    return Report.from_json(content)


def _ratio(name: str, over: Measured, under: Measured) -> Ratio:
    assert over.unit == under.unit == PLAYS
    pairs: Sequence[tuple[float, float]] = list(zip(over.values, under.values, strict=True))
    return Ratio(name, tuple(above / below for above, below in pairs))
