"""M-estimation: a joint log-linear model over a base distribution, trained without inference."""

from __future__ import annotations

from dataclasses import field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.encoding.features.symbol_sequences import symbols
from sklearn_struct.encoding.sequences import as_list, is_list, largest_sum
from sklearn_struct.encoding.two_dimensional_input import has_label_a_row
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.prepared_weights import Prepared
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.sample_weights import check_sum, is_per_token
from sklearn_struct.estimators.fitting.solving import choice_for_rows, solve
from sklearn_struct.estimators.hidden_markov.hmm import HMM
from sklearn_struct.estimators.m_estimation.base_distribution import fit_base, read_base
from sklearn_struct.estimators.m_estimation.base_features import choose_features
from sklearn_struct.estimators.m_estimation.cached_expectations import Given, Sampling, expectations
from sklearn_struct.estimators.m_estimation.chain_over_base import BaseBasedChain, BasedSequences
from sklearn_struct.estimators.m_estimation.distant_features import (
    Distant,
    learn_pairs,
    read_templates,
)
from sklearn_struct.exceptions import ForbiddenLabelError, UnknownLabelError
from sklearn_struct.linear.sparse_rows import SparseRows
from sklearn_struct.losses.losses_of_rows import Exponential, RowExamples
from sklearn_struct.objectives.boundedness import has_minimum
from sklearn_struct.objectives.counted_features import Layout, counted_features
from sklearn_struct.objectives.rows_objective import RowsObjective
from sklearn_struct.objectives.weight_patterns import of_order

__all__ = ["MEstimatedCRF"]


