"""Data sets that packages of R carry, read without R: Debian's package is fetched and taken apart.

Only what data frames are made of is read of R's serialised objects.
"""

from __future__ import annotations

import lzma
import os
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Yeast", "yeast"]

PACKAGE = "r-cran-mlr"
N_TRAIN = 1500  # the split of the Mulan collection
# R's types of objects
NOTHING = {241, 242, 243, 250, 251, 252, 253, 254}
REFERENCE = 255
PERSISTENT = 247
SYMBOL = 1
PAIRS = {2, 6}
STRING = 9
NUMBERS = {10: ">i4", 13: ">i4", 14: ">f8"}
STRINGS = 16
LISTS = {19, 20}
HAS_ATTRIBUTES = 512
HAS_TAG = 1024


class Yeast(NamedTuple):
    """Genes of yeast (Elisseeff and Weston, NIPS 2001): 103 numbers, 14 classes of functions."""

    X_train: np.ndarray
    Y_train: np.ndarray
    X_test: np.ndarray
    Y_test: np.ndarray


class Values(NamedTuple):
    """A vector or list of R, and its attributes by name."""

    items: Any
    attributes: dict[str, Any]

    def named(self) -> dict[str, Any]:
        """The items by their names."""
        return dict(zip(self.attributes["names"].items, self.items, strict=True))


class Reader:
    """Reads one serialised object in R's binary format (XDR, version 2 or 3)."""

    def __init__(self, data: bytes) -> None:
        if not data.startswith(b"X\n"):
            raise ValueError("no object of R in its binary format")
        self.data = data
        self.place = 2
        self.known: list[Any] = []

    def read(self) -> Any:
        version = self._integer()
        self.place += 8  # which versions of R wrote it, and can read it
        if version == 3:
            n = self._integer()
            self.place += n  # the name of the encoding
        return self._object(self._integer())

    def _integer(self) -> int:
        (value,) = struct.unpack_from(">i", self.data, self.place)
        self.place += 4
        return int(value)

    def _characters(self) -> str | None:
        self._integer()
        n = self._integer()
        if n < 0:
            return None
        self.place += n
        return self.data[self.place - n : self.place].decode("latin1")

    def _object(self, flags: int) -> Any:
        kind = flags & 255
        if kind in NOTHING:
            return None
        if kind == REFERENCE:
            return self.known[(flags >> 8 or self._integer()) - 1]
        if kind == SYMBOL:
            return self._remember(self._characters())
        if kind == PERSISTENT:
            self._integer()
            return self._remember([self._characters() for _ in range(self._integer())])
        if kind in PAIRS:
            return self._pairs(flags)
        if kind == STRING:
            self.place -= 4
            return self._characters()
        return self._values(flags)

    def _remember(self, value: Any) -> Any:
        self.known.append(value)
        return value

    def _pairs(self, flags: int) -> dict[Any, Any]:
        made = {}
        while flags & 255 in PAIRS:
            if flags & HAS_ATTRIBUTES:
                self._object(self._integer())
            tag = self._object(self._integer()) if flags & HAS_TAG else None
            made[tag] = self._object(self._integer())
            flags = self._integer()
        return made

    def _values(self, flags: int) -> Values:
        kind = flags & 255
        n = self._integer()
        items: Any
        if kind in NUMBERS:
            items = np.frombuffer(self.data, NUMBERS[kind], n, self.place)
            self.place += items.nbytes
        elif kind == STRINGS:
            items = [self._characters() for _ in range(n)]
        elif kind in LISTS:
            items = [self._object(self._integer()) for _ in range(n)]
        else:
            raise ValueError(f"an object of R's type {kind}, which no data frame has")
        attributes = self._object(self._integer()) if flags & HAS_ATTRIBUTES else {}
        return Values(items, attributes)


def yeast() -> Yeast:
    """The data set of R's package mlr, from Debian's package of it."""
    table = _frame("yeast.task")
    Y = table[:, :14].astype(int)
    X = table[:, 14:]
    return Yeast(X[:N_TRAIN], Y[:N_TRAIN], X[N_TRAIN:], Y[N_TRAIN:])


def _frame(task: str) -> np.ndarray:
    """The data frame of a task, as a matrix."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = _data_folder(Path(scratch))
        index = Reader(zlib.decompress((folder / "Rdata.rdx").read_bytes(), 31)).read().named()
        stored = (folder / "Rdata.rdb").read_bytes()

    def read(place: Values) -> Any:
        first, length = map(int, place.items)
        piece = stored[first : first + length]
        if piece[4:5] == b"Z":
            return Reader(lzma.decompress(piece[5:])).read()
        return Reader(zlib.decompress(piece[4:])).read()

    (reference,) = read(index["variables"].named()[task]).named()["env"]
    data = read(index["references"].named()[reference]).named()["bindings"].named()["data"]
    return np.column_stack([column.items for column in data.items]).astype(float)


def _data_folder(scratch: Path) -> Path:
    """The folder of the package's data: of an installed one, else of one that is fetched."""
    inside = Path("usr/lib/R/site-library/mlr/data")
    if (installed := Path("/") / inside).exists():
        return installed
    quiet: dict[str, Any] = {"cwd": scratch, "check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["apt-get", "-qq", "download", PACKAGE], stderr=subprocess.DEVNULL, **quiet)
    (package,) = scratch.glob(f"{PACKAGE}_*.deb")
    subprocess.run(["dpkg-deb", "-x", os.fspath(package), "."], **quiet)
    return scratch / inside
