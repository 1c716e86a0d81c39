"""Twins of segmentations that enumerate: slow, and obviously right."""

from __future__ import annotations

from itertools import product

import numpy as np

from sklearn_struct.containers.structures import Potentials


def divisions(n_tokens, n_lengths):
    """All tuples of lengths of segments, of at most `n_lengths` tokens, that sum to `n_tokens`."""
    if n_tokens == 0:
        return [()]
    every = []
    for length in range(1, min(n_lengths, n_tokens) + 1):
        every += [(length, *rest) for rest in divisions(n_tokens - length, n_lengths)]
    return every


def segmentations(n_tokens, longest):
    """All lists of segments (start, stop, label), none longer than its label's may be."""
    every = []
    for lengths in divisions(n_tokens, max(longest)):
        stops = np.cumsum(lengths).tolist()
        starts = [stop - length for stop, length in zip(stops, lengths)]
        every += [
            list(zip(starts, stops, labels))
            for labels in product(range(len(longest)), repeat=len(lengths))
            if all(length <= longest[k] for length, k in zip(lengths, labels))
        ]
    return every


def codes(segments, n_labels):
    """The codes of tokens that say the same."""
    labels = []
    for start, stop, k in segments:
        labels += [k] + [k + n_labels] * (stop - start - 1)
    return tuple(labels)


def candidate(start, stop, n_lengths):
    """The number of a segment in the order of last tokens and lengths, by counting."""
    place = 0
    for last in range(stop):
        for length in range(1, min(n_lengths, last + 1) + 1):
            if (last + 1, length) == (stop, stop - start):
                return place
            place += 1
    raise AssertionError("there is no such segment")


class Segmented:
    """All segmentations of one sequence with their probabilities."""

    def __init__(self, potentials, longest, ends=False):
        self.longest = longest
        self.ends = ends
        self.potentials = Potentials(
            potentials.node.astype(np.longdouble),
            tuple(table.astype(np.longdouble) for table in potentials.cliques),
        )
        T, self.K = potentials.node.shape
        self.all = segmentations(T, longest)
        self.codes = [codes(segments, self.K) for segments in self.all]
        self.scores = np.array(
            [sum(self._scores(segments)) for segments in self.all], dtype=np.longdouble
        )
        top = self.scores.max()
        self.log_Z = top
        self.p = np.zeros(len(self.all))
        if top > -np.inf:
            mass = np.exp(self.scores - top)
            self.log_Z = top + np.log(mass.sum())
            self.p = mass / mass.sum()

    def places(self, segments):
        """Table (-1 is that of nodes), row and column of all that a segmentation scores."""
        L = max(self.longest)
        for s, (start, stop, k) in enumerate(segments):
            yield from ((-1, t, k) for t in range(start, stop))
            if s > 0:
                yield 0, start - 1, segments[s - 1][2] * self.K + k
            if stop - start > 1:
                yield stop - start - 1, 0, k
            if self.ends:
                yield L, start, k
                yield L + 1, stop - 1, k
            if len(self.potentials.cliques) > L + 2 * self.ends:
                yield L + 2 * self.ends, candidate(start, stop, L), k

    def _scores(self, segments):
        for f, row, column in self.places(segments):
            table = self.potentials.node if f < 0 else self.potentials.cliques[f]
            yield table[min(row, len(table) - 1), column]

    def marginals(self):
        """Of the shape of the potentials."""
        return self.expected(self.p)

    def expected(self, weights):
        """Weighted sums of indicators, one weight a segmentation."""
        node, cliques = self.potentials
        tables = [np.zeros_like(table) for table in (*cliques, node)]
        for weight, segments in zip(weights, self.all, strict=True):
            for f, row, column in self.places(segments):
                tables[f][min(row, len(tables[f]) - 1), column] += weight
        return Potentials(tables[-1], tuple(tables[:-1]))


def of_model(crf, X, edge_features=()):
    """The enumeration of one sequence of numbers, from public attributes."""
    K = len(crf.classes_)
    node = X @ crf.coef_.T + crf.intercept_
    moves = crf.transition_.ravel()[None]
    if len(edge_features):
        moves = moves + X[1:][:, edge_features] @ crf.edge_coef_.T
    lengths = [row[None] for row in crf.length_coef_[1:]]
    ends = []
    if len(crf.end_features_):
        ends = [X[:, crf.end_features_] @ coef.T for coef in (crf.first_coef_, crf.last_coef_)]
    outside = crf.outside
    longest = [1 if k == outside else crf.max_length_ for k in crf.classes_.tolist()]
    assert node.shape == (len(X), K)
    return Segmented(Potentials(node, (moves, *lengths, *ends)), longest, bool(ends))


def rows_and_tags(rng, lengths=(5, 3, 1, 6)):
    """Sequences of rows, and tags with letters."""
    X = [rng.normal(size=(n, 2)) for n in lengths]
    y = []
    for n in lengths:
        tags = []
        while len(tags) < n:
            label = rng.choice(["O", "A", "B"])
            more = rng.integers(3) if label != "O" else 0
            tags += ["O"] if label == "O" else [f"B-{label}"] + [f"I-{label}"] * int(more)
        y.append(tags[:n])
    return X, y
