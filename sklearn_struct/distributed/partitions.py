"""What a fit does in one partition: read, look, bind, evaluate.

Each function gets the state of a partition. States are values that Dask may move.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.encoding.features.merged_encoders import EncoderPart, encoded_part
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.encoding.sequences import as_list, form, largest_sum
from sklearn_struct.estimators.chains.observed_weights import count_transitions
from sklearn_struct.estimators.chains.target_criteria import Firing
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.fitting.finite_scores import check_learned
from sklearn_struct.estimators.fitting.sample_weights import Weights, is_per_token, of_examples
from sklearn_struct.exceptions import EmptyDataError, InputTypeError
from sklearn_struct.losses.base import Loss
from sklearn_struct.objectives.linear_objective import LinearObjective
from sklearn_struct.objectives.patterns_of_parts import Restricted
from sklearn_struct.objectives.rows_objective import RowsObjective
from sklearn_struct.objectives.weight_patterns import COUNTED, Pattern

__all__ = [
    "Labelling",
    "Observed",
    "Partition",
    "Reading",
    "Shard",
    "Summary",
    "bind",
    "check_weights",
    "has_weight",
    "hess_vec",
    "label",
    "label_sums",
    "n_sequences",
    "n_tokens",
    "observe",
    "read",
    "settled_value_and_grad",
    "statistics",
    "summarise",
    "value_and_grad",
    "weigh",
]


class Partition(NamedTuple):
    """Some of the sequences, their labels and weights, as `fit` takes them."""

    X: Any
    y: Any
    sample_weight: Any = None

    @classmethod
    def of(cls, given: Any) -> Partition:
        """A partition that may be a function, or a tuple (X, y) or (X, y, sample_weight)."""
        given = given() if callable(given) else given
        ours = type(given).__module__.startswith(__name__.rpartition(".")[0])
        if ours and not isinstance(given, cls):
            raise InputTypeError(
                "these partitions served for an earlier fit, which has changed them: make new ones"
            )
        if isinstance(given, tuple) and 2 <= len(given) <= 3:
            return cls(*given)
        raise InputTypeError(
            "a partition is a tuple (X, y) or (X, y, sample_weight), or a function that returns "
            f"one, got {type(given).__name__}"
        )


class Reading(NamedTuple):
    """A partition that has been read.

    ``model`` has the parameters and what it learned when it read X. ``sequences`` are None if there
    are no tokens. ``part`` is the vocabulary of the partition, ``kind`` how X is written,
    ``firing`` where labelled features fire.
    """

    model: Any
    sequences: Sequences | None
    y: Any
    sample_weight: Any
    n_sequences: int
    part: EncoderPart = None
    kind: str = "empty"
    codes: np.ndarray | None = None
    weights: Weights | None = None
    firing: Firing | None = None


class Summary(NamedTuple):
    """What a partition says of itself: no sequence, no token.

    ``reading`` are the learned attributes of a model that has read X, ``size`` the largest sum of
    features of a token.
    """

    kind: str
    part: EncoderPart
    reading: dict[str, Any]
    labels: list[Any]
    is_partial: bool
    size: float
    n_sequences: int


class Labelling(NamedTuple):
    """What all partitions agree in: the labels, whether they are masks of what may stand at tokens,
    and, for each partition, its columns that condition cliques.
    """

    classes: np.ndarray
    has_masks: bool
    edge_columns: np.ndarray | None


class Observed(NamedTuple):
    """Which weights the sequences of a partition show (None: there is nothing to learn from), the
    sum of their weights, and the number of examples. If rare weights are dropped, pairs have
    frequencies as their data, and so have the ``transitions`` of each family.
    """

    pattern: Pattern | None
    weight: float
    n_examples: int
    transitions: list[np.ndarray] | None = None


class Shard(NamedTuple):
    """The part of a partition in the objective; None if there is nothing to learn from."""

    model: Any
    objective: LinearObjective | RowsObjective | None
    size: float


def read(given: Any, model: Any, encoder: Any) -> Reading:
    """Encode the sequences, in columns of the partition's own if these have names."""
    partition = Partition.of(given)
    X = as_list(partition.X)
    y = as_list(partition.y)
    weight = as_list(partition.sample_weight)
    own = clone(model)
    n = n_sequences(X)
    if n_tokens(X, n) == 0:
        return Reading(own, None, y, weight, n)
    part: EncoderPart = None
    kind = "encoded"
    tokens = X
    if encoder is not None:
        tokens, part = encoded_part(encoder, X)
    else:
        kind = form(X)
        if kind == "attributes":
            tokens, part = encoded_part(vectorizer_of(model), X)
    sequences = own._read_X(tokens, reset=True)
    return Reading(own, sequences, y, weight, n, part, kind)


