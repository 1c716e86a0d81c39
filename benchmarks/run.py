"""All benchmarks, side by side with python-crfsuite, sklearn-crfsuite and scikit-learn, in one command.

    python benchmarks/run.py                        everything, three runs of each contestant
    python benchmarks/run.py training --runs 5      those whose names begin so
    python benchmarks/run.py --quick                little data, for a look at the benchmarks themselves

Needs the corpora (see `fetch_conll2000`) and the "benchmarks" extra. Every run is a fresh process on one thread;
contestants take turns; medians are printed, and at the end what the project promises beside what was measured.
A small fit before the clock starts loads the compiled kernels (the very first time it compiles them).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import bench_compiling
import bench_encoding
import bench_end_to_end
import bench_few_labels
import bench_growth
import bench_language_model
import bench_latent_hmm
import bench_logistic
import bench_np_chunking
import bench_np_times
import bench_parsing
import bench_responsiveness
import bench_roofline
import bench_spectral
import bench_threads
import bench_training
from curves import plot_curves
from goals import print_goals
from side_by_side import Options, Runs, Stopwatch, in_process, medians, print_table, race, work
from tasks import write

SUITES = (
    bench_training,
    bench_end_to_end,
    bench_logistic,
    bench_encoding,
    bench_threads,
    bench_responsiveness,
    bench_compiling,
    bench_roofline,
    bench_growth,
    bench_language_model,
    bench_np_chunking,
    bench_np_times,
    bench_few_labels,
    bench_parsing,
    bench_spectral,
    bench_latent_hmm,
)
BENCHMARKS = {name: benchmark for suite in SUITES for name, benchmark in suite.BENCHMARKS.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names", nargs="*", help=f"beginnings of names, of {', '.join(BENCHMARKS)} (default all)"
    )
    parser.add_argument("--runs", type=int, default=3, help="runs of each contestant (default 3)")
    parser.add_argument("--quick", action="store_true", help="use little data")
    parser.add_argument(
        "--plot",
        type=Path,
        help="file for plots of curves (training-, np-learning-curves, np-accuracy-time, -cost)",
    )
    for hidden in ("--worker", "--run", "--scratch"):
        parser.add_argument(
            hidden, nargs=2 if hidden == "--worker" else None, help=argparse.SUPPRESS
        )
    options = parser.parse_args()
    if options.worker:
        _work(*options.worker, Stopwatch(Path(options.scratch), int(options.run), options.quick))
        return 0
    chosen = [
        name for name in BENCHMARKS if not options.names or name.startswith(tuple(options.names))
    ]
    unknown = [
        name for name in options.names if not any(known.startswith(name) for known in BENCHMARKS)
    ]
    if unknown:
        parser.error(
            f"no benchmark begins with {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}"
        )
    if options.plot and not find_spec(
        "matplotlib"
    ):  # not imported, lest it count as memory of the processes
        parser.error("--plot needs matplotlib")
    with tempfile.TemporaryDirectory() as scratch:
        return _race_all(chosen, Options(options.runs, options.quick, Path(scratch)), options.plot)


def _work(name: str, contestant: str, watch: Stopwatch) -> None:
    benchmark = BENCHMARKS[name]

    def prepare(watch: Stopwatch) -> dict[str, float]:
        write(benchmark.task, watch.scratch, watch.quick)
        return {}

    work({"": prepare, **benchmark.once, **benchmark.contestants}[contestant], watch)


def _race_all(names: list[str], options: Options, plot: Path | None) -> int:
    """Run benchmarks, print their tables and then all goals; 1 if a contestant failed."""
    goals, everything, complete = [], {}, True
    for name in names:
        benchmark = BENCHMARKS[name]
        prepared = not benchmark.task or in_process([name, ""], 0, options)
        runs: Runs = race(name, benchmark, options) if prepared else {}
        complete &= len(runs) == len(benchmark.once) + len(benchmark.contestants)
        found = medians(runs)
        print_table(benchmark.title, found)
        goals += benchmark.goals(found)
        everything[name] = runs
    if options.quick and goals:
        print("\nLittle data (--quick): the figures below say nothing about the goals.")
    print_goals(sorted(goals, key=lambda goal: goal.what[0]))
    if plot:
        plot_curves([(BENCHMARKS[name], runs) for name, runs in everything.items()], plot)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
