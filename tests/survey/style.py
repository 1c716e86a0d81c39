"""Figures of how a package is written. Each is taken in the same way of any tree.

file lines
    All lines of a file. Files called ``__init__`` are left out of median, 90th percentile and
    maximum.
function lines
    From the first line of a body, after the docstring, to the last; of all functions and methods,
    also nested ones.
tokens a body line
    Tokens of Python in these bodies, without comments, line ends and indents, over their lines.
tuple assignments
    ``a, b = x, y``: a tuple to a tuple of the same length, but for ``a, b = b, a``, which only
    changes places. Share of all assignments with ``=``.
comment lines
    Comments, one a line at most, over lines that are not blank.
arguments that are Any
    Share of annotated arguments whose annotation is exactly ``Any``. `Any` inside another
    annotation, as in ``list[Any]``, is a figure of its own.
"""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from collections.abc import Iterator

import numpy as np

from survey.rooms import room
from survey.source import Function, Module, arguments, body_lines

__all__ = [
    "figures",
    "functions_with_found",
    "shared_names",
    "takers_of_estimators",
    "tuple_assignments",
]

# rooms, and modules, whose users give them estimators of any class; the path is that of what hands
# an estimator on to callbacks, and asks whether it has any
OF_ANY_ESTIMATOR = {
    "estimators/fitting/progress.py",
    "_whole_fits",
    "callbacks",
    "compat",
    "dask",
    "distributed",
    "inspection",
    "model_selection",
    "persistence",
}
NO_TOKENS = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


def figures(modules: list[Module]) -> dict[str, float]:
    """All figures of this file, by name."""
    bodies = [lines for module in modules for lines in _bodies(module)]
    lengths = [last - first + 1 for first, last in bodies]
    n_tokens = sum(_tokens_of_bodies(module) for module in modules)
    files = [len(module.text.splitlines()) for module in modules if not module.is_init]
    annotations = [note for module in modules for note in _annotations(module)]
    return {
        "files": len(modules),
        "lines": sum(len(module.text.splitlines()) for module in modules),
        "file lines, median": _rounded(np.median(files)) if files else 0,
        "file lines, 90th percentile": _rounded(np.percentile(files, 90)) if files else 0,
        "file lines, maximum": max(files, default=0),
        "function lines, 90th percentile": _rounded(np.percentile(lengths, 90)) if lengths else 0,
        "function lines, maximum": max(lengths, default=0),
        "tokens a body line": round(_share(n_tokens, sum(lengths)), 2),
        "tuple assignments, %": _percent(len(tuple_assignments(modules)), _n_assignments(modules)),
        "comment lines, %": _percent(*_comments(modules)),
        "arguments that are Any, %": _percent(annotations.count("Any"), len(annotations)),
        "arguments with Any in them, %": _percent(
            sum("Any" in note for note in annotations), len(annotations)
        ),
        "loose modules": sum(room(module) == "root" and not module.is_init for module in modules),
        "functions with a variable `found`": len(functions_with_found(modules)),
        "file names in two rooms": len(shared_names(modules)),
        "functions that take an estimator": len(takers_of_estimators(modules)),
    }


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _percent(part: float, whole: float) -> float:
    return round(100 * _share(part, whole), 1)


def _rounded(value: float) -> int:
    return round(float(value))


def _bodies(module: Module) -> Iterator[tuple[int, int]]:
    for function in module.functions:
        lines = body_lines(function)
        if lines is not None:
            yield lines


def _tokens_of_bodies(module: Module) -> int:
    """Tokens of all bodies. A nested function counts for both functions, as its lines do."""
    lines = module.text.splitlines()
    n_tokens = 0
    for first, last in _bodies(module):
        text = textwrap.dedent("\n".join(lines[first - 1 : last]) + "\n")
        n_tokens += sum(token.type not in NO_TOKENS for token in _tokens(text))
    return n_tokens


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text).readline)


def _n_assignments(modules: list[Module]) -> int:
    return sum(isinstance(node, ast.Assign) for module in modules for node in module.nodes)


