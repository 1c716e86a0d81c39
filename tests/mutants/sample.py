"""Faults: places of the code drawn at random, with one of cosmic-ray's replacements for each."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

PACKAGE = Path(__file__).parents[2] / "sklearn_struct"
PARTS = [
    "inference",
    "losses",
    "linear",
    "solvers",
    "objectives/linear_objective.py",
    "hidden_markov/em_steps.py",
    "hidden_markov/emissions.py",
    "hidden_markov/path_sums.py",
    "grammars/spectral_states.py",
    "grammars/parsing.py",
]
DECORATORS = {"kernel", "inlined", "uncounted", "intrinsic"}
# no operators: those that would need names, those of bits, which numbers do not have, and `==` in
# the place of `is`
LEFT_OUT = (
    "Variable",
    "RemoveDecorator",
    "Bit",
    "Shift",
    "Is_Eq",
    "IsNot_NotEq",
    "_Invert",
    "Eq_Is",
    "NotEq_IsNot",
)


class Mutant(NamedTuple):
    """One fault."""

    file: str  # below the package
    line: int
    operator: str
    occurrence: int  # of the places where the operator can do something, in the order of the file
    before: str
    after: str
    in_kernel: bool

    def __str__(self) -> str:
        place = f"{self.file}:{self.line} {self.operator} {self.occurrence}"
        return f"{place}\n    - {self.before}\n    + {self.after}"


def source(file: str) -> str:
    return (PACKAGE / file).read_text("utf-8")


def mutated(mutant: Mutant) -> str:
    """The source of its file, with the fault."""
    return changed(source(mutant.file), f"core/{mutant.operator}", mutant.occurrence)


def changed(text: str, operator: str, occurrence: int) -> str:
    code = mutate_code(text, get_operator(operator)(), occurrence)
    assert code is not None
    return code


def draw(n: int, seed: int) -> list[Mutant]:
    """`n` mutants at different places, in the order of the files.

    Each place has a number of its own, which its line decides: other lines may change, and files
    move, and the sample stays.
    """
    ranked = sorted(
        (rank, file, replacements) for file in files() for rank, replacements in _ranked(file, seed)
    )
    mutants: list[Mutant] = []
    for rank, file, replacements in ranked:
        mutant = _mutant(file, *replacements[int(rank, 16) % len(replacements)])
        if mutant is not None:
            mutants.append(mutant)
        if len(mutants) == n:
            break
    return sorted(mutants)


def _ranked(file: str, seed: int) -> Iterator[tuple[str, list[tuple[str, int, int]]]]:
    """The places of a file, with a random number for each, and what can be done there."""
    lines = ("\n" + source(file)).splitlines()
    seen: Counter[str] = Counter()
    for (line, column), replacements in sorted(_places(file)):
        key = f"{seed} {column} {lines[line].strip()}"
        seen[key] += 1
        yield hashlib.sha256(f"{seen[key]} {key}".encode()).hexdigest(), sorted(replacements)


def files() -> list[str]:
    """The files whose faults are looked for."""
    paths = [PACKAGE / part for part in PARTS]
    found = [
        file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])
    ]
    return [file.relative_to(PACKAGE).as_posix() for file in found]


def _places(file: str) -> Iterator[tuple[tuple[int, int], list[tuple[str, int, int]]]]:
    """Each place of a file, with what can be done there: operator, occurrence and line."""
    found = defaultdict(list)
    nodes = list(ast_nodes(get_ast(source(file))))
    for name in operator_names():
        if any(part in name for part in LEFT_OUT):
            continue
        operator = get_operator(name)()
        positions = [position for node in nodes for position in operator.mutation_positions(node)]
        for occurrence, (start, _) in enumerate(positions):
            found[start].append((name, occurrence, start[0]))
    yield from found.items()


def _mutant(file: str, operator: str, occurrence: int, line: int) -> Mutant | None:
    """None if the program stays the same, but for its annotations, or is none any more."""
    text = source(file)
    code = changed(text, operator, occurrence)
    try:
        same = _program(text) == _program(code)
    except SyntaxError:
        return None
    if same:
        return None
    before = ("\n" + text).splitlines()[line]
    after = ("\n" + code).splitlines()[line]
    kernels = list(_kernels(text))
    in_function = any(line in lines for lines in _functions(text))
    # numbers that kernels use
    in_kernel = any(line in lines for lines in kernels) if in_function else len(kernels) > 0
    return Mutant(
        file,
        line,
        operator.removeprefix("core/"),
        occurrence,
        before.strip(),
        after.strip(),
        in_kernel,
    )


def _program(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)


def _kernels(text: str) -> Iterator[range]:
    """The lines of each function that is compiled."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and DECORATORS & set(
            map(ast.unparse, node.decorator_list)
        ):
            yield _lines(node)


def _functions(text: str) -> Iterator[range]:
    """The lines of each function."""
    yield from (
        _lines(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)
    )


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or 0) + 1)


def statement(file: str, line: int) -> range | None:
    """The lines of the smallest statement that has this line, without those of its body; None
    outside functions.
    """
    tree = ast.parse(source(file))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    bodies = [range(node.body[0].lineno, (node.end_lineno or 0) + 1) for node in functions]
    if not any(line in body for body in bodies):
        return None
    # jumps are parts of what is around them, and no lines of their own
    around = [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.stmt) and not isinstance(n, ast.Break | ast.Continue)
    ]
    smallest = max((node for node in around if line in _lines(node)), key=lambda node: node.lineno)
    body = getattr(smallest, "body", None)
    return range(smallest.lineno, body[0].lineno if body else (smallest.end_lineno or 0) + 1)
