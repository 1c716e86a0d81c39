"""Multilabel sets: `MultiLabelCRF` beside scikit-learn's chains of classifiers.

Scene (Boutell et al. 2004) and yeast (Elisseeff and Weston, NIPS 2001) have the splits of the Mulan
collection; two more sets are made by `make_multilabel_classification`. C is chosen in five
folds of the training rows, by subset accuracy less Hamming loss, as both scores count. The chain of
the table has scikit-learn's defaults; beside it stands one whose C is chosen in the same way. One
prediction gives both scores.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from lib.goals import Goal
from lib.r_packages import yeast
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source

from papers.field_corpora import in_data_home

OURS = "MultiLabelCRF"
CHAIN = "chain of defaults"
SCENE = "scene"
SUBSET = "subset accuracy"
OTHERS = ("5 labels, made", "10 labels, made", "yeast")
CS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# the 16,384 sets of yeast's 14 labels take minutes
FEWER_CS = (0.3, 1.0)


class Labelled(NamedTuple):
    """Rows and their labels, to learn from and to test on."""

    X: Any
    Y: Any
    X_test: Any
    Y_test: Any


def _scene() -> Labelled:
    import numpy as np

    file = np.load(in_data_home("scene", "scene.npz"), allow_pickle=True)
    parts = (file[name] for name in ("X_train", "Y_train", "X_test", "Y_test"))
    X, Y, X_test, Y_test = parts
    return Labelled(X.astype(float), Y.astype(int), X_test.astype(float), Y_test.astype(int))


def _made(n: int, **settings: int) -> Labelled:
    from sklearn.datasets import make_multilabel_classification

    X, Y = make_multilabel_classification(n_samples=2 * n, **settings)
    return Labelled(X[:n], Y[:n], X[n:], Y[n:])


SETS: dict[str, Callable[[], Any]] = {
    SCENE: _scene,
    OTHERS[0]: partial(_made, 1000, n_features=20, n_classes=5, n_labels=2, random_state=1),
    OTHERS[1]: partial(_made, 1500, n_features=60, n_classes=10, n_labels=3, random_state=2),
    OTHERS[2]: yeast,
}


def _figures(name: str, data: Labelled, model: Any) -> dict[str, float]:
    """Both scores of one prediction, and CPU seconds of all that was fitted."""
    import numpy as np

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data.X, data.Y)
    seconds = time.process_time() - start
    right = np.asarray(model.predict(data.X_test)) == data.Y_test
    chosen = getattr(model, "best_params_", {})
    return {
        f"{name}, Hamming loss": 1.0 - float(right.mean()),
        f"{name}, subset accuracy": float(right.all(axis=1).mean()),
        f"{name}, fit, CPU s": seconds,
        **{f"{name}, C": value for value in chosen.values()},
    }


def _search(model: Any, name: str, Cs: tuple[float, ...]) -> Any:
    from sklearn.model_selection import GridSearchCV, KFold

    folds = KFold(5, shuffle=True, random_state=0)
    return GridSearchCV(model, {name: Cs}, scoring=_both_scores, cv=folds)


def _both_scores(model: Any, X: Any, Y: Any) -> float:
    right = model.predict(X) == Y
    return float(right.all(axis=1).mean() - (1.0 - right.mean()))


def _contest(make: Callable[[str, bool], Any], watch: Stopwatch) -> dict[str, float]:
    figures: dict[str, float] = {}
    for name, load in SETS.items():
        data = Labelled(*load())
        if watch.quick:
            data = data._replace(X=data.X[::4], Y=data.Y[::4])
        figures |= _figures(name, data, make(name, watch.quick))
    return figures


def _crf(name: str, quick: bool) -> Any:
    from sklearn_struct import MultiLabelCRF

    crf = MultiLabelCRF(decoder="balanced", tol=1e-3)
    if name == OTHERS[2]:
        return _search(crf, "C", FEWER_CS[:1] if quick else FEWER_CS)
    return _search(crf, "C", CS)


def _chain(name: str, quick: bool) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multioutput import ClassifierChain

    return ClassifierChain(LogisticRegression())


def _tuned_chain(name: str, quick: bool) -> Any:
    return _search(_chain(name, quick), "estimator__C", (0.01, 0.1, 1.0, 10.0, 100.0))


def _vectors() -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return make_pipeline(StandardScaler(), SVC(C=5))


def _by_classifier(make: Callable[[], Any], watch: Stopwatch) -> dict[str, float]:
    data = _scene()
    if watch.quick:
        data = data._replace(X=data.X[::4], Y=data.Y[::4])
    return _figures(SCENE, data, make())


def _crf_of_vectors() -> Any:
    from sklearn_struct import MultiLabelCRF

    crf = MultiLabelCRF(estimator=_vectors(), decoder="balanced", tol=1e-3)
    return _search(crf, "C", (0.1, 1.0, 10.0))


def _chain_of_vectors() -> Any:
    from sklearn.multioutput import ClassifierChain

    return ClassifierChain(_vectors())


def _independent_vectors() -> Any:
    from sklearn.multioutput import MultiOutputClassifier

    return MultiOutputClassifier(_vectors())


def _scene_goals(
    medians: Medians, what: str, hamming: tuple[float, float], subset: tuple[float, float]
) -> list[Goal]:
    figure = partial(medians.figure, OURS)
    return [
        Goal(f"{what}, Hamming loss", figure(f"{SCENE}, Hamming loss"), *hamming, at_most=True),
        Goal(f"{what}, subset accuracy", figure(f"{SCENE}, subset accuracy"), *subset),
    ]


def goals(medians: Medians) -> list[Goal]:
    better = [_is_better(medians, name) for name in OTHERS]
    known = [is_better for is_better in better if is_better is not None]
    n = float(sum(known)) if len(known) == len(OTHERS) else None
    return [
        *_scene_goals(medians, "scene, features", (0.097, 0.100), (0.660, 0.648)),
        Goal("other sets on which both scores beat the chain's", n, 3, 2),
    ]


def _is_better(medians: Medians, name: str) -> bool | None:
    """Whether our scores of a set are both better than the chain's."""
    ours = [medians.figure(OURS, f"{name}, {score}") for score in ("Hamming loss", SUBSET)]
    theirs = [medians.figure(CHAIN, f"{name}, {score}") for score in ("Hamming loss", SUBSET)]
    if None in ours or None in theirs:
        return None
    return ours[0] < theirs[0] and ours[1] > theirs[1]


GHAMRAWI = Source("ghamrawi-2005", "pairs of labels")
BENCHMARKS = {
    "multilabel-features": Benchmark(
        "Several labels of a row, from its features",
        {
            CHAIN: partial(_contest, _chain),
            "chain, C chosen": partial(_contest, _tuned_chain),
            OURS: partial(_contest, _crf),
        },
        goals,
        beside="scikit-learn's ClassifierChain",
        papers=(GHAMRAWI,),
    ),
    "multilabel-values": Benchmark(
        "Several labels of a row, from what a support vector machine says of each",
        {
            "each label alone": partial(_by_classifier, _independent_vectors),
            "chain of them": partial(_by_classifier, _chain_of_vectors),
            OURS: partial(_by_classifier, _crf_of_vectors),
        },
        lambda medians: _scene_goals(
            medians, "scene, decision values", (0.082, 0.0845), (0.680, 0.668)
        ),
        beside="scikit-learn's ClassifierChain",
        papers=(GHAMRAWI,),
    ),
}
