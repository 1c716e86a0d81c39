"""From labelled features, as an estimator's parameters give them, to the criteria of its loss."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.batch import chain, csr, ends
from sklearn_struct.encoding import labels as label_codes
from sklearn_struct.encoding import partial_labels, targets
from sklearn_struct.estimators.warning import warn
from sklearn_struct.exceptions import EmptyDataError, NonFiniteError
from sklearn_struct.losses.expectation import Criteria, Fired
from sklearn_struct.sequence_array import SequenceArray

__all__ = ["WITHOUT_LABELS", "WITH_LABELS", "Constraints", "label_set", "read_constraints", "read_shares"]

WITHOUT_LABELS, WITH_LABELS = 10.0, 1.0  # weights of criteria that "auto" stands for


class Constraints(NamedTuple):
    """What the labelled features say: their targets, the criteria, and where these fire."""

    found: list[targets.Target]
    criteria: tuple[Criteria, Criteria]
    fired: Fired


def label_set(estimator: Any, labels: list[Any], offsets: np.ndarray) -> np.ndarray:
    """The sorted labels: those of `classes`, or of y (flat, None where there is none) and the labelled features."""
    if estimator.classes is not None:
        return label_codes.unique_labels(list(estimator.classes), np.array([0, len(estimator.classes)]))
    known = {label for entry in labels if entry is not None for label in partial_labels.options(entry)}
    named = targets.named_labels(estimator.labeled_features or {}, known)
    if not known and not named:
        raise EmptyDataError("there are no labels: neither y has any, nor `labeled_features`, nor `classes`")
    new = sorted({repr(label) for label in named if label not in known}) if known else []
    if new:
        warn(f"labels of labeled_features that y does not have: {', '.join(new)}; give `classes` if they are meant")
    return partial_labels.known_labels([*labels, *named], np.append(offsets, offsets[-1] + len(named)))


def read_constraints(estimator: Any, X: SequenceArray, weight: np.ndarray, free: np.ndarray) -> Constraints:
    """What the labelled features of an estimator say about the tokens of unlabelled sequences (`free`)."""
    K, given = len(estimator.classes_), estimator.labeled_features or {}
    found = targets.read_targets(given, estimator.classes_, estimator.majority, estimator.smoothing)
    strength = _strengths(estimator.constraint_weight, list(given), not np.all(free))
    of_pairs = np.array([len(target.probability) > K for target in found], dtype=bool)
    weight, second = weight * free, np.ones(len(free))
    second[ends(chain(X.offsets))[0]] = 0.0  # no pair ends at a first token
    criteria, fired = [], []
    for chosen, size, tokens in ((~of_pairs, K, np.ones(len(free))), (of_pairs, K * K, second)):
        table = targets.firing(X, [target.feature for target, here in zip(found, chosen, strict=True) if here])
        table = sp.csr_array(sp.diags_array(tokens * (weight > 0)) @ table)
        fires = weight @ table > 0
        for m in np.flatnonzero(chosen)[~fires]:
            warn(f"labeled_features[{found[m].feature!r}] never fires in unlabelled sequences, and counts for nothing")
        kept = np.flatnonzero(chosen)[fires]
        probability = np.array([found[m].probability for m in kept]).reshape(-1, size)
        criteria.append(Criteria(probability, strength[kept], estimator.distance))
        fired.append(csr(table[:, np.flatnonzero(fires)]))
    return Constraints(found, (criteria[0], criteria[1]), Fired(*fired))


def _strengths(weight: Any, features: list[Any], some_labelled: bool) -> np.ndarray:
    """The weight of each criterion."""
    if isinstance(weight, str):
        return np.full(len(features), WITH_LABELS if some_labelled else WITHOUT_LABELS)
    if not isinstance(weight, Mapping):
        weight = dict.fromkeys(features, weight)
    unknown = [feature for feature in weight if feature not in features]
    if unknown:
        raise ValueError(f"constraint_weight has {unknown[0]!r}, which is not among the labeled_features")
    found = np.array([float(weight.get(feature, 1.0)) for feature in features])
    for feature, value in zip(features, found.tolist(), strict=True):
        if not 0 <= value < np.inf:
            raise NonFiniteError(f"constraint_weight[{feature!r}] must be finite and not negative, got {value}")
    return found


def read_shares(annealing: Any) -> list[float]:
    """The parameter `annealing`, checked."""
    found = []
    for share in () if annealing is None else annealing:
        if not isinstance(share, Real) or not 0 <= float(share) < np.inf:
            raise ValueError(f"annealing must hold finite numbers, not negative, got {share!r}")
        found.append(float(share))
    return found
