"""What `GraphCRF` has learned, in a file."""

from __future__ import annotations

import math
from typing import Any

from sklearn_struct.estimators.graphs.graph_crf import GraphCRF
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence.chains import put_chain, read_chain
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import fields, natural

__all__ = ["put_graphs", "read_graphs"]

REPORT = {
    "n_calls": int,
    "mean_sweeps": float,
    "most_sweeps": int,
    "unconverged": float,
    "largest_change": float,
}


def put_graphs(model: GraphCRF, where: str, shared: Shared) -> dict[str, Any]:
    return {
        "chain": put_chain(model, where, shared),
        "converged": bool(model.converged_),
        "inference_report": {
            name: kind(model.inference_report_[name]) for name, kind in REPORT.items()
        },
    }


def read_graphs(model: GraphCRF, stored: dict[str, Any], where: str, shared: Shared) -> None:
    kinds = {"chain": dict, "converged": bool, "inference_report": dict}
    chain, converged, report = fields(stored, "the model", **kinds)
    read_chain(model, chain, where, shared)
    for name, value in zip(REPORT, fields(report, "inference_report", **REPORT), strict=True):
        if isinstance(value, int):
            natural(value, name)
        elif not (math.isfinite(value) and value >= 0.0):
            raise ModelFileError(f"inference_report: {name} cannot be {value}")
    model.inference_report_ = report
    model.converged_ = converged
