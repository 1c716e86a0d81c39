"""Twins that are slow and obviously right: enumeration, long-double recursions, dense products."""

from __future__ import annotations

import math
from itertools import groupby, product
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import multinomial, poisson

from sklearn_struct.containers.csr import CSR, csr
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Potentials, chain
from sklearn_struct.objectives.linear_potentials import LinearPotentials, bind
from sklearn_struct.objectives.weight_patterns import (
    CliquePattern,
    Pattern,
    every_clique_pair,
    every_node_pair,
    observed_pairs,
    split,
)


def labellings(n_tokens, n_labels):
    return list(product(range(n_labels), repeat=n_tokens))


def moves(y, K, n_families=1):
    """Family, clique and column of each label pair of a labelling, and with two families of each
    three labels.
    """
    steps = [(0, t, y[t] * K + y[t + 1]) for t in range(len(y) - 1)]
    if n_families > 1:
        steps += [(1, t, (y[t] * K + y[t + 1]) * K + y[t + 2]) for t in range(len(y) - 2)]
    return steps


def score(node, cliques, y):
    """Log-potential of one labelling; tables of cliques have a row for each, or one for all."""
    total = sum(node[t, k] for t, k in enumerate(y))
    return total + sum(
        cliques[f][min(c, len(cliques[f]) - 1), column]
        for f, c, column in moves(y, node.shape[1], len(cliques))
    )


class Chain:
    """All labellings of one chain with their probabilities."""

    def __init__(self, node, *cliques):
        node = np.asarray(node, dtype=np.longdouble)
        cliques = [np.asarray(table, dtype=np.longdouble) for table in cliques]
        T, self.K = node.shape
        self.y = labellings(T, self.K)
        self.scores = np.array([score(node, cliques, y) for y in self.y], dtype=np.longdouble)
        top = self.scores.max()
        if top == -np.inf:
            self.log_Z = top
            self.p = np.zeros(len(self.y))
        else:
            mass = np.exp(self.scores - top)
            self.log_Z = top + np.log(mass.sum())
            self.p = mass / mass.sum()
        self.node = np.zeros((T, self.K), dtype=np.longdouble)
        self.cliques = [
            np.zeros((max(T - 1 - f, 0), table.shape[1]), dtype=np.longdouble)
            for f, table in enumerate(cliques)
        ]
        for p, y in zip(self.p, self.y, strict=True):
            for t, k in enumerate(y):
                self.node[t, k] += p
            for f, c, column in moves(y, self.K, len(cliques)):
                self.cliques[f][c, column] += p

    def entropy(self):
        p = self.p[self.p > 0]
        return -(p * np.log(p)).sum()

    def covariances(self, node, *cliques):
        """Of indicators of labels, pairs (and triples) with a reward, and its mean; what is
        forbidden has none.
        """
        rewards = np.array(
            [score(node, cliques, y) if p > 0 else 0 for y, p in zip(self.y, self.p)],
            dtype=np.longdouble,
        )
        mean = self.p @ rewards if self.log_Z > -np.inf else np.nan
        of_node = np.zeros_like(self.node)
        of_cliques = [np.zeros_like(table) for table in self.cliques]
        for p, reward, y in zip(self.p, rewards, self.y, strict=True):
            if p > 0:
                of_node[np.arange(len(y)), y] += p * (reward - mean)
                for f, c, column in moves(y, self.K, len(of_cliques)):
                    of_cliques[f][c, column] += p * (reward - mean)
        return of_node, *of_cliques, float(mean)

    def nbest(self, n):
        """Scores of the n best allowed labellings, best first."""
        return np.sort(self.scores[self.scores > -np.inf])[::-1][:n]

    def draw(self, uniform):
        """The labelling at which one uniform number a token inverts p(last label), p(the one before
        | last) ...
        """
        y = np.array(self.y)
        p = self.p.copy()
        for t in range(len(uniform) - 1, -1, -1):
            mass = np.array([p[y[:, t] == k].sum() for k in range(self.K)])
            chosen = np.searchsorted(np.cumsum(mass) / mass.sum(), uniform[t], side="right")
            kept = y[:, t] == chosen
            y = y[kept]
            p = p[kept]
        return tuple(y[0].tolist())


class LatentChain(Chain):
    """All sequences of states of one chain, each state being one of the label ``label[state]``."""

    def __init__(self, label, node, *cliques):
        super().__init__(node, *cliques)
        self.label = np.asarray(label)
        self.labels = [tuple(self.label[list(y)].tolist()) for y in self.y]

    def probability(self, may_be):
        """Of all labellings whose label at each token is in a set."""
        agrees = [all(k in s for k, s in zip(y, may_be, strict=True)) for y in self.labels]
        return self.p[agrees].sum()

    def label_marginals(self):
        out = np.zeros((len(self.node), self.label.max() + 1), dtype=np.longdouble)
        for p, y in zip(self.p, self.labels, strict=True):
            out[np.arange(len(y)), list(y)] += p
        return out

    def pair_marginals(self):
        K = self.label.max() + 1
        out = np.zeros((len(self.node) - 1, K, K), dtype=np.longdouble)
        for p, y in zip(self.p, self.labels, strict=True):
            for t in range(len(y) - 1):
                out[t, y[t], y[t + 1]] += p
        return out


