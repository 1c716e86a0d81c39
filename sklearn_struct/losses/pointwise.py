"""Minus the logarithms of the marginals of the true labels, each with a weight of its own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.structures import Potentials, Structure, copies, zeros
from sklearn_struct.inference.base import Inference
from sklearn_struct.losses.base import Batch, Loss

__all__ = ["Pointwise"]

# smaller probabilities come from clamped copies: covariances lose as many digits as rewards have
TINY = 1e-6
COPIES = 10_000  # tokens of clamped copies at a time


class Pointwise(Loss):
    """The loss sum_t omega_t * -log p(y_t | x) of each example (Kakade, Teh & Roweis, ICML 2002).

    It asks of each label alone to be probable, not of the labelling; so each may have a weight
    omega, which in -log p(y | x) would have no meaning. The gradient is minus the covariance of
    indicators with the reward omega_t / p(y_t | x) of each true label. It is not convex, except for
    examples of one token, where it is the likelihood's.

    Where p(y_t | x) is tiny, the reward would be huge, or p no float. There the same is computed
    from a copy of the example in which label t is clamped: log p = log Z(clamped) - log Z, with
    gradient marginals(clamped) - marginals.

    Parameters
    ----------
    inference : Inference
    """

    convex = False
    token_weights = True

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The derivative is minus a covariance; the evidence may weigh tokens."""
        potentials, evidence, structure, weight = batch
        labels = evidence.known_labels()
        omega = np.ones(len(labels)) if evidence.weight is None else evidence.weight
        # ratios keep their digits
        cliques = tuple(np.asarray(table, np.float64) for table in potentials.cliques)
        potentials = Potentials(np.asarray(potentials.node, np.float64), cliques)
        example = np.repeat(np.arange(len(weight)), np.diff(structure.offsets))
        tokens = np.arange(len(labels))
        marginals = zeros(potentials)
        log_Z = np.empty(len(weight))
        self.inference.marginals(
            potentials, structure, (weight != 0).astype(np.float64), marginals, log_Z
        )
        p = marginals.node[tokens, labels]
        marginals.node[tokens, labels] = 0.0
        rest = np.minimum(marginals.node.sum(axis=1), 0.5)  # near p = 1 it has the digits of log p
        asked = (omega > 0) & (weight[example] != 0)
        cost = np.zeros(len(labels))
        near = np.flatnonzero(asked & (p >= TINY))
        far = np.flatnonzero(asked & ~(p >= TINY))
        cost[near] = np.where(p[near] > 0.5, -np.log1p(-rest[near]), -np.log(p[near]))
        reward = zeros(potentials)
        reward.node[near, labels[near]] = omega[near] / p[near]
        self.inference.tangent(potentials, reward, structure, -weight, out, np.empty(len(weight)))
        if len(far):
            chosen = _Labels(far, labels[far], example[far], omega[far] * weight[example[far]])
            clamped = self._clamped(potentials, chosen, structure, out)
            allowed = clamped > -np.inf
            # minus log Z of the example itself, once for each clamped label, in one call for all of
            # them
            again = np.bincount(chosen.example, allowed * chosen.weight, len(weight))
            self.inference.marginals(potentials, structure, again, out, value)
            # what is forbidden has probability 0: an infinite loss, without a slope that could help
            cost[far] = np.inf
            cost[far[allowed]] = log_Z[chosen.example[allowed]] - clamped[allowed]
        value[:] = np.bincount(example, omega * cost, len(weight))

    def _clamped(
        self, potentials: Potentials, chosen: _Labels, structure: Structure, out: Potentials
    ) -> np.ndarray:
        """log Z of a copy of the example for each chosen label, clamped; their marginals, weighted,
        are subtracted.
        """
        log_Z = np.empty(len(chosen.token))
        ends = np.cumsum(np.diff(structure.offsets)[chosen.example])
        for part in np.split(np.arange(len(log_Z)), np.flatnonzero(np.diff(ends // COPIES)) + 1):
            token, label, example, weight = (field[part] for field in chosen)
            clones = copies(structure, example)
            node, cliques = clones.cut(potentials)
            offsets = clones.structure.offsets
            rows = offsets[:-1] + token - structure.offsets[example]
            kept = node[rows, label]
            node[rows] = -np.inf
            node[rows, label] = kept
            room = _room(Potentials(node, cliques), clones.structure, out)
            part_log_Z = np.empty(len(part))
            self.inference.marginals(
                Potentials(node, cliques), clones.structure, -weight, room, part_log_Z
            )
            log_Z[part] = part_log_Z
            _add_ranges(out.node, structure.offsets[example], room.node, offsets)
            for into, table, family, family_of_clones in zip(
                out.cliques, room.cliques, structure.families, clones.structure.families
            ):
                if len(into) == 1:
                    into[0] += table[0]
                else:
                    first = family.offsets[example]
                    _add_ranges(into, first, table, family_of_clones.offsets)
        return log_Z


class _Labels(NamedTuple):
    """Labels of tokens, of which examples they are, and their weights."""

    token: np.ndarray
    label: np.ndarray
    example: np.ndarray
    weight: np.ndarray


def _room(potentials: Potentials, structure: Structure, out: Potentials) -> Potentials:
    """Zeros for derivatives in the potentials of copies; one row where `out` has one."""
    return Potentials(
        np.zeros(potentials.node.shape),
        tuple(
            np.zeros((1 if len(into) == 1 else len(family.nodes), into.shape[1]))
            for family, into in zip(structure.families, out.cliques, strict=True)
        ),
    )


def _add_ranges(out: np.ndarray, first: np.ndarray, rows: np.ndarray, offsets: np.ndarray) -> None:
    """Add each range of rows to as many rows of `out`, from its first one there on."""
    for begin, a, b in zip(
        first.tolist(), offsets[:-1].tolist(), offsets[1:].tolist(), strict=True
    ):
        out[begin : begin + b - a] += rows[a:b]
