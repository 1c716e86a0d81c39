"""What a fit of a model over a base distribution does in one partition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.distributed.partitions import (
    Partition,
    Reading,
    Shard,
    Summary,
    has_weight,
    n_sequences,
    n_tokens,
)
from sklearn_struct.encoding.features.merged_encoders import EncoderPart, encoded_part
from sklearn_struct.encoding.features.symbol_sequences import symbols
from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.encoding.sequences import as_list, largest_sum
from sklearn_struct.encoding.two_dimensional_input import has_label_a_row
from sklearn_struct.estimators.fitting.sample_weights import Weights
from sklearn_struct.estimators.m_estimation.base_distribution import read_base
from sklearn_struct.estimators.m_estimation.base_features import features_of, shown_to
from sklearn_struct.estimators.m_estimation.cached_expectations import Given, conditional
from sklearn_struct.estimators.m_estimation.chain_over_base import BasedSequences
from sklearn_struct.estimators.m_estimation.locally_uniform import one_label
from sklearn_struct.exceptions import ForbiddenLabelError
from sklearn_struct.linear.sparse_rows import SparseRows
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.losses_of_rows import Exponential, RowExamples
from sklearn_struct.objectives.counted_features import Layout, counted_features
from sklearn_struct.objectives.patterns_of_parts import Restricted
from sklearn_struct.objectives.rows_objective import RowsObjective

__all__ = [
    "Based",
    "bind_rows",
    "encode_shown",
    "expect",
    "look",
    "observe_base",
    "take_edges",
    "values_of",
    "with_labels",
]


class Based(NamedTuple):
    """A partition as its base reads it, with the weight of each sequence; ``X`` is None if there
    are no tokens.
    """

    model: Any
    X: Any
    y: Any
    weight: np.ndarray
    observed: Any = None
    flat: bool = False

    @property
    def used(self) -> np.ndarray:
        """Which tokens count."""
        return np.repeat(self.weight > 0, np.diff(self.observed.offsets))


def with_labels(given: Any, model: Any, alike: bool) -> Callable[[], Any]:
    """A partition of which labels are known, or, where they are to be `alike`, the same for all
    tokens; it is read when it is needed.
    """
    return partial(_with_labels, given, model, alike)


def _with_labels(given: Any, model: Any, alike: bool) -> Partition:
    partition = Partition.of(given)
    y = as_list(partition.y)
    # a base would go on without
    model._refuse_missing(y)
    return partition._replace(y=one_label(as_list(partition.X), y)) if alike else partition


def observe_base(given: Any, model: Any) -> Based:
    """Read what the fitted base of `model` says of a partition."""
    partition = Partition.of(given)
    X = as_list(partition.X)
    y = as_list(partition.y)
    own = clone(model)
    own.base_ = model.base_
    own.classes_ = model.base_.classes_
    n = n_sequences(X)
    if n_tokens(X, n) == 0:
        return Based(own, None, y, np.zeros(n))
    X = own._checked(X if has_label_a_row(y) else symbols(X), reset=True)
    own._refuse_missing(y)
    given_weight = as_list(partition.sample_weight)
    weight = np.zeros(n)
    if has_weight(given_weight):
        own._refuse_token_weights(given_weight)
        weight = own._read_weight(given_weight, n)
    observed, flat = read_base(own.base_, own.order).observe(X)
    return Based(own, X, y, weight * (np.diff(observed.offsets) > 0), observed, flat)


def values_of(based: Based) -> list[np.ndarray]:
    """The values, by their codes, of each stream of the base."""
    if based.X is None:
        return []
    return read_base(based.model.base_, based.model.order).values_of(based.observed, based.used)


def encode_shown(based: Based, encoder: Any, firsts: list[np.ndarray]) -> Reading:
    """The partition with features of its own, and the codes of its labels."""
    model = based.model
    if based.X is None:
        return Reading(model, None, based.y, None, len(based.weight))
    base = read_base(model.base_, model.order)
    part: EncoderPart = None
    if encoder is None:
        tokens = features_of(None, base, based.X, based.observed)
        if based.flat:
            names = getattr(model, "feature_names_in_", None)
            tokens = SequenceArray(tokens.tokens, tokens.offsets, names)
    else:
        used = based.used
        shown = shown_to(encoder, base, based.X, based.observed, used, firsts)
        tokens, part = encoded_part(encoder, shown)
    model._learn_features(tokens, reset=True)
    model._learn_lengths(tokens.lengths, reset=True)
    sequences: Any = BasedSequences(tokens, based.flat, based.observed)
    codes = model._read_y(based.y, sequences, reset=False)
    impossible = np.flatnonzero(
        (based.weight > 0) & (base.log_joint(based.observed, codes) == -np.inf)
    )
    if len(impossible):
        raise ForbiddenLabelError(
            f"X[{impossible[0]}]: the base gives this sequence with its labels probability 0"
        )
    weights = None
    if np.any(based.weight > 0):
        token = np.repeat(based.weight, tokens.lengths)
        weights = Weights(based.weight, Evidence(labels=codes), token)
    return Reading(
        model, sequences, based.y, None, len(based.weight), part, "encoded", codes, weights
    )


def look(reading: Reading) -> Summary:
    """What others need to know of the features of a partition; labels are those of the base."""
    sequences = reading.sequences
    if sequences is None:
        return Summary("empty", None, {}, [], False, 0.0, reading.n_sequences)
    has = vars(reading.model)
    learned = {name: has.get(name) for name in ("n_features_in_", "_names_in", "_rows_in")}
    labels = label_codes.as_labels(reading.model.classes_)
    size = largest_sum(sequences.X)
    return Summary("encoded", reading.part, learned, labels, False, size, reading.n_sequences)


def take_edges(reading: Reading, columns: np.ndarray | None) -> Reading:
    """The partition that knows which of its columns condition cliques."""
    if reading.sequences is not None and columns is not None:
        reading.model.edge_features = columns.tolist() or None
    return reading


def expect(reading: Reading, restricted: Restricted, kept: np.ndarray) -> np.ndarray | None:
    """What the base expects of the inputs of a partition, times their weights."""
    model = reading.model
    if reading.sequences is None or reading.weights is None:
        return None
    sequences: Any = reading.sequences
    weight = reading.weights.sequence
    base = read_base(model.base_, model.order)
    layout = Layout(restricted.pattern, model.input_features, model.constant)
    mean = conditional(base, layout, Given(sequences, weight), model.n_jobs)
    inputs, *others = layout.split(mean)
    if model.input_features:
        inputs = inputs[kept]
    total: np.ndarray = np.concatenate([inputs, *others]) * weight.sum()
    return total


def bind_rows(reading: Reading, restricted: Restricted, kept: np.ndarray, total: float) -> Shard:
    """The partition's part in the objective, of rows of counts; `kept` are the columns whose
    weights are the same for all labels.
    """
    model = reading.model
    if reading.sequences is None or reading.weights is None or reading.codes is None:
        return Shard(model, None, 0.0)
    X = reading.sequences.X
    rows = counted_features(Layout(restricted.pattern, False, model.constant), X, reading.codes)
    if model.input_features:
        of_all = counted_features(Layout(restricted.pattern, True, False), X, reading.codes)
        rows = sp.csr_array(sp.hstack([of_all[:, kept], rows]))
    data = RowExamples.single(reading.weights.sequence)
    n_free = int(model.constant)
    objective = RowsObjective(SparseRows(rows), Exponential(), data, None, n_free, total)
    return Shard(model, objective, 0.0)
