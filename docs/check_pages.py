"""The built pages in a browser: what only shows when a page is drawn.

    python docs/check_pages.py HTMLDIR [--screenshots DIR]

A headless Chromium opens a page of each kind at some widths, in light and dark mode, and all other
pages but those of single examples at the widest and the narrowest in light mode. It asks:

- no error in the console, and nothing is asked for from another site,
- nothing sticks out to the right of the window or of the article,
- a header of one line, no cell of a table with a letter a line,
- on wide windows a sidebar with links, and whole lines of code and formulas,
- every formula is drawn, every picture is loaded,
- the search finds something.

It needs the extra "browser" and a Chromium or Chrome: the one that ``CHROMIUM`` names, or the first
of `BROWSERS` in the path. Where there is none, it says so and ends well.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WIDTHS = (1400, 1000, 800, 390)
HEIGHT = 900
MODES = ("light", "dark")
WITH_SIDEBAR = 960  # pixels from which on the theme shows the sidebar
WIDE = 1400  # pixels from which on code blocks are not cut
# columns of a code block that must fit; pixels of a cell with more than a word
LIMITS = {"columns": 88, "cell": 50}
PATIENCE = 60_000  # milliseconds; a busy machine is slow
PAGES = {
    "landing": "index.html",
    "search": "search.html?q=LinearChainCRF",
    "guide": "user_guide/log_linear.html",
    "table": "user_guide/papers.html",
    "api": "api/generated/sklearn_struct.LinearChainCRF.html",
}
GALLERY = "gallery/plot_*.html"  # the first of these, if the gallery was built
# opened once at the widest and once at the narrowest
OTHERS = ("*.html", "*/*.html", "api/generated/*.html")

# What a page says of itself when it is drawn.
LOOK = """limits => {
  const wide = document.documentElement.clientWidth;
  const article = document.querySelector('.bd-article-container');
  const right = article ? article.getBoundingClientRect().right : wide;
  const inScroller = element => {
    for (let e = element; e && e !== article && e !== document.body; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (style.overflowX !== 'visible' || style.position === 'fixed') return true;
    }
    return false;
  };
  const out = [...document.body.querySelectorAll('*')].filter(e => {
    const box = e.getBoundingClientRect();
    const edge = article && article.contains(e) ? Math.min(right, wide) : wide;
    return box.width > 0 && box.right > edge + 1 && !inScroller(e);
  });
  const name = e => e.tagName.toLowerCase() + [...e.classList].map(c => '.' + c).join('');
  const sidebar = document.querySelector('.bd-sidebar-primary');
  const links = sidebar ? [...sidebar.querySelectorAll('nav a')] : [];
  const items = document.querySelectorAll('.bd-header .nav-link, .bd-header .navbar-brand');
  const lines = new Set([...items].map(e => e.getBoundingClientRect()).filter(b => b.width > 0)
    .map(b => Math.round((b.top + b.bottom) / 2 / 10)));
  const blocks = [...document.querySelectorAll('.bd-article pre')].filter(e => {
    const longest = Math.max(...e.textContent.split('\\n').map(line => line.length));
    return longest <= limits.columns && e.scrollWidth > e.clientWidth + 1;
  });
  const formulas = [...document.querySelectorAll('.math')];
  const long = formulas.filter(e => e.tagName === 'DIV' && e.clientWidth > 0 &&
    [...e.querySelectorAll('mjx-container > *')]
      .some(part => part.getBoundingClientRect().width > e.clientWidth + 1));
  const squeezed = [...document.querySelectorAll('.bd-article td, .bd-article th')].filter(e => {
    const width = e.getBoundingClientRect().width;
    return width > 0 && width < limits.cell && e.textContent.trim().length > 10;
  });
  const pictures = [...document.querySelectorAll('img')];
  return {
    overflow: document.documentElement.scrollWidth - window.innerWidth,
    beyond: article ? article.scrollWidth - article.clientWidth : 0,
    sticking: out.slice(0, 3).map(name),
    links: links.filter(e => e.getBoundingClientRect().width > 0).length,
    lines: lines.size,
    cut: blocks.length,
    long: long.length,
    unrendered: formulas.filter(e => !e.querySelector('mjx-container')).length,
    unloaded: pictures.filter(e => e.complete && !e.naturalWidth).map(e => e.src),
    squeezed: squeezed.slice(0, 3).map(e => e.textContent.trim().slice(0, 30)),
    results: document.querySelectorAll('#search-results li').length,
    mode: document.documentElement.dataset.theme,
  };
}"""


DRAWN = """() => [...document.querySelectorAll('.math')]
  .every(e => e.querySelector('mjx-container'))"""
LISTED = "() => document.querySelectorAll('#search-results li').length > 0"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="HTMLDIR")
    parser.add_argument("--screenshots", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    if not (options.folder / "index.html").exists():
        parser.error(f"{options.folder} has no index.html: build the pages first")
    path = browser_path()
    if path is None:
        print(f"SKIPPED: no browser (CHROMIUM, or one of {', '.join(BROWSERS)})")
        return 0
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print('SKIPPED: no playwright: python -m pip install -e ".[browser]"')
        return 0
    with served(options.folder) as base, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        faults = Visit(browser, base, options.folder, options.screenshots).every_page()
        browser.close()
    print(*faults, sep="\n", end="\n" * bool(faults))
    print(f"{len(faults)} faults", file=sys.stderr)
    return 1 if faults else 0


def browser_path() -> str | None:
    """Where a browser is; None if there is none."""
    named = os.environ.get("CHROMIUM")
    return next(
        (path for name in (named, *BROWSERS) if name and (path := shutil.which(name))), None
    )


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder's address on this machine; scripts may not read files that are not served."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def chosen_pages(folder: Path) -> dict[str, str]:
    """A page of each kind, by kind."""
    gallery = sorted(path.relative_to(folder).as_posix() for path in folder.glob(GALLERY))
    return PAGES | ({"gallery": gallery[0]} if gallery else {})


def other_pages(folder: Path) -> list[str]:
    """The addresses of all pages that are of no kind, without those of single examples."""
    opened = {address.partition("?")[0] for address in chosen_pages(folder).values()}
    examples = set(folder.glob(GALLERY))
    paths = sorted({path for pattern in OTHERS for path in folder.glob(pattern)} - examples)
    addresses = [path.relative_to(folder).as_posix() for path in paths]
    return [
        address for address in addresses if not address.startswith("_") and address not in opened
    ]


class Visit:
    """Opens pages and notes what is wrong with them.

    Parameters
    ----------
    browser : playwright's Browser
        The browser.
    base : str
        Address of the folder.
    folder : Path
        The built pages.
    screenshots : Path or None
        Where to keep pictures of the pages.
    """

    def __init__(self, browser: Any, base: str, folder: Path, screenshots: Path | None) -> None:
        self.browser = browser
        self.base = base
        self.pages = chosen_pages(folder)
        self.others = other_pages(folder)
        self.screenshots = screenshots

    def every_page(self) -> list[str]:
        others = [("other", address) for address in self.others]
        faults = []
        for mode in MODES:
            for width in WIDTHS:
                once = mode == MODES[0] and width in (WIDTHS[0], WIDTHS[-1])
                pages = [*self.pages.items(), *(others if once else ())]
                faults += self._open_all(pages, width, mode)
        return faults

    def _open_all(self, pages: list[tuple[str, str]], width: int, mode: str) -> list[str]:
        faults = []
        size = {"width": width, "height": HEIGHT}
        context = self.browser.new_context(viewport=size, color_scheme=mode)
        context.set_default_timeout(PATIENCE)
        for kind, address in pages:
            where = f"{kind} ({address}), {width} px, {mode}"
            wrong = self._open(context, kind, address, width, mode)
            faults += [f"{where}: {fault}" for fault in wrong]
        context.close()
        return faults

    def _open(self, context: Any, kind: str, address: str, width: int, mode: str) -> list[str]:
        page = context.new_page()
        faults: list[str] = []

        def local_only(route: Any) -> None:
            url = route.request.url
            if url.startswith((self.base, "data:", "blob:")):
                route.continue_()
            else:
                faults.append(f"asks for {url}")
                route.abort()

        def console(message: Any) -> None:
            if message.type == "error":
                faults.append(f"console: {message.text}")

        page.route("**/*", local_only)
        page.on("console", console)
        page.on("pageerror", lambda error: faults.append(f"script: {error}"))
        page.goto(self.base + address, wait_until="load")
        self._wait(page, kind)
        faults += judge(page.evaluate(LOOK, LIMITS), kind, width, mode)
        if self.screenshots and kind != "other":
            self.screenshots.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=str(self.screenshots / f"{kind}-{width}-{mode}.png"))
        page.close()
        return faults

    def _wait(self, page: Any, kind: str) -> None:
        """Until formulas are drawn and results are there; faults are judged afterwards."""
        from playwright.sync_api import TimeoutError as TooLate

        if kind != "other":  # these are many
            page.wait_for_load_state("networkidle")
        for condition in (DRAWN, *([LISTED] if kind == "search" else [])):
            try:
                page.wait_for_function(condition)
            except TooLate:
                continue


def judge(seen: dict[str, Any], kind: str, width: int, mode: str) -> list[str]:
    """What is wrong with a page, from what it says of itself (`LOOK`)."""
    faults = []
    named = ", ".join(seen["sticking"]) or "unknown"
    if seen["overflow"] > 0:
        faults.append(f"{seen['overflow']} px stick out: {named}")
    if seen["beyond"] > 0:
        faults.append(f"{seen['beyond']} px stick out of the article: {named}")
    if width >= WITH_SIDEBAR and not seen["links"]:
        faults.append("the sidebar has no link")
    if seen["lines"] != 1:
        faults.append(f"the header has {seen['lines']} lines")
    if width >= WIDE and seen["cut"]:
        faults.append(f"{seen['cut']} code blocks are cut")
    if width >= WIDE and seen["long"]:
        faults.append(f"{seen['long']} formulas are cut")
    if seen["unrendered"]:
        faults.append(f"{seen['unrendered']} formulas are not drawn")
    faults += [f"picture not loaded: {address}" for address in seen["unloaded"]]
    if seen["squeezed"]:
        faults.append(f"cells of fewer than {LIMITS['cell']} px: {', '.join(seen['squeezed'])}")
    if kind == "search" and not seen["results"]:
        faults.append("the search has no result")
    if seen["mode"] != mode:
        faults.append(f"drawn in mode {seen['mode']}")
    return faults


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
