"""Maximum-entropy Markov model."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.encoding.features.column_choice import Features
from sklearn_struct.estimators.fitting.partial_fit import BaseOnlineChain
from sklearn_struct.inference.chains.beam import beam
from sklearn_struct.inference.chains.forbidden import forbid
from sklearn_struct.inference.chains.local_normalisation import locally_normalised
from sklearn_struct.losses.conditionals import Conditionals

__all__ = ["MEMM"]

LOSS = Conditionals(right=False)


class MEMM(BaseOnlineChain):
    """Maximum-entropy Markov model: a chain that is normalised label by label, from left to right.

    p(y | x) = prod_t p(y_t | y_{t-1}, x), each factor a logistic regression on the features of
    `LinearChainCRF`,

        p(k | j, x_t) = exp(coef[k] . x_t + intercept[k] + transition[j, k]) / sum over k' of the
        same,

    without the transition for the first token, and at ``order=2`` with transition2[i, j, k] for the
    label i before j. The objective is that of `LinearChainCRF` with this p(y | x). It needs no sums
    over labellings, so a fit is quicker; but what a later token says about an earlier one is lost,
    since the probabilities of what follows a label sum to 1, however well it fits ("label bias"
    [2]_).

    Probabilities, n best labellings and samples are exact. A labelling that constraints forbid has
    probability 0, and the others share the rest.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty, ``np.inf`` for none.
    l1_ratio : float, default=0.0
        Share of the L1 penalty, in [0, 1]; 1 gives sparse weights.
    solver : {"auto", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg", "sag", "sgd"}, default="auto"
        As in `LinearChainCRF`.
    decoder : {"viterbi", "beam", "greedy"}, default="viterbi"
        How `predict` looks for the labelling: "viterbi" finds the most probable one; "beam" goes
        from left to right and at each token keeps the `beam_width` labels, at order 2 pairs of
        labels, at which the most probable ways end; "greedy" keeps one.
    beam_width : int, default=5
        As many as there are labels (at order 2 pairs of labels), or more, is the same as "viterbi".
    order : {1, 2}, default=1
        How many labels before a token its own depends on. At order 2 the two labels before are
        given, and the score has + transition2[i, j, k] for the labels i, j, k in a row; everything
        stays exact, and a token costs n_labels**3 operations in predictions; in training n_labels
        more than at order 1.
    feature_pairs : {"observed", "all"}, default="observed"
        Which pairs (feature, label) get a weight: those stored together in the training data, or
        all.
    transition_features : {"all", "observed"}, default="all"
        Which transitions, at order 2 also which three labels in a row, get a weight. The others
        keep weight 0; they are not forbidden.
    edge_features : None, "all", str, re.Pattern, or iterable of str, re.Pattern and int, default=None
        Features of X that also condition the transition into their token, as in `LinearChainCRF`.
    allowed_transitions : None, {"BIO", "IOB1", "BIOES"}, array-like of shape (n_labels, n_labels) or dict, default=None
        Which labels may follow each other, read by each prediction, as in `LinearChainCRF`.
    constrain_training : bool, default=False
        Normalise among the labels that `allowed_transitions` allows, in training and predictions.
        Each y must then be allowed.
    min_frequency : int, default=1
        Pairs (and observed transitions) seen fewer times get no weight.
    fit_intercept : bool, default=True
        Give each label an unpenalised weight of its own.
    dtype : {"float64", "float32"}, default="float64"
        Float type of features, weight tables and potentials.
    max_iter : int, default=1000
        Largest number of iterations; for "sag" and "sgd" passes over the data.
    tol : float, default=1e-4
        Solvers stop when no entry of the objective's gradient, divided by C and the total weight,
        exceeds `tol`; "sgd" when passes improve the objective by less than this share each. With
        float32 a gradient has rounding errors, of about 1e-7 times the scores and values of
        features; a `tol` below these is not reached, and the warning says how large they are.
    warm_start : bool, default=False
        Start from the weights of the previous fit, matched by label and feature.
    n_jobs : int, default=None
        Threads over blocks of sequences, in joblib's meaning. Results have the same bits for any
        number.
    random_state : int, RandomState or None, default=None
        For "sag" and "sgd": the order of the sequences. "auto" takes None for 0.
    verbose : int, default=0
        Print a line an iteration.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Labels, sorted.
    coef_ : ndarray or csr_array of shape (n_labels, n_features)
        Feature weights; sparse if X is.
    transition_ : ndarray of shape (n_labels, n_labels)
        Transition weights, from row label to column label.
    transition2_ : ndarray of shape (n_labels, n_labels, n_labels)
        Weights of three labels in a row, in their order; only with ``order=2``.
    intercept_ : ndarray of shape (n_labels,)
    edge_coef_ : ndarray or csr_array of shape (n_labels * n_labels, n_edge_features)
        Weights of the edge features; row j * n_labels + k for the transition from j to k. With
        ``order=2`` there follow n_labels**3 rows, (i * n_labels + j) * n_labels + k of them for the
        labels i, j, k.
    edge_features_ : ndarray of int
        Columns of X that condition transitions.
    n_iter_ : int
        Iterations of `fit`, plus one for each `partial_fit` since.
    t_ : int
        Sequences that `fit` has learnt from, plus those of each `partial_fit` since.
    loss_curve_ : list of float
        Objective / C after each iteration of `fit`: sum of losses + penalty / C.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has feature names.
    vectorizer_ : SequenceVectorizer
        Where X holds dicts or strings.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseOnlineChain._parameter_constraints,
        "decoder": [StrOptions({"viterbi", "beam", "greedy"})],
        "beam_width": [Interval(Integral, 1, None, closed="left")],
    }

    _settings = (*BaseOnlineChain._settings, "constrain_training", "decoder", "beam_width")

    def __init__(
        self,
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        solver: str = "auto",
        decoder: str = "viterbi",
        beam_width: int = 5,
        order: int = 1,
        feature_pairs: str = "observed",
        transition_features: str = "all",
        edge_features: Features | None = None,
        allowed_transitions: Any = None,
        constrain_training: bool = False,
        min_frequency: int = 1,
        fit_intercept: bool = True,
        dtype: str = "float64",
        max_iter: int = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.l1_ratio = l1_ratio
        self.solver = solver
        self.decoder = decoder
        self.beam_width = beam_width
        self.order = order
        self.feature_pairs = feature_pairs
        self.transition_features = transition_features
        self.edge_features = edge_features
        self.allowed_transitions = allowed_transitions
        self.constrain_training = constrain_training
        self.min_frequency = min_frequency
        self.fit_intercept = fit_intercept
        self.dtype = dtype
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _loss(self, y: Any = None) -> Conditionals:
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
