"""What a package is like to live in: its rooms, what they import of each other, and how it is
written.

    python tests/house.py                           of this package
    python tests/house.py --compare OTHER/package   the figures beside those of another tree
    python tests/house.py OTHER/package --json      all that is known, for a program

The source is read, not run; only ``dir`` of the package is asked for, in a process of its own. The
files of ``tests/survey`` say how each figure is taken.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from survey import doors, order, rooms, style
from survey.source import Module, read

__all__ = ["HERE", "survey"]

HERE = Path(__file__).parents[1] / "sklearn_struct"


@cache
def survey(folder: Path) -> dict[str, Any]:
    """All that this command knows of a package, in types that JSON has."""
    modules = read(folder)
    places = [hit for module in modules for hit in order.hits(module)]
    counted = [hit for hit in places if hit.kind != order.GENERAL]
    imports = _imports(modules, folder.name)
    internal = doors.internal_modules(folder)
    numbers = style.figures(modules) | {
        "internal modules in dir": len(internal),
        "rooms": imports["rooms"],
        "imports between rooms": len(imports["arrows"]),
        "floors": imports["floors"],
        "circles": len(imports["circles"])
        + len(imports["nested circles"])
        + len(imports["module circles"]),
        "files with order or K * K": len(order.files(places)),
        "files with K * K": len({hit.path for hit in counted if hit.kind == order.ARITHMETIC}),
        "files with branches on the order": len(
            {hit.path for hit in counted if hit.kind == order.BRANCH}
        ),
    }
    return {
        "figures": numbers,
        "sizes": rooms.sizes(modules),
        "loose modules": [m.path for m in modules if rooms.room(m) == "root" and not m.is_init],
        "imports": imports,
        "order": [hit._asdict() for hit in places],
        "order files": order.files(places),
        "internal modules in dir": internal,
        "functions with found": style.functions_with_found(modules),
        "shared file names": style.shared_names(modules),
        "functions that take an estimator": style.takers_of_estimators(modules),
    }


def _imports(modules: list[Module], package: str) -> dict[str, Any]:
    arrows = rooms.arrows(modules, package)
    nested = rooms.arrows(modules, package, nested=True)
    graph = rooms.graph_of(arrows)
    return {
        "rooms": len({rooms.top_room(module) for module in modules if module.name}),
        "arrows": [[*pair, count] for pair, count in sorted(arrows.items())],
        "nested arrows": [[*pair, count] for pair, count in sorted(nested.items())],
        "circles": rooms.circles(graph),
        "nested circles": rooms.circles(rooms.graph_of(nested)),
        "module circles": rooms.circles(rooms.module_graph(modules, package)),
        "floors": rooms.floors(graph),
    }


# ---- printing


def print_survey(known: dict[str, Any]) -> None:
    print("Rooms, with files and lines")
    for name, (n_files, n_lines) in known["sizes"].items():
        print(f"  {name:<34}{n_files:>4}{n_lines:>8}")
    _print_list("Loose modules beside __init__", known["loose modules"])
    _print_imports(known["imports"])
    _print_order(known)
    _print_list("Internal modules that dir shows", known["internal modules in dir"])
    shared = [f"{name}: {', '.join(places)}" for name, places in known["shared file names"].items()]
    _print_list("Names of files in more than one room", shared)
    _print_list("Functions that take an estimator", known["functions that take an estimator"])
    print("\nFigures")
    for name, value in known["figures"].items():
        print(f"  {name:<40}{value:>10}")


def _print_list(title: str, lines: list[str]) -> None:
    print(f"\n{title}: {len(lines)}")
    for line in lines:
        print(f"  {line}")


def _print_imports(imports: dict[str, Any]) -> None:
    print(
        f"\nImports between {imports['rooms']} rooms, a loose module being one: "
        f"{len(imports['arrows'])}"
    )
    targets: dict[str, list[str]] = {}
    for source, target, count in imports["arrows"]:
        targets.setdefault(source, []).append(f"{target} {count}")
    for source, names in targets.items():
        print(f"  {source} <- {', '.join(names)}")
    print(f"  {imports['floors']} floors")
    for kind, title in (
        ("circles", "Circles between rooms"),
        ("nested circles", "Circles between nested rooms"),
        ("module circles", "Circles between modules"),
    ):
        _print_list(title, [" - ".join(circle) for circle in imports[kind]])


def _print_order(known: dict[str, Any]) -> None:
    lines = [f"{hit['path']}:{hit['line']}  {hit['kind']}: {hit['text']}" for hit in known["order"]]
    print(f"\nFiles with K * K or branches on a chain's order: {len(known['order files'])}")
    for line in lines:
        print(f"  {line}")


def print_table(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Figures of both, as a table of Markdown."""
    print("| | before | after |\n|---|---|---|")
    for name in {**before["figures"], **after["figures"]}:
        cells = [str(known["figures"].get(name, "")) for known in (before, after)]
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "package",
        nargs="?",
        type=Path,
        default=HERE,
        help="folder of a package (default: this one)",
    )
    parser.add_argument(
        "--compare", type=Path, metavar="BEFORE", help="folder of the package as it was before"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    options = parser.parse_args()
    known = survey(options.package)
    if options.json:
        both = {"before": survey(options.compare), "after": known} if options.compare else known
        print(json.dumps(both, indent=1))
    elif options.compare:
        print_table(survey(options.compare), known)
    else:
        print_survey(known)
    return 0


if __name__ == "__main__":
    sys.exit(main())
