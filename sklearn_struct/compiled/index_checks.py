"""Checks of indices in vector operations, for tests and fuzzers.

They are compiled in where numba checks indices of plain arrays, with NUMBA_BOUNDSCHECK=1. Without
this variable nothing is added to a kernel.
"""

from __future__ import annotations

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.core.cpu import CPUContext

__all__ = ["check"]


def check(
    context: CPUContext,
    builder: ir.IRBuilder,
    size: ir.Value,
    index: ir.Value,
    n: int | ir.Value,
    most: int,
) -> None:
    """Add to a kernel: IndexError unless the numbers from flat `index` on are in the array.

    They are n, but at most `most`, and none where n is below 0. The array has `size` numbers, and
    `n` is a Python number or an LLVM integer.
    """
    if not getattr(numba.config, "BOUNDSCHECK", None):
        return
    kind = index.type
    n = kind(n) if isinstance(n, int) else n
    n = builder.select(builder.icmp_signed("<", n, kind(most)), n, kind(most))
    stop = builder.add(index, n)
    inside = builder.and_(
        builder.icmp_signed(">=", index, kind(0)),
        builder.icmp_signed("<=", stop, size),
    )
    outside = builder.and_(builder.icmp_signed(">", n, kind(0)), builder.not_(inside))
    with cgutils.if_unlikely(builder, outside):
        context.call_conv.return_user_exc(
            builder, IndexError, ("a vector operation is out of bounds",)
        )
