"""Try many cases of a kind, in worker processes.

    python tests/fuzz/run.py files --n 100000 --jobs 2

prints everything that must not happen, and how often what came of the cases, and fails if there was
anything bad. Each case follows from its number: ``--first 1234 --n 1`` looks at one again, and
``--here`` runs it in this process, for a debugger.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

TESTS = Path(__file__).parents[1]
ENVIRONMENT = "NUMBA_BOUNDSCHECK", "NUMBA_CACHE_DIR"


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("kind", help="a module of this folder")
    arguments.add_argument("--n", type=int, default=1000, help="number of cases")
    arguments.add_argument("--first", type=int, default=0, help="number of the first")
    arguments.add_argument("--jobs", type=int, default=1, help="number of processes at once")
    arguments.add_argument("--gigabytes", type=int, default=4, help="memory that each may take")
    arguments.add_argument("--here", action="store_true", help="in this process")
    arguments.add_argument(
        "--bounds", metavar="CACHE", help="check bounds in kernels, which are cached in this folder"
    )
    options = arguments.parse_args()
    if options.bounds:  # numba reads these when it is imported
        os.environ.update(zip(ENVIRONMENT, ("1", str(Path(options.bounds).absolute()))))
    sys.path[0] = str(TESTS)
    workers = import_module("fuzz.workers")
    kind = import_module(f"fuzz.{options.kind}")
    numbers = range(options.first, options.first + options.n)
    if not options.here:
        return workers.report(kind, numbers, jobs=options.jobs, gigabytes=options.gigabytes)
    kind.prepare()
    for number in numbers:
        print(f"case {number} ({kind.family(number)}): {kind.case(number)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main() > 0)
