"""Light commands stay light: what the first import and ``tressette --help`` load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("torch", "numba", "llvmlite", "matplotlib", "tensorboard", "scipy", "pydantic")

SHOW_LOADED = "import sys; print(*sorted(sys.modules), file=sys.stderr)"

HELP = """
import sys
from importlib.metadata import entry_points
(command,) = entry_points(group="console_scripts", name="tressette")
sys.argv = ["tressette", "--help"]
try:
    command.load()()
except SystemExit as end:
    assert not end.code, end.code
"""


def run(code: str, folder: Path) -> tuple[str, set[str]]:
    """Standard output of a new process, and the modules it has loaded at its end."""
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\n{SHOW_LOADED}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout, set(result.stderr.split())


@pytest.mark.parametrize("heavy", ["torch", "numba"])
def test_the_modules_that_a_process_has_loaded_are_seen(heavy: str, tmp_path: Path) -> None:
    _, loaded = run(f"import {heavy}", tmp_path)
    assert heavy in loaded


def test_importing_the_environment_is_light(tmp_path: Path) -> None:
    _, loaded = run("import tressette_env", tmp_path)
    assert {"tressette_env", "gymnasium", "pettingzoo"} <= loaded
    assert loaded & {*HEAVY} == set()


def test_help_is_light(tmp_path: Path) -> None:
    shown, loaded = run(HELP, tmp_path)
    for command in ("train", "eval", "play", "bench", "perft"):
        assert command in shown
    assert "tressette_train.cli" in loaded
    assert loaded & {*HEAVY} == set()
