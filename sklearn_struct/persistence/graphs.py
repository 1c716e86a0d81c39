"""What `GraphCRF` has learned, in a file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sklearn_struct.containers.structures import n_columns
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.estimators.graphs.graph_crf import GraphCRF
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.objectives.weight_patterns import CliquePattern, Pattern
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.chains import put_chain, read_chain
from sklearn_struct.persistence.clique_weights import CliqueFiles, Families
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.nested_estimators import estimator, put_estimator
from sklearn_struct.persistence.plain_values import Arrays, fields, natural

__all__ = ["put_graphs", "read_graphs"]

OPTIONAL = (dict, type(None))

REPORT = {
    "n_calls": int,
    "mean_sweeps": float,
    "most_sweeps": int,
    "unconverged": float,
    "largest_change": float,
}


def _put_edges(pattern: Pattern, where: str, arrays: Arrays) -> dict[str, Any]:
    (edges,) = pattern.families
    if edges.features is not None:
        checks.put_pairs(arrays, where + "edge", edges.features)
    arrays[where + "transitions"] = np.asarray(edges.columns, np.int64)
    return {
        "edge": edges.features is not None,
        "n_edge_features": int(edges.n_features),
        "symmetric": bool(edges.symmetric),
    }


def _read_edges(model: Any, stored: dict[str, Any], where: str, arrays: Arrays) -> Families:
    K = len(model.classes_)
    n = natural(stored["n_edge_features"], "n_edge_features")
    width = math.comb(K + 1, 2) if stored["symmetric"] else n_columns(K, 2)
    columns = checks.ascending(arrays, where + "transitions", width)
    # a file with many labels may claim any size
    if len(columns) < width:
        raise ModelFileError(f"{where}transitions must have all of {width} pairs of labels")
    pairs = checks.pairs(arrays, where + "edge", n, width) if stored["edge"] else None
    return (CliquePattern(2, n, pairs, columns, stored["symmetric"]),), np.arange(0)


def _in_order(pattern: Pattern) -> np.ndarray:
    return np.arange(pattern.size)


EDGES = CliqueFiles(
    _put_edges,
    {"edge": bool, "n_edge_features": int, "symmetric": bool},
    _read_edges,
    _in_order,
)


def put_graphs(model: GraphCRF, where: str, shared: Shared) -> dict[str, Any]:
    encoder = vars(model).get("edge_vectorizer_")
    return {
        "chain": put_chain(model, where, shared, EDGES),
        "edge_vectorizer": None
        if encoder is None
        else put_estimator(encoder, where + "edge_vectorizer/", shared),
        "converged": bool(model.converged_),
        "inference_report": {
            name: kind(model.inference_report_[name]) for name, kind in REPORT.items()
        },
    }


def read_graphs(model: GraphCRF, stored: dict[str, Any], where: str, shared: Shared) -> None:
    kinds = {"chain": dict, "edge_vectorizer": OPTIONAL, "converged": bool}
    chain, encoder, converged, report = fields(stored, "the model", **kinds, inference_report=dict)
    read_chain(model, chain, where, shared, EDGES)
    n = chain["n_edge_features"]
    model.n_edge_features_in_ = n
    if encoder is not None:
        model.edge_vectorizer_ = estimator(encoder, where + "edge_vectorizer/", shared)
        vectorizer = model.edge_vectorizer_
        if type(vectorizer) is not SequenceVectorizer or vectorizer.n_features_out_ != n:
            raise ModelFileError("the vectorizer does not give the model's features of edges")
    for name, value in zip(REPORT, fields(report, "inference_report", **REPORT), strict=True):
        if isinstance(value, int):
            natural(value, name)
        elif not (math.isfinite(value) and value >= 0.0):
            raise ModelFileError(f"inference_report: {name} cannot be {value}")
    model.inference_report_ = report
    model.converged_ = converged
