"""What labelled features ask for, where they fire, and what a model makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from sklearn_struct.containers.structures import chain, ends, n_columns
from sklearn_struct.containers.typing import SequenceInput
from sklearn_struct.encoding.labels import label_targets
from sklearn_struct.estimators.chains.ge_crf import GECRF
from sklearn_struct.estimators.chains.target_criteria import label_set
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.inspection.fitted_model import as_read, last_step
from sklearn_struct.inspection.optional_imports import pandas

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Reading", "expected", "read_labelled_features", "target_report"]


class Reading(NamedTuple):
    """The labelled features of a model in some sequences."""

    labels: list[Any]
    targets: list[label_targets.Target]
    fired: sp.csr_array  # (n_tokens, n_targets); of pairs at their second tokens
    offsets: np.ndarray

    def names(self, m: int) -> list[Any]:
        """Labels, or pairs of labels, of target m."""
        if len(self.targets[m].probability) == len(self.labels):
            return self.labels
        return [(before, label) for before in self.labels for label in self.labels]

    def votes(self) -> np.ndarray:
        """Which labels the features of each token favour, (n_tokens, n_labels).

        A target favours a label that it gives more than half of the probability, and of a pair the
        second label. A target for all tokens favours none: it says nothing about single tokens.
        """
        K = len(self.labels)
        favoured = np.zeros((len(self.targets), K))
        for m, target in enumerate(self.targets):
            # a target of all tokens, or without a majority, contradicts nobody
            favours = target.feature is not None and target.probability.max() > 0.5
            favoured[m, np.argmax(target.probability) % K] = float(favours)
        votes: np.ndarray = (self.fired > 0).astype(float) @ favoured > 0
        return votes


def read_labelled_features(estimator: BaseEstimator, X: SequenceInput) -> Reading:
    """The targets of a GECRF, and where their features fire in X, as its `fit` would read both."""
    model = last_step(estimator)
    if not isinstance(model, GECRF):
        raise InputTypeError(
            "estimator must be a GECRF, or a pipeline or search with one, got "
            f"{type(model).__name__}"
        )
    if hasattr(model, "classes_"):
        sequences = model._read_X(X, reset=False)
        learned = {
            feature: np.array(list(target.values())) for feature, target in model.targets_.items()
        }
        targets = [
            label_targets.Target(feature, probability, probability > 0)
            for feature, probability in learned.items()
        ]
    else:
        # reading X sets attributes, which must not show in the user's object
        model = clone(model)
        sequences = model._read_X(X, reset=True)
        model.classes_ = label_set(model.classes, model.labeled_features, [], np.array([0]))
        given = model.labeled_features or {}
        targets = label_targets.read_targets(given, model.classes_, model.majority, model.smoothing)
    fired = sp.lil_array(label_targets.firing(sequences.X, [target.feature for target in targets]))
    labels = model.classes_.tolist()
    pairs = np.flatnonzero([len(target.probability) != len(labels) for target in targets])
    fired[np.ix_(ends(chain(sequences.X.offsets))[0], pairs)] = 0  # no pair ends at a first token
    return Reading(labels, targets, sp.csr_array(fired), sequences.X.offsets)


def expected(reading: Reading, model: BaseEstimator, X: SequenceInput) -> list[np.ndarray]:
    """The distribution that a fitted chain expects where the feature of each target fires.

    Labels that the chain does not know have the probability 0.
    """
    known = {label: k for k, label in enumerate(model.classes_.tolist())}
    columns = [known.get(label, -1) for label in reading.labels]
    K = len(known)
    tables = [_rows(model.predict_proba(X), len(known))]
    second = chain(reading.offsets).families[0].nodes[:, 1]
    if any(len(target.probability) != len(columns) for target in reading.targets):
        tables.append(_rows(model.predict_edge_proba(X), n_columns(K, 2)))
    pairs = [j * K + k if min(j, k) >= 0 else -1 for j in columns for k in columns]
    rows = []
    for m, target in enumerate(reading.targets):
        of_pairs = len(target.probability) != len(columns)
        values = reading.fired[:, [m]].toarray()[:, 0]
        # the 0 at the end is what labels with the code -1 get
        sums = np.append((values[second] if of_pairs else values) @ tables[of_pairs], 0.0)
        row = sums[pairs if of_pairs else columns]
        rows.append(row / row.sum() if row.sum() > 0 else np.full(len(row), np.nan))
    return rows


def _rows(tables: np.ndarray, width: int) -> np.ndarray:
    """Ragged or plain probabilities, a row a token or a pair of neighbours."""
    return np.concatenate([np.zeros((0, width)), *(table.reshape(-1, width) for table in tables)])


def target_report(
    estimator: BaseEstimator, X: SequenceInput, *, before: BaseEstimator | None = None
) -> DataFrame:
    """Count where labelled features occur and disagree, and compare targets with a model.

    Read more in :doc:`/user_guide/few_labels`.

    Parameters
    ----------
    estimator : GECRF
        Fitted or not; also a fitted pipeline or search that ends in one.
    X : list of sequences, SequenceArray or array-like
        Unlabelled sequences, as in `fit`.
    before : fitted GECRF or other chain estimator, default=None
        A model to compare with, such as a LinearChainCRF of the few labelled sequences alone.

    Returns
    -------
    pandas.DataFrame
        A row for each labelled feature:

        - ``feature`` (None for all tokens), and the ``label``, or pair of labels, to which its
          target gives the highest probability;
        - ``tokens`` and ``sequences``, in how many the feature fires, and ``share`` of the tokens
          of X;
        - ``conflicts``, the number of tokens where another labelled feature fires that favours a
          different label (a target favours the label that has more than half of the probability;
          the target for all tokens favours none);
        - ``target``, the probability that the target gives the label; ``expected``, the probability
          that the fitted model gives it in X (NaN before `fit`); ``before``, the same of the model
          to compare with, if there is one;
        - ``divergence``, the Kullback-Leibler divergence, in nats, of the model's distribution of
          all labels from the target.

    Raises
    ------
    ImportError
        If pandas is not installed.
    InputTypeError, ValueError
        If `estimator` is no GECRF, or X does not have its features.

    See Also
    --------
    TargetDisplay : The whole distributions as a picture.
    sklearn_struct.GECRF : Learns from labelled features.

    Examples
    --------
    >>> from sklearn_struct import GECRF
    >>> from sklearn_struct.inspection import target_report
    >>> texts = ["rent $ month", "quiet room", "sunny room", "$ 750 month"]
    >>> X = [text.split() for text in texts]
    >>> crf = GECRF({"$": "RENT", "month": "RENT", "room": "SIZE"}).fit(X, [None] * 4)
    >>> target_report(crf, X)[["feature", "label", "tokens", "conflicts", "target"]]
      feature label  tokens  conflicts  target
    0       $  RENT       2          0    0.99
    1   month  RENT       2          0    0.99
    2    room  SIZE       2          0    0.99
    """
    pd = pandas("target_report")
    X = as_read(estimator, X)
    reading = read_labelled_features(estimator, X)
    models = {
        "expected": last_step(estimator),
        **({} if before is None else {"before": last_step(before)}),
    }
    if before is not None:
        check_is_fitted(models["before"])
    disputed = reading.votes().sum(axis=1) > 1
    rows = [_counts(reading, m, disputed) for m in range(len(reading.targets))]
    unknown = [np.full(len(target.probability), np.nan) for target in reading.targets]
    for column, model in models.items():
        expectations = expected(reading, model, X) if hasattr(model, "classes_") else unknown
        for row, target, q in zip(rows, reading.targets, expectations, strict=True):
            row[column] = q[np.argmax(target.probability)]
            row.setdefault("divergence", _divergence(target.probability, q))  # of the first model
    names = [
        "feature",
        "label",
        "tokens",
        "sequences",
        "share",
        "conflicts",
        "target",
        *models,
        "divergence",
    ]
    columns = {name: [row[name] for row in rows] for name in names}
    # as objects, None stays None
    of_names = {name: pd.Series(columns[name], dtype=object) for name in ("feature", "label")}
    return pd.DataFrame(columns | of_names)


def _counts(reading: Reading, m: int, disputed: np.ndarray) -> dict[str, Any]:
    """The columns of the report that need no model."""
    target = reading.targets[m]
    names = reading.names(m)
    best = int(np.argmax(target.probability))
    tokens = np.flatnonzero(reading.fired[:, [m]].toarray())
    sequences = np.unique(np.searchsorted(reading.offsets, tokens, side="right"))
    return {
        "feature": target.feature,
        "label": names[best],
        "tokens": len(tokens),
        "sequences": len(sequences),
        "share": len(tokens) / max(int(reading.offsets[-1]), 1),
        "conflicts": int(disputed[tokens].sum()),
        "target": target.probability[best],
    }


def _divergence(target: np.ndarray, expected: np.ndarray) -> float:
    """sum p log(p / q); nan where q is unknown."""
    asked = target > 0
    with np.errstate(divide="ignore"):
        return float(np.sum(target[asked] * (np.log(target[asked]) - np.log(expected[asked]))))
