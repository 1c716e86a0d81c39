"""Generated motions: sequences of measurements, whose classes differ by the order of strokes."""

from __future__ import annotations

import numbers

import numpy as np
from sklearn.utils import check_random_state

__all__ = ["CLASSES", "make_motions"]

# directions of strokes in the first three channels, which are as far from each other as can be
DIRECTIONS = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0]])
# the order of strokes in each class
CLASSES = {
    "circle": (0, 1, 2),
    "hook": (0, 2, 1),
    "wave": (1, 2, 0),
    "zigzag": (2, 1, 0),
}
HEIGHT = 1.5  # of strokes
WIDTH = 0.14  # of strokes, as a share of a recording at ordinary pace
PACE = 0.35  # largest logarithm of the pace of a recording, up and down
JITTER = 0.2  # deviations of logarithms of widths and heights, stroke by stroke


def make_motions(
    n_samples: int = 80,
    *,
    n_steps: int = 100,
    noise: float = 0.5,
    drift: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Generate recordings of motions, whose classes differ by the order of their strokes.

    A recording has six channels. A motion consists of three strokes, each in its own direction in
    the first three channels. All classes have the same strokes in different orders, so sums over
    time do not tell the classes apart. Pace, width and height of strokes vary, and so do the pauses
    before, between and after them. The other three channels drift in the same manner in all
    classes. All channels are noisy.

    Read more in :doc:`/user_guide/hidden_states`.

    Parameters
    ----------
    n_samples : int, default=80
        Number of recordings. The numbers of recordings of two classes differ by at most one.
    n_steps : int, default=100
        Measurements in each recording.
    noise : float, default=0.5
        Standard deviation of the noise in the first three channels. In the others it is half of
        this.
    drift : float, default=1.0
        How far the other three channels drift.
    random_state : int, RandomState instance or None, default=None
        Seed of the generator; an int gives the same recordings in each call.

    Returns
    -------
    X : ndarray of shape (n_samples, n_steps, 6)
    y : ndarray of shape (n_samples,)
        "circle", "hook", "wave" or "zigzag", in random order.

    Raises
    ------
    ValueError
        If `n_samples` or `n_steps` is no integer or too small, or `noise` or `drift` negative.

    See Also
    --------
    sklearn_struct.HiddenStateClassifier : Classifies such recordings.

    Examples
    --------
    >>> from sklearn_struct.datasets import make_motions
    >>> X, y = make_motions(8, random_state=0)
    >>> X.shape
    (8, 100, 6)
    >>> sorted(set(y.tolist()))
    ['circle', 'hook', 'wave', 'zigzag']
    """
    for value, name, least in ((n_samples, "n_samples", 0), (n_steps, "n_steps", 1)):
        if not isinstance(value, numbers.Integral) or value < least:
            raise ValueError(f"{name} must be an integer, at least {least}, got {value!r}")
    for size, name in ((noise, "noise"), (drift, "drift")):
        if not isinstance(size, numbers.Real) or not 0 <= size < np.inf:
            raise ValueError(f"{name} must be a number, finite and not negative, got {size!r}")
    rng = check_random_state(random_state)
    y = np.resize(list(CLASSES), n_samples)
    rng.shuffle(y)
    X = np.empty((n_samples, n_steps, 6))
    for recording, label in zip(X, y.tolist(), strict=True):
        recording[:, :3] = _strokes(CLASSES[label], n_steps, rng)
        recording[:, 3:] = drift * _drifts(n_steps, rng)
        recording += noise * rng.normal(size=recording.shape) * [1, 1, 1, 0.5, 0.5, 0.5]
    return X, y


def _strokes(order: tuple[int, ...], n_steps: int, rng: np.random.RandomState) -> np.ndarray:
    """Strokes (n_steps, 3) in this order."""
    pace = np.exp(rng.uniform(-PACE, PACE))
    widths = n_steps * WIDTH * pace * np.exp(rng.normal(0.0, JITTER, len(order)))
    # before the first stroke, between strokes, and after the last; the ends are longer
    pauses = rng.dirichlet([2.0, 1.0, 1.0, 2.0]) * max(n_steps - widths.sum(), 0.0)
    path = np.zeros((n_steps, 3))
    start = 0.0
    for pause, width, k in zip(pauses, widths, order, strict=False):
        start += pause
        phase = np.clip((np.arange(n_steps) - start) / width, 0.0, 1.0)
        height = HEIGHT * np.exp(rng.normal(0.0, JITTER))
        path += height * np.sin(np.pi * phase)[:, None] * DIRECTIONS[k]
        start += width
    return path


def _drifts(n_steps: int, rng: np.random.RandomState) -> np.ndarray:
    """Three channels (n_steps, 3) that wander, swing, and begin anywhere."""
    wander = np.cumsum(rng.normal(size=(n_steps, 3)), axis=0) / np.sqrt(n_steps)
    turns = rng.uniform(0.5, 2.0, 3) * np.arange(n_steps)[:, None] / n_steps
    swing = np.sin(2 * np.pi * (turns + rng.uniform(size=3)))
    path: np.ndarray = wander + 0.7 * swing + 0.7 * rng.normal(size=3)
    return path
