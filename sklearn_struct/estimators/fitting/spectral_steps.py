"""From an estimator's parameters to a grammar with states, by singular value decompositions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import joblib
import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_memory

from sklearn_struct.containers.trees import Forest, Tensors, Treebank
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.shared_parameters import RandomParameters
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.grammars.node_features import (
    INSIDE,
    OUTSIDE,
    Feature,
    Features,
    Nodes,
    indicators,
    nodes,
)
from sklearn_struct.grammars.spectral_states import Projection, estimate, one_a_tree, project

__all__ = ["BaseSpectral", "Spectrum"]


FeatureSets = tuple[Sequence[Feature], Sequence[Feature]]


class Spectrum(NamedTuple):
    """What was estimated, the states of each symbol and the singular values of each symbol
    (n_symbols, n_states).
    """

    tensors: Tensors
    n_states: np.ndarray
    singular_values: np.ndarray


@with_parameters
class BaseSpectral(RandomParameters):
    """Parameters of spectral estimators, and what these make of a treebank.

    Parameters
    ----------
    n_states : int, default=16
        Largest number of states of a symbol. A symbol has fewer states if some of its singular
        values are below a thousandth of the largest, and one if it is seen less than three times.
    smoothing : float, default=5.0
        How strongly averages over few edges are smoothed towards products of averages of lower
        order [2]_. 0 is no smoothing.
    shrinkage : float, default=0.2
        How strongly directions with small singular values, which are partly noise, are weakened. A
        direction whose singular value is below this share of the largest one loses half of its
        weight or more. 0 weakens none. With 0, and no smoothing, estimates are consistent.
    svd_solver : {"exact", "randomized"}, default="exact"
        How singular vectors are computed. "exact": up to rounding, by LAPACK for a symbol with few
        features or nodes, else by Lanczos iterations (ARPACK). "randomized": by three passes of
        subspace iteration (Halko, Martinsson and Tropp, SIAM Review 2011), for all symbols at once.
        A fit takes 10 to 20 % less time. On treebanks singular values fall slowly, so it finds
        other directions: log-probabilities of trees change by some tenths, but predictions are as
        good.
    nodes : {"all", "one", "one-unweighted"}, default="all"
        Which nodes the averages are over. "all": all nodes of a tree. "one": one node, drawn at
        random, as in the theorems of [1]_; it counts as often as its tree has nodes.
        "one-unweighted": one node that counts once, as in section 6.1 of [1]_. The latter is for
        comparison alone: nodes of small trees count too much, so estimates are not consistent.
    inside_features : list of callables, default=None
        Feature functions of what is below nodes; see `sklearn_struct.grammars.node_features`. None:
        those of [2]_ and neighbouring words.
    outside_features : list of callables, default=None
        The same of what is around nodes.
    feature_count : float or None, default=5.0
        A feature of n of the M nodes of a symbol is scaled by ``sqrt(M / (n + feature_count))``.
        None: features are not scaled.
    memory : str or object with the joblib.Memory interface, default=None
        Caches the features of nodes.
    random_state : int, RandomState instance or None, default=None
        Seed of the nodes that are drawn; no effect with ``nodes="all"``.
    """

    n_states: int = 16
    smoothing: float = 5.0
    shrinkage: float = 0.2
    svd_solver: str = "exact"
    nodes: str = "all"
    inside_features: Sequence[Feature] | None = None
    outside_features: Sequence[Feature] | None = None
    feature_count: float | None = 5.0
    memory: Any = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_states": [Interval(Integral, 1, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "svd_solver": [StrOptions({"exact", "randomized"})],
        "nodes": [StrOptions({"all", "one", "one-unweighted"})],
        "inside_features": [None, list, tuple],
        "outside_features": [None, list, tuple],
        "feature_count": [None, Interval(Real, 0, None, closed="left")],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "memory": [None, str, HasMethods(["cache"])],
    }

    def _spectrum(
        self,
        treebank: Treebank,
        leaf_sums: Callable[[np.ndarray], np.ndarray],
        default: FeatureSets = (INSIDE, OUTSIDE),
        weight: np.ndarray | None = None,
    ) -> Spectrum:
        """Estimate the tensors of a treebank's grammar; `default` are the features where the
        parameters name none, `weight` says how often each tree counts.
        """
        projected = self._projection(treebank, default, weight)
        tensors = estimate(treebank, projected, leaf_sums, self.smoothing, self.shrinkage)
        n_states = projected.n_states.astype(int)
        return Spectrum(tensors, n_states, projected.singular_values[:, : self.n_states])

    def _projection(
        self,
        treebank: Treebank,
        default: FeatureSets = (INSIDE, OUTSIDE),
        weight: np.ndarray | None = None,
    ) -> Projection:
        """The nodes of the trees in the spaces of their symbols' states."""
        forest = treebank.forest
        chosen = [
            _functions(self.inside_features, default[0], "inside_features"),
            _functions(self.outside_features, default[1], "outside_features"),
        ]
        if self.memory is not None:
            _check_known_again("inside_features", self.inside_features)
            _check_known_again("outside_features", self.outside_features)
        # then nothing hangs on the features, so none are computed
        if self.n_states == 1:
            chosen = [(_alike,), (_alike,)]
        n_symbols = len(treebank.grammar.indptr) - 1
        phi, psi = check_memory(self.memory).cache(_features)(
            forest, chosen, n_symbols, self.feature_count
        )
        of_nodes = None if weight is None else np.repeat(weight, np.diff(forest.offsets))
        if self.nodes != "all":
            rng = check_random_state(self.random_state)
            drawn = one_a_tree(forest.offsets, rng, once=self.nodes == "one-unweighted")
            of_nodes = drawn if of_nodes is None else drawn * of_nodes
        return project(phi, psi, forest.symbol, self.n_states, of_nodes, self.svd_solver)


