"""The command ``tressette results``: runs a plan and writes the page of what was found."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from tressette_train.output_file import check_output, write_output
from tressette_train.results_page.page import results_page
from tressette_train.results_page.parts import collect
from tressette_train.results_page.plan import read_plan

__all__ = ["run"]


def run(plan: Path, folder: Path, write: Path | None) -> None:
    """Run the commands of a plan that are not done, and print the page of all; or write it.

    Parameters
    ----------
    plan : Path
        YAML, see ``read_plan``.
    folder : Path
        Where each part's figures are kept.
    write : Path, optional
        File for the page; another page there is replaced.

    Raises
    ------
    TressetteError
        If the plan or a kept part is wrong, a command fails, or something cannot be written; what
        was finished is kept.
    """
    if write is not None:
        check_output("--write", write)
    parts = read_plan(plan)
    found = collect(parts, folder, lambda text: print(text, file=sys.stderr, flush=True))
    command = ["tressette", "results", str(plan), "--folder", str(folder)]
    command += [] if write is None else ["--write", str(write)]
    text = results_page(found, shlex.join(command))
    if write is None:
        print(text, end="")
    else:
        write_output("--write", write, text.encode(), f"the figures are kept in {folder}")
