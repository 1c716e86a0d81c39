"""Rooms of a package, what they import of each other, circles and floors.

A room is a folder; the room "a.b" is a folder b inside the room "a". The modules beside the
package's ``__init__`` are listed as the room "root". In imports and circles, however, each of them
is a room of its own: taken together they would be in a circle with every room that they import,
whatever they hold. The package's ``__init__`` imports everything for its users, and is left out of
both.

All imports count: at any depth, in functions, for type checking only, and by ``import_module`` of a
name that stands there, or begins there.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from survey.source import Module

__all__ = [
    "arrows",
    "called_imports",
    "circles",
    "dotted",
    "floors",
    "imports",
    "module_graph",
    "nested_room",
    "room",
    "sizes",
    "top_room",
]

Graph = dict[str, set[str]]


def room(module: Module) -> str:
    """The folder of a module with dots for slashes; "root" for that of the package itself."""
    return ".".join(module.path.split("/")[:-1]) or "root"


def sizes(modules: list[Module]) -> dict[str, tuple[int, int]]:
    """Files and lines of each room, without those of the rooms inside it."""
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for module in modules:
        files[room(module)] += 1
        lines[room(module)] += len(module.text.splitlines())
    return {name: (files[name], lines[name]) for name in sorted(files)}


def top_room(module: Module) -> str:
    """The folder of the package that a module is in; a loose module is a room of its own."""
    return module.name.split(".")[0]


def nested_room(module: Module) -> str:
    """The innermost folder; a loose module is a room of its own."""
    return module.name if room(module) == "root" else room(module)


def imports(module: Module, package: str, names: Iterable[str]) -> Iterator[str]:
    """The modules of the package, of these names, that a module imports."""
    known = set(names)
    for node in module.nodes:
        for name in dotted(node, module, package):
            parts = name.split(".")
            if parts[0] != package:
                continue
            while ".".join(parts[1:]) not in known:
                parts.pop()
            yield ".".join(parts[1:])


def dotted(node: ast.AST, module: Module, package: str) -> Iterator[str]:
    """Full names of what a statement imports, whether they are of modules or of things in them."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        start = node.module or ""
        if node.level:
            here = [package, *module.name.split(".")] if module.name else [package]
            up = node.level - 1 if module.is_init else node.level
            folder = here[: len(here) - up]
            start = ".".join([*folder, start]) if start else ".".join(folder)
        yield from (f"{start}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call):
        yield from called_imports(node)


def called_imports(node: ast.Call) -> Iterator[str]:
    """The name that a call imports, as far as it stands there: of ``f"made.a.{x}"`` "made.a"."""
    called = (
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    )
    # the function may have been imported under a name with an underscore
    if called.strip("_") not in ("import_module", "import"):
        return
    for name in [*node.args[:1], *(word.value for word in node.keywords if word.arg == "name")]:
        begins = name
        if isinstance(name, ast.JoinedStr) and name.values:
            begins = name.values[0]
        elif isinstance(name, ast.BinOp):
            begins = name.left
        if isinstance(begins, ast.Constant):
            yield str(begins.value).rstrip(".")


def module_graph(modules: list[Module], package: str) -> Graph:
    """What each module imports.

    A module also runs the ``__init__`` of every folder on the way, except those that it is in.
    """
    names = [module.name for module in modules]
    folders = {module.name for module in modules if module.is_init}
    graph: Graph = {}
    for module in modules:
        targets = set(imports(module, package, names))
        for target in list(targets):
            parts = target.split(".")
            on_the_way = {".".join(parts[:n]) for n in range(1, len(parts))}
            targets |= {
                name
                for name in on_the_way & folders
                if not f"{module.name}.".startswith(f"{name}.")
            }
        graph[module.name] = targets - {module.name, ""}
    graph.pop("", None)
    return graph


def arrows(modules: list[Module], package: str, nested: bool = False) -> Counter[tuple[str, str]]:
    """(A, B) for each room A that imports something of room B, with the number of such imports.

    With `nested` rooms are innermost folders. Then what an ``__init__`` imports of its own folder's
    rooms is left out: it is their door.
    """
    room_of = nested_room if nested else top_room
    by_name = {module.name: module for module in modules}
    counts: Counter[tuple[str, str]] = Counter()
    for module in modules:
        if not module.name:
            continue
        for target in imports(module, package, by_name):
            is_door = module.is_init and target.startswith(f"{module.name}.")
            if not target or is_door:
                continue
            pair = (room_of(module), room_of(by_name[target]))
            if pair[0] != pair[1]:
                counts[pair] += 1
    return counts


def graph_of(pairs: Iterable[tuple[str, str]]) -> Graph:
    graph: Graph = {}
    for source, target in pairs:
        graph.setdefault(source, set()).add(target)
        graph.setdefault(target, set())
    return graph


def components(graph: Graph) -> list[list[str]]:
    """Strongly connected components, those that others point to first (Tarjan's algorithm)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    closed: set[str] = set()
    parts: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = len(number)
        lowest[node] = number[node]
        stack.append(node)
        for target in sorted(graph.get(node, ())):
            if target not in number:
                visit(target)
                lowest[node] = min(lowest[node], lowest[target])
            elif target not in closed:
                lowest[node] = min(lowest[node], number[target])
        if lowest[node] == number[node]:
            start = stack.index(node)
            parts.append(sorted(stack[start:]))
            closed.update(stack[start:])
            del stack[start:]

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return parts


def circles(graph: Graph) -> list[list[str]]:
    """Groups of more than one, each of which leads to all others of its group."""
    return [part for part in components(graph) if len(part) > 1]


def floors(graph: Graph) -> int:
    """How many stand above each other in the longest chain; a circle is on one floor."""
    height: dict[str, int] = {}
    for part in components(graph):
        below = {target for node in part for target in graph.get(node, ())} - set(part)
        level = 1 + max((height[target] for target in below), default=0)
        height.update(dict.fromkeys(part, level))
    return max(height.values(), default=0)
