"""All benchmarks in one command: experiments of papers, other libraries beside ours, time and
memory.

    python benchmarks/run.py                        what there is
    python benchmarks/run.py all                    everything, three runs of each contestant
    python benchmarks/run.py training --runs 5      those whose names begin so
    python benchmarks/run.py training --quick       little data, for a look at the benchmark itself
    python benchmarks/run.py versions --before OLD  CPU times of an earlier version and of this one

They need the corpora (see `fetch_conll2000`) and the "benchmarks" extra. Every run is a fresh
process on one thread; contestants take turns; medians are printed, and at the end what the project
promises beside what was measured. A small fit before the clock starts loads the compiled kernels
(the very first time it compiles them).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from lib.claims import print_claims
from lib.curves import plot_curves
from lib.goals import print_goals
from lib.listing import Row, print_rows
from lib.side_by_side import Options, Runs, Stopwatch, in_process, medians, print_table, race, work
from lib.tasks import write
from papers import (
    citation_network,
    feature_selection,
    few_labels,
    glyphs,
    graph_losses,
    hidden_starts,
    joint_chunking,
    label_states,
    latent_hmm,
    log_linear,
    noun_phrase_times,
    noun_phrases,
    sequence_classes,
    skip_chains,
    snakes,
    spectral_grammars,
    training_costs,
    worker_processes,
)
from peers import encoding, end_to_end, graph_messages, logistic, nltk_parsing, training
from speed import (
    compiling,
    criteria,
    graph_inference,
    growth,
    parsers,
    responsiveness,
    roofline,
    threads,
    versions,
)

SUITES = (
    noun_phrases,
    noun_phrase_times,
    feature_selection,
    few_labels,
    spectral_grammars,
    latent_hmm,
    log_linear,
    snakes,
    skip_chains,
    joint_chunking,
    label_states,
    glyphs,
    graph_losses,
    hidden_starts,
    citation_network,
    sequence_classes,
    training_costs,
    worker_processes,
    training,
    end_to_end,
    encoding,
    logistic,
    nltk_parsing,
    graph_messages,
    parsers,
    threads,
    responsiveness,
    compiling,
    graph_inference,
    roofline,
    growth,
    criteria,
)
BENCHMARKS = {name: benchmark for suite in SUITES for name, benchmark in suite.BENCHMARKS.items()}
ROWS = [
    *(
        Row(suite.__name__.partition(".")[0], name, benchmark.title, benchmark.beside)
        for suite in SUITES
        for name, benchmark in suite.BENCHMARKS.items()
    ),
    Row("speed", versions.NAME, versions.TITLE, versions.BESIDE),
]
ALL = "all"


def main() -> int:
    parser = _parser()
    options = parser.parse_args()
    if options.worker:
        _work(*options.worker, Stopwatch(Path(options.scratch), int(options.run), options.quick))
        return 0
    if not options.names:
        print_rows(ROWS)
        return 0
    if options.names[0] == versions.NAME:
        return versions.main(parser, options)
    chosen = _chosen(parser, options.names)
    # matplotlib is not imported, lest it count as memory of the processes
    if options.plot and not find_spec("matplotlib"):
        parser.error("--plot needs matplotlib")
    with tempfile.TemporaryDirectory() as scratch:
        settings = Options(options.runs or 3, options.quick, Path(scratch))
        return _race_all(chosen, settings, options.plot)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", help="beginnings of names, or all; without names they are listed"
    )
    parser.add_argument(
        "--runs",
        type=int,
        help=f"runs of each contestant (default 3; pairs of versions: {versions.PAIRS})",
    )
    parser.add_argument("--quick", action="store_true", help="use little data")
    parser.add_argument(
        "--plot",
        type=Path,
        help="file for plots of curves (training-, np-learning-curves, np-accuracy-time, -cost)",
    )
    versions.add_arguments(parser)
    for hidden in ("--worker", "--run", "--scratch"):
        parser.add_argument(
            hidden, nargs=2 if hidden == "--worker" else None, help=argparse.SUPPRESS
        )
    return parser


def _chosen(parser: argparse.ArgumentParser, names: list[str]) -> list[str]:
    """Names of benchmarks that begin so. It is an error if there are none for one of the
    beginnings.
    """
    if names == [ALL]:
        return list(BENCHMARKS)
    unknown = [name for name in names if not any(known.startswith(name) for known in BENCHMARKS)]
    if unknown:
        parser.error(
            f"no benchmark begins with {', '.join(unknown)}; without a name all are listed"
        )
    return [name for name in BENCHMARKS if name.startswith(tuple(names))]


def _work(name: str, contestant: str, watch: Stopwatch) -> None:
    benchmark = BENCHMARKS[name]

    def prepare(watch: Stopwatch) -> dict[str, float]:
        write(benchmark.task, watch.scratch, watch.quick)
        return {}

    work({"": prepare, **benchmark.once, **benchmark.contestants}[contestant], watch)


def _race_all(names: list[str], options: Options, plot: Path | None) -> int:
    """Run benchmarks, print their tables and then all goals; 1 if a contestant failed."""
    goals = []
    everything: dict[str, Runs] = {}
    complete = True
    for name in names:
        benchmark = BENCHMARKS[name]
        prepared = not benchmark.task or in_process([name, ""], 0, options)
        runs: Runs = race(name, benchmark, options) if prepared else {}
        complete &= len(runs) == len(benchmark.once) + len(benchmark.contestants)
        middle = medians(runs)
        print_table(benchmark.title, middle)
        print_claims(benchmark.claims(middle))
        goals += benchmark.goals(middle)
        everything[name] = runs
    if options.quick and goals:
        print("\nLittle data (--quick): the figures below say nothing about the goals.")
    print_goals(sorted(goals, key=lambda goal: goal.what[0]))
    if plot:
        plot_curves([(BENCHMARKS[name], runs) for name, runs in everything.items()], plot)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
