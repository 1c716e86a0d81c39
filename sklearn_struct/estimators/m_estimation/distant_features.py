"""Pairs of templates whose features are counted together, however far apart in a sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.features.template_syntax import parse_templates
from sklearn_struct.encoding.features.template_windows import windows
from sklearn_struct.encoding.features.templates import FeatureTemplates
from sklearn_struct.estimators.m_estimation.base_features import features_of
from sklearn_struct.objectives.distant_pairs import (
    Apart,
    counted_pairs,
    expected_pairs,
    observed_pairs,
)

__all__ = ["Distant", "learn_pairs", "read_templates"]

NO_PAIRS = np.empty((0, 4), np.int64)


class Distant(NamedTuple):
    """What was learned of pairs: the encoder of both sides, which of its templates are paired, and
    the pairs that have weights, see `observed_pairs`.
    """

    encoder: FeatureTemplates
    templates: list[tuple[str, str]]
    pairs: np.ndarray

    def apart(self) -> list[Apart]:
        """The columns that each pair of templates joins, and from which distance on."""
        shapes = list(windows(self.encoder))
        first = np.cumsum([0, *(len(shape.codes) for shape in shapes)])
        place = {text: j for j, text in enumerate(_different(self.templates))}
        joined = []
        for left, right in self.templates:
            j = place[left]
            k = place[right]
            # the token itself belongs to its window
            ends = max(0, *shapes[j].offsets)
            begins = min(0, *shapes[k].offsets)
            of_left, of_right = ((int(first[i]), int(first[i + 1])) for i in (j, k))
            joined.append(Apart(of_left, of_right, ends - begins + 1))
        return joined

    def read(
        self, base: Any, X: Any, observed: Any, used: np.ndarray | None = None
    ) -> SequenceArray:
        """The features of either side; they are learned where `used` says which tokens have
        weight.
        """
        return features_of(self.encoder, base, X, observed, used)

    def counts(self, sides: SequenceArray, codes: np.ndarray, n_labels: int) -> sp.csr_array:
        """How often each sequence with its labels shows each pair."""
        return counted_pairs(self.apart(), self.pairs, sides, codes, n_labels)

    def names(self, classes: np.ndarray) -> list[tuple[str, Any, str, Any]]:
        """Feature and label at a token, and at a later one, of each pair."""
        features = self.encoder.get_feature_names_out()
        labels = classes.tolist()
        return [
            (str(features[left]), labels[j], str(features[right]), labels[k])
            for left, j, right, k in self.pairs.tolist()
        ]

    def expected(self, base: Any) -> np.ndarray:
        """How often a sequence of the base shows each pair."""
        chain, shown = base.chain(self.encoder)
        return expected_pairs(chain, shown.windows, self.pairs)


def read_templates(given: Sequence[Any] | None) -> Distant | None:
    """What the parameter `distant_pairs` stands for, nothing learned yet.

    Raises
    ------
    ValueError
        If it is no list of pairs of templates.
    """
    if not given:
        return None
    for pair in given:
        if not (
            isinstance(pair, list | tuple)
            and len(pair) == 2
            and all(isinstance(text, str) for text in pair)
        ):
            raise ValueError(
                f"distant_pairs must be a list of pairs of templates, got {pair!r} in it"
            )
        for text in pair:
            if len(parse_templates([text], None)) != 1:
                raise ValueError(f"distant_pairs: {text!r} names no cells")
    templates = list(dict.fromkeys((left, right) for left, right in given))
    return Distant(FeatureTemplates(_different(templates)), templates, NO_PAIRS)


def learn_pairs(
    distant: Distant, sides: SequenceArray, codes: np.ndarray, n_labels: int, used: np.ndarray
) -> Distant:
    """Which pairs have weights: those that sequences show, of those that are `used`."""
    pairs = observed_pairs(distant.apart(), sides, codes, n_labels, used)
    return distant._replace(pairs=pairs)


def _different(templates: list[tuple[str, str]]) -> list[str]:
    return list(dict.fromkeys(text for pair in templates for text in pair))
