"""Sequences of length 1: scikit-learn's LogisticRegression and LinearChainCRF are the same model
there.
"""

from __future__ import annotations

import math
import warnings
from functools import partial
from itertools import chain
from typing import Any

from lib.fitting import load_kernels
from lib.goals import no_goals
from lib.side_by_side import Benchmark, Runs, Stopwatch, least
from lib.tasks import packed

C = 1.0
N_SENTENCES = 3000
END = "objective at the end"
EXCESS = "above the lowest objective, %"
RATE = "predict_proba, rows / CPU s"


def tokens(task: str, watch: Stopwatch) -> tuple[Any, Any, Any]:
    """Tokens of a task as single examples: letters, or the words of some thousand sentences."""
    X, y, X_test, _ = packed(task, watch)
    n = len(X) if task == "letters" else min(len(X), N_SENTENCES)
    return X[:n].tokens, list(chain.from_iterable(y[:n])), X_test.tokens


def fit(task: str, name: str, watch: Stopwatch) -> dict[str, float]:
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    from sklearn_struct import LinearChainCRF

    warnings.simplefilter("ignore")
    X, y, X_test = tokens(task, watch)
    if name == "LogisticRegression":
        model = LogisticRegression(C=C, max_iter=1000)
    else:
        model = LinearChainCRF(C=C, feature_pairs="all", solver=name, random_state=watch.run)
        load_kernels(model, X, y, max_iter=2)
    with watch.part("fit"):
        model.fit(X, y)
    watch.note_memory()
    rate = X_test.shape[0] / least(lambda: model.predict_proba(X_test))
    return {END: _objective(model, X, y), "iterations": int(np.max(model.n_iter_)), RATE: rate}


def _objective(model: Any, X: Any, y: list[str]) -> float:
    """Sum of losses and penalty / C, computed in the same way for all."""
    import numpy as np
    import scipy.sparse as sp

    log_p = model.predict_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    coef = model.coef_.data if sp.issparse(model.coef_) else model.coef_
    return -float(np.sum(log_p)) + float(np.sum(np.square(coef))) / (2 * C)


def finish(runs: Runs) -> None:
    lowest = min(
        (run.figures[END] for several in runs.values() for run in several), default=math.nan
    )
    for several in runs.values():
        for run in several:
            run.figures[EXCESS] = 100 * (run.figures[END] / lowest - 1)


def _benchmark(task: str, title: str) -> Benchmark:
    names = ("auto", "lbfgs", "LogisticRegression")
    return Benchmark(
        title,
        {name: partial(fit, task, name) for name in names},
        no_goals,
        task,
        finish=finish,
        beside="scikit-learn: LogisticRegression",
    )


BENCHMARKS = {
    "logistic-dense": _benchmark(
        "letters", "Time of fits on single tokens, dense: letters, 128 pixels, 26 classes"
    ),
    "logistic-sparse": _benchmark(
        "upos",
        f"Time of fits on single tokens, sparse: words of {N_SENTENCES:,} sentences, 17 classes",
    ),
}
