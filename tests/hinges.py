"""Objectives that are the largest of planes, and their lowest values by quadratic programs."""

from __future__ import annotations

import contracts
import numpy as np
from scipy.optimize import minimize

from sklearn_struct.losses.planes import Planes

TINY = np.finfo(float).tiny


class Hinges(contracts.Hinges):
    """mean_i max(0, 1 - a_i w), some of which contradict the others, with a potential each."""

    def __init__(self):
        super().__init__(np.random.default_rng(0), 1.0)
        self.A[::5] *= -1.0

    def value_and_grad(self, w):
        wrong = self.A @ w <= self.margin
        value = np.maximum(self.margin - self.A @ w, 0.0).mean()
        return float(value), -(wrong @ self.A) / self.n_terms

    def value(self, w):
        return self.value_and_grad(w)[0]

    def forward(self, W, i, scale):
        return np.array([super().forward(W, i, scale)])

    def term(self, theta, i):
        value, gradient = super().term(theta[0], i)
        return value, np.array([gradient])

    def add(self, gradient, i, W, scale):
        super().add(gradient[0], i, W, scale)

    def new_planes(self):
        return Planes()

    def image(self, gradient, i):
        return gradient * (self.A[i] @ self.A[i])


def penalised(problem, w, l2):
    return problem.value_and_grad(w)[0] + l2 / 2 * w @ w


def lowest(problem, l2):
    """The lowest value, by a quadratic program with a slack for each term."""
    n = problem.n_terms
    slacks = {
        "type": "ineq",
        "fun": lambda x: x[problem.size :] - problem.margin + problem.A @ x[: problem.size],
        "jac": lambda x: np.hstack([problem.A, np.eye(n)]),
    }
    start = np.concatenate([np.zeros(problem.size), np.full(n, problem.margin)])
    solved = minimize(
        lambda x: l2 / 2 * x[: problem.size] @ x[: problem.size] + x[problem.size :].mean(),
        start,
        jac=lambda x: np.concatenate([l2 * x[: problem.size], np.full(n, 1 / n)]),
        bounds=[(None, None)] * problem.size + [(0, None)] * n,
        constraints=[slacks],
        options={"maxiter": 500, "ftol": 1e-13},
    )
    return solved.fun


class Distances:
    """The mean distance of w from some points of the plane: each the largest of endlessly many
    planes, one for each direction, and of 0. Its potentials are w.
    """

    size = 2
    expand = staticmethod(np.copy)
    compress = staticmethod(np.copy)
    new_planes = Planes

    def __init__(self, points):
        self.points = points
        self.n_terms = len(points)
        self.n_asked = 0

    def value_and_grad(self, w):
        ways = w - self.points
        lengths = np.linalg.norm(ways, axis=1)
        # at a point there is none
        directions = ways / np.maximum(lengths, TINY)[:, None]
        return lengths.mean(), directions.mean(axis=0)

    def value(self, w):
        return self.value_and_grad(w)[0]

    def forward(self, W, i, scale):
        return scale * W

    def term(self, theta, i):
        self.n_asked += 1
        way = theta - self.points[i]
        length = np.linalg.norm(way)
        return length, way / max(length, TINY)

    def add(self, gradient, i, W, scale):
        W += scale * gradient

    def image(self, gradient, i):
        return gradient
