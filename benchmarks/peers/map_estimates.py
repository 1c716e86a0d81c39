"""Hidden Markov models with priors of normal distributions: ours and dynamax's, on the CPU.

10 iterations of EM from equal starts, with full covariances and the conjugate prior that both have:
one imagined token at the mean, and some that have the covariance of all data. Then the filtered
probabilities of each label under the learned parameters. dynamax computes in float64; its filter is
compiled before the time is taken, and its EM compiles in each call, which counts. Differences are
the largest ones of any mean, covariance, probability or filtered probability.
"""

from __future__ import annotations

import os
import time
import warnings
from functools import partial
from importlib.util import find_spec
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch, least

SIZES = ((2, 1), (5, 3), (20, 5))
STEPS = 100_000
ITERATIONS = 10
COUNT = 0.1  # imagined of each start and transition
OURS = "ours, s"
THEIRS = "dynamax, s"
FILTER = "filter, ours, s"
THEIR_FILTER = "filter, dynamax, s"
DIFFERENCE = "difference"


def data(K: int, d: int, steps: int) -> Any:
    """Numbers (steps, d) whose means change now and then, of mean 0 and covariance 1."""
    import numpy as np

    rng = np.random.RandomState(0)
    means = rng.normal(size=(K, d)) * 2
    x = means[np.repeat(rng.randint(K, size=steps // 10), 10)] + rng.normal(size=(steps, d))
    x -= x.mean(axis=0)
    factor = np.linalg.cholesky(np.atleast_2d(np.cov(x.T, bias=True)))
    return np.linalg.solve(factor, x.T).T


def start(K: int, d: int) -> dict[str, Any]:
    """Parameters from which both begin."""
    import numpy as np

    rng = np.random.RandomState(1)
    return {
        "start": rng.dirichlet(np.full(K, 5.0)),
        "transition": rng.dirichlet(np.full(K, 5.0), size=K),
        "means": rng.normal(size=(K, d)),
        "covariances": np.tile(np.eye(d), (K, 1, 1)),
    }


def ours(x: Any, K: int, watch: Stopwatch) -> tuple[dict[str, float], Any, Any]:
    """Seconds, the model, and filtered probabilities."""
    from sklearn_struct import HMM

    d = x.shape[1]
    first = HMM.from_parameters(K, **start(K, d), covariance_type="full")
    model = HMM(
        n_states=K,
        stop=False,
        covariance_type="full",
        transition_smoothing=COUNT,
        mean_smoothing=1.0,
        covariance_smoothing=strength(d),
        min_variance=1e-12,
        max_iter=ITERATIONS,
        tol=0.0,
    )
    runs = 1 if watch.quick else 3
    model.fit([x[:100]], init=first)  # compiles
    fit = least(lambda: model.fit([x], init=first), runs)
    [proba] = model.filter_proba([x])
    return {OURS: fit, FILTER: least(lambda: model.filter_proba([x]), runs)}, model, proba


def strength(d: int) -> float:
    """How many tokens dynamax's least prior of a covariance imagines."""
    return 2.0 * d + 2.0


def theirs(x: Any, K: int, watch: Stopwatch) -> tuple[dict[str, float], Any, Any]:
    """Seconds, the parameters, and filtered probabilities."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    import numpy as np
    from dynamax.hidden_markov_model import GaussianHMM

    d = x.shape[1]
    begin = start(K, d)
    hmm = GaussianHMM(
        K,
        d,
        # its modes are NaN where a prior of 1 meets a count of 0
        initial_probs_concentration=1.0 + COUNT,
        transition_matrix_concentration=1.0 + COUNT,
        emission_prior_mean=0.0,
        emission_prior_concentration=1.0,
        emission_prior_scale=strength(d),
        emission_prior_extra_df=0.0,
    )
    parameters, properties = hmm.initialize(
        jax.random.PRNGKey(0),
        method="prior",
        initial_probs=jnp.array(begin["start"]),
        transition_matrix=jnp.array(begin["transition"]),
        emission_means=jnp.array(begin["means"]),
        emission_covariances=jnp.array(begin["covariances"]),
    )
    numbers = jnp.array(x)

    def fit() -> Any:
        learned, log_p = hmm.fit_em(
            parameters, properties, numbers, num_iters=ITERATIONS, verbose=False
        )
        jax.block_until_ready(log_p)
        return learned

    run_filter = jax.jit(lambda learned: hmm.filter(learned, numbers).filtered_probs)
    learned = fit()
    proba = np.asarray(jax.block_until_ready(run_filter(learned)))
    begun = time.perf_counter()
    fit()
    seconds = time.perf_counter() - begun
    begun = time.perf_counter()
    jax.block_until_ready(run_filter(learned))
    return {THEIRS: seconds, THEIR_FILTER: time.perf_counter() - begun}, learned, proba


def race(K: int, d: int, watch: Stopwatch) -> dict[str, float]:
    """Both in one process."""
    import numpy as np

    warnings.simplefilter("ignore")
    x = data(K, d, 5_000 if watch.quick else STEPS)
    seconds, model, proba = ours(x, K, watch)
    if find_spec("dynamax") is None:
        return seconds
    their_seconds, learned, their_proba = theirs(x, K, watch)
    pairs = [
        (model.means_, learned.emissions.means),
        (model.covariances_, learned.emissions.covs),
        (np.exp(model.transition_logprob_), learned.transitions.transition_matrix),
        (proba, their_proba),
    ]
    difference = max(float(np.abs(a - np.asarray(b)).max()) for a, b in pairs)
    return {**seconds, **their_seconds, DIFFERENCE: difference}


def goals(medians: Medians) -> list[Goal]:
    """Equal parameters, and times of dynamax over ours."""
    made = []
    apart = []
    for K, d in SIZES:
        name = f"{K} states, {d} columns"
        ratio = medians.ratio((name, THEIRS), (name, OURS))
        made.append(Goal(f"EM, dynamax / ours, {name}", ratio, 1.0, 1.0))
        ratio = medians.ratio((name, THEIR_FILTER), (name, FILTER))
        made.append(Goal(f"filter, dynamax / ours, {name}", ratio, 1.0, 1.0))
        difference = medians.figure(name, DIFFERENCE)
        if difference is not None:
            apart.append(difference)
    largest = max(apart) if apart else None
    return [*made, Goal("largest difference", largest, 1e-8, 1e-6, at_most=True)]


BENCHMARKS = {
    "map-estimates": Benchmark(
        "Hidden Markov models with conjugate priors: EM and filters",
        {f"{K} states, {d} columns": partial(race, K, d) for K, d in SIZES},
        goals,
        beside="dynamax",
    )
}
