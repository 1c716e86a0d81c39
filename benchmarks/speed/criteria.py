"""What an evaluation costs with criteria of labelled features, beside one of the likelihood."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source

EXACT = "evaluation, CPU s"
N_CRITERIA = (10, 100, 1000)


def evaluation(n: int, on_pairs: bool, watch: Stopwatch) -> dict[str, float]:
    """Shortest evaluation of the objective on CoNLL-2000 (22 labels): the likelihood, or without
    labels n criteria.

    Labelled features are the most frequent words; all pairs of features and labels have weights.
    The criteria are on labels or on pairs of them.
    """
    import numpy as np
    from lib.recording import evaluation_seconds

    from sklearn_struct import GECRF, FeatureTemplates, LinearChainCRF
    from sklearn_struct.datasets import fetch_conll2000

    warnings.simplefilter("ignore")
    rows, y = fetch_conll2000(return_X_y=True)
    rows, y = (rows[:500], y[:500]) if watch.quick else (rows, y)
    X = FeatureTemplates("chunking").fit_transform(rows)
    classes = sorted({label for labels in y for label in labels})
    options: dict[str, Any] = {"feature_pairs": "all", "solver": "lbfgs", "max_iter": 8, "tol": 0.0}
    if n == 0:
        model = LinearChainCRF(**options)
        target = y
    else:
        names = X.feature_names
        words = np.flatnonzero([name.startswith("w[0]:") for name in names.tolist()])
        frequent = words[
            np.argsort(-np.asarray(X.tokens.sum(axis=0)).ravel()[words], kind="stable")[:n]
        ]
        labels = [(label, label) for label in classes] if on_pairs else classes
        given = {names[f]: labels[m % len(labels)] for m, f in enumerate(frequent)}
        model = GECRF(given, classes=classes, **options)
        target = [None] * len(y)
    with evaluation_seconds() as seconds:
        model.fit(X, target)
    return {EXACT: min(seconds)}


def goals(medians: Medians) -> list[Goal]:
    few = f"{N_CRITERIA[0]} criteria"
    many = f"{N_CRITERIA[-1]} criteria"
    on_pairs = f"{N_CRITERIA[0]} criteria on pairs"
    plain = "likelihood"
    return [
        Goal(
            "evaluation, 10 criteria / likelihood",
            medians.ratio((few, EXACT), (plain, EXACT)),
            2.5,
            2.5,
            True,
        ),
        Goal(
            "evaluation, 1000 criteria / 10",
            medians.ratio((many, EXACT), (few, EXACT)),
            1.2,
            1.2,
            True,
        ),
        Goal(
            "evaluation, 10 criteria on pairs / likelihood",
            medians.ratio((on_pairs, EXACT), (plain, EXACT)),
            3,
            4,
            True,
        ),
    ]


BENCHMARKS = {
    "few-labels-evaluation": Benchmark(
        "Time of an evaluation of the objective with labelled features: CoNLL-2000",
        {
            "likelihood": partial(evaluation, 0, False),
            **{f"{n} criteria": partial(evaluation, n, False) for n in N_CRITERIA},
            f"{N_CRITERIA[0]} criteria on pairs": partial(evaluation, 10, True),
        },
        goals,
        papers=(Source("mann-2008", "the objective's cost"),),
    ),
}