class LatentGraph:
    """All labellings of one graph by states, each of which is one of the label ``label[state]``.

    ``tables`` are pairs of the nodes of a clique and its scores, with a dimension for each;
    ``allowed`` (n_nodes, n_states) says which states nodes may have, all if it is None.
    """

    def __init__(self, label, node, tables, allowed=None):
        n, S = node.shape
        self.label = np.asarray(label)
        may = np.ones((n, S), bool) if allowed is None else allowed
        self.y = list(product(*(np.flatnonzero(row).tolist() for row in may)))
        self.scores = np.array(
            [
                sum(node[t, s] for t, s in enumerate(y))
                + sum(table[tuple(y[t] for t in members)] for members, table in tables)
                for y in self.y
            ],
            dtype=np.longdouble,
        )
        self.log_Z = np.logaddexp.reduce(self.scores)
        self.p = np.exp(self.scores - self.log_Z)
        self.n_states = S

    def log_p(self, may_be):
        """Of all labellings whose label at each node is in a set of codes."""
        agrees = [all(self.label[s] in k for s, k in zip(y, may_be, strict=True)) for y in self.y]
        return float(np.logaddexp.reduce(self.scores[agrees]) - self.log_Z)

    def states_of(self, members):
        """Probabilities of the states of some nodes together, with a dimension for each."""
        out = np.zeros((self.n_states,) * len(members))
        for y, p in zip(self.y, self.p, strict=True):
            out[tuple(y[t] for t in members)] += p
        return out

    def labels_of(self, members):
        """The same of their labels."""
        out = np.zeros((self.label.max() + 1,) * len(members))
        for y, p in zip(self.y, self.p, strict=True):
            out[tuple(self.label[y[t]] for t in members)] += p
        return out

    def best(self, may_be=None):
        """The best states, of those of labels in some sets if these are given."""
        agrees = [
            may_be is None or all(self.label[s] in k for s, k in zip(y, may_be, strict=True))
            for y in self.y
        ]
        return self.y[int(np.argmax(np.where(agrees, self.scores, -np.inf)))]


def twins(potentials, structure):
    """The enumeration of each chain of a batch."""
    for i in range(structure.n_examples):
        cliques = [
            table if len(table) == 1 else table[slice(*family.offsets[i : i + 2])]
            for table, family in zip(potentials.cliques, structure.families, strict=True)
        ]
        yield Chain(potentials.node[slice(*structure.offsets[i : i + 2])], *cliques)


def scaled_log_Z(node, edge):
    """The textbook forward pass on scaled numbers: silently wrong where a state underflows that
    would have won.
    """
    K = node.shape[1]
    log_Z = 0.0
    alpha = None
    for t, row in enumerate(node):
        alpha = (
            np.ones(K) if t == 0 else alpha @ np.exp(edge[min(t - 1, len(edge) - 1)].reshape(K, K))
        )
        alpha = alpha * np.exp(row - row.max())
        log_Z += math.log(alpha.sum()) + row.max()
        alpha = alpha / alpha.sum()
    return log_Z


def long_chain(node, edge):
    """log Z, node marginals and the sum of edge marginals of a chain with one edge table, in long
    doubles.
    """
    T, K = node.shape
    node = node.astype(np.longdouble)
    table = edge.reshape(K, K).astype(np.longdouble)
    alpha = np.empty_like(node)
    beta = np.zeros_like(node)
    norms = np.empty(T, dtype=np.longdouble)
    for t in range(T):
        row = node[t] + (np.logaddexp.reduce(alpha[t - 1][:, None] + table, axis=0) if t else 0)
        norms[t] = np.logaddexp.reduce(row)
        alpha[t] = row - norms[t]
    for t in range(T - 2, -1, -1):
        beta[t] = np.logaddexp.reduce(table + (node[t + 1] + beta[t + 1]), axis=1) - norms[t + 1]
    pairs = alpha[:-1, :, None] + table + (node[1:] + beta[1:] - norms[1:, None])[:, None, :]
    return math.fsum(norms), np.exp(alpha + beta), np.exp(pairs).sum(axis=0)


