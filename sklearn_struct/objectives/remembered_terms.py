"""What `sag` remembers of terms: their last derivatives in the potentials, all or a sample of them.

Where it only has to come near the optimum, they are kept in two bytes each. Steps add what is
remembered, so its errors are those of rounding to 11 bits, and differ in sign: passes are as many.

With hundreds of labels, derivatives of all labels at all tokens would need more memory than
everything else. Few of them matter: after some passes a token has a few labels with probabilities
that are not tiny. So a sample of them is kept. Its sums are right in the mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from sklearn_struct.compiled.half_floats import from_half, to_half
from sklearn_struct.compiled.systematic_sample import systematic_sample

__all__ = [
    "LARGEST_MEMORY",
    "AllDerivatives",
    "HalfDerivatives",
    "SampledDerivatives",
    "memory_of",
    "remembered_terms",
]

LARGEST_MEMORY = 2**32  # bytes
MANY = 2**24  # derivatives, more than which are sampled
KEPT = 1 / 12  # share of derivatives that a sample has at most


class AllDerivatives:
    """All derivatives of each term, in a float type."""

    def __init__(self, n_terms: int, dtype: DTypeLike) -> None:
        self.dtype = dtype
        self.of_terms: list[np.ndarray | None] = [None] * n_terms

    def get(self, i: int) -> np.ndarray | None:
        """Those of term i, or None."""
        return self.of_terms[i]

    def put(self, i: int, gradient: np.ndarray) -> np.ndarray:
        """Remember those of term i; return what is remembered."""
        kept = gradient.astype(self.dtype, copy=False)
        self.of_terms[i] = kept
        return kept


class HalfDerivatives:
    """All derivatives of each term, in two bytes each."""

    def __init__(self, n_terms: int) -> None:
        # with the exponent from which a term's numbers count
        self.of_terms: list[tuple[np.ndarray, int] | None] = [None] * n_terms

    def get(self, i: int) -> np.ndarray | None:
        """Those of term i, or None."""
        kept = self.of_terms[i]
        if kept is None:
            return None
        gradient = np.empty(len(kept[0]), np.float32)
        from_half(*kept, gradient.view(np.int32))
        return gradient

    def put(self, i: int, gradient: np.ndarray) -> np.ndarray:
        """Remember those of term i; return what is remembered."""
        half = np.empty(len(gradient), np.uint16)
        bits = gradient.astype(np.float32).view(np.int32)
        self.of_terms[i] = half, to_half(bits, half)
        return bits.view(np.float32)


class _Sample(NamedTuple):
    """Derivatives of a term at some places, 0 elsewhere."""

    size: int
    places: np.ndarray
    values: np.ndarray


class SampledDerivatives:
    """A sample of the derivatives of each term, at most a share `KEPT` of them."""

    def __init__(self, n_terms: int, rng: np.random.RandomState) -> None:
        self.of_terms: list[_Sample | None] = [None] * n_terms
        self.rng = rng
        self.threshold = 0.0

    def get(self, i: int) -> np.ndarray | None:
        """Those of term i with zeros for what was not taken, or None."""
        sample = self.of_terms[i]
        if sample is None:
            return None
        gradient = np.zeros(sample.size)
        gradient[sample.places] = sample.values
        return gradient

    def put(self, i: int, gradient: np.ndarray) -> np.ndarray:
        """Remember a sample of those of term i; return what is remembered."""
        most = max(int(KEPT * len(gradient)), 1)
        places = np.empty(len(gradient), np.int32)
        values = np.empty(len(gradient), np.float32)
        if not self.threshold > 0:
            self.threshold = float(np.sum(np.abs(gradient))) / most
        n = self._sample(gradient, places, values)
        while n > most:
            self.threshold *= 2
            n = self._sample(gradient, places, values)
        self.of_terms[i] = _Sample(len(gradient), places[:n].copy(), values[:n].copy())
        # terms are alike: the next has about as many
        if n < most / 3:
            self.threshold /= 2
        kept = self.get(i)
        assert kept is not None
        return kept

    def _sample(self, gradient: np.ndarray, places: np.ndarray, values: np.ndarray) -> int:
        # with a start at random, each number has its chance
        start = self.rng.random_sample()
        return systematic_sample(gradient, self.threshold, start, places, values)


def memory_of(n_derivatives: int, sampled: bool) -> float:
    """How many bytes it takes to remember them, if many may be `sampled`."""
    # of a sample a place and a value
    return 8 * n_derivatives * (KEPT if sampled and n_derivatives > MANY else 1)


def remembered_terms(
    n_terms: int, n_derivatives: int, dtype: DTypeLike, rng: np.random.RandomState, sampled: bool
) -> AllDerivatives | HalfDerivatives | SampledDerivatives:
    """An empty memory for terms that have so many derivatives together; many may be `sampled`.

    Raises
    ------
    ValueError
        If it would be larger than LARGEST_MEMORY.
    """
    n_bytes = memory_of(n_derivatives, sampled)
    if n_bytes > LARGEST_MEMORY:
        raise ValueError(
            f"sag would remember {n_bytes / 2**30:.1f} GiB of derivatives: a number for each label "
            "at each token and, with edge features, for each pair of labels; use lbfgs or owlqn"
        )
    if sampled and n_derivatives > MANY:
        return SampledDerivatives(n_terms, rng)
    if sampled and dtype == np.float32:
        return HalfDerivatives(n_terms)
    return AllDerivatives(n_terms, dtype)
