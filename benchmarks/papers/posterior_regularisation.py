"""Posterior regularisation, a rival of learning from labelled words.

It is of K. Ganchev, J. Graça, J. Gillenwater and B. Taskar (JMLR 2010). Labelled words ("kitchen is
usually FEATURES") are its constraints, as they are the criteria of generalized expectation: of all
tokens of a word in unlabelled texts, a share of 0.99 has its label, on average.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Block, Potentials, Structure, zeros
from sklearn_struct.estimators.chains.observed_weights import WeightChoice, observe
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.objectives.linear_potentials import LinearPotentials, bind
from sklearn_struct.solvers.lbfgs import lbfgs

STRONGEST = 20.0  # multiplier of a constraint; it is that of one that cannot be met
CHOICE = {
    "edge_features": None,
    "min_frequency": 1,
    "feature_pairs": "all",
    "transition_features": "all",
    "order": 1,
    "fit_intercept": False,
}


class Expected(NamedTuple):
    """Sum of log Z of all sequences, marginals of tokens (n_tokens, K), and expected features."""

    log_sum: float
    node: np.ndarray
    features: np.ndarray


class PosteriorRegularisedCRF:
    """A chain that is fitted, in turns, to the distribution q of labels that is nearest to its own
    among those which meet the constraints.

    Each round finds q(y | x), which is p(y | x) exp(multipliers . counts) / Z, and then the weights
    whose p is nearest to q. Both together never make the objective worse: the log-likelihood of
    known labels less KL(q || p) less the penalty.

    Parameters
    ----------
    labeled_features : dict of str to str
        The label that tokens with each of these features usually have.
    share : float
        Of the tokens of a feature that have its label, at least.
    C : float
        As in `LinearChainCRF`.
    n_rounds : int
    max_iter : int
        Of L-BFGS in each round.
    """

    def __init__(
        self,
        labeled_features: dict[str, str],
        *,
        share: float = 0.99,
        C: float = 1.0,
        n_rounds: int = 10,
        max_iter: int = 50,
    ) -> None:
        self.labeled_features = labeled_features
        self.share = share
        self.C = C
        self.n_rounds = n_rounds
        self.max_iter = max_iter

    def fit(self, X: SequenceArray, y: list[Any], classes: list[str]) -> Self:
        """Learn from texts, of which y has None where no labels are known."""
        self.classes_ = sorted(classes)
        data = self._data(X, y)
        l2 = 1.0 / (self.C * len(X))
        w = np.zeros(data.potentials.size)
        multipliers = np.zeros(len(self.labeled_features))
        self.objective_: list[float] = []
        for _ in range(self.n_rounds):
            multipliers = data.nearest(w, multipliers, self.share)
            target = data.expected(w, data.rewards(multipliers))
            fitted = Fitted(data, target.features)
            options = {"l1": 0.0, "l2": l2, "max_iter": self.max_iter, "tol": 1e-5}
            w = lbfgs(fitted, w, **options).w
            self.objective_.append(data.objective(w, self.share) - w @ w / (2 * self.C))
        self.multipliers_ = dict(zip(self.labeled_features, multipliers.tolist(), strict=True))
        self.w_ = w
        self.pattern_ = data.potentials.pattern
        return self

    def predict(self, X: SequenceArray) -> list[list[str]]:
        """The best labellings, without constraints."""
        chain = Chain()
        structure = chain.structure(X.offsets)
        potentials = bind(self.pattern_, X, structure, np.dtype(float))
        W = potentials.expand(self.w_)
        codes = np.empty(X.offsets[-1], np.int32)
        for block in chain.blocks(structure, len(self.classes_)):
            chain.argmax(potentials.forward(W, block), block.structure, codes[block.tokens])
        return [
            [self.classes_[k] for k in codes[lo:hi]]
            for lo, hi in zip(X.offsets[:-1], X.offsets[1:], strict=True)
        ]

    def _data(self, X: SequenceArray, y: list[Any]) -> Data:
        K = len(self.classes_)
        code = {label: k for k, label in enumerate(self.classes_)}
        known = np.concatenate(
            [
                np.full(n, -1) if labels is None else [code[label] for label in labels]
                for n, labels in zip(X.lengths, y, strict=True)
            ]
        ).astype(np.int32)
        chain = Chain()
        structure = chain.structure(X.offsets)
        # the pattern has all pairs, whatever the labels are
        pattern = observe(WeightChoice(**CHOICE), K, X, np.maximum(known, 0), np.ones(len(known)))
        columns = [X.feature_names.tolist().index(name) for name in self.labeled_features]
        fires = sp.csc_array(X.tokens)[:, columns].multiply((known < 0)[:, None])
        labels = np.array([code[label] for label in self.labeled_features.values()])
        potentials = bind(pattern, X, structure, np.dtype(float))
        return Data(potentials, chain, structure, known, sp.csc_array(fires), labels)


class Data:
    """Texts, what is known of them, and where labelled features fire in those without labels."""

    def __init__(
        self,
        potentials: LinearPotentials,
        chain: Chain,
        structure: Structure,
        known: np.ndarray,
        fires: sp.csc_array,
        labels: np.ndarray,
    ) -> None:
        self.potentials = potentials
        self.chain = chain
        self.structure = structure
        self.known = known
        self.fires = fires
        self.labels = labels
        self.blocks = chain.blocks(structure, potentials.n_labels)

    def rewards(self, multipliers: np.ndarray) -> np.ndarray:
        """What is added to the scores of tokens (n_tokens, K): multipliers of the features that
        fire, and -inf for labels other than the known ones.
        """
        K = self.potentials.n_labels
        reward = np.zeros((len(self.known), K))
        for column, (k, multiplier) in enumerate(zip(self.labels, multipliers, strict=True)):
            reward[:, k] += multiplier * self.fires[:, [column]].toarray()[:, 0]
        has = np.flatnonzero(self.known >= 0)
        wrong = self.known[has, None] != np.arange(K)
        reward[has] = np.where(wrong, -np.inf, 0.0)
        return reward

    def expected(self, w: np.ndarray, reward: np.ndarray | None = None) -> Expected:
        """Under p(y | x) exp(reward) / Z."""
        potentials = self.potentials
        W = potentials.expand(w)
        total = np.zeros(potentials.expanded_size)
        node = np.zeros((len(self.known), potentials.n_labels))
        log_Z = 0.0
        for block in self.blocks:
            theta = self._theta(W, block, reward)
            out = zeros(theta)
            n = block.structure.n_examples
            of_block = np.empty(n)
            self.chain.marginals(theta, block.structure, np.ones(n), out, of_block)
            potentials.scatter(out, block, np.ones(1), total)
            node[block.tokens] = out.node
            log_Z += float(of_block.sum())
        return Expected(log_Z, node, potentials.compress(total))

    def _theta(self, W: np.ndarray, block: Block, reward: np.ndarray | None) -> Potentials:
        theta = self.potentials.forward(W, block)
        return theta if reward is None else theta._replace(node=theta.node + reward[block.tokens])

    def dual(
        self, w: np.ndarray, multipliers: np.ndarray, share: float
    ) -> tuple[float, np.ndarray]:
        """What the multipliers maximise, and its slope: log Z of p(y | x) is left out."""
        bound = share * np.asarray(self.fires.sum(axis=0)).ravel()
        q = self.expected(w, self.rewards(multipliers))
        counts = np.array(
            [float((self.fires[:, [m]].T @ q.node[:, k])[0]) for m, k in enumerate(self.labels)]
        )
        return float(multipliers @ bound) - q.log_sum, bound - counts

    def nearest(self, w: np.ndarray, start: np.ndarray, share: float) -> np.ndarray:
        """The multipliers of the distribution that is nearest to p among those that obey."""

        def objective(multipliers: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = self.dual(w, multipliers, share)
            return -value, -slope

        bounds = [(0.0, STRONGEST)] * len(start)
        found: np.ndarray = minimize(
            objective, start, method="L-BFGS-B", jac=True, bounds=bounds, options={"maxiter": 50}
        ).x
        return found

    def objective(self, w: np.ndarray, share: float) -> float:
        """The log-likelihood of known labels less the least KL(q || p) of a q that obeys."""
        multipliers = self.nearest(w, np.zeros(len(self.labels)), share)
        # the value of the dual is KL(q || p) less log Z of p, and of known labels minus their score
        return -(self.dual(w, multipliers, share)[0] + self.expected(w).log_sum)


class Fitted:
    """KL(q || p) as a function of the weights, but for what does not depend on them: log Z less the
    score that q expects; a mean over sequences.
    """

    n_free = 0

    def __init__(self, data: Data, target: np.ndarray) -> None:
        self.data = data
        self.target = target
        self.n = data.structure.n_examples
        self.size = len(target)

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        p = self.data.expected(w)
        return (p.log_sum - float(w @ self.target)) / self.n, (p.features - self.target) / self.n
