"""Trees of which some labels or brackets are not known.

A tree with a label that is None is partly bracketed: its nodes are in the tree, under any label
where theirs is None, and the tree may have others between them. None in the place of a tree is one
without brackets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.encoding.trees.binarization import ROOT, Symbol, strip
from sklearn_struct.encoding.trees.brackets import UNKNOWN, Tree, as_tree, check_list
from sklearn_struct.exceptions import UnknownLabelError

__all__ = ["Bracket", "brackets", "is_whole", "masks", "read"]


class Bracket(NamedTuple):
    """What is known over some tokens of a sentence: labels, the topmost first, and of one token its
    tag, or None.
    """

    start: int
    stop: int
    labels: tuple[str, ...]
    tag: str | None


def read(y: Any, name: str = "y") -> list[Tree | None]:
    """Stripped trees, in which labels that are None have the name UNKNOWN; None as it is."""
    check_list(y, name)
    places = (f"{name}[{i}]" for i in range(len(y)))
    return [
        None if tree is None else strip(as_tree(tree, place, unlabelled=True), place)
        for tree, place in zip(y, places)
    ]


def is_whole(tree: Tree | None) -> bool:
    """Whether all labels and brackets are known."""
    return tree is not None and all(
        label != UNKNOWN for label, n in zip(tree.labels, tree.arity) if n
    )


def brackets(tree: Tree | None) -> list[Bracket]:
    """What a stripped tree says of its nodes; nothing where it says nothing."""
    if tree is None:
        return []
    sizes: list[int] = []  # in words, of the nodes, the last one first
    ahead: list[int] = []
    for n in reversed(tree.arity):
        below = [ahead.pop() for _ in range(n)]
        ahead.append(sum(below) if n else 1)
        sizes.append(ahead[-1])
    labels: dict[tuple[int, int], list[str]] = {}
    word = 0
    for label, n, size in zip(tree.labels, tree.arity, reversed(sizes)):
        if n:
            labels.setdefault((word, word + size), []).append(label)
        else:
            word += 1
    made = []
    for (start, stop), given in labels.items():
        names = given[1:] if given[0] == ROOT else given
        # the node right above a word is its tag
        tag = names[-1] if stop - start == 1 and names else UNKNOWN
        known = [label for label in names[: -1 if stop - start == 1 else None] if label != UNKNOWN]
        # of a token without any label nothing is said, and the whole sentence is a node anyway
        if known or tag != UNKNOWN or (names and stop - start > 1):
            made.append(Bracket(start, stop, tuple(known), None if tag == UNKNOWN else tag))
    return made


def masks(
    given: Sequence[Bracket], symbols: Sequence[Symbol], place: str
) -> list[tuple[int, int, np.ndarray]]:
    """Of each bracket its tokens, and which symbols of binary trees have its labels.

    Raises
    ------
    UnknownLabelError
        If no symbol has a label.
    """
    known = {label for symbol in symbols for label in symbol.chain}
    for bracket in given:
        for label in (*bracket.labels, *((bracket.tag,) if bracket.tag is not None else ())):
            if label not in known:
                raise UnknownLabelError(f"{place}: the label {label!r} is in no whole tree of y")
    return [
        (
            bracket.start,
            bracket.stop,
            np.array([_suits(bracket, symbol) for symbol in symbols], dtype=bool),
        )
        for bracket in given
    ]


def _suits(bracket: Bracket, symbol: Symbol) -> bool:
    """Whether a node with this symbol has the labels, in their order, maybe among others."""
    if symbol.siblings is not None:
        return False  # no node of the tree itself
    chain = symbol.chain
    if bracket.stop - bracket.start == 1:
        if bracket.tag not in (None, chain[-1]):
            return False
        chain = chain[:-1]
    rest = iter(chain)
    return all(label in rest for label in bracket.labels)
