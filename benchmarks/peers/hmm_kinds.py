"""Hidden Markov models of symbols, of counts and with mixtures: ours and hmmlearn's, from equal
starts.

15 iterations of EM on sequences of random symbols, counts or numbers, without priors and with
floors too low to act. hmmlearn has two implementations, "log" and "scaling"; the quicker one
counts. Its mixtures take covariances about the means of the iteration before, which is no step of
EM; the class below corrects that after each iteration, so that differences can be told. Differences
are the largest ones of any probability, rate, mean or covariance after the last iteration.
"""

from __future__ import annotations

import warnings
from functools import partial
from importlib.util import find_spec
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch, least

# states and columns
COUNTS = ((2, 1), (2, 5), (10, 5), (10, 20), (50, 20))
MIXTURES = ((2, 1), (2, 5), (10, 5))
SYMBOLS = (2, 3, 10)  # states
VALUES = 20  # of a symbol
DISCRETE = ("poisson", "multinomial", "categorical")
TYPES = ("diag", "full", "tied", "spherical")
M = 3  # components of a mixture
LENGTH = 1000  # steps of a sequence
STEPS = 100_000  # of all sequences of symbols or counts
ITERATIONS = 15
OURS = "ours, CPU s"
THEIRS = "hmmlearn, CPU s"
DIFFERENCE = "difference"
ROWS = [
    *((f"symbols, {K} states, one sequence", "categorical", K, 1, STEPS) for K in SYMBOLS),
    *((f"symbols, {K} states", "categorical", K, 1, LENGTH) for K in SYMBOLS),
    *((f"poisson, {K} states, {d} columns", "poisson", K, d, LENGTH) for K, d in COUNTS),
    *(
        (f"multinomial, {K} states, {d} columns", "multinomial", K, d, LENGTH)
        for K, d in COUNTS
        if d > 1
    ),
    *(
        (f"mixtures, {kind}, {K} states, {d} columns", kind, K, d, LENGTH)
        for kind in TYPES
        for K, d in MIXTURES
    ),
]


