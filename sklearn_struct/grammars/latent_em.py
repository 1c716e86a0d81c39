"""Expectation maximisation for grammars whose symbols have states that trees do not show.

The model is that of Matsuzaki, Miyao & Tsujii, "Probabilistic CFG with latent annotations", ACL
2005. Expected counts of a symbol's states are moved towards their mean, much as Petrov et al. (ACL
2006) smooth theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.compiled.threads import N_PARTS, Pool
from sklearn_struct.containers.trees import Forest, Tensors, Treebank, split, tensors
from sklearn_struct.inference.trees.forest_inside_outside import (
    Vectors,
    add_moments,
    inside,
    outside,
    vectors,
)
from sklearn_struct.inference.trees.rule_counts import NEVER, divide, weigh

__all__ = ["Expected", "LatentEM"]


class Expected(NamedTuple):
    """Expected counts: ``rule`` and ``root`` as those of Tensors, and posteriors of states, a row a
    leaf of a tree.
    """

    rule: np.ndarray
    root: np.ndarray
    leaf: np.ndarray


class LatentEM:
    """The two steps, for one treebank.

    Parameters
    ----------
    treebank : Treebank
        Of examples with one tree, or with several, packed.
    leaf_sums : callable
        Takes rows of the leaves of all trees, in their order, and returns their sums for each
        number of a leaf, which may be smoothed.
    n_states : ndarray of shape (n_symbols,)
    shrinkage : float
        How far expected counts are moved towards their mean over states; from 0, not at all, to 1.
    pool : Pool
    """

    def __init__(
        self,
        treebank: Treebank,
        leaf_sums: Callable[[np.ndarray], np.ndarray],
        n_states: np.ndarray,
        shrinkage: float,
        pool: Pool,
    ) -> None:
        self.treebank = treebank
        self.leaf_sums = leaf_sums
        self.shrinkage = shrinkage
        self.pool = pool
        grammar, forest, leaf_symbol = treebank
        self.zeros = tensors(grammar, n_states, leaf_symbol)
        self.inner = vectors(forest, self.zeros.n_states)
        self.outer = np.zeros_like(self.inner.row)
        self.parts = split(forest, N_PARTS)
        self.items = np.cumsum([0, *(len(part.symbol) for part in self.parts)])
        # moments are added rule by rule, not tree by tree: a rule's table stays in the cache, and
        # threads need no copies of all tables
        self.order = np.argsort(forest.rule, kind="stable")
        self.parent = np.repeat(
            np.arange(len(forest.symbol), dtype=np.int32), np.diff(forest.indptr)
        )
        self.roots = _roots(forest)
        bounds = np.searchsorted(
            forest.rule[self.order], np.arange(len(grammar.parent) + 1)
        ).astype(np.int64)
        columns = (column[self.order] for column in (forest.left, forest.right, self.parent))
        self.edges = bounds, *columns
        work = np.concatenate(
            # parts of about equal work: a rule's is its edges times the size of its table
            [[0], np.cumsum((1 + np.diff(bounds)) * np.diff(self.zeros.rule_start))]
        )
        self.rules = list(
            pairwise(np.searchsorted(work, np.linspace(0, work[-1], N_PARTS + 1)).tolist())
        )
        of_symbols = np.ones(len(leaf_symbol)), (leaf_symbol, np.arange(len(leaf_symbol)))
        self.by_symbol = sp.csr_array(of_symbols, shape=(len(n_states), len(leaf_symbol)))

    def start(self, states: np.ndarray) -> Expected:
        """What to maximise first, given the distribution of states of each item, (n_items, most
        states).

        The states of different items are taken to be independent.
        """
        wide = np.diff(self.inner.start)[:, None]
        lane = np.arange(wide.max())
        given = np.zeros((len(states), len(lane)))
        # padded rows have more places than this has columns; what is beyond a symbol's states is
        # cleared below
        given[:, : states.shape[1]] = states[:, : len(lane)]
        # rows are padded to whole vectors, and padding has no probability
        given[lane >= self.zeros.n_states[self.treebank.forest.symbol][:, None]] = 0.0
        given /= given.sum(axis=1, keepdims=True)
        self.inner.row[:] = self.outer[:] = given[lane < wide]
        self.inner.scale[:] = 0.0
        # with rules that are all alike, counts are products of what is given
        ones = self.zeros._replace(rule=np.ones_like(self.zeros.rule))
        return self._counts(ones, self.inner.row)

    def random_start(self, rng: np.random.RandomState) -> Tensors:
        """Parameters at random: states that are alike, times noise that is as large, and one step
        of EM from there.

        Random states of items would not do. They average out in frequent rules, and EM takes long
        to tell states apart.
        """
        n_items = len(self.treebank.forest.symbol)
        most = int(self.zeros.n_states.max())
        even = self.maximise(self.start(np.ones((n_items, most))))
        # in the parameters, as noise that is drawn for nodes averages out in frequent rules, and EM
        # then rests there
        noise = {name: rng.exponential(size=len(getattr(even, name))) for name in ("rule", "leaf")}
        noisy = even._replace(rule=even.rule * noise["rule"], leaf=even.leaf * noise["leaf"])
        return self.maximise(self.expect(noisy)[0])

    def expect(self, model: Tensors) -> tuple[Expected, float]:
        """Expected counts given the trees, and the log-likelihood of these."""
        self.inner.row[:] = 0.0
        self.outer[:] = 0.0
        self.inner.scale[:] = -np.inf

        def work(part: int) -> float:
            items = slice(*self.items[part : part + 2])
            forest = self.parts[part]
            start = self.inner.start[items.start : items.stop + 1]
            rows = slice(start[0], start[-1])
            inner = Vectors(start - start[0], self.inner.row[rows], self.inner.scale[items])
            outer = inner._replace(row=self.outer[rows])
            log_Z, sign = np.empty((2, len(forest.offsets) - 1))
            inside(self.treebank.grammar, model, forest, inner)
            outside(
                self.treebank.grammar,
                model,
                forest,
                inner,
                outer,
                log_Z,
                sign,
                np.empty(len(forest.rule)),
            )
            return float(np.sum(log_Z))

        # in the order of the parts, so that bits do not depend on the threads
        value = sum(self.pool.map(work, len(self.parts)))
        return self._counts(model, self.inner.row * self.outer), value

    def _counts(self, model: Tensors, posterior: np.ndarray) -> Expected:
        """Expected counts from the vectors of items."""
        forest = self.treebank.forest
        start = self.inner.start
        scale = self.inner.scale
        # ratios of neighbours' scales, which are moderate however large the tree
        # an item that has become impossible has no outside number
        above = np.where(scale > -np.inf, scale, 0.0)[self.parent]
        weight = np.exp(scale[forest.left] + scale[forest.right] - above)[self.order]
        rule = np.zeros_like(model.rule)
        total = np.zeros((len(self.rules), len(model.root)))

        def work(part: int) -> None:
            edges = (*self.edges, weight)
            rules = self.rules[part]
            add_moments(model, self.treebank.grammar, edges, self.inner, self.outer, rules, rule)
            weigh(model, self.treebank.grammar, rules, self.shrinkage, rule, total[part])

        self.pool.map(work, len(self.rules))
        whole = total.sum(axis=0)
        self.pool.map(
            lambda part: divide(model, self.treebank.grammar, self.rules[part], whole, rule),
            len(self.rules),
        )
        lane = np.arange(np.diff(start).max())

        def rows(items: np.ndarray) -> np.ndarray:
            wide = np.diff(start)[items][:, None]
            return np.where(
                lane < wide,
                # behind a row anything that exists may be read, as it is replaced by 0
                posterior[np.minimum(start[items][:, None] + lane, len(posterior) - 1)],
                0.0,
            )

        roots = self.roots
        root = np.zeros((len(model.n_states), len(lane)))
        np.add.at(root, forest.symbol[roots], rows(roots))
        return Expected(
            rule,
            root[lane < np.diff(model.root_start)[:, None]],
            rows(np.flatnonzero(forest.leaf >= 0)),
        )

    def maximise(self, expected: Expected) -> Tensors:
        """The most probable parameters given expected counts."""
        symbol = self.treebank.leaf_symbol
        lane = np.arange(expected.leaf.shape[1])
        n_states = self.zeros.n_states[symbol][:, None]
        counts = self.leaf_sums(expected.leaf)
        mean = counts.sum(axis=1, keepdims=True) / n_states
        # towards the mean over states: rare words get much the same in all of them
        counts = np.where(lane < n_states, counts + self.shrinkage * (mean - counts), 0.0)
        counts[counts < NEVER * mean] = 0.0  # relative, as all of an unknown word may be as little
        total = (self.by_symbol @ counts)[symbol]
        leaf = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
        wide = np.diff(self.zeros.leaf_start)[:, None]
        return self.zeros._replace(
            rule=expected.rule, leaf=leaf[lane < wide], root=expected.root / expected.root.sum()
        )


def _roots(forest: Forest) -> np.ndarray:
    """The items over all tokens of their examples, of which a packed example may have several."""
    last = np.repeat(forest.offsets[1:] - 1, np.diff(forest.offsets))
    return np.flatnonzero((forest.start == forest.start[last]) & (forest.stop == forest.stop[last]))