@with_parameters
class MEstimatedCRF(BaseBasedChain):
    r"""Chain whose weights are found without inference, by M-estimation over a base distribution.

    The model is joint, p(x, y) = q0(x, y) exp(w . f(x, y)) / Z [1]_. The base q0 is a generative
    model that is easy to fit, by default a hidden Markov model. f are counts of features of any
    kind. Fitting minimises a convex loss,

        1/n * sum_i exp(-w . f(x_i, y_i)) + w . E_q0[f] + ||w||**2 / (2 C),

    (eq. 3, where n is the sum of sample weights). It needs the features of the true labellings
    alone, and the expectations of the features under q0, which are computed once and exactly.
    Predictions are those of a chain with the scores log q0(x, y) + w . f(x, y).

    So training is quick. The likelihood gives better models. The range of good values of `C` is
    narrow, so tune it. A fitted model can initialise `LinearChainCRF`.

    Read more in :doc:`/user_guide/m_estimation`.

    Parameters
    ----------
    features : None, str, list of str, or transformer, default=None
        Which features the model has: templates as in `FeatureTemplates`, or the name of a set of
        them; or a transformer that returns a SequenceArray or a list of matrices. None: the values
        or numbers in X themselves. Features see X as the base does: a value that is not in its
        vocabulary is ``"<OOV>"``.
    base : None, "locally-uniform", or estimator, default=None
        The distribution q0. It is fitted on the same data, unless it is in scikit-learn's
        `FrozenEstimator`. None: an `HMM` of this `order`. "locally-uniform": everything that was
        seen after a label, the end included, is equally probable, and all labels emit values with
        the same probabilities (eq. 14). An estimator needs ``fit(X, y)``, ``classes_``,
        ``sample(n_samples, random_state) -> X, y`` and ``chain_scores(X)``. The latter returns for
        each sequence arrays (n_tokens, n_labels) and (n_tokens - 1, n_labels, n_labels) whose
        entries along a labelling sum to log q0(x, y).
    inputs : {"base", "empirical"}, default="base"
        Which x the expectations are over. "base": x and y from q0. "empirical": x from the training
        data, and y from q0(y | x) (eq. 15). The model then learns nothing about which x are
        probable.
    expectations : {"exact", "sampled"}, default="exact"
        "exact": by linear systems of path sums (eqs. 8 to 12), for a hidden Markov model and
        templates. "sampled": by means over `n_samples` sequences drawn from q0 (eq. 7), for
        everything else. No effect with ``inputs="empirical"``, where expectations are exact.
    n_samples : int, default=10000
        Number of sequences that are drawn.
    sample_smoothing : float, default=0.1
        Added to the count of each feature in the sample, since a feature may not occur in it.
    C : float, default=1.0
        Inverse strength of the penalty on a *mean* of losses (c of [1]_). ``np.inf``: no penalty;
        with most data there is then no minimum.
    order : {1, 2}, default=1
        1: weights of pairs of labels. 2: also weights of three labels in a row.
    constant : bool, default=True
        Whether there is a feature that is always 1, without penalty. Its weight tends to -log Z.
        Without it estimates are consistent only if Z is 1.
    input_features : bool, default=False
        Whether each feature of X also has a weight that is the same for all labels. For given other
        weights it does not change predictions, but it changes what the other weights must explain.
    distant_pairs : None or list of (template, template), default=None
        Features of two tokens at any distance: the first template at a token with its label, and
        the second template at a later token with that token's label. Their windows must not
        overlap. Pairs that were seen in training have weights. Their expectations are sums over all
        paths between the windows. They count in `log_joint` alone; predictions are refused, since
        the search of a chain sees neighbours only.
    transition_features : {"observed", "all"}, default="observed"
        Which pairs of labels have weights: those that were seen in training, or all.
    allowed_transitions : None, str, array-like of shape (n_labels, n_labels) or dict, default=None
        Which labels may follow each other in predictions; as in `LinearChainCRF`.
    fit_intercept : bool, default=True
        Give each label a weight of its own, penalised as the others are.
    solver : {"auto", "sdca", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg"}, default="auto"
        "sdca" is stochastic dual coordinate ascent. On the noun phrases of CoNLL-2000 it needs 22
        passes over the data at ``C=1``, and 40 at ``C=10``; "lbfgs" needs 80 and 347 iterations.
        The other solvers are those of `LinearChainCRF`. "auto" is "owlqn" if ``l1_ratio > 0``; else
        "sdca" if there is much data, more weights than sequences, and `C` is not too large; else
        "lbfgs".
    tol : float, default=1e-3
        The solver stops when no entry of the objective's gradient exceeds `tol`.
    memory : None, str or joblib.Memory, default=None
        Caches the expectations. Fits that differ in `C` alone, as in a grid search, share them.
    random_state : int, RandomState or None, default=None
        Seed of sampled expectations, and of the order of the sequences with "sdca". With "auto",
        None means 0.

    Attributes
    ----------
    base_ : estimator
        The base, fitted.
    features_ : transformer or None
        What makes the features, fitted.
    coef_ : ndarray or csr_array of shape (n_labels, n_features)
        Weights of features: how the model differs from its base.
    input_coef_ : ndarray of shape (n_features,)
        With `input_features`, their weights.
    distant_coef_ : ndarray of shape (n_pairs,)
        With `distant_pairs`, their weights.
    distant_names_ : list of tuple
        Their features and labels: at a token, and at a later one.
    distant_pairs_ : named tuple or None
        The same as numbers: the fitted encoder of either side, the pairs of templates, and the
        pairs of features and labels.
    constant_ : float
        Weight of the constant feature; 0 without.
    loss_curve_ : list of float
        Objective after each iteration.
    n_features_in_ : int
        Number of features that the model sees.
    feature_names_in_ : ndarray of str
        Their names, where they have any.

    See Also
    --------
    LinearChainCRF : Trained by the conditional likelihood.
    HMM : The default base.
    MEstimatedPCFG : The same for trees.

    References
    ----------
    .. [1] N. A. Smith, D. L. Vail and J. D. Lafferty, "Computationally efficient M-estimation of
       log-linear structure models", ACL 2007.

    Examples
    --------
    >>> from sklearn_struct import MEstimatedCRF
    >>> X = [[("the", "DT"), ("old", "JJ"), ("man", "NN"), ("left", "VB")],
    ...      [("a", "DT"), ("man", "NN"), ("saw", "VB"),
    ...       ("the", "DT"), ("old", "JJ"), ("dog", "NN")],
    ...      [("dogs", "NN"), ("saw", "VB"), ("a", "DT"), ("dog", "NN")]]
    >>> y = [["B", "I", "I", "O"], ["B", "I", "O", "B", "I", "I"], ["B", "O", "B", "I"]]
    >>> model = MEstimatedCRF(["tag:%x[0,1]", "tags:%x[-1,1]/%x[0,1]"]).fit(X, y)
    >>> model.predict([[("a", "DT"), ("young", "JJ"), ("dog", "NN"), ("left", "VB")]])[0]
    ['B', 'I', 'I', 'O']
    """

    features: Any = field(default=None, kw_only=False)
    base: Any = None
    inputs: str = "base"
    expectations: str = "exact"
    n_samples: int = 10_000
    sample_smoothing: float = 0.1
    constant: bool = True
    input_features: bool = False
    distant_pairs: Any = None
    transition_features: str = "observed"
    tol: float = 1e-3
    memory: Any = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "features": [None, str, list, tuple, HasMethods(["fit_transform", "transform"])],
        "base": [None, StrOptions({"locally-uniform"}), HasMethods(["fit"])],
        "inputs": [StrOptions({"base", "empirical"})],
        "expectations": [StrOptions({"exact", "sampled"})],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "sample_smoothing": [Interval(Real, 0, None, closed="left")],
        "constant": ["boolean"],
        "input_features": ["boolean"],
        "distant_pairs": [None, list, tuple],
        "solver": [StrOptions({"auto", "sdca", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg"})],
        "memory": [None, str, HasMethods(["cache"])],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit base and model.

        Parameters
        ----------
        X : list of sequences, SequenceArray, or array-like of shape (n, n_columns)
            What the base reads: for a hidden Markov model a list of strings or of whole numbers, a
            list of rows with a value for each stream, or a 2-D array of numbers (tokens, streams).
            A two-dimensional X is a batch of sequences of length 1, as is a list of lists of whole
            numbers if y has a label for each of these.
        y : list of label sequences, SequenceArray, or array-like of shape (n,)
            One label a token; one-dimensional if X is two-dimensional.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of each sequence.
        init : fitted estimator of the same family, default=None
            Start from its weights, matched by label and by feature name (by position where there
            are no names).

        Returns
        -------
        self

        Raises
        ------
        LengthMismatchError, NonFiniteError, UnknownLabelError, EmptyDataError, InputTypeError
            With the place; a two-dimensional X or a wrong `sample_weight` may get scikit-learn's
            own ValueError.
        ForbiddenLabelError
            If the base gives a sequence and its labels probability 0.
        ValueError
            If ``C=np.inf`` and the loss has no minimum. In each case the estimator is then as it
            was before.
        """
        super().fit(X, y, sample_weight, init=init)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None:
        start = self._start_of(init)
        self._refuse_token_weights(sample_weight)
        self._prepared = Prepared()
        X = as_list(X)
        y = as_list(y)
        X = self._checked(X if has_label_a_row(y) else symbols(X), reset=True)
        self._refuse_missing(y)
        self.base_ = fit_base(
            HMM(order=self.order) if self.base is None else self.base, X, y, sample_weight
        )
        base = read_base(self.base_, self.order)
        self.classes_ = self.base_.classes_
        self.features_ = choose_features(self.features, base)
        self.distant_pairs_ = self._unlearned_pairs()
        observed, flat = base.observe(X)
        lengths = np.diff(observed.offsets)
        weight = check_sum(self._read_weight(sample_weight, len(lengths))) * (lengths > 0)
        token_weight = np.repeat(weight, lengths)
        sequences: Any = self._with_features(X, base, observed, flat, token_weight > 0)
        largest_sum(sequences.X)
        codes = self._read_y(y, sequences, reset=False)
        pattern = self._observe(sequences, codes, token_weight)
        self._pattern = of_order(pattern, base.order)
        self._stream = None
        self.t_ = len(sequences.X)
        # their weight in the loss would be infinite, whatever w is
        impossible = np.flatnonzero(
            (weight > 0) & (base.log_joint(sequences.observed, codes) == -np.inf)
        )
        if len(impossible):
            raise ForbiddenLabelError(
                f"X[{impossible[0]}]: the base gives this sequence with its labels probability 0"
            )
        self._learn_pairs(sequences, codes, weight > 0)
        layout = self._layout()
        with Pool(self.n_jobs) as pool:
            objective = self._objective_of(layout, sequences, codes, weight, pool)
            w0 = self._start_at(start, layout)
            solver = choice_for_rows(self.solver, self.C, self.l1_ratio, objective.rows)
            iterations = Iterations(self._learned, progress, self._iteration_settings())
            learned = solve(self._minimisation(), solver, objective, w0, iterations)
        self.__dict__.update(learned)
        self.n_iter_: int = max(self.n_iter_, 1)  # to see that the start is optimal is work, too

    def _refuse_token_weights(self, sample_weight: Any) -> None:
        if is_per_token(sample_weight):
            raise ValueError(
                "M-estimation has weights of sequences; a sample_weight for each token is refused"
            )

    def _unlearned_pairs(self) -> Distant | None:
        distant = read_templates(self.distant_pairs)
        if distant is not None and self.inputs == "empirical":
            raise ValueError(
                "distant_pairs need inputs='base': given inputs have expectations of neighbouring "
                "labels alone"
            )
        return distant

    def _learn_pairs(self, sequences: BasedSequences, codes: np.ndarray, used: np.ndarray) -> None:
        if self.distant_pairs_ is not None and sequences.sides is not None:
            self.distant_pairs_ = learn_pairs(
                self.distant_pairs_, sequences.sides, codes, len(self.classes_), used
            )

    def _layout(self) -> Layout:
        n_distant = 0 if self.distant_pairs_ is None else len(self.distant_pairs_.pairs)
        return Layout(self._pattern, self.input_features, self.constant, n_distant)

    def _start_at(self, start: Any, layout: Layout) -> np.ndarray:
        if start is None:
            return np.zeros(layout.size)
        no_inputs = np.zeros(layout.pattern.n_features)
        # other chains have none
        constant = getattr(start, "constant_", 0.0)
        known = dict(zip(getattr(start, "distant_names_", []), getattr(start, "distant_coef_", [])))
        distant = np.array([known.get(name, 0.0) for name in self.distant_names_], np.float64)
        return layout.join(no_inputs, self._transferred(start), constant, distant)

    def _refuse_missing(self, y: Any) -> None:
        """The base may learn from sequences without labels, this model cannot."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        for i, labels in enumerate(y) if is_list(y) else ():
            if labels is None or (is_list(labels) and any(label is None for label in labels)):
                place = f"y[{i}]" if labels is None else f"y[{i}], token {list(labels).index(None)}"
                raise UnknownLabelError(f"{place}: the label is missing (None)")

    def _objective_of(
        self,
        layout: Layout,
        sequences: BasedSequences,
        codes: np.ndarray,
        weight: np.ndarray,
        pool: Pool,
    ) -> RowsObjective:
        pairs = None
        if self.distant_pairs_ is not None and sequences.sides is not None:
            pairs = self.distant_pairs_.counts(sequences.sides, codes, len(self.classes_))
        counts = counted_features(layout, sequences.X, codes, pairs)
        linear = self._expectations(layout, sequences, weight)
        if np.isinf(self.C) and not has_minimum(counts[weight > 0], linear):
            raise ValueError(
                "with C=inf the loss has no minimum: what the base expects is no mixture of what "
                "the sequences show, "
                "as it is whenever there are more features than sequences; choose a finite C"
            )
        data = RowExamples.single(weight)
        objective = RowsObjective(
            SparseRows(counts), Exponential(), data, linear, n_free=int(self.constant)
        )
        return objective.on(pool)

    def _expectations(
        self, layout: Layout, sequences: BasedSequences, weight: np.ndarray
    ) -> np.ndarray:
        """Expected counts under ``base_``, taken as the parameters ask for."""
        over: Given | Sampling | None = None
        if self.inputs == "empirical":
            over = Given(sequences, weight)
        elif self.expectations == "sampled":
            # drawn here, so that the cache sees a number and not the state of a generator
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            over = Sampling(self.n_samples, self.sample_smoothing, seed)
        return expectations(
            self.base_, self.features_, layout, over, self.memory, self.n_jobs, self.distant_pairs_
        )

    def _learned(self, w: np.ndarray) -> dict[str, Any]:
        inputs, chain, distant, constant = self._layout().split(w)
        others = {
            "input_coef_": inputs.copy(),
            "distant_coef_": distant.copy(),
            "constant_": float(constant.sum()),
        }
        return super()._learned(chain) | others
