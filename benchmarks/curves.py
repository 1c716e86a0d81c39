"""Plot of what training reaches in what time."""

from __future__ import annotations

import math
from pathlib import Path

from side_by_side import Runs

COLOURS = ("tab:blue", "tab:cyan", "tab:red", "tab:orange", "black", "tab:green")


def plot_curves(results: dict[str, Runs], path: Path) -> None:
    """A panel for each benchmark with curves: objective above the lowest seen, against CPU seconds; a line a run."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels = {title: runs for title, runs in results.items() if _lowest(runs) < math.inf}
    figure, axes = pyplot.subplots(1, max(len(panels), 1), squeeze=False, figsize=(5 * max(len(panels), 1), 4.5))
    for axis, (title, runs) in zip(axes[0], panels.items(), strict=False):
        lowest = _lowest(runs)
        for (name, several), colour in zip(_drawn(runs).items(), COLOURS, strict=False):
            for r, run in enumerate(several):
                times = [at for at, _ in run.curve]
                above = [max(value / lowest - 1, 1e-7) for _, value in run.curve]
                axis.plot(times, above, color=colour, linewidth=1, label=None if r else name)
        axis.axhline(1e-3, color="gray", linewidth=0.5)
        axis.set(title=title, xscale="log", yscale="log", xlabel="CPU seconds", ylim=(1e-6, 10))
        axis.legend()
    axes[0][0].set_ylabel("objective above the lowest, relative")
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def _drawn(runs: Runs) -> Runs:
    """Contestants whose curves are more than a value to compare with."""
    return {name: several for name, several in runs.items() if any(len(run.curve) > 1 for run in several)}


def _lowest(runs: Runs) -> float:
    return min((value for several in runs.values() for run in several for _, value in run.curve), default=math.inf)
