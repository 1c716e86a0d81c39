"""Parameters that estimators of several kinds have, in groups of which each is a base."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.encoding.parameter_checks import N_JOBS
from sklearn_struct.estimators.fitting.iterations import IterationSettings
from sklearn_struct.estimators.fitting.parameters import with_parameters

__all__ = [
    "SOLVERS",
    "IterationParameters",
    "PenaltyParameters",
    "RandomParameters",
    "SolverParameters",
    "ThreadParameters",
]

SMOOTH = ("lbfgs", "newton-cg", "trust-ncg", "cg", "gradient")  # solvers without an L1 penalty
SOLVERS = ("auto", *SMOOTH, "owlqn", "sag", "sag-lbfgs", "sgd")


@with_parameters
class PenaltyParameters:
    """The penalty on weights.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty; ``np.inf`` for no penalty.
    l1_ratio : float, default=0.0
        Share of the L1 penalty, in [0, 1]; 1 gives sparse weights.
    """

    C: float = 1.0
    l1_ratio: float = 0.0
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="right")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
    }


@with_parameters
class IterationParameters:
    """When training stops, and what it prints.

    Parameters
    ----------
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-4
        Training stops when no entry of the objective's gradient, divided by C and the total sample
        weight, exceeds `tol`.
    verbose : int, default=0
        1 prints a line for each iteration, and in the end why the solver stopped, with the time.
    """

    max_iter: int = 1000
    tol: float = 1e-4
    verbose: int = 0
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
    }
    # where `max_iter` says when a fit ends, that is nothing to warn of; no parameter
    _ends_at_max_iter = False

    def _iteration_settings(self) -> IterationSettings:
        speaker = type(self).__name__ if self.verbose else ""
        return IterationSettings(self.max_iter, self.tol, speaker, not self._ends_at_max_iter)


@with_parameters
class RandomParameters:
    """Random numbers.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None
        Seed of random numbers.
    """

    random_state: Any = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"random_state": ["random_state"]}


@with_parameters
class SolverParameters:
    """Solvers of objectives of any loss, and the steps of stochastic gradient descent.

    Parameters
    ----------
    solver : {"auto", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg", "gradient", "sag", \
            "sag-lbfgs", "sgd"}, default="auto"
        What minimises the objective, as in `LinearChainCRF`. With a loss that draws labellings,
        "auto" is "sgd".
    learning_rate : {"averaged", "optimal"}, default="averaged"
        How long the steps of ``solver="sgd"`` are. "optimal": after m steps the length is 1 / (l
        (m0 + m)) (Sutton and McCallum 2012, eq. 5.22, divided by the number of instances). Here l
        is 1 / (C * total sample weight), the curvature of the penalty, and m0 sets the first step.
        The model has the last weights, or those of the pass with the lowest objective. "averaged":
        the length falls more slowly, with the power 3/4 of the number of steps, and the model has
        the mean of the weights of many steps. With a strong penalty "averaged" ends nearer to the
        optimum. In both cases the first step, 1 / (l m0), is the best of several that are tried on
        200 parts of the data. Without a penalty all steps have the same length.
    """

    solver: str = "auto"
    learning_rate: str = "averaged"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [StrOptions(set(SOLVERS))],
        "learning_rate": [StrOptions({"averaged", "optimal"})],
    }


@with_parameters
class ThreadParameters:
    """Threads.

    Parameters
    ----------
    n_jobs : int, default=None
        Number of threads, which work on blocks of sequences. None means 1, and -1 means all
        processors, unless `joblib.parallel_config` says otherwise. The number of threads does not
        change results.
    """

    n_jobs: int | None = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"n_jobs": N_JOBS}
