"""How long M-estimation takes for noun phrases: against CRFs, and in a search for C.

Times run from rows of words and tags to a fitted model (python-crfsuite: from its attributes) and
include expectations under the base model. Models stop after 100 iterations, or where their own F1
on held-out sentences rises no more.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from lib.fitting import load_kernels
from lib.goals import no_goals
from lib.side_by_side import Benchmark, Runs, Stopwatch
from lib.sources import Source
from lib.tasks import window_attributes
from peers.crfsuite import loaded_trainer, open_tagger, train

from papers.noun_phrase_models import (
    EXTENDED,
    GRID,
    ITERATIONS,
    M_BY_LBFGS,
    M_ESTIMATED,
    M_SINGLE,
    MODELS,
    TASK,
    TEMPLATES,
    Part,
    m_estimated,
    parts,
    scores,
)

KEY = "smith-2007"
CRFSUITE = "python-crfsuite"
N_SEARCHED = 8
# near its best; of others 0.5, CRFsuite's c2 = 1
STRENGTH = dict.fromkeys((M_ESTIMATED, M_BY_LBFGS, M_SINGLE), GRID[4])
OURS = (M_ESTIMATED, M_BY_LBFGS, M_SINGLE, "CRF", "CRF, single labels")
RIVALS = {
    "CRF": M_ESTIMATED,
    "CRF, single labels": M_SINGLE,
    CRFSUITE: M_SINGLE,
}  # with the same features
LIMITS = (5, 10, 20, 40, ITERATIONS)
FIT = f"{ITERATIONS} iterations, CPU s"
F1 = f"F1 after {ITERATIONS} iterations"
PLATEAU = "to its own plateau, CPU s"
PLATEAU_F1 = "F1 of its plateau"


def ours(name: str, watch: Stopwatch) -> dict[str, float]:
    from sklearn.pipeline import make_pipeline

    from sklearn_struct import FeatureTemplates

    warnings.simplefilter("ignore")
    model = MODELS[name]
    rows = parts(watch)
    noted = []
    for limit in LIMITS:
        estimator = model.make(EXTENDED, STRENGTH.get(name, 0.5), limit)
        if model.packed:
            estimator = make_pipeline(FeatureTemplates(TEMPLATES[EXTENDED]), estimator)
        load_kernels(estimator, rows["train"].X[:50], rows["train"].y[:50])
        start = time.process_time()
        estimator.fit(*rows["train"])
        seconds = time.process_time() - start
        noted.append((seconds, scores(rows["tune"].y, estimator.predict(rows["tune"].X))[2]))
    return _summary(noted)


def crfsuite(watch: Stopwatch) -> dict[str, float]:
    """It has no features of label pairs. Its trainer keeps the data from one limit to the next;
    loading them counts.
    """
    rows = {
        name: Part(list(map(window_attributes, part.X)), part.y)
        for name, part in parts(watch).items()
    }
    path = watch.scratch / "np.model"
    noted = []
    with watch.part("loading"):
        trainer = loaded_trainer(*rows["train"])
    loading = watch.figures["loading, CPU s"]
    for limit in LIMITS:
        start = time.process_time()
        train(trainer, path, limit)
        seconds = time.process_time() - start
        noted.append(
            (
                loading + seconds,
                scores(rows["tune"].y, list(map(open_tagger(path).tag, rows["tune"].X)))[2],
            )
        )
    return _summary(noted)


def plateau(noted: list[tuple[float, float]]) -> tuple[float, float]:
    """The first of pairs (seconds, F1) that is within 0.05 points of the best F1."""
    best = max(f1 for _, f1 in noted)
    return next((seconds, f1) for seconds, f1 in noted if f1 >= best - 0.05)


def _summary(noted: list[tuple[float, float]]) -> dict[str, float]:
    return dict(zip((FIT, F1, PLATEAU, PLATEAU_F1), (*noted[-1], *plateau(noted)), strict=True))


def ratios(runs: Runs) -> None:
    """Times over those of M-estimation with the same features in the same round."""
    for name, rival in RIVALS.items():
        for run, fastest in zip(runs.get(name, []), runs.get(rival, []), strict=False):
            for what in (FIT, PLATEAU):
                run.figures[f"{what.removesuffix(', CPU s')}: time / M-est."] = (
                    run.figures[what] / fastest.figures[what]
                )


def search(remembers: bool, watch: Stopwatch) -> dict[str, float]:
    """Fits with eight values of C, with or without a memory for what does not depend on C."""
    warnings.simplefilter("ignore")
    folder = watch.scratch / "np-memory"
    (X, y) = parts(watch)["train"]
    seconds = []
    model = m_estimated(wide=True, **({"memory": str(folder)} if remembers else {}))
    for C in model.grid[:N_SEARCHED]:
        estimator = model.make(EXTENDED, C, ITERATIONS)
        load_kernels(estimator, X[:50], y[:50], memory=None)
        start = time.process_time()
        estimator.fit(X, y)
        seconds.append(time.process_time() - start)
    figures = {
        "first fit, CPU s": seconds[0],
        f"the other {N_SEARCHED - 1}, CPU s": sum(seconds[1:]),
    }
    computed = sum(stored(folder).values()) if remembers else N_SEARCHED
    return figures | {"computations of expectations": computed}


def stored(folder: Path) -> Counter[str]:
    """Results that a joblib memory holds of each function: <function>/<arguments>/output.pkl."""
    return Counter(path.parents[1].name for path in folder.rglob("output.pkl"))


def _contestants() -> dict[str, Any]:
    return {name: partial(ours, name) for name in OURS} | {CRFSUITE: crfsuite}


BENCHMARKS = {
    "np-ratios": Benchmark(
        "Training times of models of noun phrases",
        {},
        no_goals,
        TASK,
        _contestants(),
        ratios,
        beside="python-crfsuite",
        papers=(Source(KEY, "figure 1"),),
    ),
    "np-grid": Benchmark(
        f"Time of M-estimation with {N_SEARCHED} values of C, with and without a cache",
        {},
        no_goals,
        TASK,
        {"memory": partial(search, True), "no memory": partial(search, False)},
        papers=(Source(KEY, "section 5"),),
    ),
}
