"""A warning for each row of a table that is the rest of the row above.

In a simple table a text in the first column begins a row, so a first cell that is wrapped tears its
row. Such tables should be written as ``list-table``.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

BRACKETS = ("()", "[]", "{}")


def is_torn(cells: list[str]) -> bool:
    """Whether a row lacks its first cell or all others, or a cell ends within a phrase."""
    if not cells[0] or not any(cells[1:]):
        return True
    unbalanced = any(cell.count(a) != cell.count(b) for cell in cells for a, b in BRACKETS)
    return unbalanced or any(cell.endswith((",", " and", " or")) for cell in cells)


def check(app: Sphinx, doctree: nodes.document) -> None:
    for table in doctree.findall(nodes.table):
        for row in table.findall(nodes.row):
            cells = [entry.astext().strip() for entry in row.findall(nodes.entry)]
            if len(cells) > 1 and not isinstance(row.parent, nodes.thead) and is_torn(cells):
                logging.getLogger(__name__).warning("torn row of a table: %s", cells, location=row)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", check)
    return {"parallel_read_safe": True}
