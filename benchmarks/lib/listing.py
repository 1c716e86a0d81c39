"""What benchmarks there are, a line each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Row(NamedTuple):
    """A benchmark in the list.

    Attributes
    ----------
    room : str
        The folder in which it lies.
    name : str
        What the command calls it.
    measures : str
        What is measured, and on which data.
    beside : str
        The paper or the library beside whose figures ours stand.
    """

    room: str
    name: str
    measures: str
    beside: str


HEAD = Row("room", "name", "what it measures", "paper or peer")


def print_rows(rows: Iterable[Row]) -> None:
    """A table with columns as wide as they need to be."""
    table = [HEAD, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = map(str.ljust, (cell or "-" for cell in row), widths)
        print("  ".join(cells).rstrip())
