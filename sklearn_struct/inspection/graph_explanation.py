"""What `explain` returns of a graph: the score of a labelling, node by node and edge by edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sklearn_struct.inspection.optional_imports import pandas

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["GRAPH_KINDS", "GraphExplanation", "GraphTerms"]

GRAPH_KINDS = ("feature", "intercept", "transition", "edge feature")
SHOWN = 3  # contributions of a node or an edge in the printed form
LINES = 20  # nodes, and edges, in the printed form


class GraphTerms(NamedTuple):
    """The terms of a score, those of nodes first; ``place`` is the number of a node or an edge.

    ``kind`` is a place in `GRAPH_KINDS`. Intercepts and transitions have None as their feature.
    """

    place: np.ndarray
    kind: np.ndarray
    feature: np.ndarray
    value: np.ndarray
    weight: np.ndarray


class GraphExplanation:
    """The score of a labelling of one graph, split into contributions; made by `explain`.

    A contribution is the value of a feature times its weight (intercepts and transitions have the
    value 1). The contributions of nodes and of edges add up to the score of the labelling, which is
    log p(y | x) + log Z(x). With a rival labelling all scores and weights are differences: those of
    the labelling minus those of the rival.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    texts : list of str
        What the nodes are called where the explanation is printed.
    edges : ndarray of shape (n_edges, 2)
        Numbers of nodes.
    labels : list
        The labelling.
    rival : list or None
        The labelling that it is compared with.
    terms : GraphTerms
        Place, kind, feature, value and weight of each contribution.

    Attributes
    ----------
    score : float
        Sum of all contributions.
    node_scores : ndarray of shape (n_nodes,)
        Sums of the contributions of each node.
    edge_scores : ndarray of shape (n_edges,)
        Sums of the contributions of each edge.
    contributions : ndarray of shape (n_terms,)
    texts, edges, labels, rival, terms
        As given.

    See Also
    --------
    explain : Makes it.

    Examples
    --------
    >>> from sklearn_struct import GraphCRF
    >>> from sklearn_struct.inspection import explain
    >>> edges = [[0, 1], [0, 2]]
    >>> X = [(["sells", "cat", "fish"], edges), (["eats", "dog", "meat"], edges)]
    >>> crf = GraphCRF(C=10).fit(X, [["VERB", "SUBJECT", "OBJECT"]] * 2)
    >>> explanation = explain(crf, X[0])
    >>> explanation.node_scores.shape, explanation.edge_scores.shape
    ((3,), (2,))
    """

    def __init__(
        self,
        texts: list[str],
        edges: np.ndarray,
        labels: list[Any],
        rival: list[Any] | None,
        terms: GraphTerms,
    ) -> None:
        self.texts = texts
        self.edges = edges
        self.labels = labels
        self.rival = rival
        self.terms = terms
        self.contributions = terms.value * terms.weight
        self.node_scores = self._sums(~self._of_edges(), len(labels))
        self.edge_scores = self._sums(self._of_edges(), len(edges))
        self.score = float(np.sum(self.node_scores) + np.sum(self.edge_scores))

    def _of_edges(self) -> np.ndarray:
        """Which terms are those of edges."""
        of_edges: np.ndarray = self.terms.kind >= GRAPH_KINDS.index("transition")
        return of_edges

    def _sums(self, chosen: np.ndarray, n: int) -> np.ndarray:
        return np.bincount(self.terms.place[chosen], self.contributions[chosen], n)

    def to_frame(self) -> DataFrame:
        """All contributions as a data frame, one a row.

        Returns
        -------
        pandas.DataFrame
            Columns ``node`` (the number of the node, or of the first one of an edge), ``label``
            (its label), ``edge``, ``second_node`` and ``second_label`` (the number of the edge, its
            second node and that one's label; missing for terms of nodes), ``kind`` ("feature",
            "intercept", "transition" or "edge feature"), ``feature`` (its name), ``value``,
            ``weight`` and ``contribution``. With a rival also ``rival`` and ``second_rival``, its
            labels.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        pd = pandas("GraphExplanation.to_frame")
        place, kind, feature, value, weight = self.terms
        of_edges = self._of_edges()
        first = np.where(of_edges, 0, place)
        second = np.full(len(place), -1)
        first[of_edges] = self.edges[place[of_edges], 0]
        second[of_edges] = self.edges[place[of_edges], 1]

        def numbers(column: np.ndarray) -> Any:
            return pd.Series(column, dtype="Int64").mask(~of_edges)

        def names(labels: list[Any], nodes: np.ndarray) -> Any:
            column = [labels[t] if t >= 0 else None for t in nodes]
            return pd.Series(column, dtype=None if np.all(nodes >= 0) else object)

        frame = {"node": first, "label": names(self.labels, first)}
        frame |= {"edge": numbers(place), "second_node": numbers(second)}
        frame["second_label"] = names(self.labels, second)
        if self.rival is not None:
            frame["rival"] = names(self.rival, first)
            frame["second_rival"] = names(self.rival, second)
        frame["kind"] = np.array(GRAPH_KINDS, dtype=object)[kind]
        frame["feature"] = pd.Series(feature, dtype=object)
        sizes = {"value": value, "weight": weight, "contribution": self.contributions}
        return pd.DataFrame({**frame, **sizes})

    def __repr__(self) -> str:
        """A line for each node and each edge: labels and score, and its largest contributions; of
        large graphs only those of the largest scores.
        """
        score = "score" if self.rival is None else "difference of scores"
        sizes = f"{len(self.labels)} nodes, {len(self.edges)} edges"
        names = [self._label_of(t) for t in range(len(self.labels))]
        of_edges = self._of_edges()
        return "\n".join(
            [
                f"GraphExplanation({score} {self.score:.3f}, {sizes})",
                *self._lines(self.texts, names, self.node_scores, ~of_edges),
                *self._lines(
                    [f"{self.texts[a]} -- {self.texts[b]}" for a, b in self.edges],
                    [f"{names[a]}, {names[b]}" for a, b in self.edges],
                    self.edge_scores,
                    of_edges,
                ),
            ]
        )

    def _label_of(self, t: int) -> str:
        label = str(self.labels[t])
        if self.rival is None or self.rival[t] == self.labels[t]:
            return label
        return f"{label} (not {self.rival[t]})"

    def _lines(
        self, texts: list[str], names: list[str], scores: np.ndarray, chosen: np.ndarray
    ) -> list[str]:
        """What nodes, or edges, contribute."""
        shown = np.sort(np.argsort(-np.abs(scores), kind="stable")[:LINES]).tolist()
        widths = [max((len(column[i]) for i in shown), default=0) for column in (texts, names)]
        rows = np.flatnonzero(chosen)
        bounds = np.searchsorted(self.terms.place[rows], np.arange(len(scores) + 1))
        lines = []
        for i in shown:
            parts = ", ".join(self._largest(rows[bounds[i] : bounds[i + 1]]))
            line = f"  {texts[i]:{widths[0]}}  {names[i]:{widths[1]}}  {scores[i]:+8.3f}  {parts}"
            lines.append(line.rstrip())
        if len(shown) < len(scores):
            lines.append(f"  and {len(scores) - len(shown):,} more of smaller scores")
        return lines

    def _largest(self, rows: np.ndarray) -> list[str]:
        """The largest of some contributions, in words, but none that would be written as 0."""
        order = rows[np.argsort(-np.abs(self.contributions[rows]), kind="stable")[:SHOWN]]
        return [
            f"{self._name(i)} {self.contributions[i]:+.2f}"
            for i in order
            if abs(self.contributions[i]) >= 0.005
        ]

    def _name(self, i: int) -> str:
        feature = self.terms.feature[i]
        return GRAPH_KINDS[self.terms.kind[i]] if feature is None else str(feature)
