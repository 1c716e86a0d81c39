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
    ``a, b = x, y``: a tuple to a tuple of the same length. Share of all assignments with ``=``.
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
from survey.source import Module, arguments, body_lines

__all__ = ["figures", "functions_with_found", "shared_names", "takers_of_estimators"]

# rooms, and modules, whose users give them estimators of any class
OF_ANY_ESTIMATOR = {
    "_whole_fits",
    "callbacks",
    "compat",
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
        "tuple assignments, %": _percent(*_assignments(modules)),
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


def _assignments(modules: list[Module]) -> tuple[int, int]:
    """Of tuples to tuples, and all."""
    n_tuples = 0
    n_all = 0
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.Assign):
                n_all += 1
                n_tuples += any(_both_tuples(target, node.value) for target in node.targets)
    return n_tuples, n_all


def _both_tuples(target: ast.expr, value: ast.expr) -> bool:
    if not isinstance(target, ast.Tuple | ast.List) or not isinstance(value, ast.Tuple | ast.List):
        return False
    return len(target.elts) == len(value.elts)


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

    A bag is an argument called ``estimator`` of the type Any, or of none. Not counted are the rooms
    to which users give estimators of any class, and which ask them by their public methods.
    """
    return [
        _place(module, function)
        for module in modules
        if module.path.split("/")[0].removesuffix(".py") not in OF_ANY_ESTIMATOR
        for function in module.functions
        if any(_is_bag(argument) for argument in arguments(function))
    ]


def _is_bag(argument: ast.arg) -> bool:
    if argument.arg != "estimator":
        return False
    return argument.annotation is None or ast.unparse(argument.annotation) == "Any"


def _place(module: Module, function: ast.AST) -> str:
    return f"{module.path}:{function.lineno} {function.name}"
