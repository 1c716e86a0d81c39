"""Inference for scores that come from elsewhere, such as a neural network: scores in, labels,
probabilities and gradients out.
"""

from __future__ import annotations

from sklearn_struct.potentials.decoding import nbest, sample, viterbi
from sklearn_struct.potentials.sums import Gradient, log_partition, marginals

__all__ = ["Gradient", "log_partition", "marginals", "nbest", "sample", "viterbi"]
