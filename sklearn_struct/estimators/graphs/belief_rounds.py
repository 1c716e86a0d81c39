"""Rounds of expectation maximisation where most labels of a graph are missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.structures import zeros
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.labelling_scores import forbid_labels
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.believed_labels import BelievedLabels, BesideBeliefs
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.objectives.linear_objective import LinearObjective
from sklearn_struct.objectives.weight_patterns import split
from sklearn_struct.solvers.result import Callback, Result

__all__ = ["BeliefRounds", "check_rounds"]

# parts of the known nodes, each of which is scored by weights that have not seen it
N_FOLDS = 5
# that see an objective as a whole, by its value and its gradient
SOLVERS = {"auto", "lbfgs", "owlqn", "cg", "gradient"}


class BeliefRounds(NamedTuple):
    """Learning from a few labels of large graphs, by rounds.

    ``objective`` has the data, with a mask of the labels that are ``allowed``; ``minimum`` finds
    that of an objective from given weights.

    At first node weights are those of a logistic regression of the known nodes. Then the weights of
    cliques are learned at the known nodes, beside the beliefs in their neighbours, by a
    pseudolikelihood. There nodes have scores by weights that have not seen their labels, else
    nothing would be left for cliques to tell (Kou and Cohen, SIAM Data Mining 2007, stack models
    for this reason). In each round inference gives beliefs under the labels that are known, and
    node weights are fitted to the beliefs in all nodes. Cliques are not: they would confirm what
    they have told.
    """

    objective: LinearObjective
    inference: Inference
    minimum: Callable[[LinearObjective, np.ndarray], Result]

    def run(self, w0: np.ndarray, n_rounds: int, callback: Callback) -> Result:
        """The weights after all rounds; those of a start, if there is one, begin the first."""
        w = w0 if np.any(w0) else self._first()
        done = 0
        converged = True
        value = np.inf
        for r in range(n_rounds):
            evidence = Evidence(beliefs=self.beliefs(w))
            last = self._fitted(BelievedLabels(), evidence, self._joined(w, np.zeros_like(w)))
            w = self._joined(last.w, w)
            value = last.value
            converged &= last.converged
            done = r + 1
            if callback(done, w, value):
                break
        return Result(w, value, done, converged)

    def beliefs(self, w: np.ndarray) -> np.ndarray:
        """Probabilities of labels (n, n_labels) at each node, given what is known of all."""
        potentials = self.objective.potentials
        allowed = self._allowed()
        W = potentials.expand(w)
        beliefs = np.empty(allowed.shape)
        for block in self.objective.blocks:
            theta = forbid_labels(potentials.forward(W, block), allowed[block.tokens])
            sums = zeros(theta)
            n = block.structure.n_examples
            self.inference.marginals(theta, block.structure, np.ones(n), sums, np.empty(n))
            beliefs[block.tokens] = sums.node
        return beliefs

    def _first(self) -> np.ndarray:
        """Weights of nodes and of cliques that the known nodes teach."""
        allowed = self._allowed()
        known = allowed.sum(axis=1) == 1
        labels = np.where(known[:, None], allowed, 0.0)
        blank = np.zeros(self.objective.size)
        seen = Evidence(weight=known.astype(float), beliefs=labels)
        w = self._fitted(BelievedLabels(), seen, blank).w
        folds = _folds(allowed.argmax(axis=1), known)
        scores = self._scores(w)
        for k in range(N_FOLDS):
            others = known & (folds != k)
            if np.any(folds == k) and np.any(others):
                part = seen._replace(weight=others.astype(float))
                unseen = self._scores(self._fitted(BelievedLabels(), part, w).w)
                scores[folds == k] = unseen[folds == k]
        beside = seen._replace(beliefs=self.beliefs(w), scores=scores)
        cliques = self._fitted(BesideBeliefs(), beside, blank).w
        return self._joined(w, cliques)

    def _allowed(self) -> np.ndarray:
        return self.objective.data.evidence.allowed_labels()

    def _fitted(self, loss: Loss, evidence: Evidence, w: np.ndarray) -> Result:
        return self.minimum(self.objective.with_evidence(loss, evidence), w)

    def _scores(self, w: np.ndarray) -> np.ndarray:
        """Those of all nodes alone."""
        potentials = self.objective.potentials
        W = potentials.expand(w)
        return np.concatenate(
            [potentials.forward(W, block).node for block in self.objective.blocks]
        )

    def _joined(self, of_nodes: np.ndarray, of_cliques: np.ndarray) -> np.ndarray:
        """The weights of nodes from one vector, those of cliques from another."""
        pattern = self.objective.potentials.pattern
        w = of_nodes.copy()
        into = split(w, pattern)
        source = split(of_cliques, pattern)
        for part, other in zip(
            (*into.features, *into.columns), (*source.features, *source.columns), strict=True
        ):
            part[:] = other
        return w


def _folds(labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Deal the known nodes of each label to the folds, one after the other; -1 for all others."""
    folds = np.full(len(labels), -1)
    for k in range(labels.max(initial=-1) + 1):
        nodes = np.flatnonzero(known & (labels == k))
        folds[nodes] = np.arange(len(nodes)) % N_FOLDS
    return folds


def check_rounds(evidence: Evidence, inference: str, solver: str, hidden: bool) -> None:
    """ValueError where rounds make no sense; `hidden` says whether some nodes are, or labels have
    states that are.
    """
    if hidden:
        raise ValueError(
            "n_rounds learns edges at nodes whose labels are known, which hidden nodes never are; "
            "use n_rounds=0, or no hidden types, and no n_states, as hidden states are unknown, too"
        )
    if evidence.allowed is None:
        raise ValueError(
            "n_rounds is for labels that are missing, and here all are known; use n_rounds=0"
        )
    if inference == "gibbs" or solver not in SOLVERS:
        raise ValueError(
            f"n_rounds needs solver={' or '.join(map(repr, sorted(SOLVERS)))} and another "
            f"inference than 'gibbs', got solver={solver!r} and inference={inference!r}"
        )
