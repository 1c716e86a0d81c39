"""What models share that learn from labels of which some are missing or open."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.encoding.labels import label_codes, partial_labels
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.estimators.fitting import sample_weights
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.fitting.base_trained import BaseTrained
from sklearn_struct.exceptions import EmptyDataError
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.semi_supervised import is_labelled

__all__ = ["BasePartlyLabelled"]


class BasePartlyLabelled(BaseTrained):
    """A model whose y may have None in the place of a sequence or a label, and sets of labels."""

    def _read_labels(
        self, y: Any, sequences: Sequences, reset: bool, unseen: int | None = None
    ) -> np.ndarray:
        """Codes, if all labels are known; else masks (n_tokens, n_labels) of what may stand at each
        token.
        """
        if y is None:
            return self._read_y(y, sequences, reset)  # which says that it is needed
        y = as_list(y)
        offsets = sequences.X.offsets
        if reset and not sequences.flat:
            flat = partial_labels.gather(y, offsets)
            several = label_codes.numbered(flat)
            # labels that are all known are the rule, and looked at once
            if several and not partial_labels.is_partial(several.distinct):
                self.classes_, codes = label_codes.classes_and_codes(flat, offsets, several)
                return codes
        flat = self._flat_labels(y, offsets, sequences.flat)
        if not partial_labels.is_partial(flat):
            return self._known_codes(flat, offsets, reset, unseen)
        if reset:
            self.classes_ = partial_labels.known_labels(flat, offsets)
            if len(self.classes_) == 1:  # nothing is open
                return np.zeros(len(flat), dtype=np.int32)
        return partial_labels.masks(flat, self.classes_, offsets, unseen)

    def _distinct_labels(self, y: Any, sequences: Sequences) -> tuple[list[Any], bool]:
        y = as_list(y)
        offsets = sequences.X.offsets
        flat = self._flat_labels(y, offsets, sequences.flat)
        if y is not None and not partial_labels.is_partial(flat):
            return super()._distinct_labels(y, sequences)
        # other parts may have labels where this one has none
        if flat.count(None) == len(flat):
            return [], True
        return label_codes.as_labels(partial_labels.known_labels(flat, offsets)), True

    def _read_weights(
        self, sample_weight: Any, sequences: Sequences, labels: np.ndarray
    ) -> tuple[sample_weights.Weights, Loss]:
        """Weights and loss; a sequence of which nothing is known has weight 0.

        There is nothing to learn from it.
        """
        weights, loss = super()._read_weights(sample_weight, sequences, labels)
        if labels.ndim == 1:
            return weights, loss
        offsets = sequences.X.offsets
        known = is_labelled(labels, offsets)
        if not np.any(weights.sequence[known] > 0):
            raise EmptyDataError("no sequence with labels has a positive weight")
        token = weights.token * np.repeat(known, np.diff(offsets))
        return weights._replace(sequence=weights.sequence * known, token=token), loss
