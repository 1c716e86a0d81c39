"""What benchmarks of fits share: kernels that are loaded before the clock starts, scores
afterwards.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

F1 = "test span F1"
FIT = "fit, CPU s"


def load_kernels(model: Any, X: Any, y: Any, **options: Any) -> None:
    """Fit and predict a little, so that compiling or loading kernels is not counted."""
    from sklearn.base import clone

    clone(model).set_params(**options).fit(X, y).predict(X[:5])


def fit_seconds(model: Any, X: Any, y: Any) -> float:
    """CPU seconds of a fit; a fit of a few examples loads the kernels first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:5], y[:5])
        start = time.process_time()
        model.fit(X, y)
        return time.process_time() - start


def scores(task: str, y: Any, predicted: Any) -> dict[str, float]:
    from sklearn_struct.metrics import span_f1_score, token_accuracy_score

    accuracy = {"test token accuracy": token_accuracy_score(y, predicted)}
    return accuracy | ({F1: span_f1_score(y, predicted)} if task == "chunking" else {})
