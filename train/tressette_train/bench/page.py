"""The results of a run in the benchmark page, between two marks."""

from __future__ import annotations

from pathlib import Path

from tressette_env.errors import OptionError
from tressette_train.bench.report import Report
from tressette_train.bench.screen import markdown, notes, sheets, target_sheet
from tressette_train.output_file import check_output, write_output

__all__ = ["BEGIN", "END", "check_page", "write_results"]

BEGIN = "<!-- results: written by `tressette bench --write`; do not edit -->"
END = "<!-- end of the results -->"


def check_page(path: Path) -> tuple[str, str]:
    """Return what stands before and after the results.

    Raises
    ------
    OptionError
        If the page cannot be read or written, or does not hold each mark once.
    """
    check_output("--write", path)
    try:
        text = path.read_bytes().decode()  # line ends stay as they are
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"--write: {path} cannot be read ({error})") from None
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if text.count(BEGIN) != 1 or text.count(END) != 1 or not end:
        raise OptionError(
            f"--write: expected a page with one line {BEGIN!r} and below it one line {END!r}; "
            f"{path} is none"
        )
    return before, after


def write_results(report: Report, path: Path) -> None:
    """Replace what stands between the marks of a Markdown page; errors as ``check_page``."""
    before, after = check_page(path)
    tables = [markdown(sheet) for sheet in (target_sheet(report), *sheets(report))]
    lines = "\n".join(f"- {note}" for note in notes(report))
    body = "\n\n".join([BEGIN, *tables, lines, END])
    write_output("--write", path, (before + body + after).encode())
