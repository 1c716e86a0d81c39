"""Conditional random fields of several labels, each of which a row has or has not."""

from __future__ import annotations

from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from sklearn_struct.estimators.fitting.base_sequence import logarithms
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.sample_weights import of_examples
from sklearn_struct.estimators.graphs.graph_inference import sampler_of
from sklearn_struct.estimators.multilabel.base_multilabel import ROW, BaseMultiLabel

__all__ = ["MultiLabelCRF"]


@with_parameters
class MultiLabelCRF(ClassifierMixin, BaseMultiLabel):
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