class LinearModel(NamedTuple):
    """Potentials linear in parameters, and the data they are bound to."""

    potentials: LinearPotentials
    X: SequenceArray
    y: np.ndarray

    def dense(self, w):
        """Node weights, weights of clique features and of columns for each family, and intercept,
        as full matrices, zero where there is no weight.
        """
        pattern = self.potentials.pattern
        K = self.potentials.n_labels
        parts = split(w, pattern)
        node = _full(every_node_pair(pattern), parts.node, K)
        features = []
        tables = []
        for f, (family, width) in enumerate(zip(pattern.families, pattern.widths, strict=True)):
            features.append(_full(every_clique_pair(pattern, f), parts.features[f], width))
            tables.append(np.zeros(width))
            tables[f][family.columns] = parts.columns[f]
        return node, features, tables, parts.intercept if pattern.fit_intercept else np.zeros(K)

    def twin(self, w):
        """Potentials of all the data, by dense products."""
        node_weights, features, tables, intercept = self.dense(w)
        tokens = self.X.tokens.toarray() if sp.issparse(self.X.tokens) else self.X.tokens
        cliques = [table[None] for table in tables]
        columns = self.potentials.pattern.edge_columns
        if len(columns):
            cliques = [
                tokens[family.nodes[:, -1]][:, columns] @ weights + table
                for family, weights, table in zip(
                    self.structure.families, features, tables, strict=True
                )
            ]
        return Potentials(tokens @ node_weights + intercept, tuple(cliques))

    @property
    def structure(self):
        return chain(self.X.offsets, self.potentials.pattern.order)


def _full(pairs, values, width):
    shape = (len(pairs.indptr) - 1, width)
    return sp.csr_array((values, pairs.indices, pairs.indptr), shape).toarray()


def linear_model(
    rng,
    lengths,
    *,
    dense=False,
    edge=True,
    observed=False,
    intercept=True,
    triples=False,
    dtype=np.float64,
    K=3,
    m=6,
):
    """A small linear chain with all of its weights, or with those that occur in the (random) data.

    One of second order with `observed` has weights for pairs alone, and for a few triples.
    """
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    tokens = rng.normal(size=(offsets[-1], m)) * (rng.random((offsets[-1], m)) < 0.5)
    X = SequenceArray(tokens if dense else sp.csr_array(tokens), offsets)
    y = rng.integers(K, size=offsets[-1]).astype(np.int32)
    columns = np.array([1, 4]) if edge else np.array([], dtype=int)
    structure = chain(offsets, 2 if triples else 1)
    first, second = structure.families[0].nodes.T
    node_pairs = None
    edge_pairs = None
    no_pairs = None
    transitions = np.arange(K**2)
    if observed:
        pairs = y[first] * K + y[second]
        node_pairs = observed_pairs(sp.csr_array(tokens), y, np.ones(len(y)), K, 1)
        transitions = np.unique(pairs)[1:]
        if edge:
            edge_X = sp.csr_array(tokens[second][:, columns])
            edge_pairs = observed_pairs(edge_X, pairs, np.ones(len(pairs)), K**2, 1)
            no_pairs = CSR(np.zeros(len(columns) + 1, int), np.empty(0, np.int32), np.empty(0))
    families = [CliquePattern(2, len(columns), edge_pairs, transitions)]
    if triples:
        triple_columns = np.arange(0, K**3, 4 if observed else 1)
        families.append(CliquePattern(3, len(columns), no_pairs, triple_columns))
    pattern = Pattern(m, K, node_pairs, tuple(families), columns, intercept)
    return LinearModel(bind(pattern, X, structure, np.dtype(dtype)), X, y)


LINEAR_MODELS = [
    {"dense": dense, "edge": edge, "observed": observed, "intercept": intercept}
    for dense in (True, False)
    for edge in (True, False)
    for observed in (True, False)
    for intercept in (True, False)
] + [
    {"dense": dense, "edge": edge, "triples": True}
    for dense, edge in ((True, True), (False, True), (True, False))
]
LINEAR_MODELS += [{"observed": True, "edge": True, "triples": True}]


def random_map(rng, width, shape, density):
    """X dense, and as a CSR that stores zeros, too; which pairs (feature, label) have a weight."""
    stored = rng.random(shape) < density
    X = rng.integers(-1, 2, size=shape) * stored * 1.0
    rows, columns = np.nonzero(stored)
    sparse = csr(sp.csr_array((X[rows, columns], (rows, columns)), shape=shape))
    return X, sparse, rng.random((shape[1], width)) < density


