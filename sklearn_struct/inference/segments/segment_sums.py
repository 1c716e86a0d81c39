"""Marginals of segmentations: on scaled numbers, or in logarithms where these are not trusted."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.threads import patiently
from sklearn_struct.inference.segments import scaled
from sklearn_struct.inference.segments.logarithms import Lattice, lattice, log_marginals
from sklearn_struct.inference.segments.segment_scores import Places, Scores

__all__ = ["add_marginals", "lattice_of", "n_steps"]


def add_marginals(
    scores: Scores, places: Places, weight: np.ndarray, out: Scores, log_Z: np.ndarray
) -> None:
    """Add weighted marginals to tables of the same float type as the scores; write log Z."""
    is_real = scores.node.dtype.kind == "f"

    def work() -> None:
        again = weight != 0
        log_Z[:] = 0.0
        if is_real:
            again = scaled.marginals(scores, places, weight, out, log_Z)
        if again.any():
            rows = lattice_of(scores, places)
            log_marginals(scores, places, weight, again, rows, out, log_Z)

    patiently(work, 4 * n_steps(scores))


def lattice_of(scores: Scores, places: Places) -> Lattice:
    """Room for the longest sequence."""
    n_tokens = int(np.diff(places.offsets).max(initial=0))
    return lattice(n_tokens, scores.node.shape[1], scores.node.dtype)


def n_steps(scores: Scores) -> int:
    """About how many steps a pass takes."""
    count: int = scores.node.size * sum(scores.length.shape[1:])
    return count
