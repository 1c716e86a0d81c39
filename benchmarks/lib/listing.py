"""What benchmarks there are, by purpose: on the screen, and on the page of benchmarks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from lib.sources import PAPERS, Source


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
        The libraries and methods beside whose figures ours stand.
    papers : tuple of Source
        What of papers it does again, first of the main one.
    """

    room: str
    name: str
    measures: str
    beside: str
    papers: tuple[Source, ...] = ()

    def place_in(self, key: str) -> str:
        """The part of a paper that this does again; empty if there is none."""
        return "; ".join(source.place for source in self.papers if source.key == key)


Line = tuple[str, str, str, str]
Block = tuple[str, list[Line], list[str]]  # title, lines of a table, notes below
PURPOSES = {
    "papers": "Papers: their experiments again",
    "peers": "Other libraries: the same work done by both",
    "speed": "Time and memory",
}
NOT_TIMED = "?"
BEGIN = "<!-- list: python benchmarks/run.py --list --write docs/development/benchmarks.md -->"
END = "<!-- end of list -->"


def rows_of_paper(rows: Iterable[Row], key: str) -> list[Row]:
    return [row for row in rows if row.place_in(key)]


def main_rows(rows: Iterable[Row], key: str) -> list[Row]:
    """Those that stand under this paper in the list: it is the first of theirs."""
    return [row for row in rows if row.room == "papers" and row.papers[0].key == key]


def other_rows(rows: Iterable[Row], key: str) -> dict[str, list[str]]:
    """Names that stand elsewhere in the list, by what they do again of this paper."""
    rows = list(rows)
    names: dict[str, list[str]] = {}
    for row in rows_of_paper(rows, key):
        if row not in main_rows(rows, key):
            names.setdefault(row.place_in(key), []).append(row.name)
    return names


def title_of(key: str) -> str:
    paper = PAPERS[key]
    return f"{key}: {paper.authors}, {paper.title}, {paper.venue}"


# ---- on the screen


def print_rows(rows: Iterable[Row], times: dict[str, str], keys: Iterable[str] = ()) -> None:
    """Tables by purpose, or of some papers, with columns as wide as they need to be.

    Parameters
    ----------
    rows : iterable of Row
        The benchmarks.
    times : dict
        How long some of them took.
    keys : iterable of str
        Papers of which all benchmarks are listed, each with what it does again; none: everything.
    """
    rows = list(rows)
    keys = list(keys)
    line = _Line(times)
    blocks: list[Block] = [
        (title_of(key), [line(row, row.place_in(key)) for row in rows_of_paper(rows, key)], [])
        for key in keys
    ]
    blocks = blocks or [block for block in _by_purpose(rows, line) if block[1] or block[2]]
    head = ("name", "what it measures", "part or peer", "takes")
    table = [head, *(cells for _, lines, _ in blocks for cells in lines)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    print(_joined(head, widths))
    for title, lines, notes in blocks:
        print(f"\n{title}", *(_joined(cells, widths) for cells in lines), *notes, sep="\n")
    print("\nTo run them: python benchmarks/run.py NAME ..., or --paper KEY for all of a paper.")
    print(f"Times are those of docs/development/results.md; {NOT_TIMED}: not measured.")


class _Line:
    def __init__(self, times: dict[str, str]) -> None:
        self.times = times

    def __call__(self, row: Row, place: str) -> Line:
        return (row.name, row.measures, place or "-", self.times.get(row.name, NOT_TIMED))


def _joined(cells: Iterable[str], widths: list[int]) -> str:
    return "  ".join(map(str.ljust, cells, widths)).rstrip()


def _by_purpose(rows: list[Row], line: _Line) -> Iterator[Block]:
    for key in PAPERS:
        lines = [line(row, row.place_in(key)) for row in main_rows(rows, key)]
        others = other_rows(rows, key).items()
        yield title_of(key), lines, [f"{place}: {', '.join(names)}" for place, names in others]
    for purpose in ("peers", "speed"):
        chosen = [row for row in rows if row.room == purpose]
        yield PURPOSES[purpose], [line(row, _beside(row)) for row in chosen], []


def _beside(row: Row) -> str:
    return "; ".join([row.beside] * bool(row.beside) + [str(source) for source in row.papers])


# ---- on the page of benchmarks


def write_list(page: Path, rows: Iterable[Row]) -> None:
    """Put the list between the two comments of the page."""
    text = page.read_text(encoding="utf-8")
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not end:
        raise SystemExit(f"{page} lacks the comments between which the list stands: {BEGIN}, {END}")
    lines = "\n".join([begin, "", *page_lines(rows), end])
    page.write_text(head + lines + tail, encoding="utf-8")


def page_lines(rows: Iterable[Row]) -> list[str]:
    """The same in Markdown: nested lists, from a part of a paper or a peer to a name."""
    rows = list(rows)
    lines: list[str] = []
    for purpose, title in PURPOSES.items():
        lines += [f"### {title}", ""]
        if purpose == "papers":
            for key in PAPERS:
                paper = PAPERS[key]
                lines += _item(f"`{key}`: {paper.authors}, *{paper.title}*, {paper.venue}", 0)
                for row in main_rows(rows, key):
                    lines += _item(f"{row.place_in(key)}: `{row.name}`. {row.measures}", 1)
                for place, names in other_rows(rows, key).items():
                    lines += _item(f"{place}: " + ", ".join(f"`{name}`" for name in names), 1)
        else:
            for row in rows:
                if row.room == purpose:
                    peer = f" ({row.beside})" if row.beside else ""
                    lines += _item(f"`{row.name}`: {row.measures}{peer}", 0)
        lines.append("")
    return lines


def _item(text: str, depth: int) -> list[str]:
    indent = "  " * depth
    return textwrap.wrap(
        text,
        100,
        initial_indent=f"{indent}- ",
        subsequent_indent=f"{indent}  ",
        break_on_hyphens=False,
        break_long_words=False,
    )
