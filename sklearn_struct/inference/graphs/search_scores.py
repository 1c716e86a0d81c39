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
    K = scores.node.shape[1]
    apart = np.full(len(cliques.row), np.nan)
    sizes = np.diff(cliques.bounds)
    for f, (start, step) in enumerate(zip(scores.starts, scores.steps, strict=True)):
        of_family = np.flatnonzero(cliques.family == f)
        if not len(of_family) or sizes[of_family[0]] != 2 or K < 2:
            continue
        of_rows = np.empty(len(of_family) if step else 1)
        _mark(scores.tables[start:], K, of_rows)
        apart[of_family] = of_rows
    firsts = scores.starts[cliques.family] + scores.steps[cliques.family] * cliques.row
    return SearchScores(scores.node, scores.tables, firsts, apart)


def like_equal_labels(potentials: Potentials, structure: Structure) -> np.ndarray:
    """Whether all cliques of an example are edges of Potts's model that add most where labels are
    equal, (n_examples,).
    """
    K = potentials.node.shape[1]
    n_others = np.zeros(structure.n_examples)
    for table, family in zip(potentials.cliques, structure.families, strict=True):
        are_others = np.ones(len(table), bool)
        if family.nodes.shape[1] == 2 and K > 1:
            apart = np.empty(len(table))
            _mark(table.astype(np.float64, copy=False).ravel(), K, apart)
            are_others = ~np.isfinite(apart)
            are_others |= ~np.all(table[:, :: K + 1] >= apart[:, None], axis=1)
        n_others += by_example(np.broadcast_to(are_others, len(family.nodes)), family.offsets)
    alike: np.ndarray = n_others == 0
    return alike


@kernel
def _mark(tables: np.ndarray, K: int, apart: np.ndarray) -> None:
    for c in range(len(apart)):
        first = c * K * K
        apart[c] = tables[first + 1]
        for j in range(K):
            for k in range(K):
                if j != k and tables[first + j * K + k] != apart[c]:
                    apart[c] = np.nan
