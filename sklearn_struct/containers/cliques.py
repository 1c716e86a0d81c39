"""Cliques of one kind in a graph, as users give them."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Cliques"]


class Cliques(NamedTuple):
    """Cliques of a graph that share their weights, with those of this name in all other graphs.

    A graph of `GraphCRF` is a tuple (nodes, list of Cliques) where its edges are of several kinds,
    or where three and more nodes depend on each other (clique templates; [1]_, section 2.4).

    Read more in :doc:`/user_guide/graphs`.

    Parameters
    ----------
    name : str
        The kind of cliques. In all graphs they have the same number of nodes and of features.
    nodes : array-like of int, shape (n_cliques, r)
        The r nodes of each clique, which count from 0; r is 2 or more. The model has a score for
        each of their n_labels ** r labellings.
    features : array-like or sparse matrix of shape (n_cliques, n_features), or list of dicts, \
            default=None
        The features of each clique, which score its labellings, too.
    symmetric : bool, default=False
        Whether the nodes of a clique have no order: then labellings that differ by their order
        share a weight.

    See Also
    --------
    GraphCRF : Learns the weights of cliques.
    TypedNodes : Nodes with labels of their own types.

    References
    ----------
    .. [1] C. Sutton and A. McCallum, "An introduction to conditional random fields", Foundations
       and Trends in Machine Learning 4(4), 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import Cliques, GraphCRF
    >>> near = Cliques("near", [[0, 1], [1, 2]])
    >>> triple = Cliques("triple", [[0, 1, 2]], symmetric=True)
    >>> X = [(np.eye(3), [near, triple]), (np.eye(3)[::-1], [near])]
    >>> crf = GraphCRF().fit(X, [["a", "b", "a"], ["a", "b", "b"]])
    >>> crf.clique_transition_["triple"].shape
    (2, 2, 2)
    """

    name: str
    nodes: Any
    features: Any = None
    symmetric: bool = False