def vectorizer_of(model: Any) -> SequenceVectorizer:
    """The vectorizer with which a model reads dicts and strings."""
    return SequenceVectorizer(dtype=np.dtype(model.dtype).type)


def n_sequences(X: Any) -> int:
    """The number of sequences of a partition."""
    if not hasattr(X, "__len__") and getattr(X, "shape", None) is None:
        raise InputTypeError(f"a partition of X is a {type(X).__name__}, not a list of sequences")
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def n_tokens(X: Any, n: int) -> int:
    """The number of tokens; of what is no list of sequences that of its rows."""
    if n == 0:
        return 0
    stored = getattr(X, "stored", None)
    if stored is not None:
        return int(stored.shape[0])
    if len(getattr(X, "shape", (1,))) == 2:
        return n
    # whatever is no sequence is refused by who reads it
    return sum(_length(sequence) for sequence in X)


def _length(sequence: Any) -> int:
    shape = getattr(sequence, "shape", None)
    if shape:
        return int(shape[0])
    return len(sequence) if hasattr(sequence, "__len__") else 1


def summarise(reading: Reading) -> Summary:
    """What others need to know of a partition."""
    if reading.sequences is None:
        return Summary("empty", None, {}, [], False, 0.0, reading.n_sequences)
    labels, is_partial = reading.model._distinct_labels(reading.y, reading.sequences)
    has = vars(reading.model)
    learned = {name: has.get(name) for name in ("n_features_in_", "_names_in", "_rows_in")}
    size = largest_sum(reading.sequences.X)
    return Summary(
        reading.kind, reading.part, learned, labels, is_partial, size, reading.n_sequences
    )


def label(reading: Reading, labelling: Labelling) -> Reading:
    """The partition with codes of its labels; it forgets their names, and those of features."""
    model = reading.model
    sequences = reading.sequences
    if sequences is None:
        return reading
    model.classes_ = labelling.classes
    edges = labelling.edge_columns
    if edges is not None:
        model.edge_features = edges.tolist() or None
    K = len(labelling.classes)
    codes = model._read_labels(reading.y, sequences, reset=False)
    if labelling.has_masks and codes.ndim == 1:
        codes = np.arange(K) == codes[:, None]
    elif not labelling.has_masks and codes.ndim == 2:
        # of a single label nothing is open
        codes = np.zeros(len(codes), dtype=np.int32)
    return reading._replace(codes=codes, y=None, part=None)


def label_sums(reading: Reading) -> np.ndarray:
    """The weight of the tokens of each label."""
    if reading.sequences is None or reading.codes is None or not _some_weigh(reading):
        return np.zeros(0)
    K = len(reading.model.classes_)
    token = reading.model._read_token_weight(reading.sample_weight, reading.sequences)
    return np.bincount(reading.codes, weights=token, minlength=K)


def _some_weigh(reading: Reading) -> bool:
    return has_weight(reading.sample_weight)


def has_weight(sample_weight: Any) -> bool:
    """Whether a sequence has a weight other than 0; what is no weight counts as one."""
    if sample_weight is None or is_per_token(sample_weight):
        return True
    return bool(np.any(np.asarray(sample_weight) != 0))


def weigh(reading: Reading, class_weight: Any) -> Reading:
    """The partition with weights, none if none of its sequences has one."""
    model = reading.model
    sequences = reading.sequences
    # where none counts, others may
    if sequences is None or not _some_weigh(reading):
        return reading
    if class_weight is not None:
        model.class_weight = class_weight
    try:
        weights = model._weights_of_part(reading.sample_weight, sequences, reading.codes)
    except EmptyDataError:  # nor does a token, or a sequence that has labels
        return reading
    return reading._replace(weights=weights, sample_weight=None)


