"""Sums over all labellings of given scores, of chains or of segments: log Z, its derivatives, and
probabilities.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.containers.structures import Block, Potentials
from sklearn_struct.exceptions import LengthMismatchError, NonFiniteError
from sklearn_struct.potentials.forms import Ragged, as_numbers
from sklearn_struct.potentials.given_blocks import GivenBlocks

__all__ = ["log_sums", "probabilities", "slopes"]


def probabilities(
    given: GivenBlocks, return_pairs: bool, n_jobs: int | None
) -> Ragged | tuple[Ragged, Ragged]:
    """Marginal probabilities in the form of the scores; with `return_pairs` those of pairs, too."""
    proba = np.empty(given.scores.shape)
    of_steps = given.tables(given.form.steps[-1] if return_pairs else 0)
    log_Z = np.empty(given.structure.n_examples)

    def work(potentials: Potentials, block: Block) -> None:
        pairs = of_steps[block.cliques[0]] if return_pairs else given.tables(1)
        ones = np.ones(block.structure.n_examples)
        given.add_marginals(potentials, block, ones, pairs, proba, log_Z)

    given.each_block(work, n_jobs)
    given.check_allowed(log_Z)
    in_form = given.form.of_tokens(proba)
    if not return_pairs:
        return in_form
    return in_form, given.form.of_steps(_as_tables(of_steps, given.n_labels))


def log_sums(given: GivenBlocks, sample_weight: ArrayLike | None, n_jobs: int | None) -> np.ndarray:
    """log Z of each sequence, where no derivatives are asked for."""
    if sample_weight is not None:
        raise ValueError("sample_weight has an effect on the gradient: use return_gradient=True")
    log_Z = np.empty(given.structure.n_examples)
    inference = given.inference

    def work(potentials: Potentials, block: Block) -> None:
        log_Z[block.examples] = inference.log_partition(potentials, block.structure)

    given.each_block(work, n_jobs)
    given.check_finite(log_Z)
    return log_Z


def slopes(
    given: GivenBlocks, sample_weight: ArrayLike | None, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray, Ragged]:
    """log Z of each sequence, and the derivatives of the weighted sum of these: in the scores of
    tokens, as one array, and in the tables of pairs, in their form.
    """
    weight = _read_weight(sample_weight, given.structure.n_examples)
    log_Z = np.empty(len(weight))
    proba = np.empty(given.scores.shape)
    of_steps = given.tables(0 if given.is_shared else given.form.steps[-1])
    inference = given.inference

    def work(potentials: Potentials, block: Block) -> np.ndarray:
        pairs = given.tables(1) if given.is_shared else of_steps[block.cliques[0]]
        w = weight[block.examples]
        given.add_marginals(potentials, block, w, pairs, proba, log_Z)
        if not np.all(w):  # inference skips these sequences
            log_Z[block.examples] = inference.log_partition(potentials, block.structure)
        return pairs

    tables = given.each_block(work, n_jobs)
    given.check_finite(log_Z)
    K = given.n_labels
    if given.is_shared:
        # in the order of the blocks, whichever thread has done which
        return log_Z, proba, _as_tables(sum(tables, start=given.tables(1)), K)[0]
    return log_Z, proba, given.form.of_steps(_as_tables(of_steps, K))


def _read_weight(sample_weight: ArrayLike | None, n: int) -> np.ndarray:
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


def _as_tables(tables: np.ndarray, K: int) -> np.ndarray:
    """Tables with a dimension for each label of a pair."""
    return tables.reshape(-1, K, K)
