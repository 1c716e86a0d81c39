"""The page of results: a section for each benchmark, which a run writes or replaces."""

from __future__ import annotations

import math
import os
import platform
import re
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from lib.claims import Claim
from lib.goals import Goal
from lib.side_by_side import Medians, least, table_lines

T = TypeVar("T")

LARGE = 1 << 23  # numbers of 8 bytes, more than caches hold
WIDTH = 88  # of code blocks: wider ones are cut on a page
PACKAGES = ("sklearn-struct", "numpy", "scipy", "scikit-learn", "numba")
PEERS = ("python-crfsuite", "sklearn-crfsuite", "hmmlearn", "nltk", "seqeval")
HEAD = """\
# Results

This command runs benchmarks and writes this page:

    python benchmarks/run.py NAMES --write docs/development/results.md

Each benchmark has a section. The next run of the benchmark replaces it. A figure is the median over
the runs; times are CPU seconds. A goal has two numbers: what the project wants, and the least that
will do. "MISSED" means less than that. On a busy machine goals may be missed that are met on an
idle one. Ratios depend on how fast memory is, too: the models of large corpora do not fit into
caches. [Benchmarks](benchmarks.md) lists all there are.
"""
ORDER = re.compile(r"^\d+\. ")  # by which goals are sorted; Markdown would make a list of it
SECTION = re.compile(r"^## `([^`]+)`$", re.MULTILINE)
TAKES = re.compile(r"^- Wall time of the command: (.+)$", re.MULTILINE)


class Result(NamedTuple):
    """What a run of a benchmark found.

    Attributes
    ----------
    name, title : str
        Of the benchmark.
    medians : Medians
        The table.
    goals : list of Goal
        What the project promises.
    claims : list of Claim
        What papers claim.
    """

    name: str
    title: str
    medians: Medians
    goals: list[Goal]
    claims: list[Claim]


class Conditions(NamedTuple):
    """Under which a benchmark was run.

    Attributes
    ----------
    runs : int
        Runs of each contestant.
    seconds : float
        Wall time from start to end.
    load : float
        Mean number of processes that wanted a CPU in the minute before the start.
    copied : float
        GB that memory copied in a second, before the start.
    """

    runs: int
    seconds: float
    load: float
    copied: float


def watched(run: Callable[[], T], runs: int) -> tuple[T, Conditions]:
    """What a run answers, and its conditions."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    # in a process of its own: what starts the runs must stay small, as they inherit its peak memory
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        copied = pool.submit(rate_of_copies).result()
    start = time.perf_counter()
    answer = run()
    return answer, Conditions(runs, time.perf_counter() - start, load, copied)


def rate_of_copies() -> float:
    """GB a second of the quickest of some copies in memory."""
    source = np.ones(LARGE)
    target = np.zeros(LARGE)
    seconds = least(lambda: np.copyto(target, source))
    return source.nbytes / seconds / 1e9


# ---- the page


def write_section(page: Path, result: Result, conditions: Conditions, names: list[str]) -> None:
    """Put a section into the page, in the place of an older one of the same benchmark; sections
    are in the order of `names`.
    """
    sections = read_sections(page)
    sections[result.name] = section(result, conditions)
    order = {name: number for number, name in enumerate(names)}
    chosen = sorted(sections, key=lambda name: order.get(name, len(order)))
    text = "\n".join([HEAD, *(sections[name] for name in chosen)])
    page.write_text(text, encoding="utf-8")


def read_sections(page: Path) -> dict[str, str]:
    """The text of each benchmark's section; none if there is no page."""
    if not page.exists():
        return {}
    parts = SECTION.split(page.read_text(encoding="utf-8"))[1:]
    return {
        name: f"## `{name}`\n\n{text.strip()}\n"
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


def times(page: Path) -> dict[str, str]:
    """How long the benchmarks of the page took."""
    written = {name: TAKES.search(text) for name, text in read_sections(page).items()}
    return {name: match[1] for name, match in written.items() if match}


def section(result: Result, conditions: Conditions) -> str:
    """Title, command, table, goals and claims, machine, versions and date."""
    command = f"python benchmarks/run.py {result.name} --runs {conditions.runs}"
    lines = [f"## `{result.name}`", "", result.title + ".", "", "```", f"$ {command}"]
    for part in narrow(result.medians):
        lines += ["", *table_lines(part)]
    lines += ["```", ""]
    for title, items in (
        ("Goals:", [_goal(goal) for goal in result.goals]),
        ("What the paper claims:", [_claim(claim) for claim in result.claims]),
        ("How it was measured:", [*_machine(conditions), *_versions()]),
    ):
        if items:
            lines += [title, "", *(line for item in items for line in _item(item)), ""]
    return "\n".join(lines)


def narrow(columns: Medians) -> list[dict[str, dict[str, float]]]:
    """The columns in tables that are no wider than a code block; each has one column or more."""
    parts: list[dict[str, dict[str, float]]] = []
    for name, figures in columns.items():
        more = {**parts[-1], name: figures} if parts else {}
        if more and max(map(len, table_lines(more))) <= WIDTH:
            parts[-1] = more
        else:
            parts.append({name: figures})
    return parts


def _item(text: str) -> list[str]:
    return textwrap.wrap(
        text, 100, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
    )


def _goal(goal: Goal) -> str:
    what = ORDER.sub("", goal.what)
    sign = "at most" if goal.at_most else "at least"
    wanted = f"goal {sign} {number(goal.goal)}, least {number(goal.least)}"
    return f"{what}: {number(goal.value)} ({wanted}): {goal.verdict()}"


def number(value: float | None) -> str:
    """Four digits; large numbers are whole, with commas."""
    if value is None:
        return "no figure"
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def _claim(claim: Claim) -> str:
    figure = f"{claim.figure} {number(claim.value)}"
    return f"{claim.claim} ({claim.corpus}): {figure}: {claim.verdict()}"


# ---- conditions


def _machine(conditions: Conditions) -> list[str]:
    cores = os.cpu_count() or 1
    runs = f"{conditions.runs} run" + "s" * (conditions.runs > 1)
    now = datetime.now(UTC).date().isoformat()
    lines = [
        f"Date: {now}",
        f"Machine: {cpu()}, {cores} cores, {platform.system()}",
        f"Memory: it copied {conditions.copied:.1f} GB a second before the start",
        f"Wall time of the command: {duration(conditions.seconds)}, {runs}",
    ]
    if conditions.load > 0.5:
        lines.append(
            f"The machine was busy: at the start {conditions.load:.1f} other processes wanted a"
            " core. CPU times are longer than on an idle machine, and ratios are less sure."
        )
    return lines


def _versions() -> list[str]:
    texts = [f"Python {platform.python_version()}"]
    for name in (*PACKAGES, *PEERS):
        try:
            texts.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ["Versions: " + ", ".join(texts)]


def cpu() -> str:
    """The name of the CPU."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def duration(seconds: float) -> str:
    """In words, with one number."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
