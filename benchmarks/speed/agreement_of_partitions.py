"""Whether fits on partitions are those on all data, and by how much they differ.

Data are the first sentences of CoNLL-2000, in 1, 3 and 8 partitions.
"""

from __future__ import annotations

import warnings
from itertools import chain, pairwise
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.tasks import corpus

from speed.partitions import model, objective_of

N_SENTENCES = 1000
N_PARTS = (1, 3, 8)
VOCABULARY = "partitions with another vocabulary, classes or pattern"
VALUE = "value, relative"
GRADIENT = "gradient, of its largest entry"
PRODUCT = "Hessian product, of its largest entry"
LOSS = "loss at tol=1e-6, relative"
HIDDEN = "HMM: likelihood of each of 20 iterations of EM, relative"
LABELLED = "GECRF: value and gradient, relative"
BASED = "MEstimatedCRF: value and gradient, relative"


def cut(n: int, X: list[Any], y: list[Any]) -> Any:
    """The data in n partitions in memory."""
    import numpy as np

    from sklearn_struct.distributed.shards import InMemory

    bounds = np.linspace(0, len(X), n + 1).astype(int).tolist()
    return InMemory([(X[lo:hi], y[lo:hi]) for lo, hi in pairwise(bounds)])


def away(one: Any, other: Any) -> float:
    """By what share of the largest entry arrays differ."""
    import numpy as np

    return float(np.max(np.abs(one - other)) / np.max(np.abs(other)))


def of_objectives(objectives: list[Any], figures: dict[str, Any], names: tuple[str, ...]) -> None:
    """Compare values, gradients, and products if they have a name, with those of the first: of one
    partition, which has the bits of a fit in one place.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    w, v = rng.normal(scale=0.1, size=(2, objectives[0].size))
    value, grad = objectives[0].value_and_grad(w)
    product = objectives[0].hess_vec(w, v) if len(names) > 2 else None
    for objective in objectives[1:]:
        one, slope = objective.value_and_grad(w)
        _worse(figures, names[0], abs(one / value - 1))
        _worse(figures, names[1], away(slope, grad))
        if product is not None:
            _worse(figures, names[2], away(objective.hess_vec(w, v), product))


def _worse(figures: dict[str, Any], name: str, difference: float) -> None:
    figures[name] = max(figures.get(name, 0.0), difference)


def chains(watch: Stopwatch) -> dict[str, float]:
    """Linear chains: what is learned of features, an evaluation, a fit."""
    import numpy as np

    from sklearn_struct.distributed import fit_partitions

    X, y, _, _ = corpus(watch, "columns")
    X = X[:N_SENTENCES]
    y = y[:N_SENTENCES]
    figures: dict[str, Any] = {VOCABULARY: 0}
    whole = model(tol=1e-6, max_iter=1000).fit(X, y)
    names = whole[0].get_feature_names_out()
    for n in N_PARTS:
        fitted = fit_partitions(model(tol=1e-6, max_iter=1000), cut(n, X, y))
        same = np.array_equal(fitted[0].get_feature_names_out(), names)
        same &= np.array_equal(fitted[-1].classes_, whole[-1].classes_)
        same &= fitted[-1].coef_.shape == whole[-1].coef_.shape
        same &= fitted[-1]._w.shape == whole[-1]._w.shape
        figures[VOCABULARY] += not same
        _worse(figures, LOSS, abs(fitted[-1].loss_curve_[-1] / whole[-1].loss_curve_[-1] - 1))
    of_objectives(
        [objective_of(cut(n, X, y)) for n in N_PARTS], figures, (VALUE, GRADIENT, PRODUCT)
    )
    return figures


def others(watch: Stopwatch) -> dict[str, float]:
    """EM, labelled features, and a model over a base."""
    import numpy as np
    from sklearn.base import clone

    from sklearn_struct import GECRF, HMM, MEstimatedCRF
    from sklearn_struct.distributed import fit_partitions
    from sklearn_struct.distributed.based_fitting import pose_based
    from sklearn_struct.distributed.fitting import pose

    warnings.simplefilter("ignore")
    X, y, _, _ = corpus(watch, "columns")
    X = X[:N_SENTENCES]
    y = y[:N_SENTENCES]
    tags = [[token[1] for token in x] for x in X]
    figures: dict[str, Any] = {}
    hidden = HMM(n_states=10, max_iter=20, random_state=0)
    expected = np.array(clone(hidden).fit(tags).loss_curve_)
    unknown = [[None] * len(x) for x in tags]
    for n in N_PARTS:
        curve = np.array(fit_partitions(hidden, cut(n, tags, unknown)).loss_curve_)
        _worse(figures, HIDDEN, float(np.max(np.abs(curve / expected - 1))))
    labelled = GECRF({"DT": "B-NP", "VBD": "B-VP", "IN": "B-PP"}, classes=sorted({*chain(*y)}))
    half = [labels if i % 2 else None for i, labels in enumerate(y)]
    posed = [pose(clone(labelled), None, cut(n, tags, half)).objective for n in N_PARTS]
    of_objectives(posed, figures, (LABELLED, LABELLED))
    based = MEstimatedCRF(["t:%x[0,0]", "b:%x[-1,0]/%x[0,0]"])
    tilted = [pose_based(clone(based), cut(n, tags, y), fit_partitions)[0] for n in N_PARTS]
    of_objectives(tilted, figures, (BASED, BASED))
    return figures


def goals(medians: Medians) -> list[Goal]:
    return [
        Goal(f"partitions: {VOCABULARY}", medians.figure("chains", VOCABULARY), 0, 0, True),
        *(
            Goal(f"partitions: {name}", medians.figure(case, name), goal, least, True)
            for case, name, goal, least in (
                ("chains", VALUE, 1e-14, 1e-12),
                ("chains", GRADIENT, 1e-14, 1e-12),
                ("chains", PRODUCT, 1e-14, 1e-12),
                ("chains", LOSS, 1e-10, 1e-8),
                ("others", HIDDEN, 1e-12, 1e-12),
                ("others", LABELLED, 1e-14, 1e-12),
                ("others", BASED, 1e-14, 1e-12),
            )
        ),
    ]


BENCHMARKS = {
    "partitions-agreement": Benchmark(
        f"Fits of {N_SENTENCES} sentences on 1, 3 and 8 partitions and on all data: differences",
        {"chains": chains, "others": others},
        goals,
        task="chunking",
    ),
}
