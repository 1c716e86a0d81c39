"""Graphs whose nodes are of several types, each with labels of its own."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from sklearn_struct._warning import warn
from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.containers.structures import Structure
from sklearn_struct.encoding.labels.typed_labels import TypedLabels, known_labels
from sklearn_struct.encoding.node_types import flat_types, numbers_of
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.graphs.base_graph import Graphs, NodeTypes
from sklearn_struct.estimators.graphs.base_graph_crf import BaseGraphCRF
from sklearn_struct.estimators.graphs.hidden_nodes import broken_symmetry, checked_hidden
from sklearn_struct.estimators.graphs.typed_cliques import possible, unseen
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.inference.labelling_scores import forbid_labels
from sklearn_struct.objectives.linear_objective import LinearObjective
from sklearn_struct.objectives.linear_potentials import Inputs, Kinds
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["BaseTypedGraph"]


@with_parameters
class BaseTypedGraph(BaseGraphCRF):
    """Reads nodes of types where there are some; codes of labels count through all types.

    Learned, besides the documented attributes: ``_typed``, the labels of each type; None where
    nodes have no types.

    Parameters
    ----------
    hidden : dict of str to int, default=None
        The types of `TypedNodes` whose nodes are hidden, with the number of states that each has.
        Nodes of these types have None in y. `fit` learns what the states mean, and the probability
        of a labelling is a sum over all states. The objective is then not convex, and training
        begins at small random weights, see `random_state`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Labels, sorted. Where nodes have types: pairs (type, label), one type after the other, of
        hidden types pairs (type, number of the state).
    type_classes_ : dict of str to ndarray
        The labels of each type, sorted; only where nodes have types.
    type_slices_ : dict of str to slice
        By the name of each type where its labels stand in ``classes_``, and so in the rows of
        ``coef_`` and in all dimensions of ``clique_transition_``; only where nodes have types.
    """

    hidden: Any = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"hidden": [dict, None]}

    @property
    def type_classes_(self) -> dict[str, np.ndarray]:
        """The labels of each type of nodes, sorted, by its name; states of hidden types."""
        return dict(self._fitted_types().classes)

    @property
    def type_slices_(self) -> dict[str, slice]:
        """By the name of each type where its labels stand in ``classes_``."""
        return self._fitted_types().slices

    def _fitted_types(self) -> TypedLabels:
        typed: TypedLabels | None = self._fitted("_typed")
        if typed is None:
            raise AttributeError(f"the nodes that this {type(self).__name__} has seen had no types")
        return typed

    def _typed_rows(self) -> TypedLabels:
        """What rows of weights of each type stand for; here labels."""
        return self._fitted_types()

    def _row_masks(self, labels: np.ndarray) -> np.ndarray:
        """Which rows of weights may stand at each node, of codes of labels or masks of these."""
        return labels

    # ---- reading

    def _read_types(self, types: list[Any] | None, offsets: np.ndarray, reset: bool) -> Any:
        """The types of all nodes, as in `fit`; None where there are none."""
        typed = None if reset else self._fitted("_typed")
        if types is None:
            if typed is not None:
                raise InputTypeError(
                    "nodes of X have no types, unlike in fit: a graph is (TypedNodes(features, "
                    "types), edges)"
                )
            return None
        if not reset and typed is None:
            raise InputTypeError("nodes of X have types (TypedNodes), unlike in fit")
        names = flat_types(types, offsets)
        known = sorted(set(names)) if typed is None else list(typed.classes)
        return NodeTypes(known, numbers_of(names, known, offsets))

    def _read_labels(
        self, y: Any, sequences: Any, reset: bool, unseen: int | None = None
    ) -> np.ndarray:
        types = sequences.types
        if types is None:
            if reset:
                checked_hidden(self.hidden, [])
                self._typed: TypedLabels | None = None
            return super()._read_labels(y, sequences, reset, unseen)
        if y is None:
            return super()._read_y(y, sequences, reset)  # which says that it is needed
        offsets = sequences.X.offsets
        labels = self._flat_labels(as_list(y), offsets, sequences.flat)
        if reset:
            hidden = checked_hidden(self.hidden, types.names)
            self._typed = known_labels(labels, types.number, types.names, offsets, hidden)
            self.classes_ = self._typed.pairs()
        return self._fitted_types().encode(labels, types.number, offsets, unseen)

    def _read_y(self, y: Any, sequences: Any, reset: bool, unseen: int | None = None) -> np.ndarray:
        """Codes of labels; of nodes without any those of the best labelling that y allows."""
        if sequences.types is None:
            return super()._read_y(y, sequences, reset, unseen)
        codes = self._read_labels(y, sequences, reset, unseen)
        if codes.ndim == 1:
            return codes
        masks = self._row_masks(codes)
        return self._predict_codes(
            sequences, lambda theta, block: forbid_labels(theta, masks[block.tokens])
        )

    # ---- what follows from types

    def _structure(self, sequences: Any, learned: bool) -> Structure:
        if sequences.types is not None:
            sizes = self._typed_rows().sizes[sequences.types.number]
            typed = sequences.structure._replace(sizes=sizes)
            sequences = sequences._replace(structure=typed)
        return super()._structure(sequences, learned)

    def _inputs(self, sequences: Any) -> Inputs:
        inputs = super()._inputs(sequences)
        if sequences.types is None:
            return inputs
        allowed = np.where(self._typed_rows().allowed, 0.0, -np.inf)
        return inputs._replace(kinds=Kinds(sequences.types.number, allowed))

    def _observe(self, sequences: Any, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        if sequences.types is None:
            return super()._observe(sequences, codes, weight)
        typed = self._fitted_types()
        number = sequences.types.number
        if codes.ndim == 2:
            # where nothing is known there still are no labels of other types
            codes = codes & typed.allowed[number]
        pattern = super()._observe(sequences, codes, weight)
        families = tuple(
            possible(family, cliques, number, typed)
            for family, cliques in zip(pattern.families, sequences.structure.families, strict=True)
        )
        return pattern._replace(families=families)

    def _look_for_types(self, graphs: Graphs) -> None:
        """Warn of cliques between nodes of types between which `fit` has seen none."""
        if graphs.types is None:
            return
        typed = self._typed_rows()
        parts = zip(self.templates_, self._pattern.families, graphs.structure.families)
        for name, family, cliques in parts:
            place = unseen(name, family, cliques, graphs.types.number, typed)
            if place is not None:
                warn(f"{place}: such cliques have no weights, and are as if they were not there")

    def _labels(self, codes: np.ndarray, sequences: Any) -> np.ndarray:
        if sequences.types is None:
            return super()._labels(codes, sequences)
        labels = self._fitted_types().labels()[codes].tolist()
        return object_array(cut(labels, sequences.X.offsets))

    # ---- hidden nodes

    def _begin(self, solver: str, objective: LinearObjective, w0: np.ndarray) -> np.ndarray:
        w0 = super()._begin(solver, objective, w0)
        if self._typed is None or not self._typed.hidden:
            return w0
        # "auto" gives the same result each time
        seed = 0 if self.solver == "auto" and self.random_state is None else self.random_state
        return broken_symmetry(w0, self._pattern, self._typed_rows(), check_random_state(seed))
