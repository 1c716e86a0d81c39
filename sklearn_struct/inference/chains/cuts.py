"""Where the tokens of sequences, one after the other, are cut into pieces for vectors' lanes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import LANES

__all__ = ["Cuts", "cut"]

STEPS = 800  # of a piece, of which eight stay in the cache
IDLE = 0.35  # of the time of lanes, at most, where pieces end with sequences


class Cuts(NamedTuple):
    """Pieces of at most `n_steps` tokens; eight of them, or sixteen, and so on."""

    starts: np.ndarray  # (n_pieces + 1,) first tokens, and the number of tokens
    first: np.ndarray  # (n_pieces,) sequences of the first tokens
    last: np.ndarray  # (n_pieces,) and of the last ones
    n_steps: int
    at_begins: bool  # whether each piece begins with a sequence, and so needs none of the others


def cut(offsets: np.ndarray) -> Cuts:
    """Cut between sequences if lanes then have work enough, else wherever a cut falls."""
    n_rounds = -(-int(offsets[-1]) // (LANES * STEPS))
    starts, first, last = np.empty((3, LANES * n_rounds + 1), np.int64)
    n_pieces, n_steps, at_begins = _cut(offsets, n_rounds, IDLE, starts, first, last)
    return Cuts(starts[: n_pieces + 1], first[:n_pieces], last[:n_pieces], n_steps, at_begins)


@kernel
def _cut(
    offsets: np.ndarray,
    n_rounds: int,
    idle: float,
    starts: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
) -> tuple[int, int, bool]:
    """Return the number of pieces, of steps of the longest, and whether they begin sequences."""
    n_tokens = offsets[-1]
    n_pieces = LANES * n_rounds
    # of sequences that are longer than pieces should be, each may be a piece
    fewer = max(1, min(n_rounds, max(-(-(len(offsets) - 1) // LANES), n_rounds // 2)))
    at_begins = False
    for n in (LANES * fewer, n_pieces):
        if not at_begins:
            n_pieces = n
            n_steps = _between_sequences(offsets, n, starts)
            at_begins = n * n_steps <= (1.0 + idle) * n_tokens
    if not at_begins:
        n_steps = -(-n_tokens // n_pieces)
        for p in range(n_pieces + 1):
            starts[p] = min(p * n_steps, n_tokens)
    i = 0
    for p in range(n_pieces):
        while i < len(offsets) - 1 and offsets[i + 1] <= starts[p]:
            i += 1
        first[p] = i
        while i < len(offsets) - 1 and offsets[i + 1] < starts[p + 1]:
            i += 1
        # pieces without tokens need a sequence, too
        last[p] = min(i, len(offsets) - 2)
    return n_pieces, n_steps, at_begins


@inlined
def _between_sequences(offsets: np.ndarray, n_pieces: int, starts: np.ndarray) -> int:
    """Write the bounds of sequences that are nearest to those of pieces of the same length; return
    the length of the longest.
    """
    i = 0
    longest = 0
    starts[0] = 0
    for p in range(1, n_pieces + 1):
        ideal = offsets[-1] * p // n_pieces
        while offsets[i] < ideal:
            i += 1
        is_nearer = i > 0 and ideal - offsets[i - 1] < offsets[i] - ideal
        starts[p] = offsets[i - 1] if is_nearer else offsets[i]
        longest = max(longest, starts[p] - starts[p - 1])
    return longest
