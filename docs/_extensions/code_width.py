"""A warning for each line of a code block that is too wide for a page, which would be cut.

Pages that show code of the package as it is are left out, as its lines are longer: those of the
gallery, which are made from scripts, and the page on architecture.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

WIDEST = 88  # columns that a page shows without scrolling
LEFT_OUT = ("gallery/", "development/architecture")


def wide_lines(text: str) -> list[str]:
    """Lines that are too wide."""
    return [line for line in text.splitlines() if len(line) > WIDEST]


def check(app: Sphinx, doctree: nodes.document) -> None:
    page = app.env.current_document.docname
    if page.startswith(LEFT_OUT):
        return
    for kind in (nodes.literal_block, nodes.doctest_block):
        for block in doctree.findall(kind):
            for line in wide_lines(block.astext()):
                logging.getLogger(__name__).warning(
                    "a line of %d columns, at most %d fit: %s",
                    len(line),
                    WIDEST,
                    line.strip(),
                    location=block if block.source else (page, block.line),
                )


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", check)
    return {"parallel_read_safe": True}
