"""What is known of the labels of tokens: all of them, some, with weights, or what they are like on
the whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.csr import CSR

__all__ = ["Evidence", "Fired"]


class Fired(NamedTuple):
    """How strongly each criterion fires at each token, a row a token, non-negative.

    ``edge`` are those of criteria on label pairs: they fire at the second token of a pair.
    """

    node: CSR
    edge: CSR

    def part(self, tokens: slice) -> Fired:
        """Those of some tokens, without a copy."""
        rows = slice(tokens.start, tokens.stop + 1)
        return Fired(*(table._replace(indptr=table.indptr[rows]) for table in self))

    @property
    def has_edges(self) -> bool:
        """Whether a criterion on label pairs fires."""
        return bool(self.edge.indptr[-1] > self.edge.indptr[0])


class Evidence(NamedTuple):
    """What is known of n tokens; a loss reads the fields that it is about.

    Either the ``labels`` (n,) int32 are known, or ``allowed`` (n, n_labels) is a mask of those that
    may stand at each token: one for a known label, all for an unknown one. ``weight`` (n,) weighs
    tokens, None for all alike. ``fired`` are the criteria that fire at tokens without labels.
    ``block`` (n,) numbers the block of each token within its example, where labels of blocks are
    compared. ``beliefs`` (n, n_labels) are probabilities of labels that are not known for certain,
    and ``scores`` (n, n_labels) those that nodes have already.
    """

    labels: np.ndarray | None = None
    allowed: np.ndarray | None = None
    weight: np.ndarray | None = None
    fired: Fired | None = None
    block: np.ndarray | None = None
    beliefs: np.ndarray | None = None
    scores: np.ndarray | None = None

    def part(self, tokens: slice) -> Evidence:
        """What is known of some tokens, without a copy."""
        labels, allowed, weight, fired, block, beliefs, scores = self
        return Evidence(
            None if labels is None else labels[tokens],
            None if allowed is None else allowed[tokens],
            None if weight is None else weight[tokens],
            None if fired is None else fired.part(tokens),
            None if block is None else block[tokens],
            None if beliefs is None else beliefs[tokens],
            None if scores is None else scores[tokens],
        )

    def known_labels(self) -> np.ndarray:
        """The labels, which a loss of known labels asks for."""
        if self.labels is None:
            raise TypeError("this loss is one of known labels; the evidence has none")
        return self.labels

    def allowed_labels(self) -> np.ndarray:
        """The mask of labels that may stand at each token."""
        if self.allowed is None:
            raise TypeError("this loss is one of partly known labels; the evidence has no mask")
        return self.allowed
