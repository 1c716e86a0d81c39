"""Segmentations of given scores: the best one, the n best ones, and samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.containers.typing import Seed
from sklearn_struct.potentials.forms import Ragged, Scores
from sklearn_struct.potentials.given_decoding import NO_LABEL, best, drawn, n_best
from sklearn_struct.potentials.given_segments import GivenSegments, read_segments

__all__ = ["segment_nbest", "segment_sample", "segment_viterbi"]


def segment_viterbi(
    segments: Scores,
    pairwise: Scores,
    lengths: ArrayLike | None = None,
    *,
    n_jobs: int | None = None,
) -> tuple[Ragged, Ragged, np.ndarray]:
    """Find the best division of each sequence into labelled segments.

    Read more in :doc:`/user_guide/potentials`.

    Parameters
    ----------
    segments : array-like or list of array-like
        Score of each segment. ``segments[t, m, k]`` is that of a segment of m + 1 tokens that
        begins with token t and has the label k. Three forms are accepted: an array (n_tokens,
        max_length, n_labels) with the tokens of all sequences, one sequence after the other; a
        padded array (n_sequences, longest, max_length, n_labels); a list with an array (n_tokens of
        the sequence, max_length, n_labels) for each sequence. Segments that would go beyond the end
        of their sequence are not read. -inf forbids a segment. All types are computed in float64.
    pairwise : array-like of shape (n_labels, n_labels), or tables
        Score of each pair of labels of neighbouring segments: row j and column k for a segment of
        label k after one of label j. Or a table for each pair of neighbouring tokens, as in
        `viterbi`: it counts where one segment ends with the first of these tokens and another one
        begins with the second.
    lengths : array-like of int, shape (n_sequences,), default=None
        Number of tokens of each sequence, for a flat or a padded array, as in `viterbi`.
    n_jobs : int, default=None
        Number of threads, as in joblib. The result does not depend on it.

    Returns
    -------
    labels : ndarray of int32 or list of ndarray
        The label of the segment of each token, in the form of `segments` without its last two
        dimensions. A padded array has -1 where there is no token.
    begins : ndarray of bool or list of ndarray
        Whether a segment begins with the token, in the same form.
    scores : ndarray of shape (n_sequences,)
        Score of each segmentation: the sum of the scores of its segments and pairs.

    Raises
    ------
    ForbiddenLabelError
        If each segmentation of a sequence has a score of -inf.
    NonFiniteError
        If a score is NaN, +inf or too large to be added up.

    See Also
    --------
    segment_nbest : The n best segmentations.
    viterbi : The same where labels belong to tokens.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import potentials
    >>> segments = np.zeros((3, 2, 2))
    >>> segments[0, 1, 1] = 2.0  # the first two tokens are a segment of label 1
    >>> labels, begins, scores = potentials.segment_viterbi(segments, np.zeros((2, 2)))
    >>> labels
    array([1, 1, 0], dtype=int32)
    >>> begins
    array([ True, False,  True])
    >>> scores
    array([2.])
    """
    given = read_segments(segments, pairwise, lengths, n_jobs)
    codes, score = best(given, n_jobs)
    return (*_parted(codes, given), score)


def segment_nbest(
    segments: Scores,
    pairwise: Scores,
    lengths: ArrayLike | None = None,
    *,
    n: int = 5,
    n_jobs: int | None = None,
) -> tuple[Ragged, Ragged, np.ndarray]:
    """Find the n best divisions of each sequence into labelled segments.

    Read more in :doc:`/user_guide/potentials`.

    Parameters
    ----------
    segments, pairwise, lengths
        As in `segment_viterbi`.
    n : int, default=5
        Number of segmentations of each sequence.
    n_jobs
        As in `segment_viterbi`.

    Returns
    -------
    labels : ndarray of int32 or list of ndarray
        As from `segment_viterbi`, with a column for each segmentation: column 0 has the best one.
        -1 where a sequence has fewer segmentations.
    begins : ndarray of bool or list of ndarray
        Whether a segment begins with the token, in the same form.
    scores : ndarray of shape (n_sequences, n)
        Score of each segmentation, -inf where there are fewer.

    Raises
    ------
    ForbiddenLabelError
        If each segmentation of a sequence has a score of -inf.
    NonFiniteError
        If a score is NaN, +inf or too large to be added up.

    See Also
    --------
    segment_viterbi : The best segmentation alone, in less time.
    segment_sample : Segmentations drawn by their probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import potentials
    >>> segments = np.zeros((2, 2, 1))
    >>> segments[0, 1] = 1.5  # one segment of two tokens is better than two segments
    >>> labels, begins, scores = potentials.segment_nbest(segments, [[0.0]], n=2)
    >>> begins
    array([[ True,  True],
           [False,  True]])
    >>> scores
    array([[1.5, 0. ]])
    """
    given = read_segments(segments, pairwise, lengths, n_jobs)
    codes, score = n_best(given, n, n_jobs)
    return (*_parted(codes, given), score)


def segment_sample(
    segments: Scores,
    pairwise: Scores,
    lengths: ArrayLike | None = None,
    *,
    n_samples: int = 1,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> tuple[Ragged, Ragged, np.ndarray]:
    """Draw divisions of each sequence into labelled segments by their probabilities.

    The probability of a segmentation is exp(score) / Z, where Z is the sum of exp(score) over all
    segmentations of the sequence.

    Read more in :doc:`/user_guide/potentials`.

    Parameters
    ----------
    segments, pairwise, lengths
        As in `segment_viterbi`.
    n_samples : int, default=1
        Number of segmentations of each sequence.
    random_state : int, RandomState or None, default=None
        Seed of random numbers.
    n_jobs
        As in `segment_viterbi`.

    Returns
    -------
    labels : ndarray of int32 or list of ndarray
        As from `segment_viterbi`, with a column for each segmentation.
    begins : ndarray of bool or list of ndarray
        Whether a segment begins with the token, in the same form.
    scores : ndarray of shape (n_sequences, n_samples)
        Score of each segmentation. Its log-probability is its score less `segment_log_partition`
        of the sequence.

    Raises
    ------
    ForbiddenLabelError
        If each segmentation of a sequence has a score of -inf.
    NonFiniteError
        If a score is NaN, +inf or too large to be added up.

    See Also
    --------
    segment_marginals : The shares of samples that segments have in the limit.
    segment_nbest : The most probable segmentations.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import potentials
    >>> segments = np.log([[[0.5], [0.5]], [[0.5], [1.0]]])
    >>> labels, begins, scores = potentials.segment_sample(
    ...     segments, [[0.0]], n_samples=1000, random_state=0
    ... )
    >>> begins.shape
    (2, 1000)
    >>> float(np.mean(begins[1]).round(2))  # of two segments; the exact probability is 1/3
    0.33
    """
    given = read_segments(segments, pairwise, lengths, n_jobs)
    codes, score = drawn(given, n_samples, random_state, n_jobs)
    return (*_parted(codes, given), score)


def _parted(codes: np.ndarray, given: GivenSegments) -> tuple[Ragged, Ragged]:
    """The labels that codes say, and where segments begin."""
    K = given.n_labels
    begins = (codes >= 0) & (codes < K)
    labels = np.where(codes < K, codes, codes - K)
    return given.form.of_tokens(labels, NO_LABEL), given.form.of_tokens(begins)
