"""Training from packed data: seconds of an evaluation, and until the objective is near its optimum
or, in a benchmark of its own, F1 on the test data at its plateau.

The objective is the same for all, CRFsuite's with c2 = 1. Time runs from packed data (ours) or from
a trainer that holds the data (CRFsuite) and includes all preparations, such as the search for a
step. Solvers have default settings.
"""

from __future__ import annotations

import json
import math
import statistics
import warnings
from functools import partial
from typing import Any

from lib.fitting import F1, load_kernels, scores
from lib.goals import Goal
from lib.side_by_side import Benchmark, Contestant, Medians, Runs, Stopwatch
from lib.sources import Source
from lib.tasks import TASKS, packed, read

from peers.crfsuite import loaded_trainer, open_tagger, seconds_per_evaluation, train

PEER = "python-crfsuite"
OPTIMUM = "optimum"
PEER_F1 = "python-crfsuite, F1"
OURS = {
    "lbfgs": ("lbfgs", "float64"),
    "lbfgs, float32": ("lbfgs", "float32"),
    "sag": ("sag", "float64"),
    "sag, float32": ("sag", "float32"),
}
EVALUATION = "one evaluation, CPU s"
EXCESS = {"to 1 %, CPU s": 1e-2, "to 0.1 %, CPU s": 1e-3, "to 0.01 %, CPU s": 1e-4}
TARGET = "to 0.1 %, CPU s"
SLOWEST = "to 0.1 %, slowest run, CPU s"
PLATEAU = "to the plateau of test F1, CPU s"
PLATEAU_F1 = 0.9355
PLATEAU_TASK = "chunking"
ITERATIONS_TO_F1 = "iterations to the plateau"
EVALUATION_GOALS = {
    "chunking": {"lbfgs": (8.0, 6.0), "lbfgs, float32": (12.0, 9.0)},
    "noun-phrases": {"lbfgs": (6.0, 5.0)},
    "xpos": {"lbfgs": (5.0, 4.0)},
}
SOLVER_GOALS = {"sag": (15.0, 10.0), "lbfgs": (5.0, 4.0)}


def ours(
    task: str, solver: str, dtype: str, watch: Stopwatch, to_plateau: bool = False
) -> dict[str, float]:
    from lib.recording import evaluation_seconds, iterations

    from sklearn_struct import LinearChainCRF

    warnings.simplefilter("ignore")
    X, y, X_test, y_test = packed(task, watch)
    crf = LinearChainCRF(
        C=0.5, fit_intercept=False, solver=solver, dtype=dtype, random_state=watch.run
    )
    load_kernels(crf, X, y, max_iter=2)
    f1_of = (
        prober(crf, X, y, X_test, y_test, 1.1 * _reference(task, watch)["objective"])
        if to_plateau
        else None
    )
    with evaluation_seconds() as seconds, iterations(f1_of, exact=solver == "sag") as noted:
        crf.fit(X, y)
    watch.curve = [(at, value) for at, value, _ in noted]
    figures = {"evaluations": len(seconds), "objective at the end": noted[-1][1]}
    if solver == "lbfgs":
        figures[EVALUATION] = statistics.median(seconds)
    if to_plateau:
        plateau = _plateau(task, watch)
        figures[PLATEAU] = next((at for at, _, f1 in noted if f1 >= plateau), math.inf)
    return figures | scores(task, y_test, crf.predict(X_test))


def prober(crf: Any, X: Any, y: Any, X_test: Any, y_test: Any, below: float) -> Any:
    """The test F1 at parameters w, once the objective is low enough for it to matter."""
    import copy

    from sklearn.base import clone

    # the estimator itself knows nothing before its fit ends
    known = clone(crf).set_params(max_iter=1).fit(X, y)

    def f1(w: Any, objective: float) -> float:
        if objective > below:
            return -math.inf
        now = copy.copy(known)
        now._w = w
        now._prepared = type(known._prepared)()  # predictions keep weights there
        return scores("chunking", y_test, now.predict(X_test))[F1]

    return f1


def optimum(task: str, watch: Stopwatch) -> dict[str, float]:
    """A long run to near the optimum, for the others to be compared with."""
    from sklearn_struct import LinearChainCRF

    warnings.simplefilter("ignore")
    X, y, X_test, y_test = packed(task, watch)
    crf = LinearChainCRF(C=0.5, fit_intercept=False, solver="lbfgs", tol=1e-7, max_iter=500).fit(
        X, y
    )
    watch.curve = [(math.nan, crf.loss_curve_[-1])]
    figures = {"objective": crf.loss_curve_[-1], "iterations": crf.n_iter_}
    figures |= scores(task, y_test, crf.predict(X_test))
    (watch.scratch / f"{task}-optimum.json").write_text(json.dumps(figures))
    return figures


def _reference(task: str, watch: Stopwatch) -> dict[str, float]:
    """What `optimum` found in its process."""
    return json.loads((watch.scratch / f"{task}-optimum.json").read_text())


def _plateau(task: str, watch: Stopwatch) -> float:
    """The F1 to reach; with little data, that of the optimum less what 0.9355 is below the
    optimum's 0.936.
    """
    return _reference(task, watch)[F1] - 0.0005 if watch.quick else PLATEAU_F1


