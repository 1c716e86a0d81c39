"""Features of trees, counts of connected pieces of two productions: how often seen and expected,
what they score.

A node is seen as a place: its production, and what stands above it. A template says what of both
makes the feature; its name has what is above, if anything, before what is below:

- above: ``parent`` (its symbol), ``sibling`` (the symbol beside the node), or ``rule`` (the
  production), each with the side on which the node is; a root has none of them, and that is a
  value, too;
- below: ``rule`` or ``word`` (the node's production, of the one kind or the other), or ``symbol``
  (its symbol).

So ``rule-rule`` is a rule below a rule, ``rule-word`` a word below a rule, ``parent-symbol`` a
symbol below another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.trees import Forest
from sklearn_struct.grammars.parsing import TreeModel
from sklearn_struct.grammars.sums_over_trees import TreeSums, below, production_symbols

__all__ = [
    "ROOT",
    "TEMPLATES",
    "Fragments",
    "Places",
    "counted",
    "distinct",
    "exist",
    "expected",
    "observed",
    "parts",
    "places",
    "scores",
]

TEMPLATES = tuple(
    f"{above}{kind}"
    for above in ("", "parent-", "sibling-", "rule-")
    for kind in ("rule", "word", "symbol")
)
ROOT = 2


class Places(NamedTuple):
    """Nodes as features see them: the rule above, -1 for none; the side, 0 left, 1 right, 2 at a
    root; the production.

    Productions are numbered as in `sums_over_trees`.
    """

    above: np.ndarray
    side: np.ndarray
    production: np.ndarray


class Fragments(NamedTuple):
    """Which features there are: the templates, and the codes of each one's features, sorted."""

    templates: tuple[str, ...]
    codes: tuple[np.ndarray, ...]

    @property
    def size(self) -> int:
        return sum(map(len, self.codes))


def places(trees: Forest, n_rules: int) -> Places:
    """Those of all items of a forest in which each has one edge or is a leaf."""
    parent = np.repeat(np.arange(len(trees.symbol)), np.diff(trees.indptr))
    above = np.full(len(trees.symbol), -1)
    # nodes that are nobody's child stay roots
    side = np.full(len(trees.symbol), ROOT)
    production = n_rules + trees.leaf.astype(np.int64)
    production[parent] = above[trees.left] = above[trees.right] = trees.rule
    side[trees.left] = 0
    side[trees.right] = 1
    return Places(above, side, production)


def distinct(seen: Places) -> tuple[Places, np.ndarray]:
    """Different places, and how often each is among these."""
    table, count = np.unique(np.stack(seen, axis=1), axis=0, return_counts=True)
    return Places(*table.T), count


def observed(
    templates: Sequence[str], model: TreeModel, seen: Places, min_frequency: int = 1
) -> Fragments:
    """The features that are found `min_frequency` times at least."""
    frequent = []
    for template in templates:
        codes = _codes(template, model, seen)
        known, count = np.unique(codes[codes >= 0], return_counts=True)
        # sorted, as `_find` looks them up by bisection
        frequent.append(known[count >= min_frequency])
    return Fragments(tuple(templates), tuple(frequent))


def counted(
    fragments: Fragments, model: TreeModel, seen: Places, owner: np.ndarray, n: int
) -> sp.csr_array:
    """How often each of `n` owners of places has each feature (n, size)."""
    rows = []
    columns = []
    for column in _columns(fragments, model, seen):
        rows.append(owner[column >= 0])
        columns.append(column[column >= 0])
    place = np.concatenate(rows), np.concatenate(columns)
    return sp.csr_array(sp.coo_array((np.ones(len(place[0])), place), shape=(n, fragments.size)))


def scores(fragments: Fragments, model: TreeModel, seen: Places, w: np.ndarray) -> np.ndarray:
    """Of each place the sum of its features' weights."""
    # features without a weight have the column -1, the last one
    w = np.append(w, 0.0)
    total = np.zeros(len(seen.side))
    for column in _columns(fragments, model, seen):
        total += w[column]
    return total


