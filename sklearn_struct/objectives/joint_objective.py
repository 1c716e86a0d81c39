"""The log-likelihood of labels under joint features that are products of a part of the input and
one of the label.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_struct.compiled.threads import N_PARTS, go_on
from sklearn_struct.linear.joint_pair_scores import JointMap
from sklearn_struct.losses.many_labels_softmax import (
    Active,
    Background,
    BackgroundSoftmax,
    Derivative,
    background,
    zeros,
)
from sklearn_struct.objectives.lent_threads import OnThreads

__all__ = ["JointObjective"]

Work = Callable[[slice, Background], tuple[Active, Derivative]]

LARGEST_TABLES = 64_000_000  # numbers in the gradients that are added up at the end


class JointObjective(OnThreads):
    """Weighted mean of -log p(y | x) over all labels, as a function of the parameter vector.

    Parameters
    ----------
    joint : JointMap
        From weights of pairs (feature, label) to scores of labels.
    spread : sparse matrix of shape (n_pairs, n_weights), or None
        Weights of joint features to weights of pairs; None where they are the same.
    y, weight : ndarray of shape (n,)
        Label codes and weights of the examples.
    fit_intercept : bool
        Whether the last entries of w are unpenalised weights of the labels.
    """

    def __init__(
        self,
        joint: JointMap,
        spread: Any,
        y: np.ndarray,
        weight: np.ndarray,
        fit_intercept: bool,
    ) -> None:
        self.joint = joint
        self.spread = spread
        # in the order of the map, in which the blocks are slices
        self.y = y[joint.order]
        self.weight = weight[joint.order]
        self.loss = BackgroundSoftmax()
        self.n_free = joint.n_labels if fit_intercept else 0
        self.size = (joint.size if spread is None else spread.shape[1]) + self.n_free
        self.total_weight = float(np.sum(weight))
        # fewer parts where each has a gradient of many features
        n_parts = int(np.clip(LARGEST_TABLES // max(joint.size, 1), 1, N_PARTS))
        self._parts = [
            part for part in np.array_split(np.arange(len(joint.blocks)), n_parts) if len(part)
        ]

    def expand(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of pairs, and scores of the backgrounds."""
        n = self.size - self.n_free
        pairs = w[:n] if self.spread is None else self.spread @ w[:n]
        return pairs, self.joint.background(
            pairs, w[n:] if self.n_free else np.zeros(self.joint.n_labels)
        )

    def start(self) -> np.ndarray:
        """Zeros, and the intercept that alone is best: thousands of labels have very different
        frequencies.
        """
        w = np.zeros(self.size)
        if self.n_free:
            counts = np.bincount(self.y, self.weight, self.n_free)
            w[-self.n_free :] = np.log(
                # labels of candidates that no example has: as rare as the rarest that one has
                np.maximum(counts, counts[counts > 0].min()) / self.total_weight
            )
        return w

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The weighted mean loss and its gradient."""
        pairs, scores = self.expand(w)
        value = np.empty(len(self.y))

        def work(examples: slice, shared: Background) -> tuple[Active, Derivative]:
            active = Active(*self.joint.forward(pairs, shared.scores, examples))
            out = zeros(len(active.labels), self.joint.n_labels)
            self.loss(active, self.y[examples], shared, self.weight[examples], out, value[examples])
            return active, out

        grad = self._pull(work, scores, np.zeros_like(scores))
        return float(np.dot(self.weight, value)) / self.total_weight, grad

    def hess_vec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The second derivative of the weighted mean loss at w, times v."""
        pairs, scores = self.expand(w)
        along, directions = self.expand(v)

        def work(examples: slice, shared: Background) -> tuple[Active, Derivative]:
            active = Active(*self.joint.forward(pairs, shared.scores, examples))
            out = zeros(len(active.labels), self.joint.n_labels)
            direction = self.joint.forward(along, shared.direction, examples)[2]
            self.loss.hess_vec(active, direction, shared, self.weight[examples], out)
            return active, out

        return self._pull(work, scores, directions)

    def _pull(self, work: Work, scores: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """The weighted mean of the derivatives that `work` gives, in the parameters."""
        joint = self.joint

        def part(c: int) -> tuple[np.ndarray, int, np.ndarray]:
            first, last = (joint.groups[b] for b in self._parts[c][[0, -1]])
            grad = np.zeros(joint.size)
            labels = np.zeros((last - first + 1, joint.n_labels))
            group = -1
            for b in self._parts[c]:
                go_on()
                # blocks of one group follow each other, so that each background is summed once
                if joint.groups[b] != group:
                    group = joint.groups[b]
                    shared = background(scores[group], directions[group])
                active, out = work(joint.blocks[b], shared)
                joint.scatter(active.offsets, active.labels, out.rows, joint.blocks[b], grad)
                labels[group - first] += out.of_labels(shared) + np.bincount(
                    active.labels, out.rows, joint.n_labels
                )
            return grad, first, labels

        grad = np.zeros(joint.size)
        labels = np.zeros(scores.shape)
        for own, first, by_group in self.threads.map(part, len(self._parts)):
            grad += own
            labels[first : first + len(by_group)] += by_group
        joint.add_background(labels, grad)
        compact = grad if self.spread is None else self.spread.T @ grad
        return (
            np.concatenate([compact, labels.sum(axis=0) if self.n_free else []]) / self.total_weight
        )
