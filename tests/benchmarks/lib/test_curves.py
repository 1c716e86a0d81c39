"""Curves: plots and slopes."""

from __future__ import annotations

import pytest


def test_curves_are_plotted_as_their_benchmark_says(tmp_path):
    from lib.curves import plot_curves
    from lib.goals import no_goals
    from lib.side_by_side import Benchmark, Picture, Run

    runs = {"a": [Run({}, [(1.0, 3.0), (2.0, 2.0)])], "optimum": [Run({}, [(float("nan"), 1.0)])]}
    broken = {"b": [Run({}, [(1.0, 80.0), (1.0, float("nan")), (2.0, 90.0)])]}
    scores = Benchmark("Scores", {}, no_goals, picture=Picture("sentences", "F1", excess=False))
    plot_curves(
        [(Benchmark("Objective", {}, no_goals), runs), (scores, broken)], tmp_path / "curves.png"
    )
    assert (tmp_path / "curves.png").stat().st_size > 1000


def test_slope_of_a_power():
    from lib.curves import slope

    assert slope([1, 2, 4], [3.0, 12.0, 48.0]) == pytest.approx(2)
