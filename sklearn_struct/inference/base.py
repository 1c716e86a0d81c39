"""What an inference is: all that losses, objectives and estimators ask of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

import numpy as np

from sklearn_struct.containers import structures
from sklearn_struct.containers.csr import CSR, as_matrix
from sklearn_struct.containers.structures import Blocks, Potentials, Structure, zeros
from sklearn_struct.inference.labelling_scores import add_labelling, forbid_labels

__all__ = ["CliqueRows", "Inference", "Ranker", "Sampler"]


class CliqueRows(NamedTuple):
    """Rows of a table (n_rows, K**r) that cliques of the first family combine.

    The clique whose last node is t has ``sum_m strength[t, m] * table[m]``; most have none.
    """

    strength: CSR
    table: np.ndarray

    def by_clique(self, structure: Structure) -> np.ndarray:
        """What each clique has, (n_cliques, K**r)."""
        matrix = as_matrix(self.strength, len(self.table))
        dense: np.ndarray = matrix[structure.families[0].nodes[:, -1]] @ self.table
        return dense

    def add(self, of_cliques: np.ndarray, structure: Structure) -> None:
        """Add to each row of the table what cliques have, times their strengths."""
        matrix = as_matrix(self.strength, len(self.table))
        self.table[:] += matrix[structure.families[0].nodes[:, -1]].T @ of_cliques


class Inference(ABC):
    """Sums and maxima over all labellings of a kind of structures, p(y | x) = exp(score(y)) / Z.

    It sees potentials and structures, never evidence or a loss; it can add up a labelling that it
    is given. Inferences are small values that pickle and compare.
    """

    @abstractmethod
    def most_tokens(self, structure: Structure, n_labels: int) -> int:
        """With how many nodes a call is still short."""

    def blocks(
        self, structure: Structure, n_labels: int, n_tokens: int = 3000, n_blocks: int = 64
    ) -> Blocks:
        """Examples cut into blocks of about `n_tokens` nodes, each the work of one call.

        Fewer nodes where calls would be long, and where there would be less than `n_blocks` blocks.
        """
        most = self.most_tokens(structure, n_labels)
        size = structures.block_size(n_tokens, most, int(structure.offsets[-1]), n_blocks)
        return Blocks(structure, size)

    @abstractmethod
    def marginals(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Add ``weight[i]`` times the marginals of example i to `out`; write log Z of each.

        Weight 0 skips an example, whose log Z is written as 0. Where no labelling is allowed log Z
        is -inf, and nothing is added. A table of `out` with one row takes the sum over its family.
        """

    def marginals_less_allowed(
        self,
        potentials: Potentials,
        allowed: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        value: np.ndarray,
    ) -> None:
        """Add weighted marginals less those among the labellings whose labels a mask (n_nodes, K)
        allows; write log Z less log Z of these.
        """
        among_allowed = forbid_labels(potentials, allowed)
        log_Z = np.empty(len(weight))
        self.marginals(potentials, structure, weight, out, value)
        # marginals are added to what is there: with -weight to the difference, without a second
        # array
        self.marginals(among_allowed, structure, -weight, out, log_Z)
        value -= log_Z

    @abstractmethod
    def tangent(
        self,
        potentials: Potentials,
        reward: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        mean: np.ndarray,
    ) -> None:
        """Add ``weight[i]`` times Cov(indicators, R) for an additive reward R of labellings, the
        derivative of the marginals in its direction; write E[R], nan where none is allowed.
        """

    def marginals_by_row(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        node: np.ndarray,
        rows: CliqueRows,
        log_Z: np.ndarray,
    ) -> None:
        """As `marginals`, but those of nodes are added to `node`, and those of the cliques of the
        first family to the rows of the table that they have.
        """
        out = zeros(potentials)
        of_cliques = np.zeros((len(structure.families[0].nodes), out.cliques[0].shape[1]))
        room = Potentials(node, (of_cliques, *out.cliques[1:]))
        self.marginals(potentials, structure, weight, room, log_Z)
        rows.add(of_cliques, structure)

    def tangent_by_row(
        self,
        potentials: Potentials,
        reward: Potentials,
        rows: CliqueRows,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        mean: np.ndarray,
    ) -> None:
        """As `tangent`, where cliques of the first family have the rewards of `rows`, too."""
        first, *wider = reward.cliques
        of_all = Potentials(reward.node, (first + rows.by_clique(structure), *wider))
        self.tangent(potentials, of_all, structure, weight, out, mean)

    @abstractmethod
    def argmax(
        self,
        potentials: Potentials,
        structure: Structure,
        labels: np.ndarray,
        score: np.ndarray | None = None,
    ) -> None:
        """Write the best labelling (n,) int32 and, if asked for, its score (n_examples,)."""

    def score_bound(self, potentials: Potentials, structure: Structure) -> np.ndarray:
        """What no labelling of an example scores above, (n_examples,); inf where nothing is known.

        Here it is the score of the best labelling, as `argmax` is exact.
        """
        labels = np.empty(int(structure.offsets[-1]), dtype=np.int32)
        score = np.empty(structure.n_examples)
        self.argmax(potentials, structure, labels, score)
        return score

    def log_partition(
        self, potentials: Potentials, structure: Structure, weight: np.ndarray | None = None
    ) -> np.ndarray:
        """log Z of each example, without the marginals; to the last digit as `marginals` writes it
        where tables of its `out` are shaped as those of the potentials.

        Weight 0 skips an example, whose log Z is 0.
        """
        n = structure.n_examples
        log_Z = np.empty(n)
        weight = np.ones(n) if weight is None else weight
        self.marginals(potentials, structure, weight, zeros(potentials), log_Z)
        return log_Z

    def scores(
        self, potentials: Potentials, structure: Structure, labels: np.ndarray
    ) -> np.ndarray:
        """Sums of log-potentials along a labelling of each example."""
        score = np.empty(structure.n_examples)
        ones = np.ones(structure.n_examples)
        self.add_labelling(potentials, structure, labels, ones, zeros(potentials), score)
        return score

    @property
    def writes_float32(self) -> bool:
        """Whether the marginals of nodes may be float32, as their potentials are then."""
        return False

    def read_of(self, structure: Structure) -> Structure:
        """The structure without lists that sums, their derivatives and `add_labelling` do not read;
        here with all of them.
        """
        return structure

    def add_labelling(
        self,
        potentials: Potentials,
        structure: Structure,
        labels: np.ndarray,
        weight: np.ndarray,
        out: Potentials,
        score: np.ndarray,
    ) -> None:
        """Add ``weight[i]`` times the indicators of a labelling to `out`; write its score.

        Weight 0 skips an example, whose score is written as 0.
        """
        add_labelling(potentials, structure, labels, weight, out, score)


class Sampler(Protocol):
    """An inference that draws labellings, too."""

    def sample(
        self,
        potentials: Potentials,
        structure: Structure,
        uniform: np.ndarray,
        labels: np.ndarray,
        score: np.ndarray,
    ) -> None:
        """Draw one labelling of each example from p(y | x), by one number in [0, 1) a node; write
        its score.
        """


class Ranker(Protocol):
    """An inference that finds the n best labellings, too."""

    def nbest(
        self, potentials: Potentials, structure: Structure, labels: np.ndarray, score: np.ndarray
    ) -> None:
        """Write the n best labellings (n, n_nodes) int32 and their scores (n, n_examples), best
        first; -inf where there are fewer.
        """

    def log_partition(self, potentials: Potentials, structure: Structure) -> np.ndarray:
        """log Z of each example."""
