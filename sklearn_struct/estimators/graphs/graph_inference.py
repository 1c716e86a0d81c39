"""How an estimator of graphs infers them, and what it says if that does not settle."""

from __future__ import annotations

import numpy as np

from sklearn_struct._warning import warn
from sklearn_struct.containers.structures import Structure, copies
from sklearn_struct.exceptions import InferenceWarning
from sklearn_struct.inference.base import Inference, Sampler
from sklearn_struct.inference.graphs.belief_propagation import BeliefPropagation
from sklearn_struct.inference.graphs.buckets import n_numbers
from sklearn_struct.inference.graphs.chosen import ChosenByGraph
from sklearn_struct.inference.graphs.convergence import Counts, Report
from sklearn_struct.inference.graphs.gibbs_sampling import GibbsSampling
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.inference.graphs.kept_messages import KeptMessages
from sklearn_struct.inference.graphs.mean_field import MeanField
from sklearn_struct.inference.graphs.message_passing import MessagePassing
from sklearn_struct.inference.graphs.rooted_trees import are_forests
from sklearn_struct.inference.graphs.tree_reweighted import TreeReweighted

__all__ = ["INFERENCES", "check_solver", "check_width", "inference_of", "sampler_of", "warn_of"]

MOST_NUMBERS = 2.0**27  # in the tables of a graph: a gigabyte
MOST_SWEEPS = 2**31 - 1

# those that send messages until these settle, for all graphs
PASSING: dict[str, type[MessagePassing]] = {"bp": BeliefPropagation, "trw": TreeReweighted}
# all that the parameter `inference` may be
INFERENCES = {"auto", "exact", "gibbs", "mean_field", *PASSING}


def inference_of(
    name: str, max_sweeps: int, tol: float, report: Report, kept: KeptMessages | None = None
) -> Inference:
    """What the parameter `inference` names; ValueError for more sweeps than can be counted."""
    if max_sweeps > MOST_SWEEPS:
        raise ValueError(f"max_sweeps must be at most {MOST_SWEEPS:,}, got {max_sweeps}")
    if name == "gibbs":
        return GibbsSampling(max_sweeps)
    if name == "mean_field":
        return MeanField(max_sweeps, tol, report)
    if name in PASSING:
        return PASSING[name](max_sweeps, tol, report, kept)
    messages = BeliefPropagation(max_sweeps, tol, report, kept)
    return ChosenByGraph(messages if name == "auto" else JunctionTree(MOST_NUMBERS))


def sampler_of(name: str, structure: Structure, n_labels: int) -> Sampler:
    """What draws labellings; ValueError where graphs are not inferred exactly."""
    if name not in ("auto", "exact"):
        raise ValueError(
            f"labellings are drawn by exact inference, not by inference={name!r}; "
            "set_params(inference='exact') lets a fitted model draw"
        )
    chosen = ChosenByGraph(JunctionTree(MOST_NUMBERS))
    if name == "exact":
        return chosen
    wide = _wide(structure, n_labels, chosen.most)
    if len(wide):
        raise ValueError(
            f"X[{wide[0]}]: labellings are drawn by exact inference, but inference='auto' is not "
            f"exact for this graph, whose tables have more than {chosen.most:,.0f} numbers for "
            f"{n_labels} labels; set_params(inference='exact') allows {MOST_NUMBERS:,.0f}"
        )
    return chosen


def _wide(structure: Structure, n_labels: int, most: float) -> np.ndarray:
    """The graphs whose tables need more numbers."""
    others = np.flatnonzero(~are_forests(structure))
    numbers = n_numbers(copies(structure, others).structure, n_labels, most)
    wide: np.ndarray = others[numbers > most]
    return wide


def check_solver(name: str, solver: str) -> None:
    """Raise ValueError for a solver that an inference is too noisy for."""
    if name == "gibbs" and solver != "sgd":
        raise ValueError(
            "inference='gibbs' gives noisy losses and gradients, with which "
            f"solver={solver!r} does not work; use solver='sgd'"
        )


def check_width(structure: Structure, n_labels: int) -> None:
    """Raise ValueError for the first graph whose tables would be too large."""
    wide = _wide(structure, n_labels, MOST_NUMBERS)
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
            "lower C, learn by inference='trw' or by loss='pseudo', which infers nothing, or use "
            "inference='exact' if graphs are narrow",
            InferenceWarning,
        )
