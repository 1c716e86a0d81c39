"""CPU times of an earlier version of this package and of a later one, in turns.

For each group of cases there are three processes: of the earlier version, of the later one, and of
the earlier one again, with one version's package and kernels each. They take turns case by case, in
another order in each round, so what comes and goes in seconds meets all alike. The ratio of a case
is the median over rounds of later / earlier. The earlier version against itself shows how much
chance there is in a ratio: its spread is the median of the larger of again / earlier and earlier /
again. A case is slower if its ratio is above 1.03 and above that spread.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lib.goals import Goal, print_goals

BENCHMARKS = Path(__file__).resolve().parents[1]
HERE = BENCHMARKS.parent
TESTS = HERE / "tests"
CASES = BENCHMARKS / "speed" / "version_cases.py"

if TYPE_CHECKING:
    from versions.sides import Side

NAME = "versions"
TITLE = "CPU times of the cases training, end-to-end, encoding, parsers and np"
BESIDE = "an earlier version: --before FOLDER"
PAIRS = 9
HIGHEST_RATIO = 1.03
HIGHEST_MEAN = 1.01
SMALLEST = 0.005  # CPU seconds; below that chance is larger than what is looked for
START = "start"
WARM_STARTS = 3
ONE_A_CALL = "predict, a sentence a call"  # as `version_cases` names it
# what the first fit of a process prints, and what it is called here; kernels are compiled or loaded
COLD = {"fit": "cold: first fit", "predict": "cold: first predict"}
WARM = {"import": "warm: import", "fit": "warm: first fit"}

Figures = dict[str, float]
Round = dict[str, Figures]  # "before", "after", "again"


class Comparison(NamedTuple):
    """One case over all rounds.

    Attributes
    ----------
    name : str
        Group and case.
    seconds : float
        Median CPU seconds of the earlier version.
    ratio, lowest, highest : float
        Of later / earlier: median, least and largest.
    itself : float
        Median of the earlier version over itself.
    spread : float
        How far that usually is from 1, as a factor.
    """

    name: str
    seconds: float
    ratio: float
    lowest: float
    highest: float
    itself: float
    spread: float

    @property
    def is_slower(self) -> bool:
        return self.ratio > max(HIGHEST_RATIO, self.spread)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    given = parser.add_argument_group(
        "versions", "python benchmarks/run.py versions [GROUP ...] --before FOLDER"
    )
    given.add_argument("--before", type=Path, help="checkout of an earlier version")
    given.add_argument("--after", type=Path, default=HERE, help="the later one (default: this)")
    given.add_argument("--cache", type=Path, help="where compiled kernels are kept")


def main(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.before is None:
        parser.error("versions are compared with --before FOLDER, a checkout of an earlier one")
    sys.path.append(str(TESTS))
    groups = [START, *import_module("speed.version_cases").GROUPS]
    wanted = tuple(options.names[1:])
    unknown = [name for name in wanted if not any(group.startswith(name) for group in groups)]
    if unknown:
        parser.error(f"no group begins with {', '.join(unknown)}; there are {', '.join(groups)}")
    chosen = [group for group in groups if not wanted or group.startswith(wanted)]
    make = import_module("versions.sides").Side.of
    sides = [make(name, getattr(options, name), options.cache) for name in ("before", "after")]
    with tempfile.TemporaryDirectory() as scratch:
        race = Race(sides, Path(scratch), options.quick)
        return _print_comparisons(race.run(chosen, options.runs or PAIRS)) or int(race.failed)


class Race:
    """Runs both sides in turns.

    Parameters
    ----------
    sides : list of Side
        The earlier version and the later one.
    scratch : Path
        Folder for data.
    quick : bool
        Whether the data are small.
    """

    def __init__(self, sides: list[Side], scratch: Path, quick: bool) -> None:
        before, after = sides
        self.sides = {"before": before, "after": after, "again": before}
        self.scratch = scratch
        self.flags = ["--quick"] * quick
        self.failed = False

    def run(self, groups: list[str], pairs: int) -> dict[str, list[Round]]:
        """Rounds of each group; Ctrl-C ends it with the cases of which there are all."""
        rounds: dict[str, list[Round]] = {
            group: [{side: {} for side in self.sides} for _ in range(pairs)] for group in groups
        }
        self._prepare()
        try:
            for group in groups:
                fill = self._fill_starts if group == START else self._fill
                fill(group, rounds[group])
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)
        except subprocess.CalledProcessError as error:
            print(f"FAILED: {error.cmd}", file=sys.stderr)
            self.failed = True
        return rounds

    def _prepare(self) -> None:
        side = self.sides["after"]
        arguments = (str(side.folder), "prepare", str(self.scratch), *self.flags)
        side.answer(CASES, *arguments, paths=(TESTS, BENCHMARKS))

    def _fill(self, group: str, rounds: list[Round]) -> None:
        with ExitStack() as stack:
            workers = {
                name: stack.enter_context(Worker(side, group, self.scratch, self.flags))
                for name, side in self.sides.items()
            }
            everyone = list(workers)
            while case := _next_case(workers.values()):
                figures = []
                for number in range(len(rounds)):
                    print(f"{group}: {case}, round {number + 1}", file=sys.stderr, flush=True)
                    turns = in_turn(everyone, number)
                    figures.append({name: float(workers[name].ask("run")) for name in turns})
                for done, seconds in zip(rounds, figures, strict=True):
                    for name in everyone:
                        done[name][case] = seconds[name]

    def _fill_starts(self, group: str, rounds: list[Round]) -> None:
        for name in ("before", "after"):
            self._start(self.sides[name])  # writes bytecode, so it is not counted
        for number, done in enumerate(rounds):
            print(f"{group}, round {number + 1}", file=sys.stderr, flush=True)
            for name in in_turn(list(self.sides), number):
                done[name] = self._start(self.sides[name])

    def _start(self, side: Side) -> Figures:
        """The first fit of a process that must compile kernels, then of some that load them."""
        script = BENCHMARKS / "speed" / "first_fit.py"
        with tempfile.TemporaryDirectory() as kernels:
            answers = [
                json.loads(
                    side.answer(
                        script,
                        *("columns", "auto", "float64"),
                        paths=(BENCHMARKS,),
                        kernels=Path(kernels),
                    )
                )
                for _ in range(1 + WARM_STARTS)
            ]
        cold, *warm = answers
        figures = {name: cold[what] for what, name in COLD.items()}
        return figures | {name: min(a[what] for a in warm) for what, name in WARM.items()}


class Worker:
    """A process with the cases of a group, that works when it is asked.

    Parameters
    ----------
    side : Side
        Its version.
    group : str
        One of `version_cases.GROUPS`.
    scratch : Path
        Folder with data.
    flags : list of str
        Of `version_cases`.
    """

    def __init__(self, side: Side, group: str, scratch: Path, flags: list[str]) -> None:
        arguments = (str(side.folder), group, str(scratch), *flags)
        self.process = side.conversation(CASES, *arguments, paths=(TESTS, BENCHMARKS))

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate()

    def ask(self, what: str) -> str:
        """The line that answers a line.

        Raises
        ------
        CalledProcessError
            If there is none.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):  # then there is no answer either
            self.process.stdin.write(f"{what}\n")
            self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise subprocess.CalledProcessError(self.process.wait(), self.process.args)
        return answer.rstrip("\n")


