"""Files that a command writes at its end: refused at once, not after everything was computed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tressette_agents.whole_file import write_whole
from tressette_env.errors import OptionError

__all__ = ["check_output", "write_output"]

_EXPECTED = "expected a file in an existing folder"


def check_output(option: str, path: Path) -> None:
    """Raise ``OptionError`` unless the file that an option names can be written, as far as known.

    Parameters
    ----------
    option : str
        For the message, like ``--write``.
    path : Path
        A new file in an existing folder, or a file that will be replaced.
    """
    target = _target(path)
    try:
        if path.exists() and not path.is_file():
            raise OptionError(f"{option}: {path} cannot be written (it is no file); {_EXPECTED}")
        if path.exists() and not os.access(path, os.W_OK):
            raise OptionError(f"{option}: {path} cannot be written (it is read-only)")
        # Beside the file, under such a name, as ``write_whole`` does: only that tells for sure.
        beside = f".{target.name}."
        tempfile.NamedTemporaryFile(dir=target.parent, prefix=beside, suffix=".tmp").close()
    except OSError as error:
        raise _refused(option, path, error, _EXPECTED) from None


def write_output(option: str, path: Path, data: bytes, otherwise: str = "") -> None:
    """Write the file that an option names, whole.

    Parameters
    ----------
    option : str
        For the message, like ``--write``.
    path : Path
    data : bytes
    otherwise : str
        Where the content is found if this fails, for the message.

    Raises
    ------
    OptionError
        If it cannot be written.
    """
    try:
        write_whole(_target(path), data)
    except OSError as error:
        raise _refused(option, path, error, otherwise) from None


def _target(path: Path) -> Path:
    """Return the file itself: a link to it stays one."""
    return Path(os.path.realpath(path))


def _refused(option: str, path: Path, error: OSError, more: str) -> OptionError:
    reason = f"{option}: {path} cannot be written ({error.strerror or error})"
    return OptionError(f"{reason}; {more}" if more else reason)
