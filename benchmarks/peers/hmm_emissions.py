"""Hidden Markov models of numbers: ours and hmmlearn's, from equal starts.

15 iterations of EM on random numbers around drawn means, 100,000 steps in sequences of 1,000 or in
one, with each type of covariances, without priors and with floors of variances too low to act. All
transitions are possible, or only those to the next state, to the right or round and round. Where
the quicker implementation learns NaN, the other one counts.
hmmlearn has two implementations, "log" and "scaling"; the one counts that is quicker in an
iteration on a tenth of the steps. Differences are the largest ones of any probability, mean or
covariance after the last iteration. Memory is the most that arrays and objects of Python take
during two iterations, beside the data.
"""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch, least

STATES = (2, 10, 50)
COLUMNS = (1, 5, 20)
TYPES = ("diag", "full", "tied", "spherical")
STEPS = 100_000
LENGTH = 1000  # steps of a sequence, where there are many
ALONE = ((2, 1), (10, 1), (50, 1), (10, 5), (50, 5))  # states and columns of one sequence
FORBIDDING = ("left to right", "round")
ITERATIONS = 15
OURS = "ours, CPU s"
THEIRS = "hmmlearn, CPU s"
OUR_MEMORY = "ours, MiB"
THEIR_MEMORY = "hmmlearn, MiB"
DIFFERENCE = "difference"


