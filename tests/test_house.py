"""The survey of a package, on small packages of which the answers are plain."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import house
import pytest
from survey import doors, rooms, style
from survey.source import read


def package(folder, **files):
    """A package "made" with these files; double underscores of their names are slashes."""
    root = folder / "made"
    for name, text in {"init": "", **files}.items():
        *parents, last = name.split("__")
        place = root.joinpath(*parents)
        place.mkdir(parents=True, exist_ok=True)
        last = "__init__" if last == "init" else last
        (place / f"{last}.py").write_text(text, "utf-8")
    return root


def modules_of(folder, **files):
    return read(package(folder, **files))


def arrows(modules, nested=False):
    return dict(rooms.arrows(modules, "made", nested))


# ---- rooms


def test_rooms_have_files_and_lines(tmp_path):
    modules = modules_of(tmp_path, loose="1\n2\n", a__x="1\n", a__b__y="1\n2\n3\n")
    assert rooms.sizes(modules) == {"a": (1, 1), "a.b": (1, 3), "root": (2, 2)}


def test_a_folder_that_is_no_package_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="not the folder of a package"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("statement", "target"),
    [
        ("import made.b.y", "b"),
        ("import made.b", "b"),
        ("from made.b import y", "b"),
        ("from made.b.y import thing", "b"),
        ("from made import b", "b"),
        ("from made import loose", "loose"),
        ("from ..b import y", "b"),
        ("from .. import loose", "loose"),
        ("def f():\n    from made.b import y", "b"),
        ("if TYPE_CHECKING:\n    from made.b import y", "b"),
        ("importlib.import_module('made.b.y')", "b"),
        ("from made import thing", None),
        ("from . import x2", None),
        ("import numpy.b", None),
        ("import made_otherwise.b", None),
    ],
)
def test_every_way_to_import_is_an_arrow(tmp_path, statement, target):
    modules = modules_of(
        tmp_path, loose="", a__init="", a__x=statement, a__x2="", b__init="", b__y=""
    )
    assert arrows(modules) == ({("a", target): 1} if target else {})


def test_relative_imports_of_an_init_start_in_its_folder(tmp_path):
    modules = modules_of(
        tmp_path, a__init="from .x import f\nfrom ..b import y", a__x="", b__init="", b__y=""
    )
    assert arrows(modules) == {("a", "b"): 1}


def test_what_the_package_itself_imports_is_no_arrow(tmp_path):
    modules = modules_of(
        tmp_path, init="from made.a import x", a__init="", a__x="from made import x"
    )
    assert arrows(modules) == {}


def test_nested_rooms_are_rooms_of_their_own(tmp_path):
    files = {
        "a__init": "from made.a.b import y",
        "a__x": "",
        "a__b__init": "",
        "a__b__y": "from made.a import x",
    }
    modules = modules_of(tmp_path, **files, c="from made.a.b import y")
    assert arrows(modules) == {("c", "a"): 1}
    assert arrows(modules, nested=True) == {("a.b", "a"): 1, ("c", "a.b"): 1}


def test_circles_between_nested_rooms(tmp_path):
    files = {
        "a__init": "",
        "a__x": "from made.a.b import y",
        "a__b__init": "",
        "a__b__y": "from made.a import z",
    }
    modules = modules_of(tmp_path, **files, a__z="")
    assert rooms.circles(rooms.graph_of(arrows(modules))) == []
    assert rooms.circles(rooms.graph_of(arrows(modules, nested=True))) == [["a", "a.b"]]
    assert rooms.circles(rooms.module_graph(modules, "made")) == []


def test_circles_between_modules(tmp_path):
    modules = modules_of(
        tmp_path,
        x="from made import y",
        y="from made.z import f",
        z="import made.x",
        w="import made.x",
    )
    assert rooms.circles(rooms.module_graph(modules, "made")) == [["x", "y", "z"]]


def test_an_import_runs_the_init_of_a_folder_on_the_way(tmp_path):
    modules = modules_of(
        tmp_path,
        a="from made.b.y import f",
        b__init="from made.b.z import g",
        b__y="",
        b__z="import made.a",
    )
    assert rooms.circles(rooms.module_graph(modules, "made")) == [["a", "b", "b.z"]]


def test_circles_and_floors_of_graphs():
    graph = {
        "a": {"b", "d"},
        "b": {"c"},
        "c": {"b", "e"},
        "d": {"e"},
        "e": {"f"},
        "f": set(),
        "g": {"h"},
        "h": {"g"},
    }
    assert sorted(rooms.circles(graph)) == [["b", "c"], ["g", "h"]]
    assert rooms.floors(graph) == 4
    assert rooms.floors({}) == 0


# ---- figures

TEXT = '''"""Docstring, # of a file."""

