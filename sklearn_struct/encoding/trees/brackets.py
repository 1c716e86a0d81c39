"""Trees as people write them, ``(S (NP I) (VP sleep))``, and as the package keeps them.

Nothing here calls itself, so no tree is too deep.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeGuard

from sklearn_struct.encoding.sequences import has_items
from sklearn_struct.exceptions import EmptyDataError, InputTypeError

__all__ = [
    "UNKNOWN",
    "NltkTree",
    "Tree",
    "as_tree",
    "as_trees",
    "check_list",
    "escaped",
    "format_tree",
    "parse_tree",
    "parse_trees",
    "tagged_words",
    "to_nltk",
    "words",
]

_TOKEN = re.compile(r"\(\s*[^\s()]*|\)|[^\s()]+")
UNKNOWN = "None"  # what nltk writes for a label that is None
_UNWRITABLE = re.compile(r"[\s()]")


class Tree(NamedTuple):
    """A tree in pre-order: the labels of its nodes and words, and the number of children of each.

    A word has no children.
    """

    labels: tuple[Any, ...]
    arity: tuple[int, ...]


class NltkTree(Protocol):
    """A tree of nltk: a list of its children, with a label."""

    def label(self) -> str:
        """What the node is called."""

    def __len__(self) -> int:
        """How many children it has."""

    def __reversed__(self) -> Iterator[NltkTree | str]:
        """Its children, the last one first."""


def words(tree: Tree) -> list[str]:
    """The words, from left to right."""
    return [label for label, n in zip(tree.labels, tree.arity) if n == 0]


def tagged_words(tree: Tree) -> list[tuple[str, str]]:
    """The words, each with the label of a node that has it as its only child, or ""."""
    # what comes before a word in pre-order is its parent, if it is the only child
    above = zip(("", *tree.labels), (0, *tree.arity))
    return [
        (label, tag if siblings == 1 else "")
        for label, n, (tag, siblings) in zip(tree.labels, tree.arity, above)
        if n == 0
    ]


def escaped(word: str) -> str:
    """The word as bracketed trees write it."""
    # as the Penn Treebank writes them
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


# ---- text


def parse_trees(
    text: str, place: Callable[[int, int, int], str]
) -> Iterator[tuple[Tree, int, int]]:
    """The trees of a text, and where each starts and stops.

    ``place(number, start, at)`` says in errors where a character is: the number of its tree, that
    tree's first character and itself.
    """
    labels: list[str] = []
    arity: list[int] = []
    above: list[int] = []  # the nodes that are open
    start = 0
    number = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        at = match.start()
        if not above:
            if token[0] != "(":
                what = (
                    "closes a bracket that is not open"
                    if token == ")"
                    else "stands outside of brackets"
                )
                raise ValueError(f"{place(number, at, at)}: {token!r} {what}")
            start = at
        if token == ")":
            node = above.pop()
            if not arity[node]:
                what = (
                    f"{labels[node]!r} has nothing below it"
                    if labels[node]
                    else "the tree is empty"
                )
                raise EmptyDataError(f"{place(number, start, at)}: {what}")
            if not above:
                yield Tree(tuple(labels), tuple(arity)), start, at + 1
                labels = []
                arity = []
                number = number + 1
            continue
        if above:
            arity[above[-1]] += 1
        if token[0] == "(":
            token = token[1:].lstrip()
            if not token and above:
                raise ValueError(f"{place(number, start, at)}: a bracket without a label")
            above.append(len(labels))
        labels.append(token)
        arity.append(0)
    if above:
        raise ValueError(
            f"{place(number, start, len(text))}: the text ends, but brackets are open: {len(above)}"
        )


def parse_tree(text: str, place: str) -> Tree:
    """The one tree that the text holds; `place` names the text in errors."""
    trees = list(parse_trees(text, lambda number, start, at: f"{place}, character {at}"))
    if not trees:
        raise EmptyDataError(f"{place} is a string without a tree")
    if len(trees) > 1:
        raise ValueError(f"{place}, character {trees[1][1]}: a second tree, expected one")
    return trees[0][0]


def format_tree(tree: Tree, place: str = "the tree") -> str:
    """The tree in brackets, on one line; brackets in words become ``-LRB-`` and ``-RRB-``."""
    parts: list[str] = []
    missing: list[int] = []  # of each open node, how many children are still to come
    for label, n in zip(tree.labels, tree.arity):
        name = str(label) if n else escaped(label)
        # the outermost bracket alone may have no label, as in the Penn Treebank
        if _UNWRITABLE.search(name) or (not name and parts):
            raise ValueError(f"{place}: {name!r} cannot be written as a {'label' if n else 'word'}")
        parts.append(f" ({name}" if n else f" {name}")
        missing.append(n)
        while missing and not missing[-1]:
            missing.pop()
            if missing:
                missing[-1] -= 1
            if missing and not missing[-1]:
                parts.append(")")
    return "".join(parts)[1:]


# ---- objects


def as_trees(y: Iterable[Any], name: str) -> list[Tree]:
    """Trees given as bracketed strings, nltk's trees or ours; errors call y `name`."""
    check_list(y, name)
    return [as_tree(tree, f"{name}[{i}]") for i, tree in enumerate(y)]