def expected(fragments: Fragments, model: TreeModel, sums: TreeSums) -> np.ndarray:
    """How often each feature is expected in a tree of the grammar.

    That is o of the symbol above, times the upper rule, times i of the sibling, times the lower
    production, times i of the symbols below it; of roots, their probability instead of the first
    three.
    """
    rules = model.grammar
    S = len(model.plain.root)
    rule = sums.outside[rules.parent] * np.exp(model.plain.rule)
    number = np.arange(len(rules.parent))
    weight = np.concatenate(
        [rule * sums.inside[rules.right], rule * sums.inside[rules.left], np.exp(model.plain.root)]
    )
    child = np.concatenate([rules.left, rules.right, np.arange(S)])
    above = np.concatenate([number, number, np.full(S, -1)])
    upper = Places(above, np.repeat([0, 1, ROOT], [len(number), len(number), S]), np.empty(0))
    kinds = {"symbol": (np.arange(S), sums.inside)}
    weights = []
    for template, codes in zip(*fragments):
        context, what = np.divmod(codes, _width(model))
        symbol, lower = kinds.get(_kind(template), (production_symbols(model), below(model, sums)))
        known, place = np.unique(_above(template, model, upper) * S + child, return_inverse=True)
        # what is nowhere has the place -1, and is expected 0 times
        total = np.append(np.bincount(place, weight), 0.0)
        # a template is what it sees above times what it sees below, so no table of all pairs of
        # productions is made
        weights.append(total[_find(known, context * S + symbol[what])] * lower[what])
    return np.concatenate(weights)


def parts(
    fragments: Fragments, model: TreeModel
) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """For one template after the other: it, and of each feature the symbol or rule above, the side,
    and what is below.

    What is above is not defined for a root, nor it and the side where a template sees nothing of
    them.
    """
    for template, codes in zip(*fragments):
        context, what = np.divmod(codes, _width(model))
        above, side = np.divmod(context, ROOT + 1)
        yield template, above - template.startswith("rule-"), side, what


def exist(fragments: Fragments, model: TreeModel) -> bool:
    """Whether all features are of symbols, rules and leaves that the grammar has."""
    n_rules, n_leaves, S = (
        len(table) for table in (model.plain.rule, model.plain.leaf, model.plain.root)
    )
    first = {"rule": 0, "word": n_rules, "symbol": 0}
    last = {"rule": n_rules, "word": n_rules + n_leaves, "symbol": S}
    for template, codes in zip(*fragments):
        context, what = np.divmod(codes, _width(model))
        # codes come from a file, and kernels would trust them
        above, side = np.divmod(context, ROOT + 1)
        upper, _, kind = template.rpartition("-")
        right = (codes >= 0) & (first[kind] <= what) & (what < last[kind])
        if upper:
            n_above, of_root = (n_rules + 1, 0) if upper == "rule" else (S + 1, S)
            right &= (above < n_above) & ((side == ROOT) == (above == of_root))
        else:
            right &= context == 0
        if not np.all(right):
            return False
    return True


def _kind(template: str) -> str:
    return template.rpartition("-")[2]


def _width(model: TreeModel) -> int:
    """More than the codes of what may be below: productions or symbols."""
    return len(model.plain.rule) + len(model.plain.leaf) + len(model.plain.root)


def _codes(template: str, model: TreeModel, seen: Places) -> np.ndarray:
    """Of each place the code of its feature, -1 for none."""
    kind = _kind(template)
    is_rule = seen.production < len(model.plain.rule)
    what = production_symbols(model)[seen.production] if kind == "symbol" else seen.production
    used = (
        is_rule if kind == "rule" else ~is_rule if kind == "word" else np.ones(len(is_rule), bool)
    )
    return np.where(used, _above(template, model, seen) * _width(model) + what, -1)


def _above(template: str, model: TreeModel, seen: Places) -> np.ndarray:
    """Codes of what a template sees above each place."""
    codes: np.ndarray
    kind = template.rpartition("-")[0]
    rules = model.grammar
    if kind == "":
        return np.zeros(len(seen.above), np.int64)
    if kind == "rule":
        codes = (seen.above + 1) * (ROOT + 1) + seen.side
        return codes
    sides = (rules.parent, rules.parent) if kind == "parent" else (rules.right, rules.left)
    # the last, -1, is of roots
    left, right = (np.append(side, len(model.plain.root))[seen.above] for side in sides)
    codes = np.where(seen.side == 0, left, right) * (ROOT + 1) + seen.side
    return codes


def _columns(fragments: Fragments, model: TreeModel, seen: Places) -> Iterator[np.ndarray]:
    """For one template after the other: the column of each place's feature, -1 for none."""
    first = 0
    for template, codes in zip(*fragments):
        place = _find(codes, _codes(template, model, seen))
        yield np.where(place >= 0, first + place, -1)
        first += len(codes)


def _find(known: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Where codes are among the known ones, which are sorted; -1 for nowhere."""
    place = np.searchsorted(known, codes)
    # -2 is no code, -1 is one of what is not there
    return np.where(np.append(known, -2)[place] == codes, place, -1)
