"""What the files at the root say of each other: version, addresses, extras, README, links."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import subprocess
import tomllib
from pathlib import Path

import pytest

import sklearn_struct

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / ".github").rglob("*.md"))]
# those of a GitHub organisation; PyPI's and others' addresses are none of these
OWN_ADDRESS = re.compile(r"https://github\.com/sklearn[-_]struct[-\w./]*")
LINK = re.compile(r"\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"^print\(.*\)  # (.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def pyproject():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def field(file, name):
    """A field at the beginning of a line of YAML."""
    return re.search(rf"^{name}: (.+)$", file.read_text("utf-8"), re.MULTILINE)[1]


def in_the_checkout(*names):
    """A file; archives lack those of the forge."""
    file = ROOT.joinpath(*names)
    if not file.is_file():
        pytest.skip(f"no {file.name}")
    return file


# ---- one version, one address


def test_the_version_is_one_number(pyproject):
    version = sklearn_struct.__version__
    assert pyproject["project"]["dynamic"] == ["version"]
    assert pyproject["tool"]["hatch"]["version"] == {"path": "sklearn_struct/__init__.py"}
    assert field(ROOT / "CITATION.cff", "version") == version
    assert re.findall(r"version = \{(.+)\}", README.read_text("utf-8")) == [version]
    changes = (ROOT / "CHANGES.md").read_text("utf-8")
    assert re.search(r"^## (\S+)", changes, re.MULTILINE)[1] == version


def test_the_address_is_set_in_one_place(pyproject):
    address = pyproject["project"]["urls"]["Repository"]
    assert OWN_ADDRESS.fullmatch(address)
    assert field(ROOT / "CITATION.cff", "repository-code") == address
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    files = [ROOT / name for name in names if Path(name).suffix in (".md", ".rst", ".py", ".toml")]
    others = {
        str(file.relative_to(ROOT)): url
        for file in files
        if file.is_file()
        for url in OWN_ADDRESS.findall(file.read_text("utf-8"))
        if url != address and not url.startswith(f"{address}/")
    }
    assert others == {}


def test_the_licence_is_one(pyproject):
    licence = pyproject["project"]["license"]
    assert field(ROOT / "CITATION.cff", "license") == licence
    assert licence.replace("-", " ", 1) in README.read_text("utf-8").replace("%20", " ")


def test_the_least_python_is_one(pyproject):
    least = pyproject["project"]["requires-python"].removeprefix(">=")
    assert re.findall(r"python-([\d.]+)%2B-", README.read_text("utf-8")) == [least]
    assert f"Python {least} or newer" in README.read_text("utf-8")


# ---- extras


def test_all_is_what_users_may_want(pyproject):
    """No developer's tools, and no extra for users is left out."""
    extras = pyproject["project"]["optional-dependencies"]
    developers = {"test", "mutants", "lint", "docs", "benchmarks", "browser"}
    (everything,) = extras["all"]
    names = everything.removeprefix("sklearn-struct[").removesuffix("]").split(",")
    assert set(names) == extras.keys() - developers - {"all"}


def test_the_page_on_installing_has_every_extra(pyproject):
    page = (ROOT / "docs" / "install.rst").read_text("utf-8")
    listed = re.findall(r"^   \* - ``(\w+)``$", page, re.MULTILINE)
    assert sorted(listed) == sorted(pyproject["project"]["optional-dependencies"])


def test_a_release_runs_all_that_contributors_need_not():
    """Jobs of CI that `.ci/run` alone leaves out."""
    releases = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Releases")[2]
    step = re.search(r"^2\. (.+(?:\n   .+)*)", releases, re.MULTILINE)
    assert re.search("browser.*gallery", step[1], re.DOTALL)


# ---- README


def blocks(language):
    """(line, text) of the fenced blocks of README in a language."""
    text = README.read_text("utf-8")
    return [
        (text[: block.start()].count("\n") + 1, block[2])
        for block in BLOCK.finditer(text)
        if block[1] == language
    ]


def test_the_first_block_has_the_two_commands():
    """`.ci/run` takes them from there; the workflow of releases knows the first one."""
    assert BLOCK.search(README.read_text("utf-8"))[1] == "bash"
    main_job, tests = blocks("bash")[0][1].splitlines()
    assert main_job.startswith("python -m pip install . && python examples/")
    assert tests.endswith("python -m pytest -n auto --dist worksteal")
    release = in_the_checkout(".github", "workflows", "release.yml").read_text("utf-8")
    assert main_job in release


@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: f"line {block[0]}")
def test_examples_print_what_their_comments_say(block):
    text = block[1]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, README.name, "exec"), {"__name__": "readme"})
    assert printed.getvalue().splitlines() == OUTPUT.findall(text) != []


# ---- links


def anchors(page):
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def broken_links(page):
    """Links to files, and places in them, that are not there."""
    broken = []
    for link in LINK.findall(page.read_text("utf-8")):
        if link.startswith("https://"):
            continue
        name, _, place = link.partition("#")
        file = page.parent / name if name else page
        if not file.exists() or (place and place not in anchors(file)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    assert broken_links(page) == []


def test_broken_links_are_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A *b*, c\n[a](#a-b-c) [b](#b) [c](no.md) [d](https://e.org) [e](page.md)")
    assert broken_links(page) == ["#b", "no.md"]


def test_pypi_shows_links_to_the_repository(pyproject):
    program = runpy.run_path(str(in_the_checkout(".github", "absolute_links.py")))
    address = pyproject["project"]["urls"]["Repository"]
    text = program["absolute"](README.read_text("utf-8"), address, "v1")
    assert [link for link in LINK.findall(text) if not link.startswith(("https://", "#"))] == []
    assert f"({address}/raw/v1/docs/_static/fields.png)" in text
    assert f"({address}/blob/v1/LICENSE)" in text
    assert len(LINK.findall(text)) == len(LINK.findall(README.read_text("utf-8")))


# ---- what is run


def test_the_task_runner_runs_what_ci_runs():
    commands = re.findall(r"session\.run\((.+)\)", (ROOT / "noxfile.py").read_text("utf-8"))
    words = [re.findall(r'"(.+?)"', command) for command in commands]
    run = in_the_checkout(".ci", "run").read_text("utf-8")
    for command in (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]):
        assert command in words
        assert " ".join(command) in run
    (tests,) = [command for command in words if "pytest" in command]
    assert blocks("bash")[0][1].endswith(" ".join(tests) + "\n")


def test_hooks_have_a_version_each():
    hooks = in_the_checkout(".pre-commit-config.yaml").read_text("utf-8")
    assert len(re.findall("repo: https", hooks)) == len(re.findall(r"rev: v\d+\.\d+\.\d+\n", hooks))


def test_actions_are_pinned():
    """A tag can be moved, a commit cannot."""
    in_the_checkout(".github", "workflows", "ci.yml")
    uses = [
        use
        for file in (ROOT / ".github" / "workflows").glob("*.yml")
        for use in re.findall(r"uses: (.+)", file.read_text("utf-8"))
    ]
    assert [use for use in uses if not re.fullmatch(r"[-\w/]+@[0-9a-f]{40} # v[\d.]+", use)] == []
