"""Every notebook runs from its first cell to its last, in a fresh kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

PROJECT = Path(__file__).parent.parent
NOTEBOOKS = sorted((PROJECT / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert [path.name for path in NOTEBOOKS] == ["01_quickstart.ipynb"]


# Jupyter's own libraries warn, and leave sockets to the garbage collector.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs_and_prints_what_it_shows(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    committed = _printed(notebook)
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": PROJECT}}
    ).execute()
    assert _printed(notebook) == committed, "run the notebook again and commit its outputs"
    images = [out for out in _outputs(notebook) if "image/png" in out.get("data", {})]
    assert images, "expected a plot"


def _outputs(notebook: Any, without: str = "") -> list[Any]:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    wanted = [cell for cell in cells if without not in cell.metadata.get("tags", [])]
    return [out for cell in wanted for out in cell.outputs]


def _printed(notebook: Any) -> list[str]:
    """Return what the cells print: it follows from the seeds, but for a trained policy's cards,
    which hang on how a processor rounds (cells with the tag "rounding")."""
    return [out.text for out in _outputs(notebook, "rounding") if out.output_type == "stream"]
