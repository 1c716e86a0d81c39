"""The weights of a fitted chain in the layout in which predictions read them, kept from one
prediction to the next.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Structure
from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.linear.lookup_for_prediction import Lookup
from sklearn_struct.objectives.linear_potentials import Inputs, LinearPotentials, bind
from sklearn_struct.objectives.node_maps import by_matrix, dense_columns, lookup, node_map_of
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["Prepared", "check_width"]


def check_width(pattern: Pattern, X: SequenceArray) -> None:
    """Raise ValueError unless X has the features that have weights: kernels look for them without a
    doubt.

    Whatever encodes X may have been changed since `fit`. All predictions pass here.
    """
    if X.stored.shape[1] != pattern.n_features:
        raise ValueError(
            f"X has {X.stored.shape[1]} features, but the model has weights of "
            f"{pattern.n_features}: what encodes X "
            "is not as in fit"
        )


def _of_nodes_alone(potentials: LinearPotentials, inputs: Inputs | None) -> bool:
    """Whether X comes in by the features of nodes alone, one row for each."""
    of_cliques = inputs is not None or potentials.has_clique_features
    return not of_cliques and not potentials.pattern.n_sharing


class _Kept(NamedTuple):
    pattern: Pattern
    w: np.ndarray
    kind: tuple[np.dtype, bool, int]  # float type, whether weights form a matrix, or how many do
    lookup: Lookup | None
    layout: tuple[object, ...]
    W: np.ndarray
    # without any X; None where more than nodes have features
    blank: LinearPotentials | None


class Prepared:
    """Made by the first prediction and whenever another pattern, w, float type or kind of X comes.

    It is no part of what was learned: copies and pickles of it are empty, and any two are equal.
    Threads that predict at once may each make one, and then the last stays.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self) -> None:
        self._kept: _Kept | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # neither pickles nor copies carry what can be made again
        return Prepared, ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prepared)

    def bind(
        self,
        pattern: Pattern,
        w: np.ndarray,
        X: SequenceArray,
        structure: Structure,
        dtype: np.dtype,
        inputs: Inputs | None = None,
    ) -> tuple[LinearPotentials, np.ndarray]:
        """Potentials of X and the expanded w that they take."""
        check_width(pattern, X)
        kept = self._kept
        n_dense = dense_columns(pattern, X)
        kind = (dtype, by_matrix(pattern, X), n_dense)
        # by identity: fits never write into arrays that they have published
        if kept is not None and not (kept.pattern is pattern and kept.w is w and kept.kind == kind):
            kept = None
        if kept and kept.blank and inputs is None:
            # of a single sentence all else takes as long as the scores
            return kept.blank.over(node_map_of(pattern, X, dtype, kept.lookup)), kept.W
        places = kept.lookup if kept else None if kind[1] else lookup(pattern, n_dense)
        potentials = bind(pattern, X, structure, dtype, places, inputs, once=True)
        if kept and kept.layout == potentials.layout:
            return potentials, kept.W
        with np.errstate(over="ignore"):
            W = potentials.expand(w)
        # looked at once, when the weights are expanded, and not in each prediction
        if not np.all(np.isfinite(W)):
            most = np.max(np.abs(w))
            raise NonFiniteError(
                f"the weights are not finite in {dtype} (the largest is {most:.4g}); use another "
                "dtype"
            )
        # one assignment, last: other threads find what was there before, or all of this
        blank = potentials.over(None) if _of_nodes_alone(potentials, inputs) else None
        self._kept = _Kept(pattern, w, kind, places, potentials.layout, W, blank)
        return potentials, W
