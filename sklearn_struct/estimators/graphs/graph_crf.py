"""Conditional random fields on graphs."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct._warning import warn
from sklearn_struct.containers.structures import Structure
from sklearn_struct.encoding.graphs import EDGES, as_graphs
from sklearn_struct.encoding.sequences import as_list, form
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.shared_parameters import SOLVERS
from sklearn_struct.estimators.fitting.solving import Minimisation, minimise
from sklearn_struct.estimators.graphs.base_graph import Graphs
from sklearn_struct.estimators.graphs.belief_rounds import BeliefRounds, check_rounds
from sklearn_struct.estimators.graphs.latent_graph import BaseLatentGraph
from sklearn_struct.estimators.graphs.words_of_graphs import (
    BaseSpeakingOfGraphs,
    in_words_of_graphs,
)
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.objectives.linear_objective import LinearObjective

__all__ = ["GraphCRF"]


@with_parameters
class GraphCRF(BaseSpeakingOfGraphs, BaseLatentGraph):
    """Conditional random field on graphs, trained by (penalised) maximum likelihood.

    p(y | x) = exp(sum_i coef[y_i] . x_i + intercept[y_i] + sum_(i, j) transition[y_i, y_j] +
    edge_coef[y_i, y_j] . z_ij) / Z(x) over nodes i and edges (i, j) of a graph, with features x_i
    of nodes and, if there are some, z_ij of edges [1]_. The objective is that of `LinearChainCRF`:
    a chain is a graph in which each token has an edge to the next one.

    Labels may be missing: write None for an unknown label, or a set if one of several labels is
    right. The loss is then minus the log-probability of all labellings that y allows. It is not
    convex. A graph without any known label teaches the model nothing.

    Nodes may be of several types, each with labels of its own, see `TypedNodes`. Some types may be
    hidden, see `hidden`. Labels may have hidden states, see `n_states`; on chains the model is then
    a `LatentChainCRF`.

    Read more in :doc:`/user_guide/graphs`.

    Parameters
    ----------
    solver : {"auto", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg", "gradient", "sag", \
            "sag-lbfgs", \
            "sgd", "em", "frank-wolfe"}, default="auto"
        What minimises the objective, as in `LinearChainCRF`. With a loss that draws labellings,
        "auto" is "sgd". "em", expectation maximisation, is for missing labels and for hidden nodes
        or states, with all penalties. It computes the expected features given the labels, moves the
        weights by a few iterations of L-BFGS or OWL-QN, and repeats both.
    symmetric : bool, default=False
        Whether edges have no direction: the label pairs (j, k) and (k, j) share their weights.
    n_rounds : int, default=0
        For graphs in which most labels are missing, such as a single large graph. If not 0, this
        many rounds of expectation maximisation replace the likelihood of the known labels [2]_,
        [3]_. First the node weights are learned from the known nodes, without edges. Then the edge
        weights are learned from the known nodes and beliefs in their neighbours (a
        pseudolikelihood; the scores of known nodes come from five folds, by weights that have not
        seen them). In each round `inference` computes beliefs in all nodes given the known labels,
        and node weights are fitted to these. A few rounds are enough; many may make the model
        worse. It needs missing labels, and neither `hidden` types nor `n_states`. ``n_iter_`` is
        the number of rounds, and ``loss_curve_`` has the loss of nodes after each round; it may
        rise. With ``fit(..., init=...)`` or a warm start the rounds go on from those weights.

    Attributes
    ----------
    transition_ : ndarray of shape (n_labels, n_labels)
        Weights of edges, from the label of the first node (row) to that of the second one.
    edge_coef_ : ndarray or csr_array of shape (n_labels * n_labels, n_edge_features)
        Weights of the features of edges; row j * n_labels + k for label j of the first node and k
        of the second one.
    n_edge_features_in_ : int
        The number of features of edges; 0 if they have none.
    edge_vectorizer_ : SequenceVectorizer
        Where features of edges are dicts or strings.

    See Also
    --------
    LinearChainCRF : Chains, with features of transitions, constraints and other losses.
    LatentChainCRF : Chains whose labels have hidden states.
    SkipChainCRF : A chain with edges between tokens that are alike.
    FactorialCRF : Several labels for each token.
    GraphArray : Many graphs in one block of memory.
    sklearn_struct.inspection.GraphDisplay : A graph and its labels as a picture.

    References
    ----------
    .. [1] C. Sutton and A. McCallum, "An introduction to conditional random fields", Foundations
       and Trends in Machine Learning 4(4), 2012, section 2.4.
    .. [2] R. Xiang and J. Neville, "Pseudolikelihood EM for within-network relational learning",
       ICDM 2008.
    .. [3] M. Qu, Y. Bengio and J. Tang, "GMNN: graph Markov neural networks", ICML 2019.

    Examples
    --------
    >>> from sklearn_struct import GraphCRF
    >>> edges = [[0, 1], [0, 2]]
    >>> X = [(["sells", "cat", "fish"], edges), (["eats", "dog", "meat"], edges)]
    >>> y = [["VERB", "SUBJECT", "OBJECT"]] * 2
    >>> GraphCRF(C=10).fit(X, y).predict([(["sells", "dog", "meat"], edges)])[0]
    ['VERB', 'SUBJECT', 'OBJECT']
    """

    symmetric: bool = False
    n_rounds: int = 0
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [StrOptions({*SOLVERS, "em", "frank-wolfe"})],
        "symmetric": ["boolean"],
        "n_rounds": [Interval(Integral, 0, None, closed="left")],
    }

    def _loss(self, evidence: Evidence | None = None) -> Loss:
        if self.n_rounds and evidence is not None:
            hidden = bool(self.hidden) or self.n_states is not None
            check_rounds(evidence, self.inference, self.solver, hidden)
        return super()._loss(evidence)

    def _solved(
        self,
        settings: Minimisation,
        solver: str,
        objective: LinearObjective,
        w0: np.ndarray,
        iterations: Iterations,
    ) -> dict[str, Any]:
        if not self.n_rounds:
            return super()._solved(settings, solver, objective, w0, iterations)
        scale = iterations.scale
        rounds = BeliefRounds(
            objective,
            self._inference(),
            lambda of_round, w: minimise(settings, solver, of_round, w, scale),
        )
        iterations.begin(w0)
        result = rounds.run(w0, self.n_rounds, iterations)
        stopped = f"solver {solver!r} stopped in a round (max_iter={self.max_iter})"
        return iterations.end(result, stopped, "allow more iterations, or accept a larger tol")

    @property
    def n_edge_features_in_(self) -> int:
        """The number of features of edges; 0 if they have none."""
        self._family(EDGES)
        return self.templates_[EDGES].features.width

    @property
    def edge_vectorizer_(self) -> Any:
        """Where features of edges are dicts or strings: what encodes them."""
        self._family(EDGES)
        vectorizer = self.templates_[EDGES].features.vectorizer
        if vectorizer is None:
            raise AttributeError(f"this {type(self).__name__} was not fitted on named features")
        return vectorizer

    @in_words_of_graphs()
    def _read_X(self, X: Any, reset: bool) -> Any:
        X = as_list(X)
        given = as_graphs(X)
        types = None
        if given is not None:
            nodes = self._read_nodes(given.nodes, reset)
            types = self._read_types(given.types, nodes.X.offsets, reset)
            cliques = given.cliques
            if reset and EDGES in cliques and self.symmetric:
                cliques = cliques | {EDGES: cliques[EDGES]._replace(symmetric=True)}
            families, rows = self._read_cliques(cliques, nodes.X.offsets, reset)
            if reset and given.undirected and not self.templates_[EDGES].symmetric:
                warn(
                    "edges of some graphs have no direction; each is taken as it comes, and "
                    "(j, k) and (k, j) have weights of their own: use symmetric=True for one"
                )
        elif form(X) == "flat":
            nodes = self._read_nodes(X, reset)  # each row a graph of one node
            types = self._read_types(None, nodes.X.offsets, reset)
            families, rows = self._read_cliques({}, nodes.X.offsets, reset)
        else:
            raise InputTypeError(
                "X must be a list of graphs, tuples (nodes, edges) or (nodes, edges, "
                "edge_features) or graphs of networkx, a GraphArray, or a two-dimensional array of "
                "single nodes"
            )
        graphs = Graphs(nodes.X, nodes.flat, Structure(nodes.X.offsets, families), rows, types)
        if not reset:
            self._look_for_types(graphs)
        return graphs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : list of graphs, GraphArray, or array-like or sparse matrix of shape (n, n_features)
            A graph is a tuple (nodes, edges) or (nodes, edges, edge_features): the nodes as
            `LinearChainCRF` takes the tokens of a sequence; the edges an array-like (n_edges, 2) of
            node numbers from 0, or an adjacency matrix of scipy; features of edges (n_edges,
            n_edge_features) as those of nodes. Or a graph of networkx, whose attributes of nodes
            and of edges are features. Or a tuple (nodes, list of `Cliques`) where edges are of
            several kinds, or three and more nodes depend on each other. Nodes may be `TypedNodes`,
            with labels of their types. A two-dimensional X is a batch of graphs of one node.
        y : list of label sequences, or array-like of shape (n,)
            One label a node; one-dimensional if X is two-dimensional. None for a label that is not
            known, a set for one of several; None for nodes of hidden types.
        sample_weight : array-like of shape (n_graphs,), default=None
            Weight of each graph's loss; with ``loss="pointwise"`` it may have a sequence of weights
            for each graph, one a node.
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
        return self.predict_clique_proba(X, EDGES)
