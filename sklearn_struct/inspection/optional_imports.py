"""pandas, matplotlib and networkx, imported when something needs them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["networkx", "pandas", "subplots"]


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


def _module(name: str, caller: str, extra: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        raise ImportError(
            f"{caller} needs {package}: pip install {package}, or sklearn-struct with the extra "
            f'"{extra}"'
        ) from error
