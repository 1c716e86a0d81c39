"""Sums over all segmentations of given scores: log Z, its gradient, and probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.encoding.parameter_checks import check_flag
from sklearn_struct.potentials.forms import Ragged, Scores
from sklearn_struct.potentials.given_segments import read_segments
from sklearn_struct.potentials.given_sums import log_sums, probabilities, slopes

__all__ = ["SegmentGradient", "segment_log_partition", "segment_marginals"]


class SegmentGradient(NamedTuple):
    """Derivatives of `segment_log_partition` in each of the scores.

    Each is in the form of the argument of the same name.

    Read more in :doc:`/user_guide/potentials`.

    Parameters
    ----------
    segments : ndarray or list of ndarray
        Probability of each segment, times the weight of the sequence.
    pairwise : ndarray or list of ndarray
        The same of pairs of labels of neighbouring segments, for each pair of neighbouring tokens;
        their sum if all share one table.

    See Also
    --------
    segment_log_partition : Returns one with ``return_gradient=True``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import potentials
    >>> _, gradient = potentials.segment_log_partition(
    ...     np.zeros((2, 2, 1)), np.zeros((1, 1)), return_gradient=True
    ... )
    >>> gradient.pairwise
    array([[0.5]])
    """

    segments: Ragged
    pairwise: Ragged


def segment_marginals(
    segments: Scores,
    pairwise: Scores,
    lengths: ArrayLike | None = None,
    *,
    return_pairs: bool = False,
    n_jobs: int | None = None,
) -> Ragged | tuple[Ragged, Ragged]:
    """Compute the probability of each segment.

    The probability of a segmentation is exp(score) / Z, where Z is the sum of exp(score) over all
    segmentations of the sequence. The marginal probability of a segment is the sum of the
    probabilities of all segmentations that have it.

    Read more in :doc:`/user_guide/potentials`.

    Parameters
    ----------
    segments, pairwise, lengths
        As in `segment_viterbi`.
    return_pairs : bool, default=False
        Return the probabilities of pairs of labels of neighbouring segments, too.
    n_jobs
        As in `segment_viterbi`.

    Returns
    -------
    proba : ndarray of float64 or list of ndarray
        Probabilities, in the form of `segments`. 0 for segments that would go beyond the end of
        their sequence.
    pairs : ndarray of float64 or list of ndarray
        If `return_pairs`: in the form of tables in `pairwise`, the probability that one segment
        ends with the first of two neighbouring tokens and another one begins with the second, by
        their labels.

    Raises
    ------
    ForbiddenLabelError
        If each segmentation of a sequence has a score of -inf.
    NonFiniteError
        If a score is NaN, +inf or too large to be added up.

    See Also
    --------
    segment_log_partition : log Z; its derivatives are these probabilities.
    marginals : The same where labels belong to tokens.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import potentials
    >>> segments = np.log([[[0.5], [0.5]], [[0.5], [1.0]]])
    >>> potentials.segment_marginals(segments, [[0.0]]).round(2)[..., 0]
    array([[0.33, 0.67],
           [0.33, 0.  ]])
    """
    check_flag(return_pairs, "return_pairs")
    given = read_segments(segments, pairwise, lengths, n_jobs)
    return probabilities(given, return_pairs, n_jobs)


def segment_log_partition(
    segments: Scores,
    pairwise: Scores,
    lengths: ArrayLike | None = None,
    *,
    return_gradient: bool = False,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> np.ndarray | tuple[np.ndarray, SegmentGradient]:
    """Compute log Z, the logarithm of the sum of exp(score) over all segmentations of a sequence.

    Read more in :doc:`/user_guide/potentials`.

    Parameters
    ----------
    segments, pairwise, lengths
        As in `segment_viterbi`.
    return_gradient : bool, default=False
        Return the derivatives of the sum of log Z over all sequences, too.
    sample_weight : array-like of shape (n_sequences,), default=None
        With `return_gradient`, weights of the sequences in this sum, of any sign, as in
        `log_partition`.
    n_jobs
        As in `segment_viterbi`.

    Returns
    -------
    log_Z : ndarray of shape (n_sequences,)
        -inf for a sequence whose segmentations are all forbidden, 0 for one without tokens.
    gradient : SegmentGradient
        If `return_gradient`: its fields ``segments`` and ``pairwise`` are in the form of the
        arguments. A sequence whose segmentations are all forbidden adds nothing.

    Raises
    ------
    NonFiniteError
        If a score is NaN, +inf or too large to be added up, or if a weight is not finite.

    See Also
    --------
    segment_marginals : The gradient where all weights are 1.
    segment_viterbi : The largest score in the place of the sum.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import potentials
    >>> segments = np.log([[[0.5], [0.5]], [[0.5], [1.0]]])
    >>> np.exp(potentials.segment_log_partition(segments, [[0.0]]))
    array([0.75])
    """
    check_flag(return_gradient, "return_gradient")
    given = read_segments(segments, pairwise, lengths, n_jobs)
    if not return_gradient:
        return log_sums(given, sample_weight, n_jobs)
    log_Z, proba, of_pairs = slopes(given, sample_weight, n_jobs)
    return log_Z, SegmentGradient(given.form.of_tokens(proba), of_pairs)
