"""A warning for each picture without a text that says what it shows, for who cannot see it.

Write ``:alt:`` below ``image``, ``figure`` and ``plot``. Pictures of the gallery have such texts
from sphinx-gallery; its thumbnails need none, as the example's title stands beside them.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

THUMBNAILS = "/thumb/"
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


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", check)
    return {"parallel_read_safe": True}
