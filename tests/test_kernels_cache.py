"""Machine code on disk is never older than the sources, and its folder need not be writable."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest

import tressette_env
from tressette_env import compiling

PACKAGE = Path(tressette_env.__file__).parent

# A deck of two cards: seat 0 leads the four of denari, seat 1 follows with the five.
PLAY_ONE_TRICK = """
import numpy as np
from tressette_env import kernels
from tressette_env.rulesets import PRESETS
from tressette_env.state import STATE_DTYPE
rules = PRESETS["yeeqia"].replace(deck=(0, 1), hand_size=1)
states = np.zeros(1, STATE_DTYPE)
kernels.load_deal(states, rules.row, np.array([0, 1]), 0)
assert kernels.play_one(states, rules.row, 0)[0] == 0
assert kernels.play_one(states, rules.row, 1)[0] == 2
found = sum(kernels.play_one.stats.cache_hits.values())
print(*states["leader"], *states["thirds"][0], found)
"""


def copy_package(folder: Path) -> Path:
    copied = folder / "tressette_env"
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    return copied


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{path.name} has changed: write this edit anew"
    path.write_text(text.replace(old, new))


def play_one_trick(source: Path, cache: Path, warning: str = "") -> list[int]:
    """Winner and thirds of a trick as a new process plays it, and the machine code it found."""
    result = subprocess.run(
        [sys.executable, "-c", PLAY_ONE_TRICK],
        cwd=source,
        env=os.environ | {"PYTHONPATH": str(source), "TRESSETTE_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert len(result.stderr.splitlines()) == (1 if warning else 0)
    assert warning in result.stderr
    return [int(word) for word in result.stdout.split()]


def test_an_edit_in_any_file_is_played_at_once_with_the_code_of_before_on_disk(
    tmp_path: Path,
) -> None:
    """The stronger card takes the trick; edited, the weaker one does, or the bonus is another."""
    package, cache = copy_package(tmp_path), tmp_path / "cache"
    assert play_one_trick(tmp_path, cache) == [1, 0, 3, 0]
    assert play_one_trick(tmp_path, cache) == [1, 0, 3, 1]  # from the disk
    edit(package / "rules.py", "int(card > best)", "int(card < best)")
    assert play_one_trick(tmp_path, cache) == [0, 3, 0, 0]
    edit(package / "rulesets.py", "LAST_TRICK_THIRDS = 3", "LAST_TRICK_THIRDS = 6")
    assert play_one_trick(tmp_path, cache) == [0, 6, 0, 0]
    assert len(list((cache / "compiled").iterdir())) == 3


def test_without_a_folder_that_can_be_written_every_process_compiles_and_says_so(
    tmp_path: Path,
) -> None:
    """A folder below a regular file cannot be made, whoever tries."""
    blocked = tmp_path / "a_file"
    blocked.write_text("")
    copy_package(tmp_path)
    for _ in range(2):
        found = play_one_trick(tmp_path, blocked / "cache", "cannot keep compiled code in")
        assert found == [1, 0, 3, 0]
    assert blocked.read_text() == ""


@pytest.mark.parametrize("suffix", ["*.nbi", "*.nbc"])
def test_damaged_code_on_disk_is_compiled_again(tmp_path: Path, suffix: str) -> None:
    copy_package(tmp_path)
    cache = tmp_path / "cache"
    assert play_one_trick(tmp_path, cache) == [1, 0, 3, 0]
    damaged = [path for path in cache.rglob(suffix) if "play_one" in path.name]
    assert damaged
    for path in damaged:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert play_one_trick(tmp_path, cache, "compiled code is damaged") == [1, 0, 3, 0]
    assert play_one_trick(tmp_path, cache) == [1, 0, 3, 1]


@pytest.fixture
def folder_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A copy of the package that the cache's folder is made from."""
    package = copy_package(tmp_path)
    monkeypatch.setattr(compiling, "_PACKAGE", package)
    monkeypatch.setenv("TRESSETTE_CACHE_DIR", str(tmp_path / "cache"))
    return package


def fresh_folder(*sources: Path) -> Path | None:
    compiling.cache_folder.cache_clear()
    try:
        return compiling.cache_folder(*sources)
    finally:
        compiling.cache_folder.cache_clear()


