"""What a build of pages with faults warns of, and that one without has no warning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx")

DOCS = Path(__file__).parents[2] / "docs"
CONF = f"""\
import sys

sys.path[:0] = [{str(DOCS / "_extensions")!r}, {str(DOCS / "inventories")!r}]
extensions = ["code_width", "picture_texts", "short_names", "torn_tables"]
default_role = "obj"
"""
TORN = """\
============ ========
a list (or   x
iterator)    y
============ ========
"""
GOES_ON = """\
============ =========
a list of 9  one dict
strings      per token
============ =========
"""
WHOLE = """\
.. list-table::

   * - a list (or iterator)
     - ``x``
"""
DOCUMENTED = """\
.. py:class:: sklearn_struct.GraphCRF
   :canonical: sklearn_struct.estimators.graphs.graph_crf.GraphCRF
"""
# name of a page, its text, and the beginning of what it is warned of, if anything
PAGES = {
    "torn": (TORN, "torn row of a table"),
    "goes_on": (GOES_ON, "torn row of a table"),
    "whole": (WHOLE, None),
    "no_text": (".. image:: picture.png\n", "a picture without text"),
    "short_text": (".. image:: picture.png\n   :alt: plot\n", "a picture without text"),
    "figure": (".. figure:: picture.png\n\n   A caption is no text.\n", "a picture without text"),
    "html": ('.. raw:: html\n\n   <p><img src="x.png"></p>\n', "a picture without text"),
    "html_with_text": ('.. raw:: html\n\n   <img alt="Bars of five solvers" src="x">\n', None),
    "with_text": (".. image:: picture.png\n   :alt: Bars of five solvers\n", None),
    "thumbnail": (".. image:: gallery/images/thumb/picture.png\n", None),
    "wide": (f"Code::\n\n    {'x' * 89}\n", "a line of 89 columns"),
    "wide_doctest": (f">>> {'x' * 85}\n", "a line of 89 columns"),
    "wide_language": (f".. code-block:: bash\n\n   {'x' * 89}\n", "a line of 89 columns"),
    "narrow": (f"Code::\n\n    {'x' * 88}\n", None),
    "wide_text": (f"{'x ' * 60}\n", None),
    "documented": (DOCUMENTED, None),
    "own_name": ("See `GraphCRF` and `sklearn_struct.GraphCRF`, its `C` and `tol`.\n", None),
    "misprint": ("See `GrahpCRF`.\n", "no such name: GrahpCRF"),
    "misprint_in_module": ("See `sklearn_struct.metrcs`.\n", "no such name"),
    "gallery/made": (f"Code::\n\n    {'x' * 95}\n", None),
}
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8"
    "cf50070003820182a7d1a9a70000000049454e44ae426082"
)


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What a build says, by page."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "conf.py").write_text(CONF)
    (folder / "picture.png").write_bytes(PICTURE)
    thumbnails = folder / "gallery" / "images" / "thumb"
    thumbnails.mkdir(parents=True)
    (thumbnails / "picture.png").write_bytes(PICTURE)
    for name, (text, _) in PAGES.items():
        (folder / f"{name}.rst").write_text(f":orphan:\n\nTitle\n=====\n\n{text}")
    (folder / "index.rst").write_text("Title\n=====\n")
    answer = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-b", "dummy", str(folder), str(folder / "out")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    lines = answer.stderr.splitlines()
    return {name: [line for line in lines if f"{folder / name}.rst" in line] for name in PAGES}


@pytest.mark.parametrize("name", PAGES)
def test_the_build_warns_of(name, said):
    _, warning = PAGES[name]
    if warning is None:
        assert said[name] == []
    else:
        assert said[name]
        assert all(warning in line for line in said[name])
