"""Labels of a row as nodes of a graph: how they are read, and what is learned of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_feature_names,
    _num_samples,
    check_is_fitted,
    validate_data,
)

from sklearn_struct.containers.csr import CSR
from sklearn_struct.containers.memory_checks import reserve
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Family, Potentials, Structure, zeros
from sklearn_struct.encoding.graphs import EDGES
from sklearn_struct.encoding.label_edges import label_edges
from sklearn_struct.encoding.labels.label_matrix import codes_in, read_matrix
from sklearn_struct.encoding.parameter_checks import check_params
from sklearn_struct.encoding.sequences import as_list, form
from sklearn_struct.estimators.fitting.finite_scores import NodePlace
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.sample_weights import of_examples
from sklearn_struct.estimators.graphs.base_graph import Graphs, Template
from sklearn_struct.estimators.graphs.base_graph_crf import BaseGraphCRF
from sklearn_struct.estimators.graphs.clique_features import CliqueFeatures
from sklearn_struct.estimators.multilabel.decision_values import (
    Labels,
    fitted_for,
    values_of,
    values_of_unseen,
)
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.graphs.label_sets import LabelSets
from sklearn_struct.objectives.linear_potentials import Inputs, InTurn
from sklearn_struct.objectives.weight_patterns import CliquePattern, Pattern, split

__all__ = ["ROW", "BaseMultiLabel", "pattern_of"]

ROW = "row"
# of labels whose sums are exact where that is asked for
MOST_SETS = 2.0**20


class BaseMultiLabel(BaseGraphCRF):
    """A node of two labels for each label of a row, all of which share the row's features.

    It has the parameters `edges`, `estimator` and `cv`.
    """

    edges: Any
    estimator: Any
    cv: Any

    # ---- what was learned

    @property
    def coef_(self) -> np.ndarray:
        """Weights (n_labels, n_features) of features for each label."""
        pattern = self._fitted("_pattern")
        weights = self._segments().node
        if pattern.node is None:
            return weights.reshape(pattern.n_features, pattern.n_sharing).T.copy()
        return np.diag(weights)

    @property
    def intercept_(self) -> np.ndarray:
        """Unpenalised weight (n_labels,) of each label; zeros with ``fit_intercept=False``."""
        intercept = self._segments().intercept
        return intercept.copy() if len(intercept) else np.zeros(self._pattern.n_sharing)

    @property
    def pair_weights_(self) -> np.ndarray:
        """Weights (n_edges, 2, 2) of each pair of labels in ``edges_``."""
        return self._segments().features[0].reshape(-1, 2, 2).copy()

    @property
    def associations_(self) -> np.ndarray:
        """Log-odds ratios (n_labels, n_labels) of the tables of pairs of labels."""
        tables = self.pair_weights_
        ratios = tables[:, 1, 1] + tables[:, 0, 0] - tables[:, 0, 1] - tables[:, 1, 0]
        n = self._pattern.n_sharing
        matrix = np.zeros((n, n))
        first, second = self.edges_.T
        matrix[first, second] = matrix[second, first] = ratios
        return matrix

    # ---- reading

    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None:
        X = as_list(X)
        y = as_list(y)
        if self.estimator is None:
            check_table(X)
        n_rows = _num_samples(X)
        if y is None:
            self._read_y(y, None, True)  # type: ignore[arg-type] # which says that it is needed
        matrix = read_matrix(y, n_rows)
        weight = of_examples(sample_weight, n_rows, ROW)
        self._one = matrix.single
        self.classes_: Any = matrix.classes[0] if matrix.single else matrix.classes
        self.edges_ = label_edges(self.edges, matrix.codes, weight)
        # nodes are made of rows before labels are read
        self.estimators_: list[Any] | None = None
        self._given = Labels(matrix.codes, None if sample_weight is None else weight)
        super()._fit(X, matrix, weight, init, progress)
        del self._given

    def _read_X(self, X: Any, reset: bool) -> Any:
        if not reset:
            check_is_fitted(self)
            check_params(self, *self._settings)
            X = as_list(X)
        if self._by_estimator(reset):
            tokens = self._values(X, reset)
            X = SequenceArray(tokens, np.arange(tokens.shape[0] + 1))
        else:
            check_table(X)
            X = self._read_nodes(X, reset).X
        if reset:
            self.templates_ = {EDGES: Template(2, False, CliqueFeatures(EDGES))}
            self.templates_[EDGES].features.width = len(self.edges_)
        in_turn = InTurn(len(self.edges_))
        return Graphs(X, True, self._labels_as_nodes(len(X)), [in_turn])

    def _by_estimator(self, reset: bool) -> bool:
        """Whether features of labels are what a classifier says of them."""
        return self.estimator is not None if reset else self.estimators_ is not None

    def _values(self, X: Any, reset: bool) -> sp.csr_array:
        """What the classifiers say of each label."""
        if not reset:
            # how many features there are is looked at by the classifiers
            _check_feature_names(self, X, reset=False)
            known = values_of(self.estimators_ or [], X, _num_samples(X))
            return sp.csr_array(known, dtype=self.dtype)
        validate_data(self, X, skip_check_array=True)
        labels = self._given
        seed = 0
        if self.random_state is not None:
            seed = check_random_state(self.random_state).randint(2**31 - 1)
        values = values_of_unseen(self.estimator, X, labels, self.cv, seed)
        self.estimators_ = fitted_for(self.estimator, X, labels)
        return sp.csr_array(values, dtype=self.dtype)

    def _labels_as_nodes(self, n_rows: int) -> Structure:
        """A node for each label of each row, and the edges between those of a row."""
        n = self._n_labels()
        reserve(16 * n_rows * len(self.edges_), f"edges between {n} labels of {n_rows} rows")
        first = n * np.arange(n_rows + 1)
        nodes = (first[:-1, None, None] + self.edges_).reshape(-1, 2)
        return Structure(first, (Family(nodes, len(self.edges_) * np.arange(n_rows + 1)),))

    def _columns(self) -> list[np.ndarray]:
        """The two values of each label."""
        return [self.classes_] if self._one else list(self.classes_)

    def _n_labels(self) -> int:
        return len(self._columns())

    def _read_labels(
        self, y: Any, sequences: Any, reset: bool, unseen: int | None = None
    ) -> np.ndarray:
        if reset:
            codes: np.ndarray = y.codes
        else:
            codes = codes_in(as_list(y), self._columns(), self._one, len(sequences.X))
            if unseen is None and np.any(codes < 0):
                row, label = np.argwhere(codes < 0)[0]
                raise UnknownLabelError(
                    f"y[{row}], label {label}: a value that was not seen in fit "
                    f"(known: {self._columns()[label].tolist()})"
                )
        return codes.ravel()

    # ---- what follows from two labels a node

    def _width(self) -> int:
        return 2

    def _n_nodes(self, sequences: Any) -> int:
        return len(sequences.X) * self._n_labels()

    def _inference(self) -> Inference:
        chosen = super()._inference()
        if self.inference == "auto":
            return LabelSets(chosen)
        return LabelSets(chosen, MOST_SETS) if self.inference == "exact" else chosen

    def _decode(self, potentials: Potentials, structure: Structure, labels: np.ndarray) -> None:
        if self.decoder != "balanced":
            super()._decode(potentials, structure, labels)
            return
        inference = self._learned_inference()
        sums = zeros(potentials)
        n = structure.n_examples
        inference.marginals(potentials, structure, np.ones(n), sums, np.empty(n))
        # impossible labels stay impossible
        with np.errstate(divide="ignore"):
            node = potentials.node + np.log(sums.node)
        inference.argmax(potentials._replace(node=node), structure, labels)

    def _node_labels(self) -> np.ndarray:
        return np.array([0, 1])

    def _inputs(self, sequences: Any) -> Inputs:
        return Inputs(sequences.clique_rows)

    def _observe(self, sequences: Any, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        n_features = sequences.X.stored.shape[1]
        by_estimator = self._by_estimator(reset=True)
        return pattern_of(
            self._n_labels(), n_features, len(self.edges_), by_estimator, self.fit_intercept
        )

    def _score_of(self, place: NodePlace, code: int | None) -> str:
        of = "a pair of labels" if code is None else f"label {place.node}"
        return f"X[{place.example}]: the score of {of}"

    @abstractmethod
    def _labels(self, codes: np.ndarray, sequences: Any) -> np.ndarray:
        """Codes -> labels in the form of y."""

    def _transferred(self, start: Any) -> np.ndarray:
        if not isinstance(start, BaseMultiLabel) or not hasattr(start, "_w"):
            raise InputTypeError(
                f"init must be a fitted MultiLabelCRF, got a {type(start).__name__}"
            )
        pattern = self._pattern
        known = start._pattern
        if (known.n_sharing, known.n_features, known.node is None) != (
            pattern.n_sharing,
            pattern.n_features,
            pattern.node is None,
        ):
            raise LengthMismatchError(
                f"init has {known.n_sharing} labels and {known.n_features} features, but here are "
                f"{pattern.n_sharing} and {pattern.n_features}"
            )
        w = np.zeros(pattern.size)
        parts = split(w, pattern)
        before = split(start._w, known)
        parts.node[:] = before.node
        tables = dict(zip(map(tuple, start.edges_.tolist()), start.pair_weights_, strict=True))
        none = np.zeros((2, 2))
        pairs = [tables.get(tuple(pair), none) for pair in self.edges_.tolist()]
        parts.features[0][:] = np.ravel(pairs)
        if self.fit_intercept:
            parts.intercept[:] = start.intercept_
        return w


def check_table(X: Any) -> None:
    """Raise InputTypeError for anything but a table of features."""
    if form(X) != "flat":
        raise InputTypeError(
            "X must be two-dimensional, a row of features for each sample; lists of sequences are "
            "for FactorialCRF"
        )


def pattern_of(
    n_labels: int, n_features: int, n_edges: int, by_estimator: bool, fit_intercept: bool
) -> Pattern:
    """Which weights there are: of all features for each label, or of a value of its own."""
    node = None
    if by_estimator:
        # each label sees what was said of itself
        each = np.arange(n_labels + 1)
        node = CSR(each, each[:-1].astype(np.int32), np.empty(0, np.int32))
    none = np.arange(0)
    family = CliquePattern(2, n_edges, None, none)
    return Pattern(n_features, 2, node, (family,), none, fit_intercept, n_sharing=n_labels)
