"""The log-likelihood of labels under joint features that are products of a part of the input and one of the label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_struct.linear.joint import JointMap
from sklearn_struct.losses.background import Active, Background, BackgroundSoftmax, Derivative, background, zeros
from sklearn_struct.threads import N_PARTS, Pool

__all__ = ["JointObjective"]

LARGEST_TABLES = 64_000_000  # numbers in the gradients that are added up at the end


class JointObjective:
    """Weighted mean of -log p(y | x) over all labels, as a function of the parameter vector.

    Parameters
    ----------
    joint : JointMap
        From weights of pairs (feature, label) to scores of labels.
    spread : sparse matrix of shape (n_pairs, n_weights), or None
        Weights of joint features to weights of pairs; None where they are the same.
    y, weight : ndarray of shape (n,)
        Label codes and weights of the examples.
    pool : Pool
        Threads to use; the result has the same bits for any number of them.
    fit_intercept : bool
        Whether the last entries of w are unpenalised weights of the labels.
    """

    def __init__(
        self, joint: JointMap, spread: Any, y: np.ndarray, weight: np.ndarray, pool: Pool, fit_intercept: bool
    ) -> None:
        self.joint, self.spread, self.y, self.weight, self.pool = joint, spread, y, weight, pool
        self.loss = BackgroundSoftmax()
        self.n_free = joint.n_labels if fit_intercept else 0
        self.size = (joint.size if spread is None else spread.shape[1]) + self.n_free
        self.total_weight = float(np.sum(weight))
        n_parts = int(np.clip(LARGEST_TABLES // max(joint.size, 1), 1, N_PARTS))
        self._parts = [part for part in np.array_split(np.arange(len(joint.blocks)), n_parts) if len(part)]

    def expand(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of pairs, and scores of the background."""
        n = self.size - self.n_free
        pairs = w[:n] if self.spread is None else self.spread @ w[:n]
        return pairs, self.joint.background(pairs, w[n:] if self.n_free else np.zeros(self.joint.n_labels))

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The weighted mean loss and its gradient."""
        pairs, scores = self.expand(w)
        shared, value = background(scores), np.empty(len(self.y))

        def work(active: Active, examples: slice, out: Derivative) -> None:
            self.loss(active, self.y[examples], shared, self.weight[examples], out, value[examples])

        grad = self._pull(work, pairs, shared)
        return float(np.dot(self.weight, value)) / self.total_weight, grad

    def hess_vec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The second derivative of the weighted mean loss at w, times v."""
        (pairs, scores), (along, direction) = self.expand(w), self.expand(v)
        shared = background(scores, direction)

        def work(active: Active, examples: slice, out: Derivative) -> None:
            directions = self.joint.forward(along, direction, examples)[2]
            self.loss.hess_vec(active, directions, shared, self.weight[examples], out)

        return self._pull(work, pairs, shared)

    def _pull(
        self, work: Callable[[Active, slice, Derivative], None], pairs: np.ndarray, shared: Background
    ) -> np.ndarray:
        """The weighted mean of the derivatives that `work` writes, in the parameters."""

        def part(c: int) -> tuple[np.ndarray, np.ndarray]:
            grad, labels = np.zeros(self.joint.size), np.zeros(self.joint.n_labels)
            for b in self._parts[c]:
                examples = self.joint.blocks[b]
                active = Active(*self.joint.forward(pairs, shared.scores, examples))
                out = zeros(len(active.labels), self.joint.n_labels)
                work(active, examples, out)
                self.joint.scatter(active.offsets, active.labels, out.rows, examples, grad)
                labels += out.of_labels(shared) + np.bincount(active.labels, out.rows, self.joint.n_labels)
            return grad, labels

        parts = self.pool.map(part, len(self._parts))
        grad, labels = np.sum([grad for grad, _ in parts], axis=0), np.sum([labels for _, labels in parts], axis=0)
        self.joint.add_background(labels, grad)
        compact = grad if self.spread is None else self.spread.T @ grad
        return np.concatenate([compact, labels if self.n_free else []]) / self.total_weight
