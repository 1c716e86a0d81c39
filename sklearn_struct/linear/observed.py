"""Which features occur with which labels, by one bit each: a single pass over X, which a sparse product needs twice."""

from __future__ import annotations

import numpy as np

from sklearn_struct.batch import CSR
from sklearn_struct.kernel import kernel
from sklearn_struct.simd import at

__all__ = ["BITS", "observed"]

BITS = 64


def observed(X: CSR, codes: np.ndarray, n_features: int, width: int) -> CSR:
    """The pairs (feature, code) stored together in a row of X, ordered by feature, then code."""
    n_words = -(-width // BITS)
    bits, indptr = np.zeros(n_features * n_words, dtype=np.uint64), np.zeros(n_features + 1, dtype=np.int64)
    labels = np.empty(_mark(X, codes, n_words, bits), dtype=np.int32)
    _list(bits, n_words, indptr, labels)
    return CSR(indptr, labels, np.empty(0, dtype=np.int32))


@kernel
def _mark(X, codes, n_words, bits):
    """Set the bit of the row's code in the words of each of its features; return how many are set."""
    n, one, indices = 0, np.uint64(1), X.indices
    for t in range(len(codes)):
        word, shift = codes[t] // BITS, np.uint64(codes[t] % BITS)
        for p in range(X.indptr[t], X.indptr[t + 1]):
            i = np.int64(at(indices, p)) * n_words + word
            n += (bits[i] >> shift & one) == 0
            bits[i] |= one << shift
    return n


@kernel
def _list(bits, n_words, indptr, labels):
    """Write bounds and labels of the bits that are set."""
    q, one = 0, np.uint64(1)
    for f in range(len(indptr) - 1):
        for w in range(n_words):
            rest, k = bits[f * n_words + w], w * BITS
            while rest != 0:
                if rest & one != 0:
                    labels[q] = k
                    q += 1
                rest >>= one
                k += 1
        indptr[f + 1] = q
