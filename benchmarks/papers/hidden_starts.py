"""Direct gradient against expectation maximisation, from the same random starts.

Section 5.1.3 of Sutton and McCallum describes both for models with hidden variables (5.18 and 5.19)
and knows of no study that compares them. Here "lbfgs" and "em" begin with the same random weights,
and both stop where no entry of the gradient exceeds the same tolerance, or after as many
quasi-Newton iterations, of which EM makes a few in each M-step.

Corpora are the vowels of nine speakers (270 sequences to learn from), the first draw of generated
motions (40 sequences), and parts of two others: each fifth word of the letters to learn from (141),
and the first 40 announcements of split 0 of the seminars. All are tested on what there is to test
on, of letters on each sixth word of it.

An evaluation is a call of an objective and its gradient. One of "lbfgs" sums over all labellings
and over those that have the given labels: two passes of forward-backward over the data. An E-step
is one pass, over the given labels, and each evaluation of an M-step is one, over all labellings. So
passes are what to compare.

Where one of them ends with a higher objective, it may have stopped on the way, or be near another
minimum. So "lbfgs" goes on from both endings to a smaller tolerance, which no other figure counts.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from lib.fitting import load_kernels
from lib.goals import no_goals
from lib.recording import evaluation_seconds
from lib.side_by_side import Benchmark, Picture, Runs, Stopwatch
from lib.sources import Source

from papers.field_corpora import announcements
from papers.label_states import FIELDS, LETTERS, letters, node_f1
from papers.sequence_classes import Task, by_length, motions, vowels
from papers.skip_chains import tokens_and_labels

N_STARTS = 20
TOL = 1e-4
NEAR = 1e-5  # of the minimum to which an ending leads
ITERATIONS = 1000  # of quasi-Newton, all M-steps together
PASSES = {"lbfgs": 2, "em": 1}  # of forward-backward, in an evaluation
CLEARLY = 1e-3  # by what part of an objective another one is lower
EACH_WORD = 5
EACH_TEST_WORD = 6
N_TEXTS = 40
LOWER = "starts from which it ends lower"
LOWER_MINIMUM = "starts whose minimum is lower"


class Corpus(NamedTuple):
    """Data, the settings of the model that learns from them, and how it is scored on the rest."""

    read: Callable[[bool], Task]
    settings: dict[str, Any]
    score: str
    classes: bool  # one label for each sequence

    def model(self, solver: str, seed: int) -> Any:
        from sklearn_struct import HiddenStateClassifier, LatentChainCRF

        kind = HiddenStateClassifier if self.classes else LatentChainCRF
        return kind(
            solver=solver,
            init="random",
            random_state=seed,
            tol=TOL,
            max_iter=iterations(solver),
            **self.settings,
        )

    def test(self, model: Any, task: Task) -> float:
        if self.score == "F1":
            return node_f1(model, task.X_test, task.y_test)
        return float(model.score(task.X_test, task.y_test))


class Ending(NamedTuple):
    """What a fit from one start came to."""

    objective: float
    minimum: float
    evaluations: int
    seconds: float
    score: float
    converged: bool


def iterations(solver: str) -> int:
    """Those of `fit` that make as many of quasi-Newton."""
    from sklearn_struct.solvers.convex_difference import M_STEPS

    return ITERATIONS // M_STEPS if solver == "em" else ITERATIONS


# ---- data


def of_vowels(quick: bool) -> Task:
    task = next(vowels(quick))
    return task._replace(X=by_length(task.X), X_test=by_length(task.X_test))


def of_motions(quick: bool) -> Task:
    return next(motions(quick))


def of_letters(quick: bool) -> Task:
    (X, y), (X_test, y_test) = letters()
    # not the first ones: the file has the same word of many writers in a row
    n = 35 if quick else EACH_WORD
    return Task(X[::n], y[::n], X_test[::EACH_TEST_WORD], y_test[::EACH_TEST_WORD])


def of_seminars(quick: bool) -> Task:
    train, test = announcements(0)
    return Task(*tokens_and_labels(train[: 4 if quick else N_TEXTS]), *tokens_and_labels(test))


CORPORA = {
    "vowels": Corpus(of_vowels, {"n_states": 2, "C": 1.0}, "accuracy", classes=True),
    "motions": Corpus(
        of_motions,
        {"n_states": 4, "C": 0.1, "state_transitions": "left-to-right"},
        "accuracy",
        classes=True,
    ),
    "letters": Corpus(of_letters, LETTERS["hidden states"], "accuracy", classes=False),
    "seminars": Corpus(of_seminars, FIELDS["hidden states"], "F1", classes=False),
}


# ---- fits, and what they show together


def ending(corpus: Corpus, task: Task, solver: str, seed: int) -> Ending:
    """Fit from one start, and test."""
    from sklearn.exceptions import ConvergenceWarning

    model = corpus.model(solver, seed)
    with warnings.catch_warnings(record=True) as said, evaluation_seconds() as evaluations:
        warnings.simplefilter("always")
        start = time.process_time()
        model.fit(task.X, task.y)
        seconds = time.process_time() - start
    converged = not any(issubclass(one.category, ConvergenceWarning) for one in said)
    score = corpus.test(model, task)
    reached = model.loss_curve_[-1]
    # the rest of the way may be none
    lowest = min(reached, minimum(corpus, task, model))
    return Ending(reached, lowest, len(evaluations), seconds, score, converged)


def minimum(corpus: Corpus, task: Task, near: Any) -> float:
    """The objective to which "lbfgs" comes from a fitted model."""
    model = corpus.model("lbfgs", 0).set_params(tol=NEAR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(task.X, task.y, init=near)
    return float(min(model.loss_curve_, default=math.inf))


def summary(endings: list[Ending], solver: str, score: str) -> dict[str, float]:
    """Figures of all starts."""
    columns = map(list, zip(*endings, strict=True))
    objectives, minima, evaluations, seconds, scores, converged = columns
    return {
        "starts": len(endings),
        "lowest objective / C": min(objectives),
        "median": statistics.median(objectives),
        "highest less lowest": max(objectives) - min(objectives),
        "minima nearby: lowest": min(minima),
        "minima nearby: median": statistics.median(minima),
        "minima nearby: highest less lowest": max(minima) - min(minima),
        "median evaluations": statistics.median(evaluations),
        "passes of forward-backward": PASSES[solver] * statistics.median(evaluations),
        "median CPU s": statistics.median(seconds),
        f"mean test {score}": statistics.fmean(scores),
        f"lowest test {score}": min(scores),
        f"highest test {score}": max(scores),
        "starts that reach the tolerance": sum(converged),
    }


def from_all_starts(name: str, solver: str, watch: Stopwatch) -> dict[str, float]:
    corpus = CORPORA[name]
    task = corpus.read(watch.quick)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        load_kernels(corpus.model(solver, 0), task.X, task.y, max_iter=1)
    endings = []
    for seed in range(2 if watch.quick else N_STARTS):
        endings.append(ending(corpus, task, solver, seed))
        watch.curve.append((endings[-1].objective, endings[-1].minimum))
        print(f"start {seed}: {endings[-1]}", file=sys.stderr, flush=True)
    return summary(endings, solver, corpus.score)


def n_lower(ours: list[float], theirs: list[float]) -> int:
    """From how many starts our objective is clearly lower."""
    pairs = zip(ours, theirs, strict=True)
    return sum(one < other - CLEARLY * abs(other) for one, other in pairs)


def finish(runs: Runs) -> None:
    """How often one solver comes lower than the other one from the same start."""
    for corpus in CORPORA:
        names = [column(corpus, solver) for solver in PASSES]
        if all(name in runs for name in names):
            direct, em = (runs[name][0] for name in names)
            for ours, theirs in ((direct, em), (em, direct)):
                reached, minima = map(list, zip(*ours.curve, strict=True))
                their_reached, their_minima = map(list, zip(*theirs.curve, strict=True))
                ours.figures[LOWER] = n_lower(reached, their_reached)
                ours.figures[LOWER_MINIMUM] = n_lower(minima, their_minima)


def column(corpus: str, solver: str) -> str:
    return f"{corpus}, {solver}"


BENCHMARKS = {
    "hidden-study": Benchmark(
        "Hidden states learned by direct gradients and by EM, from the same random starts",
        {},
        no_goals,
        once={
            column(corpus, solver): partial(from_all_starts, corpus, solver)
            for corpus in CORPORA
            for solver in PASSES
        },
        finish=finish,
        picture=Picture("objective / C reached", "of the minimum nearby", excess=False),
        papers=(Source("sutton-2012", "section 5.1.3"),),
    )
}
