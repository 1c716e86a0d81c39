"""What conditional random fields on graphs share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.structures import Potentials, Structure, zeros
from sklearn_struct.encoding.block_numbers import block_numbers
from sklearn_struct.encoding.labels.label_costs import read_cost
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.estimators.fitting.base_sequence import Sequences, divided
from sklearn_struct.estimators.fitting.base_structured import Restriction, Result, Work
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.sample_weights import Weights
from sklearn_struct.estimators.fitting.shared_parameters import (
    SOLVERS,
    IterationParameters,
    PenaltyParameters,
    RandomParameters,
    SolverParameters,
    ThreadParameters,
)
from sklearn_struct.estimators.fitting.solving import Minimisation
from sklearn_struct.estimators.graphs.base_graph import BaseGraph
from sklearn_struct.estimators.graphs.certified_gap import certified
from sklearn_struct.estimators.graphs.graph_inference import (
    check_solver,
    check_width,
    inference_of,
    sampler_of,
    warn_of,
)
from sklearn_struct.estimators.graphs.graph_losses import (
    OF_INFERENCE,
    LossParameters,
    LossSettings,
    loss_of,
)
from sklearn_struct.estimators.graphs.inference_parameters import InferenceParameters
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.graphs.convergence import Report
from sklearn_struct.inference.graphs.decoded import iterate_modes
from sklearn_struct.inference.graphs.kept_messages import KeptMessages
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.objectives.linear_objective import LinearObjective

__all__ = ["BaseGraphCRF"]

MOST_UNCONVERGED = 0.01  # the share of graphs that a fit may leave without settled messages


@with_parameters
class BaseGraphCRF(
    InferenceParameters,
    LossParameters,
    PenaltyParameters,
    IterationParameters,
    RandomParameters,
    SolverParameters,
    ThreadParameters,
    BaseGraph,
):
    """A conditional random field on graphs, trained by maximum likelihood or a surrogate of it; a
    subclass says what X is.

    Parameters
    ----------
    feature_pairs : {"observed", "all"}, default="observed"
        Which pairs (feature, label) get a weight. "observed": those that occur together in the
        training data. "all": all pairs. With a dense X, which stores its zeros, both are the same.
    fit_intercept : bool, default=True
        Give each label an unpenalised weight of its own.
    warm_start : bool, default=False
        Start from the weights of the previous fit, matched by label and feature.
    solver : {"auto", "lbfgs", "newton-cg", "trust-ncg", "cg", "gradient", "owlqn", "sag", \
            "sag-lbfgs", "sgd", \
            "frank-wolfe"}, default="auto"
        What minimises the objective, as in `LinearChainCRF`. With a loss that draws labellings,
        "auto" is "sgd", with ``loss="hinge"`` "frank-wolfe".
    dtype : {"float64", "float32"}, default="float64"
        Float type of features, weight tables and potentials.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Labels, sorted.
    coef_ : ndarray or csr_array of shape (n_labels, n_features)
        Feature weights; sparse if X is. All tables of weights are made when you ask for them, and
        are read-only: to start a fit from other weights, give it a fitted model as `init`.
    clique_transition_ : dict of str to ndarray
        Of each kind of `Cliques` the weights (n_labels, ..., n_labels) of their labellings, with a
        dimension for each node; of edges under the name "edges", unless they have another one.
    clique_coef_ : dict of str to ndarray or csr_array
        The weights (n_features, n_labels, ..., n_labels) of their features; of sparse features a
        matrix (n_features, n_labels ** r) for cliques of r nodes.
    templates_ : dict
        The kinds of cliques by their names: the number of nodes, whether these have no order, and
        what reads their features.
    intercept_ : ndarray of shape (n_labels,)
    converged_ : bool
        Whether inference has settled, at the weights that were learned, for at least 99 % of the
        graphs of X; True where it is exact.
    inference_report_ : dict
        Of inference in `fit` that is not exact: ``"n_calls"``, how often a graph was inferred;
        ``"mean_sweeps"`` and ``"most_sweeps"`` of these; ``"unconverged"``, the share that did not
        settle; and ``"largest_change"`` of a probability in the last sweep.
    gap_ : float
        Of solver "frank-wolfe": how far `loss_curve_` ends above the lowest objective / C, at most.
        NaN where inference finds no best labelling and has no bound for it.
    gap_certified_ : bool
        Whether `gap_` is such a bound; where it is not the fit warns.
    n_iter_ : int
        Iterations of `fit`.
    loss_curve_ : list of float
        Objective / C after each iteration of `fit`: sum of losses + penalty / C. With
        ``loss="contrastive"`` that of the pseudolikelihood, which says how it goes but is not what
        is minimised; with "samplerank" that of one walk. These two may rise.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has feature names.
    vectorizer_ : SequenceVectorizer
        Where nodes are dicts or strings.
    edge_vectorizer_ : SequenceVectorizer
        Where features of edges are dicts or strings.
    """

    feature_pairs: str = "observed"
    fit_intercept: bool = True
    warm_start: bool = False
    dtype: str = "float64"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "feature_pairs": [StrOptions({"observed", "all"})],
        "fit_intercept": ["boolean"],
        "warm_start": ["boolean"],
        "dtype": [StrOptions({"float64", "float32"})],
        "solver": [StrOptions({*SOLVERS, "frank-wolfe"})],
    }
    _settings: ClassVar[tuple[str, ...]] = (
        "decoder",
        "dtype",
        "inference",
        "inference_tol",
        "max_sweeps",
        "n_jobs",
    )

    def _loss(self, evidence: Evidence | None = None) -> Loss:
        settings = LossSettings(
            self.loss,
            self.block_size,
            self.pieces,
            self.n_steps,
            self.solver,
            self.random_state,
            self._cost(),
        )
        return loss_of(settings, self._inference(), evidence)

    def _cost(self) -> np.ndarray | None:
        """What labels cost in the place of others, where the loss is one of costs."""
        if self.cost is not None and self.loss != "hinge":
            raise ValueError(f"cost is of loss='hinge'; loss={self.loss!r} has none")
        return read_cost(self.cost, self._node_labels(), self.dtype)

    def _minimisation(self) -> Minimisation:
        return super()._minimisation()._replace(learning_rate=self.learning_rate)

    def _inference(self) -> Inference:
        report = self.__dict__.setdefault("_report", Report())
        # messages are kept in a fit alone: predictions do not depend on what came before
        kept = self.__dict__.get("_kept")
        return inference_of(self.inference, self.max_sweeps, self.inference_tol, report, kept)

    def _learned_inference(self) -> Inference:
        return self._inference()

    def _decode(self, potentials: Potentials, structure: Structure, labels: np.ndarray) -> None:
        if self.decoder == "auto":
            super()._decode(potentials, structure, labels)
            return
        best = potentials.node
        if self.decoder == "marginal":
            sums = zeros(potentials)
            n = structure.n_examples
            inference = self._learned_inference()
            inference.marginals(potentials, structure, np.ones(n), sums, np.empty(n))
            best = sums.node
        labels[:] = best.argmax(axis=1)
        if self.decoder == "icm":
            iterate_modes(potentials, structure, labels)

    def _structure(self, sequences: Any, learned: bool) -> Structure:
        structure = super()._structure(sequences, learned)
        if self.inference == "exact":
            check_width(structure, self._width())
        return structure

    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None:
        if self.loss in OF_INFERENCE:
            check_solver(self.inference, self.solver)
        if self.blocks is not None and self.loss != "composite":
            raise ValueError(f"blocks are for loss='composite', got loss={self.loss!r}")
        self._report = Report()  # what predictions have counted is another matter
        X = as_list(X)
        if self.blocks is not None:
            self._graphs = X  # `blocks` is a function of a graph as X has it
        self._kept = KeptMessages()
        super()._fit(X, y, sample_weight, init, progress)
        self.__dict__.pop("_kept")

    def _read_weights(
        self, sample_weight: Any, sequences: Any, labels: np.ndarray
    ) -> tuple[Weights, Loss]:
        weights, loss = super()._read_weights(sample_weight, sequences, labels)
        graphs = self.__dict__.pop("_graphs", None)
        if self.blocks is None or sequences.flat:
            return weights, loss
        block = self._block_numbers(graphs, sequences)
        return weights._replace(evidence=weights.evidence._replace(block=block)), loss

    def _block_numbers(self, graphs: Any, sequences: Any) -> np.ndarray:
        """The block of each node, as the parameter `blocks` gives them."""
        return block_numbers(graphs, self.blocks, sequences.X.offsets)

    def _look_back(self, objective: LinearObjective) -> None:
        if "gap_" in self.__dict__:
            wanted = self.tol * self.loss_curve_[-1]
            gap = vars(self)["gap_"]
            self.gap_, self.gap_certified_ = certified(objective, self._w, gap, wanted)
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

    def predict(self, X: Any) -> np.ndarray:
        """Most probable labelling of each graph, or what `decoder` says.

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
        return divided(node, graphs)

    def predict_clique_proba(self, X: Any, name: str) -> np.ndarray:
        """Marginal probability of each labelling of each clique of one name.

        Parameters
        ----------
        X
            As in `fit`.
        name : str
            That of the `Cliques`; "edges" for those of tuples (nodes, edges).

        Returns
        -------
        ndarray of shape (n_graphs,)
            dtype object, an array (n_cliques, n_labels, ..., n_labels) each, with a dimension for
            each node of a clique, in the order of the cliques.

        Raises
        ------
        AttributeError
            If there were no cliques of this name in `fit`.
        """
        graphs: Sequences = self._read_X(X, reset=False)
        return object_array(self._clique_marginals(graphs, self._family(name)))

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw labellings from p(y | x), by exact inference.

        Parameters
        ----------
        X
            As in `fit`.
        n_samples : int, default=1
        random_state : int, RandomState or None, default=None

        Returns
        -------
        ndarray of shape (n_graphs,)
            dtype object, each a list of `n_samples` lists of labels.

        Raises
        ------
        ValueError
            For a graph that `inference` does not infer exactly.
        """
        graphs: Any = self._read_X(X, reset=False)
        structure = self._structure(graphs, learned=True)
        inference = sampler_of(self.inference, structure, self._width())
        codes = self._drawn(inference, graphs, n_samples, random_state)
        codes = self._label_codes(codes)
        ragged = graphs._replace(flat=False)
        drawn = [self._labels(row, ragged) for row in codes]
        return object_array([list(labels) for labels in zip(*drawn, strict=True)])

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
