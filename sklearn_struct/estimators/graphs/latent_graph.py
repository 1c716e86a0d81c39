"""Graphs whose labels have hidden states of their own: what is read and predicted are labels, what
depends on each other are states.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.containers.structures import Block, Potentials, Structure, n_columns
from sklearn_struct.encoding.labels.label_states import LabelStates, read_states
from sklearn_struct.encoding.labels.typed_labels import TypedLabels
from sklearn_struct.estimators.fitting.base_sequence import divided
from sklearn_struct.estimators.fitting.base_structured import Restriction
from sklearn_struct.estimators.fitting.finite_scores import NodePlace
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.sample_weights import Weights
from sklearn_struct.estimators.fitting.solving import Minimisation
from sklearn_struct.estimators.graphs.base_graph import MOST_COLUMNS
from sklearn_struct.estimators.graphs.typed_graph import BaseTypedGraph
from sklearn_struct.estimators.hidden_states.runs_of_states import StateRuns
from sklearn_struct.estimators.hidden_states.state_parameters import RestartParameters
from sklearn_struct.estimators.hidden_states.weights_of_states import by_states
from sklearn_struct.inference.labelling_scores import forbid_labels
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.objectives.linear_objective import LinearObjective
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["BaseLatentGraph"]

# of parameters that say nothing where labels have no states
WITHOUT_STATES = {"shared_states": None, "init": "labels", "n_init": 1}
NO_STATES = "labels of this {} have no hidden states; n_states gives them some"


@with_parameters
class BaseLatentGraph(BaseTypedGraph, RestartParameters):
    """Potentials are of states of labels, where `n_states` gives them some.

    Learned, besides the documented attributes: ``_states``, the label of each; None where there are
    none, and a state is a label.

    Parameters
    ----------
    n_states : int or dict of {label: int}, default=None
        How many hidden states each label has of its own, as in `LatentChainCRF`. One label may then
        stand for several kinds of nodes, which y does not show. The probability of a labelling is a
        sum over states. Labels that are not in a dict have 1 state. A label may have 0 if it has
        shared states. If nodes have types, the keys are pairs (type, label); hidden types have no
        such states. None: labels have no states. The objective is not convex, and `init` says where
        training begins; it needs ``loss="log_likelihood"`` or "hinge". With "hinge" choose
        ``decoder="states"``, as such a model has no calibrated probabilities to sum.
    shared_states : dict of {tuple of labels: int}, default=None
        With `n_states`: how many further states several labels share, such as ``{("A", "B"): 1}``.
        A shared state has the same weights of features under each of its labels. Its intercept and
        its weights of edges differ from label to label.
    init : {"labels", "random"}, default="labels"
        With `n_states`: where training begins, unless `fit` gets `init`. "labels": at the weights
        of a model without states, plus random numbers, which make the states of a label differ.
        "random": at random numbers alone.
    n_init : int, default=1
        With `n_states`: how many starts are tried, each with its own random numbers. The fit with
        the lowest objective is kept.
    decoder : {"auto", "marginal", "states", "icm"}, default="auto"
        What `predict` returns:

        - "auto": the most probable labelling where inference is exact. Else the best of sequential
          tree-reweighted messages, damped max-product and, with "bp" and "trw", the labels of
          "marginal", each improved label by label. Where edges have one score for all pairs of
          different labels, and at least that for equal ones (Potts's model), expansion moves
          replace the latter two (Boykov, Veksler and Zabih, IEEE Transactions on Pattern Analysis
          and Machine Intelligence 2001); with two labels the labelling is then the most probable
          one. With `n_states` it is "marginal", since the most probable labelling cannot be
          computed.
        - "marginal": the most probable label of each node by itself, as in `predict_proba`. More
          labels may be right, but together they may be an unlikely labelling.
        - "states": the labels of the most probable states, found as by "auto" without states.
        - "icm": iterated conditional modes (Besag, Journal of the Royal Statistical Society B
          1986). It starts from the best label, or state, of each node without its cliques, and
          changes one after the other while that raises the score. It is quick and needs no
          inference.
    random_state : int, RandomState or None, default=None
        For random starts and for what is drawn. None is the same in each fit with
        ``solver="auto"``.

    Attributes
    ----------
    states_ : ndarray of shape (n_states,)
        Pairs (label, number of one of its states), label by label, in the order of the rows of
        weights; only with `n_states`.
    """

    n_states: Any = None
    shared_states: Mapping[Any, int] | None = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_states": [Interval(Integral, 1, None, closed="left"), Mapping, None],
        "shared_states": [Mapping, None],
        "decoder": [StrOptions({"auto", "marginal", "states", "icm"})],
    }

    @property
    def states_(self) -> np.ndarray:
        """Pairs (label, number of a state of it), in the order of rows of weights."""
        states: LabelStates | None = self._fitted("_states")
        if states is None:
            raise AttributeError(NO_STATES.format(type(self).__name__))
        return states.names(self.classes_)

    # ---- reading

    def _read_labels(
        self, y: Any, sequences: Any, reset: bool, unseen: int | None = None
    ) -> np.ndarray:
        codes = super()._read_labels(y, sequences, reset, unseen)
        if reset:
            self._states = self._read_states()
        return codes

    def _read_states(self) -> LabelStates | None:
        if self.n_states is None:
            for name, usual in WITHOUT_STATES.items():
                if getattr(self, name) != usual:
                    raise ValueError(
                        f"{name} is about hidden states of labels: give n_states (1 for none), or "
                        "leave it"
                    )
            return None
        n_states = self.n_states
        typed = self._typed
        if typed is not None and typed.hidden and not isinstance(n_states, Mapping):
            # hidden types have states already
            pairs = typed.pairs().tolist()
            n_states = {pair: n_states for pair in pairs if pair[0] not in typed.hidden}
        return read_states(n_states, self.shared_states, self.classes_)

    # ---- what follows from states

    def _hidden_states(self) -> LabelStates | None:
        states: LabelStates | None = vars(self).get("_states")
        return states

    def _alphabet(self) -> np.ndarray:
        states = self._hidden_states()
        return super()._alphabet() if states is None else states.names(self.classes_)

    def _width(self) -> int:
        states = self._hidden_states()
        return super()._width() if states is None else len(states.label)

    def _rows_for(self, start: Any) -> np.ndarray:
        states = self._hidden_states()
        if states is None:
            return super()._rows_for(start)
        if hasattr(start, "states_"):
            return self._alphabet()
        # states begin with the weights of their label
        rows: np.ndarray = self.classes_[states.label]
        return rows

    def _score_of(self, place: NodePlace, code: int | None) -> str:
        states = self._hidden_states()
        if states is not None and code is not None:
            code = int(states.label[code])
        return super()._score_of(place, code)

    def _label_codes(self, codes: np.ndarray) -> np.ndarray:
        states = self._hidden_states()
        if states is None:
            return super()._label_codes(codes)
        labels: np.ndarray = states.label[codes].astype(np.int32)
        return labels

    def _row_masks(self, labels: np.ndarray) -> np.ndarray:
        states = self._hidden_states()
        if states is None:
            return super()._row_masks(labels)
        if labels.ndim == 1:
            of_labels: np.ndarray = states.of_labels[labels]
            return of_labels
        of_states: np.ndarray = labels[:, states.label]
        return of_states

    def _cost(self) -> np.ndarray | None:
        cost = super()._cost()
        states = self._hidden_states()
        return cost if states is None else states.costs(cost)

    def _typed_rows(self) -> TypedLabels:
        typed = super()._typed_rows()
        states = self._hidden_states()
        return typed if states is None else typed.by_rows(states.label)

    def _weights(self, sample_weight: Any, sequences: Any, labels: np.ndarray) -> Weights:
        """Weights, and what is known of the states."""
        weights = super()._weights(sample_weight, sequences, labels)
        states = self._hidden_states()
        if states is None:
            return weights
        if labels.ndim == 1 and not states.several and self.solver != "em":
            return weights
        return weights._replace(evidence=Evidence(allowed=self._row_masks(labels)))

    def _observe(self, sequences: Any, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        pattern = super()._observe(sequences, codes, weight)
        states = self._hidden_states()
        if states is None:
            return pattern
        n = len(states.label)
        for name, template in self.templates_.items():
            if n_columns(n, template.size) > MOST_COLUMNS:
                raise ValueError(
                    f"cliques {name!r} of {template.size} nodes have {n}**{template.size} "
                    f"labellings by hidden states, more than {MOST_COLUMNS:,}; use fewer states"
                )
        return by_states(pattern, states)

    def _solved(
        self,
        settings: Minimisation,
        solver: str,
        objective: LinearObjective,
        w0: np.ndarray,
        iterations: Iterations,
    ) -> dict[str, Any]:
        runs = self._runs()
        if runs is None:
            return super()._solved(settings, solver, objective, w0, iterations)
        if self.inference == "gibbs" and self.init == "labels" and runs.states.several:
            raise ValueError(
                "init='labels' looks for the weights of labels by exact gradients, which "
                "inference='gibbs' does not give; use init='random'"
            )
        if self.solver == "auto" and self.random_state is None:
            settings = settings._replace(random_state=0)  # the same result each time
        return runs.solve(settings, solver, objective, w0, iterations)

    def _runs(self) -> StateRuns | None:
        states = self._hidden_states()
        if states is None:
            return None
        return StateRuns(self._pattern, states, self.init, self.n_init)

    def _learned(self, w: np.ndarray) -> dict[str, Any]:
        runs = self._runs()
        return super()._learned(w if runs is None else runs.spread(w))

    # ---- predictions

    def _decode(self, potentials: Potentials, structure: Structure, labels: np.ndarray) -> None:
        has_states = self._hidden_states() is not None
        if self.decoder == "states" or (has_states and self.decoder != "icm"):
            # the best ones together, also where labels are chosen one by one
            self._learned_inference().argmax(potentials, structure, labels)
        else:
            super()._decode(potentials, structure, labels)

    def _best_codes(self, graphs: Any, restrict: Restriction | None = None) -> np.ndarray:
        """The best labels, or states if labels have some."""
        return super()._predict_codes(graphs, restrict)

    def _predict_codes(self, sequences: Any, restrict: Restriction | None = None) -> np.ndarray:
        if self._hidden_states() is None or self.decoder in ("states", "icm"):
            return self._label_codes(self._best_codes(sequences, restrict))
        best = np.argmax(self._label_marginals(sequences, restrict), axis=1)
        codes: np.ndarray = best.astype(np.int32)
        return codes

    def _label_marginals(self, sequences: Any, restrict: Restriction | None = None) -> np.ndarray:
        states = self._hidden_states()
        proba = super()._label_marginals(sequences, restrict)
        return proba if states is None else states.sums(proba)

    def _clique_marginals(
        self, sequences: Any, f: int = 0, restrict: Restriction | None = None
    ) -> list[np.ndarray]:
        tables = super()._clique_marginals(sequences, f, restrict)
        states = self._hidden_states()
        if states is None:
            return tables
        for axis in range(1, tables[0].ndim if tables else 1):
            tables = [np.add.reduceat(table, states.first, axis) for table in tables]
        return tables

    def _log_proba(self, sequences: Any, labels: np.ndarray) -> np.ndarray:
        states = self._hidden_states()
        if states is not None and states.several:
            labels = self._row_masks(labels)
        return super()._log_proba(sequences, labels)

    def _path(self, graphs: Any, labels: np.ndarray) -> np.ndarray:
        if self._hidden_states() is None:
            return super()._path(graphs, labels)
        masks = self._row_masks(labels)

        def restrict(theta: Potentials, block: Block) -> Potentials:
            return forbid_labels(theta, masks[block.tokens])

        return self._best_codes(graphs, restrict)

    def predict_states(self, X: Any) -> np.ndarray:
        """The most probable states: of labels, if they have some (`n_states`); else of hidden
        nodes, in the labelling that `predict` gives.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_graphs,)
            dtype object, a list for each graph. Of states of labels a pair (label, number of a
            state of it) for each node; for two-dimensional X the pairs themselves. Of hidden nodes
            the number of the state, and None at other nodes.

        Raises
        ------
        AttributeError
            If labels have no states, and nodes had no types in `fit`.
        """
        if self._fitted("_states") is None:
            states = self._fitted_types().states()
            graphs: Any = self._read_X(X, reset=False)
            numbers = states[self._predict_codes(graphs)].tolist()
            return object_array(cut(numbers, graphs.X.offsets))
        graphs = self._read_X(X, reset=False)
        pairs = self._alphabet()[self._best_codes(graphs)]
        return pairs if graphs.flat else object_array(cut(pairs.tolist(), graphs.X.offsets))

    def predict_state_proba(self, X: Any) -> np.ndarray:
        """Marginal probability of each state of labels at each node.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_graphs,)
            dtype object, an array (n_nodes, n_states) each, columns in the order of ``states_``;
            for two-dimensional X one array (n, n_states).

        Raises
        ------
        AttributeError
            If labels have no states.
        """
        if self._fitted("_states") is None:
            raise AttributeError(NO_STATES.format(type(self).__name__))
        graphs: Any = self._read_X(X, reset=False)
        node = super()._label_marginals(graphs)
        return divided(node, graphs)
