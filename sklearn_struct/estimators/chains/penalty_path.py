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
    OF_TERMS,
    STOCHASTIC,
    Minimisation,
    check_minimum,
    choice,
    minimise,
    strength,
)
from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.losses.base import Loss
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData
from sklearn_struct.objectives.linear_potentials import LinearPotentials
from sklearn_struct.solvers.result import Result
from sklearn_struct.solvers.sag import Remembered

__all__ = ["Batch", "Grid", "Outcome", "best", "scores_of_fold"]

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
# float32 is quicker where numbers do not fit into the cache; it rounds slopes by some 1e-7, far
# below tol. sag does that by itself.
COARSE = "float32"
IN_COARSE = {"lbfgs", "owlqn"}
LEAST_TOL = 1e-5
SMALL = 100_000  # scores of labels at tokens
# steps that lbfgs remembers: a sixth fewer iterations than with 10, each a twentieth dearer
N_PAIRS = 20

Scorer = Callable[..., float]


class Grid(NamedTuple):
    """The penalties: each C with each share of the L1 penalty."""

    Cs: np.ndarray
    l1_ratios: np.ndarray


def best(scores: np.ndarray, grid: Grid) -> tuple[int, int]:
    """Where the best mean of scores (n_folds, n_l1_ratios, n_Cs) is: the first one, if C is the
    slower to change, as in GridSearchCV.
    """
    c, r = divmod(int(np.argmax(scores.mean(axis=0).T)), len(grid.l1_ratios))
    return r, c


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
    """Of one fold, arrays (n_l1_ratios, n_Cs): scores, iterations, whether `tol` was reached.

    If they were asked for, also weights (n_l1_ratios, n_Cs, size), and a model whose they are.
    """

    score: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray
    weights: np.ndarray | None = None
    model: LinearChainCRF | None = None

    def fitted(self, place: tuple[int, int]) -> LinearChainCRF | None:
        """The model under the penalty at this place, if weights were asked for and float32 holds
        them.
        """
        if self.model is None or self.weights is None or not np.isfinite(self.weights[place]).all():
            return None
        model = copy.copy(self.model)
        model._w = self.weights[place].astype(np.float64)
        return model


def scores_of_fold(
    model: LinearChainCRF,
    batch: Batch,
    split: tuple[np.ndarray, np.ndarray],
    grid: Grid,
    scorer: Scorer | None,
    keep: bool = False,
) -> Outcome:
    """Fit to the training part under each penalty, and score on the test part.

    `model` knows how X was encoded. Without a scorer its own score counts. `keep` asks for weights.
    """
    model = copy.copy(model)
    train, test = (batch.part(chosen) for chosen in split)
    sequences = train.sequences
    codes = model._read_labels(train.y, sequences, reset=True)
    exact = model.dtype

    def posed(dtype: str) -> _Posed:
        model.dtype = dtype
        weights, loss = model._read_weights(train.sample_weight, sequences, codes)
        potentials, data = model._posed(sequences, codes, weights)
        model.dtype = exact
        return _Posed(loss, potentials, data)

    here = posed(exact)
    model._prepared = Prepared()
    model._stream = None
    model.t_ = here.data.n_examples
    shape = len(grid.l1_ratios), len(grid.Cs)
    outcome = Outcome(np.empty(shape), np.empty(shape, np.int64), np.empty(shape, np.bool_))
    # float32 is enough for a start
    weights = np.empty((*shape, here.potentials.size), np.float32) if keep else None
    settings = model._minimisation()
    with Pool(model.n_jobs) as pool:
        steps = list(_steps(settings, grid, here))
        # terms serve batch solvers, too
        first = next((step.solver for step in steps if step.solver in STOCHASTIC), steps[0].solver)

        def objective(posed: _Posed) -> LinearObjective:
            return model._objective(first, posed.potentials, posed.loss, posed.data).on(pool)

        if _may_be_coarse(steps, here):
            with np.errstate(over="ignore"):  # no minimum is then found, and float64 has its turn
                coarse = posed(COARSE)
            path = _Path(objective(coarse), lambda: objective(here))
        else:
            path = _Path(objective(here))
        for step in steps:
            result = path.go(step)
            model.C = step.settings.C
            model.l1_ratio = step.settings.l1_ratio
            model.__dict__.update(model._learned(result.w) | {"n_iter_": result.n_iter})
            outcome.score[step.place] = _score(model, test, scorer)
            outcome.n_iter[step.place] = result.n_iter
            outcome.converged[step.place] = result.converged
            if weights is not None:
                with np.errstate(over="ignore"):
                    weights[step.place] = result.w
    model._prepared = Prepared()
    return outcome._replace(weights=weights, model=model) if keep else outcome


class _Posed(NamedTuple):
    """What is to be learned of a training part, in one float type."""

    loss: Loss
    potentials: LinearPotentials
    data: TrainingData


class _Step(NamedTuple):
    settings: Minimisation
    solver: str
    place: tuple[int, int]


def _steps(settings: Minimisation, grid: Grid, posed: _Posed) -> Iterator[_Step]:
    """All penalties: for each share of L1 the strongest first, with their solvers."""
    for r, l1_ratio in enumerate(grid.l1_ratios.tolist()):
        for c in np.argsort(grid.Cs, kind="stable").tolist():
            one = settings._replace(C=float(grid.Cs[c]), l1_ratio=l1_ratio)
            yield _Step(one, choice(one, posed.loss, posed.potentials, posed.data), (r, c))


def _may_be_coarse(steps: list[_Step], posed: _Posed) -> bool:
    """Whether minima may be looked for in float32, and that saves time."""
    n_scores = posed.data.n_nodes * posed.potentials.n_labels
    return (
        posed.potentials.dtype != np.dtype(COARSE)
        and posed.loss.smooth
        and posed.loss.convex
        and n_scores > SMALL
        and all(s.solver in IN_COARSE and s.settings.tol >= LEAST_TOL for s in steps)
    )


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

    def __init__(
        self, objective: LinearObjective, exact: Callable[[], LinearObjective] | None = None
    ) -> None:
        self.objective = objective
        # the same in float64, for when float32 does not do
        self.exact = exact
        # elsewhere another start may lead to another minimum than that of a fit by itself
        self.leads_on = objective.loss.smooth and objective.loss.convex
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
            if step.solver not in OF_TERMS:
                tol = max(min(LEFT * change, settings.tol), FINEST * settings.tol)
                settings = settings._replace(tol=tol)
        else:
            # what minimises the one would pass for a minimum of the other
            self.memory = Remembered()
            start = np.zeros(self.objective.size)
        result = self._minimum(settings, step.solver, start)
        # not by max_iter, so by rounding
        stuck = not result.converged and result.n_iter < settings.max_iter
        if self.exact is not None and stuck:
            self.objective = self.exact()
            self.exact = None
            result = self._minimum(settings, step.solver, start)
        check_minimum(step.solver, result)
        if self.leads_on:
            self.known = [*self.known, (settings, result.w)][-DEGREE:]
        return result

    def _minimum(self, settings: Minimisation, solver: str, start: np.ndarray) -> Result:
        objective = self.objective
        further = self._further(solver)
        return minimise(settings, solver, objective, start, objective.total_weight, further=further)

    def _further(self, solver: str) -> dict[str, Any]:
        """Options of a solver that make it quicker along a path."""
        if self.leads_on and solver in OF_TERMS:
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
