"""A warning for each row of a table that is the rest of the row above.

In a simple table a text in the first column begins a row, so a first cell that is wrapped tears its
row. Such tables should be written as ``list-table``. In the source a row looks wrapped if its first
cell goes on in lower case with a word that had no room in the line above. Where it is a row of its
own, leave a line blank before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
ENDINGS = ["a", "an", "and", "of", "or", "the"]
UNFINISHED = (",", *(f" {word}" for word in ENDINGS))
BORDER = re.compile(r"( *)(=+)( +=+)+ *")


def is_torn(cells: list[str]) -> bool:
    """Whether a row lacks its first cell or all others, or a cell ends within a phrase."""
    if not cells[0] or not any(cells[1:]):
        return True
    unbalanced = any(cell.count(a) != cell.count(b) for cell in cells for a, b in BRACKETS)
    return unbalanced or any(cell.endswith(UNFINISHED) for cell in cells)


def wrapped_rows(text: str) -> Iterator[tuple[int, str, str]]:
    """Number of the line and first cells, for pairs of lines of simple tables of which the second
    looks like the rest of the first.
    """
    lines = [*text.splitlines(), ""]
    first_column: slice | None = None
    for i, line in enumerate(lines[:-1]):
        border = BORDER.fullmatch(line)
        if border:
            is_last = first_column is not None and not lines[i + 1].strip()
            first_column = None if is_last else slice(border.start(2), border.end(2))
        elif first_column is not None and not BORDER.fullmatch(lines[i + 1]):
            above = line[first_column].strip()
            below = lines[i + 1][first_column].strip()
            width = first_column.stop - first_column.start
            if is_rest(above, below, width):
                yield i + 2, above, below


def is_rest(above: str, below: str, width: int) -> bool:
    """Whether a cell looks like the end of the one above, in a column of this width."""
    words = above.split()
    if len(words) < 2 or not below[:1].islower() or "`" in above + below:
        return False
    return len(above) + 1 + len(below.split()[0]) > width


def check_source(app: Sphinx, docname: str, source: list[str]) -> None:
    for number, above, below in wrapped_rows(source[0]):
        logging.getLogger(__name__).warning(
            "torn row of a table: %r goes on with %r", above, below, location=(docname, number)
        )


def check(app: Sphinx, doctree: nodes.document) -> None:
    for table in doctree.findall(nodes.table):
        for row in table.findall(nodes.row):
            cells = [entry.astext().strip() for entry in row.findall(nodes.entry)]
            if len(cells) > 1 and not isinstance(row.parent, nodes.thead) and is_torn(cells):
                logging.getLogger(__name__).warning("torn row of a table: %s", cells, location=row)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", check_source)
    app.connect("doctree-read", check)
    return {"parallel_read_safe": True}
