"""Plots of what training reaches: in what time, or with how much data."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from lib.side_by_side import Benchmark, Picture, Runs

COLOURS = ("tab:blue", "tab:cyan", "tab:red", "tab:orange", "black", "tab:green")


def plot_curves(results: list[tuple[Benchmark, Runs]], path: Path) -> None:
    """A panel for each benchmark with curves; a line a run."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels = [(benchmark, runs) for benchmark, runs in results if _drawn(runs)]
    width = max(len(panels), 1)
    figure, axes = pyplot.subplots(1, width, squeeze=False, figsize=(5 * width, 4.5))
    for axis, (benchmark, runs) in zip(axes[0], panels, strict=False):
        _draw(axis, benchmark.picture, runs)
        axis.set(
            title=benchmark.title,
            xlabel=benchmark.picture.x,
            ylabel=benchmark.picture.y,
            xscale="log",
        )
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _draw(axis: Any, picture: Picture, runs: Runs) -> None:
    """The curves of a benchmark; a value nan interrupts one."""
    lowest = min(
        (value for several in runs.values() for run in several for _, value in run.curve),
        default=math.nan,
    )
    for (name, several), colour in zip(_drawn(runs).items(), COLOURS, strict=False):
        for r, run in enumerate(several):
            times, values = zip(*run.curve, strict=True)
            if picture.excess:
                values = tuple(max(value / lowest - 1, 1e-7) for value in values)
            axis.plot(
                times,
                values,
                color=colour,
                linewidth=1,
                marker="." * (not picture.excess),
                label=None if r else name,
            )
    if picture.excess:
        axis.axhline(1e-3, color="gray", linewidth=0.5)
        axis.set(yscale="log", ylim=(1e-6, 10))


def _drawn(runs: Runs) -> Runs:
    """Contestants whose curves are more than a value to compare with."""
    return {
        name: several
        for name, several in runs.items()
        if any(len(run.curve) > 1 for run in several)
    }


def slope(x: list[int], y: list[float]) -> float:
    """Of the least-squares line of log y on log x."""
    log_x = [math.log(value) for value in x]
    log_y = [math.log(value) for value in y]
    mean_x = sum(log_x) / len(x)
    mean_y = sum(log_y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(log_x, log_y, strict=True))
    return covariance / sum((a - mean_x) ** 2 for a in log_x)
