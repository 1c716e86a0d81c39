"""Which features occur with which labels, by one bit each.

That takes one pass over X, where a sparse product would need two.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import at
from sklearn_struct.containers.csr import CSR

__all__ = ["BITS", "observed"]

# of a word
BITS = 64


def observed(X: CSR, codes: np.ndarray, n_features: int, width: int) -> CSR:
    """The pairs (feature, code) stored together in a row of X, ordered by feature, then code."""
    n_words = -(-width // BITS)
    bits = np.zeros(n_features * n_words, dtype=np.uint64)
    indptr = np.zeros(n_features + 1, dtype=np.int64)
    labels = np.empty(_mark(X, codes, n_words, bits), dtype=np.int32)
    _list(bits, n_words, indptr, labels)
    return CSR(indptr, labels, np.empty(0, dtype=np.int32))


@kernel
def _mark(X: CSR, codes: np.ndarray, n_words: int, bits: np.ndarray) -> int:
    """Set the bit of each row's code in the words of its features; return how many are set."""
    n = 0
    one = np.uint64(1)
    indices = X.indices
    for t in range(len(codes)):
        # a feature has one bit for each label, in as many words as that takes
        word = codes[t] // BITS
        shift = np.uint64(codes[t] % BITS)
        for p in range(X.indptr[t], X.indptr[t + 1]):
            i = np.int64(at(indices, p)) * n_words + word
            # counted while marking, so that the list has its length before it is written
            n += (bits[i] >> shift & one) == 0
            bits[i] |= one << shift
    return n


@kernel
def _list(bits: np.ndarray, n_words: int, indptr: np.ndarray, labels: np.ndarray) -> None:
    """Write bounds and labels of the bits that are set."""
    q = 0
    one = np.uint64(1)
    for f in range(len(indptr) - 1):
        for w in range(n_words):
            rest = bits[f * n_words + w]
            k = w * BITS
            while rest != 0:
                if rest & one != 0:
                    labels[q] = k
                    q += 1
                rest >>= one
                k += 1
        indptr[f + 1] = q
