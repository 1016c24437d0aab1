"""The wheel holds the three packages and nothing else, and works when installed."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from configparser import ConfigParser
from email import message_from_bytes
from importlib.util import find_spec
from pathlib import Path

import pytest

from tressette_env import __version__

ROOT = Path(__file__).parents[1]
SOURCES = {
    "tressette_env": ROOT / "tressette_env",
    "tressette_agents": ROOT / "agents/tressette_agents",
    "tressette_train": ROOT / "train/tressette_train",
}

# Every module comes from the wheel, a deal can be played by name, and so can the command.
USE = """
import importlib
import pkgutil
import sys
from importlib.metadata import distribution
from pathlib import Path

wheel = Path(sys.argv[1])
assert distribution("tressette").locate_file("").resolve() == wheel
for name in ("tressette_env", "tressette_agents", "tressette_train"):
    package = importlib.import_module(name)
    assert Path(package.__file__).is_relative_to(wheel), package.__file__
    for module in pkgutil.iter_modules(package.__path__, f"{name}."):
        if not module.name.endswith(".__main__"):
            found = importlib.import_module(module.name).__file__
            assert Path(found).is_relative_to(wheel), found
for entry in distribution("tressette").entry_points:
    assert callable(entry.load()), entry

import gymnasium
env = gymnasium.make("Tressette-v0", opponent="greedy", reward="tricks")
seen, _ = env.reset(seed=0)
total, over = 0.0, False
while not over:
    seen, reward, over, _, _ = env.step(seen["action_mask"].argmax())
    total += reward
own = env.unwrapped.seat % 2
thirds = env.unwrapped.table.thirds
assert abs(total - (thirds[own] - thirds[1 - own]) / 35) < 1e-9
print("played")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    # With the build system at hand nothing is fetched; otherwise pip fetches it for this build.
    isolation = ["--no-build-isolation"] if find_spec("hatchling") else []
    result = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", *isolation, "-w", folder, ROOT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    (path,) = folder.iterdir()
    assert path.name == f"tressette-{__version__}-py3-none-any.whl"
    return zipfile.ZipFile(path)


def about(wheel: zipfile.ZipFile, name: str) -> bytes:
    return wheel.read(f"tressette-{__version__}.dist-info/{name}")


def test_it_holds_the_three_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert found == {
        f"{package}/{path.relative_to(folder).as_posix()}"
        for package, folder in SOURCES.items()
        for path in folder.rglob("*")
        if path.suffix in (".py", ".safetensors", ".json") or path.name == "py.typed"
    }
    for package in SOURCES:
        assert {f"{package}/__init__.py", f"{package}/py.typed"} <= found
    assert {name.partition("/")[2] for name in wheel.namelist() if ".dist-info/" in name} == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "entry_points.txt",
        "licenses/LICENSE",
    }


def test_its_entry_points(wheel: zipfile.ZipFile) -> None:
    groups = ConfigParser()
    groups.read_string(about(wheel, "entry_points.txt").decode())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {group: dict(groups[group]) for group in groups.sections()} == {
        "console_scripts": project["scripts"],
        **project["entry-points"],
    }
    assert groups["console_scripts"]["tressette"] == "tressette_train.cli:main"
    assert {"random", "greedy", "learned"} <= {*groups["tressette.agents"]}


def test_its_licence_and_requirements(wheel: zipfile.ZipFile) -> None:
    assert about(wheel, "licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    metadata = message_from_bytes(about(wheel, "METADATA"))
    assert metadata["Name"] == "tressette"
    assert metadata["License-Expression"] == "MIT"
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert metadata["Requires-Python"] == ">=3.11"
    required = [text for text in metadata.get_all("Requires-Dist", []) if "extra ==" not in text]
    names = {text.partition(">")[0].strip() for text in required}
    assert names == {"gymnasium", "numba", "numpy", "pettingzoo", "platformdirs"}


def test_it_works_when_installed(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    installed = tmp_path.resolve() / "installed"
    wheel.extractall(installed)
    result = subprocess.run(
        [sys.executable, "-c", USE, installed],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "played\n"
