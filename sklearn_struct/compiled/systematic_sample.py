"""A sample of numbers whose sums are right in the mean: all large ones, and some small ones.

Numbers above a threshold are kept as they are. Of those below it as many are taken as have their
sum, at the threshold each. As one in so many is taken, the sum of neighbours with one sign is never
off by more than the threshold (systematic sampling; Cochran, Sampling Techniques, 1977, chapter 8).
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = ["systematic_sample"]


@kernel
def systematic_sample(
    numbers: np.ndarray, threshold: float, start: float, places: np.ndarray, values: np.ndarray
) -> int:
    """Write places and values of a sample; return its length.

    Of the numbers below the threshold one is taken whenever the sum of their sizes passes the next
    multiple of it, beginning with ``start * threshold``; its value is the threshold.
    """
    n = 0
    passed = start
    share = 1.0 / threshold if threshold > 0.0 else 0.0
    for i in range(len(numbers)):
        x = numbers[i]
        size = abs(x) * share
        if size >= 1.0:
            places[n] = i
            values[n] = x
            n += 1
        else:
            passed += size
            if passed >= 1.0:
                passed -= 1.0
                places[n] = i
                values[n] = threshold if x > 0 else -threshold
                n += 1
    return n
