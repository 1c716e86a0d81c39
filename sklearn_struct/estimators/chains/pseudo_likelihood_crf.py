"""Linear-chain CRF trained by pseudolikelihood."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from sklearn_struct.encoding.features.column_choice import Features
from sklearn_struct.estimators.fitting.partial_fit import BaseOnlineChain
from sklearn_struct.inference.chains import exact
from sklearn_struct.losses.conditionals import Conditionals
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.windows import Windows

__all__ = ["PseudoLikelihoodCRF"]

BESAG = Conditionals()
LIKELIHOOD = LogLikelihood(exact)


class PseudoLikelihoodCRF(BaseOnlineChain):
    """Linear-chain conditional random field, trained by pseudolikelihood.

    The model is that of `LinearChainCRF`, and so are its predictions. Instead of minus log p(y |
    x), training minimises

        sum_a -log p(y_a ... y_{a+k-1} | y_{a-1}, y_{a+k}, x),    k = block_size,

    over the windows of k consecutive tokens, of which a sequence of n has max(1, n - k + 1): each
    window has to be probable given the true labels beside it (a composite likelihood [2]_), at
    ``order=2`` two on each side. For k = 1 this is Besag's pseudolikelihood [1]_, which needs no
    sums over labellings; from the longest sequence's length on it is the likelihood. Whatever k,
    the weights that generated the data are found as data grow, though a small k needs more of them.
    When it predicts, true neighbours are not there to be relied on, which costs accuracy if k is
    small.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty, ``np.inf`` for none.
    l1_ratio : float, default=0.0
        Share of the L1 penalty, in [0, 1]; 1 gives sparse weights.
    solver : {"auto", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg", "sag", "sgd"}, default="auto"
        As in `LinearChainCRF`.
    block_size : int, default=1
        Tokens of a window.
    order : {1, 2}, default=1
        As in `LinearChainCRF`. At order 2 the two labels on each side of a window are given.
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
        Train among the labellings that `allowed_transitions` allows, too. Each y must then be
        allowed.
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
    LinearChainCRF : Trained by the likelihood; ``fit(X, y, init=...)`` starts from the weights of this one.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseOnlineChain._parameter_constraints,
        "block_size": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        solver: str = "auto",
        block_size: int = 1,
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
        self.block_size = block_size
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

    def _loss(self, y: Any = None) -> Conditionals | Windows:
        return BESAG if self.block_size == 1 else Windows(LIKELIHOOD, self.block_size)
