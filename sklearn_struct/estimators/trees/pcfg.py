"""Probabilistic context-free grammar."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from sklearn_struct.encoding.trees.tree_corpus import TreeCorpus
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.trees.base_tree_parser import BaseTreeParser, plain_model
from sklearn_struct.estimators.trees.sampled_trees import TreeDrawingMixin

__all__ = ["PCFG"]


@with_parameters
class PCFG(TreeDrawingMixin, BaseTreeParser):
    """Probabilistic context-free grammar, read off trees, and a parser.

    Trees become binary ones: chains of only children are one node, and of more than two children
    the first stays while a new node takes the others. The probability of a tree is the product of
    those of its root, of its rules, given their parents, and of its words, given their tags; all
    are relative frequencies.

    Read more in :doc:`/user_guide/trees`.

    Parameters
    ----------
    horizontal_order : int, default=1
        How many siblings before it a node for the rest of a phrase's children remembers.
    vertical_order : int, default=2
        How many labels a phrase remembers: with 1 its own alone, with 2 its parent's, too.
    smoothing : float, default=0.0
        Added to the count of each rule that was seen.
    decoder : {"viterbi", "max-recall", "max-rule"}, default="viterbi"
        What `predict` looks for: the most probable tree; the one with the largest expected number
        of right constituents [1]_, those of its binary form included; or the one with the most
        probable rules, each given the sentence [2]_.
    pruning : float, default=1e-5
        The least posterior probability of the parts of trees that "max-recall", "max-rule" and
        `marginals` look at; with 0 all that are possible, which takes much memory. Everything else
        is exact.

    Attributes
    ----------
    symbols_ : ndarray of str
        Names of the symbols of binary trees, tags first: ``A+B`` is a B that is the only child of
        an A, ``@A`` the rest of the children of an A, behind ``|`` with those before them; behind
        ``^`` are labels above.

    See Also
    --------
    EMLPCFG : symbols with states that are learned.
    sklearn_struct.datasets.fetch_treebank_sample : trees of newspaper text.
    sklearn_struct.metrics.bracket_report : what a parser does well.

    References
    ----------
    .. [1] J. Goodman, "Parsing algorithms and metrics", ACL 1996.
    .. [2] S. Petrov and D. Klein, "Improved inference for unlexicalized parsing", NAACL 2007.

    Examples
    --------
    >>> from sklearn_struct import PCFG
    >>> from sklearn_struct.datasets import make_treebank
    >>> X, y = make_treebank(n_samples=300, random_state=0)
    >>> parser = PCFG().fit(X, y)
    >>> print(parser.predict([["the", "doctor", "sees", "a", "house"]])[0])
    (ROOT
      (S (NP (D the) (N doctor)) (VP (V sees) (NP (D a) (N house)))))
    """

    horizontal_order: int = 1
    vertical_order: int = 2
    smoothing: float = 0.0
    decoder: str = "viterbi"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def _fit(self, corpus: TreeCorpus, progress: Progress) -> None:
        self._model = plain_model(corpus, self.smoothing)
