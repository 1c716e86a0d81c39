"""Conditional random fields on graphs."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Structure, n_columns
from sklearn_struct.encoding.graphs import as_graphs, read_edges, structure_of
from sklearn_struct.encoding.sequences import as_list, form
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.fitting.base_structured import Restriction, Result, Work
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.partly_labelled import BasePartlyLabelled
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.shared_parameters import (
    IterationParameters,
    PenaltyParameters,
    RandomParameters,
    ThreadParameters,
)
from sklearn_struct.estimators.graphs.graph_inference import (
    INFERENCES,
    check_solver,
    check_width,
    inference_of,
    warn_of,
)
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.graphs.convergence import Report
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood
from sklearn_struct.objectives.linear_objective import LinearObjective
from sklearn_struct.objectives.weight_patterns import (
    CliquePattern,
    Pattern,
    all_pairs,
    masked_pairs,
    observed_pairs,
)

__all__ = ["GraphCRF"]

MOST_UNCONVERGED = 0.01  # the share of graphs that a fit may leave without settled messages


class Graphs(NamedTuple):
    """X as read: packed nodes, whether it came as two-dimensional, and who depends on whom."""

    X: SequenceArray
    flat: bool
    structure: Structure


@with_parameters
class GraphCRF(
    PenaltyParameters, IterationParameters, RandomParameters, ThreadParameters, BasePartlyLabelled
):
    """Conditional random field on graphs, trained by (penalised) maximum likelihood.

    p(y | x) = exp(sum_i coef[y_i] . x_i + intercept[y_i] + sum_(i, j) transition[y_i, y_j]) / Z(x)
    over nodes i and edges (i, j) of a graph [1]_. The objective is that of `LinearChainCRF`, whose
    chains are graphs in which each token has an edge to the next one.

    Labels may be missing or open: with None in the place of a label, or a set of labels, the loss
    is minus the log-probability of all labellings that y allows together, which is not convex.
    Graphs without any known label (None in the place of their labels) teach nothing.

    Parameters
    ----------
    inference : {"auto", "exact", "bp", "trw", "mean_field", "gibbs"}, \
            default="auto"
        How sums over all labellings are computed. "exact": by a junction tree, whose tables grow
        with n_labels to the power of the graph's width; a graph whose tables need more than 2**27
        numbers is refused. "bp": by belief propagation, which is exact for graphs without cycles,
        and approximate for others: log Z is Bethe's approximation. "auto": exact for graphs without
        cycles and for those whose tables have at most 2**17 numbers, belief propagation for others.
        "trw": by tree-reweighted belief propagation [2]_, which is exact for graphs without cycles;
        for others its log Z is an upper bound, and training is convex. "mean_field": independent
        nodes that are as near to the model as they can be; log Z is a lower bound, and training is
        not convex. "gibbs": by sampling, `max_sweeps` times each node; log Z and losses are rough
        estimates, and `fit` needs solver="sgd".
    max_sweeps : int, default=100
        Largest number of sweeps of belief propagation, each over all nodes and back. A graph whose
        messages do not settle in them is tried once more, with damping, and four times as long. Of
        mean field a sweep goes over all nodes once, none is tried again, and 1000 may be needed.
    inference_tol : float, default=1e-6
        Messages, or marginals of mean field, have settled if no probability changes by more in a
        sweep.
    feature_pairs : {"observed", "all"}, default="observed"
        Which pairs (feature, label) get a weight: those stored together in the training data, or
        all. A dense X stores all its values, so there both are the same.
    fit_intercept : bool, default=True
        Give each label an unpenalised weight of its own.
    solver : {"auto", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg", "sag", "sgd"}, \
            default="auto"
        What minimises the objective, as in `LinearChainCRF`.
    warm_start : bool, default=False
        Start from the weights of the previous fit, matched by label and feature.
    dtype : {"float64", "float32"}, default="float64"
        Float type of features, weight tables and potentials.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Labels, sorted.
    coef_ : ndarray or csr_array of shape (n_labels, n_features)
        Feature weights; sparse if X is.
    transition_ : ndarray of shape (n_labels, n_labels)
        Weights of edges, from the label of the first node (row) to that of the second one.
    intercept_ : ndarray of shape (n_labels,)
    converged_ : bool
        Whether inference has settled, at the weights that were learned, for at least 99 % of the
        graphs of X; True where it is exact.
    inference_report_ : dict
        Of inference in `fit` that is not exact: ``"n_calls"``, how often a graph was inferred;
        ``"mean_sweeps"`` and ``"most_sweeps"`` of these; ``"unconverged"``, the share that did not
        settle; and ``"largest_change"`` of a probability in the last sweep.
    n_iter_ : int
        Iterations of `fit`.
    loss_curve_ : list of float
        Objective / C after each iteration of `fit`: sum of losses + penalty / C.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has feature names.
    vectorizer_ : SequenceVectorizer
        Where nodes are dicts or strings.

    See Also
    --------
    LinearChainCRF : Chains, with features of transitions, constraints and other losses.

    References
    ----------
    .. [1] C. Sutton and A. McCallum, "An introduction to conditional random fields", Foundations
       and Trends in Machine Learning 4(4), 2012, section 2.4.
    .. [2] M. Wainwright, T. Jaakkola and A. Willsky, "A new class of upper bounds on the log
       partition function", IEEE Transactions on Information Theory 51(7), 2005.

    Examples
    --------
    >>> from sklearn_struct import GraphCRF
    >>> edges = [[0, 1], [0, 2]]
    >>> X = [(["sells", "cat", "fish"], edges), (["eats", "dog", "meat"], edges)]
    >>> y = [["VERB", "SUBJECT", "OBJECT"]] * 2
    >>> GraphCRF(C=10).fit(X, y).predict([(["sells", "dog", "meat"], edges)])[0]
    ['VERB', 'SUBJECT', 'OBJECT']
    """

    inference: str = "auto"
    max_sweeps: int = 100
    inference_tol: float = 1e-6
    feature_pairs: str = "observed"
    fit_intercept: bool = True
    solver: str = "auto"
    warm_start: bool = False
    dtype: str = "float64"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "inference": [StrOptions(INFERENCES)],
        "max_sweeps": [Interval(Integral, 1, None, closed="left")],
        "inference_tol": [Interval(Real, 0, None, closed="left")],
        "feature_pairs": [StrOptions({"observed", "all"})],
        "fit_intercept": ["boolean"],
        "solver": [
            StrOptions({"auto", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg", "sag", "sgd"})
        ],
        "warm_start": ["boolean"],
        "dtype": [StrOptions({"float64", "float32"})],
    }
    _settings: ClassVar[tuple[str, ...]] = (
        "dtype",
        "inference",
        "inference_tol",
        "max_sweeps",
        "n_jobs",
    )

    def _loss(self, evidence: Evidence | None = None) -> Loss:
        if evidence is None or evidence.allowed is None:
            return LogLikelihood(self._inference())
        if self.solver == "sag":
            raise ValueError(
                "missing labels and sets of labels need another solver than 'sag', as their loss "
                "is not convex"
            )
        return MarginalLikelihood(self._inference())

    def _inference(self) -> Inference:
        report = self.__dict__.setdefault("_report", Report())
        return inference_of(self.inference, self.max_sweeps, self.inference_tol, report)

    def _learned_inference(self) -> Inference:
        return self._inference()

    def _structure(self, sequences: Any, learned: bool) -> Structure:
        structure: Structure = sequences.structure
        if self.inference == "exact":
            check_width(structure, len(self.classes_))
        return structure

    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None:
        check_solver(self.inference, self.solver)
        self._report = Report()  # what predictions have counted is another matter
        super()._fit(X, y, sample_weight, init, progress)

    def _look_back(self, objective: LinearObjective) -> None:
        every = self._report.counts
        self.inference_report_ = every.as_dict()
        self.converged_ = True
        if every.n_calls:
            # once more, at the weights that were learned: on the way to them it may have been worse
            self._report.clear()
            objective.value_and_grad(self._w)
            last = self._report.counts
            self.converged_ = last.unconverged <= MOST_UNCONVERGED
            warn_of(last, "the weights are not those of the model that is meant")

    def _each_block(
        self, sequences: Sequences, work: Work[Result], restrict: Restriction | None = None
    ) -> list[Result]:
        report = self.__dict__.setdefault("_report", Report())
        before = report.counts
        results = super()._each_block(sequences, work, restrict)
        warn_of(report.counts.since(before), "what is predicted of them depends on when it stopped")
        return results

    def _observe(self, X: SequenceArray, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        K = len(self.classes_)
        node = None
        if sp.issparse(X.tokens):
            pairs = observed_pairs if codes.ndim == 1 else masked_pairs
            if self.feature_pairs == "all":
                pairs = all_pairs
            node = pairs(X.tokens, codes, weight, K, 1)
        edges = CliquePattern(2, None, np.arange(n_columns(K, 2)))
        return Pattern(X.tokens.shape[1], K, node, (edges,), np.arange(0), self.fit_intercept)

    def _read_X(self, X: Any, reset: bool) -> Any:
        X = as_list(X)
        graphs = as_graphs(X)
        if graphs:
            nodes = super()._read_X([nodes for nodes, _ in graphs], reset)
            structure = structure_of(nodes.X.offsets, read_edges(graphs, nodes.X.lengths))
        elif form(X) == "flat":
            nodes = super()._read_X(X, reset)  # each row a graph of one node
            structure = structure_of(nodes.X.offsets, [np.zeros((0, 2), np.int64)] * len(nodes.X))
        else:
            raise InputTypeError(
                "X must be a list of graphs, pairs (nodes, edges) as tuples, or a two-dimensional "
                "array of single nodes"
            )
        return Graphs(nodes.X, nodes.flat, structure)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : list of graphs, or array-like or sparse matrix of shape (n, n_features)
            A graph is a tuple (nodes, edges): the nodes as `LinearChainCRF` takes the tokens of a
            sequence, the edges an array-like (n_edges, 2) of node numbers from 0. A two-dimensional
            X is a batch of graphs of one node.
        y : list of label sequences, or array-like of shape (n,)
            One label a node; one-dimensional if X is two-dimensional. None for a label that is not
            known, a set for one of several.
        sample_weight : array-like of shape (n_graphs,), default=None
            Weight of each graph's loss.
        init : fitted estimator with the same kinds of weights, default=None
            Start from its weights, matched by label and by feature name (by position where there
            are no names), such as those of a `LinearChainCRF`.

        Returns
        -------
        self

        Raises
        ------
        LengthMismatchError, UnknownLabelError, EmptyDataError, InputTypeError
            With the place; ValueError for a graph that is too wide for exact inference. The
            estimator is then as it was before.

        Warns
        -----
        InferenceWarning
            If inference does not settle at the weights that are learned.
        """
        super().fit(X, y, sample_weight, init=init)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Most probable labelling of each graph.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_graphs,)
            dtype object, a list of labels each; for two-dimensional X the labels themselves.
        """
        graphs: Sequences = self._read_X(X, reset=False)
        return self._labels(self._predict_codes(graphs), graphs)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Marginal probability of each label at each node, p(y_i = k | x).

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_graphs,)
            dtype object, an array (n_nodes, n_labels) each, columns in the order of ``classes_``;
            for two-dimensional X one array (n, n_labels).
        """
        graphs: Sequences = self._read_X(X, reset=False)
        node = self._label_marginals(graphs)
        return node if graphs.flat else object_array(cut(node, graphs.X.offsets))

    def predict_edge_proba(self, X: Any) -> np.ndarray:
        """Marginal probability of each label pair at each edge, p(y_i = j, y_i' = k | x).

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_graphs,)
            dtype object, an array (n_edges, n_labels, n_labels) each, in the order of the edges.
        """
        return object_array(self._pair_marginals(self._read_X(X, reset=False)))

    def log_proba(self, X: Any, y: Any) -> np.ndarray:
        """log p(y | x) of each graph. Where y is partly known, the probability is that of all
        labellings that it allows.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_graphs,)

        Raises
        ------
        UnknownLabelError
            If y holds a label that was not seen in `fit`.
        """
        graphs: Sequences = self._read_X(X, reset=False)
        return self._log_proba(graphs, self._read_labels(y, graphs, reset=False))

    def log_partition(self, X: Any) -> np.ndarray:
        """log Z(x) of each graph: the logarithm of the sum of exp(score) over all labellings.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_graphs,)
        """
        inference = self._learned_inference()
        return self._each_sequence(
            self._read_X(X, reset=False),
            lambda theta, block: inference.log_partition(theta, block.structure),
        )
