"""Where the tokens of sequences, one after the other, are cut into pieces for vectors' lanes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import LANES

__all__ = ["STEPS", "Cuts", "cut", "most_steps", "rounds"]

STEPS = 800  # of a piece, of which eight stay in the cache


class Cuts(NamedTuple):
    """Pieces of at most `n_steps` tokens; eight of them, or sixteen, and so on."""

    starts: np.ndarray  # (n_pieces + 1,) first tokens, and the number of tokens
    first: np.ndarray  # (n_pieces,) sequences of the first tokens
    last: np.ndarray  # (n_pieces,) and of the last ones
    n_steps: int
    at_begins: bool  # whether each piece begins with a sequence, and so needs none of the others


@kernel
def rounds(n_tokens: int, steps: int) -> int:
    """How many times eight pieces of about so many steps are made of so many tokens."""
    return (n_tokens + LANES * steps - 1) // (LANES * steps)


@kernel
def most_steps(n_tokens: int, steps: int, idle: float) -> int:
    """More steps no piece has."""
    fewest = LANES * max(1, rounds(n_tokens, steps) // 2)
    return int((1.0 + idle) * n_tokens) // fewest + 1


@kernel
def cut(
    offsets: np.ndarray,
    steps: int,
    idle: float,
    starts: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
) -> tuple[int, int, bool]:
    """Cut between sequences if lanes are not idle for a larger part of their work than `idle`, else
    wherever a cut falls; into pieces of about so many steps.

    Write what `Cuts` has of each piece, of which there are at most `LANES` times `rounds`, and
    return how many there are, the steps of the longest, and whether all begin with a sequence.
    """
    n_tokens = offsets[-1]
    n_rounds = rounds(n_tokens, steps)
    n_pieces = LANES * n_rounds
    # of sequences that are longer than pieces should be, each may be a piece
    fewer = max(1, min(n_rounds, max(-(-(len(offsets) - 1) // LANES), n_rounds // 2)))
    at_begins = False
    n_steps = 0
    for n in (LANES * fewer, LANES * n_rounds):
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
