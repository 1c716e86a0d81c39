"""Fits of one training part under one penalty after the other, and their scores on the test part.

Features are encoded, and weights are laid out, once for all penalties. A solver begins where the
last penalties seem to lead.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing, indexable

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.estimators.chains.linear_chain_crf import LinearChainCRF
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.fitting.prepared_weights import Prepared
from sklearn_struct.estimators.fitting.solving import (
    STOCHASTIC,
    Minimisation,
    check_minimum,
    choice,
    minimise,
    strength,
)
from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.losses.base import Loss
from sklearn_struct.objectives.linear_objective import LinearObjective
from sklearn_struct.objectives.linear_potentials import LinearPotentials
from sklearn_struct.solvers.result import Result
from sklearn_struct.solvers.sag import Remembered

__all__ = ["Batch", "Grid", "Outcome", "scores_of_fold"]

# points from which the next is extrapolated
DEGREE = 3
# sum of absolute coefficients, of evenly spaced points 7; with more, errors of points would grow
LARGEST_SUM = 8.0
# times tol: by how much another penalty must change the slope somewhere, so that a solver which
# begins at the last minimum has to move
TELLING = 2.0
# share of that change which may be left at the next minimum, within bounds: a fit that begins far
# away comes nearer than `tol` says, one that begins nearby does not
LEFT = 0.1
FINEST = 0.25  # times tol
# steps that lbfgs remembers: a sixth fewer iterations than with 10, each a twentieth dearer
N_PAIRS = 20

Scorer = Callable[..., float]


class Grid(NamedTuple):
    """The penalties: each C with each share of the L1 penalty."""

    Cs: np.ndarray
    l1_ratios: np.ndarray


class Batch(NamedTuple):
    """Sequences as they were encoded, their labels and weights.

    ``X`` are sequences as they were given, for a scorer that wants to see them; else None.
    """

    sequences: Sequences
    y: Any
    sample_weight: Any = None
    X: Any = None

    def part(self, chosen: np.ndarray) -> Batch:
        """Some of the sequences."""
        X, flat = self.sequences
        y, weight, given = (_part(one, chosen) for one in (self.y, self.sample_weight, self.X))
        return Batch(Sequences(X[chosen], flat), y, weight, given)


def _part(given: Any, chosen: np.ndarray) -> Any:
    """Some of what has an item for each sequence; a number is the weight of each of them."""
    if given is None or isinstance(given, Real):
        return given
    return _safe_indexing(indexable(given)[0], chosen)


class Outcome(NamedTuple):
    """Of one fold, arrays (n_l1_ratios, n_Cs): scores, iterations, whether `tol` was reached."""

    score: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray


def scores_of_fold(
    model: LinearChainCRF,
    batch: Batch,
    split: tuple[np.ndarray, np.ndarray],
    grid: Grid,
    scorer: Scorer | None,
) -> Outcome:
    """Fit to the training part under each penalty, and score on the test part.

    `model` knows how X was encoded. Without a scorer its own score counts.
    """
    model = copy.copy(model)
    train, test = (batch.part(chosen) for chosen in split)
    sequences = train.sequences
    codes = model._read_labels(train.y, sequences, reset=True)
    weights, loss = model._read_weights(train.sample_weight, sequences, codes)
    potentials, data = model._posed(sequences, codes, weights)
    model._prepared = Prepared()
    model._stream = None
    model.t_ = data.n_examples
    del train, sequences
    shape = len(grid.l1_ratios), len(grid.Cs)
    outcome = Outcome(np.empty(shape), np.empty(shape, np.int64), np.empty(shape, np.bool_))
    settings = model._minimisation()
    with Pool(model.n_jobs) as pool:
        steps = list(_steps(settings, grid, loss, potentials, data.n_nodes))
        # terms serve batch solvers, too
        first = next((step.solver for step in steps if step.solver in STOCHASTIC), steps[0].solver)
        objective = model._objective(first, potentials, loss, data).on(pool)
        path = _Path(objective, loss)
        for step in steps:
            result = path.go(step)
            model.C = step.settings.C
            model.l1_ratio = step.settings.l1_ratio
            model.__dict__.update(model._learned(result.w) | {"n_iter_": result.n_iter})
            outcome.score[step.place] = _score(model, test, scorer)
            outcome.n_iter[step.place] = result.n_iter
            outcome.converged[step.place] = result.converged
    return outcome


class _Step(NamedTuple):
    settings: Minimisation
    solver: str
    place: tuple[int, int]


def _steps(
    settings: Minimisation, grid: Grid, loss: Loss, potentials: LinearPotentials, n_nodes: int
) -> Iterator[_Step]:
    """All penalties: for each share of L1 the strongest first, with their solvers."""
    for r, l1_ratio in enumerate(grid.l1_ratios.tolist()):
        for c in np.argsort(grid.Cs, kind="stable").tolist():
            one = settings._replace(C=float(grid.Cs[c]), l1_ratio=l1_ratio)
            yield _Step(one, choice(one, loss, potentials, n_nodes), (r, c))


def _score(model: LinearChainCRF, test: Batch, scorer: Scorer | None) -> float:
    """The score of the model, which must be a number."""
    if scorer is None:
        return model._score_read(test.sequences, test.y, test.sample_weight)
    X = test.sequences.X if test.X is None else test.X
    weight = test.sample_weight
    options = {} if weight is None or not _takes_weights(scorer) else {"sample_weight": weight}
    score = scorer(model, X, test.y, **options)
    if not isinstance(score, Real) or not np.isfinite(float(score)):
        raise NonFiniteError(
            f"scoring must give one finite number, got {score!r} of a model with C={model.C} and "
            f"l1_ratio={model.l1_ratio}"
        )
    return float(score)


def _takes_weights(scorer: Scorer) -> bool:
    """Whether the scorer, or the function in one of scikit-learn's, has an argument for weights."""
    try:
        parameters = inspect.signature(getattr(scorer, "_score_func", scorer)).parameters
    except ValueError:  # of functions in C
        return False
    return "sample_weight" in parameters


