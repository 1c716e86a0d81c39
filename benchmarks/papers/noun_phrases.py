"""The noun-phrase experiment of Smith, Vail and Lafferty (ACL 2007), beside the figures that the
paper has.

``np-chunking`` is its table 1, features x models. Table 2 (base distributions) and figures 2 and 3
(learning curves, accuracy against training time) are benchmarks of their own, as are ratios of
training times in `noun_phrase_times`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from lib.goals import no_goals
from lib.side_by_side import Benchmark, Picture, Stopwatch
from lib.sources import Source

from papers.noun_phrase_models import (
    EXTENDED,
    HMM_2,
    HMM_FEATURES,
    M_ESTIMATED,
    MODELS,
    TASK,
    best_fit,
    chosen,
    fit_once,
    fits,
    m_estimated,
    parts,
    readable,
)

KEY = "smith-2007"
MEASURES = ("precision", "recall", "F1")
TRAINING = "training, CPU s"
PUBLISHED = ", paper"
Measured = tuple[float, float, float]

PAPER: dict[tuple[str, str], Measured] = {
    (HMM_FEATURES, HMM_2): (85.60, 88.68, 87.11),
    (HMM_FEATURES, "CRF"): (90.40, 89.56, 89.98),
    (HMM_FEATURES, "PL"): (80.31, 81.37, 80.84),
    (HMM_FEATURES, "MEMM"): (86.03, 88.62, 87.31),
    (HMM_FEATURES, M_ESTIMATED): (85.57, 88.65, 87.08),
    (EXTENDED, "CRF"): (94.04, 93.68, 93.86),
    (EXTENDED, "PL"): (91.88, 91.79, 91.83),
    (EXTENDED, "MEMM"): (90.89, 92.15, 91.51),
    (EXTENDED, M_ESTIMATED): (88.88, 90.42, 89.64),
}
PAPER_SECONDS = {
    (HMM_FEATURES, HMM_2): 2,
    (EXTENDED, "CRF"): (64 * 60 + 18) * 60,
    (EXTENDED, "PL"): (9 * 60 + 35) * 60,
    (EXTENDED, "MEMM"): (3 * 60 + 40) * 60,
    (EXTENDED, M_ESTIMATED): 64 * 60,
}
ROWS = {
    HMM_FEATURES: ("HMM", HMM_2, "CRF", "CRF, order 2", "PL", "MEMM", M_ESTIMATED),
    EXTENDED: (
        *(
            "CRF",
            "CRF, single labels",
            "CRF, order 2, single labels",
            "PL",
            "MEMM",
            "MEMM, order 2",
        ),
        *(M_ESTIMATED, "M-est., input features"),
    ),
}

BASES: dict[str, dict[str, Any]] = {
    "HMM": {},
    "locally uniform": {"base": "locally-uniform"},
    "empirical inputs": {"inputs": "empirical"},
    "HMM, input-only features": {"input_features": True},
    "HMM, sampled": {"expectations": "sampled"},
}
BY_F1 = ", C by F1"
BY_PRECISION = ", C by precision"
PAPER_BASES: dict[str, dict[str, Measured]] = {
    "HMM": {BY_F1: (88.88, 90.42, 89.64), BY_PRECISION: (88.88, 90.42, 89.64)},
    "locally uniform": {BY_F1: (72.91, 57.56, 64.33), BY_PRECISION: (84.40, 37.68, 52.10)},
    "empirical inputs": {BY_F1: (84.38, 89.43, 86.83)},
    "HMM, input-only features": {BY_F1: (math.nan, math.nan, 89.33)},
}

SIZES = (250, 500, 1000, 2000, 4000, 8036)
QUICK_SIZES = (100, 200)
TIMED_SIZES = (1000, 8036)
TIMED_C = (0.1, 1.0, 10.0)
CURVES = (M_ESTIMATED, "CRF", HMM_2, "PL", "MEMM")


def accuracy(measured: Measured, suffix: str = "") -> dict[str, float]:
    return {name + suffix: value for name, value in zip(MEASURES, measured)}


def table(features: str, name: str, watch: Stopwatch) -> dict[str, float]:
    """A cell of table 1: test scores of the model with the C that is best on held-out sentences."""
    point = best_fit(name, features, watch)
    figures = accuracy(point.test) | {
        TRAINING: point.seconds,
        "C": point.C,
        "F1, held out": point.tune[2],
    }
    if point.weights:
        figures["weights"] = point.weights
    if (features, name) in PAPER:
        figures |= accuracy(PAPER[features, name], PUBLISHED)
    if (features, name) in PAPER_SECONDS:
        figures["training, s" + PUBLISHED] = PAPER_SECONDS[features, name]
    return figures


def bases(name: str, watch: Stopwatch) -> dict[str, float]:
    """A line of table 2: the M-estimator with another base distribution, C chosen by F1 and by
    precision.
    """
    warnings.simplefilter("ignore")
    points = fits(m_estimated(wide=True, **BASES[name]), EXTENDED, parts(watch))
    figures: dict[str, float] = {}
    for how, measure in ((BY_F1, 2), (BY_PRECISION, 0)):
        point = chosen(points, measure)
        figures |= accuracy(point.test, how) | {f"C{how}": point.C}
        published = PAPER_BASES.get(name, {}).get(how)
        figures |= accuracy(published, how + PUBLISHED) if published else {}
    return figures | {TRAINING: chosen(points).seconds}


def learning_curve(name: str, watch: Stopwatch) -> dict[str, float]:
    """Figure 2: test F1 with the best C on the first sentences."""
    features = HMM_FEATURES if name == HMM_2 else EXTENDED
    figures = {}
    for n in QUICK_SIZES if watch.quick else SIZES:
        point = best_fit(name, features, watch, None if n == SIZES[-1] else n)  # all: as in table 1
        figures[f"{n:,} sentences"] = point.test[2]
        watch.curve.append((n, point.test[2]))
    return figures


def accuracy_in_time(name: str, watch: Stopwatch) -> dict[str, float]:
    """Figure 3: held-out F1 against training time, for numbers of sentences and strengths of the
    penalty.
    """
    warnings.simplefilter("ignore")
    features = HMM_FEATURES if name == HMM_2 else EXTENDED
    model = MODELS[name]
    figures = {}
    for n in QUICK_SIZES if watch.quick else TIMED_SIZES:
        data = readable(features, model, parts(watch, n))
        for C in TIMED_C if len(model.grid) > 1 else model.grid:
            point = fit_once(model, features, C, data)
            what = f"{n:,} sentences, C = {C:g}"
            figures |= {f"{what}: CPU s": point.seconds, f"{what}: F1": point.tune[2]}
            watch.curve.append((point.seconds, point.tune[2]))
        watch.curve.append(
            (point.seconds, float("nan"))
        )  # the next number of sentences is a line of its own
    return figures


def _benchmark(
    title: str, contestant: Callable[..., dict[str, float]], names: Any, **options: Any
) -> Benchmark:
    """Each contestant runs once: its C is searched for, which takes long."""
    return Benchmark(
        title, {}, no_goals, TASK, {name: partial(contestant, name) for name in names}, **options
    )


def _table(features: str) -> Benchmark:
    return _benchmark(
        f"Precision, recall, F1 and time of noun phrases, {features}",
        lambda name, watch: table(features, name, watch),
        ROWS[features],
        papers=(Source(KEY, "table 1"),),
    )


BENCHMARKS = {
    "np-chunking-hmm": _table(HMM_FEATURES),
    "np-chunking-extended": _table(EXTENDED),
    "np-bases": _benchmark(
        "F1 of M-estimation over other base distributions, noun phrases",
        bases,
        BASES,
        papers=(Source(KEY, "table 2"),),
    ),
    "np-learning-curves": _benchmark(
        "Test F1 by number of training sentences, noun phrases",
        learning_curve,
        CURVES,
        picture=Picture("training sentences", "test F1", excess=False),
        papers=(Source(KEY, "figure 2"),),
    ),
    "np-accuracy-time": _benchmark(
        "Held-out F1 by training time, noun phrases",
        accuracy_in_time,
        CURVES,
        picture=Picture("CPU seconds of training", "held-out F1", excess=False),
        papers=(Source(KEY, "figure 3"),),
    ),
}
