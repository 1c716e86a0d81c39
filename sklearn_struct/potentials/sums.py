"""Sums over all labellings of given scores: log Z, its gradient, and probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.containers.structures import ends
from sklearn_struct.encoding.parameter_checks import check_flag
from sklearn_struct.potentials.forms import Ragged, Scores
from sklearn_struct.potentials.given_scores import read
from sklearn_struct.potentials.given_sums import log_sums, probabilities, slopes

__all__ = ["Gradient", "log_partition", "marginals"]


class Gradient(NamedTuple):
    """Derivatives of `log_partition` in each of the scores.

    Each is in the form of the argument of the same name. They are float64, whatever the type of the
    scores.

    Read more in :doc:`/user_guide/potentials`.

    Parameters
    ----------
    unary : ndarray, list of ndarray, or SequenceArray
        Marginal probability of each label at each token, times the weight of the sequence.
    pairwise : ndarray or list of ndarray
        The same of pairs of labels, for each pair of neighbouring tokens; their sum if all pairs of
        neighbouring tokens share one table.
    start, stop : ndarray of shape (n_labels,) or None
        Sums over all sequences, for their first and their last tokens; None if no such scores were
        given.

    See Also
    --------
    sklearn_struct.potentials.log_partition : Returns one with ``return_gradient=True``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import potentials
    >>> _, gradient = potentials.log_partition(
    ...     np.zeros((3, 2)), np.zeros((2, 2)), return_gradient=True
    ... )
    >>> gradient.pairwise
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    unary: Ragged
    pairwise: Ragged
    start: np.ndarray | None = None
    stop: np.ndarray | None = None


def marginals(
    unary: Scores,
    pairwise: Scores,
    lengths: ArrayLike | None = None,
    *,
    start: ArrayLike | None = None,
    stop: ArrayLike | None = None,
    return_pairs: bool = False,
    n_jobs: int | None = None,
) -> Ragged | tuple[Ragged, Ragged]:
    """Compute the probability of each label at each token by the forward-backward algorithm.

    The probability of a labelling is exp(score) / Z, where Z is the sum of exp(score) over all
    labellings of the sequence. The marginal probability of a label at a token is the sum of the
    probabilities of all labellings that have it there.

    Read more in :doc:`/user_guide/potentials`.

    Parameters
    ----------
    unary, pairwise, lengths, start, stop
        As in `viterbi`.
    return_pairs : bool, default=False
        Return the probabilities of pairs of labels at neighbouring tokens, too.
    n_jobs
        As in `viterbi`.

    Returns
    -------
    proba : ndarray of float64, list of ndarray, or SequenceArray
        Probabilities of labels, in the form of `unary`. A padded array has 0 where there is no
        token.
    pairs : ndarray of float64, or list of ndarray
        If `return_pairs`: probabilities of pairs, in the form of tables in `pairwise`. With a
        `SequenceArray` they are one array (n_steps, n_labels, n_labels).

    Raises
    ------
    ForbiddenLabelError
        If each labelling of a sequence has a score of -inf.
    NonFiniteError
        If a score is NaN, +inf or too large to be added up.

    See Also
    --------
    sklearn_struct.potentials.log_partition : log Z; its derivatives are these probabilities.
    sklearn_struct.inspection.MarginalDisplay : Draws them.

    Examples
    --------
    >>> from sklearn_struct import potentials
    >>> unary = [[2.0, 0.0], [0.0, 0.5], [1.0, 0.0]]
    >>> proba = potentials.marginals(unary, [[0.5, -0.5], [-0.5, 0.5]])
    >>> proba.round(2)
    array([[0.88, 0.12],
           [0.66, 0.34],
           [0.75, 0.25]])
    """
    check_flag(return_pairs, "return_pairs")
    given = read(unary, pairwise, lengths, start, stop, n_jobs)
    return probabilities(given, return_pairs, n_jobs)


def log_partition(
    unary: Scores,
    pairwise: Scores,
    lengths: ArrayLike | None = None,
    *,
    start: ArrayLike | None = None,
    stop: ArrayLike | None = None,
    return_gradient: bool = False,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> np.ndarray | tuple[np.ndarray, Gradient]:
    """Compute log Z, the logarithm of the sum of exp(score) over all labellings of a sequence.

    Its derivatives in the scores are marginal probabilities. A network that is trained by the
    likelihood of a chain needs both.

    Read more in :doc:`/user_guide/potentials`.

    Parameters
    ----------
    unary, pairwise, lengths, start, stop
        As in `viterbi`.
    return_gradient : bool, default=False
        Return the derivatives of the sum of log Z over all sequences, too.
    sample_weight : array-like of shape (n_sequences,), default=None
        With `return_gradient`, weights of the sequences in this sum, of any sign. For a network
        these are the derivatives of its loss in log Z of each sequence.
    n_jobs
        As in `viterbi`.

    Returns
    -------
    log_Z : ndarray of shape (n_sequences,)
        In float64. -inf for a sequence whose labellings are all forbidden, 0 for one without
        tokens.
    gradient : Gradient
        If `return_gradient`: its fields ``unary``, ``pairwise``, ``start`` and ``stop`` are in the
        form of the arguments. A sequence whose labellings are all forbidden adds nothing.

    Raises
    ------
    NonFiniteError
        If a score is NaN, +inf or too large to be added up, or if a weight is not finite.

    See Also
    --------
    sklearn_struct.potentials.marginals : The gradient where all weights are 1.
    viterbi : The largest score in the place of the sum.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import potentials
    >>> unary = np.array([[2.0, 0.0], [0.0, 0.5], [1.0, 0.0]])
    >>> pairwise = np.array([[0.5, -0.5], [-0.5, 0.5]])
    >>> log_Z, gradient = potentials.log_partition(unary, pairwise, return_gradient=True)
    >>> log_Z.round(3)
    array([4.589])
    >>> gradient.pairwise.round(2)
    array([[1.21, 0.33],
           [0.2 , 0.26]])
    """
    check_flag(return_gradient, "return_gradient")
    given = read(unary, pairwise, lengths, start, stop, n_jobs)
    if not return_gradient:
        return log_sums(given, sample_weight, n_jobs)
    log_Z, proba, of_pairs = slopes(given, sample_weight, n_jobs)
    first, last = ends(given.structure)
    return log_Z, Gradient(
        given.form.of_tokens(proba),
        of_pairs,
        None if given.start is None else proba[first].sum(axis=0),
        None if given.stop is None else proba[last].sum(axis=0),
    )
