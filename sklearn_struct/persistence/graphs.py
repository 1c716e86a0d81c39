"""What estimators of graphs have learned, in a file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sklearn_struct.containers.structures import n_columns
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.estimators.graphs.base_graph import MOST_COLUMNS, Template
from sklearn_struct.estimators.graphs.base_graph_crf import BaseGraphCRF
from sklearn_struct.estimators.graphs.clique_features import CliqueFeatures
from sklearn_struct.estimators.graphs.factorial_crf import FactorialCRF, Rows
from sklearn_struct.estimators.graphs.latent_graph import BaseLatentGraph
from sklearn_struct.estimators.graphs.typed_graph import BaseTypedGraph
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.objectives.weight_patterns import CliquePattern, Pattern
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.chains import put_chain, read_chain
from sklearn_struct.persistence.clique_weights import CliqueFiles, Families
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.label_states import check_states, put_states, take_states
from sklearn_struct.persistence.nested_estimators import estimator, put_estimator
from sklearn_struct.persistence.node_types import put_hidden, read_typed
from sklearn_struct.persistence.plain_values import (
    Arrays,
    fields,
    labels,
    natural,
    optional,
    plain,
    put_labels,
    restore,
)

__all__ = [
    "put_convergence",
    "put_factorial",
    "put_graphs",
    "read_factorial",
    "read_graphs",
    "take_convergence",
]

OPTIONAL = (dict, type(None))
FAMILY = {"size": int, "n_features": int, "pairs": bool, "symmetric": bool}
MOST_NODES = 64  # of a clique; 2 labels already have 2**64 labellings

REPORT = {
    "n_calls": int,
    "mean_sweeps": float,
    "most_sweeps": int,
    "unconverged": float,
    "largest_change": float,
}


def _put_families(pattern: Pattern, where: str, arrays: Arrays) -> dict[str, Any]:
    families = []
    for f, family in enumerate(pattern.families):
        if family.features is not None:
            checks.put_pairs(arrays, f"{where}family {f}", family.features)
        arrays[f"{where}family {f}/columns"] = np.asarray(family.columns, np.int64)
        families.append(
            {
                "size": int(family.size),
                "n_features": int(family.n_features),
                "pairs": family.features is not None,
                "symmetric": bool(family.symmetric),
                **({"potts": True} if family.potts else {}),
            }
        )
    return {"families": families}


def _read_families(model: Any, stored: dict[str, Any], where: str, arrays: Arrays) -> Families:
    return _families(checks.n_rows(model), stored, where, arrays, typed=False)


def _read_typed_families(
    model: Any, stored: dict[str, Any], where: str, arrays: Arrays
) -> Families:
    return _families(checks.n_rows(model), stored, where, arrays, typed=True)


def _families(K: int, stored: dict[str, Any], where: str, arrays: Arrays, typed: bool) -> Families:
    """The families, which have all labellings if nodes are of one type."""
    families = []
    room = MOST_COLUMNS
    for f, family in enumerate(stored["families"]):
        potts = type(family) is dict and family.get("potts") is True
        kinds = FAMILY | ({"potts": bool} if potts else {})
        size, n, has_pairs, symmetric, *_ = fields(family, f"family {f}", **kinds)
        here = f"{where}family {f}"
        if not 2 <= size <= MOST_NODES:
            raise ModelFileError(f"{here} cannot have {size} nodes")
        width = math.comb(K + size - 1, size) if symmetric else n_columns(K, size)
        width = 1 if potts else width
        columns = checks.ascending(arrays, here + "/columns", width)
        # a file with many labels may claim any size
        if len(columns) < width:
            room -= width
            if not typed or room < 0:
                raise ModelFileError(f"{here} must have all of {width} labellings")
        n = natural(n, "n_features")
        pairs = checks.pairs(arrays, here, n, width) if has_pairs else None
        if potts and pairs is None and n:
            raise ModelFileError(f"{here} must say which labellings have weights of features")
        families.append(CliquePattern(size, n, pairs, columns, symmetric, potts))
    return tuple(families), np.arange(0)


def _in_order(pattern: Pattern) -> np.ndarray:
    return np.arange(pattern.size)


OF_GRAPHS = CliqueFiles(_put_families, {"families": list}, _read_families, _in_order)
OF_TYPED_GRAPHS = OF_GRAPHS._replace(read=_read_typed_families)


def put_graphs(model: BaseGraphCRF, where: str, shared: Shared) -> dict[str, Any]:
    templates = []
    for f, (name, template) in enumerate(model.templates_.items()):
        encoder = template.features.vectorizer
        filed = None
        if encoder is not None:
            filed = put_estimator(encoder, f"{where}vectorizer {f}/", shared)
        templates.append({"name": plain(name, "a name of Cliques"), "vectorizer": filed})
    typed = vars(model).get("_typed")
    return {
        "chain": put_chain(model, where, shared, OF_GRAPHS),
        "templates": templates,
        **put_convergence(model),
        **({} if typed is None else {"hidden_types": put_hidden(typed)}),
        **put_states(model, where, shared.arrays),
    }


def read_graphs(model: BaseGraphCRF, stored: dict[str, Any], where: str, shared: Shared) -> None:
    kinds = {"chain": dict, "templates": list, "converged": bool, "inference_report": dict}
    kinds |= optional(stored, hidden_types=list)
    hidden = [stored["hidden_types"]] if "hidden_types" in stored else []
    chain, templates, *_ = fields(stored, "the model", **kinds, **optional(stored, states=bool))
    if isinstance(model, BaseLatentGraph):
        has_states = "states" in stored
        if has_states and not stored["states"]:
            raise ModelFileError("states of labels are named where there are some")
        model.__dict__["_states"] = take_states(where, shared.arrays) if has_states else None
    elif "states" in stored:
        raise ModelFileError(f"labels of a {type(model).__name__} have no states")
    read_chain(model, chain, where, shared, OF_TYPED_GRAPHS if hidden else OF_GRAPHS)
    check_states(model)
    if hidden and not isinstance(model, BaseTypedGraph):
        raise ModelFileError(f"a {type(model).__name__} has no types of nodes")
    if isinstance(model, BaseTypedGraph):
        model.__dict__["_typed"] = read_typed(model.classes_, hidden[0]) if hidden else None
    model.templates_ = _templates(chain["families"], templates, where, shared)
    take_convergence(model, stored)


def put_convergence(model: BaseGraphCRF) -> dict[str, Any]:
    """Whether inference has settled, as fields of a model."""
    report = {name: kind(model.inference_report_[name]) for name, kind in REPORT.items()}
    return {"converged": bool(model.converged_), "inference_report": report}


def take_convergence(model: BaseGraphCRF, stored: dict[str, Any]) -> None:
    """Give the model what `put_convergence` put."""
    report = stored["inference_report"]
    for name, value in zip(REPORT, fields(report, "inference_report", **REPORT), strict=True):
        if isinstance(value, int):
            natural(value, name)
        elif not (math.isfinite(value) and value >= 0.0):
            raise ModelFileError(f"inference_report: {name} cannot be {value}")
    model.inference_report_ = report
    model.converged_ = stored["converged"]


def _templates(
    families: list[dict[str, Any]], stored: list[Any], where: str, shared: Shared
) -> dict[str, Template]:
    """The kinds of cliques; names are different, and vectorizers give what has weights."""
    if len(stored) != len(families):
        raise ModelFileError(f"{len(stored)} names of {len(families)} kinds of cliques")
    templates: dict[str, Template] = {}
    for f, (template, family) in enumerate(zip(stored, families, strict=True)):
        kinds = {"name": (str, dict), "vectorizer": OPTIONAL}
        filed, encoder = fields(template, f"template {f}", **kinds)
        name = restore(filed)
        if not isinstance(name, str) or name in templates:
            raise ModelFileError(f"template {f} has no name of its own: {name!r}")
        features = CliqueFeatures(name)
        features.width = family["n_features"]
        if encoder is not None:
            vectorizer = estimator(encoder, f"{where}vectorizer {f}/", shared)
            if type(vectorizer) is not SequenceVectorizer:
                raise ModelFileError(f"template {f}: {type(vectorizer).__name__} is no vectorizer")
            if vectorizer.n_features_out_ != features.width:
                raise ModelFileError(f"template {f}: the vectorizer gives other features")
            features.vectorizer = vectorizer
        potts = bool(family.get("potts"))
        templates[name] = Template(family["size"], family["symmetric"], features, potts)
    return templates


def put_factorial(model: FactorialCRF, where: str, shared: Shared) -> dict[str, Any]:
    rows = [
        put_labels(shared.arrays, f"{where}row {r}", classes)
        for r, classes in enumerate(model.row_classes_)
    ]
    return {"graphs": put_graphs(model, where, shared), "rows": rows}


def read_factorial(model: FactorialCRF, stored: dict[str, Any], where: str, shared: Shared) -> None:
    graphs, rows = fields(stored, "the model", graphs=dict, rows=list)
    read_graphs(model, graphs, where, shared)
    model.row_classes_ = [
        labels(shared.arrays, f"{where}row {r}", row) for r, row in enumerate(rows)
    ]
    n = sum(map(len, model.row_classes_))
    if model.classes_.tolist() != list(range(n)):
        raise ModelFileError(f"the rows have {n} labels, and the model other ones")
    names = list(model.templates_)
    if names != Rows.of_kinds(len(rows), len(names)).names():
        raise ModelFileError(f"{len(rows)} rows of labels have other cliques")
