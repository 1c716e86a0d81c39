"""Linear-chain CRF trained by pseudolikelihood."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from sklearn_struct.estimators.chains.partial_fit import BaseOnlineChain
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.conditionals import Conditionals
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.windows import Windows

__all__ = ["PseudoLikelihoodCRF"]

BESAG = Conditionals()
LIKELIHOOD = LogLikelihood(Chain())


@with_parameters
class PseudoLikelihoodCRF(BaseOnlineChain):
    """Linear-chain conditional random field, trained by pseudolikelihood.

    The model is that of `LinearChainCRF`, and so are its predictions. Instead of minus log p(y |
    x), training minimises

        sum_a -log p(y_a ... y_{a+k-1} | y_{a-1}, y_{a+k}, x),    k = block_size,

    over all windows of k consecutive tokens, which begin at the tokens a. A sequence of n tokens
    has max(1, n - k + 1) windows. Each window should be probable given the true label on each side
    (a composite likelihood [2]_); at ``order=2``, two labels on each side. With k = 1 this is
    Besag's pseudolikelihood [1]_, which needs no sums over labellings. If k is at least the length
    of the longest sequence, the loss is that of the likelihood.

    For each k the estimate is consistent: with more and more data it tends to the weights that
    generated them. A small k needs more data. It also costs accuracy, since training relies on true
    neighbouring labels, which a prediction does not have.

    Read more in :doc:`/user_guide/surrogates`.

    Parameters
    ----------
    block_size : int, default=1
        Number of tokens of a window, k.
    order : {1, 2}, default=1
        As in `LinearChainCRF`. At order 2 the two labels on each side of a window are given.

    See Also
    --------
    LinearChainCRF : Trained by the likelihood; ``fit(X, y, init=...)`` starts from the weights of
        this model.
    PiecewiseCRF : Windows on their own, without the labels beside them.

    References
    ----------
    .. [1] J. Besag, "Statistical analysis of non-lattice data", The Statistician 24(3), 1975.
    .. [2] C. Sutton and A. McCallum, "An introduction to conditional random fields", Foundations
       and Trends in Machine Learning 4(4), 2012, section 5.4.1.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF, PseudoLikelihoodCRF
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
    >>> y = [["DET", "NOUN", "VERB"]] * 3
    >>> quick = PseudoLikelihoodCRF(C=10).fit(X, y)
    >>> quick.predict([["a", "cat", "barks"]])[0]
    ['DET', 'NOUN', 'VERB']
    >>> LinearChainCRF(C=10).fit(X, y, init=quick).predict([["a", "cat", "barks"]])[0]
    ['DET', 'NOUN', 'VERB']
    """

    block_size: int = 1
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "block_size": [Interval(Integral, 1, None, closed="left")],
    }

    def _loss(self, evidence: Evidence | None = None) -> Loss:
        return BESAG if self.block_size == 1 else Windows(LIKELIHOOD, self.block_size)