def data(kind: str, K: int, d: int, steps: int) -> Any:
    """Symbols, counts or numbers (steps, d) of states that change now and then."""
    import numpy as np

    rng = np.random.RandomState(0)
    states = np.repeat(rng.randint(K, size=steps // 10), 10)
    if kind == "categorical":
        cumulated = rng.dirichlet(np.full(VALUES, 0.5), size=K).cumsum(axis=1)[:, :-1]
        x = (rng.random_sample((steps, 1)) > cumulated[states]).sum(axis=1, keepdims=True)
        # all of them are in the few tokens of the model from which ours starts
        x[:VALUES, 0] = np.arange(VALUES)
        return x
    if kind in DISCRETE:
        x = rng.poisson(rng.gamma(3.0, 1.0, size=(K, d))[states])
        x[:, 0] += 1  # hmmlearn wants a trial in each token
        return x
    centres = rng.normal(size=(K, M, d)) * 2
    return centres[states, rng.randint(M, size=steps)] + rng.normal(size=(steps, d))


def start(kind: str, K: int, d: int) -> dict[str, Any]:
    """Parameters from which both begin, under our names."""
    import numpy as np

    rng = np.random.RandomState(1)
    both = {
        "start_logprob_": np.log(rng.dirichlet(np.full(K, 5.0))),
        "transition_logprob_": np.log(rng.dirichlet(np.full(K, 5.0), size=K)),
    }
    if kind == "categorical":
        table = np.log(rng.dirichlet(np.full(VALUES, 5.0), size=K))
        return {**both, "emission_logprob_": table}
    if kind == "poisson":
        return {**both, "rates_": rng.gamma(3.0, 1.0, size=(K, d))}
    if kind == "multinomial":
        return {**both, "count_logprob_": np.log(rng.dirichlet(np.full(d, 5.0), size=K))}
    covariance = {
        "diag": np.full((K, M, d), 2.0),
        "full": np.tile(2.0 * np.eye(d), (K, M, 1, 1)),
        "tied": np.tile(2.0 * np.eye(d), (K, 1, 1)),
        "spherical": np.full((K, M), 2.0),
    }[kind]
    return {
        **both,
        "mixture_logprob_": np.log(rng.dirichlet(np.full(M, 5.0), size=K)),
        "means_": rng.normal(size=(K, M, d)) * 2,
        "covariances_": covariance,
    }


def ours(x: Any, lengths: list[int], K: int, kind: str, watch: Stopwatch) -> tuple[float, Any]:
    """CPU seconds and the model."""
    from sklearn_struct import HMM, SequenceArray

    packed = SequenceArray.from_flat(x, lengths)
    of_counts = {"emissions": kind, "smoothing": 0.0, "oov": None}
    of_mixtures = {"covariance_type": kind, "n_mixtures": M}
    options = {
        "stop": False,
        "n_states": K,
        "min_variance": 1e-12,
        "tol": 0.0,
        "init": "random",
        **(of_counts if kind in DISCRETE else of_mixtures),
    }
    # what it says does not matter: all parameters are replaced
    first = HMM(max_iter=1, random_state=0, **options).fit(SequenceArray.from_flat(x[:200], [200]))
    for name, table in start(kind, K, x.shape[1]).items():
        # there is a table for each column of symbols
        setattr(first, name, [table] if name == "emission_logprob_" else table)
    model = HMM(max_iter=ITERATIONS, **options)
    return least(lambda: model.fit(packed, init=first), 1 if watch.quick else 2), model


def of_mixtures(kind: str, K: int, d: int, options: dict[str, Any]) -> Any:
    """hmmlearn's model of mixtures, with flat priors and covariances about the new means."""
    import numpy as np
    from hmmlearn.hmm import GMMHMM

    class Corrected(GMMHMM):
        def _do_mstep(self, stats: Any) -> None:
            before = self.means_.copy()
            super()._do_mstep(stats)
            away = self.means_ - before
            if kind == "diag":
                self.covars_ = self.covars_ - away**2
            elif kind == "spherical":
                self.covars_ = self.covars_ - (away**2).mean(axis=2)
            else:
                products = away[..., :, None] * away[..., None, :]
                if kind == "tied":
                    products = (self.weights_[:, :, None, None] * products).sum(axis=1)
                self.covars_ = self.covars_ - products

    shape = start(kind, K, d)["covariances_"].shape
    # the modes of its priors are moved so that these are flat
    prior = {"diag": -1.5, "spherical": -(d + 2) / 2, "full": 0.0, "tied": 0.0}[kind]
    weight = {"diag": 0.0, "spherical": 0.0, "full": -(d + 2.0), "tied": -(d + M + 1.0)}[kind]
    of_weight = shape[:-2] if kind in ("full", "tied") else shape
    return Corrected(
        K,
        M,
        covariance_type=kind,
        min_covar=0,
        covars_prior=np.full(shape, prior),
        covars_weight=np.full(of_weight, weight),
        **options,
    )


def theirs(x: Any, lengths: list[int], K: int, kind: str, implementation: str) -> Any:
    """CPU seconds and the model."""
    import numpy as np
    from hmmlearn.hmm import CategoricalHMM, MultinomialHMM, PoissonHMM

    begin = start(kind, K, x.shape[1])
    options = {
        "n_iter": ITERATIONS,
        "tol": -float("inf"),
        "init_params": "",
        "implementation": implementation,
    }
    if kind == "categorical":
        model = CategoricalHMM(K, n_features=VALUES, **options)
    elif kind == "poisson":
        model = PoissonHMM(K, lambdas_prior=0, lambdas_weight=0, **options)
    elif kind == "multinomial":
        model = MultinomialHMM(K, n_trials=x.sum(axis=1), **options)
    else:
        model = of_mixtures(kind, K, x.shape[1], options)

    def fit() -> None:
        for name, our in names(kind).items():
            table = begin[our]
            setattr(model, name, np.exp(table) if our.endswith("logprob_") else table.copy())
        model.fit(x, lengths)

    return least(fit, 1), model


def names(kind: str) -> dict[str, str]:
    """hmmlearn's names of parameters, and ours."""
    both = {"startprob_": "start_logprob_", "transmat_": "transition_logprob_"}
    if kind == "categorical":
        return {**both, "emissionprob_": "emission_logprob_"}
    if kind == "poisson":
        return {**both, "lambdas_": "rates_"}
    if kind == "multinomial":
        return {**both, "emissionprob_": "count_logprob_"}
    mixed = {"weights_": "mixture_logprob_", "means_": "means_", "covars_": "covariances_"}
    return {**both, **mixed}


def difference(our: Any, their: Any, kind: str) -> float:
    """The largest one of any parameter."""
    import numpy as np

    largest = 0.0
    for name, of_ours in names(kind).items():
        table = getattr(our, of_ours)
        table = table[0] if isinstance(table, list) else table
        table = np.exp(table) if of_ours.endswith("logprob_") else table
        largest = max(largest, float(np.abs(table - getattr(their, name)).max()))
    return largest


def race(kind: str, K: int, d: int, length: int, watch: Stopwatch) -> dict[str, float]:
    """Both in one process."""
    warnings.simplefilter("ignore")
    steps = 5_000 if watch.quick else STEPS if kind in DISCRETE else 20_000
    x = data(kind, K, d, steps)
    length = min(length, steps)
    lengths = [length] * (steps // length)
    seconds, our = ours(x, lengths, K, kind, watch)
    figures = {OURS: seconds}
    if find_spec("hmmlearn") is None:
        return figures
    times = []
    for implementation in ("log", "scaling"):
        taken, their = theirs(x, lengths, K, kind, implementation)
        times.append(taken)
    return {**figures, THEIRS: min(times), DIFFERENCE: difference(our, their, kind)}


def goals(medians: Medians) -> list[Goal]:
    """Times of hmmlearn over ours, and how far parameters are apart."""
    made = [
        Goal(f"hmmlearn / ours, {name}", medians.ratio((name, THEIRS), (name, OURS)), 5.0, 3.0)
        for name, *_ in ROWS
    ]
    apart = [medians.figure(name, DIFFERENCE) for name, *_ in ROWS]
    known = [figure for figure in apart if figure is not None]
    largest = max(known) if known else None
    return [*made, Goal("largest difference", largest, 1e-8, 1e-6, at_most=True)]


BENCHMARKS = {
    "kinds-of-emissions": Benchmark(
        "Hidden Markov models of symbols and of counts, and with mixtures of normal distributions",
        {name: partial(race, kind, K, d, length) for name, kind, K, d, length in ROWS},
        goals,
        beside="hmmlearn",
    )
}
