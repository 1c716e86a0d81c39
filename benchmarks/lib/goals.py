"""What the project promises about speed, and whether it is kept."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple


class Goal(NamedTuple):
    """A figure with what it should be and the least that will do; None where it could not be
    measured.
    """

    what: str
    value: float | None
    goal: float
    least: float
    at_most: bool = False

    def verdict(self) -> str:
        if self.value is None:
            return "NO FIGURE"
        sign = -1 if self.at_most else 1
        if sign * self.value >= sign * self.goal:
            return "met"
        return "least met" if sign * self.value >= sign * self.least else "MISSED"


def no_goals(medians: object) -> list[Goal]:
    """Of benchmarks that promise nothing."""
    return []


def print_goals(goals: Iterable[Goal]) -> None:
    """One line a goal: what was measured, the goal, the least in brackets, the verdict."""
    goals = list(goals)
    if not goals:
        return
    width = max((len(goal.what) for goal in goals), default=0) + 2
    print(f"\n{'':{width}}{'measured':>10} {'goal':>10} {'(least)':>11}")
    for goal in goals:
        value = (
            "-"
            if goal.value is None
            else "never"
            if math.isinf(goal.value)
            else f"{goal.value:.4g}"
        )
        sign = "≤" if goal.at_most else "≥"
        wanted = f"{sign} {goal.goal:g}"
        least = f"({goal.least:g})"
        print(f"{goal.what:{width}}{value:>10} {wanted:>10} {least:>11}  {goal.verdict()}")
