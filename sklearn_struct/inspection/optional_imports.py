"""pandas, matplotlib and networkx, imported when something needs them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["add_legend", "networkx", "pandas", "subplots"]


def networkx() -> ModuleType | None:
    """The module networkx, where it is installed."""
    try:
        return import_module("networkx")
    except ImportError:
        return None


def pandas(caller: str) -> ModuleType:
    """The module pandas, for a caller that errors name."""
    return _module("pandas", caller, "frames")


def subplots(caller: str, **options: Any) -> tuple[Any, Any]:
    """A new figure with room for long labels, and its axes, as by matplotlib's `subplots`."""
    plots = _module("matplotlib.pyplot", caller, "plots")
    figure, axes = plots.subplots(layout="constrained", **options)
    return figure, axes


def add_legend(ax: Any, handles: Iterable[Any], **options: Any) -> None:
    """A legend of what is drawn, with its labels as they are: matplotlib leaves out those that
    begin with _, and reads what stands between two $ as mathematics.
    """
    shown = [*handles]
    before = ax.get_legend_handles_labels()[0]
    shown = [handle for handle in before if handle not in shown] + shown
    legend = ax.legend(shown, ["label"] * len(shown), **options)
    for text, handle in zip(legend.get_texts(), shown, strict=True):
        text.set(text=handle.get_label(), parse_math=False)


def _module(name: str, caller: str, extra: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        raise ImportError(
            f"{caller} needs {package}: pip install {package}, or sklearn-struct with the extra "
            f'"{extra}"'
        ) from error
