"""Where compiled kernels are kept.

Stale or damaged code is never run, and where code cannot be kept, there is a warning, no error.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import llvmlite
import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.compiler import CompileResult
from numba.core.cpu import CPUContext
from numba.core.serialize import dumps, loads
from numba.core.types import Type

from sklearn_struct._warning import warn

__all__ = ["KERNEL_ROOMS", "keep"]

# Rooms that hold kernels, or the containers that kernels receive; a room uses only those before it.
KERNEL_ROOMS = (
    "compiled",
    "containers",
    "inference",
    "losses",
    "linear",
    "encoding",
    "hidden_markov",
)
REMEDY = (
    "Set the environment variable NUMBA_CACHE_DIR to a folder that can be written to and will be "
    "there later."
)
Types: TypeAlias = tuple[Type, ...]  # of the arguments of a call
# signature, machine, and digests of the function's bytecode and of what it closes over
Key: TypeAlias = tuple[Types, tuple[object, ...], tuple[str, str]]
SEAL = hashlib.sha256().digest_size


def keep(compiled: Any) -> None:
    """Let a compiled function load its machine code from disk, and keep it there.

    Nothing happens where there is no place for it.
    """
    kept = _in_a_folder_of_numba(compiled.py_func) or _in_a_temporary_folder(compiled.py_func)
    if kept is not None:
        compiled._cache = kept


def _in_a_folder_of_numba(function: Callable[..., Any]) -> KernelCache | None:
    """The first that can be written to: NUMBA_CACHE_DIR, beside the package, the user's cache."""
    try:
        # numba asks for a folder as soon as it is made
        return KernelCache(function)
    except RuntimeError:  # numba's, where it finds no folder
        return None


def _in_a_temporary_folder(function: Callable[..., Any]) -> KernelCache | None:
    folder = _temporary_folder()
    if folder is None:
        return None
    config: Any = numba.config
    chosen = config.CACHE_DIR
    # numba reads it only while it looks for a folder
    config.CACHE_DIR = str(folder)
    try:
        kept = _in_a_folder_of_numba(function)
    finally:
        config.CACHE_DIR = chosen
    if kept is not None:
        kept.private = folder
    return kept


class KernelCache(FunctionCache):
    """Machine code of a kernel, a file a signature, as numba keeps it but for four things.

    - The code is stamped with all rooms that the kernel may call, and with the versions of those
      who make it, not only with the file of the kernel: a changed callee, or field of a NamedTuple,
      would else go unseen.
    - A file is under a digest of its bytes and the stamp, and says which signature it is for.
      Numba's own index and data are two files, and if a process ends between them, or two processes
      write at once, one tells lies about the other.
    - What cannot be read is compiled; what cannot be written is used without being kept.
    - A folder in a place that others can write to, `private`, is looked at each time.
    """

    private: Path | None = None

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        source = self._impl.locator.get_source_stamp()
        versions = numba.__version__, llvmlite.__version__, np.__version__
        self._stamp = repr((_digest(_n_rooms(function)), source, versions)).encode()

    def load_overload(self, sig: Types, target_context: CPUContext) -> CompileResult | None:
        """The compiled function, or None."""
        # as numba's own cache does before it rebuilds a function
        target_context.refresh()
        key = self._index_key(sig, target_context.codegen())
        kept = self._read(self._path(key))
        # the name of a file leaves out the digests of the function
        if kept is None or kept[0] != key:
            return None
        compiled: CompileResult | None = self._impl.rebuild(target_context, kept[1])
        return compiled

    def save_overload(self, sig: Types, data: CompileResult) -> None:
        """Keep the compiled function, if it can be kept."""
        if not self._impl.check_cachable(data):
            return
        key = self._index_key(sig, data.codegen)
        body = dumps((key, self._impl.reduce(data)))
        try:
            self._write(self._path(key), self._seal(body) + body)
        except OSError as error:
            _say(
                f"Compiled kernels cannot be kept in {self._cache_path} ({error.strerror}), so "
                f"each process compiles them anew. {REMEDY}"
            )

    def flush(self) -> None:
        """Forget all signatures."""
        for file in Path(self._cache_path).glob(f"{self._impl.filename_base}.*.nbc"):
            file.unlink(missing_ok=True)

    def _path(self, key: Key) -> Path:
        """A later version of the kernel has the same name, so that files do not pile up."""
        signature, machine, _ = key
        name = hashlib.sha256(repr((signature, machine)).encode()).hexdigest()[:16]
        return Path(self._cache_path) / f"{self._impl.filename_base}.{name}.nbc"

    def _seal(self, body: bytes) -> bytes:
        return hashlib.sha256(self._stamp + body).digest()

    def _read(self, path: Path) -> Any:
        """What is kept; None if it is stale or damaged, or there is nothing."""
        if self.private is not None and not _is_private(self.private):
            return None
        try:
            content = path.read_bytes()
        except OSError:
            return None
        body = content[SEAL:]
        if content[:SEAL] != self._seal(body):
            return None
        try:
            return loads(body)
        # whatever numba's extensions may raise that were there when it was written
        except Exception:
            return None

    def _write(self, path: Path, content: bytes) -> None:
        if self.private is not None and not _is_private(self.private):
            raise PermissionError(0, f"{self.private} is not what it was")
        self._impl.locator.ensure_cache_path()
        # replaced as a whole, since other processes may read it meanwhile
        new = path.with_name(f"{path.name}.{uuid4().hex}")
        try:
            new.write_bytes(content)
            os.replace(new, path)
        except BaseException:
            with suppress(OSError):
                new.unlink()
            raise


