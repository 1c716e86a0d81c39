"""A search over penalties: LinearChainCRFCV beside GridSearchCV over the same grid."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, NamedTuple

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.tasks import corpus

CS = (0.1, 0.3, 1.0, 3.0)
FOLDS = 3
OURS = "LinearChainCRFCV"
GRID = "GridSearchCV"
SEARCH = "search, CPU s"
CHOSEN = "chosen C"


class Search(NamedTuple):
    """A solver, its share of L1, and on how many sentences it searches; None is all of them."""

    solver: str
    l1_ratio: float = 0.0
    sentences: int | None = None


SEARCHES = (
    Search("lbfgs"),
    Search("sag"),
    # needs a thousand iterations and more where the L1 penalty is strong, on all data a minute each
    Search("owlqn", 0.5, 1000),
)


def score_of(C: float) -> str:
    return f"mean span F1, C={C:g}"


def search(how: Search, along: bool, watch: Stopwatch) -> dict[str, float]:
    """The time of a search from dicts, with the final fit, and the scores of its penalties."""
    from sklearn.model_selection import GridSearchCV

    from sklearn_struct import LinearChainCRF, LinearChainCRFCV
    from sklearn_struct.metrics import span_f1_scorer

    warnings.simplefilter("ignore")
    X, y, _, _ = corpus(watch, "dicts")
    X = X[: how.sentences]
    y = y[: how.sentences]
    options: dict[str, Any] = {"solver": how.solver, "random_state": 0}
    same: dict[str, Any] = {"cv": FOLDS, "scoring": span_f1_scorer}
    # kernels are loaded before the clock starts
    LinearChainCRF(l1_ratio=how.l1_ratio, max_iter=3, **options).fit(X[:20], y[:20]).predict(X[:5])
    model: Any
    if along:
        model = LinearChainCRFCV(Cs=CS, l1_ratios=[how.l1_ratio], **same, **options)
    else:
        model = GridSearchCV(
            LinearChainCRF(l1_ratio=how.l1_ratio, **options), {"C": list(CS)}, **same
        )
    with watch.part("search"):
        model.fit(X, y)
    scores = model.scores_.mean(axis=(0, 1)) if along else model.cv_results_["mean_test_score"]
    chosen = model.C_ if along else model.best_params_["C"]
    return {CHOSEN: chosen} | {
        score_of(C): float(score) for C, score in zip(CS, scores, strict=True)
    }


def goals(medians: Medians) -> list[Goal]:
    goals = []
    for how in SEARCHES:
        ours = f"{how.solver}, {OURS}"
        grid = f"{how.solver}, {GRID}"
        goals.append(
            Goal(
                f"search over penalties, {how.solver}, {GRID} / {OURS}",
                medians.ratio((grid, SEARCH), (ours, SEARCH)),
                2.5,
                1.4,
            )
        )
        differences = [medians.points(ours, grid, score_of(C)) for C in CS]
        known = [abs(points) / 100 for points in differences if points is not None]
        goals.append(
            Goal(
                f"search over penalties, {how.solver}, largest difference of mean scores",
                max(known) if len(known) == len(CS) else None,
                1e-3,
                1e-3,
                True,
            )
        )
        goals.append(
            Goal(
                f"search over penalties, {how.solver}, score of the choice below {GRID}'s",
                lost(medians, ours, grid),
                1e-3,
                1e-3,
                True,
            )
        )
    return goals


def lost(medians: Medians, ours: str, grid: str) -> float | None:
    """By how much GridSearchCV's score of our choice is below that of its own."""
    chosen = [medians.figure(contestant, CHOSEN) for contestant in (ours, grid)]
    scores = [medians.figure(grid, score_of(C)) for C in chosen if C is not None]
    if len(scores) < 2 or scores[0] is None or scores[1] is None:
        return None
    return scores[1] - scores[0]


BENCHMARKS = {
    "search-over-penalties": Benchmark(
        f"Search over {len(CS)} penalties: CoNLL-2000 (owlqn: 1,000 sentences of it)",
        {
            f"{how.solver}, {name}": partial(search, how, name == OURS)
            for how in SEARCHES
            for name in (OURS, GRID)
        },
        goals,
        task="chunking",
        beside="scikit-learn's GridSearchCV",
    )
}