def observe(reading: Reading) -> Observed:
    """Which weights a partition shows."""
    weights = reading.weights
    if reading.sequences is None:
        return Observed(None, _weight_of_empty(reading), 0)
    if weights is None or reading.codes is None:
        return Observed(None, 0.0, 0)
    X = reading.sequences.X
    model = reading.model
    transitions = None
    if model.min_frequency > 1:
        choice = model._weight_choice()
        K = len(model.classes_)
        transitions = count_transitions(choice, K, X, reading.codes, weights.token)
        # what is rare here may be frequent in all data
        model = copy.copy(model)
        model.min_frequency = COUNTED
    pattern = model._observe(reading.sequences, reading.codes, weights.token)
    learnable = (weights.sequence != 0) & (X.lengths > 0)
    return Observed(
        pattern, float(weights.sequence.sum()), int(np.count_nonzero(learnable)), transitions
    )


def _weight_of_empty(reading: Reading) -> float:
    """The sum of the weights of sequences without tokens, which count in means."""
    if reading.n_sequences == 0 or not _some_weigh(reading) or is_per_token(reading.sample_weight):
        return 0.0
    return float(of_examples(reading.sample_weight, reading.n_sequences, "sequence").sum())


def bind(
    reading: Reading,
    restricted: Restricted,
    solver: str,
    total: float,
    size: float,
    loss: Loss | None,
) -> Shard:
    """The partition's part in the objective of all data, whose weights sum to `total`; `size` is
    their largest sum of features of a token, `loss` what all data make of the model's own.
    """
    model = reading.model
    if reading.sequences is None or reading.weights is None:
        return Shard(model, None, 0.0)
    model._pattern = restricted.pattern
    loss = model._loss(reading.weights.evidence) if loss is None else loss
    potentials, data = model._bound(reading.sequences, reading.weights, total)
    return Shard(model, model._objective(solver, potentials, loss, data), size)


def value_and_grad(shard: Shard, w: np.ndarray) -> tuple[float, np.ndarray]:
    """What a partition adds to the value of the objective, and to its gradient."""
    if shard.objective is None:
        return 0.0, np.zeros(len(w))
    with _threads(shard.objective, shard.model.n_jobs):
        return shard.objective.value_and_grad(w)


def statistics(shard: Shard, w: np.ndarray, loss: Loss) -> np.ndarray | None:
    """The sums on which a loss depends that couples examples."""
    if not isinstance(shard.objective, LinearObjective):
        return None
    with _threads(shard.objective, shard.model.n_jobs):
        return shard.objective.statistics(w, loss)


def settled_value_and_grad(shard: Shard, w: np.ndarray, loss: Loss) -> tuple[float, np.ndarray]:
    """What a partition adds to the value and the gradient of a loss of single examples."""
    if not isinstance(shard.objective, LinearObjective):
        return 0.0, np.zeros(len(w))
    with _threads(shard.objective, shard.model.n_jobs):
        return shard.objective.settled_value_and_grad(w, loss)


def hess_vec(shard: Shard, w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """What a partition adds to the second derivative at w, times v."""
    if shard.objective is None:
        return np.zeros(len(w))
    with _threads(shard.objective, shard.model.n_jobs):
        return shard.objective.hess_vec(w, v)


@contextmanager
def _threads(objective: LinearObjective | RowsObjective, n_jobs: int | None) -> Iterator[None]:
    """Lend threads to an objective, and not to a copy, as that would make all its tables again."""
    with Pool(n_jobs) as pool, np.errstate(over="ignore", invalid="ignore"):
        objective.pool = pool
        try:
            yield
        finally:
            objective.pool = None


def check_weights(shard: Shard, w: np.ndarray) -> None:
    """Raise NonFiniteError unless scores are as predictions need them."""
    if isinstance(shard.objective, LinearObjective):
        check_learned(shard.objective, w, shard.size, shard.model._score_of)