def data(K: int, d: int, steps: int, length: int = LENGTH, shape: str = "any") -> Any:
    """Numbers (steps, d) whose means change now and then."""
    import numpy as np

    rng = np.random.RandomState(0)
    means = rng.normal(size=(K, d)) * 2
    states = rng.randint(K, size=steps // 10)
    if shape == "left to right":
        states = np.sort(states.reshape(-1, length // 10), axis=1).ravel()
    elif shape == "round":
        states = np.cumsum(states % 2) % K
    states = np.repeat(states, 10)
    noise = rng.normal(size=(steps, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d)))
    return means[states] + noise


def start(K: int, d: int, kind: str, shape: str = "any") -> dict[str, Any]:
    """Parameters from which both begin."""
    import numpy as np

    rng = np.random.RandomState(1)
    covariance = {
        "diag": np.full((K, d), 2.0),
        "full": np.tile(2.0 * np.eye(d), (K, 1, 1)),
        "tied": 2.0 * np.eye(d),
        "spherical": np.full(K, 2.0),
    }[kind]
    begins = rng.dirichlet(np.full(K, 5.0))
    transition = rng.dirichlet(np.full(K, 5.0), size=K)
    if shape != "any":
        transition = 0.9 * np.eye(K) + 0.1 * np.roll(np.eye(K), 1, axis=1)
    if shape == "left to right":
        begins = np.eye(K)[0]
        transition[-1] = np.eye(K)[-1]
    return {
        "start": begins,
        "transition": transition,
        "means": rng.normal(size=(K, d)) * 2,
        "covariances": covariance,
    }


def ours(
    x: Any,
    lengths: list[int],
    K: int,
    kind: str,
    n_iter: int = ITERATIONS,
    shape: str = "any",
) -> tuple[Callable[[], Any], Any]:
    """A fit, and the model."""
    import numpy as np

    from sklearn_struct import HMM, SequenceArray

    begin = start(K, x.shape[1], kind, shape)
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
    with np.errstate(divide="ignore"):
        first.start_logprob_ = np.log(begin["start"])
        first.transition_logprob_ = np.log(begin["transition"])
    first.means_ = begin["means"]
    first.covariances_ = begin["covariances"]
    model = HMM(max_iter=n_iter, **options)
    return lambda: model.fit(packed, init=first), model


def theirs(
    x: Any,
    lengths: list[int],
    K: int,
    kind: str,
    implementation: str,
    n_iter: int = ITERATIONS,
    shape: str = "any",
) -> tuple[Callable[[], Any], Any]:
    """A fit, and the model."""
    from hmmlearn.hmm import GaussianHMM

    begin = start(K, x.shape[1], kind, shape)
    model = GaussianHMM(
        K,
        covariance_type=kind,
        n_iter=n_iter,
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

    return fit, model


def quicker(x: Any, length: int, K: int, kind: str, shape: str) -> str:
    """The implementation of hmmlearn that counts."""
    part = x[: max(len(x) // 10, min(length, len(x)))]
    lengths = [min(length, len(part))] * max(len(part) // length, 1)
    seconds = {
        name: least(theirs(part[: sum(lengths)], lengths, K, kind, name, 1, shape)[0], 1)
        for name in ("log", "scaling")
    }
    return min(seconds, key=lambda name: seconds[name])


def peak(fit: Callable[[], Any]) -> float:
    """MiB."""
    tracemalloc.start()
    fit()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(most) / 2**20


def difference(our: Any, their: Any) -> float:
    """The largest one of any parameter. Transitions of states without mass are not compared:
    hmmlearn leaves zeros there, which are no distribution.
    """
    import numpy as np

    seen = their.transmat_.sum(axis=1) > 0
    covariances = their._covars_[:, 0] if our.covariance_type == "spherical" else their._covars_
    pairs = [
        (np.exp(our.start_logprob_), their.startprob_),
        (np.exp(our.transition_logprob_[seen]), their.transmat_[seen]),
        (our.means_, their.means_),
        (our.covariances_, np.reshape(covariances, our.covariances_.shape)),
    ]
    return max(float(np.abs(a - b).max()) for a, b in pairs)


def race(kind: str, K: int, d: int, length: int, shape: str, watch: Stopwatch) -> dict[str, float]:
    """Both in one process."""
    import numpy as np

    warnings.simplefilter("ignore")
    steps = 5_000 if watch.quick else STEPS
    length = min(length, steps)
    x = data(K, d, steps, length, shape)
    lengths = [length] * (steps // length)
    fit, our = ours(x, lengths, K, kind, ITERATIONS, shape)
    figures = {
        OURS: least(fit, 1 if watch.quick else 2),
        OUR_MEMORY: peak(ours(x, lengths, K, kind, 2, shape)[0]),
    }
    if find_spec("hmmlearn") is None:
        return figures
    implementation = quicker(x, min(length, LENGTH), K, kind, shape)
    fit, their = theirs(x, lengths, K, kind, implementation, ITERATIONS, shape)
    seconds = least(fit, 1)
    if np.isnan(their.means_).any():
        implementation = "log"
        fit, their = theirs(x, lengths, K, kind, implementation, ITERATIONS, shape)
        seconds = least(fit, 1)
    return {
        **figures,
        THEIRS: seconds,
        THEIR_MEMORY: peak(theirs(x, lengths, K, kind, implementation, 2, shape)[0]),
        DIFFERENCE: difference(our, their),
    }


def named(kind: str, K: int, d: int, length: int, shape: str) -> str:
    """A row of the table."""
    name = f"{kind}, {K} states, {d} columns"
    if shape != "any":
        name += f", {shape}"
    return name + (", one sequence" if length == STEPS else "")


ROWS = [
    *((kind, K, d, LENGTH, "any") for kind in TYPES for K in STATES for d in COLUMNS),
    *(("diag", K, d, STEPS, "any") for K, d in ALONE),
    *(
        ("diag", K, 1, length, shape)
        for shape in FORBIDDING
        for K in (3, 10, 50)
        for length in (LENGTH, STEPS)
    ),
]


def goals(medians: Medians) -> list[Goal]:
    """Times and memory of hmmlearn over ours, and how far parameters are apart."""
    made = []
    for kind, K, d, length, shape in ROWS:
        name = named(kind, K, d, length, shape)
        ratio = medians.ratio((name, THEIRS), (name, OURS))
        blas = d == max(COLUMNS) and kind in ("full", "tied")
        wanted = (1.5, 1.5) if blas else (5.0, 3.0)
        made.append(Goal(f"hmmlearn / ours, {name}", ratio, *wanted))
    for row in ROWS:
        name = named(*row)
        memory = medians.ratio((name, THEIR_MEMORY), (name, OUR_MEMORY))
        made.append(Goal(f"memory, hmmlearn / ours, {name}", memory, 1.0, 1.0))
    apart = [medians.figure(named(*row), DIFFERENCE) for row in ROWS]
    known = [figure for figure in apart if figure is not None]
    largest = max(known) if known else None
    return [*made, Goal("largest difference", largest, 1e-8, 1e-6, at_most=True)]


BENCHMARKS = {
    "gaussian-emissions": Benchmark(
        "Hidden Markov models of numbers, with each type of covariances",
        {named(*row): partial(race, *row) for row in ROWS},
        goals,
        beside="hmmlearn",
    )
}