class _Path:
    """Minima of one objective under one penalty after the other."""

    def __init__(self, objective: LinearObjective, loss: Loss) -> None:
        self.objective = objective
        # elsewhere another start may lead to another minimum than that of a fit by itself
        self.leads_on = loss.smooth and loss.convex
        self._begin()

    def _begin(self) -> None:
        self.known: list[tuple[Minimisation, np.ndarray]] = []
        self.memory = Remembered()

    def go(self, step: _Step) -> Result:
        """The minimum under the next penalty."""
        settings = step.settings
        # penalties of another kind are another path
        if self.known and self.known[-1][0].l1_ratio != settings.l1_ratio:
            self._begin()
        change = self._change(step)
        if change >= TELLING * settings.tol:
            start = self._start(settings)
            # sag looks at what is left to be gained, too
            if step.solver != "sag":
                tol = max(min(LEFT * change, settings.tol), FINEST * settings.tol)
                settings = settings._replace(tol=tol)
        else:
            # what minimises the one would pass for a minimum of the other
            self.memory = Remembered()
            start = np.zeros(self.objective.size)
        scale = self.objective.total_weight
        further = self._further(step.solver)
        result = minimise(settings, step.solver, self.objective, start, scale, further=further)
        check_minimum(step.solver, result)
        if self.leads_on:
            self.known = [*self.known, (settings, result.w)][-DEGREE:]
        return result

    def _further(self, solver: str) -> dict[str, Any]:
        """Options of a solver that make it quicker along a path."""
        if self.leads_on and solver == "sag":
            return {"memory": self.memory}
        return {"n_pairs": N_PAIRS} if self.leads_on and solver == "lbfgs" else {}

    def _change(self, step: _Step) -> float:
        """By how much this penalty changes the slope at the last minimum, at most in any entry; 0
        where there is none.
        """
        if not self.known:
            return 0.0
        before, w = self.known[-1]
        scale = self.objective.total_weight
        last, now = (strength(s.C, step.solver, scale) for s in (before, step.settings))
        penalised = w[: len(w) - self.objective.n_free]
        ratio = step.settings.l1_ratio
        largest = float(np.max(np.abs(penalised), initial=0.0))
        return abs(1 / now - 1 / last) * (ratio + (1 - ratio) * largest)

    def _start(self, settings: Minimisation) -> np.ndarray:
        """Where the last minima lead, as a polynomial of log C."""
        last = self.known[-1][1]
        for n in range(len(self.known), 1, -1):
            points = self.known[-n:]
            at = np.log([*(before.C for before, _ in points), settings.C])
            shares = _shares(at[:-1], at[-1])
            if not np.sum(np.abs(shares)) <= LARGEST_SUM:
                continue
            start = np.zeros(len(last))
            for share, (_, w) in zip(shares, points, strict=True):
                start += share * w
            if settings.l1_ratio > 0:
                # what was zero stays so, and what would cross zero gets there
                start[start * last <= 0] = 0.0
            if np.all(np.isfinite(start)):
                return start
        return last


def _shares(known: np.ndarray, new: float) -> np.ndarray:
    """How much the values at `known` places have of that at a new one (Lagrange's polynomials)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.array(
            [
                np.prod((new - np.delete(known, i)) / (place - np.delete(known, i)))
                for i, place in enumerate(known)
            ]
        )
