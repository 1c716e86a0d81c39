"""Docstrings of the names on the page of the API: what each must have, and pages of the docs."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest
from public_estimators import PREDICTORS

import sklearn_struct
from sklearn_struct.compat import CRF

DOCS = Path(__file__).parents[1] / "docs"
CODE_WIDTH = 88  # wider code is cut on a page
# scikit-learn's own, or of classes that scikit-learn calls
INHERITED = {"get_metadata_routing", "get_params", "set_callbacks", "set_output"}
CITATION = re.compile(r"\[\w+\]_")
# the public modules, and one that holds names of its own
MODULES = (
    *(name for name in sklearn_struct.__all__ if inspect.ismodule(getattr(sklearn_struct, name))),
    "compat.metrics",
)


def names_on_the_page():
    """(module, name) of the tables of the API page, and names that it describes itself."""
    module = ""
    tables = []
    described = []
    for line in (DOCS / "api.rst").read_text("utf-8").splitlines():
        if match := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = match[1]
        elif match := re.fullmatch(r"   ([A-Za-z]\w*)", line):
            tables.append((module, match[1]))
        elif match := re.match(r"\.\. data:: (\w+)", line):
            described.append((module, match[1]))
    return tables, described


NAMES, DESCRIBED = names_on_the_page()
OBJECTS = {f"{module}.{name}": getattr(import_module(module), name) for module, name in NAMES}
GIVEN = pytest.mark.parametrize("name", OBJECTS)


def sections(text):
    """Lines of a docstring by the titles of its sections; those before the first under ""."""
    made = {"": []}
    title = ""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        below = lines[i + 1] if i + 1 < len(lines) else ""
        if line and below and set(below) == {"-"}:
            title = line
            made[title] = []
        else:
            made[title].append(line)
    return made


def summary(text):
    return " ".join(inspect.cleandoc(text).split("\n\n")[0].split())


# ---- names


def test_the_page_has_every_name():
    missing = [
        f"{module.__name__}.{name}"
        for module in (
            sklearn_struct,
            *(import_module(f"sklearn_struct.{one}") for one in MODULES),
        )
        for name in module.__all__
        if (module.__name__, name) not in DESCRIBED
        and not inspect.ismodule(getattr(module, name))
        # by any of its names: compat has functions of metrics, too
        and not any(getattr(module, name) is one for one in OBJECTS.values())
    ]
    assert missing == []


@GIVEN
def test_a_name_has_an_example(name):
    assert any(
        ">>>" in line for line in sections(inspect.getdoc(OBJECTS[name])).get("Examples", ())
    )


@GIVEN
def test_a_summary_cites_nothing(name):
    """A table shows the key of a citation as it stands."""
    said = summary(OBJECTS[name].__doc__)
    assert said.endswith((".", ":"))
    assert not CITATION.search(said)


@GIVEN
def test_a_name_leads_to_a_page_of_the_guide(name):
    pages = re.findall(r":doc:`/(\S+?)`", inspect.getdoc(OBJECTS[name]))
    assert pages
    assert [page for page in pages if not (DOCS / f"{page}.rst").exists()] == []


def relatives(text):
    """Names of the section See Also."""
    lines = sections(text).get("See Also", ())
    entries = [line for line in lines if line and line[0] not in " -"]
    return [name.strip() for entry in entries for name in entry.split(" : ")[0].split(",")]


@GIVEN
def test_relatives_are_public(name):
    """A name without a dot is one that a single module has."""
    related = relatives(inspect.getdoc(OBJECTS[name]))
    assert related
    known = [one.rpartition(".")[2] for one in OBJECTS]
    for one in related:
        module, _, last = one.rpartition(".")
        if not module:
            assert known.count(last) == 1, one
        elif one in {f"sklearn_struct.{public}" for public in MODULES}:
            continue
        elif module.partition(".")[0] == "sklearn":
            assert hasattr(import_module(module), last), one
        else:
            assert one in OBJECTS or module in OBJECTS, one


# ---- methods


def methods():
    """Public methods by their names, but for scikit-learn's."""
    made = {}
    for name, cls in OBJECTS.items():
        if not inspect.isclass(cls) or not cls.__module__.startswith("sklearn_struct"):
            continue
        for method in dir(cls):
            member = inspect.getattr_static(cls, method)
            # methods that are there under a condition, and of the class
            member = getattr(member, "fn", getattr(member, "__func__", member))
            ours = str(getattr(member, "__module__", "")).startswith("sklearn_struct")
            if inspect.isfunction(member) and ours and not method.startswith("_"):
                made[f"{name}.{method}"] = member
    return {name: one for name, one in made.items() if name.rpartition(".")[2] not in INHERITED}


