"""Ratios of two versions, and the cases of which they are."""

from __future__ import annotations

import subprocess
import sys

import pytest
from versions.sides import check_package

SENTENCES = [
    [("The", "DT"), ("cat", "NN"), ("sat", "VBD"), (".", ".")],
    [("Yes", "UH")],
    [("A", "DT"), ("cat", "NN")],
]
LABELS = [["B-NP", "I-NP", "O", "O"], ["O"], ["B-NP", "I-NP"]]


def rounds(before, after, again):
    return [
        {"before": {"fit": a}, "after": {"fit": b}, "again": {"fit": c}}
        for a, b, c in zip(before, after, again)
    ]


def test_medians_of_ratios_and_the_spread_of_a_version_against_itself():
    from speed.versions import compared

    [row] = compared("np", rounds([1.0, 2.0, 4.0], [1.2, 2.2, 4.0], [0.8, 2.0, 4.4]))
    assert row.name == "np: fit"
    assert row.seconds == 2.0
    assert row.ratio == pytest.approx(1.1)
    assert (row.lowest, row.highest) == (1.0, 1.2)
    assert row.itself == 1.0
    assert row.spread == pytest.approx(1.1)  # of 1.25, 1 and 1.1


@pytest.mark.parametrize(
    ("after", "again", "slower"),
    [(1.02, 1.0, False), (1.04, 1.0, True), (1.04, 0.95, False), (1.04, 1.05, False)],
)
def test_a_case_is_slower_if_its_ratio_is_above_the_bound_and_the_spread(after, again, slower):
    from speed.versions import compared

    [row] = compared("np", rounds([1.0] * 3, [after] * 3, [again] * 3))
    assert row.is_slower is slower


def test_cases_of_too_short_a_time_are_left_out():
    from speed.versions import compared

    assert compared("np", rounds([1e-4] * 3, [2e-4] * 3, [1e-4] * 3)) == []
    assert compared("np", []) == []


@pytest.mark.parametrize(
    ("after", "verdict"), [(0.7, "met"), (0.88, "least met"), (0.89, "MISSED")]
)
def test_a_cold_first_fit_has_a_goal(after, verdict):
    from speed.versions import COLD, START, compared, goals

    names = {"fit": COLD["fit"], "warm": "warm: first fit"}
    done = [
        {side: dict.fromkeys(names.values(), seconds) for side, seconds in sides.items()}
        for sides in [{"before": 1.0, "after": after, "again": 1.0}] * 3
    ]
    [goal] = goals(compared(START, done))
    assert goal.value == pytest.approx(after)
    assert goal.verdict() == verdict
    assert goals(compared("np", done)) == []


def test_a_sentence_a_call_has_a_goal():
    from speed.versions import CASES, ONE_A_CALL, compared, goals

    assert ONE_A_CALL in CASES.read_text("utf-8")
    sides = {"before": 1.0, "after": 0.4, "again": 1.0}
    done = [{side: {f"dicts: {ONE_A_CALL}": s} for side, s in sides.items()}] * 3
    [goal] = goals(compared("end-to-end", done))
    assert goal.what == f"end-to-end: dicts: {ONE_A_CALL}, against the version before"
    assert goal.value == pytest.approx(0.4)
    assert goal.verdict() == "least met"


def test_the_geometric_mean_takes_factors_alike():
    from speed.versions import geometric_mean

    assert geometric_mean([2.0, 0.5]) == pytest.approx(1)


class Worker:
    """In the place of a process: two cases, of which the later version takes half the time."""

    def __init__(self, log, side, stops):
        self.log = log
        self.side = side
        self.names = ["fit", "predict", ""]
        self.stops = stops

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.log.append("ended")

    def ask(self, what):
        if what == "next":
            return self.names.pop(0)
        if self.stops and self.names == [""]:
            raise KeyboardInterrupt
        self.log.append(self.side)
        return "0.5" if self.side == "new" else "1.0"


def race(monkeypatch, folder, stops):
    from speed import versions

    log = []
    monkeypatch.setattr(
        versions, "Worker", lambda side, group, scratch, flags: Worker(log, side, stops)
    )
    monkeypatch.setattr(versions.Race, "_prepare", lambda self: log.append("prepared"))
    rounds = versions.Race(["old", "new"], folder, quick=True).run(["np", "encoding"], 3)
    return log, rounds


def test_sides_take_turns_case_by_case(tmp_path, monkeypatch):
    from speed.versions import compared

    log, rounds = race(monkeypatch, tmp_path, stops=False)
    assert log.pop(0) == "prepared"
    one_case = ["old", "new", "old", "new", "old", "old", "old", "old", "new"]
    assert log == 2 * (2 * one_case + ["ended"] * 3)
    rows = [row for group, done in rounds.items() for row in compared(group, done)]
    assert [row.name for row in rows] == [
        f"{group}: {case}" for group in ("np", "encoding") for case in ("fit", "predict")
    ]
    assert {(row.seconds, row.ratio, row.itself) for row in rows} == {(1.0, 0.5, 1.0)}


def test_cases_that_are_complete_remain_if_it_is_stopped(tmp_path, monkeypatch):
    from speed.versions import compared

    log, rounds = race(monkeypatch, tmp_path, stops=True)
    assert log[-3:] == ["ended"] * 3
    assert [row.name for row in compared("np", rounds["np"])] == ["np: fit"]
    assert compared("encoding", rounds["encoding"]) == []


ECHO = "for line in __import__('sys').stdin: print(line.upper(), end='', flush=True)"


def worker(code, folder):
    from speed.versions import Worker

    class Side:
        def __init__(self):
            self.folder = folder

        def conversation(self, *arguments, paths):
            pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
            return subprocess.Popen([sys.executable, "-c", code], text=True, **pipes)

    return Worker(Side(), "np", folder, [])


def test_a_process_answers_line_by_line(tmp_path):
    with worker(ECHO, tmp_path) as process:
        assert [process.ask(word) for word in ("next", "run")] == ["NEXT", "RUN"]


@pytest.mark.parametrize("code", ["print('once')", "print('once'); input(); 1 / 0"])
def test_a_process_that_ends_is_an_error(code, tmp_path):
    with worker(code, tmp_path) as process:
        assert process.ask("next") == "once"
        with pytest.raises(subprocess.CalledProcessError):
            process.ask("run")


def test_the_package_must_be_that_of_the_side(folder, tmp_path):
    check_package(folder.parent)
    with pytest.raises(SystemExit, match="in the place of"):
        check_package(tmp_path)


@pytest.mark.parametrize("group", ["training-chunking", "end-to-end", "encoding", "np"])
def test_cases_on_a_few_sentences(group, tmp_path, monkeypatch):
    from lib import tasks
    from lib.side_by_side import Stopwatch
    from speed import version_cases

    for name in ("chunking", "noun-phrases"):
        toy = tasks.TASKS[name]._replace(load=lambda split: (4 * SENTENCES, 4 * LABELS))
        monkeypatch.setitem(tasks.TASKS, name, toy)
        tasks.write(name, tmp_path, quick=False)
    monkeypatch.setattr(version_cases, "PASSES", dict.fromkeys(version_cases.PASSES, 2))
    with pytest.warns() if group != "encoding" else monkeypatch.context():
        seconds = {name: run() for name, run in version_cases.GROUPS[group](Stopwatch(tmp_path))}
    assert len(seconds) >= 6
    assert min(seconds.values()) >= 0
