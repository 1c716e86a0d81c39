"""Nodes of several types in a graph, as users give them."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["TypedNodes"]


class TypedNodes(NamedTuple):
    """Nodes of a graph that have labels of their own types, such as those of words and documents.

    A graph of `GraphCRF` is a tuple (nodes, edges), and its nodes may be `TypedNodes`. Then each
    type has its own set of labels and its own weights; a label of one type never stands at a node
    of another one.

    Read more in :doc:`/user_guide/graphs`.

    Parameters
    ----------
    features : array-like or sparse matrix of shape (n_nodes, n_features), list of dicts or strings
        The features of all nodes, as without types. Those that nodes of a type do not have are
        zeros, or missing in dicts.
    types : list of str, length n_nodes
        The type of each node.

    See Also
    --------
    GraphCRF : Learns from such nodes.
    Cliques : Several kinds of edges, and larger cliques.

    Examples
    --------
    >>> from sklearn_struct import GraphCRF, TypedNodes
    >>> types = ["word", "word", "text"]
    >>> edges = [[0, 2], [1, 2]]
    >>> X = [
    ...     (TypedNodes(["great", "fun", "text"], types), edges),
    ...     (TypedNodes(["sad", "day", "text"], types), edges),
    ... ]
    >>> y = [["ADJ", "NOUN", "positive"], ["ADJ", "NOUN", "negative"]]
    >>> crf = GraphCRF(C=10).fit(X, y)
    >>> {name: labels.tolist() for name, labels in crf.type_classes_.items()}
    {'text': ['negative', 'positive'], 'word': ['ADJ', 'NOUN']}
    """

    features: Any
    types: Any