METHODS = methods()


@pytest.mark.parametrize("name", METHODS)
def test_a_method_says_what_it_takes_and_returns(name):
    method = METHODS[name]
    made = sections(inspect.cleandoc(method.__doc__))
    parameters = [one for one in inspect.signature(method).parameters if one not in ("self", "cls")]
    assert made[""][0].strip()
    assert "Parameters" in made or not parameters
    assert "Returns" in made or "Yields" in made or method.__annotations__["return"] == "None"
    documented = re.findall(
        r"^\**([\w, *]+?)(?: : .*)?$", "\n".join(made.get("Parameters", ())), re.M
    )
    said = {one.strip("* ") for names in documented for one in names.split(",")}
    assert set(parameters) <= said


@pytest.mark.parametrize("name", [*OBJECTS, *METHODS])
def test_code_fits_a_page(name):
    text = inspect.cleandoc((OBJECTS | METHODS)[name].__doc__)
    blocks = re.findall(r"^ *>>>(?:.+\n?)+", text, re.MULTILINE)
    assert [line for block in blocks for line in block.splitlines() if len(line) > CODE_WIDTH] == []


@pytest.mark.parametrize("name", [*OBJECTS, *METHODS])
def test_formulas_are_no_lists(name):
    """A line of text that begins with a plus is an item of a list on a page, without its plus; an
    indented line below another makes that one a term.
    """
    text = inspect.cleandoc((OBJECTS | METHODS)[name].__doc__)
    assert re.findall(r"(?m)^ *[+*] .*", outside_of_code(text)) == []
    before_sections = outside_of_code("\n".join(sections(text)[""]))
    for paragraph in before_sections.split("\n\n"):
        lines = [line for line in paragraph.splitlines() if line]
        for above, line in pairwise(lines):
            assert not line.startswith(" ") or indent(line) == indent(above) or is_item(above, line)
            assert not re.match(" *- ", line) or is_item(lines[0], lines[0]), line


def outside_of_code(text):
    """The docstring without its literal blocks and directives."""
    return re.sub(r"(?m)(^.*::(?: .*)?\n)(?:\n|^ .*\n?)+", r"\n", text + "\n")


def indent(line):
    return len(line) - len(line.lstrip())


def is_item(above, line):
    """Whether a line is an item of a list or goes on with one; so is a footnote."""
    return bool(re.match(r" *(- |\.\. )", above) or re.match(" *- ", line))


# ---- extensions of the docs


def groups():
    """The table of the extension, which is read, since importing it needs Sphinx."""
    text = (DOCS / "_extensions" / "parameter_groups.py").read_text("utf-8")
    tables = [
        node.value
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "GROUPS"
    ]
    return {group: names.split() for group, names in ast.literal_eval(tables[0]).items()}


def test_each_parameter_of_estimators_is_in_one_group():
    grouped = [name for names in groups().values() for name in names]
    parameters = {name for cls in (*PREDICTORS, CRF) for name in inspect.signature(cls).parameters}
    assert sorted(grouped) == sorted(parameters)


def test_names_of_other_projects_are_in_their_inventories():
    """Those in pages and docstrings; ``python docs/inventories/refresh.py`` adds them."""
    files = {file.stem: file.read_text("utf-8") for file in (DOCS / "inventories").glob("*.txt")}
    texts = [
        file.read_text("utf-8")
        for folder, kind in ((DOCS, "*.rst"), (DOCS.parent / "sklearn_struct", "*.py"))
        for file in folder.rglob(kind)
        if "generated" not in file.parts and "gallery" not in file.parts
    ]
    projects = "|".join(files)
    named = re.findall(rf"(?<!`)`~?((?:{projects})(?:\.\w+)+)`(?!`)", "\n".join(texts))
    missing = [name for name in named if f"\n{name} " not in files[name.partition(".")[0]]]
    assert missing == []
