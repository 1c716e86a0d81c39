"""Tree-reweighted belief propagation: an upper bound of log Z."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_struct.containers.structures import Structure
from sklearn_struct.inference.graphs.flat_scores import Cliques
from sklearn_struct.inference.graphs.forest_shares import shares_of_cliques
from sklearn_struct.inference.graphs.message_passing import MessagePassing
from sklearn_struct.inference.graphs.remembered import of_structure

__all__ = ["TreeReweighted"]


@dataclass(frozen=True)
class TreeReweighted(MessagePassing):
    """Messages as of belief propagation, in which a clique has the share of forests that have it.

    The value is convex in the scores. Where messages have settled it is no less than log Z, and
    marginals are its derivatives (M. Wainwright, T. Jaakkola and A. Willsky, IEEE Transactions on
    Information Theory 2005, equation 39, theorem 3). Shares are those of `forest_shares`, for
    cliques of any size. Of graphs without cycles it is exact. Parameters are those of
    `MessagePassing`.
    """

    def shares(self, structure: Structure, cliques: Cliques) -> np.ndarray:
        """In what share of forests each clique is; made once for a structure."""
        return of_structure(structure, "shares", lambda: shares_of_cliques(structure, cliques))
