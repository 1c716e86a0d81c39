"""From the parameter `solver` of an estimator to a solved objective."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sklearn_struct.containers.typing import Seed
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.linear.sparse_rows import SparseRows
from sklearn_struct.losses.base import Loss
from sklearn_struct.objectives.linear_objective import TrainingData
from sklearn_struct.objectives.linear_potentials import LinearPotentials
from sklearn_struct.objectives.remembered_terms import LARGEST_MEMORY, memory_of
from sklearn_struct.solvers.arow import adaptive
from sklearn_struct.solvers.convex_concave import convex_concave
from sklearn_struct.solvers.convex_difference import expectation_maximisation
from sklearn_struct.solvers.cutting_planes import cutting_planes
from sklearn_struct.solvers.frank_wolfe import frank_wolfe
from sklearn_struct.solvers.gradient_descent import cg, gradient_descent
from sklearn_struct.solvers.lbfgs import lbfgs
from sklearn_struct.solvers.newton_cg import newton_cg, trust_ncg
from sklearn_struct.solvers.objective_protocols import BatchObjective
from sklearn_struct.solvers.online import passive_aggressive, passive_aggressive_squared, perceptron
from sklearn_struct.solvers.owlqn import owlqn
from sklearn_struct.solvers.penalised import Penalised
from sklearn_struct.solvers.result import Callback, Result
from sklearn_struct.solvers.rounding_noise import measure
from sklearn_struct.solvers.sag import sag
from sklearn_struct.solvers.sag_lbfgs import sag_lbfgs
from sklearn_struct.solvers.sdca import sdca
from sklearn_struct.solvers.sgd import sgd

__all__ = [
    "BATCH",
    "OF_PLANES",
    "OF_TERMS",
    "SOLVERS",
    "STOCHASTIC",
    "Minimisation",
    "check_minimum",
    "choice",
    "choice_for_batches",
    "choice_for_rows",
    "ended",
    "minimise",
    "serving",
    "solve",
    "step_options",
    "strength",
    "term_tokens",
]

SOLVERS: dict[str, Callable[..., Result]] = {
    "lbfgs": lbfgs,
    "owlqn": owlqn,
    "newton-cg": newton_cg,
    "trust-ncg": trust_ncg,
    "cg": cg,
    "gradient": gradient_descent,
    "em": expectation_maximisation,
    "sag": sag,
    "sag-lbfgs": sag_lbfgs,
    "sdca": sdca,
    "sgd": sgd,
    "ap": perceptron,
    "pa": passive_aggressive,
    "pa-ii": passive_aggressive_squared,
    "arow": adaptive,
    "frank-wolfe": frank_wolfe,
    "cutting-planes": cutting_planes,
    "cccp": convex_concave,
}
# evaluate the objective as a whole, and serve all data of which it is a sum
BATCH = {"lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg", "gradient", "cutting-planes"}
STOCHASTIC = {
    "sag",
    "sag-lbfgs",
    "sdca",
    "sgd",
    "ap",
    "pa",
    "pa-ii",
    "arow",
    "frank-wolfe",
    "cccp",
}  # take `rng`
NEWTON = {"newton-cg", "trust-ncg"}  # take second derivatives
L1 = {"owlqn", "sag", "em"}  # serve an L1 penalty
OF_TERMS = {"sag", "sag-lbfgs"}  # that remember tables of terms
BY_VALUE = {
    "sgd",
    "ap",
    "pa",
    "pa-ii",
    "arow",
    "frank-wolfe",
    "cutting-planes",
    "cccp",
}  # whose `tol` is of values, not of gradients
OF_KINKS = BY_VALUE  # that serve losses without a derivative everywhere
OF_PLANES = {"frank-wolfe", "cutting-planes"}  # that serve no others
NO_L1 = "solver={!r} has no L1 penalty; use 'owlqn', 'sag' or 'auto', or l1_ratio=0"
WEAKEST_LOSS = 1e-100  # beside the penalty, below which solvers' numbers underflow
LARGE = 20_000  # tokens from which on "auto" may begin with sag
# the same, of tokens times labels: with few labels an evaluation is quick, and a pass is not
LARGE_SCORES = 400_000
FEWEST_EXAMPLES = 100
LARGE_IF_L1 = 1000  # fewer, as owlqn often needs a thousand iterations
# of sag's, where they may have FEWEST to MOST tokens: it learns as much from few as from many
N_TERMS = 450
FEWEST = 100
MOST = 500
# numbers in rows, for fewer of which no solver takes long, and lbfgs ends nearer to the optimum
MANY = 50_000
WEAKEST = 100.0  # ratio up to which sdca has been seen to need fewer passes than L-BFGS iterations


class Minimisation(NamedTuple):
    """What the parameters of an estimator say of its objective's minimum: the penalty, who looks
    for it (maybe "auto"), when it is near enough, and in which float type the objective is.
    """

    solver: str
    C: float
    tol: float
    max_iter: int
    l1_ratio: float = 0.0
    random_state: Seed = None
    dtype: str = "float64"
    learning_rate: str = "averaged"


def choice(
    settings: Minimisation, loss: Loss, potentials: LinearPotentials, data: TrainingData
) -> str:
    """The solver that "auto" stands for; ValueError if the one asked for does not serve the penalty
    or the loss.

    sag is for convex losses, since strong convexity tells it where to stop.
    """
    solver = settings.solver
    if loss.sampled:
        if solver not in {"auto", "sgd"} or settings.l1_ratio > 0:
            raise ValueError(
                "this loss draws labellings, so its derivatives are estimates: it needs "
                "solver='sgd' or 'auto', and l1_ratio=0, "
                f"got solver={solver!r} and l1_ratio={settings.l1_ratio}"
            )
        return "sgd"
    if not loss.smooth:
        return _choice_for_kinks(solver, settings.l1_ratio, loss.convex)
    if solver == "auto":
        has_l1 = settings.l1_ratio > 0
        n_tokens = data.n_nodes
        # its terms are whole sequences
        many = data.n_examples >= FEWEST_EXAMPLES
        many &= n_tokens >= (LARGE_IF_L1 if has_l1 else LARGE)
        many &= has_l1 or n_tokens * potentials.n_labels >= LARGE_SCORES
        many &= not potentials.has_clique_features
        # sag's, with as much again for tables of edges
        n_derivatives = 2 * n_tokens * potentials.n_labels
        many &= memory_of(n_derivatives, sampled=not has_l1) <= LARGEST_MEMORY
        many &= loss.convex
        if has_l1:
            return "sag" if many else "owlqn"
        return "sag-lbfgs" if many else "lbfgs"
    return serving(solver, settings.l1_ratio, loss)


def serving(solver: str, l1_ratio: float, loss: Loss) -> str:
    """A solver of smooth losses, after a check that it serves this one and the penalty."""
    if solver in OF_PLANES:
        raise ValueError(f"solver={solver!r} is for loss='hinge'; use 'lbfgs' or 'auto'")
    if l1_ratio > 0 and solver not in L1:
        raise ValueError(NO_L1.format(solver))
    if solver in NEWTON and not loss.twice_differentiable:
        raise ValueError(
            f"solver={solver!r} needs second derivatives, which this loss has not; use 'lbfgs' or "
            "'auto'"
        )
    if solver == "em" and not loss.has_parts:
        raise ValueError(
            "solver='em' is for labels that are hidden or missing, and here all are known; use "
            "'lbfgs' or 'auto'"
        )
    return solver


def _choice_for_kinks(solver: str, l1_ratio: float, convex: bool) -> str:
    """The same for a loss that is the largest of planes, or a difference of two such."""
    of_hinge = solver in OF_PLANES | {"auto", "sgd"}
    if solver not in OF_KINKS | {"auto"} or (of_hinge and l1_ratio > 0):
        raise ValueError(
            "loss='hinge' has kinks, so it needs solver='frank-wolfe', 'cutting-planes', 'sgd' or "
            f"'auto', and l1_ratio=0, got solver={solver!r} and l1_ratio={l1_ratio}"
        )
    if l1_ratio > 0:
        raise ValueError(NO_L1.format(solver))
    if solver == "cutting-planes" and not convex:
        raise ValueError(
            f"solver={solver!r} is for loss='hinge' where all labels are known; use 'frank-wolfe' "
            "or 'auto'"
        )
    if solver not in {"frank-wolfe", "auto"}:
        return solver
    # which is a "frank-wolfe" for each completion of the hidden labels
    return "frank-wolfe" if convex else "cccp"


def choice_for_rows(solver: str, C: float, l1_ratio: float, rows: SparseRows) -> str:
    """The same where each sequence is one row of counts.

    Passes of sdca grow with the ratio of C times the rows' squared length to their number
    (Shalev-Shwartz & Zhang).
    """
    n = rows.n_rows
    strong = C * float(np.sum(rows.squares)) <= WEAKEST * n**2
    suits = strong and rows.size > n and rows.n_stored >= MANY
    if solver == "auto" and l1_ratio == 0 and suits:
        return "sdca"
    return choice_for_batches(solver, l1_ratio)


def choice_for_batches(solver: str, l1_ratio: float) -> str:
    """The same where each iteration goes over all data."""
    if solver == "auto":
        return "owlqn" if l1_ratio > 0 else "lbfgs"
    if l1_ratio > 0 and solver != "owlqn":
        raise ValueError(
            f"solver={solver!r} has no L1 penalty; use 'owlqn' or 'auto', or l1_ratio=0"
        )
    return solver


def term_tokens(solver: str, n_tokens: int, n_states: int) -> int:
    """About how many tokens a term of the finite sum has, in whole sequences: sgd learns more from
    many small ones.

    sag's have at least as many as labels (at order 2 label pairs), since it remembers a table of
    edges for each.
    """
    if solver in OF_TERMS:
        return max(min(max(n_tokens // N_TERMS, FEWEST), MOST), n_states)
    # the others are rules for one example at a time, as they were published
    return 50 if solver == "sgd" else 1


def strength(C: float, solver: str, scale: float) -> float:
    """What the loss counts for beside the penalty, C * scale; ValueError where next to the penalty
    it is nothing.
    """
    of_loss = float(C * scale)
    if of_loss < WEAKEST_LOSS and solver != "ap":
        raise ValueError(
            f"C={C} times the weights of the data ({scale:.3g} in all) is below "
            f"{WEAKEST_LOSS}: under such a "
            "penalty nothing is learned; use a larger C, or multiply the weights"
        )
    # ap has no penalty, but it is computed for all solvers, as one over this
    return max(of_loss, float(np.finfo(float).tiny))


def step_options(solver: str, learning_rate: str) -> dict[str, Any]:
    """What a solver is told about its steps, if it can be told."""
    return {"averaged": learning_rate == "averaged"} if solver == "sgd" else {}


def minimise(
    settings: Minimisation,
    solver: str,
    objective: BatchObjective,
    w0: np.ndarray,
    scale: float,
    callback: Callback | None = None,
    further: Mapping[str, Any] = MappingProxyType({}),
) -> Result:
    """C * scale * objective + penalty at its minimum, as the solver finds it that was chosen.

    `further` are options that this solver has.
    """
    of_loss = strength(settings.C, solver, scale)
    seed = settings.random_state
    if settings.solver == "auto" and seed is None:
        seed = 0  # whatever it chooses, it gives the same result each time
    options: dict[str, Any] = {"rng": check_random_state(seed)} if solver in STOCHASTIC else {}
    options |= step_options(solver, settings.learning_rate)
    # of steps that are too long; what is learned is looked at
    with np.errstate(over="ignore", invalid="ignore"):
        return SOLVERS[solver](
            objective,
            w0,
            l1=settings.l1_ratio / of_loss,
            l2=(1 - settings.l1_ratio) / of_loss,
            max_iter=settings.max_iter,
            tol=settings.tol,
            callback=callback,
            **options,
            **further,
        )


def solve(
    settings: Minimisation,
    solver: str,
    objective: BatchObjective,
    w0: np.ndarray,
    iterations: Iterations,
) -> dict[str, Any]:
    """Minimise and return what was learned, by name; warn where `tol` is not reached and nobody
    asked to stop before.

    What is minimised is C * scale * objective + penalty, and ``loss_curve_`` has it divided by C.
    The scale is that of `iterations`: the total weight for a sum of losses, 1 for their mean.
    """
    iterations.begin(w0)
    result = minimise(settings, solver, objective, w0, iterations.scale, iterations)
    return ended(settings, solver, objective, result, iterations)


def ended(
    settings: Minimisation,
    solver: str,
    objective: BatchObjective,
    result: Result,
    iterations: Iterations,
) -> dict[str, Any]:
    """What was learned by a run of a solver that has come to an end, with the warnings of
    `solve`.
    """
    check_minimum(solver, result)
    stopped = (
        f"solver {solver!r} stopped after {result.n_iter} iterations (max_iter={settings.max_iter})"
    )
    learned = iterations.end(result, stopped, _advice(settings, solver, objective, result))
    if not np.isnan(result.gap):
        learned |= {"gap_": result.gap * iterations.scale, "gap_certified_": True}
    return learned


def check_minimum(solver: str, result: Result) -> None:
    """Raise NonFiniteError unless what the solver has found are numbers."""
    if not (np.isfinite(result.value) and np.all(np.isfinite(result.w))):
        raise NonFiniteError(
            f"solver {solver!r} came to weights, or a loss, that are not finite: "
            "scale numeric features (TokenTransformer)"
        )


def _advice(settings: Minimisation, solver: str, objective: BatchObjective, result: Result) -> str:
    """What to do where `tol` is not reached: other numbers where rounding is the cause, which no
    iteration cures.
    """
    if result.converged:
        return ""
    scale = "scale numeric features (TokenTransformer)"
    if settings.dtype == "float32" and solver not in BY_VALUE:
        error = measure(Penalised(objective, 0.0), result.w).grad
        if error > settings.tol:
            return (
                f"float32 rounds the gradient by up to {error:.1g} here, "
                'so take dtype="float64" or a larger tol'
            )
        if result.n_iter < settings.max_iter:
            return (
                f'it finds nothing better in float32, so take dtype="float64", {scale}, '
                "or accept a larger tol"
            )
    if result.n_iter < settings.max_iter:
        return f"it finds nothing better, so {scale}, or accept a larger tol"
    return f"allow more iterations, {scale}, or accept a larger tol"
