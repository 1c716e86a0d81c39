"""Spectral estimation of grammars with states, on trees drawn from known ones: error by size, and
against EM.

The error is the mean of |p / p0 - 1| over new trees, for their estimated and true probabilities; it
should fall as one over the root of the number of trees (Cohen et al. 2012, theorem 3). EM is the
package's own, the most likely of three random starts after 100 iterations each. Both know the
number of states. All figures are means over five grammars. Beside estimates from all nodes there
are those from one node a tree, with the weights that make them right, and counted once, as section
6.1 of the paper has it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from lib.curves import slope
from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source

SPECTRAL = "spectral"
ONE = "one node a tree"
ONCE = "one node a tree, counted once"
EM = "EM"
SLOPE = "slope (log-log)"
ERROR = "error"
SECONDS = "CPU s"
SEEDS = range(5)
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
COMPARED = 30_000
N_STATES = 2
N_TEST = 1_000
RESTARTS = 3
ITERATIONS = 100


def spectral_estimate(grammar: Any, forest: Any, weight: np.ndarray | None = None) -> Any:
    from papers import latent_grammar as words
    from sklearn_struct.grammars import node_features as rules
    from sklearn_struct.grammars.spectral_states import estimate, project

    inside = words.anything, rules.rule, rules.leaf, rules.left_rule, rules.right_rule
    inside += rules.first_leaf, rules.last_leaf, words.left_word, words.right_word
    outside = words.anything, rules.above, rules.two_above
    outside += rules.leaf_before, rules.leaf_after, words.sibling_word, words.sibling_rule
    given = rules.nodes(forest)
    n_symbols = len(grammar.n_states)
    phi, psi = (rules.indicators(given, functions, n_symbols) for functions in (inside, outside))
    sums = words.leaf_counts(forest, len(grammar.leaf_symbol))
    return estimate(
        grammar.treebank(forest),
        project(phi, psi, forest.symbol, N_STATES, weight, "exact"),
        lambda rows: sums @ rows,
    )


def sampled_estimate(grammar: Any, forest: Any, seed: int, once: bool) -> Any:
    """From one node a tree."""
    from sklearn_struct.grammars.spectral_states import one_a_tree

    rng = np.random.RandomState(seed)
    return spectral_estimate(grammar, forest, one_a_tree(forest.offsets, rng, once))


def em_estimate(grammar: Any, forest: Any, seed: int, iterations: int) -> Any:
    """The most likely of some starts."""
    from papers.latent_grammar import leaf_counts
    from sklearn_struct.compiled.threads import Pool
    from sklearn_struct.grammars.latent_em import LatentEM
    from sklearn_struct.solvers.em import em

    rng = np.random.RandomState(seed)
    sums = leaf_counts(forest, len(grammar.leaf_symbol))
    with Pool(1) as pool:
        steps = LatentEM(
            grammar.treebank(forest), lambda rows: sums @ rows, grammar.n_states, 0.0, pool
        )
        starts = [steps.random_start(rng) for _ in range(RESTARTS)]
        results = [
            em(steps.expect, steps.maximise, start, max_iter=iterations, tol=-np.inf)
            for start in starts
        ]
    return max(results, key=lambda result: result.value).w


def measured(method: Any, sizes: Any, watch: Stopwatch) -> tuple[np.ndarray, np.ndarray]:
    """Errors and CPU seconds, by grammar and number of trees."""
    from papers.latent_grammar import LatentGrammar

    seeds = SEEDS[:1] if watch.quick else SEEDS
    errors, seconds = np.empty((2, len(seeds), len(sizes)))
    method(LatentGrammar(0), LatentGrammar(0).trees(50, 0), 0)  # loads the kernels
    for s in seeds:
        grammar = LatentGrammar(s)
        test = grammar.trees(N_TEST, seed=1000)
        for i, n in enumerate(sizes):
            forest = grammar.trees(n, seed=s)
            start = time.process_time()
            estimated = method(grammar, forest, s)
            seconds[s, i] = time.process_time() - start
            errors[s, i] = grammar.error(estimated, test)
    return errors, seconds


def sampled(once: bool) -> Callable[[Stopwatch], dict[str, float]]:
    """Errors of estimates from one node a tree."""

    def errors(watch: Stopwatch) -> dict[str, float]:
        sizes = [n // 30 for n in SIZES] if watch.quick else SIZES
        errors_by_size, _ = measured(
            lambda grammar, forest, seed: sampled_estimate(grammar, forest, seed, once),
            sizes,
            watch,
        )
        return {
            f"{ERROR}, {n:,} trees": float(mean)
            for n, mean in zip(SIZES, errors_by_size.mean(axis=0), strict=True)
        }

    return errors


def spectral(watch: Stopwatch) -> dict[str, float]:
    sizes = [n // 30 for n in SIZES] if watch.quick else SIZES
    errors, seconds = measured(
        lambda grammar, forest, seed: spectral_estimate(grammar, forest), sizes, watch
    )
    figures = {
        f"{ERROR}, {n:,} trees": float(mean)
        for n, mean in zip(SIZES, errors.mean(axis=0), strict=True)
    }
    slopes = [slope(sizes, row) for row in errors]
    figures |= {
        SLOPE: slope(sizes, errors.mean(axis=0)),
        "steepest": min(slopes),
        "flattest": max(slopes),
    }
    return figures | {
        f"{COMPARED:,} trees, {SECONDS}": float(seconds.mean(axis=0)[SIZES.index(COMPARED)])
    }


def expectation_maximisation(watch: Stopwatch) -> dict[str, float]:
    warnings.simplefilter("ignore")
    size, iterations = (COMPARED // 30, 5) if watch.quick else (COMPARED, ITERATIONS)
    errors, seconds = measured(lambda *given: em_estimate(*given, iterations), [size], watch)
    return {
        f"{ERROR}, {COMPARED:,} trees": errors.mean(),
        f"{COMPARED:,} trees, {SECONDS}": seconds.mean(),
    }


def goals(medians: Medians) -> list[Goal]:
    steepness = medians.figure(SPECTRAL, SLOPE)
    off = None if steepness is None else abs(steepness + 0.5)
    times, errors = (
        medians.ratio((SPECTRAL, name), (EM, name))
        for name in (f"{COMPARED:,} trees, {SECONDS}", f"{ERROR}, {COMPARED:,} trees")
    )
    return [
        Goal(
            "spectral estimates, error by number of trees: |slope + 0.5|",
            off,
            0.07,
            0.07,
            at_most=True,
        ),
        Goal("time, spectral / EM", times, 0.1, 0.1, at_most=True),
        Goal("error, spectral / EM", errors, 1.15, 1.15, at_most=True),
    ]


BENCHMARKS = {
    "spectral": Benchmark(
        f"Error and time of {len(SEEDS)} known grammars with {N_STATES} states, learned from trees",
        {},
        goals,
        once={
            SPECTRAL: spectral,
            ONE: sampled(once=False),
            ONCE: sampled(once=True),
            EM: expectation_maximisation,
        },
        papers=(Source("cohen-2012", "theorem 3"),),
    )
}
