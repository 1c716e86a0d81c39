"""Compare an earlier version of the package with this one, each in processes of its own.

    python tests/versions/run.py bits --before FOLDER    fits and predictions, bit for bit
    python tests/versions/run.py files --before FOLDER   models that the earlier version saved

CPU times are compared by ``python benchmarks/run.py versions --before FOLDER``.

FOLDER is a checkout of the earlier version (``git worktree add FOLDER COMMIT``). What compiles is
kept for the next call. Fails if there is a difference for which DIFFERENCES.md has no reason.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=["bits", "files"])
    parser.add_argument("--before", type=Path, required=True, help="checkout of an earlier version")
    parser.add_argument("--after", type=Path, default=HERE, help="the later one (default: this)")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose names have this")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep models here (files)")
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="where compiled kernels are kept"
    )
    options = parser.parse_args()
    sys.path[:1] = [str(HERE / "tests"), str(HERE)]
    bits = import_module("versions.bits")
    Side = import_module("versions.sides").Side
    sides = [Side.of(name, getattr(options, name), options.cache) for name in ("before", "after")]
    with TemporaryDirectory() as scratch:
        if options.kind == "bits":
            return bits.compare_fits(sides, Path(scratch), options.only)
        keep = nullcontext(options.keep) if options.keep else TemporaryDirectory()
        with keep as models:
            return bits.compare_files(sides, Path(scratch), options.only, Path(models))


if __name__ == "__main__":
    sys.exit(main() > 0)
