"""A warning for each picture without a text that says what it shows, for who cannot see it.

Write ``:alt:`` below ``image``, ``figure`` and ``plot``, and ``alt="..."`` in HTML. Pictures
of the gallery have such texts from sphinx-gallery; its thumbnails need none, as the example's title
stands beside them.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

THUMBNAILS = "/thumb/"
IN_HTML = re.compile(r"<img\b[^>]*>", re.IGNORECASE)
ALT = re.compile(r"""\balt\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
FEWEST_LETTERS = 10  # "plot" or "figure 1" says nothing


def lacks_text(picture: nodes.image) -> bool:
    """Whether a picture has no text, a very short one, or the name of its file."""
    text = picture.get("alt", "").strip()
    if THUMBNAILS in picture["uri"]:
        return False
    return len(text) < FEWEST_LETTERS or text == picture["uri"]


def check(app: Sphinx, doctree: nodes.document) -> None:
    for picture in doctree.findall(nodes.image):
        if lacks_text(picture):
            logging.getLogger(__name__).warning(
                "a picture without text (:alt:): %s", picture["uri"], location=picture
            )

    for raw in doctree.findall(nodes.raw):
        for tag in tags_without_text(raw.astext()) if "html" in raw.get("format", "") else ():
            logging.getLogger(__name__).warning(
                "a picture without text (alt): %s", tag, location=raw
            )


def tags_without_text(html: str) -> list[str]:
    """Pictures in HTML that have no text or a very short one."""
    tags = [tag for tag in IN_HTML.findall(html) if THUMBNAILS not in tag]
    texts = ["".join(part for parts in ALT.findall(tag) for part in parts) for tag in tags]
    return [tag for tag, text in zip(tags, texts, strict=True) if len(text) < FEWEST_LETTERS]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", check)
    return {"parallel_read_safe": True}
