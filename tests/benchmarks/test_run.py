"""The one command: its list, its names, and what the documentation says of both."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "development" / "benchmarks.md"
# folders of pages that people wrote
ROOMS = [ROOT / "docs" / name for name in (".", "user_guide", "how_to", "migration", "development")]
PAGES = [
    ROOT / "README.md",
    *(page for room in ROOMS for kind in ("*.rst", "*.md") for page in sorted(room.glob(kind))),
]
COMMAND = re.compile(r"benchmarks/run\.py +([a-z][-a-z0-9]*)")
KEY = re.compile(r"--paper +([a-z][-a-z0-9]*)")
CELL = re.compile(r"`([a-z][-a-z0-9]*)`")


def run(monkeypatch, capsys, *arguments):
    import run as command

    monkeypatch.setattr(sys, "argv", ["run.py", *arguments])
    assert command.main() == 0
    return capsys.readouterr().out.splitlines()


def test_the_list_has_a_line_for_each_benchmark(monkeypatch, capsys):
    from run import ROWS

    lines = run(monkeypatch, capsys, "--list")
    assert lines == run(monkeypatch, capsys)
    assert re.split("  +", lines[0]) == ["name", "what it measures", "part or peer", "takes"]
    cells = [re.split("  +", line) for line in lines[1:]]
    listed = {name: rest for name, *rest in cells if rest}
    assert len(listed) == len(ROWS)
    for row in ROWS:
        measures, beside, _ = listed[row.name]
        assert measures == row.measures
        expected = row.papers[0].place if row.room == "papers" else row.beside
        assert beside.startswith(expected) if expected else beside
    assert all(len(line) <= 180 for line in lines)


def test_the_list_is_by_purpose(monkeypatch, capsys):
    from lib.listing import PURPOSES
    from lib.sources import PAPERS

    text = "\n".join(run(monkeypatch, capsys, "--list"))
    titles = [f"\n{key}: " for key in PAPERS] + [PURPOSES["peers"], PURPOSES["speed"]]
    places = [text.index(title) for title in titles]
    assert places == sorted(places)


def test_names_choose_what_is_listed(monkeypatch, capsys):
    lines = run(monkeypatch, capsys, "--list", "graph-peers", "threads")
    names = [line.split()[0] for line in lines if line.count("  ") > 1]
    assert names == ["name", "graph-peers", "threads"]


def test_a_paper_leads_to_its_commands(monkeypatch, capsys):
    lines = run(monkeypatch, capsys, "--list", "--paper", "smith-2007")
    assert any(line.startswith("smith-2007: Smith, Vail and Lafferty") for line in lines)
    table = [line.split()[0] for line in lines if " table 1 " in line]
    assert table == ["np-chunking-hmm", "np-chunking-extended"]


def test_a_paper_runs_what_is_listed_of_it(monkeypatch, capsys):
    import run as command
    from lib.sources import PAPERS

    ran = []
    monkeypatch.setattr(command, "_race_all", lambda names, *rest: ran.append(names) or 0)
    for key in PAPERS:
        lines = run(monkeypatch, capsys, "--list", "--paper", key)
        run(monkeypatch, capsys, "--paper", key)
        assert ran[-1]
        assert ran[-1] == [
            name
            for name in command.BENCHMARKS
            if any(line.startswith(f"{name} ") for line in lines)
        ]
    assert "few-labels-addresses" in ran[list(PAPERS).index("haghighi-2006")]


def test_keys_of_papers_are_those_of_the_list():
    from lib.sources import PAPERS
    from run import ROWS

    assert {source.key for row in ROWS for source in row.papers} == set(PAPERS)
    assert all(source.place for row in ROWS for source in row.papers)


def test_an_unknown_paper_is_an_error_with_the_keys(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, capsys, "--paper", "smith-2008")
    said = capsys.readouterr().err
    assert "no paper is called smith-2008" in said
    assert "there are sutton-2012, smith-2007, mann-2008" in said
    with pytest.raises(SystemExit):
        run(monkeypatch, capsys, "encoding", "--paper", "smith-2007")
    assert "give names or --paper" in capsys.readouterr().err


def test_rows_say_where_a_benchmark_lies_and_what_it_stands_beside(folder):
    from run import ROWS

    assert {row.room for row in ROWS} <= {path.name for path in folder.iterdir()}
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert all(row.papers for row in ROWS if row.room == "papers")
    assert all(row.beside for row in ROWS if row.room == "peers")


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


def test_pages_name_whole_commands():
    """The beginning of a name runs all that begin with it, which may be more than is meant."""
    from run import BENCHMARKS

    rst = [page for page in PAGES if page.suffix == ".rst"]
    texts = {page: page.read_text("utf-8") for page in rst}
    given = {(page.name, name) for page in rst for name in COMMAND.findall(texts[page])}
    given |= {(page.name, name) for page in rst for name in CELL.findall(texts[page])}
    begun = {
        (page, name)
        for page, name in given
        if name not in BENCHMARKS and any(known.startswith(f"{name}-") for known in BENCHMARKS)
    }
    # the page on papers explains it by an example; the others are arguments of estimators
    assert (
        begun
        == {
            ("papers.rst", "few-labels"),
            ("solvers.rst", "classes"),
            ("graphs.rst", "hidden"),
            ("hidden_states.rst", "hidden"),
        }
        & begun
    )
    assert not any(page == "hidden_states.rst" for page, _ in begun)


def test_papers_in_the_documentation_exist():
    from lib.sources import PAPERS

    given = {key for page in PAGES for key in KEY.findall(page.read_text("utf-8"))}
    assert "smith-2007" in given
    assert given <= set(PAPERS)


def test_the_page_has_the_list(tmp_path):
    from lib.listing import write_list
    from run import ROWS

    page = tmp_path / PAGE.name
    page.write_text(PAGE.read_text("utf-8"), encoding="utf-8")
    write_list(page, ROWS)
    assert page.read_text("utf-8") == PAGE.read_text("utf-8"), "run the command in its comment"
    named = set(CELL.findall(page.read_text("utf-8")))
    assert {row.name for row in ROWS} <= named


def test_a_page_without_place_for_the_list_is_an_error(tmp_path):
    from lib.listing import write_list

    (tmp_path / "page.md").write_text("# Benchmarks\n")
    with pytest.raises(SystemExit, match="lacks the comments"):
        write_list(tmp_path / "page.md", [])


def test_what_is_written_is_of_whole_data(monkeypatch, capsys):
    for arguments in (("encoding", "--quick"), ("versions", "--before", str(ROOT))):
        with pytest.raises(SystemExit):
            run(monkeypatch, capsys, *arguments, "--write", "page.md")
        assert "--write keeps results of whole data" in capsys.readouterr().err


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