def check_list(y: object, name: str) -> None:
    """Raise InputTypeError unless it is a list of items; one tree is none."""
    if not has_items(y) or isinstance(y, Tree) or _is_nltk(y):
        raise InputTypeError(f"{name} is a {type(y).__name__}, expected a list of trees")


def as_tree(tree: object, place: str, unlabelled: bool = False) -> Tree:
    """One tree, a bracketed string, nltk's or ours; `place` names it in errors. Of nltk's nodes
    that are `unlabelled`, if they may be, the label is UNKNOWN.
    """
    if isinstance(tree, Tree):
        return tree
    if isinstance(tree, str):
        return parse_tree(tree, place)
    if _is_nltk(tree):
        return _from_nltk(tree, place, unlabelled)
    raise InputTypeError(
        f"{place} is a {type(tree).__name__}, expected a tree: a bracketed string or an nltk Tree"
    )


def to_nltk(tree: Tree) -> NltkTree:
    """The tree as nltk has it; one of a word alone is a root without children."""
    try:
        from sklearn_struct.encoding.trees.nltk_tree import Tree as LoadedTree
    except ImportError as error:
        raise ImportError('trees of nltk need nltk: pip install "sklearn-struct[trees]"') from error
    built: list[Any] = []  # subtrees without a parent yet, the leftmost on top
    for label, n in zip(reversed(tree.labels), reversed(tree.arity)):
        if n:
            children = built[: -n - 1 : -1]
            del built[-n:]
        built.append(LoadedTree(label, children) if n else label)
    root: NltkTree = built[0] if tree.arity[0] else LoadedTree(tree.labels[0], [])
    return root


def _is_nltk(tree: object) -> TypeGuard[NltkTree]:
    """Whether it is a tree of nltk, told by what it can do, so that nltk need not be imported."""
    return isinstance(tree, list) and callable(getattr(tree, "label", None))


def _from_nltk(tree: NltkTree, place: str, unlabelled: bool) -> Tree:
    labels: list[str] = []
    arity: list[int] = []
    ahead: list[NltkTree | str] = [tree]
    while ahead:
        node = ahead.pop()
        is_node = _is_nltk(node)
        label: object = node.label() if _is_nltk(node) else node
        if unlabelled and is_node and label is None:
            label = UNKNOWN
        if not isinstance(label, str):
            kind = "label" if is_node else "word"
            raise InputTypeError(
                f"{place}: the {kind} {label!r} is a {type(label).__name__}, expected a string"
            )
        if is_node and not node:
            raise EmptyDataError(f"{place}: the node {label!r} has nothing below it")
        if not label and labels:
            raise ValueError(f"{place}: a {'node without a label' if is_node else 'word is empty'}")
        labels.append(label)
        arity.append(len(node) if is_node else 0)
        # a stack, as nested objects may be deeper than Python's recursion
        ahead.extend(reversed(node) if is_node else ())
    return Tree(tuple(labels), tuple(arity))
