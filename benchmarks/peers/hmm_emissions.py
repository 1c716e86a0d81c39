"""Hidden Markov models of numbers: ours and hmmlearn's, from equal starts.

15 iterations of EM on sequences of random numbers around drawn means, with each type of
covariances, without priors and with floors of variances too low to act. hmmlearn has two
implementations, "log" and "scaling"; the quicker one counts. Differences are the largest ones of
any probability, mean or covariance after the last iteration.
"""

from __future__ import annotations

import warnings
from functools import partial
from importlib.util import find_spec
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch, least

STATES = (2, 10, 50)
COLUMNS = (1, 5, 20)
TYPES = ("diag", "full", "tied", "spherical")
STEPS = 100_000
LENGTH = 1000  # steps of a sequence
ITERATIONS = 15
OURS = "ours, CPU s"
THEIRS = "hmmlearn, CPU s"
DIFFERENCE = "difference"


def data(K: int, d: int, steps: int) -> Any:
    """Numbers (steps, d) whose means change now and then."""
    import numpy as np

    rng = np.random.RandomState(0)
    means = rng.normal(size=(K, d)) * 2
    states = np.repeat(rng.randint(K, size=steps // 10), 10)
    noise = rng.normal(size=(steps, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d)))
    return means[states] + noise


def start(K: int, d: int, kind: str) -> dict[str, Any]:
    """Parameters from which both begin."""
    import numpy as np

    rng = np.random.RandomState(1)
    covariance = {
        "diag": np.full((K, d), 2.0),
        "full": np.tile(2.0 * np.eye(d), (K, 1, 1)),
        "tied": 2.0 * np.eye(d),
        "spherical": np.full(K, 2.0),
    }[kind]
    return {
        "start": rng.dirichlet(np.full(K, 5.0)),
        "transition": rng.dirichlet(np.full(K, 5.0), size=K),
        "means": rng.normal(size=(K, d)) * 2,
        "covariances": covariance,
    }


def ours(x: Any, lengths: list[int], K: int, kind: str, watch: Stopwatch) -> tuple[float, Any]:
    """CPU seconds and the model."""
    import numpy as np

    from sklearn_struct import HMM, SequenceArray

    begin = start(K, x.shape[1], kind)
    packed = SequenceArray.from_flat(x, lengths)
    options = {
        "stop": False,
        "n_states": K,
        "covariance_type": kind,
        "min_variance": 1e-12,
        "tol": 0.0,
        "init": "random",
    }
    # what it says does not matter: all parameters are replaced
    first = HMM(max_iter=1, random_state=0, **options).fit(SequenceArray.from_flat(x[:100], [100]))
    first.start_logprob_ = np.log(begin["start"])
    first.transition_logprob_ = np.log(begin["transition"])
    first.means_ = begin["means"]
    first.covariances_ = begin["covariances"]
    model = HMM(max_iter=ITERATIONS, **options)
    return least(lambda: model.fit(packed, init=first), 1 if watch.quick else 2), model


def theirs(x: Any, lengths: list[int], K: int, kind: str, implementation: str) -> Any:
    """CPU seconds and the model."""
    from hmmlearn.hmm import GaussianHMM

    begin = start(K, x.shape[1], kind)
    model = GaussianHMM(
        K,
        covariance_type=kind,
        n_iter=ITERATIONS,
        tol=-float("inf"),
        init_params="",
        min_covar=1e-12,
        means_weight=0,
        covars_prior=0,
        covars_weight=0,
        implementation=implementation,
    )

    def fit() -> None:
        model.startprob_ = begin["start"]
        model.transmat_ = begin["transition"]
        model.means_ = begin["means"]
        model.covars_ = begin["covariances"]
        model.fit(x, lengths)

    return least(fit, 1), model


def difference(our: Any, their: Any) -> float:
    """The largest one of any parameter."""
    import numpy as np

    covariances = their._covars_[:, 0] if our.covariance_type == "spherical" else their._covars_
    pairs = [
        (np.exp(our.start_logprob_), their.startprob_),
        (np.exp(our.transition_logprob_), their.transmat_),
        (our.means_, their.means_),
        (our.covariances_, np.reshape(covariances, our.covariances_.shape)),
    ]
    return max(float(np.abs(a - b).max()) for a, b in pairs)


def race(kind: str, K: int, d: int, watch: Stopwatch) -> dict[str, float]:
    """Both in one process."""
    warnings.simplefilter("ignore")
    steps = 5_000 if watch.quick else STEPS
    x = data(K, d, steps)
    lengths = [LENGTH] * (steps // LENGTH)
    seconds, our = ours(x, lengths, K, kind, watch)
    figures = {OURS: seconds}
    if find_spec("hmmlearn") is None:
        return figures
    times = []
    for implementation in ("log", "scaling"):
        taken, their = theirs(x, lengths, K, kind, implementation)
        times.append(taken)
    return {**figures, THEIRS: min(times), DIFFERENCE: difference(our, their)}


def goals(medians: Medians) -> list[Goal]:
    """Times of hmmlearn over ours, and how far parameters are apart."""
    made = []
    for kind in TYPES:
        for K in STATES:
            for d in COLUMNS:
                name = f"{kind}, {K} states, {d} columns"
                blas = d == max(COLUMNS) and kind in ("full", "tied")
                ratio = medians.ratio((name, THEIRS), (name, OURS))
                made.append(
                    Goal(
                        f"hmmlearn / ours, {name}",
                        ratio,
                        1.5 if blas else 5.0,
                        1.5 if blas else 3.0,
                    )
                )
    apart = [
        medians.figure(f"{kind}, {K} states, {d} columns", DIFFERENCE)
        for kind in TYPES
        for K in STATES
        for d in COLUMNS
    ]
    known = [figure for figure in apart if figure is not None]
    largest = max(known) if known else None
    return [*made, Goal("largest difference", largest, 1e-8, 1e-6, at_most=True)]


BENCHMARKS = {
    "gaussian-emissions": Benchmark(
        "Hidden Markov models of numbers, with each type of covariances",
        {
            f"{kind}, {K} states, {d} columns": partial(race, kind, K, d)
            for kind in TYPES
            for K in STATES
            for d in COLUMNS
        },
        goals,
        beside="hmmlearn",
    )
}
