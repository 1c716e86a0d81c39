"""Maximum-entropy Markov model."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.estimators.chains.partial_fit import BaseOnlineChain
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.inference.chains.beam import beam
from sklearn_struct.inference.chains.forbidden import forbid
from sklearn_struct.inference.chains.local_normalisation import locally_normalised
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.conditionals import Conditionals
from sklearn_struct.losses.evidence import Evidence

__all__ = ["MEMM"]

LOSS = Conditionals(right=False)


@with_parameters
class MEMM(BaseOnlineChain):
    """Maximum-entropy Markov model: a chain that is normalised label by label, from left to right.

    p(y | x) = prod_t p(y_t | y_{t-1}, x). Each factor is a logistic regression on the features of
    `LinearChainCRF`,

        p(k | j, x_t) = exp(coef[k] . x_t + intercept[k] + transition[j, k]) / sum over k' of the
        same,

    without the transition for the first token [1]_. ``order=2`` adds transition2[i, j, k] for the
    label i before j. The objective is that of `LinearChainCRF` with this p(y | x). It needs no sums
    over labellings, so a fit is quicker than that of a CRF. In return, a later token cannot change
    the probability of an earlier label: the probabilities of the next label sum to 1, however badly
    all of them fit ("label bias" [2]_).

    Probabilities, n best labellings and samples are exact. A labelling that constraints forbid has
    probability 0, and the others share the rest.

    Read more in :doc:`/user_guide/surrogates`.

    Parameters
    ----------
    decoder : {"viterbi", "beam", "greedy"}, default="viterbi"
        How `predict` looks for the labelling. "viterbi": finds the most probable one. "beam": goes
        from left to right. At each token it keeps the `beam_width` best partial labellings with
        different last labels (at order 2, with different last pairs of labels). "greedy": keeps
        one.
    beam_width : int, default=5
        How many partial labellings "beam" keeps. If it keeps as many as there are labels (at order
        2, pairs of labels), it finds the same labelling as "viterbi".
    order : {1, 2}, default=1
        The order of the Markov chain: a label depends on one label before it, or on two. At order 2
        the score also has transition2[i, j, k] for the labels i, j, k in a row. Inference is exact.
        A token costs n_labels**3 operations in predictions. In training it costs n_labels
        operations more than at order 1.
    constrain_training : bool, default=False
        Whether training, too, normalises over the labels that `allowed_transitions` allows. Each y
        must then be allowed.

    See Also
    --------
    LinearChainCRF : Normalised over whole labellings.

    References
    ----------
    .. [1] A. McCallum, D. Freitag and F. Pereira, "Maximum entropy Markov models for information
       extraction and segmentation", ICML 2000.
    .. [2] J. Lafferty, A. McCallum and F. Pereira, "Conditional random fields: probabilistic models
       for segmenting and labeling sequence data", ICML 2001.

    Examples
    --------
    >>> from sklearn_struct import MEMM
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
    >>> y = [["DET", "NOUN", "VERB"]] * 3
    >>> memm = MEMM(C=10).fit(X, y)
    >>> memm.predict([["a", "cat", "barks"]])[0]
    ['DET', 'NOUN', 'VERB']
    >>> memm.set_params(decoder="greedy").predict([["a", "cat", "barks"]])[0]
    ['DET', 'NOUN', 'VERB']
    """

    decoder: str = "viterbi"
    beam_width: int = 5
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "decoder": [StrOptions({"viterbi", "beam", "greedy"})],
        "beam_width": [Interval(Integral, 1, None, closed="left")],
    }

    _settings = (*BaseOnlineChain._settings, "constrain_training", "decoder", "beam_width")

    def _loss(self, evidence: Evidence | None = None) -> Loss:
        return LOSS

    def _decode_potentials(self, potentials: Potentials, structure: Structure) -> Potentials:
        transitions = self._transitions() if self.constrain_training else None
        if transitions is not None:
            potentials = forbid(potentials, structure, transitions)
        return locally_normalised(potentials, structure, by_edge=self.decoder != "viterbi")

    def _decode(self, potentials: Potentials, structure: Structure, labels: np.ndarray) -> None:
        if self.decoder == "viterbi":
            super()._decode(potentials, structure, labels)
        else:
            beam(potentials, structure, self.beam_width if self.decoder == "beam" else 1, labels)
