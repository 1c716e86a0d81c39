"""All benchmarks in one command: experiments of papers, other libraries beside ours, time and
memory.

    python benchmarks/run.py --list                 what there is, by purpose
    python benchmarks/run.py --list --paper KEY     what there is of a paper, such as smith-2007
    python benchmarks/run.py --paper KEY            all that does this paper's experiments again
    python benchmarks/run.py all                    everything, three runs of each contestant
    python benchmarks/run.py training --runs 5      those whose names begin so
    python benchmarks/run.py training --quick       little data, for a look at the benchmark itself
    python benchmarks/run.py encoding --write PAGE  write the results to a page, such as
                                                    docs/development/results.md
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
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from lib.claims import print_claims
from lib.curves import plot_curves
from lib.goals import print_goals
from lib.listing import Row, print_rows, rows_of_paper, write_list
from lib.results import Result, times, watched, write_section
from lib.side_by_side import Options, Runs, Stopwatch, in_process, medians, print_table, race, work
from lib.sources import PAPERS
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
    multilabel,
    noun_phrase_times,
    noun_phrases,
    pystruct_grids,
    segments,
    sequence_classes,
    skip_chains,
    snakes,
    spectral_grammars,
    structured_svm,
    training_costs,
    worker_processes,
)
from peers import (
    dense_crf,
    encoding,
    end_to_end,
    given_scores,
    graph_messages,
    hmm_emissions,
    hmm_kinds,
    logistic,
    many_labels,
    map_estimates,
    memory_of_fits,
    nltk_parsing,
    potts_search,
    regimes,
    training,
)
from speed import (
    agreement_of_partitions,
    compiling,
    criteria,
    embeddings,
    graph_inference,
    growth,
    latency,
    lost_workers,
    parsers,
    partitions,
    penalty_paths,
    rain_seasons,
    responsiveness,
    roofline,
    second_derivatives,
    solver_choices,
    state_durations,
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
    pystruct_grids,
    skip_chains,
    segments,
    joint_chunking,
    label_states,
    glyphs,
    graph_losses,
    hidden_starts,
    citation_network,
    multilabel,
    sequence_classes,
    structured_svm,
    training_costs,
    worker_processes,
    training,
    end_to_end,
    encoding,
    logistic,
    nltk_parsing,
    graph_messages,
    potts_search,
    dense_crf,
    given_scores,
    hmm_emissions,
    hmm_kinds,
    many_labels,
    map_estimates,
    memory_of_fits,
    regimes,
    parsers,
    threads,
    responsiveness,
    compiling,
    graph_inference,
    roofline,
    growth,
    latency,
    criteria,
    second_derivatives,
    embeddings,
    penalty_paths,
    solver_choices,
    partitions,
    lost_workers,
    agreement_of_partitions,
    state_durations,
    rain_seasons,
)
BENCHMARKS = {name: benchmark for suite in SUITES for name, benchmark in suite.BENCHMARKS.items()}
ROWS = [
    *(
        Row(
            suite.__name__.partition(".")[0],
            name,
            benchmark.title,
            benchmark.beside,
            benchmark.papers,
        )
        for suite in SUITES
        for name, benchmark in suite.BENCHMARKS.items()
    ),
    Row("speed", versions.NAME, versions.TITLE, versions.BESIDE),
]
ALL = "all"
RESULTS = Path(__file__).resolve().parents[1] / "docs" / "development" / "results.md"


def main() -> int:
    parser = _parser()
    options = parser.parse_args()
    if options.worker:
        _work(*options.worker, Stopwatch(Path(options.scratch), int(options.run), options.quick))
        return 0
    keys = _papers(parser, options)
    if options.list and options.write:
        write_list(options.write, ROWS)
        return 0
    if options.list or not (options.names or keys):
        chosen_rows = [row for row in ROWS if row.name.startswith(tuple(options.names))]
        print_rows(chosen_rows if options.names else ROWS, times(RESULTS), keys)
        return 0
    if options.write and (options.quick or options.names[:1] == [versions.NAME]):
        parser.error("--write keeps results of whole data: not of --quick, nor of versions")
    if options.names[:1] == [versions.NAME]:
        return versions.main(parser, options)
    chosen = _of_papers(keys) if keys else _chosen(parser, options.names)
    # matplotlib is not imported, lest it count as memory of the processes
    if options.plot and not find_spec("matplotlib"):
        parser.error("--plot needs matplotlib")
    with tempfile.TemporaryDirectory() as scratch:
        settings = Options(options.runs or 3, options.quick, Path(scratch))
        return _race_all(chosen, settings, options.plot, options.write)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", help="beginnings of names, or all; without names they are listed"
    )
    parser.add_argument("--list", action="store_true", help="list benchmarks and run none")
    parser.add_argument(
        "--paper",
        action="append",
        default=[],
        metavar="KEY",
        help=f"a paper whose experiments to do again: {', '.join(PAPERS)}",
    )
    parser.add_argument(
        "--write",
        type=Path,
        metavar="PAGE",
        help="page in which each result gets a section; with --list the page of benchmarks",
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


def _papers(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[str]:
    """The keys of papers. It is an error if there is no such paper, or if there are names, too."""
    unknown = [key for key in options.paper if key not in PAPERS]
    if unknown:
        parser.error(f"no paper is called {', '.join(unknown)}; there are {', '.join(PAPERS)}")
    if options.paper and options.names:
        parser.error("give names or --paper, not both")
    return options.paper


def _of_papers(keys: list[str]) -> list[str]:
    """Names of all benchmarks that do experiments of these papers."""
    wanted = {row.name for key in keys for row in rows_of_paper(ROWS, key)}
    return [name for name in BENCHMARKS if name in wanted]


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


def _race_all(names: list[str], options: Options, plot: Path | None, page: Path | None) -> int:
    """Run benchmarks, print their tables and then all goals; 1 if a contestant failed."""
    goals = []
    everything: dict[str, Runs] = {}
    complete = True
    for name in names:
        benchmark = BENCHMARKS[name]
        (result, runs), conditions = watched(partial(_race_one, name, options), options.runs)
        goals += result.goals
        everything[name] = runs
        if len(runs) < len(benchmark.once) + len(benchmark.contestants):
            complete = False
        elif page:
            write_section(page, result, conditions, list(BENCHMARKS))
    if options.quick and goals:
        print("\nLittle data (--quick): the figures below say nothing about the goals.")
    print_goals(sorted(goals, key=lambda goal: goal.what[0]))
    if plot:
        plot_curves([(BENCHMARKS[name], runs) for name, runs in everything.items()], plot)
    return 0 if complete else 1


def _race_one(name: str, options: Options) -> tuple[Result, Runs]:
    """Run a benchmark and print its table and claims."""
    benchmark = BENCHMARKS[name]
    prepared = not benchmark.task or in_process([name, ""], 0, options)
    runs: Runs = race(name, benchmark, options) if prepared else {}
    middle = medians(runs)
    claims = benchmark.claims(middle)
    print_table(benchmark.title, middle)
    print_claims(claims)
    return Result(name, benchmark.title, middle, benchmark.goals(middle), claims), runs


if __name__ == "__main__":
    sys.exit(main())
