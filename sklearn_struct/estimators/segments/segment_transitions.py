"""Which labels neighbouring segments may have, in predictions and in training."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from sklearn_struct.containers.structures import Block, Potentials
from sklearn_struct.encoding.labels.allowed_transitions import SCHEMES, read_transitions
from sklearn_struct.estimators.chains.constrained_training import BaseConstrainedTraining
from sklearn_struct.estimators.chains.forbidden_label_errors import check_paths
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.fitting.base_structured import Restriction, Result, Work
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.segments.segment_features import BaseSegmentFeatures
from sklearn_struct.inference.chains.forbidden import Transitions, forbid

__all__ = ["BaseSegmentTransitions"]


@with_parameters
class BaseSegmentTransitions(BaseSegmentFeatures, BaseConstrainedTraining):
    """Forbidden transitions between segments.

    Parameters
    ----------
    allowed_transitions : None, {"BIO", "IOB1", "BIOES"}, array-like of shape \
            (n_labels, n_labels) or dict, default=None
        Which labels neighbouring segments may have. In predictions a forbidden segmentation has
        probability 0. A matrix of booleans, in the order of ``classes_``, says which label (column)
        the segment after one of which label (row) may have. A dict ``{label: [labels]}`` lists what
        is *forbidden* after a segment of each label, such as ``{"PER": ["PER"]}``. Its key None
        lists which labels the first segment may not have; None in the list of a label forbids that
        the last segment has this label. The name of a scheme of tags needs labels that are tags, as
        with ``max_length=1``; it is read as in `LinearChainCRF`.
    constrain_training : bool, default=False
        Whether training, too, leaves out the segmentations that `allowed_transitions` forbids. Each
        y must then be allowed.
    """

    allowed_transitions: Any = None
    constrain_training: bool = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "allowed_transitions": [None, StrOptions(set(SCHEMES)), dict, "array-like"],
        "constrain_training": ["boolean"],
    }

    def _transitions(self) -> Transitions | None:
        return read_transitions(self.allowed_transitions, self.classes_)

    def _each_block(
        self, sequences: Sequences, work: Work[Result], restrict: Restriction | None = None
    ) -> list[Result]:
        return super()._each_block(sequences, work, restrict or self._restriction())

    def _restriction(self) -> Restriction | None:
        """A function that forbids in a block's potentials what may not be predicted; or None."""
        transitions = self._transitions()
        if transitions is None:
            return None

        def restrict(theta: Potentials, block: Block) -> Potentials:
            theta = forbid(theta, block.structure, transitions)
            # before decoding, which finds some segmentation even where none is allowed
            check_paths(theta, block, self._longest)
            return theta

        return restrict
