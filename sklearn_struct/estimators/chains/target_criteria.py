"""From labelled features, as an estimator's parameters give them, to the criteria of its loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct._warning import warn
from sklearn_struct.containers.csr import csr
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import blank, chain, ends, n_columns
from sklearn_struct.encoding.labels import label_codes, label_targets, partial_labels
from sklearn_struct.exceptions import EmptyDataError, ForbiddenLabelError
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.forbidden import Transitions, forbid
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.evidence import Evidence, Fired
from sklearn_struct.losses.expectation_criteria import Criteria, Expectation
from sklearn_struct.losses.posterior_regularisation import (
    NearestLabellings,
    PosteriorRegularisation,
)

__all__ = [
    "POSTERIOR",
    "Firing",
    "TargetCriteria",
    "Wanted",
    "among_allowed",
    "columns_of_targets",
    "criteria_of",
    "firing_of",
    "label_set",
    "loss_of",
    "possible_sums",
    "read_criteria",
    "read_shares",
    "targets_of",
]

POSTERIOR = "posterior"  # posterior regularisation, in the place of a distance of expectations

# weights of criteria that "auto" stands for
WITHOUT_LABELS = 10.0
WITH_LABELS = 1.0
OF_POSTERIOR = 20.0  # no multiplier of a constraint that can be met comes near to it


class Wanted(NamedTuple):
    """What the parameters of an estimator say of labelled features and of their distances."""

    labeled_features: Mapping[Any, Any]
    target_weight: str | float | Mapping[Any, float]
    distance: str
    majority: float
    smoothing: float


class TargetCriteria(NamedTuple):
    """What the labelled features say: their targets, the criteria, and whose targets these have, by
    numbers among the targets of labels, and among those of pairs.
    """

    targets: list[label_targets.Target]
    criteria: tuple[Criteria, Criteria]
    kept: list[np.ndarray]


def label_set(
    classes: Any,
    labeled_features: Mapping[Any, Any] | None,
    labels: list[Any],
    offsets: np.ndarray,
) -> np.ndarray:
    """The sorted labels: those of `classes`, or of y (flat, None where there is none) and the
    labelled features.
    """
    if classes is not None:
        if len(classes) == 0:
            raise EmptyDataError("classes has no labels")
        checked = label_targets.checked_labels(list(classes), "classes")
        return label_codes.unique_labels(checked, np.array([0, len(checked)]))
    known = (
        set(partial_labels.known_labels(labels, offsets).tolist())
        if any(entry is not None for entry in labels)
        else set()
    )
    named = label_targets.named_labels(labeled_features or {}, known)
    if not known and not named:
        raise EmptyDataError(
            "there are no labels: neither y has any, nor `labeled_features`, nor `classes`"
        )
    new = sorted({repr(label) for label in named if label not in known}) if known else []
    if new:
        warn(
            f"labels of labeled_features that y does not have: {', '.join(new)}; give `classes` if "
            "they are meant"
        )
    return partial_labels.known_labels(
        [*labels, *named], np.append(offsets, offsets[-1] + len(named))
    )


def read_criteria(
    wanted: Wanted, classes: np.ndarray, X: SequenceArray, weight: np.ndarray, free: np.ndarray
) -> tuple[TargetCriteria, Fired]:
    """What labelled features say about the tokens of unlabelled sequences (`free`), and where."""
    targets = targets_of(wanted, classes)
    columns = columns_of_targets(X, targets)
    firing = firing_of(targets, columns, X, weight, free, len(classes))
    given = criteria_of(wanted, targets, firing.sums, bool(np.all(free)), len(classes))
    return given, firing.of(given.kept)


def targets_of(wanted: Wanted, classes: np.ndarray) -> list[label_targets.Target]:
    """The targets of all labelled features."""
    return label_targets.read_targets(
        wanted.labeled_features, classes, wanted.majority, wanted.smoothing
    )


def columns_of_targets(X: SequenceArray, targets: list[label_targets.Target]) -> list[int]:
    """The column of X of each labelled feature; that behind the last one is always 1."""
    return label_targets.firing_columns(X, [target.feature for target in targets])


def _of_pairs(targets: list[label_targets.Target], K: int) -> np.ndarray:
    """Which targets are of label pairs."""
    return np.array([len(target.probability) > K for target in targets], dtype=bool)


class Firing(NamedTuple):
    """Where the features of targets of labels, and of targets of pairs, fire in the tokens of
    unlabelled sequences: tables (n_tokens, n), and their weighted sums.
    """

    tables: tuple[sp.csr_array, sp.csr_array]
    sums: tuple[np.ndarray, np.ndarray]

    def of(self, kept: list[np.ndarray]) -> Fired:
        """Those of some features of either kind, by their numbers among these."""
        node, edge = (csr(table[:, m]) for table, m in zip(self.tables, kept, strict=True))
        return Fired(node, edge)


def firing_of(
    targets: list[label_targets.Target],
    columns: list[int],
    X: SequenceArray,
    weight: np.ndarray,
    free: np.ndarray,
    K: int,
) -> Firing:
    """Where labelled features, whose columns in X are given, fire; -1 is one that never does."""
    of_pairs = _of_pairs(targets, K)
    # labelled sequences say what they have to say by themselves
    weight = weight * free
    second = np.ones(len(free))
    second[ends(chain(X.offsets))[0]] = 0.0  # no pair ends at a first token
    tables = []
    sums = []
    for chosen, tokens in ((~of_pairs, np.ones(len(free))), (of_pairs, second)):
        numbers = np.flatnonzero(chosen)
        table = label_targets.firing_at(
            X, [columns[m] for m in numbers], [targets[m].feature for m in numbers]
        )
        table = sp.csr_array(sp.diags_array(tokens * (weight > 0)) @ table)
        tables.append(table)
        sums.append(weight @ table)
    node, edge = tables
    return Firing((node, edge), (sums[0], sums[1]))


def criteria_of(
    wanted: Wanted,
    targets: list[label_targets.Target],
    sums: tuple[np.ndarray, np.ndarray],
    all_free: bool,
    K: int,
) -> TargetCriteria:
    """The criteria of the labelled features that fire, which `sums` say; `all_free` says that no
    sequence is labelled.
    """
    # "auto" depends on whether there are labelled sequences
    auto = WITHOUT_LABELS if all_free else WITH_LABELS
    if wanted.distance == POSTERIOR:
        auto = OF_POSTERIOR
    strength = _strengths(wanted.target_weight, list(wanted.labeled_features), auto)
    of_pairs = _of_pairs(targets, K)
    criteria = []
    kept = []
    for chosen, size, fired in (
        (~of_pairs, K, sums[0] > 0),
        (of_pairs, n_columns(K, 2), sums[1] > 0),
    ):
        numbers = np.flatnonzero(chosen)
        for m in numbers[~fired]:
            warn(
                f"labeled_features[{targets[m].feature!r}] never fires in unlabelled sequences, "
                "and counts for nothing"
            )
        kept.append(np.flatnonzero(fired))
        asked = [_asked(targets[m], wanted.distance) for m in numbers[fired]]
        probability = np.array(asked).reshape(-1, size)
        criteria.append(Criteria(probability, strength[numbers[fired]], wanted.distance))
    return TargetCriteria(targets, (criteria[0], criteria[1]), kept)


def _asked(target: label_targets.Target, distance: str) -> np.ndarray:
    """A distribution, or the least shares of the labels that are named."""
    if distance != POSTERIOR:
        return target.probability
    return np.where(target.named, target.probability, 0.0)


def loss_of(given: TargetCriteria, distance: str, entropy_weight: float) -> Loss:
    """What is minimised of unlabelled sequences."""
    if distance != POSTERIOR:
        return Expectation(Chain(), *given.criteria, entropy_weight)
    if entropy_weight:
        raise ValueError(
            "entropy_weight goes with distance='kl' or 'squared'; with 'posterior' use "
            f"entropy_weight=0, got {entropy_weight}"
        )
    return PosteriorRegularisation(NearestLabellings(Chain(), *given.criteria))


def possible_sums(
    given: TargetCriteria,
    fired: Fired,
    transitions: Transitions,
    offsets: np.ndarray,
    weight: np.ndarray,
    K: int,
) -> np.ndarray:
    """How often labels stand where criteria fire, if all labellings that are allowed are equally
    probable: 0 for what is never possible.
    """
    inference = Chain()
    loss = Expectation(inference, *given.criteria)
    evidence = Evidence(fired=fired)
    sums = np.zeros(sum(criteria.target.size for criteria in given.criteria))
    for block in inference.blocks(inference.structure(offsets), K):
        theta = forbid(blank(block.structure, K), block.structure, transitions)
        of_block = evidence.part(block.tokens)
        sums += loss.statistics(Batch(theta, of_block, block.structure, weight[block.examples]))
    return sums


def among_allowed(given: TargetCriteria, sums: np.ndarray, classes: np.ndarray) -> TargetCriteria:
    """The targets without labels that transitions forbid wherever a feature fires, as
    `possible_sums` say; others share what these had.

    ForbiddenLabelError if such a label was asked for by name.
    """
    K = len(classes)
    of_pairs = _of_pairs(given.targets, K)
    criteria = []
    parts = np.split(sums, [given.criteria[0].target.size])
    for old, numbers, part, chosen in zip(
        given.criteria, given.kept, parts, (~of_pairs, of_pairs), strict=True
    ):
        possible = part.reshape(old.target.shape) > 0
        for m, row in zip(np.flatnonzero(chosen)[numbers], possible, strict=True):
            _check_named(given.targets[m], row, classes.tolist())
        # no model could reach what is forbidden
        left = np.where(possible, old.target, 0.0)
        # least shares are none of what other labels cannot have
        total = 1.0 if old.distance == POSTERIOR else left.sum(axis=1, keepdims=True)
        criteria.append(old._replace(target=left / total))
    return given._replace(criteria=(criteria[0], criteria[1]))


def _check_named(target: label_targets.Target, possible: np.ndarray, labels: list[Any]) -> None:
    wrong = np.flatnonzero(target.named & ~possible)
    if len(wrong):
        K = len(labels)
        code = int(wrong[0])
        name = labels[code] if len(possible) == K else (labels[code // K], labels[code % K])
        raise ForbiddenLabelError(
            f"labeled_features[{target.feature!r}]: allowed_transitions forbid {name!r} wherever "
            "the feature fires, "
            "and constrain_training=True learns among allowed labellings only"
        )


def _strengths(
    weight: str | float | Mapping[Any, float], features: list[Any], auto: float
) -> np.ndarray:
    """The weight of each criterion."""
    if isinstance(weight, str):
        return np.full(len(features), auto)
    if not isinstance(weight, Mapping):
        weight = dict.fromkeys(features, weight)
    unknown = [feature for feature in weight if feature not in features]
    if unknown:
        raise ValueError(
            f"target_weight has {unknown[0]!r}, which is not among the labeled_features"
        )
    return np.array(
        [
            label_targets.not_negative(weight.get(feature, 1.0), f"target_weight[{feature!r}]")
            for feature in features
        ]
    )


def read_shares(annealing: Iterable[float] | None) -> list[float]:
    """The parameter `annealing`, checked."""
    shares: list[float] = []
    for share in () if annealing is None else annealing:
        if not isinstance(share, Real) or not 0 <= float(share) < np.inf:
            raise ValueError(f"annealing must hold finite numbers, not negative, got {share!r}")
        shares.append(float(share))
    return shares
