"""Windows of blocks: a gradient is made of one after the other, so that residuals need room for one
of them alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.simd import padded
from sklearn_struct.compiled.threads import N_PARTS
from sklearn_struct.containers.structures import Block

__all__ = ["Window", "windows"]

# residuals of a window: 16 MB in float64
NUMBERS = 2**21
# of a window: as all threads wait for its end, each needs some work
FEWEST_BLOCKS = N_PARTS
# the same where evaluations are rare: of 6 windows instead of 2 each takes some 8 % longer
NUMBERS_IF_RARE = 800_000
FEWEST_IF_RARE = FEWEST_BLOCKS // 2


class Window(NamedTuple):
    """Nodes of some blocks, and the numbers of these blocks in parts for threads."""

    nodes: slice
    parts: list[np.ndarray]


def windows(blocks: Sequence[Block], width: int, rare: bool = False) -> list[Window]:
    """All blocks in windows of about the same size, smaller ones if evaluations are `rare`; each
    node has `width` residuals, padded.
    """
    if len(blocks) == 0:
        return []
    n_numbers = blocks[len(blocks) - 1].tokens.stop * padded(width)
    numbers, fewest = (NUMBERS_IF_RARE, FEWEST_IF_RARE) if rare else (NUMBERS, FEWEST_BLOCKS)
    n = max(1, min(n_numbers // numbers, len(blocks) // fewest))
    made = []
    for members in np.array_split(np.arange(len(blocks)), n):
        every = np.array_split(members, N_PARTS)
        nodes = slice(blocks[members[0]].tokens.start, blocks[members[-1]].tokens.stop)
        made.append(Window(nodes, [part for part in every if len(part)]))
    return made
