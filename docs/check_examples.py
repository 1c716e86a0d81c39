"""Run the examples of pages: blocks of ``>>>`` as doctests, fenced Python blocks as programs.

    python docs/check_examples.py PATH ...

A path is a page, or a folder with pages. A page is one namespace, from its first block to its last.
Of reStructuredText all ``>>>`` are doctests. Of Markdown each fenced block that begins with ``>>>``
is a doctest; those of ``python`` are run where all of them are whole programs (`PROGRAMS`).

Decimal numbers may differ by 1 in their last digit, or by 2 where that is the third or a later one:
fits end at places that differ a little between CPUs.
"""

from __future__ import annotations

import doctest
import os
import re
import sys
import tempfile
import traceback
from contextlib import chdir
from decimal import Decimal
from pathlib import Path
from typing import Any

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DECIMAL = re.compile(r"[-+]?\d+\.\d+(?:e[-+]?\d+)?")
PROMPT = ">>>"
PROGRAMS = ("README.md",)
MADE_BY_BUILDS = ("_build", "_templates", "gallery", "generated")


class NearNumbers(doctest.OutputChecker):
    """Output is right if it is as written, but for the last digits of decimal numbers."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Whether it is."""
        if super().check_output(want, got, optionflags):
            return True
        wanted = DECIMAL.findall(want)
        given = DECIMAL.findall(got)
        if len(wanted) != len(given) or not all(map(are_near, wanted, given)):
            return False
        # with these numbers in the places of those, all else must be the same
        numbers = iter(wanted)
        return super().check_output(want, DECIMAL.sub(lambda _: next(numbers), got), optionflags)


def are_near(wanted: str, given: str) -> bool:
    """Whether two numbers differ by no more than a unit of the last digit of the first one, or two
    units where that is the third or a later decimal.
    """
    last = int(Decimal(wanted).as_tuple().exponent)
    units = 2 if last <= -3 else 1
    return abs(Decimal(wanted) - Decimal(given)) <= units * Decimal(1).scaleb(last)


def pages_of(path: Path) -> list[Path]:
    """A page, or those of a folder that people wrote."""
    if not path.is_dir():
        return [path]
    files = [*path.rglob("*.rst"), *path.rglob("*.md")]
    return sorted(
        file for file in files if not set(MADE_BY_BUILDS) & set(file.relative_to(path).parts)
    )


def faults_of(page: Path) -> int:
    """How many examples of a page fail; each says why."""
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    if page.suffix != ".md":
        return _doctest(text, namespace, page, 0)
    faults = 0
    for match in FENCED.finditer(text):
        language, code = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        if code.lstrip().startswith(PROMPT):
            faults += _doctest(code, namespace, page, line)
        elif language == "python" and page.name in PROGRAMS:
            faults += _program(code, namespace, page, line)
    return faults


def _doctest(text: str, namespace: dict[str, Any], page: Path, line: int) -> int:
    test = doctest.DocTestParser().get_doctest(text, namespace, page.name, str(page), line)
    runner = doctest.DocTestRunner(NearNumbers(), optionflags=OPTIONS)
    runner.run(test, clear_globs=False)
    namespace.update(test.globs)
    return runner.failures


def _program(code: str, namespace: dict[str, Any], page: Path, line: int) -> int:
    # lines are counted as in the page
    whole = "\n" * line + code
    try:
        exec(compile(whole, str(page), "exec"), namespace)
    except Exception:
        print(f"{page}, line {line}: a block fails")
        traceback.print_exc(file=sys.stdout)
        return 1
    return 0


def main(arguments: list[str]) -> int:
    pages = [page for name in arguments for page in pages_of(Path(name).resolve())]
    if not pages:
        print("usage: python docs/check_examples.py PATH ...", file=sys.stderr)
        return 2
    os.environ.setdefault("MPLBACKEND", "Agg")
    faults = {}
    for page in pages:
        print(page.name, file=sys.stderr, flush=True)
        # examples may write files
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            faults[page] = faults_of(page)
    for page, number in faults.items():
        if number:
            print(f"{page}: {number} examples fail")
    return 1 if any(faults.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
