"""Linear-chain CRF trained piecewise."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from sklearn_struct.containers.structures import clique_sizes
from sklearn_struct.estimators.chains.partial_fit import BaseOnlineChain
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.piecewise_factors import Factors
from sklearn_struct.losses.windows import Windows

__all__ = ["PiecewiseCRF"]

FACTORS = Factors()
LIKELIHOOD = LogLikelihood(Chain())


@with_parameters
class PiecewiseCRF(BaseOnlineChain):
    """Linear-chain conditional random field, trained piecewise.

    The model is that of `LinearChainCRF`, and so are its predictions. Training cuts it into pieces
    and normalises each piece on its own, as if there were nothing else [1]_. With ``piece_size=1``
    the pieces are single factors: the scores of a token, and the scores of a transition,

        sum_t -log(exp(node_t(y_t)) / sum_k exp(node_t(k))) +
        sum_t -log(exp(edge_t(y_t, y_{t+1})) / sum_{j, k} exp(edge_t(j, k))).

    With a larger ``piece_size``, m, the pieces are all windows of m consecutive tokens, which begin
    at the tokens a. A sequence of n tokens has max(1, n - m + 1) windows:

        sum_a -log p_a(y_a ... y_{a+m-1} | x),
        p_a(y_a ...) = exp(scores inside the window) / sum of the same.

    If m is at least the length of the longest sequence, the loss is that of the likelihood. Windows
    that overlap count evidence twice, so the estimate is not consistent, unlike that of
    `PseudoLikelihoodCRF`. In return, no piece relies on the true labels beside it, which a
    prediction does not have. With single factors the sum of their log-probabilities is a lower
    bound of the log-likelihood.

    Read more in :doc:`/user_guide/surrogates`.

    Parameters
    ----------
    piece_size : int, default=1
        1 for single factors, otherwise the number of tokens of a window.
    order : {1, 2}, default=1
        As in `LinearChainCRF`. At order 2 the single factors are those of each token, of the first
        pair of labels of a sequence, and of each three labels in a row. Then `piece_size` cannot be
        2, since three labels do not fit into such a piece.

    See Also
    --------
    LinearChainCRF : Trained by the likelihood; ``fit(X, y, init=...)`` starts from the weights of
        this model.
    PseudoLikelihoodCRF : Windows given the labels beside them.

    References
    ----------
    .. [1] C. Sutton and A. McCallum, "Piecewise training for undirected models", UAI 2005.

    Examples
    --------
    >>> from sklearn_struct import PiecewiseCRF
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
    >>> y = [["DET", "NOUN", "VERB"]] * 3
    >>> PiecewiseCRF(C=10).fit(X, y).predict([["a", "cat", "barks"]])[0]
    ['DET', 'NOUN', 'VERB']
    >>> PiecewiseCRF(piece_size=2).fit(X, y).predict([["a", "cat", "barks"]])[0]
    ['DET', 'NOUN', 'VERB']
    """

    piece_size: int = 1
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "piece_size": [Interval(Integral, 1, None, closed="left")],
    }

    def _loss(self, evidence: Evidence | None = None) -> Loss:
        if any(1 < self.piece_size < size for size in clique_sizes(self.order)):
            raise ValueError(
                "with order=2 piece_size must be 1 or from 3 on: no three labels lie in a piece of "
                "two tokens"
            )
        return (
            FACTORS
            if self.piece_size == 1
            else Windows(LIKELIHOOD, self.piece_size, left=False, right=False)
        )
