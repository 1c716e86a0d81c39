"""Where the number of labels is squared or cubed, and where a chain's order decides something.

Arithmetic: an expression of degree two or more in one name for a number of labels. It is a product
or a power, so ``K * K``, ``K**3``, ``n_labels * n_labels`` and ``(i * K + j) * K + k``, which is i
* K**2 + ..., count. ``(K, K)`` as a shape and ``j * K + k`` do not. Names for numbers of labels are
those of `COUNTS`, ``len`` of one of `LISTS`, and variables of a function that are set to one of
these. ``n`` is one only in ``n * n``, which has been label pairs in all places where it has stood;
``n * (n + 1)`` and ``n**2`` have not. ``K**r`` with an exponent that is no number and not a chain's
order is the general case which families of cliques need; it is listed, and does not count.

Branches: a chain's order, under one of the names of `ORDERS`, in a comparison, as a condition, in
arithmetic, in a ``match``, in ``range``, as an end of a slice, as an index of a literal, or of a
constant in capitals. Words of `DERIVED` stand for the order wherever they are read. A class like
`Chain2` in ``isinstance``, and questions to the families of cliques, say the same in other words;
see `families`. To declare ``order``, to document it, to store it and to hand it on does not count.
A variable ``order`` that holds a permutation is none; see `_permutations`. One that a function sets
to a number is a branch, as that number is the order of one case.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from survey import families
from survey.source import Function, Module, arguments, assignments, called, word

__all__ = ["ARITHMETIC", "BRANCH", "GENERAL", "Hit", "files", "hits"]

COUNTS = {"K", "L", "S", "n_classes", "n_labels", "n_states", "n_tags"}
LISTS = {"alphabet", "classes", "classes_", "labels", "labels_", "states", "tags"}
ORDERS = {"order", "order_", "chain_order"}
DERIVED = {"edge_width", "has_triples", "is_second_order", "second_order"}
OF_ORDER_2 = re.compile("Chain2|SecondOrder|Triple")
CONVERSIONS = {"int", "float", "int32", "int64", "float64"}
MAKE_PERMUTATIONS = {
    "argsort",
    "empty",
    "ix_",
    "lexsort",
    "permutation",
    "randint",
    "unpack",
    "unpack_from",
}
SAYS_WHAT = ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp | ast.Subscript

ARITHMETIC = "arithmetic"
BRANCH = "branch"
GENERAL = "general power"


class Hit(NamedTuple):
    """A place in the source, and why it is listed."""

    path: str
    line: int
    kind: str
    text: str


def files(places: list[Hit]) -> list[str]:
    """Those with arithmetic or a branch, which the project wants to be few."""
    return sorted({hit.path for hit in places if hit.kind in (ARITHMETIC, BRANCH)})


def hits(module: Module) -> list[Hit]:
    """All of a module, by line."""
    scopes = _Scopes(module)
    places = {*_of_counts(module, scopes), *_of_orders(module, scopes)}
    return sorted(places, key=lambda hit: (hit.line, hit.kind, hit.text))


class _Scopes:
    """Which function a node is in, and what variables and attributes hold."""

    def __init__(self, module: Module) -> None:
        self.parents = {
            child: node for node in module.nodes for child in ast.iter_child_nodes(node)
        }
        self.aliases = {f: set(_aliases(f)) for f in module.functions}
        self.permutations = {f: set(_permutations(f)) for f in module.functions}
        self.attributes = {
            word(target)
            for target, value in assignments(module.nodes)
            if isinstance(target, ast.Attribute) and called(value) in MAKE_PERMUTATIONS
        }

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node is in, from the inside."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def count(self, node: ast.AST) -> str:
        """The name under which an expression is a number of labels, or ""."""
        if (
            called(node) == "len"
            and isinstance(node, ast.Call)
            and node.args
            and word(node.args[0]) in LISTS
        ):
            return f"len({word(node.args[0])})"
        name = word(node)
        if name in COUNTS:
            return name
        if isinstance(node, ast.Name) and any(
            name in self.aliases.get(f, ()) for f in self.around(node)
        ):
            return name
        return name if name == "n" and self._is_squared(node) else ""

    def _is_squared(self, node: ast.AST) -> bool:
        outer = self.parents.get(node)
        product = isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Mult)
        return product and word(outer.left) == word(outer.right)

    def is_order(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call) and word(node.func) == "getattr" and len(node.args) > 1:
            return isinstance(node.args[1], ast.Constant) and node.args[1].value in ORDERS
        if word(node) not in ORDERS:
            return False
        if isinstance(node, ast.Attribute):
            return node.attr not in self.attributes
        return not any(word(node) in self.permutations.get(f, ()) for f in self.around(node))


def _aliases(function: ast.AST) -> Iterator[str]:
    """Variables that are set to a number of labels."""
    for target, value in assignments(ast.walk(function)):
        if isinstance(target, ast.Name):
            is_length = isinstance(value, ast.Call) and called(value) == "len" and bool(value.args)
            if word(value) in COUNTS or (is_length and word(value.args[0]) in LISTS):
                yield target.id


def _permutations(function: ast.AST) -> Iterator[str]:
    """Variables called like an order which hold an array, or what a file says of byte order."""
    if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        for arg in arguments(function):
            if arg.annotation is not None and "ndarray" in ast.unparse(arg.annotation):
                yield arg.arg
    for target, value in assignments(ast.walk(function)):
        if isinstance(target, ast.Name) and called(value) in MAKE_PERMUTATIONS:
            yield target.id


# ---- arithmetic


def _of_counts(module: Module, scopes: _Scopes) -> Iterator[Hit]:
    """The largest expressions of degree two or more, and general powers."""
    for node in module.nodes:
        if not isinstance(node, ast.BinOp | ast.Call | ast.AugAssign):
            continue
        if families.is_power(node, scopes.count):
            yield Hit(module.path, node.lineno, ARITHMETIC, ast.unparse(node))
        elif _is_general(node, scopes):
            yield Hit(module.path, node.lineno, GENERAL, ast.unparse(node))
        outer = scopes.parents.get(node)
        inside = (
            isinstance(outer, ast.BinOp) and max(_degrees(outer, scopes).values(), default=0) >= 2
        )
        if not inside and max(_degrees(node, scopes).values(), default=0) >= 2:
            yield Hit(module.path, node.lineno, ARITHMETIC, ast.unparse(node))


def _is_general(node: ast.AST, scopes: _Scopes) -> bool:
    """Whether this is a number of labels to a power that the line does not say."""
    if (
        not isinstance(node, ast.BinOp)
        or not isinstance(node.op, ast.Pow)
        or not scopes.count(node.left)
    ):
        return False
    if isinstance(node.right, ast.Constant):
        return False
    return not any(scopes.is_order(part) for part in ast.walk(node.right))


def _degrees(node: ast.AST, scopes: _Scopes) -> dict[str, int]:
    """The degree of an expression, as a polynomial, in each number of labels."""
    name = scopes.count(node)
    if name:
        return {name: 1}
    if isinstance(node, ast.AugAssign):
        node = ast.BinOp(node.target, node.op, node.value)
    if isinstance(node, ast.UnaryOp):
        return _degrees(node.operand, scopes)
    if isinstance(node, ast.Call):
        return _degrees_of_call(node, scopes)
    if not isinstance(node, ast.BinOp):
        return {}
    left = _degrees(node.left, scopes)
    right = _degrees(node.right, scopes)
    if isinstance(node.op, ast.Mult):
        return {key: left.get(key, 0) + right.get(key, 0) for key in {*left, *right}}
    if isinstance(node.op, ast.Add | ast.Sub):
        return {key: max(left.get(key, 0), right.get(key, 0)) for key in {*left, *right}}
    if isinstance(node.op, ast.Pow):
        return _power(left, node.right)
    return left if isinstance(node.op, ast.Div | ast.FloorDiv) else {}


def _degrees_of_call(node: ast.Call, scopes: _Scopes) -> dict[str, int]:
    name = called(node)
    if name in CONVERSIONS and node.args:
        return _degrees(node.args[0], scopes)
    if name == "square" and node.args:
        return _power(_degrees(node.args[0], scopes), ast.Constant(2))
    if name in ("pow", "power") and len(node.args) > 1:
        return _power(_degrees(node.args[0], scopes), node.args[1])
    return {}


def _power(base: dict[str, int], exponent: ast.AST) -> dict[str, int]:
    if isinstance(exponent, ast.Constant) and isinstance(exponent.value, int):
        return {key: degree * exponent.value for key, degree in base.items()}
    return base


# ---- branches


def _of_orders(module: Module, scopes: _Scopes) -> Iterator[Hit]:
    held = families.Held(module)
    for node in module.nodes:
        by_word = word(node) in DERIVED and isinstance(getattr(node, "ctx", None), ast.Load)
        by_order = scopes.is_order(node) and _decides(node, scopes)
        by_class = called(node) == "isinstance" and OF_ORDER_2.search(ast.unparse(node))
        by_families = families.decides(node, scopes.parents, held)
        if by_word or by_order or by_class or by_families:
            yield _branch(module, node, scopes)


def _branch(module: Module, node: ast.AST, scopes: _Scopes) -> Hit:
    """The place, with the expression around that says what is decided."""
    text = node
    for outer in scopes.around(node):
        if not isinstance(outer, SAYS_WHAT):
            break
        text = outer
    return Hit(module.path, getattr(node, "lineno", 0), BRANCH, ast.unparse(text))


def _decides(node: ast.AST, scopes: _Scopes) -> bool:
    """Whether something depends on this order at the place where it stands."""
    outer = scopes.parents.get(node)
    if isinstance(outer, ast.Compare):
        others = [outer.left, *outer.comparators]
        return not any(
            isinstance(other, ast.Constant) and isinstance(other.value, str | None)
            for other in others
        )
    if isinstance(outer, ast.Assign):
        # in a function: the order of one case
        set_here = any(target is node for target in outer.targets)
        numbers = isinstance(outer.value, ast.Constant) and isinstance(outer.value.value, int)
        inside = any(isinstance(around, Function) for around in scopes.around(outer))
        return set_here and numbers and inside
    if isinstance(
        outer, ast.BinOp | ast.AugAssign | ast.UnaryOp | ast.BoolOp | ast.Match | ast.Slice
    ):
        return True
    if isinstance(outer, ast.If | ast.IfExp | ast.While):
        return outer.test is node
    if called(outer) in ("range", "min", "max", "bool"):
        return True
    if isinstance(outer, ast.Subscript) and outer.slice is node:
        return (
            isinstance(outer.value, ast.Dict | ast.Tuple | ast.List) or word(outer.value).isupper()
        )
    return False
