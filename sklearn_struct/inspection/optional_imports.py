"""pandas and matplotlib, imported when something needs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["pandas", "subplots"]


def pandas(caller: str) -> Any:
    return _module("pandas", caller, "frames")


def subplots(caller: str, **options: Any) -> tuple[Any, Any]:
    """A new figure, with room for long labels, and its axes, as matplotlib's `subplots` gives them."""
    return _module("matplotlib.pyplot", caller, "plots").subplots(layout="constrained", **options)


def _module(name: str, caller: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        raise ImportError(
            f'{caller} needs {package}: pip install {package}, or sklearn-struct with the extra "{extra}"'
        ) from error
