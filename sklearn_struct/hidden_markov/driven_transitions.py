"""Transitions that inputs drive: a multinomial logistic model of the next label for each label."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.threads import Pool

__all__ = ["DrivenCounts", "Logits", "coefficient_prior", "log_transitions", "most_probable"]

MAX_STEPS = 25  # of Newton's method, in one M-step
NEAR = 1e-10  # a step that promises no more than this for each transition is the last one
RIDGE = 1e-10  # added to curvatures, as a share of them: inputs may depend on each other
PART = 1 << 20  # numbers of a table that is made on the way


class Logits(NamedTuple):
    """``intercept`` (K, K) and ``slopes`` (K, K, p): with inputs u the scores of the labels k that
    may follow j are ``intercept[j, k] + slopes[j, k] @ u``.
    """

    intercept: np.ndarray
    slopes: np.ndarray


class DrivenCounts(NamedTuple):
    """How often each label follows each other one, (m, K, K) for m different inputs, and the
    parameters under which that is expected.
    """

    pairs: np.ndarray
    before: Logits


def log_transitions(logits: Logits, inputs: np.ndarray) -> np.ndarray:
    """Log-probabilities (n, K, K) of transitions with inputs (n, p)."""
    scores: np.ndarray = np.tensordot(inputs, logits.slopes, (1, 2))
    scores += logits.intercept
    _normalise(scores)
    return scores


def _normalise(scores: np.ndarray) -> None:
    """Make log-probabilities of scores, along the last dimension."""
    top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    # a label that nothing may follow has no probabilities, and must not get NaN
    top[top == -np.inf] = 0.0
    scores -= top
    total = np.exp(scores).sum(axis=-1, keepdims=True)
    total[total == 0] = 1.0
    scores -= np.log(total)


def coefficient_prior(slopes: np.ndarray, penalty: float) -> float:
    """Log-density of the normal prior of slopes that an L2 penalty stands for, up to a constant."""
    return -0.5 * penalty * float(np.sum(np.square(slopes)))


def most_probable(
    inputs: np.ndarray, counts: DrivenCounts, smoothing: float, penalty: float, pool: Pool
) -> Logits:
    """The most probable parameters given counts; never worse than those before.

    Intercepts are normalised: they are log-probabilities where all inputs are 0. The slopes of a
    label sum to 0 over the next labels.

    Parameters
    ----------
    inputs : ndarray of shape (m, p)
    counts : DrivenCounts
    smoothing : float
        Number of imagined transitions between each two labels where all inputs are 0.
    penalty : float
        The prior of slopes has this precision.
    pool : Pool
    """
    m, p = inputs.shape
    K = len(counts.before.intercept)
    design = np.zeros((m + 1, p + 1))
    design[:, 0] = 1.0
    design[:m, 1:] = inputs

    def of_label(j: int) -> np.ndarray:
        rows = np.full((m + 1, K), float(smoothing))
        rows[:m] = counts.pairs[:, j]
        begin = np.column_stack([counts.before.intercept[j], counts.before.slopes[j]])
        return _climb(design, rows, penalty, begin - begin.mean(axis=0))

    weights = np.stack(pool.map(of_label, K))
    intercept = np.ascontiguousarray(weights[:, :, 0])
    _normalise(intercept)
    return Logits(intercept, np.ascontiguousarray(weights[:, :, 1:]))


def _climb(design: np.ndarray, counts: np.ndarray, penalty: float, w: np.ndarray) -> np.ndarray:
    """The weights (K, q) of the most probable logistic model of counts (m, K), by Newton's method
    from w on; no step leads down.
    """
    total = counts.sum(axis=1)
    mass = float(total.sum())
    if mass == 0:
        # nothing is known of this label, so that all are as probable after it
        return np.zeros_like(w)
    decay = np.full(design.shape[1], penalty)
    decay[0] = 0.0
    value, log_p = _value(design, counts, decay, w)
    for _ in range(MAX_STEPS):
        proba = np.exp(log_p)
        gradient = (counts - total[:, None] * proba).T @ design - decay * w
        step = _newton_step(design, total, proba, decay, gradient)
        gain = float(np.sum(gradient * step))
        if not gain > 0:
            break
        w, value, log_p = _along(design, counts, decay, (w, value, log_p), step)
        if gain <= NEAR * mass:
            break
    return w


def _value(
    design: np.ndarray, counts: np.ndarray, decay: np.ndarray, w: np.ndarray
) -> tuple[float, np.ndarray]:
    """Log-likelihood of counts plus log prior, and the log-probabilities (m, K)."""
    log_p = design @ w.T
    _normalise(log_p)
    return float(np.sum(counts * log_p)) - 0.5 * float(np.sum(decay * np.square(w))), log_p


def _along(
    design: np.ndarray,
    counts: np.ndarray,
    decay: np.ndarray,
    here: tuple[np.ndarray, float, np.ndarray],
    step: np.ndarray,
) -> tuple[np.ndarray, float, np.ndarray]:
    """The first point of the way, step, step / 2, step / 4, ..., that is not lower; else `here`."""
    w, value, _ = here
    share = 1.0
    for _ in range(30):
        ahead = w + share * step
        new, log_p = _value(design, counts, decay, ahead)
        if new >= value:
            return ahead, new, log_p
        share /= 2
    return here


def _newton_step(
    design: np.ndarray,
    total: np.ndarray,
    proba: np.ndarray,
    decay: np.ndarray,
    gradient: np.ndarray,
) -> np.ndarray:
    """Gradient by curvature.

    To add the same to the weights of all labels changes no probability. So any curvature may stand
    for that direction, of which the gradient has nothing.
    """
    K, q = gradient.shape
    curvature = np.zeros((K * q, K * q))
    step = max(PART // (K * q), 1)
    for first in range(0, len(design), step):
        rows = slice(first, first + step)
        mass = total[rows, None] * proba[rows]
        for k in range(K):
            block = slice(k * q, (k + 1) * q)
            curvature[block, block] += design[rows].T @ (mass[:, k, None] * design[rows])
        root = np.sqrt(total[rows, None]) * proba[rows]
        products = (root[:, :, None] * design[rows][:, None, :]).reshape(-1, K * q)
        curvature -= products.T @ products
    alone = np.einsum("i,im,im->m", total, design, design) + decay
    alone[alone == 0] = 1.0
    curvature += np.kron(np.full((K, K), 1.0 / K), np.diag(alone))
    # where nothing is seen of an input, or all is certain, curvatures vanish
    curvature[np.diag_indices(K * q)] += np.tile(decay + RIDGE * alone, K)
    direction: np.ndarray = np.linalg.solve(curvature, gradient.ravel()).reshape(K, q)
    direction -= direction.mean(axis=0)
    return direction
