"""Names that differ between versions. Cases say the newest ones."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

__all__ = [
    "ATTRIBUTES",
    "JOINT",
    "METHODS",
    "PARAMETERS",
    "make",
    "method",
    "newest",
    "options",
    "public",
]

# New name: names that older versions have. The first that a class has is taken.
PARAMETERS: dict[str, tuple[str, ...]] = {
    "decoder": ("decoding",),
    "init": ("start",),
    "min_frequency": ("min_count",),
    "n_states": ("states",),
    "target_weight": ("constraint_weight",),
}
ATTRIBUTES: dict[str, tuple[str, ...]] = {"targets_": ("constraints_",)}

# In these classes log p(x, y) was called `log_proba`, before all classes had one name for it.
METHODS: dict[str, tuple[str, ...]] = {"log_joint": ("log_proba",)}
JOINT = {"EMLPCFG", "MEstimatedPCFG", "PCFG", "SpectralHMM", "SpectralLPCFG"}

MODULES = (
    "sklearn_struct",
    "sklearn_struct.compat",
    "sklearn_struct.model_selection",
    "sklearn_struct.labeled_features",
    "sklearn_struct.metrics",
    "sklearn_struct.persistence",
    "sklearn.pipeline",
    "sklearn.model_selection",
    "sklearn.preprocessing",
)


def public(name: str) -> Any:
    """The public class or function of this name."""
    for module in map(import_module, MODULES):
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"no public module has {name}")


def options(function: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments under the names that this version has."""
    known = inspect.signature(function).parameters
    renamed = {}
    for name, value in settings.items():
        names = [candidate for candidate in (name, *PARAMETERS.get(name, ())) if candidate in known]
        if not names:
            raise TypeError(f"{getattr(function, '__name__', function)} has no parameter {name}")
        renamed[names[0]] = value
    return renamed


def make(name: str, settings: dict[str, Any]) -> Any:
    """An estimator of this class."""
    cls = public(name)
    return cls(**options(cls, settings))


def method(estimator: Any, name: str) -> Any:
    """The method that has this name now, or None. No other method may pass for it."""
    joint = type(estimator).__name__ in JOINT
    if hasattr(estimator, name):
        is_joint_of_before = joint and name == "log_proba" and not hasattr(estimator, "log_joint")
        return None if is_joint_of_before else getattr(estimator, name)
    for older in METHODS.get(name, ()) if joint else ():
        if hasattr(estimator, older):
            return getattr(estimator, older)
    return None


def newest(name: str, table: dict[str, tuple[str, ...]]) -> str:
    """The name that something has now. Of nested parameters the last part counts."""
    *outer, last = name.split("__")
    for new, older in table.items():
        if last in older:
            last = new
    return "__".join([*outer, last])