def _next_case(workers: Iterable[Worker]) -> str:
    """All run the same script, so they name their cases alike; nothing after the last one."""
    first, *_ = [worker.ask("next") for worker in workers]
    return first


def in_turn(names: list[str], number: int) -> list[str]:
    """Names in an order that differs from number to number: each is first equally often."""
    turn = number % len(names)
    return names[turn:] + names[:turn]


def compared(group: str, rounds: list[Round]) -> list[Comparison]:
    """A comparison for each case of a group that takes long enough."""
    comparisons = []
    cases = rounds[0]["before"] if rounds else {}
    for case in cases:
        seconds = statistics.median(done["before"][case] for done in rounds)
        if seconds < SMALLEST:
            continue
        ratios = [done["after"][case] / done["before"][case] for done in rounds]
        itself = [done["again"][case] / done["before"][case] for done in rounds]
        comparisons.append(
            Comparison(
                f"{group}: {case}",
                seconds,
                statistics.median(ratios),
                min(ratios),
                max(ratios),
                statistics.median(itself),
                statistics.median(max(ratio, 1 / ratio) for ratio in itself),
            )
        )
    return comparisons


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def goals(rows: list[Comparison]) -> list[Goal]:
    """What is promised beside the version before: of the first fit of a process that must compile
    kernels, and of calls with one sentence.
    """
    first_fit = f"{START}: {COLD['fit']}"
    promised = []
    for row in rows:
        if row.name == first_fit:
            what = "cold first fit, against the version before"
            promised.append(Goal(what, row.ratio, 0.7, 0.88, True))
        elif row.name.endswith(ONE_A_CALL):
            what = f"{row.name}, against the version before"
            promised.append(Goal(what, row.ratio, 0.25, 0.5, True))
    return promised


def _print_comparisons(rounds: dict[str, list[Round]]) -> int:
    """The table; 1 if a case is slower, or all are a little."""
    rows = [row for group, done in rounds.items() for row in compared(group, done)]
    if not rows:
        print("no round is complete")
        return 1
    width = max(len(row.name) for row in rows) + 2
    print(f"{'':{width}}{'earlier':>10}{'later/':>9}{'':>15}{'earlier/':>10}")
    print(f"{'':{width}}{'CPU s':>10}{'earlier':>9}{'range':>15}{'itself':>10}{'spread':>9}")
    for row in rows:
        between = f"{row.lowest:.3f}-{row.highest:.3f}"
        numbers = f"{row.seconds:10.4g}{row.ratio:9.3f}{between:>15}{row.itself:10.3f}"
        print(f"{row.name:{width}}{numbers}{row.spread:9.3f}{'  SLOWER' * row.is_slower}")
    mean = geometric_mean([row.ratio for row in rows])
    itself = geometric_mean([row.itself for row in rows])
    print(f"{'geometric mean':{width}}{'':10}{mean:9.3f}{'':15}{itself:10.3f}")
    n_slower = sum(row.is_slower for row in rows)
    pairs = sorted(set(map(len, rounds.values())))
    print(f"{len(rows)} cases, pairs: {' or '.join(map(str, pairs))}; slower: {n_slower}", end="")
    print(f"; mean at most {HIGHEST_MEAN}: {'yes' if mean <= HIGHEST_MEAN else 'NO'}")
    print_goals(goals(rows))
    return int(n_slower > 0 or mean > HIGHEST_MEAN)
