"""Labellings of given scores: the best one, the n best ones, and samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.containers.typing import Seed
from sklearn_struct.potentials.forms import Ragged, Scores
from sklearn_struct.potentials.given_decoding import NO_LABEL, best, drawn, n_best
from sklearn_struct.potentials.given_scores import read

__all__ = ["nbest", "sample", "viterbi"]


def viterbi(
    unary: Scores,
    pairwise: Scores,
    lengths: ArrayLike | None = None,
    *,
    start: ArrayLike | None = None,
    stop: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> tuple[Ragged, np.ndarray]:
    """Find the best labelling of each sequence by Viterbi's algorithm.

    Read more in :doc:`/user_guide/potentials`.

    Parameters
    ----------
    unary : array-like, list of array-like, or SequenceArray
        Score of each label at each token. Four forms are accepted: an array (n_tokens, n_labels)
        with the tokens of all sequences, one sequence after the other; a padded array (n_sequences,
        longest, n_labels), in which each sequence takes the first places; a list with an array
        (n_tokens of the sequence, n_labels) for each sequence; a `SequenceArray`. Scores are
        numbers or -inf, which forbids a label. float32 and float16 are computed in float32, all
        other types in float64.
    pairwise : array-like of shape (n_labels, n_labels), or tables
        Score of each pair of labels at neighbouring tokens: row j and column k for the label k
        after the label j. -inf forbids a pair. One table is shared by all pairs of neighbouring
        tokens. Or give a table for each of them, in the form of `unary`: an array (n_steps,
        n_labels, n_labels), where a sequence of n tokens has n - 1 steps; a padded array
        (n_sequences, longest - 1, n_labels, n_labels); a list of arrays.
    lengths : array-like of int, shape (n_sequences,), default=None
        Number of tokens of each sequence, for a flat or a padded array. None means that a flat
        array is one sequence, and that the sequences of a padded array all have the same length.
    start, stop : array-like of shape (n_labels,), default=None
        Scores of the label of the first and of the last token, added to those of `unary`.
    n_jobs : int, default=None
        Number of threads, as in joblib. The result does not depend on it.

    Returns
    -------
    labels : ndarray of int32, list of ndarray, or SequenceArray
        Labels 0, 1, ... in the form of `unary`, without its last dimension. A padded array has -1
        where there is no token. If two labellings have equal scores, the label of the last token
        where they differ is the smaller one.
    scores : ndarray of shape (n_sequences,)
        Score of each labelling: the sum of the scores of its labels and pairs.

    Raises
    ------
    ForbiddenLabelError
        If each labelling of a sequence has a score of -inf.
    NonFiniteError
        If a score is NaN, +inf or too large to be added up.

    See Also
    --------
    nbest : The n best labellings.
    sklearn_struct.potentials.marginals : Probabilities of labels.

    Examples
    --------
    >>> from sklearn_struct import potentials
    >>> unary = [[2.0, 0.0], [0.0, 0.5], [1.0, 0.0], [0.0, 3.0]]
    >>> pairwise = [[0.5, -0.5], [-0.5, 0.5]]  # neighbours like to have the same label
    >>> labels, scores = potentials.viterbi(unary, pairwise, lengths=[3, 1])
    >>> labels
    array([0, 0, 0, 1], dtype=int32)
    >>> scores
    array([4., 3.])
    """
    given = read(unary, pairwise, lengths, start, stop, n_jobs)
    codes, score = best(given, n_jobs)
    return given.form.of_tokens(codes, NO_LABEL), score


def nbest(
    unary: Scores,
    pairwise: Scores,
    lengths: ArrayLike | None = None,
    *,
    n: int = 5,
    start: ArrayLike | None = None,
    stop: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> tuple[Ragged, np.ndarray]:
    """Find the n best labellings of each sequence.

    Read more in :doc:`/user_guide/potentials`.

    Parameters
    ----------
    unary, pairwise, lengths
        As in `viterbi`. Scores are added up in float64.
    n : int, default=5
        Number of labellings of each sequence.
    start, stop, n_jobs
        As in `viterbi`.

    Returns
    -------
    labels : ndarray of int32, list of ndarray, or SequenceArray
        In the form of `unary`, with n columns in the place of its labels: column 0 has the best
        labelling, column 1 the second best one. -1 where a sequence has fewer labellings.
    scores : ndarray of shape (n_sequences, n)
        Score of each labelling, -inf where there are fewer.

    Raises
    ------
    ForbiddenLabelError
        If each labelling of a sequence has a score of -inf.
    NonFiniteError
        If a score is NaN, +inf or too large to be added up.

    See Also
    --------
    viterbi : The best labelling alone, in less time.
    sklearn_struct.potentials.sample : Labellings drawn by their probabilities.

    Examples
    --------
    >>> from sklearn_struct import potentials
    >>> unary = [[2.0, 0.0], [0.0, 0.5], [1.5, 0.0]]
    >>> labels, scores = potentials.nbest(unary, [[0.5, -0.5], [-0.5, 0.5]], n=2)
    >>> labels
    array([[0, 0],
           [0, 1],
           [0, 0]], dtype=int32)
    >>> scores
    array([[4.5, 3. ]])
    """
    given = read(unary, pairwise, lengths, start, stop, n_jobs)
    codes, score = n_best(given, n, n_jobs)
    return given.form.of_tokens(codes, NO_LABEL), score


def sample(
    unary: Scores,
    pairwise: Scores,
    lengths: ArrayLike | None = None,
    *,
    n_samples: int = 1,
    random_state: Seed = None,
    start: ArrayLike | None = None,
    stop: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> tuple[Ragged, np.ndarray]:
    """Draw labellings of each sequence by their probabilities.

    The probability of a labelling is exp(score) / Z, where Z is the sum of exp(score) over all
    labellings of the sequence.

    Read more in :doc:`/user_guide/potentials`.

    Parameters
    ----------
    unary, pairwise, lengths
        As in `viterbi`. Scores are added up in float64.
    n_samples : int, default=1
        Number of labellings of each sequence.
    random_state : int, RandomState or None, default=None
        Seed of random numbers.
    start, stop, n_jobs
        As in `viterbi`.

    Returns
    -------
    labels : ndarray of int32, list of ndarray, or SequenceArray
        In the form of `unary`, with `n_samples` columns in the place of its labels. A padded array
        has -1 where there is no token.
    scores : ndarray of shape (n_sequences, n_samples)
        Score of each labelling. The log-probability of a labelling is its score less
        `log_partition` of the sequence.

    Raises
    ------
    ForbiddenLabelError
        If each labelling of a sequence has a score of -inf.
    NonFiniteError
        If a score is NaN, +inf or too large to be added up.

    See Also
    --------
    sklearn_struct.potentials.marginals : The shares of samples that labels have in the limit.
    nbest : The most probable labellings.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import potentials
    >>> unary = np.log([[0.9, 0.1], [0.5, 0.5]])
    >>> labels, scores = potentials.sample(
    ...     unary, np.zeros((2, 2)), n_samples=1000, random_state=0
    ... )
    >>> labels.shape
    (2, 1000)
    >>> np.mean(labels == 0, axis=1)
    array([0.889, 0.502])
    """
    given = read(unary, pairwise, lengths, start, stop, n_jobs)
    codes, score = drawn(given, n_samples, random_state, n_jobs)
    return given.form.of_tokens(codes, NO_LABEL), score
