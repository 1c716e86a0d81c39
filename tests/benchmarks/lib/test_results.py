"""The page of results: a section a benchmark, written again by each run."""

from __future__ import annotations

import re


def result(name, value=2.0, columns=2):
    from lib.claims import Claim
    from lib.goals import Goal
    from lib.results import Result
    from lib.side_by_side import Medians

    medians = Medians({f"contestant {c}": {"fit, CPU s": value + c} for c in range(columns)})
    goals = [Goal("4. as fast as the peer", value, 1.0, 0.9), Goal("memory", None, 3, 4, True)]
    claims = [Claim("it hardly matters", "phrases", "difference", 0.5)]
    return Result(name, f"Time of {name}", medians, goals, claims)


def conditions(load=0.1):
    from lib.results import Conditions

    return Conditions(3, 130.0, load, 9.26)


def test_a_section_has_everything():
    from lib.results import section

    text = section(result("encoding"), conditions())
    for part in (
        "## `encoding`\n\nTime of encoding.\n",
        "$ python benchmarks/run.py encoding --runs 3\n",
        "fit, CPU s",
        "- as fast as the peer: 2 (goal at least 1, least 0.9): met\n",
        "- memory: no figure (goal at most 3, least 4): NO FIGURE\n",
        "- it hardly matters (phrases): difference 0.5: confirmed\n",
        "- Date: 20",
        "- Machine: ",
        "- Memory: it copied 9.3 GB a second before the start\n",
        "- Wall time of the command: 2 min, 3 runs\n",
        "numpy ",
        "scikit-learn ",
    ):
        assert part in text, part
    assert "busy" not in text
    assert "busy: at the start 4.2" in section(result("encoding"), conditions(4.2))


def test_conditions_are_of_the_run():
    from lib.results import watched

    answer, conditions = watched(lambda: "done", 2)
    assert answer == "done"
    assert conditions.runs == 2
    assert conditions.seconds >= 0
    assert conditions.copied > 0


def test_wide_tables_are_cut_into_narrow_ones():
    from lib.results import WIDTH, narrow, section

    wide = result("encoding", columns=12)
    parts = narrow(wide.medians)
    assert len(parts) > 1
    assert [name for part in parts for name in part] == list(wide.medians)
    (block,) = re.findall("```\n(.*?)```", section(wide, conditions()), re.DOTALL)
    assert max(map(len, block.splitlines())) <= WIDTH


def test_a_run_replaces_its_section_alone(tmp_path):
    from lib.results import read_sections, write_section

    page = tmp_path / "results.md"
    order = ["training", "encoding"]
    write_section(page, result("encoding"), conditions(), order)
    write_section(page, result("training"), conditions(), order)
    before = read_sections(page)
    assert list(before) == order
    write_section(page, result("encoding", 7.0), conditions(), order)
    after = read_sections(page)
    assert list(after) == order
    assert after["training"] == before["training"]
    assert after["encoding"] != before["encoding"]
    text = page.read_text("utf-8")
    write_section(page, result("encoding", 7.0), conditions(), order)
    assert page.read_text("utf-8") == text


def test_the_list_reads_times_from_the_page(tmp_path):
    from lib.results import times, write_section

    page = tmp_path / "results.md"
    assert times(page) == {}
    write_section(page, result("encoding"), conditions(), ["encoding"])
    assert times(page) == {"encoding": "2 min, 3 runs"}


def test_numbers():
    from lib.results import number

    said = [number(value) for value in (None, 0.12346, 1234.4, 1757700.0, float("inf"))]
    assert said == ["no figure", "0.1235", "1234", "1,757,700", "never"]


def test_durations():
    from lib.results import duration

    said = [duration(seconds) for seconds in (2, 89, 90, 600, 7200)]
    assert said == ["2 s", "89 s", "2 min", "10 min", "2.0 h"]
