"""Random numbers that hang on a seed and on the scores of an example alone.

So a loss that draws labels is a function of its arguments: it keeps no state, and equal calls give
equal bits, on any number of threads. In training, scores change from step to step, and the numbers
with them. Examples with equal scores, such as equal graphs, get equal numbers.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = ["key_of", "uniform"]

# of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014)
STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
UNIT = 2.0**-53


@kernel
def key_of(key: np.uint64, numbers: np.ndarray) -> np.uint64:
    """The key (uint64) that follows after more numbers, given as their bits (uint64)."""
    for i in range(len(numbers)):
        key = (key ^ numbers[i]) * FIRST
        key ^= key >> np.uint64(32)
    return key


@kernel
def uniform(key: np.uint64, i: int) -> float:
    """Number i, in [0, 1), of those of a key."""
    x = key + np.uint64(i) * STEP
    x = (x ^ (x >> np.uint64(30))) * FIRST
    x = (x ^ (x >> np.uint64(27))) * SECOND
    x ^= x >> np.uint64(31)
    # the highest 53 bits
    number: float = np.float64(x >> np.uint64(11)) * UNIT
    return number
