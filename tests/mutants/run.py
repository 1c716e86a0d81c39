"""Put faults into the code, one at a time, and see whether a test fails.

    python tests/mutants/run.py --n 400 --seed 0 --jobs 2

draws faults at random from `sample.PARTS`, runs for each the tests that reach its line, and prints
the share of faults that are noticed, with all that are not. Kernels are judged without compilation,
by their unit tests; other code with the kernels as they are, by estimators, too. What makes no
difference to any result is in EQUIVALENT.md, with the reason, and does not count. Fails below
``--least``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

TESTS = Path(__file__).parents[1]
sys.path[0] = str(TESTS)

from mutants import judge, reach, sample  # noqa: E402

EQUIVALENT = Path(__file__).with_name("EQUIVALENT.md")

Judgement = tuple[str, float, sample.Mutant]


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--n", type=int, default=400, help="number of faults")
    arguments.add_argument("--seed", type=int, default=0, help="of the sample")
    arguments.add_argument("--jobs", type=int, default=1, help="number of processes at once")
    arguments.add_argument(
        "--budget", type=float, default=60.0, help="seconds of tests for a fault"
    )
    arguments.add_argument(
        "--reach", type=Path, help="folder that keeps which tests run which lines"
    )
    arguments.add_argument("--only", default="", help="faults in files whose name has this")
    arguments.add_argument("--least", type=float, default=0.92, help="share that must be noticed")
    options = arguments.parse_args()
    mutants = [
        mutant for mutant in sample.draw(options.n, options.seed) if options.only in mutant.file
    ]
    print(f"{len(mutants)} faults, seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        judgements = judged(mutants, options.reach or Path(temporary), options.jobs, options.budget)
    return told(judgements, options.least)


def judged(mutants: list[sample.Mutant], folder: Path, jobs: int, budget: float) -> list[Judgement]:
    """Kernels first, then all else, as what is loaded differs."""
    judgements: list[Judgement] = []
    for jit in (False, True):
        left: SimpleQueue[sample.Mutant] = SimpleQueue()
        for mutant in mutants:
            if mutant.in_kernel is not jit:
                left.put(mutant)
        if not left.empty():
            reach.ask(folder, jit)
        with ThreadPoolExecutor(jobs) as pool:
            processes = [pool.submit(judged_by_one, left, folder, jit, budget) for _ in range(jobs)]
        for process in processes:
            judgements += process.result()
    return sorted(judgements, key=lambda judgement: judgement[2])


def judged_by_one(
    left: SimpleQueue[sample.Mutant], folder: Path, jit: bool, budget: float
) -> list[Judgement]:
    """What one process judges: mutants, as long as there are any."""
    command = [
        sys.executable,
        "-m",
        "mutants.judge",
        str(folder),
        "compiled" if jit else "python",
        str(budget),
    ]
    variables = {
        **reach.environment(jit),
        "PYTHONPATH": os.pathsep.join([str(TESTS), str(reach.ROOT)]),
    }
    done: list[Judgement] = []
    with subprocess.Popen(
        command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        while not left.empty():
            print(json.dumps(left.get()), file=process.stdin, flush=True)
            verdict, seconds, *fields = json.loads(process.stdout.readline())
            done.append((verdict, seconds, sample.Mutant(*fields)))
            print(f"{verdict} ({seconds:.1f} s) {done[-1][2]}", flush=True)
        process.stdin.close()
    return done


def told(judgements: list[Judgement], least: float) -> int:
    """Print what was not noticed, and the figure; 1 if it is too low."""
    argued = " ".join(EQUIVALENT.read_text("utf-8").split()) if EQUIVALENT.exists() else ""
    alive = [each for each in judgements if each[0] in (judge.SURVIVED, judge.UNREACHED)]
    equivalent = [mutant for _, _, mutant in alive if key(mutant) in argued]
    print("\nMakes no difference (EQUIVALENT.md has the reasons):", *equivalent, sep="\n")
    print("\nNot noticed:")
    for verdict, _, mutant in alive:
        if mutant not in equivalent:
            print(f"{verdict}: {mutant}")
    counts = Counter(verdict for verdict, _, _ in judgements)
    noticed = counts[judge.KILLED] + counts[judge.HUNG]
    total = len(judgements) - len(equivalent)
    print(f"\n{dict(counts)}, of the survivors {len(equivalent)} make no difference")
    print(
        f"{noticed} of {total} faults are noticed: {noticed / total:.1%}, at least {least:.0%} are "
        "asked for"
    )
    return int(noticed < least * total)


def key(mutant: sample.Mutant) -> str:
    """What EQUIVALENT.md names a mutant by: the file, and the line without and with the fault.

    White space is made single spaces, as an entry may have several lines.
    """
    return " ".join(f"{mutant.file}: `{mutant.before}` → `{mutant.after}`".split())


if __name__ == "__main__":
    sys.exit(main())
