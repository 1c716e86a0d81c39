"""Scores that a user gives for chains: read, checked, and handed to inference block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.containers.structures import Block, Potentials, Structure, ends
from sklearn_struct.exceptions import LengthMismatchError
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.forbidden import dead_ends
from sklearn_struct.potentials.forms import Scores, as_numbers, read_form
from sklearn_struct.potentials.given_blocks import (
    GivenBlocks,
    are_usual,
    check_n_jobs,
    for_kernels,
    look_up,
    read_tables,
    steps_of,
    table_for_kernels,
)

__all__ = ["CHAIN", "Given", "dtype_of", "read"]

CHAIN = Chain()


@dataclass(frozen=True)
class Given(GivenBlocks):
    """Scores of chains; ``start`` and ``stop`` (K,), or None, are those of both ends."""

    start: np.ndarray | None
    stop: np.ndarray | None
    least_tokens: ClassVar[int] = 3000
    bytes_of_rank: ClassVar[int] = 16  # a score and a way back

    @property
    def inference(self) -> Chain:
        """See `GivenBlocks`."""
        return CHAIN

    def potentials(self, block: Block) -> Potentials:
        """See `GivenBlocks`."""
        node = self.scores[block.tokens]
        if not are_usual(node):
            look_up(node, lambda row, k: f"{_token(row, block)}, label {k}: the score in unary")
        edge = self.edges(block)
        if self.start is not None or self.stop is not None:
            node = self._with_ends(node, block.structure)
        return Potentials(node, (edge,))

    def add_marginals(
        self,
        potentials: Potentials,
        block: Block,
        weight: np.ndarray,
        pairs: np.ndarray,
        proba: np.ndarray,
        log_Z: np.ndarray,
    ) -> None:
        """See `GivenBlocks`."""
        node = proba[block.tokens]
        node[:] = 0  # inference adds
        out = Potentials(node, (pairs,))
        CHAIN.marginals(potentials, block.structure, weight, out, log_Z[block.examples])

    def is_dead(self) -> np.ndarray:
        """See `GivenBlocks`."""
        is_dead: np.ndarray = self._dead_ends() >= 0
        return is_dead

    def no_labelling(self, i: int) -> str:
        """See `GivenBlocks`."""
        return (
            f"sequence {i}, token {self._dead_ends()[i]}: scores of -inf allow no label here, "
            "whatever stands before it"
        )

    def _dead_ends(self) -> np.ndarray:
        """Of each sequence the first token that no labelling reaches, -1 for none."""
        return np.concatenate(
            self.each_block(lambda potentials, block: dead_ends(potentials, block.structure), None)
        )

    def _with_ends(self, node: np.ndarray, structure: Structure) -> np.ndarray:
        """A copy of the scores of tokens, with those of first and last tokens added."""
        node = node.copy()
        first, last = ends(structure)
        if self.start is not None:
            node[first] += self.start
        if self.stop is not None:
            node[last] += self.stop
        return node


def read(
    unary: Scores,
    pairwise: Scores,
    lengths: ArrayLike | None,
    start: ArrayLike | None,
    stop: ArrayLike | None,
    n_jobs: int | None,
) -> Given:
    """Arguments that all functions have, checked but for the scores of tokens and steps, which each
    block looks at.
    """
    check_n_jobs(n_jobs)
    scores, form = read_form(unary, lengths)
    dtype = dtype_of(scores)
    is_shared, tables = read_tables(pairwise, form)
    if scores.shape[0] == 0:  # a list of empty sequences does not say how many labels there are
        scores = np.empty((0, max(scores.shape[1], tables.shape[-1])))
    K = scores.shape[1]
    if K == 0:
        raise ValueError("unary has scores of no label: its last dimension is 0")
    table = table_for_kernels(tables, is_shared, form, K, dtype)
    structure = Structure(form.offsets, (steps_of(form),))
    return Given(
        for_kernels(scores, dtype),
        table,
        is_shared,
        structure,
        form,
        _read_end(start, "start", K, dtype),
        _read_end(stop, "stop", K, dtype),
    )


def dtype_of(scores: np.ndarray) -> np.dtype:
    """The float type in which scores are computed."""
    is_short = scores.dtype.kind == "f" and scores.dtype.itemsize <= 4
    return np.dtype(np.float32 if is_short else np.float64)


def _read_end(scores: ArrayLike | None, name: str, K: int, dtype: np.dtype) -> np.ndarray | None:
    """Scores of labels at one end of sequences."""
    if scores is None:
        return None
    row = for_kernels(as_numbers(scores, name), dtype)
    if row.shape != (K,):
        raise LengthMismatchError(
            f"{name} must have a score for each of the {K} labels of unary; its shape is "
            f"{row.shape}"
        )
    look_up(row[None], lambda _, k: f"{name}[{k}]")
    return row


def _token(row: int, block: Block) -> str:
    """Words for the place of a token of a block."""
    offsets = block.structure.offsets
    i = int(np.searchsorted(offsets, row, side="right")) - 1
    return f"sequence {block.examples.start + i}, token {row - offsets[i]}"
