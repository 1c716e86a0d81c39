"""Trees of a treebank -> binary trees for grammars, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.containers.trees import Trees
from sklearn_struct.encoding.trees.brackets import Tree, as_trees, escaped
from sklearn_struct.exceptions import EmptyDataError, LengthMismatchError

__all__ = [
    "ROOT",
    "TRACE",
    "Symbol",
    "bare",
    "binarize",
    "check_words",
    "encode",
    "read",
    "restore",
    "strip",
]

ROOT = "ROOT"
TRACE = "-NONE-"
# what the Penn Treebank, TIGER, and the parsers of Berkeley, Collins and Charniak call the root
_ROOTS = {"", ROOT, "TOP", "S1", "VROOT"}
# from the second character on, so that nothing is left without a label
_FUNCTION = re.compile(r"(?<=.)[-=|].*", re.DOTALL)


class Symbol(NamedTuple):
    """What the nodes of a binary tree are.

    ``chain`` has the label of a node, and those of only children below it, the topmost first.
    ``tag`` says that the node stands over one word. If ``siblings`` is not None, the node is not in
    the original tree: it holds the children of ``chain`` from the second or a later one on, and
    ``siblings`` are the labels of the last ones before these, as many as the horizontal order.
    ``above`` has the labels of ancestors, the nearest first, one less than the vertical order.
    """

    chain: tuple[str, ...]
    tag: bool = False
    siblings: tuple[str, ...] | None = None
    above: tuple[str, ...] = ()

    def __str__(self) -> str:
        name = "+".join(self.chain) + "".join(f"^{label}" for label in self.above)
        if self.siblings is None:
            return name
        return f"@{name}|<{'-'.join(self.siblings)}>" if self.siblings else f"@{name}"


# ---- treebank -> plain trees


def read(y: Any, name: str = "y") -> list[Tree]:
    """Trees in any form, stripped of what grammars do not use: see `strip`."""
    return [strip(tree, f"{name}[{i}]") for i, tree in enumerate(as_trees(y, name))]


# labels are few, and nodes many
@lru_cache(10_000)
def bare(label: str) -> str:
    """The label without function tags and indices: NP for ``NP-SBJ-1`` or ``NP=2``.

    Labels of roots become ROOT. Labels that begin with a hyphen, as ``-LRB-``, stay as they are.
    """
    return ROOT if label in _ROOTS else label if label[0] == "-" else _FUNCTION.sub("", label)


def strip(tree: Tree, place: str = "the tree") -> Tree:
    """The tree without traces, nodes without words, function tags and repeated labels.

    An only child that has its parent's label repeats it. The root of the result is ROOT. Each word
    must be the only child of its node.
    """
    labels: list[str] = []  # backwards: children come before their parent, its first child last
    arity: list[int] = []
    # what became of subtrees without a parent yet: 0 gone, 1 a node, 2 a word
    subtrees: list[int] = []
    # backwards, children come before their parent, so no recursion is needed
    for label, n in zip(reversed(tree.labels), reversed(tree.arity)):
        if n == 0:
            labels.append(label)
            arity.append(0)
            subtrees.append(2)
            continue
        children = subtrees[-n:]
        del subtrees[-n:]
        if n > 1 and 2 in children:
            raise ValueError(f"{place}: a word below {label!r} is not the only child of its node")
        n_left = n - children.count(0)
        # a word that nobody said
        if label == TRACE and children == [2]:
            del labels[-1], arity[-1]
            n_left = 0
        elif n_left and not (n_left == 1 and arity[-1] and labels[-1] == bare(label)):
            labels.append(bare(label))
            arity.append(n_left)
        subtrees.append(min(n_left, 1))
    if not labels:
        raise EmptyDataError(f"{place} has no words")
    # each tree has a ROOT, so that a grammar needs no unary rules at the top
    if labels[-1] != ROOT:
        labels.append(ROOT)
        arity.append(1)
    return Tree(tuple(reversed(labels)), tuple(reversed(arity)))


def check_words(
    left: Sequence[Sequence[str]], right: Sequence[Sequence[str]], names: tuple[str, str]
) -> None:
    """Raise LengthMismatchError unless both sides have the same words.

    A bracket and its code, ``(`` and ``-LRB-``, are the same.
    """
    if len(left) != len(right):
        raise LengthMismatchError(
            f"{names[0]} has {len(left)} sentences but {names[1]} has {len(right)}"
        )
    for i, sides in enumerate(zip(left, right)):
        here, there = (f"{name}[{i}]" for name in names)
        if len(sides[0]) != len(sides[1]):
            raise LengthMismatchError(
                f"{here} has {len(sides[0])} words but {there} has {len(sides[1])}"
            )
        for t, (word, other) in enumerate(zip(*sides)):
            if word != other and escaped(word) != escaped(other):
                raise LengthMismatchError(
                    f"{here}, word {t} is {word!r} but in {there} it is {other!r}"
                )


# ---- plain trees -> binary trees


def encode(
    trees: Iterable[Tree], *, h: int = 0, v: int = 1, symbols: Sequence[Symbol] | None = None
) -> tuple[Trees, list[Symbol]]:
    """Stripped trees as binary ones, and the symbols that their codes stand for.

    `h` and `v` are the horizontal and the vertical order. Without `symbols` these are learned, tags
    first. With `symbols`, a node whose symbol is not among them gets -1.
    """
    made: dict[tuple[Any, ...], Symbol] = {}
    binary = [binarize(tree, h, v, made) for tree in trees]
    if symbols is None:
        seen = {label for tree in binary for label, n in zip(tree.labels, tree.arity) if n}
        # tags have the first codes, then phrases, then what is left of their children
        symbols = sorted(
            seen,
            key=lambda s: (not s.tag, s.siblings is not None, s.chain, s.siblings or (), s.above),
        )
    return _numbered(binary, {symbol: code for code, symbol in enumerate(symbols)}), list(symbols)


def binarize(
    tree: Tree, h: int = 0, v: int = 1, made: dict[tuple[Any, ...], Symbol] | None = None
) -> Tree:
    """The stripped tree as a binary one, with symbols for labels, and each word below a tag.

    A chain of only children becomes one node. Of more than two children, the first stays, and the
    others go below one more node, and so on. A ROOT with one child is left out. `h`, the horizontal
    order, is how many siblings before it such a node remembers. `v`, the vertical order, is how
    many labels a phrase remembers, its own and those of ancestors. ``made`` keeps the symbols, so
    that many trees share them.
    """
    # symbols are compared and hashed often: equal ones are one object
    made = {} if made is None else made
    tree = _collapsed(tree)
    # a ROOT that was left out is still an ancestor of what stands below it
    root = (ROOT,) if tree.labels[0] != (ROOT,) else ()
    labels: list[Any] = []
    arity: list[int] = []
    # open nodes: their number of children, and those that have begun
    above: list[tuple[Symbol, int, list[str]]] = []
    for label, n in zip(tree.labels, tree.arity):
        if above:
            parent, n_siblings, begun = above[-1]
            if 0 < len(begun) < n_siblings - 1:
                siblings = tuple(begun[max(len(begun) - h, 0) :])
                labels.append(_symbol(made, parent.chain, False, siblings, parent.above))
                arity.append(2)
            begun.append(label[0])
        if n:
            ancestors = (*reversed(parent.chain), *parent.above) if above else root
            label = _symbol(made, label, n == 1, None, () if n == 1 else ancestors[: v - 1])
            above.append((label, n, []))
        labels.append(label)
        arity.append(min(n, 2))
        while n == 0 and above and len(above[-1][2]) == above[-1][1]:
            above.pop()
    return Tree(tuple(labels), tuple(arity))


def _symbol(made: dict[tuple[Any, ...], Symbol], *parts: Any) -> Symbol:
    """The symbol of these parts, the same object each time."""
    symbol = made.get(parts)
    if symbol is None:
        symbol = made[parts] = Symbol(*parts)
    return symbol


def _collapsed(tree: Tree) -> Tree:
    """The tree with one node, labelled by a tuple, for each chain of only children.

    A ROOT of one child is left out.
    """
    labels: list[Any] = []
    arity: list[int] = []
    for label, n in zip(reversed(tree.labels), reversed(tree.arity)):
        if n == 1 and arity[-1]:
            labels[-1] = (label, *labels[-1])
        else:
            labels.append((label,) if n else label)
            arity.append(n)
    # backwards the root comes last, and if it has an only child, its chain begins with ROOT
    if len(labels[-1]) > 1:
        labels[-1] = labels[-1][1:]
    return Tree(tuple(reversed(labels)), tuple(reversed(arity)))


def _numbered(binary: list[Tree], codes: dict[Symbol, int]) -> Trees:
    """Binary trees as arrays, children before their parents."""
    nodes: list[tuple[int, int, int, int, int]] = []  # symbol, left, right, start, stop
    offsets = [0]
    for tree in binary:
        # codes of open nodes, and their left children, -1 until these are complete
        above: list[tuple[int, int]] = []
        word = 0
        for label, n in zip(tree.labels, tree.arity):
            if n == 2:
                above.append((codes.get(label, -1), -1))
            elif n == 1:
                nodes.append((codes.get(label, -1), -1, -1, word, word + 1))
                word += 1
                while above and above[-1][1] >= 0:
                    code, first = above.pop()
                    nodes.append((code, first, len(nodes) - 1, nodes[first][3], word))
                if above:
                    above[-1] = above[-1][0], len(nodes) - 1
        offsets.append(len(nodes))
    table = np.array(nodes, dtype=np.int32).reshape(-1, 5)
    symbol, left, right, start, stop = (np.ascontiguousarray(column) for column in table.T)
    inner = np.flatnonzero(left >= 0)
    parent = np.full(len(nodes), -1, dtype=np.int32)
    parent[left[inner]] = parent[right[inner]] = inner
    return Trees(np.array(offsets, dtype=np.int64), symbol, left, right, parent, start, stop)


# ---- and back


def restore(trees: Trees, symbols: Sequence[Symbol], X: Iterable[Sequence[str]]) -> list[Tree]:
    """The trees over the sentences of X that `encode` made binary; their root is ROOT again."""
    columns = [column.tolist() for column in (trees.symbol, trees.left, trees.right, trees.start)]
    nodes = list(zip(*columns))
    return [
        _restored(nodes, root - 1, symbols, sentence)
        for root, sentence in zip(trees.offsets[1:].tolist(), X)
    ]


def _restored(
    nodes: list[Any], root: int, symbols: Sequence[Symbol], sentence: Sequence[str]
) -> Tree:
    labels: list[str] = []
    arity: list[int] = []
    # nodes to come, each with the place in `labels` of its parent; a stack, as trees may be deep
    ahead = [(root, -1)]
    while ahead:
        node, parent = ahead.pop()
        code, left, right, start = nodes[node]
        symbol = symbols[code]
        if symbol.siblings is not None and parent >= 0 and left >= 0:
            arity[parent] += 1
        else:
            labels += symbol.chain
            arity += [1] * len(symbol.chain)
            parent = len(labels) - 1
            arity[parent] = 1 if left < 0 else 2
        if left < 0:
            labels.append(sentence[start])
            arity.append(0)
        else:
            ahead += (right, parent), (left, parent)
    if labels[0] != ROOT:
        labels = [ROOT, *labels]
        arity = [1, *arity]
    return Tree(tuple(labels), tuple(arity))
