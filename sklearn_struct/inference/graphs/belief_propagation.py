"""Loopy belief propagation: exact on forests, approximate elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_struct.containers.structures import Structure
from sklearn_struct.inference.graphs.flat_scores import Cliques
from sklearn_struct.inference.graphs.message_passing import MessagePassing
from sklearn_struct.inference.graphs.remembered import of_structure

__all__ = ["BeliefPropagation"]


@dataclass(frozen=True)
class BeliefPropagation(MessagePassing):
    """Messages between neighbours until they settle (P1 4.2 and 5.4.3).

    log Z is Bethe's approximation, and marginals are its derivatives, where messages have settled
    (J. Yedidia, W. Freeman and Y. Weiss, IEEE Transactions on Information Theory 2005). Parameters
    are those of `MessagePassing`.
    """

    def shares(self, structure: Structure, cliques: Cliques) -> np.ndarray:
        """All of each clique."""
        return of_structure(structure, "ones", lambda: np.ones(len(cliques.row)))
