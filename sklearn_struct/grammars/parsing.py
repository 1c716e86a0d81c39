"""Trees of sentences under a grammar, whose symbols may have states: probabilities of parts, and
the best tree.

A chart of the symbols alone tells which parts are probable at all; states are summed over these
only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.trees import (
    Forest,
    Grammar,
    Tensors,
    Treebank,
    TreeScores,
    examples,
    tensors,
)
from sklearn_struct.hidden_markov.densities import log_ratios
from sklearn_struct.inference.trees import chart_decoding, chart_forest, forest_decoding
from sklearn_struct.inference.trees.chart_decoding import Nodes
from sklearn_struct.inference.trees.forest_inside_outside import inside, outside, vectors

__all__ = [
    "Candidates",
    "Parses",
    "Plain",
    "TreeModel",
    "best",
    "counted",
    "forest_parses",
    "log_probability",
    "logarithms",
    "most_expected",
    "one_state",
    "parses",
    "probable",
    "tree_log_probabilities",
]


class Plain(NamedTuple):
    """Log-probabilities of a grammar: of rules given their parents, of roots, of what tags emit."""

    rule: np.ndarray
    root: np.ndarray
    leaf: np.ndarray


class TreeModel(NamedTuple):
    """A grammar with its probabilities, and tensors of any number of grammars with states; `symbol`
    is of leaves.
    """

    grammar: Grammar
    symbol: np.ndarray
    plain: Plain
    states: tuple[Tensors, ...] = ()


class Candidates(NamedTuple):
    """What each token of a sentence may be: numbers of leaves, those of token t ``leaf[indptr[t] :
    indptr[t + 1]]``.
    """

    indptr: np.ndarray
    leaf: np.ndarray


class Parses(NamedTuple):
    """The probable trees of a sentence; of items and edges the posterior probabilities, of the
    sentence log |p(x)|.

    With several grammars there is a row of each for each of them. Spectral estimates may have a
    p(x) below 0, `sign` -1, and posteriors beyond 0 and 1.
    """

    forest: Forest
    item: np.ndarray
    edge: np.ndarray
    log_p: np.ndarray
    sign: np.ndarray


def counted(
    treebank: Treebank,
    leaf_counts: np.ndarray,
    smoothing: float,
    weight: np.ndarray | None = None,
) -> Plain:
    """Relative frequencies; `smoothing` is added to the counts of rules, and `weight` says how
    often each tree counts (None: once), as it does in `leaf_counts`.
    """
    grammar, forest, symbol = treebank
    S = len(grammar.indptr) - 1
    of_edge = None
    if weight is not None:
        # edges are in the order of the nodes that they belong to
        of_edge = np.repeat(weight, np.diff(forest.indptr[forest.offsets]))
    of_rule = np.bincount(forest.rule, weights=of_edge, minlength=len(grammar.parent)) + smoothing
    of_parent = np.bincount(grammar.parent, weights=of_rule, minlength=S)
    of_symbol = np.bincount(symbol, weights=leaf_counts, minlength=S)
    roots = np.bincount(forest.symbol[forest.offsets[1:] - 1], weights=weight, minlength=S)
    with np.errstate(divide="ignore"):
        # words that only stand for unknown ones may have count 0
        leaf = np.log(leaf_counts / of_symbol[symbol])
    return Plain(np.log(of_rule / of_parent[grammar.parent]), log_ratios(roots), leaf)


def one_state(model: TreeModel) -> Tensors:
    """The probabilities of the grammar itself as tensors of one state."""
    S = len(model.plain.root)
    of_one_state = tensors(model.grammar, np.ones(S, np.int32), model.symbol)
    of_one_state.rule[of_one_state.rule_start[:-1]] = np.exp(model.plain.rule)
    of_one_state.leaf[of_one_state.leaf_start[:-1]] = np.exp(model.plain.leaf)
    of_one_state.root[of_one_state.root_start[:-1]] = np.exp(model.plain.root)
    return of_one_state


def parses(model: TreeModel, candidates: Candidates, threshold: float) -> Parses:
    """The trees of a sentence whose parts have, by the plain grammar, at least this posterior
    probability.
    """
    packed, item, edge, log_Z = chart_forest.forest(
        model.grammar, _scores(model, candidates), threshold
    )
    if not model.states or not len(packed.symbol):
        # without states the grammar itself is the only one
        n = max(len(model.states), 1)
        items, edges = (np.broadcast_to(row, (n, len(row))) for row in (item, edge))
        return Parses(packed, items, edges, np.full(n, log_Z), np.full(n, float(log_Z > -np.inf)))
    return forest_parses(model.grammar, model.states, _with_leaves(packed, candidates))


def forest_parses(grammar: Grammar, grammars: Sequence[Tensors], packed: Forest) -> Parses:
    """The same for a forest that is given, which has items."""
    items = np.empty((len(grammars), len(packed.symbol)))
    edges = np.zeros((len(grammars), len(packed.rule)))
    log_p, sign = np.empty((2, len(grammars), 1))
    for g, states in enumerate(grammars):
        inner = vectors(packed, states.n_states)
        outer = inner._replace(row=np.zeros_like(inner.row))
        inside(grammar, states, packed, inner)
        outside(grammar, states, packed, inner, outer, log_p[g], sign[g], edges[g])
        # products of vectors inside and outside are posteriors as they are, since their scales
        # cancel
        items[g] = np.add.reduceat(inner.row * outer.row, inner.start[:-1])
    return Parses(packed, items, edges, log_p[:, 0], sign[:, 0])


def best(
    model: TreeModel,
    candidates: Candidates,
    decoder: str,
    threshold: float,
    logs: Tensors | None = None,
) -> Nodes:
    """The best tree of a sentence; no nodes if it has none.

    "viterbi" is the most probable one; with states, `logs` are to be the logarithms of their only
    tensors. "max-recall" has the largest sum of posterior probabilities of its items (Goodman
    1996), "max-rule" the largest product of those of its edges and leaves (Petrov & Klein 2007). Of
    several grammars they take the mean, and the product, over those that have a tree; if states
    have none, the grammar without them decides.
    """
    plain = model._replace(states=())
    if decoder == "viterbi" and not model.states:
        return chart_decoding.argmax(model.grammar, _scores(model, candidates))[0]
    if logs is not None:
        nodes, score = forest_decoding.argmax_states(
            model.grammar, logs, probable(plain, candidates, threshold)
        )
        # states may rule out all that the plain grammar has left: then it decides alone
        return nodes if score > -np.inf else best(plain, candidates, decoder, threshold)
    parsed = parses(model, candidates, threshold)
    return most_expected(
        parsed if np.any(parsed.sign) else parses(plain, candidates, threshold), decoder
    )


def most_expected(parsed: Parses, decoder: str) -> Nodes:
    """The best tree by posterior probabilities, for "max-recall" or "max-rule"."""
    # spectral estimates may be below 0; grammars without any tree have no vote
    item, edge = (np.abs(rows[parsed.sign != 0]) for rows in (parsed.item, parsed.edge))
    if decoder == "max-recall":
        return forest_decoding.argmax(parsed.forest, item.sum(axis=0), np.zeros(edge.shape[1]))[0]
    with np.errstate(divide="ignore"):
        together = item.sum(axis=0, keepdims=True), edge.sum(axis=0, keepdims=True)
        # where no tree is possible in all grammars, by their sum
        for items, edges in ((item, edge), together):
            of_leaves = np.where(parsed.forest.leaf >= 0, np.log(items).sum(axis=0), 0.0)
            nodes, score = forest_decoding.argmax(
                parsed.forest, of_leaves, np.log(edges).sum(axis=0)
            )
            if score > -np.inf:
                break
        return nodes


def logarithms(states: Tensors) -> Tensors:
    """Logarithms of tensors, -inf for numbers that are not positive."""
    with np.errstate(divide="ignore"):
        logs = {
            name: np.log(np.maximum(getattr(states, name), 0.0))
            for name in ("rule", "leaf", "root")
        }
    return states._replace(**logs)


def log_probability(model: TreeModel, candidates: Candidates, threshold: float) -> float:
    """log p(x) of a sentence; -inf where p(x) is not positive. Of several grammars, their mean."""
    if not model.states:
        return chart_forest.log_partition(model.grammar, _scores(model, candidates))
    parsed = parses(model, candidates, threshold)
    return _log_mean(parsed.log_p, parsed.sign)


def tree_log_probabilities(model: TreeModel, trees: Forest) -> tuple[np.ndarray, np.ndarray]:
    """log p(x, tree) of each example, a tree, and whether all is known of it; symbols, rules and
    leaves may be -1.

    Where p is not positive the logarithm is -inf. Of several grammars, p is the mean.
    """
    n = len(trees.offsets) - 1
    of_item = np.repeat(np.arange(n), np.diff(trees.offsets))
    is_leaf = np.diff(trees.indptr) == 0
    strange = (trees.symbol < 0) | (is_leaf & (trees.leaf < 0))
    strange[~is_leaf] |= trees.rule < 0
    known = np.bincount(of_item, weights=strange, minlength=n) == 0
    log_p = np.full(n, -np.inf)
    # one by one, as treebanks are large and vectors of all items would be, too
    for i in np.flatnonzero(known).tolist():
        log_p[i] = _tree_log_probability(model, examples(trees, i, i + 1))
    return log_p, known


def _tree_log_probability(model: TreeModel, tree: Forest) -> float:
    if not model.states:
        rule, root, leaf = model.plain
        return float(
            np.sum(rule[tree.rule])
            + np.sum(leaf[tree.leaf[tree.leaf >= 0]])
            + root[tree.symbol[-1]]
        )
    log_Z, sign = np.empty((2, len(model.states)))
    for g, states in enumerate(model.states):
        inner = vectors(tree, states.n_states)
        inside(model.grammar, states, tree, inner)
        first, last = states.root_start[tree.symbol[-1] : tree.symbol[-1] + 2]
        value = float(states.root[first:last] @ inner.row[inner.start[-2] :])
        log_Z[g] = np.log(abs(value)) + inner.scale[-1] if value else -np.inf
        sign[g] = np.sign(value)
    return _log_mean(log_Z, sign)


def _log_mean(log_Z: np.ndarray, sign: np.ndarray) -> float:
    """Logarithm of the mean of the numbers with these logarithms and signs; -inf if it is not
    positive.
    """
    # relative to the largest, as probabilities of long sentences are below the smallest float
    top = np.max(log_Z)
    mean = np.mean(sign * np.exp(log_Z - top)) if top > -np.inf else 0.0
    return float(top + np.log(mean)) if mean > 0 else -np.inf


def probable(model: TreeModel, candidates: Candidates, threshold: float) -> Forest:
    """The trees of a sentence whose parts have, by the plain grammar, at least this posterior
    probability.
    """
    return _with_leaves(
        chart_forest.forest(model.grammar, _scores(model, candidates), threshold)[0], candidates
    )


def _with_leaves(packed: Forest, candidates: Candidates) -> Forest:
    """The forest of a chart, whose leaves are numbers of candidates, with the numbers of leaves."""
    return packed._replace(
        leaf=np.where(packed.leaf >= 0, candidates.leaf[packed.leaf], -1).astype(np.int32)
    )


def _scores(model: TreeModel, candidates: Candidates) -> TreeScores:
    rule, root, leaf = model.plain
    return TreeScores(
        rule, root, candidates.indptr, model.symbol[candidates.leaf], leaf[candidates.leaf]
    )
