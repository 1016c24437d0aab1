"""Rows for starting up: new processes, each timed from its start to its end.

The compiled code is on disk by then: the first run of each, which may compile, is in no sample.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack

from tressette_train.bench.timing import SECONDS, Player, Row

__all__ = ["GROUP", "PROGRAMS", "startup_rows"]

GROUP = "startup"

_HELP = (
    "import sys; sys.argv = ['tressette', '--help']; from tressette_train.cli import main; main()"
)
_STEP = """
from tressette_env import tressette_v0
env = tressette_v0.env()
env.reset(seed=0)
observation = env.last()[0]
env.step(int(observation["action_mask"].argmax()))
"""
_BATCH = """
from tressette_env import BatchTable
table = BatchTable(4096, seed=0)
table.play(table.legal_masks.argmax(1))
table.observations
"""

#: What a new process does, by the name of its row.
PROGRAMS = {
    "start python": "pass",
    "start --help": _HELP,
    "start import": "import tressette_env",
    "start first step": _STEP,
    "start first batch": _BATCH,
}


def startup_rows() -> list[Row]:
    """Return a row for each program."""
    return [Row(name, GROUP, _Program(program), unit=SECONDS) for name, program in PROGRAMS.items()]


class _Program:
    """Runs a program in a new process of the same Python."""

    def __init__(self, program: str) -> None:
        self.program = program

    def __call__(self, stack: ExitStack) -> Player:
        def run(times: int) -> int:
            for _ in range(times):
                subprocess.run(
                    [sys.executable, "-c", self.program], check=True, stdout=subprocess.DEVNULL
                )
            return 0

        return run
