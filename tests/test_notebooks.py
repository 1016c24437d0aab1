"""Every notebook runs from its first cell to its last, in a fresh kernel.

Those whose full form takes minutes run in a short form: smaller numbers are added to the cell with
the tag "parameters". Run as a script, `python tests/test_notebooks.py [NAME ...]` executes the full
form and writes the outputs into the files.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

PROJECT = Path(__file__).parent.parent
FOLDER = PROJECT / "notebooks"
SHORT = {  # by notebook, what stands for its parameters in the tests
    "03_endings_and_search": "WORLDS, DEALS = 8, 20",
    "04_training": "DECISIONS, DEALS = 20_000, 20",
    "05_benchmark": "DEALS = 40",
}
names = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
MAX_BYTES = 600_000


def test_there_are_notebooks() -> None:
    assert names == ["01_quickstart", "02_rules_and_observations", *SHORT]


# Jupyter's own libraries warn, and leave sockets to the garbage collector.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", names)
def test_the_notebook_runs_and_shows_what_it_has_shown(name: str) -> None:
    notebook = _read(name)
    committed = _kinds(notebook), _printed(notebook)
    if name in SHORT:
        (place,) = [k for k, cell in enumerate(notebook.cells) if "parameters" in _tags(cell)]
        notebook.cells[place].source += f"\n{SHORT[name]}"
    _execute(notebook)
    assert _kinds(notebook) == committed[0]
    if name not in SHORT:
        assert _printed(notebook) == committed[1], "run the notebook again and commit its outputs"


@pytest.mark.parametrize("name", names)
def test_the_outputs_are_whole_and_say_nothing_of_the_machine(name: str) -> None:
    notebook = _read(name)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    kinds = {kind for cell in _kinds(notebook) for kind in cell}
    assert "image/png" in kinds
    assert not {"error", "stderr"} & kinds
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert len(text) < MAX_BYTES
    for path in (str(PROJECT), str(Path.home()), sys.prefix, "/tmp/"):
        assert path not in text


def _read(name: str) -> Any:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def _execute(notebook: Any) -> None:
    NotebookClient(
        notebook, timeout=1800, kernel_name="python3", resources={"metadata": {"path": PROJECT}}
    ).execute()


def _tags(cell: Any) -> list[str]:
    return list(cell.metadata.get("tags", []))


def _kinds(notebook: Any) -> list[list[str]]:
    """Return what each code cell puts out: the streams' names, and pictures."""
    return [
        sorted(
            {
                "image/png"
                if "image/png" in out.get("data", {})
                else out.get("name", out.output_type)
                for out in cell.outputs
            }
        )
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _printed(notebook: Any) -> list[str]:
    """Return what the cells print: it follows from the seeds, but for a trained policy's cards,
    which hang on how a processor rounds (cells with the tag "rounding")."""
    return [
        "".join(out.text for out in cell.outputs if out.output_type == "stream")
        for cell in notebook.cells
        if cell.cell_type == "code" and "rounding" not in _tags(cell)
    ]


def _write(name: str) -> None:
    """Execute the full form, and keep the outputs without the times at which cells ran."""
    notebook = _read(name)
    _execute(notebook)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    nbformat.write(notebook, FOLDER / f"{name}.ipynb")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or names:
        _write(chosen)
