"""Labellings of large scores on grids with Potts's edges, by ours, gco's alpha-expansion and
toulbar2.

gco is Veksler's and Delong's C++ (``pip install gco-wrapper``), toulbar2 an exact solver with a
limit of time (``pip install pytoulbar2``); who is not installed does not race. Scores of nodes are
standard normal numbers, and edges add 1 where their labels are equal. "Ours" is what
`GraphCRF.predict` does with such scores. It need not stop where gco does, so a second time is that
of the fewest messages before moves, whose score is still at least that of gco.

The image is 500 x 375 with 21 labels, areas of random shapes. A classifier's scores are simulated:
normal numbers of deviation 1, and 2 more for the right label, so that 55 % of pixels have their
right label on top. Time and memory are those of `GridCRF.predict`, from scores to labels.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Any

from lib.goals import Goal
from lib.grids import edges_of_grid
from lib.side_by_side import Benchmark, Medians, Stopwatch, least

SIDES = {5: 100, 21: 100}
SMALL = 20
SMALL_LABELS = 5
LIMIT = 30  # seconds for the exact solver
OURS = "ours, CPU s"
OUR_SCORE = "our score"
QUICKER = "ours to gco's score, CPU s"
THEIRS = "gco, CPU s"
THEIR_SCORE = "gco's score"
EXACT = "toulbar2's score"
BELOW = "below it, %"
IMAGE = (375, 500, 21)
SECONDS = "predict, CPU s"
MEMORY = "memory beyond the data, MB"


def potts(height: int, width: int, n_labels: int) -> tuple[Any, Any]:
    """Potentials and structure of a grid."""
    import numpy as np

    from sklearn_struct.containers.structures import Family, Potentials, Structure

    edges = edges_of_grid(height, width)
    node = np.random.RandomState(0).randn(height * width, n_labels)
    structure = Structure(np.array([0, len(node)]), (Family(edges, np.array([0, len(edges)])),))
    return Potentials(node, (np.eye(n_labels).reshape(1, -1),)), structure


def score_of(potentials: Any, structure: Any, labels: Any) -> float:
    """Of one labelling."""
    import numpy as np

    first, second = labels[structure.families[0].nodes].T
    node = potentials.node[np.arange(len(labels)), labels].sum()
    return float(node + np.count_nonzero(first == second))


def against_gco(n_labels: int, watch: Stopwatch) -> dict[str, float]:
    """Ours and gco's, in one process, as the times are short."""
    import numpy as np

    from sklearn_struct.inference.graphs.decoded import decode

    side = 20 if watch.quick else SIDES[n_labels]
    potentials, structure = potts(side, side, n_labels)
    labels = np.zeros(side * side, np.int32)

    def ours() -> None:
        decode(potentials, structure, labels)

    ours()
    figures = {OURS: least(ours, 3), OUR_SCORE: score_of(potentials, structure, labels)}
    if find_spec("gco") is None:
        return figures
    import gco

    edges = structure.families[0].nodes.astype(np.int32)
    strength = np.ones(len(edges))
    apart = 1.0 - np.eye(n_labels)
    found: list[Any] = []

    def theirs() -> None:
        found[:] = [gco.cut_general_graph(edges, strength, -potentials.node, apart)]

    figures[THEIRS] = least(theirs, 3)
    figures[THEIR_SCORE] = score_of(potentials, structure, found[0].astype(int))

    def quickly() -> None:
        decode(potentials, structure, labels, n_numbers=0)

    quickly()
    reached = score_of(potentials, structure, labels)
    figures[QUICKER] = least(quickly, 3) if reached >= figures[THEIR_SCORE] else figures[OURS]
    return figures


def against_exact(watch: Stopwatch) -> dict[str, float]:
    """Ours, and the best labelling that an exact solver finds before its limit."""
    import numpy as np

    from sklearn_struct.inference.graphs.decoded import decode

    potentials, structure = potts(SMALL, SMALL, SMALL_LABELS)
    labels = np.zeros(SMALL * SMALL, np.int32)

    def ours() -> None:
        decode(potentials, structure, labels)

    ours()
    figures = {OURS: least(ours, 5), OUR_SCORE: score_of(potentials, structure, labels)}
    if find_spec("pytoulbar2") is None:
        return figures
    best = by_toulbar2(potentials, structure, 2 if watch.quick else LIMIT)
    figures[EXACT] = score_of(potentials, structure, best)
    figures[BELOW] = 100 * (figures[EXACT] - figures[OUR_SCORE]) / figures[EXACT]
    return figures


def by_toulbar2(potentials: Any, structure: Any, seconds: int) -> Any:
    """The best labelling that it finds."""
    import numpy as np
    import pytoulbar2

    problem = pytoulbar2.CFN(1e6, resolution=6)
    K = potentials.node.shape[1]
    for v, scores in enumerate(potentials.node):
        problem.AddVariable(f"x{v}", range(K))
        problem.AddFunction([f"x{v}"], (scores.max() - scores).tolist())
    costs = (1.0 - np.eye(K)).ravel().tolist()
    for u, v in structure.families[0].nodes.tolist():
        problem.AddFunction([f"x{u}", f"x{v}"], costs)
    found = problem.Solve(timeLimit=seconds)
    return np.array(found[0], int)


def image(watch: Stopwatch) -> dict[str, float]:
    """A large picture, from scores to labels."""
    import resource

    import numpy as np
    from scipy.ndimage import gaussian_filter

    from sklearn_struct import GridCRF

    height, width, n_labels = (40, 50, 21) if watch.quick else IMAGE
    rng = np.random.RandomState(0)
    shapes = [gaussian_filter(rng.randn(height, width), 25) for _ in range(n_labels)]
    truth = np.argmax(shapes, axis=0)
    scores = rng.randn(height, width, n_labels)
    scores += 2.0 * np.eye(n_labels)[truth]
    crop = (slice(30), slice(40))
    crf = GridCRF(unary="scores", pairwise="potts", loss="pseudo")
    crf.fit([scores[crop], scores[-30:, -40:]], [truth[crop], truth[-30:, -40:]])
    crf.predict([scores[:20, :20]])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    labels: list[Any] = []

    def predict() -> None:
        labels[:] = crf.predict([scores])

    predict()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {
        SECONDS: least(predict, 3),
        MEMORY: peak / 1000,
        "pixels right, scores alone, %": 100 * float(np.mean(scores.argmax(axis=2) == truth)),
        "pixels right, %": 100 * float(np.mean(labels[0] == truth)),
    }


def goals(medians: Medians) -> list[Goal]:
    times = [
        Goal(
            f"ours / gco to its score, {K} labels",
            medians.ratio((f"{K} labels", QUICKER), (f"{K} labels", THEIRS)),
            0.5,
            1.0,
            at_most=True,
        )
        for K in SIDES
    ]
    return [
        *times,
        Goal("below toulbar2, %", medians.figure("exact", BELOW), 0.1, 0.3, at_most=True),
        Goal("image, predict, s", medians.figure("image", SECONDS), 0.5, 1.0, at_most=True),
        Goal("image, memory, MB", medians.figure("image", MEMORY), 200, 400, at_most=True),
    ]


BENCHMARKS = {
    "potts-search": Benchmark(
        "Labellings of Potts's model on grids, and of a large image",
        {f"{K} labels": partial(against_gco, K) for K in SIDES}
        | {"exact": against_exact, "image": image},
        goals,
        beside="gco, toulbar2",
    ),
}