def _comments(modules: list[Module]) -> tuple[int, int]:
    """Comments, and lines that are not blank."""
    n_comments = 0
    n_lines = 0
    for module in modules:
        n_comments += sum(token.type == tokenize.COMMENT for token in _tokens(module.text))
        n_lines += sum(bool(line.strip()) for line in module.text.splitlines())
    return n_comments, n_lines


def _annotations(module: Module) -> Iterator[str]:
    for function in module.functions:
        for argument in arguments(function):
            if argument.annotation is not None:
                yield ast.unparse(argument.annotation)


# ---- lists, whose lengths are figures


def functions_with_found(modules: list[Module]) -> list[str]:
    """Functions that set a variable of this name, as path:line name."""
    places = []
    for module in modules:
        for function in module.functions:
            names = {node.id for node in ast.walk(function) if _is_set(node)}
            if "found" in names:
                places.append(_place(module, function))
    return places


def tuple_assignments(modules: list[Module]) -> list[str]:
    """Assignments of tuples to tuples, as path:line text."""
    return [
        f"{module.path}:{node.lineno} {ast.unparse(node)}"
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.Assign)
        if any(_one_by_one(target, node.value) for target in node.targets)
    ]


def _one_by_one(target: ast.expr, value: ast.expr) -> bool:
    if not isinstance(target, ast.Tuple | ast.List) or not isinstance(value, ast.Tuple | ast.List):
        return False
    if len(target.elts) != len(value.elts):
        return False
    names = [sorted(map(ast.unparse, side.elts)) for side in (target, value)]
    return names[0] != names[1]


def _is_set(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def shared_names(modules: list[Module]) -> dict[str, list[str]]:
    """Names of files that lie in more than one room, with the rooms; without ``__init__``."""
    rooms: dict[str, set[str]] = {}
    for module in modules:
        if not module.is_init:
            rooms.setdefault(module.path.split("/")[-1], set()).add(room(module))
    return {name: sorted(places) for name, places in sorted(rooms.items()) if len(places) > 1}


def takers_of_estimators(modules: list[Module]) -> list[str]:
    """Functions that take an estimator as a bag of parameters, as path:line name.

    A bag is an argument called ``estimator``, or with more words before that, of the type Any,
    object, or none. Of whatever type it is, a bag is also one of which an attribute is asked or set
    by a name that its type need not have: by ``vars``, ``__dict__``, or ``getattr`` and its like
    with a name that stands there, in the function, or in the class that keeps it as an attribute of
    the same name. Not counted are the places to which users give estimators of any class, and which
    ask them by their public methods.
    """
    return [
        _place(module, function)
        for module in modules
        if module.path not in OF_ANY_ESTIMATOR
        if module.path.split("/")[0].removesuffix(".py") not in OF_ANY_ESTIMATOR
        for function, around in _with_classes(module)
        if any(_is_bag(argument, around) for argument in arguments(function))
    ]


def _with_classes(module: Module) -> Iterator[tuple[Function, ast.AST]]:
    """Each function, with the class that keeps what it takes; else with itself."""
    methods = {
        part: node
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
        for part in node.body
        if isinstance(part, Function)
    }
    for function in module.functions:
        yield function, methods.get(function, function) if function.name == "__init__" else function


def _is_bag(argument: ast.arg, around: ast.AST) -> bool:
    if argument.arg.split("_")[-1] != "estimator":
        return False
    if argument.annotation is None or ast.unparse(argument.annotation) in ("Any", "object"):
        return True
    kept = {argument.arg, f"self.{argument.arg}"}
    return any(_reaches_into(node, kept) for node in ast.walk(around))


def _reaches_into(node: ast.AST, kept: set[str]) -> bool:
    """Whether a node asks or sets an attribute beside the type of one of these expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr == "__dict__" and ast.unparse(node.value) in kept
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
        return False
    if ast.unparse(node.args[0]) not in kept:
        return False
    if node.func.id == "vars":
        return True
    by_name = node.func.id in ("getattr", "hasattr", "setattr", "delattr")
    return by_name and isinstance(node.args[1], ast.Constant)


def _place(module: Module, function: ast.AST) -> str:
    return f"{module.path}:{function.lineno} {function.name}"
