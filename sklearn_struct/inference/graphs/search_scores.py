"""Scores as searches for labellings read them: with those edges marked that have the same score for
all pairs of labels that differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.inference.graphs.flat_scores import Cliques, FlatScores, by_example

__all__ = ["SearchScores", "like_equal_labels", "search_scores"]


class SearchScores(NamedTuple):
    """`FlatScores`, and ``apart`` (n_cliques,): what an edge adds for any two labels that differ.

    It is NaN where these have scores of their own, and of cliques that are no edges. All edges of
    Potts's model have it; a message then takes as many steps as there are labels, and not their
    square.
    """

    node: np.ndarray
    tables: np.ndarray
    firsts: np.ndarray
    apart: np.ndarray


def search_scores(scores: FlatScores, cliques: Cliques) -> SearchScores:
    """The same scores, marked."""
    n_labels = scores.node.shape[1]
    apart = np.full(len(cliques.row), np.nan)
    sizes = np.diff(cliques.bounds)
    stops = [*scores.starts[1:].tolist(), len(scores.tables)]
    for f, (start, stop) in enumerate(zip(scores.starts.tolist(), stops, strict=True)):
        of_family = np.flatnonzero(cliques.family == f)
        if len(of_family) and sizes[of_family[0]] == 2:
            shared = scores.steps[f] == 0
            rows = scores.tables[start:stop].reshape(1 if shared else len(of_family), -1)
            of_rows = _scores_apart(rows, n_labels)
            apart[of_family] = of_rows[0 if shared else cliques.row[of_family]]
    firsts = scores.starts[cliques.family] + scores.steps[cliques.family] * cliques.row
    return SearchScores(scores.node, scores.tables, firsts, apart)


def like_equal_labels(potentials: Potentials, structure: Structure) -> np.ndarray:
    """Whether all cliques of an example are edges of Potts's model that add most where labels are
    equal, (n_examples,).
    """
    n_labels = potentials.node.shape[1]
    n_others = np.zeros(structure.n_examples)
    for table, family in zip(potentials.cliques, structure.families, strict=True):
        are_others = np.ones(len(table), bool)
        n_cliques, size = family.nodes.shape
        if size == 2:
            apart = _scores_apart(table.astype(np.float64, copy=False), n_labels)
            are_others = ~np.isfinite(apart)
            are_others |= ~np.all(table[:, :: n_labels + 1] >= apart[:, None], axis=1)
        n_others += by_example(np.broadcast_to(are_others, n_cliques), family.offsets)
    alike: np.ndarray = n_others == 0
    return alike


def _scores_apart(rows: np.ndarray, n_labels: int) -> np.ndarray:
    """What each row of pairs of labels has for all pairs that differ, NaN where these differ."""
    apart = np.full(len(rows), np.nan)
    if n_labels > 1:
        _mark(rows, n_labels, apart)
    return apart


@kernel
def _mark(rows: np.ndarray, K: int, apart: np.ndarray) -> None:
    for c in range(len(rows)):
        apart[c] = rows[c, 1]
        for j in range(K):
            for k in range(K):
                if j != k and rows[c, j * K + k] != apart[c]:
                    apart[c] = np.nan
