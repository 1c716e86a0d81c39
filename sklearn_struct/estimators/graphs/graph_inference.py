"""How an estimator of graphs infers them, and what it says if that does not settle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklearn_struct._warning import warn
from sklearn_struct.containers.structures import Structure, copies
from sklearn_struct.exceptions import InferenceWarning
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.graphs.belief_propagation import BeliefPropagation
from sklearn_struct.inference.graphs.buckets import n_numbers
from sklearn_struct.inference.graphs.chosen import ChosenByGraph
from sklearn_struct.inference.graphs.convergence import Counts, Report
from sklearn_struct.inference.graphs.gibbs_sampling import GibbsSampling
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.inference.graphs.mean_field import MeanField
from sklearn_struct.inference.graphs.rooted_trees import has_cycle
from sklearn_struct.inference.graphs.tree_reweighted import TreeReweighted

__all__ = ["INFERENCES", "check_solver", "check_width", "inference_of", "warn_of"]

MOST_NUMBERS = 2.0**27  # in the tables of a graph: a gigabyte

# those that go on until nothing changes any more, for all graphs
APPROXIMATE: dict[str, Callable[[int, float, Report], Inference]] = {
    "bp": BeliefPropagation,
    "trw": TreeReweighted,
    "mean_field": MeanField,
}
# all that the parameter `inference` may be
INFERENCES = {"auto", "exact", "gibbs", *APPROXIMATE}


def inference_of(name: str, max_sweeps: int, tol: float, report: Report) -> Inference:
    """What the parameter `inference` names."""
    if name == "gibbs":
        return GibbsSampling(max_sweeps)
    if name in APPROXIMATE:
        return APPROXIMATE[name](max_sweeps, tol, report)
    messages = BeliefPropagation(max_sweeps, tol, report)
    return ChosenByGraph(messages if name == "auto" else JunctionTree(MOST_NUMBERS))


def check_solver(name: str, solver: str) -> None:
    """Raise ValueError for a solver that an inference is too noisy for."""
    if name == "gibbs" and solver != "sgd":
        raise ValueError(
            "inference='gibbs' gives noisy losses and gradients, with which "
            f"solver={solver!r} does not work; use solver='sgd'"
        )


def check_width(structure: Structure, n_labels: int) -> None:
    """Raise ValueError for the first graph whose tables would be too large."""
    cyclic = np.flatnonzero(has_cycle(structure))
    numbers = n_numbers(copies(structure, cyclic).structure, n_labels, MOST_NUMBERS)
    wide = cyclic[numbers > MOST_NUMBERS]
    if len(wide):
        raise ValueError(
            f"X[{wide[0]}]: exact inference needs tables of more than {MOST_NUMBERS:,.0f} numbers "
            f"for {n_labels} labels on this graph; use inference='bp', or 'auto' for exact "
            "inference on the others"
        )


def warn_of(counts: Counts, consequence: str) -> None:
    """Warn if inference has not settled somewhere; `consequence` says what that means."""
    if counts.n_unconverged:
        warn(
            f"inference has not settled for {counts.n_unconverged} of {counts.n_calls} "
            f"graphs ({counts.unconverged:.1%}; probabilities still change by up to "
            f"{counts.largest_change:.1g}): {consequence}. Raise max_sweeps or inference_tol, "
            "lower C, or use inference='exact' if graphs are narrow",
            InferenceWarning,
        )
