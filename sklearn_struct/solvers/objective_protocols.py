"""What solvers may ask of an objective: two protocols, and one more each for dual ascent and EM.

An objective is a function of a parameter vector w that is to be minimised. Any class with these
methods is one; it need not inherit from the protocol. Penalties belong to the solvers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["BatchObjective", "DifferenceObjective", "DualObjective", "HiddenTerms", "SumOfTerms"]

# what a dual pass keeps of its examples: a matter of the objective
State = TypeVar("State")


class BatchObjective(Protocol):
    """A function of w that is evaluated on all data at once."""

    @property
    def size(self) -> int:
        """Length of w."""
        ...

    @property
    def n_free(self) -> int:
        """How many entries, at the end of w, no penalty applies to."""
        ...

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and its gradient, an array that the caller may overwrite."""
        ...

    def hess_vec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The second derivative at w, times v, in an array that the caller may overwrite.

        Only Newton's methods ask for it.
        """
        ...


class DifferenceObjective(BatchObjective, Protocol):
    """An objective that is the difference of two convex ones."""

    def parts(self) -> tuple[BatchObjective, BatchObjective]:
        """What is convex, and what is to be subtracted from it."""
        ...


class SumOfTerms(BatchObjective, Protocol):
    """An objective that is also a mean of terms, which are visited one at a time.

    Term i has a few potentials theta, which are linear in w. A solver computes them by `forward`,
    takes their derivative from `term`, and steps by `add`, which is the transpose of `forward`:

        theta = objective.forward(W, i, 1.0)
        value, gradient = objective.term(theta, i)
        objective.add(gradient, i, W, -step)

    Each of these costs as much as the term has features, however long w is. For that, solvers work
    in an expanded layout W of w. Parameters that no term touches may have no place in it.
    """

    @property
    def n_terms(self) -> int: ...

    def value(self, w: np.ndarray) -> float:
        """The value alone, which takes less than with its gradient."""
        ...

    @property
    def is_sampled(self) -> bool:
        """Whether derivatives of terms are random estimates, which are not those of the values."""
        ...

    @property
    def n_potentials(self) -> int:
        """How many potentials all terms have together."""
        ...

    def expand(self, w: np.ndarray) -> np.ndarray:
        """W of w, one flat array whose last `n_free` entries are the unpenalised ones."""
        ...

    def compress(self, W: np.ndarray) -> np.ndarray:
        """w of W; 0 for parameters that have no place in W."""
        ...

    def forward(self, W: np.ndarray, i: int, *scales: float) -> np.ndarray:
        """Potentials of term i, flat, at the sum of ``scales[c]`` times the c-th vector in W.

        The unpenalised entries are those of the first vector, and not scaled.
        """
        ...

    def term(self, theta: np.ndarray, i: int) -> tuple[float, np.ndarray]:
        """Value of term i and its derivative in theta. The mean over all terms is the objective."""
        ...

    def add(self, gradient: np.ndarray, i: int, W: np.ndarray, *scales: float) -> None:
        """Add ``scales[c]`` times the gradient of term i in the parameters to the c-th vector in W.

        `gradient` is the derivative in the potentials, as `term` returns it.
        """
        ...

    def squared_norm(self, gradient: np.ndarray, i: int) -> float:
        """Squared length of the gradient of term i in the parameters."""
        ...

    def new_memory(
        self, dtype: DTypeLike, rng: np.random.RandomState, sampled: bool
    ) -> Derivatives:
        """An empty memory for derivatives of terms in their potentials, in a float type; if
        `sampled`, not of all where these are many.

        Raises
        ------
        ValueError
            If it would be too large.
        """
        ...

    def rest(self) -> None:
        """Free what only evaluations as a whole need: terms are visited for a while, and the whole
        is seldom evaluated.
        """
        ...

    def wake(self) -> None:
        """The whole is evaluated again and again from now on."""
        ...

    # ---- several vectors interleaved in one W: neighbours in memory are read together

    def side_by_side(self, vectors: Sequence[np.ndarray], dtype: DTypeLike) -> np.ndarray:
        """A W of these vectors, expanded."""
        ...

    def separate(self, W: np.ndarray, c: int) -> np.ndarray:
        """The c-th of the vectors in W as w; 0 for parameters that have no place in W."""
        ...

    def penalised_parts(self, W: np.ndarray) -> list[np.ndarray]:
        """Views (number, n, width) of the penalised entries of the n vectors in W."""
        ...


class Derivatives(Protocol):
    """The last derivatives of terms in their potentials, or what is remembered of them."""

    def get(self, i: int) -> np.ndarray | None:
        """Those of term i, or None."""
        ...

    def put(self, i: int, gradient: np.ndarray) -> np.ndarray:
        """Remember those of term i; return what is remembered."""
        ...


class Planes(Protocol):
    """The planes of a term that were met, functions of its potentials theta, or of the parameters
    W, with shares that sum to 1. At first there is one, 0 everywhere.
    """

    def __len__(self) -> int: ...

    @property
    def height(self) -> float:
        """The mean of the planes' offsets by shares."""
        ...

    def values(self, at: np.ndarray) -> np.ndarray:
        """The value of each plane at theta, or at W."""
        ...

    def add(self, slope: np.ndarray, offset: float, image: np.ndarray) -> None:
        """Add a plane without a share; `image` is that of its slope in theta, or its slope in W."""
        ...

    def share_anew(
        self, at: np.ndarray, curvature: float, factor: float, into: np.ndarray
    ) -> float:
        """Give planes their best shares; add the change of the mean slope, times a factor. Returns
        how far the highest plane was above their mean.
        """
        ...


class LargestPlanes(SumOfTerms, Protocol):
    """A sum of terms each of which is the largest one of planes."""

    def new_planes(self) -> Planes:
        """Room for the planes of a term."""
        ...

    def image(self, gradient: np.ndarray, i: int) -> np.ndarray:
        """Potentials of term i, flat, where the parameters are its gradient."""
        ...


class HiddenTerms(LargestPlanes, Protocol):
    """The same where something is hidden, as f - g: both are largest ones of planes."""

    def completion(self, w: np.ndarray) -> np.ndarray:
        """What is hidden, as g has it at w."""
        ...

    def with_completion(self, completion: np.ndarray) -> LargestPlanes:
        """The objective where this is known, which is f less a plane of g."""
        ...


class DualObjective(BatchObjective, Protocol[State]):
    """An objective that has a dual problem, with one factor for each of its terms."""

    @property
    def n_terms(self) -> int: ...

    def dual_start(self, w: np.ndarray, l2: float) -> tuple[np.ndarray, State, np.ndarray]:
        """The point at which to start near w, the state of the factors, and scales for passes."""
        ...

    def dual_pass(self, w: np.ndarray, dual: State, scales: np.ndarray, order: np.ndarray) -> None:
        """Visit the terms in this order. Each gets its best factor; w and `dual` are updated."""
        ...
