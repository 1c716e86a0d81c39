"""Expectations of an M-estimated model's features under its base, from a cache if there is one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_memory

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.encoding.features.templates import FeatureTemplates
from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.estimators.m_estimation.base_distribution import HiddenBase, read_base
from sklearn_struct.estimators.m_estimation.base_features import features_of
from sklearn_struct.estimators.m_estimation.distant_features import Distant
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.objectives.counted_features import Layout, counted_features
from sklearn_struct.objectives.expected_features import conditional_features, expected_features
from sklearn_struct.objectives.linear_potentials import bind

__all__ = ["Given", "Sampling", "conditional", "expectations"]


class Given(NamedTuple):
    """Inputs over which expectations are taken, with the weights of the sequences."""

    sequences: Any
    weight: np.ndarray


class Sampling(NamedTuple):
    """How many sequences to draw, what to add to the count of each feature, and the seed."""

    n: int
    smoothing: float
    seed: int


def expectations(
    fitted: Any,
    encoder: Any,
    layout: Layout,
    over: Given | Sampling | None,
    memory: Any,
    n_jobs: int | None,
    distant: Distant | None = None,
) -> np.ndarray:
    """Expected counts under a fitted base: of given inputs, of drawn sequences, or (None) of all
    that there are. Pairs of tokens at any distance are not expected of given inputs.
    """
    given = over if isinstance(over, Given) else None
    sampling = over if isinstance(over, Sampling) else None
    # bits do not depend on the threads
    cached = check_memory(memory).cache(_expected, ignore=["n_jobs"])
    expected: np.ndarray = cached(fitted, encoder, layout, given, sampling, n_jobs, distant)
    return expected


def _expected(
    fitted: Any,
    encoder: Any,
    layout: Layout,
    given: Given | None,
    sampling: Sampling | None,
    n_jobs: int | None,
    distant: Distant | None,
) -> np.ndarray:
    """Under p(y | x) of the given inputs; or over drawn sequences; else exactly."""
    base = read_base(fitted, layout.pattern.order)
    if given is not None:
        return conditional(base, layout, given, n_jobs)
    if sampling is not None:
        return _sampled(base, encoder, layout, sampling, distant)
    if not (
        isinstance(base, HiddenBase) and (encoder is None or isinstance(encoder, FeatureTemplates))
    ):
        raise ValueError(
            "exact expectations need a hidden Markov model as base and FeatureTemplates as "
            "features; "
            "use expectations='sampled'"
        )
    with Pool(1):  # BLAS keeps to one thread
        of_pairs = None if distant is None else distant.expected(base)
        return expected_features(*base.chain(encoder), layout, of_pairs)


def conditional(base: Any, layout: Layout, given: Given, n_jobs: int | None) -> np.ndarray:
    """The mean over given inputs of what the base's p(y | x) expects."""
    X = given.sequences.X
    weight = given.weight
    inference = Chain(layout.pattern.order)
    structure = inference.structure(X.offsets)
    potentials = bind(layout.pattern, X, structure, np.dtype(np.float64))
    of_base = base.potentials(given.sequences.observed)
    with Pool(n_jobs) as pool:
        weights = conditional_features(of_base, potentials, inference, structure, weight, pool)
    inputs = X.tokens.T @ (np.repeat(weight, X.lengths) / weight.sum())
    return layout.join(inputs, weights, 1.0)


def _sampled(
    base: Any, encoder: Any, layout: Layout, sampling: Sampling, distant: Distant | None
) -> np.ndarray:
    """Means over drawn sequences (Smith, Vail & Lafferty 2007, eq. 7)."""
    X, y = base.model.sample(sampling.n, random_state=sampling.seed)
    X = as_list(X)
    observed, _ = base.observe(X)
    tokens = features_of(encoder, base, X, observed)
    flat = label_codes.flatten(as_list(y), tokens.offsets)
    codes = label_codes.encode(flat, base.model.classes_, tokens.offsets)
    pairs = None
    if distant is not None:
        sides = distant.read(base, X, observed)
        pairs = distant.counts(sides, codes, layout.pattern.n_labels)
    total = np.asarray(counted_features(layout, tokens, codes, pairs).sum(axis=0), np.float64)
    # features that the sample never shows would be expected 0 times, and their weights grow without
    # bound
    total[: layout.size - layout.constant] += sampling.smoothing
    return total / sampling.n