def peer_data(task: str, watch: Stopwatch) -> tuple[Any, Any, Any]:
    """A trainer with the training data, X_test, y_test."""
    (X, y), (X_test, y_test) = (read(task, split, watch) for split in ("train", "test"))
    strings = TASKS[task].strings
    all_pairs = TASKS[task].all_pairs
    return (
        loaded_trainer(map(strings, X), y, all_pairs),
        [strings(sentence) for sentence in X_test],
        y_test,
    )


def peer(task: str, watch: Stopwatch) -> dict[str, float]:
    path = watch.scratch / "crfsuite.model"
    trainer, X_test, y_test = peer_data(task, watch)
    noted = train(trainer, path)
    watch.note_memory()
    watch.curve = [(at, loss) for at, loss, _ in noted]
    figures = {
        EVALUATION: seconds_per_evaluation(noted),
        "evaluations": sum(trials for *_, trials in noted),
    }
    figures["objective at the end"] = noted[-1][1]
    return figures | scores(task, y_test, list(map(open_tagger(path).tag, X_test)))


def peer_to_f1(task: str, watch: Stopwatch) -> dict[str, float]:
    """After how many iterations CRFsuite reaches the plateau, by bisection: what it stores is the
    last iterate.
    """
    path = watch.scratch / "crfsuite-f1.model"
    trainer, X_test, y_test = peer_data(task, watch)

    def f1_after(n: int | None) -> tuple[int, float]:
        n_iter = len(train(trainer, path, n))
        return n_iter, scores(task, y_test, list(map(open_tagger(path).tag, X_test)))[F1]

    low = 0
    (high, last) = f1_after(None)
    plateau = _plateau(task, watch)
    if last < plateau:
        return {ITERATIONS_TO_F1: math.inf}
    while high - low > 2:
        middle = (low + high) // 2
        low, high = (low, middle) if f1_after(middle)[1] >= plateau else (middle, high)
    return {ITERATIONS_TO_F1: high}


def finish(runs: Runs) -> None:
    """Figures that need the lowest objective seen, or the iterations that CRFsuite needs to the
    plateau.
    """
    lowest = min(
        (value for several in runs.values() for run in several for _, value in run.curve),
        default=math.nan,
    )
    for name, several in runs.items():
        for run in several:
            if name != OPTIMUM and run.curve:
                run.figures["above the optimum at the end, %"] = 100 * (
                    run.curve[-1][1] / lowest - 1
                )
                for what, excess in EXCESS.items():
                    run.figures[what] = first_within(run.curve, lowest * (1 + excess))
        slowest = max((run.figures.get(TARGET, math.nan) for run in several), default=math.nan)
        for run in several if name in OURS else ():
            run.figures[SLOWEST] = slowest
    needed = [run.figures[ITERATIONS_TO_F1] for run in runs.get(PEER_F1, [])]
    for run in runs.get(PEER, []) if needed else ():
        run.figures[PLATEAU] = (
            run.curve[int(needed[0]) - 1][0] if math.isfinite(needed[0]) else math.inf
        )


def first_within(curve: list[tuple[float, float]], value: float) -> float:
    """The time at which a curve first is at `value` or below."""
    return next((at for at, reached in curve if reached <= value), math.inf)


def goals(task: str, medians: Medians) -> list[Goal]:
    promises = []
    for name, wanted in EVALUATION_GOALS.get(task, {}).items():
        ratio = medians.ratio((PEER, EVALUATION), (name, EVALUATION))
        promises.append(
            Goal(f"1. {task}: an evaluation, {OURS[name][1]}: CRFsuite / ours", ratio, *wanted)
        )
    for name, wanted in SOLVER_GOALS.items():
        ratio = medians.ratio((PEER, TARGET), (name, TARGET))
        promises.append(
            Goal(f"2. {task}: to 0.1 % above the optimum: CRFsuite / {name}", ratio, *wanted)
        )
    return promises


def plateau_goals(medians: Medians) -> list[Goal]:
    ratio = medians.ratio((PEER, PLATEAU), ("sag", PLATEAU))
    what = f"{PLATEAU_TASK}: to the plateau of test F1: CRFsuite / sag"
    return [Goal(f"2. {what}", ratio, 30.0, 24.0)]


# tasks that are rows of that table, beside CRFsuite instead of MALLET
ROWS_OF_PAPER = (Source("sutton-2012", "table 5.1"),)


def _benchmark(task: str) -> Benchmark:
    contestants: dict[str, Contestant] = {
        name: partial(ours, task, *how) for name, how in OURS.items()
    }
    title = f"Time of training from packed data: {TASKS[task].title}"
    return Benchmark(
        title,
        contestants | {PEER: partial(peer, task)},
        partial(goals, task),
        task,
        {OPTIMUM: partial(optimum, task)},
        finish,
        beside=PEER,
        papers=ROWS_OF_PAPER * (task in ("noun-phrases", "xpos")),
    )


def _plateau_benchmark(task: str) -> Benchmark:
    solver, dtype = OURS["sag"]

    def sag(watch: Stopwatch) -> dict[str, float]:
        return ours(task, solver, dtype, watch, to_plateau=True)

    return Benchmark(
        f"Time of training to the plateau of F1 on test data: {TASKS[task].title}",
        {"sag": sag, PEER: partial(peer, task)},
        plateau_goals,
        task,
        {OPTIMUM: partial(optimum, task), PEER_F1: partial(peer_to_f1, task)},
        finish,
        beside=PEER,
    )


BENCHMARKS = {f"training-{task}": _benchmark(task) for task in TASKS}
BENCHMARKS["plateau-of-f1"] = _plateau_benchmark(PLATEAU_TASK)
