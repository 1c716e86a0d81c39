"""Files as a whole: read, and replaced or left alone."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress

__all__ = ["read_whole", "write_whole"]

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

KINDS = {
    stat.S_IFDIR: (errno.EISDIR, "a folder"),
    stat.S_IFIFO: (errno.EINVAL, "a pipe"),
    stat.S_IFSOCK: (errno.EINVAL, "a socket"),
}
DEVICE = errno.EINVAL, "a device"


def read_whole(path: Path) -> bytes:
    """The bytes of a file; OSError for all else: pipes may have no writer, and devices no end."""
    name = os.fsdecode(path)
    # a pipe or a device might never end
    kind = stat.S_IFMT(os.stat(name).st_mode)
    if kind != stat.S_IFREG:
        raise _no_file(kind, name)
    with open(name, "rb") as file:
        return file.read()


def write_whole(path: Path, data: bytes) -> None:
    """Replace the file, or leave everything as it was: on any exception, on Ctrl-C, and if the
    power fails.

    A link keeps pointing where it points. A new file has the permissions of the old one, else those
    that are usual.
    """
    name = os.fsdecode(path)
    try:
        _replace(os.path.realpath(name), _permissions(name), data)
    except OSError as error:  # of a file whose name says nothing to whoever reads it
        if error.errno is None or error.filename == name:
            raise
        raise OSError(error.errno, error.strerror, name) from error


def _permissions(name: str) -> int | None:
    """Those of the file that is to be replaced; None if there is none. OSError if it must not be
    replaced.
    """
    if not os.path.basename(name):
        raise _no_file(stat.S_IFDIR, name)
    try:
        mode = os.stat(name).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise _no_file(stat.S_IFMT(mode), name)
    # replacing it would only need rights in the folder
    if not os.access(name, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected", name)
    # bits that let a file run as its owner are not handed on
    return mode & 0o777


def _no_file(kind: int, name: str) -> OSError:
    number, what = KINDS.get(kind, DEVICE)
    return OSError(number, f"this is {what}, where the name of a file is expected", name)


def _replace(path: str, permissions: int | None, data: bytes) -> None:
    # in the same folder: a file takes another's place at once only within one file system
    temporary = os.path.join(os.path.dirname(path), f".{secrets.token_hex(8)}.part")
    try:
        with open(temporary, "xb") as file:
            if permissions is not None:  # at once: who could not read the old one never can
                os.chmod(temporary, permissions)
            file.write(data)
            file.flush()
            # before it takes the other one's place: after a crash there is the old model or the new
            # one
            os.fsync(file.fileno())
        os.replace(temporary, path)
    # on Ctrl-C, too, which is no Exception
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
