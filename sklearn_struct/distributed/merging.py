"""From what partitions say of themselves to what a fit on all data learns of vocabularies, labels
and weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.distributed.partitions import Labelling, Observed, Summary, vectorizer_of
from sklearn_struct.encoding.features.merged_encoders import merged_encoder
from sklearn_struct.estimators.chains.observed_weights import edge_columns
from sklearn_struct.estimators.fitting.sample_weights import balanced, check_sum
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, LengthMismatchError
from sklearn_struct.objectives.patterns_of_parts import (
    Columns,
    Restricted,
    edge_columns_of,
    restricted,
    union,
)
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["Merged", "class_weights", "merge", "merged_pattern", "of_partitions"]


class Merged(NamedTuple):
    """What all partitions together have: the fitted encoder (None if X was encoded), where it has
    the columns of each partition, columns that condition cliques, labels, whether these are masks
    of what may stand at tokens, and the largest sum of features of a token.
    """

    encoder: Any
    columns: list[Columns]
    edges: np.ndarray
    classes: np.ndarray
    has_masks: bool
    size: float

    def labellings(self) -> list[Labelling]:
        """What each partition has to know."""
        return [
            Labelling(
                self.classes,
                self.has_masks,
                edge_columns_of(self.edges, columns) if len(self.edges) else None,
            )
            for columns in self.columns
        ]


def merge(model: Any, encoder: Any, summaries: Sequence[Summary]) -> Merged:
    """Learn, in `model`, features and labels of all partitions."""
    used = [summary for summary in summaries if summary.kind != "empty"]
    if not used:
        raise EmptyDataError("no partition of X has tokens")
    kinds = sorted({summary.kind for summary in used})
    if len(kinds) > 1:
        raise InputTypeError(
            f"partitions of X are of several forms ({', '.join(kinds)}): give all of them in one"
        )
    if kinds == ["attributes"]:
        encoder = vectorizer_of(model)
    fitted = None
    columns: list[Columns] = [None] * len(used)
    if encoder is not None:
        fitted, columns = merged_encoder(encoder, [summary.part for summary in used])
    if kinds == ["attributes"]:
        model.vectorizer_ = fitted
    X = _without_tokens(fitted, used)
    _learn_features(model, X, used)
    model.classes_ = classes = model._class_set(
        [label for summary in used for label in summary.labels]
    )
    edges = edge_columns(model.edge_features, X)
    of_used = iter(columns)
    return Merged(
        fitted,
        [None if summary.kind == "empty" else next(of_used) for summary in summaries],
        edges,
        classes,
        model._masks_of_labels
        or (len(classes) > 1 and any(summary.is_partial for summary in used)),
        max(summary.size for summary in used),
    )


def _without_tokens(encoder: Any, used: Sequence[Summary]) -> SequenceArray:
    """What has the columns of all data, and no token."""
    if encoder is None:
        n = used[0].reading["n_features_in_"]
        names = used[0].reading["_names_in"]
    else:
        empty = encoder.transform([[]])
        n = empty.stored.shape[1]
        names = empty.names
    return SequenceArray(sp.csr_array((0, n)), [0], names)


def _learn_features(model: Any, X: SequenceArray, used: Sequence[Summary]) -> None:
    model._learn_features(X, reset=True)
    model._rows_in = all(summary.reading["_rows_in"] for summary in used)
    if used[0].part is not None:
        return
    for summary in used:
        n = summary.reading["n_features_in_"]
        if n != X.stored.shape[1]:
            raise LengthMismatchError(
                f"tokens of one partition have {X.stored.shape[1]} features, and those of another "
                f"{n}"
            )
        model._check_names(SequenceArray(X.stored, X.offsets, summary.reading["_names_in"]))


def class_weights(model: Any, sums: Sequence[np.ndarray]) -> dict[Any, float]:
    """What "balanced" means, by the weights of labels in all partitions."""
    seen = np.zeros(len(model.classes_))
    for of_partition in sums:
        if len(of_partition):
            seen += of_partition
    return dict(zip(model.classes_.tolist(), balanced(seen).tolist(), strict=True))


def merged_pattern(
    merged: Merged,
    observed: Sequence[Observed],
    n_features: int,
    min_frequency: int,
    observed_transitions: bool,
) -> Pattern:
    """Which weights all data show, often enough; `observed_transitions` says whether transitions,
    too, must be seen.
    """
    parts = [
        (seen.pattern, columns)
        for seen, columns in zip(observed, merged.columns, strict=True)
        if seen.pattern is not None
    ]
    if not parts:
        raise EmptyDataError("no sequence has a positive weight")
    check_sum(np.array([seen.weight for seen in observed]))
    pattern = union(parts, n_features, merged.edges, min_frequency)
    if min_frequency == 1 or not observed_transitions:
        return pattern
    of_parts = [seen.transitions for seen in observed if seen.transitions is not None]
    families = tuple(
        family._replace(columns=np.flatnonzero(np.sum(counts, axis=0) >= min_frequency))
        for family, *counts in zip(pattern.families, *of_parts, strict=True)
    )
    return pattern._replace(families=families)


def of_partitions(
    pattern: Pattern, merged: Merged, observed: Sequence[Observed]
) -> list[Restricted]:
    """The weights that each partition touches."""
    return [
        restricted(pattern, columns)
        if seen.pattern is not None
        else Restricted(pattern._replace(node=None, families=()), np.arange(0))
        for seen, columns in zip(observed, merged.columns, strict=True)
    ]
