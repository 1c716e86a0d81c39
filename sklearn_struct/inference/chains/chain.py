"""Exact inference on chains of first and second order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers import structures
from sklearn_struct.containers.structures import Potentials, Structure, n_columns
from sklearn_struct.inference.base import CliqueRows, Inference
from sklearn_struct.inference.chains import (
    few_labels,
    first_order,
    first_order_decoding,
    second_order,
    second_order_decoding,
    second_order_tangent,
)
from sklearn_struct.inference.chains.flat_tuples import Links, PairRows, Pairs, links, tables

__all__ = ["Chain"]


@dataclass(frozen=True)
class Chain(Inference):
    """Exact inference on chains, in which a token depends on the label before it, or on two.

    The tables of potentials say whether pairs of neighbours have scores, or also three in a row;
    kernels of second order are compiled only once they are called.

    Parameters
    ----------
    order : {1, 2}, default=1
        Of the chains that `structure` makes.
    """

    order: int = 1

    def structure(self, offsets: np.ndarray, listed: bool = True) -> Structure:
        """Chains over the tokens that ``offsets`` (n + 1) bounds; see `structures.chain`."""
        return structures.chain(offsets, self.order, listed)

    @property
    def writes_float32(self) -> bool:
        """Chains of first order do."""
        return self.order == 1

    def read_of(self, structure: Structure) -> Structure:
        """Chains of first order without the list of pairs."""
        pairs_alone = len(structure.families) == 1
        return structures.chain(structure.offsets, listed=False) if pairs_alone else structure

    def most_tokens(self, structure: Structure, n_labels: int) -> int:
        """With how many tokens a call is still short."""
        order = len(structure.families)
        # a token takes K ** (order + 1) steps, those of second order ten times the time
        n_steps = 80_000_000 if order == 1 else 8_000_000
        return n_steps // n_columns(n_labels, order + 1)

    def marginals(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Add weighted marginals to `out`, write log Z; see `Inference.marginals`."""
        products = _products(potentials)
        room = tables(out)
        patiently(
            lambda: products.marginals(tables(potentials), links(structure), weight, room, log_Z),
            2 * _steps(potentials),
        )

    def log_partition(
        self, potentials: Potentials, structure: Structure, weight: np.ndarray | None = None
    ) -> np.ndarray:
        """log Z of each sequence; see `Inference.log_partition`."""
        if len(potentials.cliques) > 1:
            return super().log_partition(potentials, structure, weight)
        log_Z = np.empty(structure.n_examples)
        weight = np.ones(len(log_Z)) if weight is None else weight
        scores = Pairs(potentials.node, potentials.cliques[0])
        pairs = Links(structure.offsets, *structure.families[0])
        patiently(
            lambda: first_order.log_partition(scores, pairs, weight, log_Z), _steps(potentials)
        )
        return log_Z

    def expectations(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        sums: tuple[np.ndarray, ...],
        log_Z: np.ndarray,
        again: Callable[[int, np.ndarray], None] | None = None,
    ) -> None:
        """Turn scores of labels into their weighted marginals, in place; add those of cliques to
        `sums`, tables like those of the `out` of `marginals`; write log Z. ``again(i, rows)``
        writes the same scores of the tokens of sequence i once more, for where sums fail: without
        it, scores may need to be copied.

        Tokens whose sequence has weight 0 or no allowed labelling get zeros. Only sums over
        sequences count: of few labels this is several times faster than `marginals`, and the last
        digits of a sequence depend on the others of the call.
        """
        if len(potentials.cliques) > 1:
            out = Potentials(np.zeros_like(potentials.node), sums)
            self.marginals(potentials, structure, weight, out, log_Z)
            potentials.node[:] = out.node
            return
        arguments = tables(potentials), links(structure), weight, sums[0], log_Z
        quicker: ModuleType = few_labels
        products = _products(potentials)
        if not quicker.expectations(*arguments, again):
            patiently(lambda: products.expectations(*arguments), 2 * _steps(potentials))

    def tangent(
        self,
        potentials: Potentials,
        reward: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        mean: np.ndarray,
    ) -> None:
        """Add weighted covariances with a reward to `out`; see `Inference.tangent`."""
        products: ModuleType = first_order
        if len(potentials.cliques) > 1:
            products = second_order_tangent
        arguments = tables(potentials), tables(reward), links(structure), weight, tables(out), mean
        # two passes, each of numbers and of their derivatives
        patiently(lambda: products.tangent(*arguments), 4 * _steps(potentials))

    def marginals_by_row(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        node: np.ndarray,
        rows: CliqueRows,
        log_Z: np.ndarray,
    ) -> None:
        """Add weighted marginals; see `Inference.marginals_by_row`."""
        if len(potentials.cliques) > 1:
            super().marginals_by_row(potentials, structure, weight, node, rows, log_Z)
            return
        products = _products(potentials)
        arguments = tables(potentials), links(structure), weight, node, _pair_rows(rows), log_Z
        patiently(lambda: products.marginals_by_row(*arguments), 2 * _steps(potentials))

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
        """Add weighted covariances with a reward; see `Inference.tangent_by_row`."""
        shared = len(potentials.cliques[0]) == len(reward.cliques[0]) == 1
        if len(potentials.cliques) > 1 or not shared:
            super().tangent_by_row(potentials, reward, rows, structure, weight, out, mean)
            return
        products = _products(potentials)
        arguments = tables(potentials), tables(reward), links(structure), weight, tables(out), mean
        of_pairs = _pair_rows(rows)
        patiently(lambda: products.tangent(*arguments, of_pairs), 4 * _steps(potentials))

    def argmax(
        self,
        potentials: Potentials,
        structure: Structure,
        labels: np.ndarray,
        score: np.ndarray | None = None,
    ) -> None:
        """Viterbi: write the best labelling and, if asked for, its score."""
        decoding = _decoding(potentials)
        patiently(
            lambda: decoding.argmax(tables(potentials), links(structure), labels, score),
            _steps(potentials),
        )

    def nbest(
        self, potentials: Potentials, structure: Structure, labels: np.ndarray, score: np.ndarray
    ) -> None:
        """Write the n best labellings (n, n_tokens) int32 and their scores (n, n_sequences), best
        first; -inf where there are fewer.
        """
        decoding = _decoding(potentials)
        patiently(
            lambda: decoding.nbest(tables(potentials), links(structure), labels, score),
            len(score) * _steps(potentials),
        )

    def sample(
        self,
        potentials: Potentials,
        structure: Structure,
        uniform: np.ndarray,
        labels: np.ndarray,
        score: np.ndarray,
    ) -> None:
        """Draw one labelling of each sequence from p(y | x), by one number in [0, 1) a token."""
        decoding = _decoding(potentials)
        patiently(
            lambda: decoding.sample(tables(potentials), links(structure), uniform, labels, score),
            2 * _steps(potentials),
        )

    def path_score(
        self, potentials: Potentials, structure: Structure, labels: np.ndarray, score: np.ndarray
    ) -> None:
        """Write the sum of log-potentials along a given labelling (n,) int32 of each sequence."""
        _decoding(potentials).path_score(tables(potentials), links(structure), labels, score)

    def scores(
        self, potentials: Potentials, structure: Structure, labels: np.ndarray
    ) -> np.ndarray:
        """What `path_score` writes, token by token."""
        score = np.empty(structure.n_examples)
        self.path_score(potentials, structure, labels, score)
        return score


def _products(potentials: Potentials) -> ModuleType:
    return first_order if len(potentials.cliques) == 1 else second_order


def _decoding(potentials: Potentials) -> ModuleType:
    return first_order_decoding if len(potentials.cliques) == 1 else second_order_decoding


def _pair_rows(rows: CliqueRows) -> PairRows:
    return PairRows(*rows.strength, rows.table)


def _steps(potentials: Potentials) -> int:
    """About how many steps a pass takes."""
    n_columns = 0
    for table in potentials.cliques:
        n_columns += table.shape[1]
    return len(potentials.node) * n_columns
