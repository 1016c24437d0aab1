"""PNG files that an option such as ``--chart`` names: checked before the work, written whole."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from tressette_env.errors import OptionError
from tressette_train.output_file import check_output, write_output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "check_chart_file", "new_figure", "png_of", "write_chart"]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe and Ito


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, in inches.

    The object interface draws without a display and leaves a notebook's own backend alone.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=120)
    FigureCanvasAgg(figure)
    return figure


def png_of(figure: Figure) -> bytes:
    """Draw a figure as a PNG."""
    image = io.BytesIO()
    figure.savefig(image, format="png")
    return image.getvalue()


def check_chart_file(path: Path, option: str = "--chart") -> None:
    """Raise ``OptionError`` unless a PNG can be written under that name."""
    if path.suffix.lower() != ".png":
        raise OptionError(f"{option}: expected a file name that ends in .png, got {str(path)!r}")
    check_output(option, path)


def write_chart(figure: Figure, path: Path, option: str = "--chart") -> None:
    """Write a figure; raises ``OptionError`` if it cannot be written."""
    write_output(option, path, png_of(figure))
