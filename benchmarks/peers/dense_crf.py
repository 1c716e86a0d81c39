"""Images by a grid with contrast, and by fully connected CRFs (P. Kraehenbuehl and V. Koltun, NIPS
2011) of pydensecrf2 (``pip install pydensecrf2``).

The scenes are those of the example `plot_image_segmentation`: the scores are those of a classifier
of noisy heat images, the colours those of photographs. Both models are chosen on the same six
scenes: pydensecrf2 has no fit, so its five numbers come from a grid of 750, by accuracy.
"""

from __future__ import annotations

import runpy
import sys
import time
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from lib.goals import no_goals
from lib.side_by_side import Benchmark, Stopwatch

EXAMPLE = Path(__file__).parents[2] / "examples" / "plot_image_segmentation.py"
CHOSEN = slice(10, 16)
TESTED = slice(20, 40)
ACCURACY = "pixels right"
IOU = "mean IoU"
PREDICT = "predict, CPU ms an image"
# weight and width of the smooth kernel; weight, width in pixels and in colours of the other one
NUMBERS = ((0, 1, 3), (1, 2), (1, 2, 3, 6, 10), (2, 3, 5, 10, 20), (10, 15, 20, 30, 40))
SWEEPS = 10


def scenes() -> tuple[Any, Any, Any]:
    """Labels, photographs and scores, as the example makes them."""
    import matplotlib as mpl

    mpl.use("Agg")
    made = runpy.run_path(str(EXAMPLE))
    return made["y"], made["photographs"], made["scores"]


def measured(predict: Any, y: Any) -> dict[str, float]:
    """Accuracy and time on the scenes to test on."""
    import numpy as np

    from sklearn_struct.metrics import mean_iou_score

    start = time.process_time()
    predicted = np.array(list(predict()))
    seconds = time.process_time() - start
    truth = y[TESTED]
    return {
        ACCURACY: float(np.mean(predicted == truth)),
        IOU: mean_iou_score(list(truth), list(predicted)),
        PREDICT: 1000 * seconds / len(truth),
    }


def by_grid(neighbours: int, watch: Stopwatch) -> dict[str, float]:
    from sklearn_struct import GridCRF

    y, photographs, scores = scenes()
    X = list(zip(scores, photographs, strict=True))
    crf = GridCRF(unary="scores", pairwise="contrast", neighbours=neighbours, loss="piecewise")
    start = time.process_time()
    crf.fit(X[CHOSEN], list(y[CHOSEN]))
    seconds = time.process_time() - start
    crf.predict(X[:1])
    return {"fit, CPU s": seconds} | measured(lambda: crf.predict(X[TESTED]), y)


def by_dense(watch: Stopwatch) -> dict[str, float]:
    import numpy as np

    if find_spec("pydensecrf") is None:
        print("pydensecrf2 does not race: pip install pydensecrf2", file=sys.stderr, flush=True)
        return {}
    y, photographs, scores = scenes()
    start = time.process_time()
    right = {
        numbers: np.mean(
            [
                np.mean(labels_of(scores[i], photographs[i], numbers) == y[i])
                for i in range(CHOSEN.start, CHOSEN.stop)
            ]
        )
        for numbers in list(product(*NUMBERS))[: 4 if watch.quick else None]
    }
    seconds = time.process_time() - start
    best = max(right, key=lambda numbers: right[numbers])
    tested = range(TESTED.start, TESTED.stop)
    return {"fit, CPU s": seconds} | measured(
        lambda: [labels_of(scores[i], photographs[i], best) for i in tested], y
    )


def labels_of(scores: Any, photograph: Any, numbers: Any) -> Any:
    """The labels of one image by mean field."""
    import numpy as np
    from pydensecrf.densecrf import DenseCRF2D

    weight, width, of_colours, far, colours = numbers
    height, breadth, n_labels = scores.shape
    crf = DenseCRF2D(breadth, height, n_labels)
    energies = -scores.reshape(-1, n_labels).T.astype(np.float32)
    crf.setUnaryEnergy(np.ascontiguousarray(energies))
    if weight:
        crf.addPairwiseGaussian(sxy=width, compat=weight)
    picture = np.ascontiguousarray((255 * photograph).astype(np.uint8))
    crf.addPairwiseBilateral(sxy=far, srgb=colours, rgbim=picture, compat=of_colours)
    return np.argmax(np.array(crf.inference(SWEEPS)), axis=0).reshape(height, breadth)


BENCHMARKS = {
    "dense-crf": Benchmark(
        "Images by grids with contrast and by fully connected CRFs",
        {f"{n} neighbours": partial(by_grid, n) for n in (4, 8)} | {"fully connected": by_dense},
        no_goals,
        beside="pydensecrf2",
    ),
}
