"""Broken links within built pages, and whatever they would load from the network.

    python docs/check_links.py HTMLDIR

Every local ``href`` and ``src`` must lead to a file, and every anchor to an ``id`` of that file.
Scripts, styles, fonts and pictures must be local, so that the pages can be read without network;
links to other sites are not followed.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

# which attribute of an element is loaded with the page
LOADED = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
}
NOT_LOADED = ("canonical", "next", "prev", "search", "index", "author", "help", "top", "up")
IMPORTED = re.compile(r"""(?:@import\s+["']|url\(["']?)(https?:|//)[^"')]*""")
STATIC = "_static"  # templates of the theme lie there, which are no pages
MADE_BY_SCRIPT = ("search.html", "genindex.html")  # the search page gets its anchors when it runs


class Page(NamedTuple):
    """What a page links to, what it loads, and the anchors that it has."""

    links: set[str]
    loaded: set[str]
    anchors: set[str]


class Reader(HTMLParser):
    """Collects links, what is loaded, and anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Page(set(), set(), set())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.page.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag in LOADED and LOADED[tag] in values:
            if tag != "link" or values.get("rel") not in NOT_LOADED:
                self.page.loaded.add(values[LOADED[tag]])
        elif "href" in values:
            self.page.links.add(values["href"])


def read(file: Path) -> Page:
    reader = Reader()
    reader.feed(file.read_text(encoding="utf-8"))
    return reader.page


def faults(folder: Path) -> list[str]:
    """A line for each broken link, missing anchor and resource of another site."""
    files = [file for file in sorted(folder.rglob("*.html")) if STATIC not in file.parts]
    pages = {file: read(file) for file in files}
    lines = []
    for file, page in pages.items():
        name = file.relative_to(folder).as_posix()
        lines += [
            f"{name}: loads {address}" for address in sorted(page.loaded) if is_remote(address)
        ]
        for address in sorted(page.links | page.loaded):
            fault = _fault(file, address, pages)
            if fault:
                lines.append(f"{name}: {fault}")
    for style in sorted(folder.rglob("*.css")):
        name = style.relative_to(folder).as_posix()
        text = style.read_text(encoding="utf-8")
        lines += [f"{name}: loads {match[0]}" for match in IMPORTED.finditer(text)]
    return lines


def is_remote(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in ("http", "https")


def _fault(file: Path, address: str, pages: dict[Path, Page]) -> str:
    """What is wrong with a link of a page; empty if it is another site's, or right."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return ""
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if target.is_dir():
        target = target / "index.html"
    if not target.exists():
        return f"no file {address}"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and target.name not in MADE_BY_SCRIPT:
        return "" if anchor in pages[target].anchors else f"no anchor {address}"
    return ""


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python docs/check_links.py HTMLDIR", file=sys.stderr)
        return 2
    folder = Path(arguments[0]).resolve()
    lines = faults(folder)
    print(*lines, sep="\n", end="\n" * bool(lines))
    n_pages = len(list(folder.rglob("*.html")))
    print(f"{n_pages} pages, {len(lines)} faults", file=sys.stderr)
    return 1 if lines or not n_pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
