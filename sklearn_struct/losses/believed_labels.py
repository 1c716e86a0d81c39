"""Losses of labels that are believed in with probabilities, such as those of EM."""

from __future__ import annotations

from string import ascii_lowercase

import numpy as np
from scipy.special import logsumexp

from sklearn_struct.containers.structures import Family, Potentials, Structure
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.evidence import Evidence

__all__ = ["BelievedLabels", "BesideBeliefs"]


class BelievedLabels(Loss):
    """sum_i -w_i sum_k q_i(k) log p(y_i = k | x_i), each node by its own scores alone.

    The evidence has the beliefs q and the weights w of nodes. Cliques do not count: multinomial
    logistic regression with probable labels.
    """

    token_weights = True

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The derivative in the nodes' scores is probabilities minus beliefs."""
        out.node[:] += _residuals(batch.potentials.node, batch, value)


class BesideBeliefs(Loss):
    """sum_i -w_i sum_k q_i(k) log p(y_i = k | q of its neighbours), a pseudolikelihood of beliefs.

    A node's scores are those of the evidence, fixed; to them come the scores of its cliques,
    expected under independent beliefs q of the other nodes. The potentials of nodes do not count.
    Where each belief is 1 for one label, it is Besag's pseudolikelihood as a function of cliques.
    """

    token_weights = True

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The derivative of a clique's scores is one node's residual times beliefs of the rest."""
        beliefs = _beliefs(batch.evidence)
        scores = batch.evidence.scores
        if scores is None:
            raise TypeError("this loss is one of cliques beside nodes; the evidence has no scores")
        rows = scores.astype(np.float64)
        families = batch.structure.families
        for family, table in zip(families, batch.potentials.cliques, strict=True):
            _add_expected(rows, beliefs, family, table)
        residuals = _residuals(rows, batch, value)
        for family, table in zip(families, out.cliques, strict=True):
            _add_outer(table, residuals, beliefs, family)


def _beliefs(evidence: Evidence) -> np.ndarray:
    if evidence.beliefs is None:
        raise TypeError("this loss is one of probable labels; the evidence has no beliefs")
    return evidence.beliefs


def _residuals(rows: np.ndarray, batch: Batch, value: np.ndarray) -> np.ndarray:
    """Weighted probabilities minus beliefs, of nodes with these scores; write the losses."""
    beliefs = _beliefs(batch.evidence)
    rows = rows.astype(np.float64)
    log_Z = logsumexp(rows, axis=1)
    weight = _weights(batch.evidence, batch.structure, batch.weight)
    # what is impossible is not believed, and -inf times 0 would be nan
    mean = np.sum(beliefs * np.where(beliefs > 0.0, rows, 0.0), axis=1)
    of_nodes = np.where(weight != 0.0, beliefs.sum(axis=1) * log_Z - mean, 0.0)
    if batch.evidence.weight is not None:
        of_nodes *= batch.evidence.weight
    owner = np.repeat(np.arange(len(value)), np.diff(batch.structure.offsets))
    value[:] = np.bincount(owner, of_nodes, len(value))
    excess = np.exp(rows - log_Z[:, None]) * beliefs.sum(axis=1)[:, None] - beliefs
    residuals: np.ndarray = weight[:, None] * excess
    return residuals


def _weights(evidence: Evidence, structure: Structure, weight: np.ndarray) -> np.ndarray:
    """Of each node: that of its example times its own."""
    of_nodes: np.ndarray = np.repeat(weight, np.diff(structure.offsets))
    return of_nodes if evidence.weight is None else of_nodes * evidence.weight


# ---- cliques: in sums of einsum, "Z" is the clique, and a small letter the label of a node


def _others(beliefs: np.ndarray, family: Family, p: int) -> tuple[str, list[np.ndarray]]:
    """The beliefs of all nodes of each clique but number p, and their letters for einsum."""
    others = [q for q in range(family.nodes.shape[1]) if q != p]
    letters = "".join(f",Z{ascii_lowercase[q]}" for q in others)
    return letters, [beliefs[family.nodes[:, q]] for q in others]


def _add_expected(rows: np.ndarray, beliefs: np.ndarray, family: Family, table: np.ndarray) -> None:
    """Add to the scores of each node those of its cliques, expected under beliefs of the others."""
    size = family.nodes.shape[1]
    labels = ascii_lowercase[:size]
    scores = table.astype(np.float64).reshape(-1, *(rows.shape[1],) * size)
    shared = len(table) == 1
    for p in range(size):
        letters, others = _others(beliefs, family, p)
        sums = f"{'' if shared else 'Z'}{labels}{letters}->Z{labels[p]}"
        of_cliques = np.einsum(sums, scores[0] if shared else scores, *others)
        np.add.at(rows, family.nodes[:, p], of_cliques)


def _add_outer(
    table: np.ndarray, residuals: np.ndarray, beliefs: np.ndarray, family: Family
) -> None:
    """Add to the sums of cliques the residuals of their nodes times beliefs of the others."""
    size = family.nodes.shape[1]
    labels = ascii_lowercase[:size]
    for p in range(size):
        letters, others = _others(beliefs, family, p)
        sums = f"Z{labels[p]}{letters}->{'' if len(table) == 1 else 'Z'}{labels}"
        added = np.einsum(sums, residuals[family.nodes[:, p]], *others)
        table += added.reshape(table.shape)
