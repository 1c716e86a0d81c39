"""Normal distributions at random rows of numbers."""

from __future__ import annotations

import numpy as np

from sklearn_struct.hidden_markov.gaussian_moments import fit_gaussians
from sklearn_struct.hidden_markov.gaussians import Gaussians

__all__ = ["at_rows", "random_gaussians"]


def random_gaussians(
    x: np.ndarray,
    share: np.ndarray,
    K: int,
    floor: np.ndarray,
    kind: str,
    rng: np.random.RandomState,
) -> Gaussians:
    """Means at rows that are drawn in proportion to `share`, and the covariances of all rows."""
    of_states = np.broadcast_to(share[:, None], (len(share), K))
    alike = fit_gaussians(x, of_states, floor, kind)
    # means at tokens that occur, which are never far from all data
    return at_rows(alike, x[rng.choice(len(share), size=K, p=share)])


def at_rows(alike: Gaussians, rows: np.ndarray) -> Gaussians:
    """Gaussians that are all alike, with their means at rows (K, d) where these have numbers."""
    return alike._replace(mean=np.where(np.isnan(rows), alike.mean, rows))
