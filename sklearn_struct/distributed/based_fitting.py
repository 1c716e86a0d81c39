"""The line of `fit` of a model over a base distribution, over partitions: the base, the features
that it shows, and one pass that counts them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sklearn_struct.distributed.based_partitions import (
    bind_rows,
    encode_shown,
    expect,
    look,
    observe_base,
    take_edges,
    values_of,
    with_labels,
)
from sklearn_struct.distributed.merging import Merged, merge, merged_pattern, of_partitions
from sklearn_struct.distributed.objective import ShardedObjective, TiltedObjective
from sklearn_struct.distributed.partitions import Observed, observe
from sklearn_struct.distributed.shards import Shards
from sklearn_struct.distributed.solver_choice import refuse_stochastic
from sklearn_struct.encoding.features.merged_encoders import MERGED
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.prepared_weights import Prepared
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.solving import choice_for_batches, solve
from sklearn_struct.estimators.hidden_markov.hmm import HMM
from sklearn_struct.estimators.m_estimation.base_distribution import read_base
from sklearn_struct.estimators.m_estimation.base_features import choose_features
from sklearn_struct.estimators.m_estimation.locally_uniform import with_uniform_choices
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.objectives.counted_features import Layout
from sklearn_struct.objectives.patterns_of_parts import Columns, Place
from sklearn_struct.objectives.weight_patterns import of_order

__all__ = ["check_based", "learn_based", "pose_based"]

# fits an estimator on partitions
Fit = Callable[[Any, Shards], Any]


def check_based(model: Any) -> None:
    """Raise ValueError or InputTypeError for what cannot be learned on partitions."""
    refuse_stochastic(model.solver)
    if model.distant_pairs is not None:
        raise ValueError("distant_pairs are not for data in partitions: use distant_pairs=None")
    if np.isinf(model.C):
        raise ValueError(
            "C=inf is not for data in partitions: nobody can tell there whether the loss has a "
            "minimum; choose a finite C"
        )
    base = model.base
    if not (base is None or base == "locally-uniform" or isinstance(base, FrozenEstimator | HMM)):
        raise InputTypeError(
            f"base={type(base).__name__} cannot be fitted on partitions: use an HMM, or fit it on "
            "some of the data and give FrozenEstimator(base)"
        )


def learn_based(model: Any, shards: Shards, init: Any, progress: Progress, fit: Fit) -> None:
    """Learn base and weights; `fit` fits the base."""
    objective, layout = pose_based(model, shards, fit)
    w0 = model._start_at(init, layout)
    solver = choice_for_batches(model.solver, model.l1_ratio)
    iterations = Iterations(model._learned, progress, model._iteration_settings())
    learned = solve(model._minimisation(), solver, objective, w0, iterations)
    model.__dict__.update(learned)
    model.n_iter_ = max(model.n_iter_, 1)  # to see that the start is optimal is work, too


def pose_based(model: Any, shards: Shards, fit: Fit) -> tuple[TiltedObjective, Layout]:
    """Read all partitions, and return what is to be minimised; `model` learns base, features, and
    which weights exist.
    """
    n = len(shards)
    model.base_ = _fitted_base(model, shards, fit)
    base = read_base(model.base_, model.order)
    shards.advance(observe_base, [model] * n)
    encoder = choose_features(model.features, base)
    if encoder is not None and type(encoder) not in MERGED:
        names = ", ".join(kind.__name__ for kind in MERGED)
        raise InputTypeError(
            f"features of {type(encoder).__name__} cannot be learned on partitions; these can: "
            f"{names}, and None"
        )
    shards.advance(encode_shown, [encoder] * n, _firsts(shards.ask(values_of)))
    summaries = shards.ask(look)
    merged = merge(model, encoder, summaries)
    model.classes_ = model.base_.classes_
    model.features_ = merged.encoder
    model.distant_pairs_ = None
    shards.advance(take_edges, [labelling.edge_columns for labelling in merged.labellings()])
    observed = shards.ask(observe)
    pattern = merged_pattern(
        merged,
        observed,
        model.n_features_in_,
        model.min_frequency,
        model.transition_features == "observed",
    )
    model._pattern = of_order(pattern, base.order)
    model._stream = None
    model._prepared = Prepared()
    model.t_ = sum(summary.n_sequences for summary in summaries)
    return _bound(model, shards, merged, observed)


def _fitted_base(model: Any, shards: Shards, fit: Fit) -> Any:
    """The base, fitted on all partitions if it is not yet."""
    base = HMM(order=model.order) if model.base is None else model.base
    if isinstance(base, FrozenEstimator):
        return clone(base, safe=False).estimator
    n = len(shards)

    def fitted(kind: Any, alike: bool) -> Any:
        labelled = shards.fork()
        labelled.advance(with_labels, [model] * n, [alike] * n)
        return fit(kind, labelled)

    if not isinstance(base, str):
        return fitted(base, False)
    return with_uniform_choices(fitted(HMM(), False), fitted(HMM(), True))


def _firsts(of_parts: list[list[np.ndarray]]) -> list[list[np.ndarray]]:
    """For each partition and stream the values, by their codes, that no partition before has."""
    known: dict[int, np.ndarray] = {}
    firsts = []
    for streams in of_parts:
        new = []
        for s, codes in enumerate(streams):
            before = known.get(s, np.empty(0, np.int64))
            new.append(np.setdiff1d(codes, before))
            known[s] = np.union1d(before, codes)
        firsts.append(new)
    return firsts


def _bound(
    model: Any, shards: Shards, merged: Merged, observed: list[Observed]
) -> tuple[TiltedObjective, Layout]:
    """The objective, and where its weights are."""
    n = len(shards)
    pattern = model._pattern
    layout = Layout(pattern, model.input_features, model.constant)
    of_shards = of_partitions(pattern, merged, observed)
    total = sum(seen.weight for seen in observed)
    kept = [_kept(columns, model.n_features_in_) for columns in merged.columns]
    places: list[Place] = [
        np.empty(0, np.int64) if seen.pattern is None else _place(part.place, layout, of_all)
        for part, (_, of_all), seen in zip(of_shards, kept, observed, strict=True)
    ]
    own = [columns for columns, _ in kept]
    if model.inputs == "empirical":
        linear = np.zeros(layout.size)
        for place, part in zip(places, shards.ask(expect, of_shards, own), strict=True):
            if part is not None:
                linear[place] += part / total
    else:
        linear = model._expectations(layout, None, np.empty(0))
    shards.advance(bind_rows, of_shards, own, [total] * n)
    plain = ShardedObjective(shards, places, layout.size, int(model.constant), total)
    return TiltedObjective(plain, linear), layout


def _kept(columns: Columns, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The columns of a partition that all data have, and which of theirs they are."""
    if columns is None:
        return np.arange(n), np.arange(n)
    own = np.flatnonzero(columns >= 0)
    return own, columns[own]


def _place(chain: Place, layout: Layout, inputs: np.ndarray) -> np.ndarray:
    """Where the weights of a partition are among those of all."""
    of_inputs, of_chain, _, of_constant = layout.split(np.arange(layout.size))
    if layout.inputs:
        of_inputs = of_inputs[inputs]
    return np.concatenate([of_inputs, of_chain[chain], of_constant])
