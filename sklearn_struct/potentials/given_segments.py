"""Scores that a user gives for segments: read, checked, and handed to inference block by block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Block, Family, Potentials, Structure
from sklearn_struct.encoding.features.segment_attributes import candidates
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.inference.segments.segment_scores import (
    by_first_token,
    by_last_token,
    n_candidates,
)
from sklearn_struct.inference.segments.segmentations import Segmentations
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

__all__ = ["GivenSegments", "read_segments"]

NAME = "segments"
WANTED = (
    "segments must be an array (n_tokens, max_length, n_labels) with lengths, a padded array "
    "(n_sequences, longest, max_length, n_labels), or a list with an array (n_tokens of the "
    "sequence, max_length, n_labels) for each sequence"
)


@dataclass(frozen=True)
class GivenSegments(GivenBlocks):
    """Scores (n_tokens, L, K) of segments of l + 1 tokens that begin with a token."""

    least_tokens: ClassVar[int] = 500
    bytes_of_rank: ClassVar[int] = 32  # a score and two ways back, twice

    @property
    def inference(self) -> Segmentations:
        """Segments of at most L tokens for all labels."""
        return Segmentations((self.scores.shape[1],) * self.n_labels)

    @cached_property
    def _node(self) -> np.ndarray:
        """Scores of tokens, which are 0, for the longest of the blocks."""
        tokens = [block.tokens for block in self.blocks()]
        return np.zeros((max(here.stop - here.start for here in tokens), self.n_labels))

    def potentials(self, block: Block) -> Potentials:
        """See `GivenBlocks`."""
        of_starts = self.scores[block.tokens]
        n, L, K = of_starts.shape
        whole = np.empty((len(block.structure.families[-1].nodes), K))
        squares = by_last_token(of_starts, block.structure.offsets, whole)
        # segments that are left out may have any scores
        if not squares < np.inf and not are_usual(whole):
            look_up(whole, lambda row, k: _segment(row, k, block, L))
        return _with_tables(self._node[:n], self.edges(block), whole, L)

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
        out = self.zeros(block, pairs)
        self.inference.marginals(potentials, block.structure, weight, out, log_Z[block.examples])
        by_first_token(out.cliques[-1], block.structure.offsets, proba[block.tokens])

    def zeros(self, block: Block, pairs: np.ndarray) -> Potentials:
        """Room for marginals of a block; those of pairs are added to `pairs`."""
        n, L, K = self.scores[block.tokens].shape
        whole = np.zeros((len(block.structure.families[-1].nodes), K))
        return _with_tables(np.zeros((n, K)), pairs, whole, L)

    def is_dead(self) -> np.ndarray:
        """See `GivenBlocks`."""

        def log_number(potentials: Potentials, block: Block) -> np.ndarray:
            """Of the segmentations that are allowed."""
            allowed = [np.where(table > -np.inf, 0.0, table) for table in potentials.cliques]
            counted = Potentials(potentials.node, tuple(allowed))
            return self.inference.log_partition(counted, block.structure)

        is_dead: np.ndarray = np.concatenate(self.each_block(log_number, None)) == -np.inf
        return is_dead

    def no_labelling(self, i: int) -> str:
        """See `GivenBlocks`."""
        return f"sequence {i}: scores of -inf allow no division into segments"


def _with_tables(
    node: np.ndarray, pairs: np.ndarray, whole: np.ndarray, n_lengths: int
) -> Potentials:
    """Potentials of tokens, pairs and whole segments; of lengths there are none."""
    none = np.zeros((1, whole.shape[1]))
    return Potentials(node, (pairs, *[none] * (n_lengths - 1), whole))


def read_segments(
    segments: Scores, pairwise: Scores, lengths: ArrayLike | None, n_jobs: int | None
) -> GivenSegments:
    """Arguments that all functions have, checked but for the scores of segments and steps, which
    each block looks at.
    """
    check_n_jobs(n_jobs)
    flat, L = _flat(segments)
    scores, form = read_form(flat, lengths, NAME)
    is_shared, tables = read_tables(pairwise, form)
    if scores.shape[0] == 0:  # a list of empty sequences does not say how many labels there are
        L = 1
        scores = np.empty((0, max(tables.shape[-1], 1)))
    K = scores.shape[1] // max(L, 1)
    if K == 0:
        raise ValueError("segments has no scores: its last two dimensions are lengths and labels")
    table = table_for_kernels(tables, is_shared, form, K, np.dtype(np.float64), NAME)
    counts = n_candidates(np.diff(form.offsets), L)
    # lengths are no cliques, and of segments only the number counts: their nodes are not listed
    none = Family(np.empty((0, 0), np.int64), np.zeros_like(form.offsets))
    nodes = np.empty((int(counts.sum()), 0), np.int64)
    whole = Family(nodes, np.concatenate([[0], np.cumsum(counts)]))
    structure = Structure(form.offsets, (steps_of(form), *[none] * (L - 1), whole))
    of_starts = for_kernels(scores, np.dtype(np.float64)).reshape(-1, L, K)
    return GivenSegments(of_starts, table, is_shared, structure, form)


def _flat(segments: Scores) -> tuple[Any, int]:
    """Scores whose lengths and labels are one dimension, and how many lengths there are."""
    if isinstance(segments, SequenceArray):
        raise InputTypeError(f"{WANTED}; got a SequenceArray")
    parts = _listed(segments)
    if parts is None:
        scores = as_numbers(segments, NAME)
        if scores.ndim not in (3, 4):
            raise InputTypeError(f"{WANTED}; got an array of {scores.ndim} dimensions")
        return _joined_ends(scores), scores.shape[-2]
    filled = [part for part in parts if part.size]
    for i, part in enumerate(parts):
        if part.size and part.ndim != 3:
            raise InputTypeError(f"{WANTED}; segments[{i}] has {part.ndim} dimensions")
        if part.size and part.shape[1:] != filled[0].shape[1:]:
            raise LengthMismatchError(
                f"segments[{i}] has {part.shape[1]} lengths and {part.shape[2]} labels, but others "
                f"have {filled[0].shape[1]} and {filled[0].shape[2]}"
            )
    flat = [_joined_ends(part) if part.size else np.empty((0, 0)) for part in parts]
    return flat, filled[0].shape[1] if filled else 1


def _joined_ends(scores: np.ndarray) -> np.ndarray:
    """Scores whose last two dimensions are one."""
    *shape, L, K = scores.shape
    return scores.reshape(*shape, L * K)


def _listed(segments: Scores) -> list[np.ndarray] | None:
    """The arrays of a list of sequences; None for an array."""
    is_objects = isinstance(segments, np.ndarray) and segments.dtype == object
    if not isinstance(segments, list | tuple) and not is_objects:
        return None
    items: list[Any] = list(segments)  # type: ignore[arg-type]
    # an empty item is a sequence without tokens: the first of the others decides
    filled = [item for item in items if not hasattr(item, "__len__") or len(item)]
    # the rows of one flat or padded array, written as lists
    if filled and not hasattr(filled[0], "ndim") and np.ndim(filled[0]) != 3:
        return None
    return [as_numbers(item, f"segments[{i}]") for i, item in enumerate(items)]


def _segment(row: int, k: int, block: Block, n_lengths: int) -> str:
    """Words for the score of a segment of a block."""
    spans = candidates(block.structure.offsets, n_lengths)
    i = int(np.searchsorted(spans.offsets, row, side="right")) - 1
    return (
        f"sequence {block.examples.start + i}, {spans.words(row)}, label {k}: the score in segments"
    )