import numpy as np  # a comment


def f(x: Any, y: list[Any], z: int, estimator, *rest: Any):
    """Docstring."""
    # another comment
    found, a = x, y

    b = 1
    c, d = pair
    return a + b


def g():
    """Nothing else."""


def h(): return found
'''


def test_figures_of_a_file(tmp_path):
    figures = style.figures(modules_of(tmp_path, a=TEXT))
    assert figures["files"] == 2
    assert figures["lines"] == figures["file lines, maximum"] == figures["file lines, median"] == 20
    assert figures["function lines, maximum"] == 5
    assert figures["tokens a body line"] == round(
        (7 + 3 + 5 + 4 + 7) / 6, 2
    )  # h's body is its whole line
    assert figures["tuple assignments, %"] == round(100 / 3, 1)
    assert figures["comment lines, %"] == round(200 / 12, 1)
    assert figures["arguments that are Any, %"] == 50
    assert figures["arguments with Any in them, %"] == 75
    assert figures["functions with a variable `found`"] == 1
    assert figures["functions that take an estimator"] == 1
    assert figures["loose modules"] == 1


def test_figures_of_nothing(tmp_path):
    assert set(style.figures(modules_of(tmp_path)).values()) == {0, 1}


def test_lists_say_where(tmp_path):
    modules = modules_of(tmp_path, a=TEXT, b__a="", b__init="", c__init="", b__d__a="", e="")
    assert style.functions_with_found(modules) == ["a.py:6 f"]
    assert style.takers_of_estimators(modules) == ["a.py:6 f"]
    assert style.shared_names(modules) == {"a.py": ["b", "b.d", "root"]}


def test_internal_modules_that_dir_shows(tmp_path):
    imported = "from made import a, _hidden\nfrom made.b import thing\nimport made.c\n"
    text = f"{imported}__all__ = ['a', 'thing']"
    root = package(tmp_path, init=text, a="", _hidden="", b="thing = 1", c="", never="")
    assert doors.internal_modules(root) == ["b", "c", "made"]


def test_a_package_that_cannot_be_imported_is_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        doors.internal_modules(package(tmp_path, init="1 / 0"))


# ---- the command


def test_the_survey_of_this_package_knows_its_rooms():
    known = house.survey(house.HERE)
    assert json.loads(json.dumps(known))["figures"] == known["figures"]
    assert known["figures"]["files"] == sum(n_files for n_files, _ in known["sizes"].values())
    assert {"estimators", "losses", "inference", "root"} <= set(known["sizes"])
    assert any(source == "estimators" for source, _, _ in known["imports"]["arrows"])


def test_the_command_prints_and_compares(tmp_path):
    root = package(
        tmp_path, a__x="from made.b import y", b__y="from made.a import x\nZ = K * K", c=""
    )
    other = package(tmp_path / "other", a="")
    command = [sys.executable, str(Path(house.__file__)), str(root)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Circles between rooms: 1\n  a - b\n" in answer
    assert "b/y.py:2  arithmetic: K * K" in answer
    assert "Files with K * K or branches on a chain's order: 1" in answer
    table = subprocess.run(
        [*command, "--compare", str(other)], capture_output=True, text=True, check=True
    ).stdout
    assert "| files | 2 | 4 |" in table
