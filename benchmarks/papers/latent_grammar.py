"""Grammars whose symbols have states, with known probabilities; their trees; and how well estimates
fit them.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.trees import Forest, Tensors, Treebank, grammar, tensors
from sklearn_struct.grammars.node_features import Nodes, at, joined
from sklearn_struct.grammars.tree_sampling import draw
from sklearn_struct.inference.trees.forest_inside_outside import inside, outside, vectors

RULES = [
    (0, 1, 0),
    (1, 2, 0),
    (2, 1, 0),
    (1, 3, 1),
    (3, 4, 1),
    (4, 3, 1),
    (2, 4, 2),
    (3, 1, 2),
    (4, 3, 2),
]
LOOPS = {(0, 1, 0), (1, 3, 1), (2, 4, 2), (3, 1, 2)}  # rules that lead back to their parent
N_SYMBOLS = 5
TAGS = (3, 4)
N_WORDS = 6
MAX_LENGTH = 400


class LatentGrammar:
    """Random probabilities: of rules, of the states of children given that of their parent, and of
    words given tags.

    Rules have a left child, a right child and a parent. Loops are made rarer, so that trees stay
    small.
    """

    def __init__(self, seed: int, n_states: int = 2) -> None:
        rng = np.random.RandomState(seed)
        self.rules = grammar(*np.array(sorted(RULES)).T, N_SYMBOLS)
        self.leaf_symbol = np.repeat(TAGS, N_WORDS)
        self.n_states = np.full(N_SYMBOLS, n_states)
        self.tensors = tensors(self.rules, self.n_states, self.leaf_symbol)
        loops = np.array([rule in LOOPS for rule in sorted(RULES)])
        for a in range(N_SYMBOLS - len(TAGS)):
            own = np.flatnonzero(self.rules.parent == a)
            for i in range(n_states):
                share = rng.dirichlet(np.full(len(own), 0.5)) * np.where(loops[own], 0.3, 1.0)
                for r, p in zip(own, share / share.sum(), strict=True):
                    states = np.outer(*rng.dirichlet(np.full(n_states, 0.2), 2))
                    rows = self.tensors.rule[slice(*self.tensors.rule_start[r : r + 2])].reshape(
                        n_states**2, -1
                    )
                    rows[:, i] = p * states.ravel()
        for tag in TAGS:
            own = np.flatnonzero(self.leaf_symbol == tag)
            for i in range(n_states):
                self.tensors.leaf[self.tensors.leaf_start[own] + i] = rng.dirichlet(
                    np.full(N_WORDS, 0.3)
                )
        self.tensors.root[:n_states] = rng.dirichlet(np.ones(n_states))

    def trees(self, n: int, seed: int) -> Forest:
        rng = np.random.RandomState(seed)
        return draw(self.rules, self.tensors, self.leaf_symbol, n, rng, MAX_LENGTH)

    def treebank(self, forest: Forest) -> Treebank:
        return Treebank(self.rules, forest, self.leaf_symbol)

    def probabilities(self, forest: Forest, tensors: Tensors) -> np.ndarray:
        inner = vectors(forest, tensors.n_states)
        (log_Z, sign) = np.empty((2, len(forest.offsets) - 1))
        outer = inner._replace(row=np.zeros_like(inner.row))
        inside(self.rules, tensors, forest, inner)
        outside(self.rules, tensors, forest, inner, outer, log_Z, sign, np.empty(len(forest.rule)))
        return sign * np.exp(log_Z)

    def error(self, estimated: Tensors, test: Forest) -> float:
        """The mean of |p / p0 - 1| over trees."""
        return float(
            np.mean(
                np.abs(
                    self.probabilities(test, estimated) / self.probabilities(test, self.tensors) - 1
                )
            )
        )


def leaf_counts(forest: Forest, n_leaves: int) -> sp.csr_array:
    """A matrix that sums rows of tokens for each leaf."""
    leaf = forest.leaf[forest.leaf >= 0]
    return sp.csr_array(
        (np.ones(len(leaf)), (leaf, np.arange(len(leaf)))), shape=(n_leaves, len(leaf))
    )


# ---- what is seen of nodes: beside rules, all words that are near


def anything(nodes: Nodes) -> np.ndarray:
    """The same everywhere."""
    return np.zeros_like(nodes.symbol)


def left_word(nodes: Nodes) -> np.ndarray:
    """The rule, and the word that is the left child."""
    return joined(nodes.rule, at(nodes.leaf, nodes.left))


def right_word(nodes: Nodes) -> np.ndarray:
    return joined(nodes.rule, at(nodes.leaf, nodes.right))


def sibling_word(nodes: Nodes) -> np.ndarray:
    """The rule above, and the word that is the other child."""
    return joined(at(nodes.rule, nodes.parent), at(nodes.leaf, nodes.sibling))


def sibling_rule(nodes: Nodes) -> np.ndarray:
    return joined(at(nodes.rule, nodes.parent), at(nodes.rule, nodes.sibling))
