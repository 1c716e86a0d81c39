"""README for PyPI: links to files of the repository lead to its address, at the tag of a version.

python .github/absolute_links.py v0.1.0    # changes README.md
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE_LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?://|#)([^)\s]+)\)")


def absolute(text: str, address: str, tag: str) -> str:
    """The text with such links; pictures lead to the file itself, others to its page."""

    def link(match: re.Match[str]) -> str:
        mark, words, name = match.groups()
        kind = "raw" if mark else "blob"
        return f"{mark}{words}({address}/{kind}/{tag}/{name})"

    # a badge is a picture inside a link, of which the link is what leads to a file
    text = re.sub(r"\)\]\((?!https?://|#)([^)\s]+)\)", rf")]({address}/blob/{tag}/\1)", text)
    return FILE_LINK.sub(link, text)


def main() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    address = pyproject["project"]["urls"]["Repository"]
    readme = ROOT / "README.md"
    readme.write_text(absolute(readme.read_text("utf-8"), address, sys.argv[1]), "utf-8")


if __name__ == "__main__":
    main()
