"""Compile the kit's plain functions with numba, and keep the machine code on disk.

Machine code lies in a folder named by the hash of every source it can depend on: numba's own cache
looks only at the file of the compiled function and would serve stale code after an edit in another.
Importing this module loads numba and lets compiled functions call those of the game; the first call
on a fresh machine compiles for some seconds.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import inspect
import logging
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numba
import platformdirs
from numba.extending import overload, register_jitable

from tressette_env import cards, deals, match, observation, randomness, rules, view
from tressette_env.errors import OptionError
from tressette_env.intrinsics import FORMS

__all__ = ["cache_folder", "compiled", "inlined", "register_module", "sources_of"]

Function = TypeVar("Function", bound=Callable[..., Any])

KEPT_DAYS = 90  # machine code that no process has asked for that long is deleted

_LOG = logging.getLogger("tressette")
_PACKAGE = Path(__file__).parent
_FOLDER = re.compile("[0-9a-f]{16}")  # as ``cache_folder`` names them
_CODE = re.compile(r".+\.nb[ic](\.tmp\..+)?")  # as numba names machine code
_registered: set[ModuleType] = set()

if numba.config.DISABLE_JIT:
    raise OptionError(
        "NUMBA_DISABLE_JIT: expected it unset or 0; batches and environments run compiled only, "
        "the game itself (tressette_env.rules) runs interpreted without numba"
    )


@cache
def cache_folder(*sources: Path) -> Path | None:
    """Folder for machine code that depends on this package and on the given files.

    ``TRESSETTE_CACHE_DIR`` overrides the user's cache folder. None where that cannot be written:
    every process then compiles for itself, and a warning is logged.
    """
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for path in (*sorted(_PACKAGE.glob("*.py")), *sources):
        digest.update(path.read_bytes())
    name = digest.hexdigest()[:16]
    base = os.environ.get("TRESSETTE_CACHE_DIR") or platformdirs.user_cache_dir("tressette")
    folder = Path(base).expanduser() / "compiled" / name
    try:
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        _LOG.warning(
            "cannot keep compiled code in %s (%s): compiling in every process; set "
            "TRESSETTE_CACHE_DIR to a folder that can be written",
            folder,
            error.strerror,
        )
        return None
    if is_new:
        _delete_unused(folder.parent)
    return folder


def _delete_unused(base: Path) -> None:
    """Delete the folders of other sources and versions that have not been used for long."""
    oldest = time.time() - KEPT_DAYS * 24 * 3600
    with contextlib.suppress(OSError):  # nothing is lost if it cannot be listed
        for folder in base.iterdir():
            with contextlib.suppress(OSError):  # another process may be deleting it
                if folder.stat().st_mtime < oldest and _holds_code_only(folder):
                    shutil.rmtree(folder, ignore_errors=True)


def _holds_code_only(folder: Path) -> bool:
    """Whether a folder is named as ours, and whatever is in it as machine code."""
    files = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return bool(_FOLDER.fullmatch(folder.name)) and all(
        _CODE.fullmatch(path.name) for path in files
    )


def sources_of(function: Callable[..., Any], *modules: ModuleType) -> tuple[Path, ...]:
    """Return the files outside this package that a compiled function may depend on, sorted.

    Those of its own module and of the given ones, and what they import from their own top-level
    packages, directly or not. Nothing is imported for it.
    """
    found: set[Path] = set()
    for module in (sys.modules.get(function.__module__), *modules):
        has_file = module is not None and getattr(module, "__file__", None) is not None
        if module is not None and has_file and module.__name__ != "__main__":
            _collect(module.__name__, _top_folder(module), found)
    return tuple(sorted(found))


def _top_folder(module: ModuleType) -> Path:
    """Return the folder that holds a module's top-level package."""
    depth = module.__name__.count(".") + hasattr(module, "__path__")
    return Path(str(module.__file__)).parents[depth]


def _collect(name: str, top: Path, found: set[Path]) -> None:
    base = top.joinpath(*name.split("."))
    path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    if path in found or not path.is_file() or path.parent == _PACKAGE:
        return
    found.add(path)
    for imported in _imports(path, name):
        _collect(imported, top, found)


@cache
def _imports(path: Path, name: str) -> tuple[str, ...]:
    """Return what a module imports from its own top-level package; members may be modules."""
    found = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = node.module or ""
            if node.level:
                above = name if path.name == "__init__.py" else name.rpartition(".")[0]
                start = resolve_name("." * node.level + start, above)
            found += [start, *(f"{start}.{alias.name}" for alias in node.names)]
    package = name.partition(".")[0]
    return tuple(one for one in found if one.partition(".")[0] == package)


def register_module(module: ModuleType) -> None:
    """Let compiled functions call the module's functions; interpreted calls stay interpreted."""
    if module not in _registered:
        _register(module, inline=False)


def _register(module: ModuleType, inline: bool) -> None:
    """Register a module; ``inline``: every call is compiled in place."""
    _registered.add(module)
    for function in vars(module).values():
        if inspect.isfunction(function) and function.__module__ == module.__name__:
            if function in FORMS:
                overload(function, strict=False)(FORMS[function])
            else:
                register_jitable(forceinline=inline)(function)


for _module in (cards, randomness, deals, rules, match, view, observation):
    _register(_module, inline=True)


def inlined(function: Function) -> Function:
    """Compile a function in place wherever compiled functions call it."""
    return register_jitable(forceinline=True)(function)


def compiled(function: Function, *modules: ModuleType) -> Function:
    """Compile a function that calls functions of this package's kernels and of ``modules``.

    Parameters
    ----------
    function : callable
        Raises nothing: it returns codes, which its callers turn into exceptions.
    modules : ModuleType
        Modules outside this package whose functions it calls, its own included. What these
        import from their own package, and so on, is found.

    Returns
    -------
    callable
        Runs without the interpreter's lock.
    """
    for module in modules:
        register_module(module)
    folder = cache_folder(*sources_of(function, *modules))
    if folder is None:
        uncached: Function = numba.njit(function, nogil=True)
        return uncached
    # numba reads its cache folder when the dispatcher is made; other users' setting is put back.
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        result: Function = numba.njit(function, cache=True, nogil=True)
    finally:
        numba.config.CACHE_DIR = before
    result._cache = _ForgivingCache(result._cache)  # type: ignore[attr-defined]
    return result


class _ForgivingCache:
    """numba's cache of one function; damaged files and full disks cost a compilation, no error."""

    def __init__(self, cache: Any) -> None:
        self._inner = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            return self._inner.load_overload(signature, target)
        except Exception as error:  # whatever reading a damaged file may raise
            _LOG.warning("compiled code is damaged, compiling again (%s)", error)
            with contextlib.suppress(OSError):
                self._inner.flush()
            return None

    def save_overload(self, signature: Any, code: Any) -> None:
        try:
            self._inner.save_overload(signature, code)
        except OSError as error:
            _LOG.warning("cannot keep compiled code (%s)", error)
