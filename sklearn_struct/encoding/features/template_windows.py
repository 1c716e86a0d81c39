"""What the features of fitted templates show: cells of columns at offsets from the token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sklearn_struct.encoding.features.templates import FeatureTemplates
from sklearn_struct.hidden_markov.path_sums import Windows

__all__ = ["beside", "texts", "values", "windows"]


def texts(templates: FeatureTemplates) -> list[str]:
    """The templates as they were written."""
    return [template.text for template in templates._learnt.templates]


def values(templates: FeatureTemplates) -> list[list[Any]]:
    """The values of each column, in the order of their codes."""
    return [list(column) for column in templates._learnt.values]


def beside(templates: FeatureTemplates) -> tuple[int, int]:
    """How many positions beside a sequence features tell apart, on its left and on its right."""
    learnt = templates._learnt
    least = int(any(not template.parts for template in learnt.templates))
    before, after = learnt.reach if learnt.pad else (0, 0)
    return max(before, least), max(after, least)


def windows(templates: FeatureTemplates) -> Iterator[Windows]:
    """The windows of the features, in their order.

    In each column the first codes stand for positions beside a sequence, the others for values.
    """
    learnt = templates._learnt
    before, after = beside(templates)
    left, right = learnt.reach if learnt.pad else (0, 0)
    # `add_bos_eos` may need more positions than the templates know: codes move up by the difference
    shifted = np.concatenate([np.arange(left), before + np.arange(right)])
    for j, template in enumerate(learnt.templates):
        if not template.parts:
            here = (-1, 0) if template.name == "__BOS__" else (1, before)
            yield Windows([here[0]], [0], np.full((len(learnt.indexes[j]), 1), here[1]))
            continue
        codes = learnt.codes(j)
        special = codes < left + right
        moved = codes - (left + right) + before + after
        moved[special] = shifted[codes[special]]
        offsets, columns = zip(*template.parts)
        yield Windows(offsets, columns, moved)
