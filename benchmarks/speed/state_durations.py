"""Hidden semi-Markov models beside a hidden Markov model: durations found again, new data, time.

A series of three states whose durations are negative binomial, with means of 10, 25 and 40 steps;
its numbers overlap. Each model learns from one series without labels, and is measured on another.
Poisson durations have a lower variance: they show what a wrong distribution costs.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch, least

MEANS = (10.0, 25.0, 40.0)
SIZE = 8.0  # of negative binomial distributions
APART = 1.5  # means of neighbouring states, in standard deviations
SEGMENTS = 1500
LONGEST = 100
ITERATIONS = 5
PLAIN = "HMM"
KINDS = ("categorical", "poisson", "negative-binomial")
HELD_OUT = "held-out log-likelihood / step"
RIGHT = "right states, %"
OFF = "error of mean durations, %"
TIME = "step and iteration, CPU ns"


def series(n: int, seed: int) -> tuple[Any, Any]:
    """Numbers (steps, 1) and states of n segments."""
    import numpy as np

    rng = np.random.default_rng(seed)
    # each state is followed by one of the two others
    order = np.cumsum(rng.integers(1, 3, size=n)) % 3
    over = np.array(MEANS)[order] - 1
    states = np.repeat(order, 1 + rng.negative_binomial(SIZE, SIZE / (SIZE + over)))
    return rng.normal(APART * states)[:, None], states


def model(kind: str, **options: Any) -> Any:
    """An estimator."""
    from sklearn_struct import HMM, HSMM

    if kind == PLAIN:
        return HMM(n_states=3, stop=False, random_state=0, **options)
    return HSMM(n_states=3, durations=kind, max_length=LONGEST, random_state=0, **options)


def measured(kind: str, watch: Stopwatch) -> dict[str, float]:
    """What one model learns."""
    import numpy as np

    warnings.simplefilter("ignore")
    n = SEGMENTS // 10 if watch.quick else SEGMENTS
    x, _ = series(n, 2 * watch.run)
    new, states = series(n, 2 * watch.run + 1)
    fitted = model(kind, max_iter=500).fit([x])
    order = np.argsort(fitted.means_[:, 0])
    if kind == PLAIN:
        means = 1 / -np.expm1(np.diag(fitted.transition_logprob_))
    else:
        means = fitted.duration_means_
    rank = np.argsort(order)
    right = rank[np.array(fitted.predict([new])[0])] == states
    # a start is what a fit of no further iteration takes, and the same for both
    one, more = (
        least(lambda n=n: model(kind, max_iter=n, tol=0.0).fit([x], init=fitted), 3)
        for n in (1, 1 + ITERATIONS)
    )
    return {
        HELD_OUT: fitted.score_samples([new])[0] / len(new),
        RIGHT: 100 * right.mean(),
        OFF: 100 * float(np.abs(means[order] / MEANS - 1).max()),
        "iterations": fitted.n_iter_,
        TIME: 1e9 * (more - one) / ITERATIONS / len(x),
    }


def goals(medians: Medians) -> list[Goal]:
    """Held-out log-likelihoods above that of the HMM, durations found again."""
    made = []
    plain = medians.figure(PLAIN, HELD_OUT)
    for kind in KINDS:
        value = medians.figure(kind, HELD_OUT)
        gain = None if value is None or plain is None else value - plain
        if kind != "poisson":
            made.append(Goal(f"gain over HMM / step, {kind}", gain, 0.0, 0.0))
        made.append(Goal(f"{OFF}, {kind}", medians.figure(kind, OFF), 10.0, 20.0, True))
    return made


BENCHMARKS = {
    "state-durations": Benchmark(
        "Hidden semi-Markov models: durations found again, held-out likelihood and time",
        {kind: partial(measured, kind) for kind in (PLAIN, *KINDS)},
        goals,
        beside="HMM",
    )
}
