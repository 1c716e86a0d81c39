"""Conditional random fields of several labels, each of which a row has or has not."""

from __future__ import annotations

from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
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
from sklearn_struct.estimators.fitting.base_sequence import logarithms
from sklearn_struct.estimators.fitting.finite_scores import NodePlace
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.sample_weights import of_examples
from sklearn_struct.estimators.graphs.base_graph import Graphs, Template
from sklearn_struct.estimators.graphs.base_graph_crf import BaseGraphCRF
from sklearn_struct.estimators.graphs.clique_features import CliqueFeatures
from sklearn_struct.estimators.graphs.graph_inference import sampler_of
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

__all__ = ["MultiLabelCRF", "pattern_of"]

ROW = "row"
# of labels whose sums are exact where that is asked for
MOST_SETS = 2.0**20


@with_parameters
class MultiLabelCRF(ClassifierMixin, BaseGraphCRF):
    """Multilabel classifier in which labels depend on each other, a conditional random field.

    A row x may have any of n_labels labels. p(y | x) = exp(sum_l y_l (coef[l] . x + intercept[l]) +
    sum_(k, l) pair_weights[k, l][y_k, y_l]) / Z(x), where y_l is 1 if the row has label l, and the
    second sum is over the pairs of labels in `edges` [1]_. Without edges it is a
    `LogisticRegression` for each label, with the same `C`. With edges it learns, for example, that
    "beach" often comes with "sea" and seldom with "mountain".

    Read more in :doc:`/user_guide/many_labels`.

    Parameters
    ----------
    edges : {"full", "tree"} or array-like of shape (n_edges, 2), default="full"
        Which labels score each other:

        - "full": each two labels. With up to 16 labels inference is then exact, see `inference`.
        - "tree": the tree that joins all labels and has the most mutual information in the training
          labels (Chow and Liu, IEEE Transactions on Information Theory 1968). Inference is exact
          and quick for any number of labels.
        - an array: pairs of columns of y, counted from 0.
    estimator : classifier, default=None
        What the scores of labels depend on. None: the features X. A classifier with
        ``decision_function`` or ``predict_proba``: what it says of each label. A clone of it is
        fitted for each label. The features of a label are then one number, the decision value of
        its clone, or the log-odds of its probability. In training the values of a row come from
        clones that have not seen it, by cross-validation. X may be whatever the classifier takes.
    cv : int, splitter or iterable, default=5
        With an `estimator`: the folds of this cross-validation. An int: so many folds of shuffled
        rows, each with the same share of rows that have the label; `random_state` shuffles.
    decoder : {"auto", "marginal", "balanced", "icm"}, default="auto"
        What `predict` returns:

        - "auto": the most probable set of labels, where inference is exact. It is right as a whole
          most often (``score``). Where inference is approximate it is the best set that is found.
        - "marginal": each label that is more probable than not. Fewest single labels are wrong
          (``hamming_loss``).
        - "balanced": the set y of labels with the largest log p(y | x) + sum_l log p(y_l | x). It
          stands between the two: nearly as many rows are right as with "auto", and nearly as few
          labels are wrong as with "marginal".
        - "icm": iterated conditional modes (Besag, Journal of the Royal Statistical Society B
          1986). It starts from the best choice for each label without the other labels, and changes
          one label after the other while that raises the score. It needs no inference.
    random_state : int, RandomState or None, default=None
        Shuffles rows for `cv`, and is the seed of stochastic solvers. With None the folds are the
        same each time.

    Attributes
    ----------
    classes_ : list of ndarray, or ndarray of shape (2,)
        For each label the two values that y has in its column, sorted: 0 and 1. The second one
        means that a row has the label. One array if y was one-dimensional.
    coef_ : ndarray of shape (n_labels, n_features)
        Weights of features for each label. With an `estimator` (n_labels, n_labels), where only the
        diagonal is not 0.
    intercept_ : ndarray of shape (n_labels,)
    edges_ : ndarray of shape (n_edges, 2)
        The pairs of labels that score each other.
    pair_weights_ : ndarray of shape (n_edges, 2, 2)
        Their tables: [e, 1, 1] is the weight where a row has both labels of ``edges_[e]``, and
        [e, 0, 1] where it has the second one alone.
    associations_ : ndarray of shape (n_labels, n_labels)
        How much each two labels attract each other: the log-odds ratio of their table, 0 where they
        have none. It is positive if one label makes the other more probable.
    estimators_ : list
        With an `estimator`: for each label the one that was fitted on all rows. None for a label
        that fewer than two rows have, or fewer than two lack.
    converged_ : bool
        Whether inference has settled, at the weights that were learned, for at least 99 % of the
        rows of X; True where it is exact.

    See Also
    --------
    GraphCRF : Any graph, with labels of any number.
    FactorialCRF : Several labels for each token of a sequence.
    sklearn.multioutput.ClassifierChain : Labels one after the other, each given those before it.

    References
    ----------
    .. [1] N. Ghamrawi and A. McCallum, "Collective multi-label classification", CIKM 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import MultiLabelCRF
    >>> X = np.array([[2, 0], [3, 0], [0, 2], [0, 3], [1, 1], [2, 2]])
    >>> y = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    >>> crf = MultiLabelCRF(edges="tree").fit(X, y)
    >>> crf.predict([[3, 1], [0, 4]])
    array([[1, 1, 0],
           [0, 0, 1]])
    >>> crf.edges_.tolist()  # the first two labels always come together
    [[0, 1], [0, 2]]
    >>> bool(crf.associations_[0, 1] > 0)
    True
    """

    edges: Any = "full"
    estimator: Any = None
    cv: Any = 5
    # a pattern of pairs, and blocks of nodes, are of graphs that users give
    feature_pairs: str = field(init=False, default="all")
    blocks: Any = field(init=False, default=None)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "edges": [StrOptions({"full", "tree"}), "array-like"],
        "estimator": [HasMethods(["fit"]), None],
        "cv": [Interval(Integral, 2, None, closed="left"), "cv_object"],
        "decoder": [StrOptions({"auto", "marginal", "balanced", "icm"})],
    }
    # what is documented of graphs that users give
    _undocumented: ClassVar[tuple[str, ...]] = (
        "clique_coef_",
        "clique_transition_",
        "edge_vectorizer_",
        "templates_",
        "vectorizer_",
    )

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
        n_features = sequences.X.tokens.shape[1]
        by_estimator = self._by_estimator(reset=True)
        return pattern_of(
            self._n_labels(), n_features, len(self.edges_), by_estimator, self.fit_intercept
        )

    def _score_of(self, place: NodePlace, code: int | None) -> str:
        of = "a pair of labels" if code is None else f"label {place.node}"
        return f"X[{place.example}]: the score of {of}"

    def _transferred(self, start: Any) -> np.ndarray:
        if not isinstance(start, MultiLabelCRF) or not hasattr(start, "_w"):
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

    # ---- predictions

    def _labels(self, codes: np.ndarray, sequences: Any) -> np.ndarray:
        """The values of y that codes of all nodes stand for."""
        of_rows = codes.reshape(len(sequences.X), -1)
        columns = [
            # a label of which fit has seen one value alone
            values[np.minimum(of_rows[:, j], len(values) - 1)]
            for j, values in enumerate(self._columns())
        ]
        return columns[0] if self._one else np.column_stack(columns)

    def predict(self, X: Any) -> np.ndarray:
        """Labels of each row, as `decoder` says.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Where y has 0 and 1, 1 for the labels that a row has; (n_samples,) if y was
            one-dimensional.
        """
        return super().predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each label by itself, p(y_l = 1 | x).

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Where y was one-dimensional (n_samples, 2), in the order of ``classes_``.
        """
        graphs: Any = self._read_X(X, reset=False)
        both = self._label_marginals(graphs).reshape(len(graphs.X), -1, 2)
        return both[:, 0] if self._one else np.ascontiguousarray(both[..., 1])

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            -inf where a probability is 0, or below the smallest float.
        """
        return logarithms(self.predict_proba(X))

    def predict_pair_proba(self, X: Any) -> np.ndarray:
        """Probability of both values of both labels of each pair in ``edges_``.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_edges, 2, 2)
        """
        graphs: Any = self._read_X(X, reset=False)
        tables = self._clique_marginals(graphs)
        return np.reshape(tables, (len(graphs.X), len(self.edges_), 2, 2))

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw sets of labels from p(y | x), by exact inference.

        Parameters
        ----------
        X
            As in `fit`.
        n_samples : int, default=1
        random_state : int, RandomState or None, default=None

        Returns
        -------
        ndarray of shape (n_samples of X, n_samples, n_labels)
            (n_samples of X, n_samples) if y was one-dimensional.

        Raises
        ------
        ValueError
            Where `inference` is not exact.
        """
        graphs: Any = self._read_X(X, reset=False)
        inference = sampler_of(self.inference, self._structure(graphs, learned=True), 2)
        codes = self._drawn(inference, graphs, n_samples, random_state)
        return np.stack([self._labels(drawn, graphs) for drawn in codes], axis=1)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Subset accuracy of `predict`: the share of rows whose labels are all right.

        Parameters
        ----------
        X, y
            As in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        graphs: Any = self._read_X(X, reset=False)
        truth = self._read_labels(y, graphs, reset=False, unseen=-1)
        weight = of_examples(sample_weight, len(graphs.X), ROW)
        right = (self._predict_codes(graphs) == truth).reshape(len(graphs.X), -1).all(axis=1)
        return float(np.average(right, weights=weight))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            With an `estimator` whatever that takes, such as a list of texts.
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            1 where a row has a label, 0 where it has not; or any two values in each column. With
            one dimension it is a single label with two values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row's loss. An `estimator` gets it, too, if its ``fit`` takes it.
        init : fitted MultiLabelCRF, default=None
            Start from its weights. It must have as many labels and features.

        Returns
        -------
        self

        Raises
        ------
        LengthMismatchError, InputTypeError, NonFiniteError
            With the place; ValueError for what is no matrix of labels or pairs, and if labels are
            too many for exact inference. The estimator is then as it was before.

        Warns
        -----
        InferenceWarning
            If inference does not settle at the weights that are learned.
        """
        super().fit(X, y, sample_weight, init=init)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.dict = False
        tags.input_tags.three_d_array = False
        if self.estimator is not None:
            of_X = get_tags(self.estimator).input_tags
            tags.input_tags.sparse = of_X.sparse
            tags.input_tags.string = of_X.string
            tags.input_tags.allow_nan = of_X.allow_nan
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags


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
    return Pattern(n_features, 2, node, (family,), none, fit_intercept, n_labels)
