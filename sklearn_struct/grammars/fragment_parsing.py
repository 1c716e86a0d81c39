"""Trees of sentences under a grammar times exp(w . f), f counts of pieces of trees: as in
`parsing`.

The grammar alone tells which parts are probable at all; weights choose among these. Scores of
pieces of two productions need no other grammar: `inference.forest_pairs` finds the best tree, and
sums over all of them, exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.trees import Forest
from sklearn_struct.grammars.fragments import ROOT, Fragments, Places, places, scores
from sklearn_struct.grammars.parsing import (
    Candidates,
    Parses,
    TreeModel,
    most_expected,
    probable,
    tree_log_probabilities,
)
from sklearn_struct.grammars.sums_over_trees import production_symbols
from sklearn_struct.inference.trees.chart_decoding import Nodes
from sklearn_struct.inference.trees.forest_production_pairs import argmax, pairs, posteriors, roots

__all__ = ["WeightedTrees", "best", "log_probability", "log_scores", "parses"]


class WeightedTrees(NamedTuple):
    """A grammar without states, weights of features, and what any tree and each of its nodes add to
    the score.
    """

    model: TreeModel
    fragments: Fragments
    w: np.ndarray
    of_tree: float = 0.0
    of_node: float = 0.0


def parses(trees: WeightedTrees, candidates: Candidates, threshold: float) -> Parses:
    """The trees of a sentence whose parts have, by the grammar alone, at least this posterior
    probability.
    """
    packed = probable(trees.model, candidates, threshold)
    item, edge, log_Z = posteriors(packed, *_scored(trees, packed))
    return Parses(
        packed, item[None], edge[None], np.array([log_Z]), np.array([float(log_Z > -np.inf)])
    )


def best(trees: WeightedTrees, candidates: Candidates, decoder: str, threshold: float) -> Nodes:
    """The best tree of a sentence among those of `parses`, by a decoder of `parsing.best`."""
    # expected numbers need all trees; the best tree alone does not
    if decoder != "viterbi":
        return most_expected(parses(trees, candidates, threshold), decoder)
    packed = probable(trees.model, candidates, threshold)
    return argmax(packed, *_scored(trees, packed))[0]


def log_probability(trees: WeightedTrees, candidates: Candidates, threshold: float) -> float:
    """Logarithm of the sum over the trees of `parses`."""
    return float(parses(trees, candidates, threshold).log_p[0])


def log_scores(trees: WeightedTrees, given: Forest) -> np.ndarray:
    """Log-scores of trees, an example each; -inf where the grammar alone makes one impossible."""
    log_p, known = tree_log_probabilities(trees.model, given)
    seen = places(given, len(trees.model.plain.rule))
    owner = np.repeat(np.arange(len(log_p)), np.diff(given.offsets))
    whole = known[owner]
    seen = Places(*(column[whole] for column in seen))
    owner = owner[whole]
    return (
        log_p
        + trees.of_tree
        + np.bincount(owner, _weights(trees, seen) + trees.of_node, len(log_p))
    )


def _scored(trees: WeightedTrees, packed: Forest) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which pairs of productions there are, scores of productions, and of pairs."""
    model = trees.model
    below = pairs(packed)
    top = roots(packed)
    production = np.concatenate([packed.rule, len(model.plain.rule) + packed.leaf]).astype(np.int64)
    score = np.concatenate([model.plain.rule, model.plain.leaf])[production] + trees.of_node
    at_top = Places(np.full(len(top), -1), np.full(len(top), ROOT), production[top])
    # what a tree has once is added at its root
    score[top] += (
        model.plain.root[production_symbols(model)[at_top.production]]
        + _weights(trees, at_top)
        + trees.of_tree
    )
    pair = _weights(trees, Places(production[below.above], below.side, production[below.below]))
    return below.start, score, pair


def _weights(trees: WeightedTrees, seen: Places) -> np.ndarray:
    return scores(trees.fragments, trees.model, seen, trees.w)
