"""Feature selection as Smith, Vail and Lafferty suggest (section 6): quick M-estimates choose the
features of a slower model.

All features of noun phrases (Sha and Pereira's, of single labels) are ranked by the weights of a
`MEstimatedCRF`, scikit-learn's ``SelectFromModel`` keeps the largest, and `LinearChainCRF` learns
from these alone. Its rival is a `LinearChainCRF` with an L1 penalty, which selects by itself; for
each of its penalties the others keep as many features. The control keeps the most frequent ones.
Seconds are of everything from packed features, or rows, to the fitted model. One run gave

    features    L1                M-est., CRF       frequent, CRF
    1,427       93.2 in 33 s      91.8 in 14 s      91.8 in 12 s
    4,327       93.8 in 21 s      92.8 in 16 s      93.1 in 12 s
    9,525       93.9 in 24 s      93.0 in 17 s      93.6 in 14 s
    226,059     without selection and L1 penalty: 93.9 in 15 s

so M-estimates are quick to select (3 s) and do not select well: counts are as good or better.
Weights times the root of a feature's count choose no better (92.9 of 4,327).

M-estimation as the M-step of expectation maximisation, which the paper mentions as well, was
measured once, too: 4,000 sentences of which 100 (400) have labels, the labels of all others drawn
from the model before each of three rounds. F1 falls from 83.4 (87.0) of the labelled sentences
alone to 82.6, 81.5 and 80.9 (85.1, 83.8 and 83.4). EM of the hidden Markov model of order 2 loses
as well, from 81.3 (85.1) to 80.3 (82.7). So the package has neither.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from lib.fitting import load_kernels
from lib.goals import no_goals
from lib.side_by_side import Benchmark, Stopwatch
from lib.sources import Source

from papers.noun_phrase_models import EXTENDED, TEMPLATES, Parts, hidden, packed, parts, scores

STRENGTHS = (3.0, 1.0, 0.3, 0.1)  # C of L1
L2 = 2.0
SETTINGS: dict[str, Any] = {"edge_features": None, "max_iter": 300}
M_SETTINGS: dict[str, Any] = {"C": 2.0, "solver": "sdca", "random_state": 0}


def by_l1(C: float, watch: Stopwatch) -> dict[str, float]:
    """A chain with an L1 penalty; how many features it keeps is left for the others to read."""
    import numpy as np

    from sklearn_struct import LinearChainCRF

    warnings.simplefilter("ignore")
    data = packed(EXTENDED, parts(watch))
    crf = LinearChainCRF(C=C, l1_ratio=1.0, solver="owlqn", **SETTINGS)
    seconds = _fit(crf, *data["train"])
    weights = np.abs(crf.coef_).sum(axis=0)
    kept = int(np.count_nonzero(np.asarray(weights).ravel()))
    _sizes(watch, C).write_text(json.dumps(kept))
    return _figures(crf, data, seconds, kept)


def by_weights(C: float, watch: Stopwatch) -> dict[str, float]:
    """A chain of the features to which M-estimation gives the largest weights."""
    from sklearn.feature_selection import SelectFromModel

    from sklearn_struct import MEstimatedCRF

    warnings.simplefilter("ignore")
    kept = json.loads(_sizes(watch, C).read_text())
    rows = parts(watch)
    estimator = MEstimatedCRF(TEMPLATES[EXTENDED], base=hidden(2), **M_SETTINGS)
    load_kernels(estimator, rows["train"].X[:50], rows["train"].y[:50])
    start = time.process_time()
    estimator.fit(*rows["train"])
    selector = SelectFromModel(
        estimator,
        prefit=True,
        max_features=kept,
        threshold=-float("inf"),
        importance_getter=size_of_weights,
    )
    chosen = selector.get_support(indices=True)
    seconds = time.process_time() - start
    data = {
        name: part._replace(X=estimator.features_.transform(part.X)) for name, part in rows.items()
    }
    figures = _second_fit(data, chosen, seconds)
    return figures | {"of these M-estimation, CPU s": seconds}


def by_frequency(C: float, watch: Stopwatch) -> dict[str, float]:
    """A chain of the most frequent features."""
    import numpy as np

    warnings.simplefilter("ignore")
    kept = json.loads(_sizes(watch, C).read_text())
    data = packed(EXTENDED, parts(watch))
    start = time.process_time()
    count = np.asarray(data["train"].X.tokens.sum(axis=0)).ravel()
    chosen = np.sort(np.argsort(-count, kind="stable")[:kept])
    return _second_fit(data, chosen, time.process_time() - start)


def everything(watch: Stopwatch) -> dict[str, float]:
    """A chain of all features."""
    import numpy as np

    warnings.simplefilter("ignore")
    data = packed(EXTENDED, parts(watch))
    return _second_fit(data, np.arange(data["train"].X.tokens.shape[1]), 0.0)


def size_of_weights(model: Any) -> Any:
    """The length of the weights of each feature, over all labels."""
    import numpy as np

    squares = model.coef_.multiply(model.coef_).sum(axis=0)
    return np.sqrt(np.asarray(squares).ravel())


def _second_fit(data: Parts, chosen: Any, seconds: float) -> dict[str, float]:
    from sklearn_struct import LinearChainCRF, SequenceArray

    few = {
        name: part._replace(X=SequenceArray(part.X.tokens[:, chosen], part.X.offsets))
        for name, part in data.items()
    }
    crf = LinearChainCRF(C=L2, solver="lbfgs", **SETTINGS)
    seconds += _fit(crf, *few["train"])
    return _figures(crf, few, seconds, len(chosen))


def _fit(crf: Any, X: Any, y: Any) -> float:
    """CPU seconds; a small fit loads the kernels first."""
    load_kernels(crf, X[:50], y[:50], max_iter=2)
    start = time.process_time()
    crf.fit(X, y)
    return time.process_time() - start


def _figures(crf: Any, data: Parts, seconds: float, kept: int) -> dict[str, float]:
    (X, y) = data["test"]
    held = data["tune"]
    return {
        "features": kept,
        "test F1": scores(y, crf.predict(X))[2],
        "F1, held out": scores(held.y, crf.predict(held.X))[2],
        "iterations": crf.n_iter_,
        "training, CPU s": seconds,
    }


def _sizes(watch: Stopwatch, C: float) -> Any:
    return watch.scratch / f"np-selection-{C:g}.json"


WAYS: dict[str, Callable[[float, Stopwatch], dict[str, float]]] = {
    "L1": by_l1,
    "M-est., CRF": by_weights,
    "frequent, CRF": by_frequency,
}
BENCHMARKS = {
    "np-selection": Benchmark(
        "F1 of noun phrases with few features, chosen by M-estimation or by an L1 penalty",
        {},
        no_goals,
        "noun-phrases",
        {"all": everything}
        | {f"{way}, {C:g}": partial(run, C) for C in STRENGTHS for way, run in WAYS.items()},
        papers=(Source("smith-2007", "section 6"),),
    )
}
