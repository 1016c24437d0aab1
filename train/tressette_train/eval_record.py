"""A record of finished deals, so that an evaluation that was interrupted goes on where it was.

A line of JSON says what is measured, and one more each chunk of deals. Lines are appended whole: of
a process that was killed at most the last one is cut, and is then left out.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from tressette_env.errors import TressetteError, shown
from tressette_env.rulesets import RuleSet
from tressette_train.chunks import Chunk, Player
from tressette_train.critic import Critic
from tressette_train.deal_rows import RowsError, rows_from_json, rows_to_json
from tressette_train.match_play import PairedDeals

__all__ = ["DealsRecord", "DealsRecordError"]

FORMAT = "tressette-eval-record"
FORMAT_VERSION = 1


class DealsRecordError(TressetteError):
    """A record that cannot be used: damaged, or of another evaluation."""


class DealsRecord:
    """An open record.

    Parameters
    ----------
    path : Path
        A new file, or one that an evaluation of the same agents has begun.
    agents : sequence of str
        Specs. Files that they name belong to them: other weights are another agent.
    rules : RuleSet
    seed : int
    versions : dict
    critic : Critic, optional

    Attributes
    ----------
    found : dict
        Deals by chunk, as far as they were played before.

    Raises
    ------
    DealsRecordError
        If it cannot be read or written, is damaged, or is the record of something else.
    """

    def __init__(
        self,
        path: Path,
        agents: Sequence[str],
        rules: RuleSet,
        seed: int,
        versions: dict[str, Any],
        critic: Critic | None = None,
    ) -> None:
        self.path = path
        self.rules = rules
        self.found: dict[Chunk, PairedDeals] = {}
        head = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "agents": list(agents),
            "files": {name: sha for spec in agents for name, sha in _files_of(spec)},
            "rules": rules.name,
            "seed": seed,
            "versions": versions,
        }
        if critic is not None:
            head["critic"] = critic.to_json()
        first = json.dumps(head).encode() + b"\n"
        try:
            before = path.read_bytes() if path.exists() else b""
            whole = before[: before.rfind(b"\n") + 1]
            if not whole and not first.startswith(before):
                self._refuse(1, "the record of an evaluation", "another file")
            if whole:
                self._read(whole, head)
            self._file = path.open("ab", buffering=0)
            self._file.truncate(len(whole))
            if not whole:
                self._file.write(first)
        except OSError as error:
            reason = error.strerror or error
            raise DealsRecordError(
                f"record {path}: cannot be read and written ({reason}); expected a file in an "
                "existing folder"
            ) from None

    def add(self, chunk: Chunk, paired: PairedDeals) -> None:
        """Append a chunk."""
        line = {"pairing": chunk.pairing, "start": chunk.start, "stop": chunk.stop}
        self._file.write(json.dumps({**line, **rows_to_json(paired)}).encode() + b"\n")

    def around(self, play: Player) -> Player:
        """Return a player that plays only what is not yet there, and adds what it plays."""

        def played(
            chunks: Sequence[Chunk], on_progress: Callable[[int], None]
        ) -> Iterator[tuple[Chunk, PairedDeals]]:
            for chunk in chunks:
                if chunk in self.found:
                    on_progress((chunk.stop - chunk.start) * 2 * self.rules.deck_size)
                    yield chunk, self.found[chunk]
            missing = [chunk for chunk in chunks if chunk not in self.found]
            for chunk, paired in play(missing, on_progress):
                self.add(chunk, paired)
                yield chunk, paired

        return played

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def _read(self, data: bytes, head: dict[str, Any]) -> None:
        for number, line in enumerate(data.splitlines(), 1):
            try:
                values = json.loads(line)
            except (ValueError, RecursionError):
                values = None
            if not isinstance(values, dict):
                self._refuse(number, "a JSON object", shown(line))
            if number == 1:
                self._check_head(values, head)
            else:
                self._read_chunk(number, values, len(head["agents"]), "critic" in head)

    def _check_head(self, values: dict[str, Any], head: dict[str, Any]) -> None:
        if values.get("format") != FORMAT:
            self._refuse(1, f"the format {FORMAT!r}", shown(values.get("format")))
        names = [*head, *(["critic"] if "critic" not in head else [])]
        others = [name for name in names if values.get(name) != head.get(name)]
        if others:
            raise DealsRecordError(
                f"record {self.path}: it is of another evaluation: "
                + "; ".join(
                    f"{name} {shown(values.get(name))} there, {shown(head.get(name))} here"
                    for name in others
                )
                + "; name another file, or remove this one to begin anew"
            )

    def _read_chunk(
        self, number: int, values: dict[str, Any], agents: int, with_luck: bool
    ) -> None:
        places = [values.get(name) for name in ("pairing", "start", "stop")]
        pairings = agents * (agents - 1) // 2
        if [type(place) for place in places] != [int] * 3:
            self._refuse(number, "pairing, start and stop as integers", shown(places))
        chunk = Chunk(*places)  # type: ignore[arg-type]
        if not (0 <= chunk.pairing < pairings and 0 <= chunk.start < chunk.stop):
            self._refuse(number, f"deals of a pairing from 0 to {pairings - 1}", shown(places))
        try:
            self.found[chunk] = rows_from_json(
                values, chunk.stop - chunk.start, self.rules, with_luck
            )
        except RowsError as error:
            raise DealsRecordError(
                f"record {self.path}, line {number}: {error}; remove the file to begin anew"
            ) from None

    def _refuse(self, line: int, expected: str, got: str) -> NoReturn:
        raise DealsRecordError(
            f"record {self.path}, line {line}: expected {expected}, got {got}; name another file, "
            "or remove this one to begin anew"
        )


def _files_of(spec: str) -> Iterator[tuple[str, str]]:
    """Yield the files that a spec names, with their SHA-256; of a folder its policy."""
    for part in re.split(r"[:+,=\s]", spec):
        path = Path(part)
        if part and path.is_dir():
            path /= "policy.safetensors"
        if part and path.is_file() and os.access(path, os.R_OK):
            yield part, hashlib.sha256(path.read_bytes()).hexdigest()
