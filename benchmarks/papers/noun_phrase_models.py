"""The noun-phrase experiment of Smith, Vail and Lafferty (ACL 2007): its data, features and models,
the choice of C.

As in the paper, the first occurrence of each word and of each tag is out of vocabulary, for all
models alike, and C is what gives the best F1 on held-out sentences. The fit that is timed has 100
iterations of L-BFGS from zero; M-estimation, unless it says L-BFGS, at most 100 passes of dual
coordinate ascent. Candidates of C are compared on the way from strong to weak penalties, each fit
starting from the one before, to save time.
"""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from lib.fitting import load_kernels
from lib.side_by_side import Stopwatch
from lib.tasks import Sentence, read

TASK = "noun-phrases"
UNKNOWN = "<unk>"
HELD_OUT = 900
HMM_FEATURES = "HMM features"
EXTENDED = "extended features"
TEMPLATES: dict[str, Any] = {HMM_FEATURES: ["w:%x[0,0]", "pos:%x[0,1]"], EXTENDED: "sha-pereira"}
LABEL_PAIRS = {
    HMM_FEATURES: None,
    EXTENDED: "all",
}  # the features that two labels in a row are paired with
GRID = tuple(10 ** (k / 3) for k in range(-3, 4))
ITERATIONS = 100
PATH_ITERATIONS = 25


class Part(NamedTuple):
    """Sentences, as rows or packed, and their labels."""

    X: Any
    y: list[list[str]]


Parts = dict[str, Part]  # "train", "tune", "test"


class Model(NamedTuple):
    """``make(features, C, max_iter)`` gives an estimator, which reads packed features or else rows.

    With `path`, candidates of C are compared by warm starts; without, each by a fit of its own.
    """

    make: Callable[[str, float, int], Any]
    grid: tuple[float, ...] = (*GRID, math.inf)
    packed: bool = True
    path: bool = True


class Point(NamedTuple):
    """One fit: precision, recall, F1 in percent; weights 0 where the model does not count them."""

    C: float
    seconds: float
    tune: tuple[float, float, float]
    test: tuple[float, float, float]
    weights: int


def _chain(kind: str, **options: Any) -> Model:
    def make(features: str, C: float, max_iter: int) -> Any:
        import sklearn_struct

        pairs = {"edge_features": LABEL_PAIRS[features]}
        return getattr(sklearn_struct, kind)(
            C=C, solver="lbfgs", tol=0.0, max_iter=max_iter, **(pairs | options)
        )

    return Model(make)


def hidden(order: int) -> Any:
    from sklearn_struct import HMM

    return HMM(order=order, oov=None)  # the data have their own `UNKNOWN`


def m_estimated(base: Any = None, wide: bool = False, **options: Any) -> Model:
    """Everything that these benchmarks ask of `MEstimatedCRF`; the base is the HMM of order 2
    unless told.
    """

    def make(features: str, C: float, max_iter: int) -> Any:
        from sklearn_struct import MEstimatedCRF

        wanted = {
            "edge_features": LABEL_PAIRS[features],
            "solver": "sdca",
            "max_iter": max_iter,
            "random_state": 0,
        }
        return MEstimatedCRF(TEMPLATES[features], base=base or hidden(2), C=C, **(wanted | options))

    # without a penalty the loss is unbounded: some of the expected features are never seen
    return Model(
        make, (*GRID, *(10 * c for c in GRID[4:])) if wide else GRID, packed=False, path=False
    )


def _hidden_model(order: int) -> Model:
    return Model(lambda features, C, max_iter: hidden(order), (1.0,), packed=False, path=False)


HMM_2 = "HMM, order 2"
M_ESTIMATED = "M-est."
M_BY_LBFGS = "M-est., L-BFGS"
M_SINGLE = "M-est., single labels"
MODELS = {
    "HMM": _hidden_model(1),
    HMM_2: _hidden_model(2),
    "CRF": _chain("LinearChainCRF"),
    "CRF, order 2": _chain("LinearChainCRF", order=2),
    "CRF, single labels": _chain("LinearChainCRF", edge_features=None),
    "CRF, order 2, single labels": _chain("LinearChainCRF", order=2, edge_features=None),
    "PL": _chain("PseudoLikelihoodCRF"),
    "MEMM": _chain("MEMM"),
    "MEMM, order 2": _chain("MEMM", order=2),
    M_ESTIMATED: m_estimated(),
    M_BY_LBFGS: m_estimated(solver="lbfgs"),
    M_SINGLE: m_estimated(edge_features=None),
    "M-est., input features": m_estimated(edge_features=None, input_features=True),
}


