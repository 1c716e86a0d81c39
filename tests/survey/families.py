"""Where families of cliques are asked for the order of a chain, in other words than ``order``.

A chain of first order has one family, of pairs; one of second order has a second, of triples. To go
over all families is general, and so is to read the first, to hand the others on as they are, and to
look a size up. These ask how many there are:

- ``len(cliques)`` with a name of `FAMILIES`, compared with a number, as a condition, as an
  exponent, or as an end of a slice of a literal;
- ``families[1:]`` as a condition or what a loop goes over, ``cliques[1]``, and the same of what a
  starred name has got from ``pairs, *wider = cliques``;
- ``triple`` of flat tuples, or a name like it, where its number of columns is compared or it is a
  condition, also under another name (``width = triple.shape[1]``); its number of rows says whether
  all triples share one, which is another question;
- ``size`` or ``nodes.shape[1]`` compared with 2 or 3, and ``nodes[:, 2]``;
- ``ndim`` of transitions, or compared with sizes; the number of contexts compared with that of
  labels;
- widths of tables: ``x * cliques[0].shape[1]``, which is a power of the number of labels, and the
  root of such a width.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from survey.source import Module, assignments, called, word

__all__ = ["FAMILIES", "Held", "decides", "is_power"]

FAMILIES = {"cliques", "families"}
# those of families only in files that know potentials; else of anything
TABLES = {"tables", "widths"}
KNOW_POTENTIALS = {"containers.structures", "flat_tuples", "weight_patterns"}
TRIPLES = {"triple", "triples", "seconds"}
CONTEXTS = {"C", "contexts", "n_contexts"}
LABELS = {"K", "n_labels"}
PAIRS = {"edge", "pairs"}


class Held:
    """What the names of a module hold: tables of families, the wider ones, sizes of triples."""

    def __init__(self, module: Module) -> None:
        imported = [n.module or "" for n in module.nodes if isinstance(n, ast.ImportFrom)]
        knows = any(name.endswith(tuple(KNOW_POTENTIALS)) for name in imported)
        self.families = FAMILIES | (TABLES if knows else set())
        self.wider: set[str] = set()
        self.triples = set(TRIPLES)
        self.pair_widths: set[str] = set()
        for target, value in _one_by_one(module):
            if isinstance(target, ast.Starred) and self._mentions_families(value):
                self.wider.add(word(target.value))
            elif isinstance(target, ast.Name) and _is_size_of(value, TRIPLES):
                self.triples.add(target.id)
            elif isinstance(target, ast.Name) and _is_size_of(value, PAIRS):
                self.pair_widths.add(target.id)

    def _mentions_families(self, value: ast.AST) -> bool:
        return any(word(part) in {*self.families, "marginals"} for part in ast.walk(value))


def _one_by_one(module: Module) -> list[tuple[ast.expr, ast.expr]]:
    """Targets with values; tuples within a target are taken apart."""
    pairs = list(assignments(module.nodes))
    for target, value in pairs:
        if isinstance(target, ast.Tuple):
            pairs.extend((part, value) for part in target.elts)
    return pairs


def decides(node: ast.AST, parents: dict[ast.AST, ast.AST], held: Held) -> bool:
    """Whether something depends on how many families there are, or how wide their cliques."""
    if isinstance(node, ast.Compare):
        return _compares(node, held)
    if isinstance(node, ast.Subscript):
        return _picks(node, parents, held)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return any(_is_width(side, held) for side in (node.left, node.right))
    if called(node) in ("sqrt", "isqrt") and isinstance(node, ast.Call) and node.args:
        root = node.args[0]
        return _is_size_of(root, PAIRS) or word(root) in held.pair_widths or _is_width(root, held)
    if _is_length(node, held.families):
        outer = parents.get(node)
        of_literal = isinstance(outer, ast.Slice) and isinstance(
            getattr(parents.get(outer), "value", None), ast.Tuple | ast.List
        )
        return of_literal or _is_condition(node, parents)
    named = word(node) in held.wider or word(node) in held.triples
    return (named or _is_length(node, held.triples)) and _is_condition(node, parents)


def is_power(node: ast.AST, count: Callable[[ast.AST], str]) -> bool:
    """Whether this is a number of labels to the power of how many families there are."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Pow):
        return False
    exponent = ast.walk(node.right)
    return bool(count(node.left)) and any(_is_length(part, FAMILIES | TABLES) for part in exponent)


