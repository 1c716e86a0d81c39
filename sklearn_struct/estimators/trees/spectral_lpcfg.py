"""Grammar whose symbols have states that the trees do not show, learned by singular value
decompositions.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from sklearn_struct.encoding.trees.tree_corpus import TreeCorpus
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.trees.base_parser import BaseTreeParser, plain_model
from sklearn_struct.estimators.trees.spectral_steps import SHARED_PARAMETERS, spectral
from sklearn_struct.grammars.parsing import tree_log_probabilities

__all__ = ["SpectralLPCFG"]


class SpectralLPCFG(BaseTreeParser):
    """Latent-variable probabilistic context-free grammar, by spectral estimation [1]_, and a
    parser.

    The model is that of `EMLPCFG`: symbols have hidden states. But no iterations and no starts are
    needed, and with enough trees the estimate is the true model. What is below a node and what is
    around it are independent, given its symbol and state; so the singular vectors of the
    correlations of features of both span as many dimensions as there are states. Probabilities then
    are averages over the treebank in these coordinates.

    Averages are no probabilities. Of sentences and trees, some come out negative, and count as
    impossible.

    Parameters
    ----------
    n_states : int, default=16
        The most states of a symbol. It has fewer where singular values are below a thousandth of
        the largest, and one if it is seen less than three times.
    smoothing : float, default=5.0
        How much averages over few edges are drawn to products of averages of lower order [2]_; 0
        not at all.
    shrinkage : float, default=0.2
        How much less directions of small singular values count, which are noise in part: those
        below this share of the largest one by half or more. With 0 not at all; with that, and no
        smoothing, estimates are consistent.
    nodes : {"all", "one"}, default="all"
        Whether all nodes of a tree are averaged over, or one that is drawn, as the theorems of [1]_
        have it.
    inside_features, outside_features : list of callables, default=None
        Feature functions of what is below, and of what is around nodes; see
        `sklearn_struct.grammars.node_features`. None: those of [2]_ and neighbouring words.
    feature_count : float or None, default=5.0
        Features that n of the M nodes of a symbol have are scaled by ``sqrt(M / (n +
        feature_count))``; with None they are not.
    horizontal_order : int, default=0
        How many siblings before it a node for the rest of a phrase's children remembers.
    vertical_order : int, default=1
        How many labels a phrase remembers: with 1 its own alone, with 2 its parent's, too.
    min_frequency : int, default=2
        Words seen less often are taken for their signatures: capitals, digits, dashes and endings.
    unknown_weight : float, default=1.0
        How many times each known word is taken to have been seen, besides, with the tags that rare
        words of its signature have.
    decoder : {"max-recall", "max-rule"}, default="max-recall"
        What `predict` looks for, by the absolute values of posterior probabilities: the tree with
        the largest expected number of right constituents, or the one with the most probable rules,
        each given the sentence.
    pruning : float, default=1e-5
        The least posterior probability, by the grammar without states, of the parts of trees that
        are looked at; with 0 all that are possible.
    random_state : int, RandomState instance or None, default=None
        Seed of the nodes that are drawn.
    memory : str or object with the joblib.Memory interface, default=None
        Caches the encoded trees, and their features.
    n_jobs : int, default=None
        Threads over sentences, in joblib's meaning. Results have the same bits for any number.

    Attributes
    ----------
    symbols_ : ndarray of str
        Names of the symbols of binary trees; see `PCFG`.
    n_states_ : ndarray of int
        How many states each of them has.
    singular_values_ : ndarray of shape (n_symbols, n_states)
        Of each symbol, in falling order; 0 for those that are left out.
    n_negative_ : int
        How many trees of the training data have an estimate that is no positive probability.
    tags_ : list of str
        Part-of-speech tags.

    See Also
    --------
    EMLPCFG : The same model, by expectation maximisation.
    SpectralHMM : The same for sequences of labels.

    References
    ----------
    .. [1] S. B. Cohen, K. Stratos, M. Collins, D. P. Foster and L. Ungar, "Spectral learning of
       latent-variable PCFGs", ACL 2012.
    .. [2] S. B. Cohen, K. Stratos, M. Collins, D. P. Foster and L. Ungar, "Experiments with
       spectral learning of latent-variable PCFGs", NAACL 2013.

    Examples
    --------
    >>> from sklearn_struct import SpectralLPCFG
    >>> from sklearn_struct.datasets import make_treebank
    >>> X, y = make_treebank(n_samples=300, random_state=0)
    >>> parser = SpectralLPCFG(n_states=8).fit(X, y)
    >>> print(parser.predict([["the", "women", "in", "the", "garden", "that", "run", "sleep"]])[0])
    (ROOT
      (S
        (NP
          (NP (NP (D the) (N women)) (PP (P in) (NP (D the) (N garden))))
          (SBAR (W that) (VP (V run))))
        (VP (V sleep))))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTreeParser._parameter_constraints,
        **SHARED_PARAMETERS,
        # states in a basis of no meaning have no best tree
        "decoder": [StrOptions({"max-recall", "max-rule"})],
    }

    def __init__(
        self,
        *,
        n_states: int = 16,
        smoothing: float = 5.0,
        shrinkage: float = 0.2,
        nodes: str = "all",
        inside_features: Any = None,
        outside_features: Any = None,
        feature_count: float | None = 5.0,
        horizontal_order: int = 0,
        vertical_order: int = 1,
        min_frequency: int = 2,
        unknown_weight: float = 1.0,
        decoder: str = "max-recall",
        pruning: float = 1e-5,
        random_state: Any = None,
        memory: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_states = n_states
        self.smoothing = smoothing
        self.shrinkage = shrinkage
        self.nodes = nodes
        self.inside_features = inside_features
        self.outside_features = outside_features
        self.feature_count = feature_count
        self.horizontal_order = horizontal_order
        self.vertical_order = vertical_order
        self.min_frequency = min_frequency
        self.unknown_weight = unknown_weight
        self.decoder = decoder
        self.pruning = pruning
        self.random_state = random_state
        self.memory = memory
        self.n_jobs = n_jobs

    def _fit(self, corpus: TreeCorpus, progress: Progress) -> None:
        found = spectral(self, corpus.treebank, corpus.emissions.sums)
        self._model = plain_model(corpus)._replace(states=(found.tensors,))
        self.n_states_ = found.n_states
        self.singular_values_ = found.singular_values
        self.n_negative_ = int(
            np.sum(tree_log_probabilities(self._model, corpus.treebank.forest)[0] == -np.inf)
        )