class Hidden:
    """All labellings of one sequence of tokens (rows of values) under a fitted HMM, read off its
    public attributes.
    """

    def __init__(self, hmm, rows):
        self.hmm = hmm
        self.K = len(hmm.classes_)
        self.y = labellings(len(rows), self.K)
        self.emission = [[self.emit(rows, t, k) for k in range(self.K)] for t in range(len(rows))]
        self.log_p = np.array([self.joint(y) for y in self.y])

    def emit(self, rows, t, k):
        """Log-probability of token t."""
        row = rows[t]
        total = 0.0
        numbers = []
        events = []
        trials = []
        into = {"gaussian": numbers, "auto": numbers, "poisson": events, "multinomial": trials}
        into["input"] = []
        for value, values, table, kind in zip(
            row, self.hmm.vocabulary_, self.hmm.emission_logprob_, self.kinds(), strict=True
        ):
            if values is None:
                into[kind].append(value)
            else:
                total += table[k, values.get(value, len(values))]
        if events:
            log_p = poisson.logpmf(events, self.hmm.rates_[k])
            total += sum(p for p, x in zip(log_p, events, strict=True) if not math.isnan(x))
        if trials:
            p = np.exp(self.hmm.count_logprob_[k])
            total += multinomial.logpmf(trials, sum(trials), p / p.sum())
        lags = getattr(self.hmm, "autoregression_", np.empty((self.K, 0)))[k]
        if not numbers or t < len(lags):
            return total
        for lag, matrix in enumerate(lags, 1):
            earlier = zip(rows[t - lag], self.hmm.vocabulary_, self.kinds(), strict=True)
            before = [
                value
                for value, values, kind in earlier
                if values is None and kind in ("gaussian", "auto")
            ]
            numbers = np.array(numbers) - matrix @ np.array(before)
        if self.hmm.means_.ndim == 2:
            return total + self.normal(numbers, self.hmm.means_[k], self.covariance(k))
        parts = [
            weight + self.normal(numbers, self.hmm.means_[k, m], self.covariance(k, m))
            for m, weight in enumerate(self.hmm.mixture_logprob_[k])
        ]
        return total + np.logaddexp.reduce(parts)

    @staticmethod
    def normal(numbers, mean, covariance):
        """The log-density of those numbers that are there."""
        there = [c for c, value in enumerate(numbers) if not math.isnan(value)]
        away = np.array([numbers[c] - mean[c] for c in there])
        covariance = covariance[np.ix_(there, there)]
        log_p = -0.5 * away @ np.linalg.inv(covariance) @ away
        return log_p - 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]

    def kinds(self):
        """How each stream is distributed."""
        given = getattr(self.hmm, "emissions", "auto")
        return [given] * len(self.hmm.vocabulary_) if isinstance(given, str) else given

    def covariance(self, k, m=None):
        """The covariance matrix of a state, or of a component, read off its public attributes."""
        kind = getattr(self.hmm, "covariance_type", "diag")
        covariances = self.hmm.covariances_
        if kind == "tied":
            return covariances if m is None else covariances[k]
        place = k if m is None else (k, m)
        if kind == "full":
            return covariances[place]
        return covariances[place] * np.eye(self.hmm.means_.shape[-1])

    def step(self, y, t):
        """Log-probability of label t given those before it; t = len(y) is the end."""
        hmm = self.hmm
        two = self.hmm.transition_logprob_.ndim == 3
        if t == len(y):
            if not two:
                return hmm.stop_logprob_[y[-1]]
            return hmm.stop_logprob_[y[-2], y[-1]] if t > 1 else hmm.single_stop_logprob_[y[-1]]
        if t == 0:
            return hmm.start_logprob_[y[0]]
        if not two:
            return hmm.transition_logprob_[y[t - 1], y[t]]
        return (
            hmm.transition_logprob_[y[t - 2], y[t - 1], y[t]]
            if t > 1
            else hmm.pair_start_logprob_[y[0], y[1]]
        )

    def joint(self, y):
        if not y:
            return 0.0
        return sum(self.step(y, t) for t in range(len(y) + 1)) + sum(
            self.emission[t][k] for t, k in enumerate(y)
        )

    def allowed(self, codes):
        """Which labellings agree with codes, of which -1 is unknown."""
        return np.array([all(c in (-1, k) for c, k in zip(codes, y, strict=True)) for y in self.y])

    def posterior(self, codes=None):
        """Probabilities of the labellings given what is known of them."""
        log_p = self.log_p if codes is None else np.where(self.allowed(codes), self.log_p, -np.inf)
        p = np.exp(log_p - log_p.max())
        return p / p.sum()

    def marginals(self):
        found = np.zeros((len(self.emission), self.K))
        for y, p in zip(self.y, self.posterior(), strict=True):
            for t, k in enumerate(y):
                found[t, k] += p
        return found


def broken(labels, wanted, min_length):
    """How many soft constraints a labelling breaks: labels that should be others (-1 may be any),
    and fields that are too short.
    """
    wrong = sum(w not in (-1, k) for k, w in zip(labels, wanted, strict=True))
    return wrong + sum(len(list(run)) < min_length for _, run in groupby(labels))
