"""Criteria of labelled features, of data in partitions: targets and weights are those of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.distributed.merging import Merged
from sklearn_struct.distributed.partitions import Reading
from sklearn_struct.distributed.shards import Shards
from sklearn_struct.encoding.labels.label_targets import Target
from sklearn_struct.estimators.chains.target_criteria import (
    TargetCriteria,
    among_allowed,
    columns_of_targets,
    criteria_of,
    firing_of,
    possible_sums,
    targets_of,
)
from sklearn_struct.inference.chains.forbidden import Transitions
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.semi_supervised import is_labelled
from sklearn_struct.objectives.patterns_of_parts import Columns

__all__ = ["pose_criteria"]


class Fires(NamedTuple):
    """How often labelled features of either kind fire in a partition, and whether it has no
    labels.
    """

    sums: tuple[np.ndarray, np.ndarray]
    is_free: bool


def pose_criteria(model: Any, merged: Merged, shards: Shards) -> Loss:
    """The loss of `model` with the criteria of all data; partitions learn where these fire."""
    n = len(shards)
    K = len(merged.classes)
    wanted = model._wanted()
    targets = targets_of(wanted, merged.classes)
    of_all = SequenceArray(sp.csr_array((0, model.n_features_in_)), [0], model._names_in)
    columns = columns_of_targets(of_all, targets)
    of_parts = [_columns_of_part(columns, part, model.n_features_in_) for part in merged.columns]
    shards.advance(fire, [targets] * n, of_parts)
    fires = shards.ask(fired, [_sizes(targets, K)] * n)
    sums = tuple(np.sum(of_kind, axis=0) for of_kind in zip(*(f.sums for f in fires), strict=True))
    is_free = all(of_part.is_free for of_part in fires)
    given = criteria_of(wanted, targets, (sums[0], sums[1]), is_free, K)
    shards.advance(keep, [given.kept] * n)
    transitions = model._training_transitions()
    if transitions is not None:
        parts = shards.ask(possible, [given] * n, [transitions] * n)
        given = among_allowed(given, np.sum(parts, axis=0), merged.classes)
    loss: Loss = model._loss_of(given)
    return loss


def _columns_of_part(columns: Sequence[int], of_part: Columns, n: int) -> list[int]:
    """Where a partition has these columns of all, -1 if it lacks one; that behind the last one of
    all is behind those of the partition.
    """
    if of_part is None:
        return list(columns)
    where = {column: c for c, column in enumerate(of_part.tolist()) if column >= 0}
    where[n] = len(of_part)
    return [where.get(column, -1) for column in columns]


def _sizes(targets: Sequence[Target], K: int) -> tuple[int, int]:
    """How many targets are of labels, and of pairs."""
    n = sum(len(target.probability) <= K for target in targets)
    return n, len(targets) - n


def fire(reading: Reading, targets: list[Target], columns: list[int]) -> Reading:
    """The partition with the places where labelled features fire."""
    sequences = reading.sequences
    if sequences is None or reading.codes is None or reading.weights is None:
        return reading
    X = sequences.X
    free = np.repeat(~is_labelled(reading.codes, X.offsets), X.lengths)
    K = len(reading.model.classes_)
    firing = firing_of(targets, columns, X, reading.weights.token, free, K)
    return reading._replace(firing=firing)


def fired(reading: Reading, sizes: tuple[int, int]) -> Fires:
    """What others need to know of that."""
    is_free = True
    if reading.sequences is not None and reading.codes is not None:
        is_free = not np.any(is_labelled(reading.codes, reading.sequences.X.offsets))
    if reading.firing is None:
        return Fires((np.zeros(sizes[0]), np.zeros(sizes[1])), is_free)
    return Fires(reading.firing.sums, is_free)


def keep(reading: Reading, kept: list[np.ndarray]) -> Reading:
    """The partition with the criteria that fire somewhere."""
    if reading.firing is None or reading.weights is None:
        return reading
    evidence = reading.weights.evidence._replace(fired=reading.firing.of(kept))
    return reading._replace(weights=reading.weights._replace(evidence=evidence), firing=None)


def possible(reading: Reading, given: TargetCriteria, transitions: Transitions) -> np.ndarray:
    """How often labels may stand where criteria fire."""
    sequences = reading.sequences
    if sequences is None or reading.weights is None:
        return np.zeros(sum(criteria.target.size for criteria in given.criteria))
    weights = reading.weights
    K = len(reading.model.classes_)
    where = weights.evidence.fired
    assert where is not None
    return possible_sums(given, where, transitions, sequences.X.offsets, weights.sequence, K)
