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

    Trees are first made binary. A chain of only children becomes one node. If a node has more than
    two children, the first one stays, and a new node takes the others. The probability of a tree is
    the product of the probabilities of its root, of its rules given their parents, and of its words
    given their tags. All of them are relative frequencies.

    Read more in :doc:`/user_guide/trees`.

    Parameters
    ----------
    horizontal_order : int, default=1
        How many previous siblings are part of the symbol of a new node that takes the other
        children of a phrase.
    vertical_order : int, default=2
        How many labels are part of the symbol of a phrase. 1: its own. 2: also that of its parent.
    smoothing : float, default=0.0
        Added to the count of each rule in the training data.
    decoder : {"viterbi", "max-recall", "max-rule"}, default="viterbi"
        Which tree `predict` returns. "viterbi": the most probable tree. "max-recall": the tree with
        the largest expected number of right constituents, counted in its binary form [1]_.
        "max-rule": the tree with the most probable rules, each given the sentence [2]_.
    pruning : float, default=1e-5
        "max-recall", "max-rule" and `marginals` leave out parts of trees whose posterior
        probability is smaller. 0 leaves out none, and takes much memory. Everything else is exact.

    Attributes
    ----------
    symbols_ : ndarray of str
        Names of the symbols of binary trees, tags first. ``A+B`` is a B that is the only child of
        an A. ``@A`` is a new node for the other children of an A; after ``|`` are the children
        before them. After ``^`` are the labels above.

    See Also
    --------
    EMLPCFG : Symbols with states that are learned.
    sklearn_struct.datasets.fetch_treebank_sample : Trees of newspaper text.
    sklearn_struct.metrics.bracket_report : Scores of a parser by label.
    sklearn_struct.inspection.TreeDisplay : A tree as a picture.

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
