"""The modules of a package, read but not imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

__all__ = [
    "Function",
    "Module",
    "arguments",
    "assignments",
    "body_lines",
    "called",
    "module",
    "read",
    "word",
]

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A file of a package.

    Attributes
    ----------
    name : str
        Without the package: "a.b" for the file a/b.py, "a" for a/__init__.py, "" for the package's
        own __init__.
    path : str
        Below the folder of the package, with slashes.
    text : str
        What the file says.
    tree : ast.Module
        Its syntax tree.
    """

    name: str
    path: str
    text: str
    tree: ast.Module

    @property
    def is_init(self) -> bool:
        return self.path.split("/")[-1] == "__init__.py"

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def functions(self) -> list[Function]:
        """All functions and methods, also nested ones."""
        return [node for node in self.nodes if isinstance(node, Function)]


def read(folder: Path) -> list[Module]:
    """All modules of the package in this folder, sorted by path."""
    if not (folder / "__init__.py").is_file():
        raise FileNotFoundError(f"{folder} is not the folder of a package: it has no __init__.py")
    return [module(file, file.relative_to(folder)) for file in sorted(folder.rglob("*.py"))]


def module(file: Path, place: Path) -> Module:
    """A file, whose place is the path by which it is to be known."""
    text = file.read_text("utf-8")
    parts = place.parent.parts if place.name == "__init__.py" else place.with_suffix("").parts
    return Module(".".join(parts), place.as_posix(), text, ast.parse(text))


def arguments(function: Function) -> list[ast.arg]:
    a = function.args
    starred = [arg for arg in (a.vararg, a.kwarg) if arg is not None]
    return [*a.posonlyargs, *a.args, *a.kwonlyargs, *starred]


def body_lines(function: Function) -> tuple[int, int] | None:
    """The first and last line of the body without the docstring; None if nothing else is there."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    if not body:
        return None
    return body[0].lineno, body[-1].end_lineno or body[-1].lineno


def word(node: ast.AST | None) -> str:
    """The name of a variable, or the last one of an attribute."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def called(node: ast.AST | None) -> str:
    """The name of a function that is called, or ""."""
    return word(node.func) if isinstance(node, ast.Call) else ""


def assignments(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value), one by one where both are tuples; else each target with the whole value."""
    for node in nodes:
        if isinstance(node, ast.NamedExpr) or (isinstance(node, ast.AnnAssign) and node.value):
            yield node.target, node.value
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if not isinstance(target, ast.Tuple):
                    yield target, node.value
                elif isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts):
                    yield from zip(target.elts, node.value.elts)
                else:
                    yield from ((part, node.value) for part in target.elts)
