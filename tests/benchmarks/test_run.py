"""The one command: its list, its names, and what the documentation says of both."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "development" / "benchmarks.md"
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "user_guide").glob("*.rst")),
    *sorted((ROOT / "docs" / "development").glob("*.md")),
]
COMMAND = re.compile(r"benchmarks/run\.py +([a-z][-a-z0-9]*)")
CELL = re.compile(r"`([a-z][-a-z0-9]*)`")


def run(monkeypatch, capsys, *arguments):
    import run as command

    monkeypatch.setattr(sys, "argv", ["run.py", *arguments])
    assert command.main() == 0
    return capsys.readouterr().out.splitlines()


def test_the_list_has_a_line_for_each_benchmark(monkeypatch, capsys):
    from run import ROWS

    head, *lines = run(monkeypatch, capsys)
    assert head.split() == ["room", "name", "what", "it", "measures", "paper", "or", "peer"]
    assert len(lines) == len(ROWS)
    for row, line in zip(ROWS, lines):
        cells = re.split("  +", line)
        assert cells == [row.room, row.name, row.measures, row.beside or "-"]
        assert len(line) <= 180


def test_rows_say_where_a_benchmark_lies_and_what_it_stands_beside(folder):
    from run import ROWS

    assert {row.room for row in ROWS} <= {path.name for path in folder.iterdir()}
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert all(row.beside for row in ROWS if row.room in ("papers", "peers"))


def test_file_names_do_not_repeat_their_room(folder):
    for path in folder.glob("*/*.py"):
        assert path.parent.name.removesuffix("s") not in path.stem, path
        assert not path.stem.startswith("bench"), path


@pytest.mark.parametrize("name", ["training", "end-to-end", "encoding", "parsers", "np"])
def test_names_that_comparisons_of_versions_use(name):
    from run import BENCHMARKS
    from speed.version_cases import GROUPS

    assert any(known.startswith(name) for known in BENCHMARKS)
    assert any(known.startswith(name) for known in GROUPS)


def test_unknown_names_are_an_error(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, capsys, "trainign")
    assert "no benchmark begins with trainign" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(monkeypatch, capsys, "versions")
    assert "--before" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(monkeypatch, capsys, "versions", "trainign", "--before", str(ROOT))
    assert "no group begins with trainign" in capsys.readouterr().err


def test_commands_in_the_documentation_exist():
    from run import ALL, ROWS

    known = [ALL, *(row.name for row in ROWS)]
    given = {(page, name) for page in PAGES for name in COMMAND.findall(page.read_text("utf-8"))}
    for page, name in given:
        assert any(other.startswith(name) for other in known), (page, name)
    assert len({page for page, _ in given}) >= 5


def test_the_page_names_every_benchmark_and_no_other():
    from run import ROWS

    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [line.split("|")[-2] for line in lines if line.startswith("|")]
    cells += [line.partition(": ")[0] for line in lines if line.startswith("  - ")]
    named = {name for cell in cells for name in CELL.findall(cell)}
    names = [row.name for row in ROWS]
    for name in names:
        assert any(name.startswith(given) for given in named), name
    for given in named:
        assert any(name.startswith(given) for name in names), given


def rows_of_papers():
    """The cells of the tables that lead from a section to its command."""
    rows = []
    for line in (ROOT / "docs" / "user_guide" / "papers.rst").read_text("utf-8").splitlines():
        if line.startswith("   * - "):
            rows.append([line.removeprefix("   * - ")])
        elif line.startswith("     - "):
            rows[-1].append(line.removeprefix("     - "))
        elif line.startswith("       ") and rows:
            rows[-1][-1] += " " + line.strip()
    return rows


def test_the_guide_leads_from_each_section_to_a_command():
    from run import ROWS

    rows = rows_of_papers()
    heads = [row for row in rows if row[0] == "Section or equation"]
    assert len(heads) == 5
    for row in rows:
        assert len(row) == 3, row
        assert all(cell.strip() for cell in row), row
    for row in rows:
        for name in re.findall("``([a-z][-a-z0-9]*)``", row[2]):
            assert any(known.name.startswith(name) for known in ROWS), (row[0], name)
    assert sum("``" in row[2] for row in rows) == len(rows)