@pytest.mark.parametrize("name", sorted(path.name for path in PACKAGE.glob("*.py")))
def test_any_changed_file_changes_the_folder(folder_of: Path, name: str) -> None:
    before = fresh_folder()
    assert fresh_folder() == before
    path = folder_of / name
    text = path.read_bytes()
    path.write_bytes(text + b"\n")
    assert fresh_folder() != before
    path.write_bytes(text)
    assert fresh_folder() == before


def test_a_changed_file_of_another_package_changes_the_folder(
    folder_of: Path, tmp_path: Path
) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text("x = 1")
    before = fresh_folder(agent)
    assert before != fresh_folder()
    agent.write_text("x = 2")
    assert fresh_folder(agent) != before


def test_another_numba_has_another_folder(folder_of: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fresh_folder()
    monkeypatch.setattr(numba, "__version__", "0.0")
    assert fresh_folder() != before


def test_the_folder_is_named_by_the_variable(folder_of: Path, tmp_path: Path) -> None:
    folder = fresh_folder()
    assert folder.parent == tmp_path / "cache" / "compiled"
    assert folder.is_dir()


def test_a_new_folder_takes_the_place_of_those_unused_for_long(folder_of: Path) -> None:
    used, long_unused = fresh_folder(), time.time() - (compiling.KEPT_DAYS + 1) * 24 * 3600
    assert used is not None
    names = ("0" * 16, "1" * 16, "mine", "0" * 15, "2" * 16, "0" * 17, "A" * 16)
    others = [used.with_name(name) for name in names]
    code = Path("tressette_env_0") / "kernels.play_all-95.py311.1.nbc"
    for folder in others:
        (folder / code).parent.mkdir(parents=True)
        (folder / code).write_text("")
        (folder / f"{code}.tmp.0123").write_text("")  # of a process that was killed
    (others[4] / "notes").write_text("not machine code")
    for folder in (used, others[0], *others[2:]):
        os.utime(folder, (long_unused, long_unused))
    nearly = long_unused + 2 * 24 * 3600
    os.utime(others[1], (nearly, nearly))
    assert fresh_folder() == used  # asked for again, and nothing new: nothing is deleted
    assert all(folder.exists() for folder in others)
    rules = folder_of / "rules.py"
    rules.write_bytes(rules.read_bytes() + b"\n")
    new = fresh_folder()
    assert new is not None and set(used.parent.iterdir()) == {new, used, *others[1:]}
    assert all((folder / code).exists() for folder in others[1:])


def test_a_folder_that_cannot_be_listed_is_no_hindrance(
    folder_of: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    folder = fresh_folder()
    assert folder is not None and folder.is_dir()


def test_numba_without_its_compiler_is_refused_in_one_line() -> None:
    result = subprocess.run(
        [sys.executable, "-c", "from tressette_env import BatchTable"],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "OptionError: NUMBA_DISABLE_JIT: expected it unset" in result.stderr.splitlines()[-1]


def test_importing_the_kit_leaves_numbas_own_cache_folder_alone() -> None:
    code = """
import numba
before = numba.config.CACHE_DIR
import tressette_env.kernels
assert numba.config.CACHE_DIR == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_a_compiled_function_depends_on_is_found_through_every_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imports of members, of modules, relative ones and those inside functions; once a circle."""
    package = tmp_path / "foreign_agents"
    package.mkdir()
    texts = {
        "__init__": "",
        "door": "from foreign_agents import search\nimport numpy\ndef play(x): return x",
        "search": "from .table import SIZE\ndef best(x):\n    import foreign_agents.late\n",
        "table": "from foreign_agents import door\nSIZE = 3",
        "late": "from tressette_env import cards",
        "unused": "",
    }
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    door = importlib.import_module("foreign_agents.door")
    found = [path.stem for path in compiling.sources_of(door.play)]
    assert found == ["__init__", "door", "late", "search", "table"]
    assert "foreign_agents.late" not in sys.modules  # nothing is imported for it


@pytest.mark.parametrize(
    ("module", "far"),
    [
        ("search_kernels", "solver_table"),
        ("ismcts_kernels", "solver_search"),
        ("solver_open_kernels", "solver_table"),
        ("sampling", "sampling"),
    ],
)
def test_the_agents_kernels_depend_on_what_they_reach(module: str, far: str) -> None:
    kernels = importlib.import_module(f"tressette_agents.{module}")
    function = kernels._draw if module == "sampling" else None
    sources = compiling.sources_of(function.py_func if function else kernels._compiled, kernels)
    assert far in [path.stem for path in sources]