def _features(
    forest: Forest, chosen: list[Sequence[Feature]], n_symbols: int, count: float | None
) -> list[Features]:
    """Features inside and outside of all nodes; a function of its own, so that it can be cached."""
    given = nodes(forest)
    return [
        indicators(given, [_checked(function) for function in functions], n_symbols, count)
        for functions in chosen
    ]


def _functions(
    given: Sequence[Feature] | None, default: Sequence[Feature], name: str
) -> Sequence[Feature]:
    if given is None:
        return default
    for i, function in enumerate(given):
        if not callable(function):
            raise InputTypeError(
                f"{name}[{i}] is a {type(function).__name__}, expected a function of nodes"
            )
    if not given:
        raise ValueError(f"{name} is empty")
    return given


def _check_known_again(name: str, functions: Sequence[Feature] | None) -> None:
    """Raise if a cache cannot tell functions from each other."""
    for i, function in enumerate(functions or ()):
        try:
            joblib.hash(function)
        # pickle raises whatever the function's state raises
        except Exception as error:
            raise InputTypeError(
                f"{name}[{i}] has no name or state by which `memory` could know it"
            ) from error


def _alike(nodes: Nodes) -> np.ndarray:
    """Nothing that tells nodes apart: with one state, estimates are relative frequencies."""
    return np.zeros_like(nodes.symbol)


def _checked(function: Feature) -> Feature:
    """The function, or an error where it does not give an integer for each node."""

    def codes(given: Nodes) -> np.ndarray:
        numbers = np.asarray(function(given))
        if numbers.shape != given.symbol.shape or numbers.dtype.kind not in "iu":
            what = f"{numbers.dtype} of shape {numbers.shape}"
            name = getattr(function, "__name__", repr(function))
            raise ValueError(f"feature function {name!r} gave {what}, not an integer for each node")
        return numbers.astype(np.int64, copy=False)

    return codes
