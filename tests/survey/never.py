"""What the architecture page says is never done, as far as a program can see it.

Code from data
    Modules that make objects out of bytes by running what these say, also where they are imported
    as a whole or under another name; ``eval``, ``exec``, ``compile`` and ``__import__``, called or
    handed on; numpy's ``allow_pickle``; ``import_module`` of a name that does not stand there.
Bases of classes
    Under the names that they have where they are defined: aliases of imports and of assignments are
    followed, and of ``module.Class`` the class counts.
Private names of other rooms
    ``x._name``, ``getattr(x, "_name")`` and imports of ``_name``, where the package has this name
    in other rooms alone. What an object says of itself (``self``, ``cls``, ``super()``) is its own.
    A room is a folder beside the package's ``__init__``, with all that is in it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from survey.rooms import dotted, top_room
from survey.source import Module

__all__ = ["bases", "code_from_data", "private_of_others"]

PICKLES = {
    "_pickle",
    "cPickle",
    "cloudpickle",
    "code",
    "copyreg",
    "dill",
    "jsonpickle",
    "marshal",
    "pickle",
    "runpy",
    "shelve",
}
# of modules that do much else
READERS = {
    "builtins.eval",
    "builtins.exec",
    "builtins.compile",
    "joblib.dump",
    "joblib.load",
    "joblib.numpy_pickle",
    "pandas.read_pickle",
    "pandas.to_pickle",
    "pydoc.locate",
    "pkgutil.resolve_name",
}
RUN = {"eval", "exec", "compile", "__import__"}
OWN = {"self", "cls"}
ASK = {"getattr", "hasattr", "setattr", "delattr"}
# what named tuples have is public, in spite of its underscore
OF_TUPLES = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}

Rooms = dict[str, set[str]]


def _place(module: Module, node: ast.AST) -> str:
    return f"{module.path}:{getattr(node, 'lineno', 0)} {ast.unparse(node)}"


def _aliases(module: Module) -> dict[str, str]:
    """Full names of what is imported, by the names that it has here."""
    names = {}
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                names[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom):
            names |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names
            }
    return names


def _full(node: ast.AST, aliases: dict[str, str]) -> str:
    """The full name of a name or a chain of attributes; "" for anything else."""
    if isinstance(node, ast.Name):
        return aliases.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        before = _full(node.value, aliases)
        return f"{before}.{node.attr}" if before else ""
    return ""


# ---- code from data


def code_from_data(module: Module) -> list[str]:
    """Places that could run what data say, as path:line text."""
    aliases = _aliases(module)
    return [_place(module, node) for node in module.nodes if _runs(node, aliases)]


def _runs(node: ast.AST, aliases: dict[str, str]) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        start = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        names = [start + alias.name for alias in node.names]
        return any(name.split(".")[0] in PICKLES or name in READERS for name in names)
    if isinstance(node, ast.Name):
        return node.id in RUN and node.id not in aliases
    if isinstance(node, ast.Attribute):
        return _full(node, aliases) in READERS or node.attr in ("read_pickle", "to_pickle")
    if isinstance(node, ast.keyword):
        is_false = isinstance(node.value, ast.Constant) and node.value.value is False
        return node.arg == "allow_pickle" and not is_false
    if isinstance(node, ast.Call):
        name = _full(node.func, aliases)
        if name == "numpy.load":
            # the third is `allow_pickle`; what is unpacked may hold it
            unpacked = any(keyword.arg is None for keyword in node.keywords)
            return unpacked or len(node.args) > 2 or any(_is_starred(arg) for arg in node.args)
        return name == "importlib.import_module" and not _stands_there(node.args)
    return False


def _is_starred(node: ast.AST) -> bool:
    return isinstance(node, ast.Starred)


def _stands_there(arguments: list[ast.expr]) -> bool:
    return bool(arguments) and isinstance(arguments[0], ast.Constant)


# ---- bases


def bases(module: Module) -> Iterator[tuple[str, str]]:
    """(class, base) for each base of each class, by the last names that they have where they are
    defined; a base that is no name is given by its text.
    """
    aliases = _aliases(module)
    for node in module.nodes:
        if isinstance(node, ast.Assign) and _full(node.value, aliases):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    aliases[target.id] = _full(node.value, aliases)
    for node in module.nodes:
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                of = base.value if isinstance(base, ast.Subscript) else base
                yield node.name, _full(of, aliases).split(".")[-1] or ast.unparse(of)


# ---- private names


def private_of_others(modules: list[Module], package: str) -> list[str]:
    """Uses of names with an underscore that other rooms alone define, as path:line text."""
    of_modules: Rooms = {}
    of_classes: Rooms = {}
    for module in modules:
        for node in module.nodes:
            for name in _defined_in(node):
                rooms = of_modules if isinstance(node, ast.Module) else of_classes
                rooms.setdefault(name, set()).add(top_room(module))
    # an attribute may be that of a module, too
    of_objects = of_modules | of_classes
    places = []
    for module in modules:
        here = top_room(module)
        for node in module.nodes:
            imported = _imported(node, module, package)
            asks = here not in of_objects.get(_asked(node), {here})
            if asks or any(here not in of_modules.get(name, {here}) for name in imported):
                places.append(_place(module, node))
    return places


def _defined_in(node: ast.AST) -> Iterator[str]:
    """Private names that a module or class has, and that objects give themselves."""
    if isinstance(node, ast.Module | ast.ClassDef):
        for part in node.body:
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from _if_private(part.name)
            elif isinstance(part, ast.Assign | ast.AnnAssign):
                for name in ast.walk(part):
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                        yield from _if_private(name.id)
    elif (
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_own(node.value)
    ):
        yield from _if_private(node.attr)


def _if_private(name: str) -> Iterator[str]:
    if name.startswith("_") and not name.startswith("__") and name not in OF_TUPLES:
        yield name


def _imported(node: ast.AST, module: Module, package: str) -> list[str]:
    """Names that a statement imports from modules of the package."""
    if not isinstance(node, ast.ImportFrom):
        return []
    names = [name.split(".") for name in dotted(node, module, package)]
    # two parts are a module beside the package's __init__, which belongs to all
    return [parts[-1] for parts in names if parts[0] == package and len(parts) > 2]


def _asked(node: ast.AST) -> str:
    """The name of which another object or module is asked here, or ""."""
    if isinstance(node, ast.Attribute) and not _is_own(node.value):
        return node.attr
    if isinstance(node, ast.Call) and len(node.args) > 1 and not _is_own(node.args[0]):
        by_name = isinstance(node.func, ast.Name) and node.func.id in ASK
        if by_name and isinstance(node.args[1], ast.Constant):
            return str(node.args[1].value)
    return ""


def _is_own(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("super", "type")
    return isinstance(node, ast.Name) and node.id in OWN
