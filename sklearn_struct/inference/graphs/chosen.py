"""Another inference for each graph: exact where it is quick, approximate elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_struct.containers.structures import (
    Copies,
    Potentials,
    Structure,
    copies,
)
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.graphs.buckets import n_numbers
from sklearn_struct.inference.graphs.complex_step import OnGraphs
from sklearn_struct.inference.graphs.forest import Forest
from sklearn_struct.inference.graphs.junction_tree import JunctionTree
from sklearn_struct.inference.graphs.remembered import of_structure
from sklearn_struct.inference.graphs.rooted_trees import are_forests

__all__ = ["ChosenByGraph"]


@dataclass(frozen=True)
class ChosenByGraph(OnGraphs):
    """Forests by `Forest`, other graphs by `JunctionTree`, and those with too large tables by
    another inference. What is chosen depends on a graph and the number of labels alone.

    Parameters
    ----------
    otherwise : Inference
    most : float, default=2**17
        The largest number of numbers in the tables of a graph that is inferred exactly.
    """

    otherwise: Inference
    most: float = 2.0**17

    def marginals(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Add weighted marginals to `out`, write log Z; see `Inference.marginals`."""
        for inference, part, examples in self._parts(potentials, structure):
            room = _room(part, out)
            sums = np.empty(len(examples), log_Z.dtype)
            inference.marginals(part.cut(potentials), part.structure, weight[examples], room, sums)
            log_Z[examples] = sums
            _add(part, room, out)

    def argmax(
        self,
        potentials: Potentials,
        structure: Structure,
        labels: np.ndarray,
        score: np.ndarray | None = None,
    ) -> None:
        """Write the labelling that each inference finds and, if asked for, its score."""
        for inference, part, _ in self._parts(potentials, structure):
            chosen = np.empty(len(part.tokens), labels.dtype)
            inference.argmax(part.cut(potentials), part.structure, chosen)
            labels[part.tokens] = chosen
        if score is not None:
            score[:] = self.scores(potentials, structure, labels)

    def score_bound(self, potentials: Potentials, structure: Structure) -> np.ndarray:
        """The bound of each inference; see `Inference.score_bound`."""
        bound = np.empty(structure.n_examples)
        for inference, part, examples in self._parts(potentials, structure):
            bound[examples] = inference.score_bound(part.cut(potentials), part.structure)
        return bound

    def sample(
        self,
        potentials: Potentials,
        structure: Structure,
        uniform: np.ndarray,
        labels: np.ndarray,
        score: np.ndarray,
    ) -> None:
        """Draw one labelling of each example from p(y | x), by one number in [0, 1) a node;
        ValueError for an example whose inference cannot draw.
        """
        for inference, part, examples in self._parts(potentials, structure):
            if not isinstance(inference, Forest | JunctionTree):
                raise ValueError(f"example {examples[0]}: labellings are drawn exactly alone")
            drawn = np.empty(len(part.tokens), labels.dtype)
            numbers = uniform[part.tokens]
            of_part = np.empty(len(examples))
            inference.sample(part.cut(potentials), part.structure, numbers, drawn, of_part)
            labels[part.tokens] = drawn
            score[examples] = of_part

    def _parts(
        self, potentials: Potentials, structure: Structure
    ) -> list[tuple[Inference, Copies, np.ndarray]]:
        """For each inference the examples that it gets."""
        K = potentials.node.shape[1]
        key = "parts", K, self.most
        parts = of_structure(structure, key, lambda: _parts(structure, K, self.most))
        inferences = Forest(), JunctionTree(self.most), self.otherwise
        return [(inferences[i], part, examples) for i, part, examples in parts]


def _parts(
    structure: Structure, n_labels: int, most: float
) -> list[tuple[int, Copies, np.ndarray]]:
    """The examples that are forests (0), others with small tables (1), and those with large ones
    (2), where there are some.
    """
    forest = are_forests(structure)
    others = np.flatnonzero(~forest)
    kinds = np.where(forest, 0, 2)
    numbers = n_numbers(copies(structure, others).structure, n_labels, most)
    kinds[others[numbers <= most]] = 1
    every = [(i, np.flatnonzero(kinds == i)) for i in range(3)]
    return [(i, copies(structure, examples), examples) for i, examples in every if len(examples)]


def _room(part: Copies, out: Potentials) -> Potentials:
    """Zeros for the sums of a part."""
    node = np.zeros((len(part.tokens), out.node.shape[1]), out.node.dtype)
    cliques = []
    for table, rows in zip(out.cliques, part.cliques, strict=True):
        n_rows = 1 if len(table) == 1 else len(rows)
        cliques.append(np.zeros((n_rows, table.shape[1]), table.dtype))
    return Potentials(node, tuple(cliques))


def _add(part: Copies, sums: Potentials, out: Potentials) -> None:
    """Add the sums of a part to those of all; each node and clique is in one part."""
    out.node[part.tokens] += sums.node
    for table, into, rows in zip(sums.cliques, out.cliques, part.cliques, strict=True):
        if len(into) == 1:
            into += table
        else:
            into[rows] += table
