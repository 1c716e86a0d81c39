"""Verdicts about goals."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("value", "at_most", "verdict"),
    [
        (6.0, False, "met"),
        (5.5, False, "least met"),
        (4.9, False, "MISSED"),
        (None, False, "NO FIGURE"),
        (4.0, True, "met"),
        (float("inf"), True, "MISSED"),
    ],
)
def test_verdicts(value, at_most, verdict):
    from lib.goals import Goal

    goal, least = (4.0, 5.0) if at_most else (6.0, 5.0)
    assert Goal("", value, goal, least, at_most).verdict() == verdict


def test_without_figures_each_goal_is_printed_as_such(capsys):
    from lib.goals import print_goals
    from lib.side_by_side import Medians
    from run import BENCHMARKS

    goals = [goal for benchmark in BENCHMARKS.values() for goal in benchmark.goals(Medians())]
    print_goals(goals)
    lines = capsys.readouterr().out.strip().splitlines()[1:]
    assert len(lines) == len(goals)
    assert all(line.endswith("NO FIGURE") for line in lines)
