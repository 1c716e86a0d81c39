"""Files of format 1: what their parameters were called, and their JSON with the names of today."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence.plain_values import Json

__all__ = ["RENAMED", "renamed"]

# of each class, the names that parameters had in files of format 1, and those that they have
RENAMED = {
    "EMLPCFG": {"min_count": "min_frequency"},
    "GECRF": {"constraint_weight": "target_weight", "start": "init"},
    "HMM": {"start": "init", "states": "n_states"},
    "MEMM": {"decoding": "decoder"},
    "MEstimatedPCFG": {"min_count": "min_frequency"},
    "PCFG": {"min_count": "min_frequency"},
    "SpectralHMM": {"min_count": "min_frequency"},
    "SpectralLPCFG": {"min_count": "min_frequency"},
}
# where searches keep the names of parameters
GRIDS = ("param_grid", "param_distributions")
# where estimators keep parts that have names
PARTS = ("steps", "transformer_list")


def renamed(stored: Json) -> Any:
    """JSON of format 1 in which all estimators have parameters of today's names.

    The JSON may be of any form: nothing has checked it yet, and what follows will. Only an object
    with a class and parameters is an estimator, as a dict of a user is stored as pairs.
    """
    if isinstance(stored, list):
        return [renamed(item) for item in stored]
    if not isinstance(stored, dict):
        return stored
    stored = {key: renamed(item) for key, item in stored.items()}
    if type(stored.get("params")) is dict and "class" in stored:
        stored["params"] = _params(stored)
        _rename_tried(stored)
    return stored


def _params(estimator: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an estimator, none of which may have had its name of today."""
    names = _names(estimator)
    for name in names.values():
        if name in estimator["params"]:
            raise ModelFileError(f"{estimator['class']} had no parameter {name!r} in format 1")
    return {names.get(key, key): value for key, value in estimator["params"].items()}


def _names(estimator: dict[str, Any]) -> dict[str, str]:
    """What parameters of an estimator are called today, if they were called something else."""
    name = estimator.get("class")
    # nothing has been checked yet: a list has no hash
    return RENAMED.get(name, {}) if isinstance(name, str) else {}


# ---- names that searches have, such as "pipeline__hmm__states"


def _rename_tried(search: dict[str, Any]) -> None:
    """Rename what a search tries and has tried, in its parameters and in its results."""
    params = search["params"]
    if not any(name in params for name in GRIDS):
        return
    tried = Tried(params.get("estimator"))
    for name in GRIDS:
        if name in params:
            params[name] = tried.renamed(params[name])
    if isinstance(params.get("resource"), str):
        params["resource"] = tried.name(params["resource"], {})
    state = search.get("state")
    if isinstance(state, dict) and "search" in state:  # of a halving search
        state = state["search"]
    if isinstance(state, dict) and {"params", "columns"} <= state.keys():
        state["params"] = tried.renamed(state["params"])
        state["columns"] = tried.columns(state["columns"])


class Tried:
    """Names of parameters inside an estimator, those of its parts included.

    `names` has those that were asked for, and what they are called today.
    """

    def __init__(self, estimator: BaseEstimator) -> None:
        self.estimators = _estimators(estimator)
        self.names: dict[str, str] = {}

    def renamed(self, stored: Json) -> Any:
        """The JSON of a dict by names of parameters, or of several such dicts."""
        if isinstance(stored, list):
            return [self.renamed(item) for item in stored]
        if not isinstance(stored, dict):
            return stored
        pairs = stored.get("dict")
        if not isinstance(pairs, list) or not all(_is_pair(pair) for pair in pairs):
            return {key: self.renamed(item) for key, item in stored.items()}
        given = dict(pairs)
        return {**stored, "dict": [[self.name(key, given), item] for key, item in pairs]}

    def name(self, key: str, given: dict[str, Any]) -> str:
        """What a parameter is called today, if parts of the estimator are the `given` ones."""
        path, joint, last = key.rpartition("__")
        known = [_names(owner) for owner in self._at(path, given)]
        new = next((names[last] for names in known if last in names), last)
        self.names[key] = path + joint + new
        return self.names[key]

    def _at(self, path: str, given: dict[str, Any]) -> list[dict[str, Any]]:
        """The estimators that may be at a path, such as "pipeline__hmm"."""
        if not path:
            return self.estimators
        if path in given:
            return _estimators(given[path])
        outer, _, last = path.rpartition("__")
        return [part for owner in self._at(outer, given) for part in _parts(owner, last)]

    def columns(self, stored: Json) -> Any:
        """Pairs of a result's name and kind; two whose names have become one are one."""
        if not isinstance(stored, list):
            return stored
        new = {f"param_{old}": f"param_{name}" for old, name in self.names.items() if old != name}
        changed = set(new.values())
        columns: list[Any] = []
        for column in stored:
            if _is_pair(column):
                column = [new.get(column[0], column[0]), column[1]]
                if column[0] in changed and column in columns:
                    continue
            columns.append(column)
        return columns


def _is_pair(stored: Json) -> bool:
    return isinstance(stored, list) and len(stored) == 2 and isinstance(stored[0], str)


def _estimators(stored: Json) -> list[dict[str, Any]]:
    """The estimator that some JSON is, or those that it lists."""
    if isinstance(stored, list):
        return [estimator for item in stored for estimator in _estimators(item)]
    if not isinstance(stored, dict) or len(stored) != 1:
        return []
    [(kind, content)] = stored.items()
    if kind == "estimator":
        return [content] if isinstance(content, dict) else []
    return _estimators(content)


def _parts(owner: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The estimators that another one has under a name: a parameter's, or that of a step."""
    params = owner.get("params")
    if not isinstance(params, dict):
        return []
    if name in params:
        return _estimators(params[name])
    steps = [step for parts in PARTS for step in _listed(params.get(parts))]
    pairs = [_listed(step) for step in steps]
    return [
        part
        for pair in pairs
        if _is_pair(pair) and pair[0] == name
        for part in _estimators(pair[1])
    ]


def _listed(stored: Json) -> list[Any]:
    """The items of a list or tuple."""
    if isinstance(stored, dict):
        stored = stored.get("tuple")
    return stored if isinstance(stored, list) else []
