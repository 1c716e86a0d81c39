"""Sums over all labellings of given scores: log Z, its gradient, and probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.containers.memory_checks import reserve
from sklearn_struct.containers.structures import Block, Potentials, ends
from sklearn_struct.encoding.parameter_checks import check_flag
from sklearn_struct.exceptions import LengthMismatchError, NonFiniteError
from sklearn_struct.potentials.forms import Ragged, Scores, as_numbers
from sklearn_struct.potentials.given_scores import CHAIN, Given, read

__all__ = ["Gradient", "as_tables", "log_partition", "marginals", "read_weight"]


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
    of_tokens = np.zeros(given.unary.shape)
    of_steps = _tables(given, given.form.steps[-1] if return_pairs else 0)
    log_Z = np.empty(given.structure.n_examples)

    def work(potentials: Potentials, block: Block) -> None:
        pairs = of_steps[block.cliques[0]] if return_pairs else _tables(given, 1)
        out = Potentials(of_tokens[block.tokens], (pairs,))
        ones = np.ones(block.structure.n_examples)
        CHAIN.marginals(potentials, block.structure, ones, out, log_Z[block.examples])

    given.each_block(work, n_jobs)
    given.check_allowed(log_Z)
    proba = given.form.of_tokens(of_tokens)
    return (
        (proba, given.form.of_steps(as_tables(of_steps, given.n_labels))) if return_pairs else proba
    )


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
    log_Z = np.empty(given.structure.n_examples)
    if return_gradient:
        weight = read_weight(sample_weight, len(log_Z))
        return log_Z, _gradient(given, weight, log_Z, n_jobs)
    if sample_weight is not None:
        raise ValueError("sample_weight has an effect on the gradient: use return_gradient=True")

    def work(potentials: Potentials, block: Block) -> None:
        log_Z[block.examples] = CHAIN.log_partition(potentials, block.structure)

    given.each_block(work, n_jobs)
    given.check_finite(log_Z)
    return log_Z


def _gradient(given: Given, weight: np.ndarray, log_Z: np.ndarray, n_jobs: int | None) -> Gradient:
    """The derivatives of the weighted sum of log Z, which is written, too."""
    of_tokens = np.zeros(given.unary.shape)
    of_steps = _tables(given, 0 if given.is_shared else given.form.steps[-1])

    def work(potentials: Potentials, block: Block) -> np.ndarray:
        pairs = _tables(given, 1) if given.is_shared else of_steps[block.cliques[0]]
        out = Potentials(of_tokens[block.tokens], (pairs,))
        w = weight[block.examples]
        CHAIN.marginals(potentials, block.structure, w, out, log_Z[block.examples])
        if not np.all(w):  # inference skips these sequences
            log_Z[block.examples] = CHAIN.log_partition(potentials, block.structure)
        return pairs

    tables = given.each_block(work, n_jobs)
    given.check_finite(log_Z)
    first, last = ends(given.structure)
    form = given.form
    if given.is_shared:
        # in the order of the blocks, whichever thread has done which
        sums = sum(tables, start=_tables(given, 1))
        total: Ragged = as_tables(sums, given.n_labels)[0]
    else:
        total = form.of_steps(as_tables(of_steps, given.n_labels))
    return Gradient(
        form.of_tokens(of_tokens),
        total,
        None if given.start is None else of_tokens[first].sum(axis=0),
        None if given.stop is None else of_tokens[last].sum(axis=0),
    )


def read_weight(sample_weight: ArrayLike | None, n: int) -> np.ndarray:
    if sample_weight is None:
        return np.ones(n)
    weight = as_numbers(sample_weight, "sample_weight").astype(np.float64)
    if weight.shape != (n,):
        raise LengthMismatchError(
            f"sample_weight must have a number for each of the {n} sequences; its shape is "
            f"{weight.shape}"
        )
    if not np.all(np.isfinite(weight)):
        i = int(np.argmin(np.isfinite(weight)))
        raise NonFiniteError(f"sample_weight[{i}] is not finite ({weight[i]})")
    return weight


def _tables(given: Given, n: int) -> np.ndarray:
    """Zeros for n tables of pairs, if there is memory for them."""
    width = given.pairwise.shape[1]
    reserve(8 * int(n) * width, "a table for each pair of neighbouring tokens")
    return np.zeros((int(n), width))


def as_tables(tables: np.ndarray, K: int) -> np.ndarray:
    """Tables with a dimension for each label of a pair."""
    return tables.reshape(-1, K, K)
