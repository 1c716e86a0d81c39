"""Weights of another fitted estimator as the start of a model of segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.estimators.fitting.warm_start import Start, of_chain, positions
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["of_segments"]


def of_segments(
    source: Any,
    pattern: Pattern,
    feature: np.ndarray,
    end_columns: np.ndarray,
    names: np.ndarray | None = None,
) -> list[Start]:
    """The weights of transitions, and those of lengths, of ends and of whole segments if the source
    has some; `names` are those of the features of whole segments.
    """
    moves, *others = pattern.families
    conditioned = [family for family in others if family.n_features]
    lengths = others[: len(others) - len(conditioned)]
    starts = of_chain(source, pattern._replace(families=(moves,)), feature)
    of_lengths = getattr(source, "length_coef_", np.zeros((0, len(source.classes_))))
    none = np.arange(0)
    for m in range(1, len(lengths) + 1):
        row = of_lengths[m] if m < len(of_lengths) else np.zeros(len(source.classes_))
        starts.append(Start(row, np.zeros((len(row), 0)), none))
    known = getattr(source, "end_features_", none)
    # unknown where the source has none
    wanted = feature[end_columns]
    columns = positions(known.tolist(), wanted.tolist())
    no_table = np.zeros(len(source.classes_))
    no_coef = np.zeros((len(source.classes_), 0))
    for name in ("first_coef_", "last_coef_") if len(end_columns) else ():
        starts.append(Start(no_table, getattr(source, name, no_coef), columns))
    if names is not None:
        of_source = getattr(source, "segment_feature_names_", np.arange(0))
        columns = positions(of_source.tolist(), names.tolist())
        starts.append(Start(no_table, getattr(source, "segment_coef_", no_coef), columns))
    return starts