def _compares(node: ast.Compare, held: Held) -> bool:
    sides = [node.left, *node.comparators]
    numbers = [side.value for side in sides if isinstance(side, ast.Constant)]
    names = {word(side) for side in sides}
    if any(_is_length(side, held.families) for side in sides) and numbers:
        return True
    if any(_is_n_columns(side, held.triples) for side in sides):
        return True
    if numbers and names & (held.triples - TRIPLES):
        return True
    if names & CONTEXTS and names & LABELS:
        return True
    ordered = any(isinstance(operator, ast.Lt | ast.Gt) for operator in node.ops)
    if ordered and names & LABELS and any(_is_shape(side) for side in sides):
        return True
    if any(_is_clique_size(side) for side in sides) and {2, 3} & set(numbers):
        return True
    return any(_is_dimension(side, sides) for side in sides)


def _picks(node: ast.Subscript, parents: dict[ast.AST, ast.AST], held: Held) -> bool:
    index = node.slice
    if word(node.value) == "nodes":
        return isinstance(index, ast.Tuple) and _from(index.elts[-1], 2)
    if word(node.value) in held.wider:
        return _from(index, 0)
    if word(node.value) not in held.families:
        return False
    if isinstance(index, ast.Slice):
        return _from(index.lower, 1) and (
            _is_condition(node, parents) or _is_gone_over(node, parents)
        )
    return _from(index, 1)


def _from(index: ast.AST | None, least: int) -> bool:
    """Whether an index is a number, and at least this one."""
    if not isinstance(index, ast.Constant) or not isinstance(index.value, int):
        return False
    return index.value >= least


def _is_condition(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    outer = parents.get(node)
    if isinstance(outer, ast.If | ast.IfExp | ast.While):
        return outer.test is node
    if isinstance(outer, ast.comprehension):
        return node in outer.ifs
    is_not = isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not)
    return is_not or isinstance(outer, ast.BoolOp) or called(outer) == "bool"


def _is_gone_over(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    outer = parents.get(node)
    return isinstance(outer, ast.For | ast.comprehension) and outer.iter is node


def _is_length(node: ast.AST, names: set[str]) -> bool:
    if called(node) != "len" or not isinstance(node, ast.Call) or not node.args:
        return False
    return word(node.args[0]) in names


def _is_shape(node: ast.AST) -> bool:
    """``x.shape`` or a number of it."""
    node = node.value if isinstance(node, ast.Subscript) else node
    return isinstance(node, ast.Attribute) and node.attr == "shape"


def _is_size_of(node: ast.AST, names: set[str]) -> bool:
    """The shape, a number of it, the size or the length of an array of this name."""
    if _is_length(node, names):
        return True
    node = node.value if isinstance(node, ast.Subscript) else node
    if not isinstance(node, ast.Attribute) or node.attr not in ("shape", "size"):
        return False
    return word(node.value) in names


def _is_n_columns(node: ast.AST, names: set[str]) -> bool:
    """The same, but not how many rows it has: one row says that all cliques share it."""
    is_rows = isinstance(node, ast.Subscript) and _is_number(node.slice, 0)
    return _is_size_of(node, names) and not is_rows and called(node) != "len"


def _is_number(node: ast.AST, number: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == number


def _is_width(node: ast.AST, held: Held) -> bool:
    """``cliques[0].shape[1]``, or ``widths[0]``."""
    if not isinstance(node, ast.Subscript):
        return False
    if word(node.value) == "widths":
        return isinstance(node.slice, ast.Constant) and "widths" in held.families
    if not _is_shape(node) or not isinstance(node.value, ast.Attribute):
        return False
    table = node.value.value
    return (
        isinstance(table, ast.Subscript)
        and word(table.value) in held.families
        and isinstance(table.slice, ast.Constant)
    )


def _is_clique_size(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "size":
        return True
    of_nodes = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute)
    return of_nodes and _is_shape(node) and word(node.value.value) == "nodes"


def _is_dimension(node: ast.AST, sides: list[ast.expr]) -> bool:
    """The number of dimensions of transitions, or one that is compared with sizes of cliques."""
    if not isinstance(node, ast.Attribute) or node.attr != "ndim":
        return False
    others = [part for side in sides for part in ast.walk(side)]
    with_sizes = any(called(part) == "clique_sizes" or word(part) == "size" for part in others)
    return "transition" in word(node.value) or with_sizes
