"""Grammar whose symbols have states that the trees do not show, learned by singular value
decompositions.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from sklearn_struct.encoding.trees.tree_corpus import TreeCorpus
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.spectral_steps import BaseSpectral
from sklearn_struct.estimators.trees.base_tree_parser import BaseTreeParser, plain_model
from sklearn_struct.grammars.parsing import tree_log_probabilities

__all__ = ["SpectralLPCFG"]


@with_parameters
class SpectralLPCFG(BaseSpectral, BaseTreeParser):
    """Latent-variable probabilistic context-free grammar, by spectral estimation, and a parser.

    The model is that of `EMLPCFG`: symbols have hidden states. The estimate needs neither
    iterations nor starting values, and with more and more trees it tends to the true model [1]_,
    [2]_. What is below a node and what is around it are independent, given its symbol and state. So
    the correlations between features of both have as many large singular values as there are
    states. Their singular vectors give coordinates, and all estimates are averages over the
    treebank in these coordinates.

    These estimates are not probabilities. For some sentences and trees they are negative; such
    sentences and trees count as impossible.

    Read more in :doc:`/user_guide/trees`.

    Parameters
    ----------
    decoder : {"max-recall", "max-rule"}, default="max-recall"
        Which tree `predict` returns, by the absolute values of posterior probabilities.
        "max-recall": the tree with the largest expected number of right constituents. "max-rule":
        the tree with the most probable rules, each given the sentence.
    memory : str or object with the joblib.Memory interface, default=None
        Caches the encoded trees, and their features.

    Attributes
    ----------
    n_states_ : ndarray of int
        Number of states of each symbol.
    singular_values_ : ndarray of shape (n_symbols, n_states)
        Singular values of each symbol, in falling order; 0 for those that are left out.
    n_negative_ : int
        How many trees of the training data have an estimated probability that is not positive.

    See Also
    --------
    EMLPCFG : The same model, by expectation maximisation.
    SpectralHMM : The same for sequences of labels.
    PCFG : Without states.
    sklearn_struct.grammars.node_features.Nodes : What feature functions see.

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
    >>> sentence = "the women in the garden that run sleep"
    >>> print(parser.predict([sentence.split()])[0])
    (ROOT
      (S
        (NP
          (NP (NP (D the) (N women)) (PP (P in) (NP (D the) (N garden))))
          (SBAR (W that) (VP (V run))))
        (VP (V sleep))))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        # states in a basis of no meaning have no best tree
        "decoder": [StrOptions({"max-recall", "max-rule"})],
    }

    def _fit(self, corpus: TreeCorpus, progress: Progress) -> None:
        spectrum = self._spectrum(corpus.treebank, corpus.emissions.sums)
        self._model = plain_model(corpus)._replace(states=(spectrum.tensors,))
        self.n_states_ = spectrum.n_states
        self.singular_values_ = spectrum.singular_values
        self.n_negative_ = int(
            np.sum(tree_log_probabilities(self._model, corpus.treebank.forest)[0] == -np.inf)
        )
