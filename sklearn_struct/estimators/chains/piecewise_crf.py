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

    The model is that of `LinearChainCRF`, and so are its predictions. For training it is cut into
    pieces, each of which is normalised on its own, as if there were nothing else [1]_. With
    ``piece_size=1`` pieces are single factors,

        sum_t -log(exp(node_t(y_t)) / sum_k exp(node_t(k)))
            + sum_t -log(exp(edge_t(y_t, y_{t+1})) / sum_{j, k} exp(edge_t(j, k))),

    the scores of a token and those of a transition; with a larger one, m, small chains: the windows
    of m consecutive tokens, max(1, n - m + 1) in a sequence of n, whose ends are free,

        sum_a -log p_a(y_a ... y_{a+m-1} | x),
        p_a(y_a ...) = exp(scores inside the window) / sum of the same.

    From the longest sequence's length on this is the likelihood. Pieces that overlap count evidence
    twice, so weights do not tend to those that generated the data, unlike those of
    `PseudoLikelihoodCRF`; but no piece relies on true labels beside it, which a prediction has not.
    Single factors bound the likelihood from below.

    Read more in :doc:`/user_guide/surrogates`.

    Parameters
    ----------
    piece_size : int, default=1
        1 for single factors, else the tokens of a small chain.
    order : {1, 2}, default=1
        As in `LinearChainCRF`. At order 2 single factors are of a token, of the first pair of a
        sequence, and of each three labels in a row with their last pair; `piece_size` cannot be 2,
        as no three labels lie in such a piece.

    See Also
    --------
    LinearChainCRF : Trained by the likelihood; ``fit(X, y, init=...)`` starts from the
        weights of this one.
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
