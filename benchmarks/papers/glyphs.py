"""Handwritten letters of 16 x 8 pixels, of which one in ten is flipped, and the true pixels.

A graph is a letter, its nodes are pixels with edges to the four around. What the models see of a
node are the noisy pixels of a window around it, and maybe the products of all pairs of these; of an
edge its direction. Window and penalty were chosen on a part of the training letters, as the first
contestants do again.
"""

from __future__ import annotations

import gzip
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

from lib.fitting import FIT, fit_seconds
from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source

from papers.field_corpora import in_data_home

SEED = 0
N_TRAIN = 500
N_TEST = 1000
NOISE = 0.1
HEIGHT = 16
WIDTH = 8
NODES = "accuracy of pixels"
LABELLINGS = "accuracy of labellings"


class Glyphs(NamedTuple):
    """Noisy letters (n, 16, 8) of zeros and ones, and the true ones."""

    noisy: Any
    clean: Any


def glyphs() -> tuple[Glyphs, Glyphs]:
    """Letters to learn from, and others to test on."""
    import numpy as np

    text = gzip.decompress(in_data_home("letters", "letter.data.gz").read_bytes()).decode()
    pixels = np.array([line.split()[6:] for line in text.splitlines()], np.int8)
    rng = np.random.default_rng(SEED)
    clean = pixels[rng.permutation(len(pixels))[: N_TRAIN + N_TEST]].reshape(-1, HEIGHT, WIDTH)
    noisy = clean ^ (rng.random(clean.shape) < NOISE)
    return Glyphs(noisy[:N_TRAIN], clean[:N_TRAIN]), Glyphs(noisy[N_TRAIN:], clean[N_TRAIN:])


def window_features(image: Any, radius: int, products: bool) -> Any:
    """The pixels around each one as -1 and 1, 0 beyond the border, and products of their pairs."""
    import numpy as np

    size = 2 * radius + 1
    padded = np.pad(2.0 * image - 1.0, radius)
    columns = [
        padded[i : i + HEIGHT, j : j + WIDTH].ravel() for i in range(size) for j in range(size)
    ]
    if products:
        columns += [a * b for a, b in combinations(columns, 2)]
    return np.column_stack(columns)


def grid_edges() -> tuple[Any, Any]:
    """Edges between neighbours, and which of the two directions each has."""
    import numpy as np

    number = np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH)
    across = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    down = np.column_stack([number[:-1].ravel(), number[1:].ravel()])
    is_across = np.arange(len(across) + len(down)) < len(across)
    return np.concatenate([across, down]), np.column_stack([is_across, ~is_across]).astype(float)


def graphs(part: Glyphs, radius: int, products: bool) -> tuple[list[Any], list[Any]]:
    edges, directions = grid_edges()
    X = [(window_features(image, radius, products), edges, directions) for image in part.noisy]
    return X, [image.ravel() for image in part.clean]


PENALTY = 0.01  # chosen, as the window is, on a part of the training letters


def fit_glyphs(
    settings: dict[str, Any],
    watch: Stopwatch,
    radius: int = 2,
    products: bool = True,
    validate: bool = False,
) -> dict[str, float]:
    """With `validate`, of three fifths of the training letters on the others."""
    import numpy as np

    from sklearn_struct import GraphCRF

    train, test = glyphs()
    if validate:
        n = 3 * N_TRAIN // 5
        test = Glyphs(*(part[n:] for part in train))
        train = Glyphs(*(part[:n] for part in train))
    if watch.quick:
        train = Glyphs(*(part[:50] for part in train))
        test = Glyphs(*(part[:100] for part in test))
    X, y = graphs(train, radius, products)
    X_test, y_test = graphs(test, radius, products)
    crf = GraphCRF(**({"tol": 1e-3, "random_state": 0, "C": PENALTY} | settings))
    seconds = fit_seconds(crf, X, y)
    by_nodes = np.concatenate([p.argmax(axis=1) for p in crf.predict_proba(X_test)])
    truth = np.concatenate(y_test)
    return {
        NODES: float(np.mean(by_nodes == truth)),
        LABELLINGS: float(np.mean(np.concatenate(list(crf.predict(X_test))) == truth)),
        FIT: seconds,
        "noisy input": float(np.mean(test.noisy == test.clean)),
        "letters to learn from": len(X),
        "letters to test on": len(X_test),
        "seed": SEED,
    }


def goals(medians: Medians) -> list[Goal]:
    reached = [
        medians.figure(name, accuracy)
        for name in ("exact", "BP", "TRW")
        for accuracy in (NODES, LABELLINGS)
    ]
    best = max((figure for figure in reached if figure is not None), default=None)
    return [Goal("accuracy, glyphs with 10 % flipped", best, 0.940, 0.932)]


# figures by which window and penalty were chosen
CHOICES = {
    f"chosen from: {2 * radius + 1} x {2 * radius + 1}{', products' * products}, C={C:g}": partial(
        fit_glyphs,
        {"C": C, "inference": "bp", "inference_tol": 1e-4},
        radius=radius,
        products=products,
        validate=True,
    )
    for radius, products, C in (
        (1, False, 1.0),
        (2, False, 1.0),
        (1, True, 0.01),
        (2, True, 0.1),
        (2, True, 0.01),
        (2, True, 0.001),
    )
}

BENCHMARKS = {
    "graph-glyphs": Benchmark(
        "Restoring images of letters in which one pixel in ten is flipped",
        {
            "exact": partial(fit_glyphs, {"inference": "exact", "max_iter": 60}),
            "BP": partial(fit_glyphs, {"inference": "bp", "inference_tol": 1e-4}),
            "TRW": partial(fit_glyphs, {"inference": "trw", "inference_tol": 1e-4}),
            "pseudolikelihood": partial(fit_glyphs, {"loss": "pseudo"}),
        },
        goals,
        once=CHOICES,
        papers=(Source("sutton-2012", "approximate training"),),
    )
}
