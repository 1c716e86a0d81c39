"""Sentences whose trees are not, or not wholly, known: all trees that they may have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct._warning import warn
from sklearn_struct.containers.trees import Forest
from sklearn_struct.containers.typing import Sequences
from sklearn_struct.encoding.trees import binarization, partial_trees
from sklearn_struct.encoding.trees.binarization import Symbol
from sklearn_struct.encoding.trees.brackets import words
from sklearn_struct.encoding.trees.partial_trees import Bracket
from sklearn_struct.exceptions import EmptyDataError
from sklearn_struct.grammars.parsing import Candidates, TreeModel, probable
from sklearn_struct.grammars.partial_forests import with_brackets

__all__ = ["Partial", "packed", "parted", "with_leaves"]


class Partial(NamedTuple):
    """A sentence, its place in X, and what is known of its tree."""

    place: int
    words: list[str]
    brackets: list[Bracket]


def parted(X: list[list[str]], y: Sequences) -> tuple[list[list[str]], Sequences, list[Partial]]:
    """Sentences with whole trees, these trees, and all other sentences.

    Where all trees are whole, everything is as it was given.
    """
    trees = partial_trees.read(y)
    whole = [i for i, tree in enumerate(trees) if partial_trees.is_whole(tree)]
    if len(whole) == len(trees):
        return X, y, []
    there = [[] if tree is None else words(tree) for tree in trees]
    for i, tree in enumerate(trees[: len(X)]):
        # of no tree nothing can be wrong
        there[i] = X[i] if tree is None else there[i]
    binarization.check_words(X, there, ("X", "y"))
    if not whole:
        raise EmptyDataError("y has no whole tree, off which the grammar could be read")
    rest = [
        Partial(i, X[i], partial_trees.brackets(trees[i]))
        for i in sorted({*range(len(X))}.difference(whole))
        if X[i]
    ]
    return [X[i] for i in whole], [trees[i] for i in whole], rest


def packed(
    rest: Sequence[Partial],
    symbols: Sequence[Symbol],
    model: TreeModel,
    candidates: Callable[[list[str], Any, bool], Candidates],
    pruning: float,
) -> list[Forest]:
    """The trees that each sentence may have, packed; of what is known nothing is missing.

    First those that are probable under the grammar without states; where none of these has the
    known brackets, all trees, and then those where words have tags of unknown words, too. Sentences
    without any are left out, and a warning says so.
    """
    packs = []
    without = []
    for one in rest:
        known = partial_trees.masks(one.brackets, symbols, f"y[{one.place}]")
        for relaxed, threshold in ((False, pruning), (False, 0.0), (True, 0.0)):
            possible = probable(model, candidates(one.words, None, relaxed), threshold)
            trees = with_brackets(possible, known)
            if len(trees.symbol):
                packs.append(trees)
                break
        else:
            without.append(one.place)
    if without:
        warn(
            f"{len(without)} of {len(rest)} sentences without a whole tree have none with their "
            f"brackets under the grammar, and are left out; first X[{without[0]}]"
        )
    return packs


def with_leaves(
    sums: Callable[[np.ndarray], np.ndarray], n_tokens: int, n_leaves: int, forests: list[Forest]
) -> Callable[[np.ndarray], np.ndarray]:
    """Sums over leaves of whole trees, which are `n_tokens`, and then of packed ones.

    What a token of these is taken for counts for that alone, as often as it is probable.
    """
    leaf = np.concatenate([forest.leaf[forest.leaf >= 0] for forest in forests])
    of_items = np.ones(len(leaf)), (leaf, np.arange(len(leaf)))
    added = sp.csr_array(of_items, shape=(n_leaves, len(leaf)))

    def of_both(rows: np.ndarray) -> np.ndarray:
        total: np.ndarray = sums(rows[:n_tokens]) + added @ rows[n_tokens:]
        return total

    return of_both
