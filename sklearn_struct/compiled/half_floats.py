"""Numbers in two bytes each: eleven significant bits, and 30 binary orders below the largest. Those
below 1e-37 have fewer bits, as in float32 itself.

numpy's float16 takes ten times as long to convert, and has its orders where these numbers are not.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = ["from_half", "to_half"]

ORDERS = 31  # with that of the largest
DROPPED = 13  # bits of the mantissa of a float32
SIGN = 0x8000


@kernel
def to_half(bits: np.ndarray, half: np.ndarray) -> int:
    """Round float32 numbers, given as int32, in place and to uint16; return the exponent from which
    the latter count.

    Numbers that are more than 30 binary orders below the largest become 0.
    """
    largest = np.int32(0)
    for i in range(len(bits)):
        largest = max(largest, bits[i] & np.int32(0x7FFFFFFF))
    exponent: int = max((int(largest) >> 23) + 1 - ORDERS, 0)
    least = np.int32(exponent << 23)
    for i in range(len(bits)):
        # to the nearest, and of two to the even one, as floats are rounded
        size = (bits[i] & np.int32(0x7FFFFFFF)) - least
        size += np.int32(0xFFF) + ((size >> DROPPED) & np.int32(1))
        kept = max(size, np.int32(0)) >> DROPPED
        sign = bits[i] >> 31 << 31
        half[i] = ((sign >> 16) & SIGN) | kept
        bits[i] = sign | ((kept << DROPPED) + least if kept > 0 else np.int32(0))
    return exponent


@kernel
def from_half(half: np.ndarray, exponent: int, bits: np.ndarray) -> None:
    """Write the bits, int32, of the float32 numbers that `to_half` has rounded to."""
    least = np.int32(exponent << 23)
    for i in range(len(half)):
        kept = np.int32(half[i])
        size = (kept & np.int32(0x7FFF)) << DROPPED
        bits[i] = ((kept & SIGN) << 16) | (size + least if size > 0 else np.int32(0))