def _n_rooms(function: Callable[..., Any]) -> int:
    """How many rooms a kernel of a function's room may call; all of them for a stranger."""
    room = function.__module__.split(".")[1:2]
    rooms = [name.removesuffix(".py") for name in KERNEL_ROOMS]
    return rooms.index(room[0]) + 1 if room and room[0] in rooms else len(rooms)


@cache
def _digest(n_rooms: int) -> str:
    """Digest of the files of the first rooms: kernels of the last of them may call any of these."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    # a kernel uses only rooms up to its own, so changes behind them leave it as it is
    for room in KERNEL_ROOMS[:n_rooms]:
        path = package / room
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    # a kernel with checks, or without them, is another one
    checks = getattr(numba.config, "BOUNDSCHECK", None)
    digest.update(str(checks).encode())
    return digest.hexdigest()


# ---- the temporary directory, where others can write


@cache
def _temporary_folder() -> Path | None:
    """Under the temporary directory: the user's own, else one of this process, else None."""
    folder = _of_user() or _of_process()
    where = f"they are kept in {folder}" if folder else "each process compiles them anew"
    config: Any = numba.config
    tried = "Neither the folder of the package nor the user's cache folder can be written to"
    if config.CACHE_DIR:
        tried = f"NUMBA_CACHE_DIR is {config.CACHE_DIR}, which cannot be written to. {tried}"
    _say(f"{tried}, so compiled kernels have no place: {where}. {REMEDY}")
    return folder


def _of_user() -> Path | None:
    """None unless nobody else can have put anything there: what is loaded from it is run."""
    if not hasattr(os, "geteuid"):
        return None
    try:
        above = Path(tempfile.gettempdir()).resolve()
        mode = above.stat().st_mode
        # machine code that others could replace would run with this user's rights
        if mode & (stat.S_IWGRP | stat.S_IWOTH) and not mode & stat.S_ISVTX:
            return None  # where anybody can move what is not theirs
        folder = above / f"sklearn_struct-{os.geteuid()}"
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        return folder if _is_private(folder) and _is_writable(folder) else None
    except OSError:
        return None


def _of_process() -> Path | None:
    """A new one, which goes with the process."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="sklearn_struct-"))
    except OSError:
        return None
    atexit.register(_remove, folder, os.getpid())
    return folder if _is_writable(folder) else None


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not in a fork of it
        shutil.rmtree(folder, ignore_errors=True)


def _is_private(folder: Path) -> bool:
    """Whether it is a folder, not a link to one, of the user's, that nobody else may look into."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    if not hasattr(os, "geteuid"):
        return stat.S_ISDIR(status.st_mode)
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and not stat.S_IMODE(status.st_mode) & 0o077
    )


def _is_writable(folder: Path) -> bool:
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@cache
def _say(message: str) -> None:
    """Once in each process."""
    warn(message)