def parts(watch: Stopwatch, n: int | None = None) -> Parts:
    """Rows of the first n training sentences, of those held out and of the test set, with `UNKNOWN`
    in place.
    """
    (X, y), (X_test, y_test) = (read(TASK, split, watch) for split in ("train", "test"))
    n_held = min(HELD_OUT, max(len(X) // 9, 1))  # fewer of little data
    cut = len(X) - n_held
    train, *others = with_unknown(X[:cut][:n], X[cut:], X_test)
    return {
        "train": Part(train, y[:cut][:n]),
        "tune": Part(others[0], y[cut:]),
        "test": Part(others[1], y_test),
    }


def with_unknown(train: list[Sentence], *others: list[Sentence]) -> list[list[Sentence]]:
    """`UNKNOWN` in place of each value's first occurrence in `train`, and of values elsewhere that
    have no second.
    """
    seen: set[tuple[int, str]] = set()  # column and value
    known: set[tuple[int, str]] = set()

    def replaced(sentence: Sentence, among: set[tuple[int, str]]) -> Sentence:
        return [
            tuple(cell[1] if cell in among else UNKNOWN for cell in enumerate(token))
            for token in sentence
        ]

    learnt = []
    for sentence in train:
        learnt.append([])
        for token in sentence:
            learnt[-1] += replaced([token], seen)
            known.update(cell for cell in enumerate(token) if cell in seen)
            seen.update(enumerate(token))
    return [
        learnt,
        *([replaced(sentence, known) for sentence in sentences] for sentences in others),
    ]


def packed(features: str, rows: Parts) -> Parts:
    """The features that the training part has, in all parts."""
    from sklearn_struct import FeatureTemplates

    templates = FeatureTemplates(TEMPLATES[features]).fit(rows["train"].X)
    return {name: Part(templates.transform(part.X), part.y) for name, part in rows.items()}


def scores(y: list[list[str]], predicted: Any) -> tuple[float, float, float]:
    """Precision, recall and F1 of noun phrases in percent."""
    from sklearn_struct.metrics import span_precision_recall_fscore_support

    precision, recall, f1, _ = span_precision_recall_fscore_support(y, predicted)
    return 100 * precision, 100 * recall, 100 * f1


def fit_once(model: Model, features: str, C: float, data: Parts) -> Point:
    """A fit on the training part, timed in CPU seconds; expectations of a base model are part of
    it.
    """
    estimator = model.make(features, C, ITERATIONS)
    load_kernels(estimator, data["train"].X[:50], data["train"].y[:50])
    start = time.process_time()
    estimator.fit(*data["train"])
    seconds = time.process_time() - start
    weights = len(vars(estimator).get("_w", ()))
    tune, test = (
        scores(data[name].y, estimator.predict(data[name].X)) for name in ("tune", "test")
    )
    return Point(C, seconds, tune, test, weights)


def best_on_path(model: Model, features: str, data: Parts) -> float:
    """The C of the best held-out F1, from strong to weak penalties with warm starts."""
    estimator = model.make(features, model.grid[0], PATH_ITERATIONS).set_params(warm_start=True)
    (X, y) = data["tune"]
    f1 = {}
    for C in model.grid:
        f1[C] = scores(y, estimator.set_params(C=C).fit(*data["train"]).predict(X))[2]
    return max(f1, key=f1.__getitem__)


def fits(model: Model, features: str, data: Parts) -> list[Point]:
    """A fit with each candidate of C, or with the best one alone if there is a path to it."""
    candidates = (best_on_path(model, features, data),) if model.path else model.grid
    return [fit_once(model, features, C, data) for C in candidates]


def chosen(points: list[Point], by: int = 2) -> Point:
    """The best on held-out sentences by precision (0), recall or F1 (2)."""
    return max(points, key=lambda point: point.tune[by])


def readable(features: str, model: Model, rows: Parts) -> Parts:
    """What the model reads: packed features, or rows."""
    return packed(features, rows) if model.packed else rows


def best_fit(name: str, features: str, watch: Stopwatch, n: int | None = None) -> Point:
    """The fit of a model with its best C on n sentences, unless another benchmark of this call has
    done it.
    """
    path = watch.scratch / f"np-{name}-{features}-{n}.json"
    if not path.exists():
        warnings.simplefilter("ignore")  # 100 iterations are seldom enough to converge
        model = MODELS[name]
        data = readable(features, model, parts(watch, n))
        path.write_text(json.dumps(chosen(fits(model, features, data))))
    return Point(*json.loads(path.read_text()))
