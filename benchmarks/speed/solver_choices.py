"""What solver="auto" chooses: CPU seconds until the objective is a thousandth above the lowest that
any solver reaches, on corpora of different kinds, with default settings.
"""

from __future__ import annotations

import gzip
import math
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from lib.goals import Goal
from lib.large_tasks import tags_of_trees
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.tasks import TASKS, affix_attributes
from papers.field_corpora import in_data_home, load

EXCESS = 1e-3
AUTO = "auto, CPU s"
BEST = "quickest other, CPU s"
WARNINGS = "auto: warnings"
QUICK = 200  # sequences

Data = tuple[Any, Any]


def of_task(name: str) -> Data:
    """The training part of a task, packed."""
    X, y = TASKS[name].load("train")
    return TASKS[name].encode(X, X[:1])[0], y


def of_words(texts: list[list[str]], y: list[list[str]]) -> Data:
    """Words around each word, affixes, and forms."""
    from sklearn_struct import SequenceVectorizer

    sentences = [affix_attributes([(word,) for word in words]) for words in texts]
    return SequenceVectorizer().fit_transform(sentences), y


def fields(name: str) -> Data:
    split = load(name)
    return of_words(split.X_train, split.y_train)


def relations(n_sentences: int) -> Data:
    """Parts of speech with relations of EWT, some 250 labels."""
    texts: list[list[str]] = [[]]
    y: list[list[str]] = [[]]
    path = in_data_home("ewt", "en_ewt-ud-train.conllu.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            columns = line.rstrip("\n").split("\t")
            if columns[0].isdigit():
                texts[-1].append(columns[1])
                y[-1].append(f"{columns[3]}:{columns[7]}")
            elif columns == [""]:
                texts.append([])
                y.append([])
            if len(texts) > n_sentences:
                break
    return of_words(texts[:n_sentences], y[:n_sentences])


def tags() -> Data:
    """The tags of every third sentence of Greynir, 450 labels."""
    from sklearn_struct import SequenceVectorizer

    # all of them, also if the benchmark is quick: it takes its share itself
    X, y = tags_of_trees(Stopwatch(Path()))
    return SequenceVectorizer().fit_transform(X[::3]), y[::3]


def words_alone() -> Data:
    """Parts of speech by nothing but the word: fewer weights than tokens."""
    from sklearn_struct import SequenceVectorizer

    X, y = TASKS["upos"].load("train")
    words = [[f"w={token[0].lower()}" for token in sentence] for sentence in X]
    return SequenceVectorizer().fit_transform(words), y


class Case(NamedTuple):
    """Data, how many sequences of them (None is all), and the share of L1."""

    data: Callable[[], Data]
    n: int | None = None
    l1_ratio: float = 0.0


CASES = {
    "addresses, 29 labels": Case(partial(fields, "usaddress")),
    "citations, 7 labels": Case(partial(fields, "umass_citations")),
    "seminars, 5 labels": Case(partial(fields, "seminars")),
    "rental ads, 12 labels": Case(partial(fields, "rental ads")),
    "chunking, 22 labels": Case(partial(of_task, "chunking")),
    "chunking, 1,000 sentences": Case(partial(of_task, "chunking"), 1000),
    "noun phrases, 3 labels": Case(partial(of_task, "noun-phrases")),
    "parts of speech, 17 labels": Case(partial(of_task, "upos")),
    "words alone, 17 labels": Case(words_alone),
    "letters, dense, 26 labels": Case(partial(of_task, "letters")),
    "relations, 250 labels": Case(partial(relations, 1500)),
    "chunking, 1,000 sentences, L1": Case(partial(of_task, "chunking"), 1000, 0.5),
    "citations, L1": Case(partial(fields, "umass_citations"), None, 0.5),
}

MANY_LABELS = {"tags, 450 labels": Case(tags)}


def contest(case: Case, watch: Stopwatch) -> dict[str, float]:
    """Seconds of each solver to a thousandth above the lowest objective."""
    from lib.recording import iterations

    from sklearn_struct import LinearChainCRF

    X, y = case.data()
    n = min(QUICK, len(y)) if watch.quick else case.n
    X = X[:n]
    y = y[:n]
    options: dict[str, Any] = {"l1_ratio": case.l1_ratio, "random_state": watch.run}
    curves = {}
    n_warnings = 0
    for solver in ("auto", "owlqn" if case.l1_ratio else "lbfgs", "sag"):
        crf = LinearChainCRF(solver=solver, **options)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            LinearChainCRF(solver=solver, max_iter=2, **options).fit(X[:100], y[:100])
            del said[:]
            with iterations(None, exact=False) as noted:
                crf.fit(X, y)
        n_warnings += len(said) if solver == "auto" else 0
        curves[solver] = [(at, value) for at, value, _ in noted]
    lowest = min(value for curve in curves.values() for _, value in curve)
    seconds = {
        solver: next((at for at, value in curve if value <= (1 + EXCESS) * lowest), math.inf)
        for solver, curve in curves.items()
    }
    figures = {f"{solver}, CPU s": at for solver, at in seconds.items()}
    figures[BEST] = min(at for solver, at in seconds.items() if solver != "auto")
    # to the end, as `tol` says
    figures |= {f"{solver} to its end, CPU s": curve[-1][0] for solver, curve in curves.items()}
    return figures | {WARNINGS: float(n_warnings)}


def goals(cases: Iterable[str], medians: Medians) -> list[Goal]:
    promises = [
        Goal(
            f"auto / quickest other, {name}",
            medians.ratio((name, AUTO), (name, BEST)),
            1.2,
            1.4,
            at_most=True,
        )
        for name in cases
    ]
    counts = [medians.figure(name, WARNINGS) for name in cases]
    known = [count for count in counts if count is not None]
    total = sum(known) if known else None
    return [*promises, Goal("warnings of auto with default settings", total, 0.0, 0.0, True)]


BENCHMARKS = {
    "choice-of-solver": Benchmark(
        "Seconds to a thousandth above the lowest objective, with default settings",
        {name: partial(contest, case) for name, case in CASES.items()},
        partial(goals, CASES),
    ),
    # takes as long as all others together
    "choice-of-solver-450": Benchmark(
        "Seconds to a thousandth above the lowest objective, with 450 labels",
        {name: partial(contest, case) for name, case in MANY_LABELS.items()},
        partial(goals, MANY_LABELS),
    ),
}
