"""Ratios of two versions, and the cases of which they are."""

from __future__ import annotations

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


def test_the_geometric_mean_takes_factors_alike():
    from speed.versions import geometric_mean

    assert geometric_mean([2.0, 0.5]) == pytest.approx(1)


def test_each_side_is_first_equally_often(tmp_path, monkeypatch):
    from speed.versions import Race

    order = []

    def work(self, side, group):
        order.append(side)
        return {}

    monkeypatch.setattr(Race, "_work", work)
    race = Race(["old", "new"], tmp_path, quick=True)
    assert {group: len(done) for group, done in race.run(["np", "encoding"], 3).items()} == {
        "np": 3,
        "encoding": 3,
    }
    assert order.pop(0) == "new"  # prepares the data
    first = order[:4]
    counted = order[4:]
    assert first == ["old", "new"] * 2
    assert [counted[i : i + 3].index("new") for i in range(0, 18, 3)] == [0, 0, 2, 2, 1, 1]


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
    watch = Stopwatch(tmp_path)
    with pytest.warns() if group != "encoding" else monkeypatch.context():
        version_cases.GROUPS[group](watch)
    assert len(watch.figures) >= 6
    assert min(watch.figures.values()) >= 0
