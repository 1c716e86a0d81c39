"""Inference for scores that come from elsewhere, such as a neural network: scores in, labels,
probabilities and gradients out.
"""

from __future__ import annotations

from sklearn_struct.potentials.decoding import nbest, sample, viterbi
from sklearn_struct.potentials.segment_decoding import (
    segment_nbest,
    segment_sample,
    segment_viterbi,
)
from sklearn_struct.potentials.segment_sums import (
    SegmentGradient,
    segment_log_partition,
    segment_marginals,
)
from sklearn_struct.potentials.sums import Gradient, log_partition, marginals

__all__ = [
    "Gradient",
    "SegmentGradient",
    "log_partition",
    "marginals",
    "nbest",
    "sample",
    "segment_log_partition",
    "segment_marginals",
    "segment_nbest",
    "segment_sample",
    "segment_viterbi",
    "viterbi",
]
