"""Labellings of given scores, of chains or of segments: the best one, the n best, and samples.

Codes are those of the inference, one of each token.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.containers.structures import Block, Potentials
from sklearn_struct.containers.typing import Seed
from sklearn_struct.encoding.parameter_checks import check_count, generator
from sklearn_struct.potentials.given_blocks import GivenBlocks

__all__ = ["NO_LABEL", "best", "drawn", "n_best"]

NO_LABEL = -1  # where a padded array has no token, or a sequence no further labelling


def best(given: GivenBlocks, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n_tokens,) of the best labelling of each sequence, and its score."""
    codes = np.empty(len(given.scores), np.int32)
    score = np.empty(given.structure.n_examples)
    inference = given.inference

    def work(potentials: Potentials, block: Block) -> None:
        inference.argmax(potentials, block.structure, codes[block.tokens], score[block.examples])

    given.each_block(work, n_jobs)
    given.check_allowed(score)
    return codes, score


def n_best(given: GivenBlocks, n: int, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n_tokens, n) of the n best labellings, best first, and their scores (n_sequences, n);
    `NO_LABEL` and -inf where there are fewer.
    """
    n_tokens = len(given.scores)
    check_count(n, "n", given.bytes_of_rank * given.n_labels * n_tokens)
    codes = np.empty((n_tokens, n), np.int32)
    score = np.empty((given.structure.n_examples, n))
    inference = given.inference

    def work(potentials: Potentials, block: Block) -> None:
        of_block = np.empty((n, len(potentials.node)), np.int32)
        ranked = np.empty((n, block.structure.n_examples))
        inference.nbest(potentials, block.structure, of_block, ranked)
        is_none = ranked == -np.inf
        if np.any(is_none):
            of_block[np.repeat(is_none, np.diff(block.structure.offsets), axis=1)] = NO_LABEL
        codes[block.tokens] = of_block.T
        score[block.examples] = ranked.T

    given.each_block(work, n_jobs)
    given.check_allowed(score[:, 0])
    return codes, score


def drawn(
    given: GivenBlocks, n_samples: int, random_state: Seed, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n_tokens, n_samples) of labellings that are drawn by their probabilities, and their
    scores (n_sequences, n_samples).
    """
    n_tokens = len(given.scores)
    # a random number of eight bytes and a code of four for each token
    check_count(n_samples, "n_samples", 12 * n_tokens)
    # all at once, so that what is drawn depends neither on blocks nor on threads
    uniform = generator(random_state).random_sample((n_samples, n_tokens))
    codes = np.empty(uniform.shape, np.int32)
    score = np.empty((n_samples, given.structure.n_examples))
    inference = given.inference

    def work(potentials: Potentials, block: Block) -> None:
        for r in range(n_samples):
            draw = uniform[r, block.tokens], codes[r, block.tokens], score[r, block.examples]
            inference.sample(potentials, block.structure, *draw)

    given.each_block(work, n_jobs)
    given.check_allowed(score[0])
    return codes.T, score.T
