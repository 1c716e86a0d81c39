"""Linear-chain conditional random field."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from sklearn_struct.estimators.chains.chain_losses import OF_SOLVERS, BaseChainLosses
from sklearn_struct.estimators.chains.partial_fit import BaseOnlineChain
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.partly_labelled import BasePartlyLabelled
from sklearn_struct.estimators.fitting.shared_parameters import SOLVERS
from sklearn_struct.estimators.fitting.solving import OF_PLANES

__all__ = ["LinearChainCRF"]


@with_parameters
class LinearChainCRF(BaseChainLosses, BasePartlyLabelled, BaseOnlineChain):
    """Linear-chain conditional random field, trained by (penalised) maximum likelihood.

    p(y | x) = exp(sum_t coef[y_t] . x_t + intercept[y_t] + sum_t transition[y_{t-1}, y_t]) / Z(x).
    The objective is scikit-learn's,

        C * sum_i weight_i * -log p(y_i | x_i) + (1 - l1_ratio) / 2 * ||w||_2**2 + l1_ratio *
        ||w||_1

    where weight_i is the sample weight of sequence i, and w has all weights but the intercept. For
    sequences of length 1 this is multinomial logistic regression.

    ``loss="pointwise"`` maximises the marginal probabilities of single labels instead of the
    probability of the whole labelling. The loss -log p(y_i | x_i) becomes

        sum_t weight_it * -log p(y_it | x_i)

    Here each token may have a weight of its own, weight_it; see :doc:`/user_guide/weights`.

    Labels may be missing: write None for an unknown label, or a set if one of several labels is
    right. The loss is then minus the log-probability of all labellings that y allows [6]_. It is
    not convex, and "sag", "ap", "pa", "pa-ii" and "arow" cannot minimise it. A sequence without any
    known label teaches this model nothing; `GECRF` learns from such sequences.

    The solvers "ap", "pa", "pa-ii" and "arow" minimise other losses, one sequence at a time. They
    are quick and good for `predict`, but the probabilities of such a model are not calibrated.
    `partial_fit` learns from batches.

    Read more in :doc:`/user_guide/sequences`.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty (sigma**2 of [1]_, eq. 5.4; CRFsuite's c2 is 1 / (2 C)).
        ``np.inf`` for no penalty. For "pa" and "pa-ii" C is the aggressiveness, the C of [3]_. For
        "arow" it is 1 / r of [7]_. It has no effect on "ap".
    solver : {"auto", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg", "gradient", "sag", \
            "sag-lbfgs", "sgd", "ap", "pa", "pa-ii", "arow", "frank-wolfe", "cutting-planes"}, \
            default="auto"
        Solvers of the objective:

        - "lbfgs": L-BFGS, for L2.
        - "owlqn": orthant-wise L-BFGS, for L1 and elastic net.
        - "sag": stochastic average gradient [4]_, for all penalties. On large data it is the first
          to come near the optimum.
        - "sag-lbfgs": "sag" for at most 100 passes, or 20 if the gradient is then still large; then
          "lbfgs" from there. For L2.
        - "sgd": averaged stochastic gradient descent with a calibrated step, for L2.
        - "newton-cg", "trust-ncg": Newton's method with a line search, or in a trust region, for
          L2.
        - "cg": nonlinear conjugate gradients, for L2.
        - "gradient": steepest ascent with a line search (section 5.1.1 of [1]_), for L2. It needs
          many more iterations.
        - "auto": with few tokens, fewer than 100 sequences, edge features or a loss that is not
          convex "lbfgs", or "owlqn" if ``l1_ratio > 0``. From 20,000 tokens on, if tokens times
          labels are 400,000 or more, "sag-lbfgs", and from 1,000 tokens on "sag" if ``l1_ratio >
          0``. With ``loss="hinge"``: "frank-wolfe". ``solver_`` has the choice.
        - "frank-wolfe": block-coordinate Frank-Wolfe [10]_, for ``loss="hinge"``. It knows how far
          it is from the optimum, see ``gap_``. The penalty is on the intercept, too.
        - "cutting-planes": the same optimum by evaluations of all data [11]_, which may lie in
          partitions. It needs many more of them than "frank-wolfe" needs passes.

        Online solvers with losses of their own, without a penalty:

        - "ap": the averaged perceptron [2]_. If the predicted labelling is wrong, it adds the
          features of the sequence with y and subtracts those with the prediction.
        - "pa": passive-aggressive learning (PA-I of [3]_). It moves the weights until y is ahead of
          its strongest rival by 1 for each differing label, by a step of at most C.
        - "pa-ii": PA-II of [3]_. Steps have no bound, but a smaller C makes them shorter.
        - "arow": adaptive regularisation [7]_. Weights that were seen often move less.

        "ap", "pa" and "pa-ii" average the weights over all steps.
    order : {1, 2}, default=1
        The order of the Markov chain: a label depends on one label before it, or on two. At order 2
        the score also has sum_t transition2[y_{t-2}, y_{t-1}, y_t]. Inference is exact; a token
        costs n_labels**3 operations instead of n_labels**2.
    max_iter : int, default=1000
        Largest number of iterations. For "sag", "sgd", "ap", "pa", "pa-ii" and "arow" it is the
        number of passes over the data; 10 are often enough.
    tol : float, default=1e-4
        When a solver stops. Batch solvers and "sag": when no entry of the objective's gradient,
        divided by C and the total sample weight, exceeds `tol`. "sgd": when a pass improves the
        objective by less than this share. "ap", "pa" and "pa-ii": when a pass improves
        `loss_curve_` by less than this share of its first entry, or when nothing is left to learn.
        "arow": when the mean loss of a pass is at most `tol`. "frank-wolfe" and "cutting-planes":
        when the duality gap is at most `tol` times the objective. With float32 a gradient has
        rounding errors, of about 1e-7 times the scores and values of features. A smaller `tol` is
        not reached; a warning then says how large the errors are.
    random_state : int, RandomState or None, default=None
        The order in which "sag", "sgd", "ap", "pa", "pa-ii" and "arow" visit the sequences. With
        "auto" None means 0.

    Attributes
    ----------
    solver_ : str
        The solver that `fit` used.
    loss_curve_ : list of float
        Objective / C after each iteration of `fit`: sum of losses + penalty / C, in CRFsuite's
        units. For "ap" the number of sequences that were labelled wrong in each pass. For "pa",
        "pa-ii" and "arow" the sum of their losses in each pass, each loss measured before its step.
    gap_ : float
        Of "frank-wolfe" and "cutting-planes": how far the last entry of `loss_curve_` is above the
        lowest objective / C, at most.
    gap_certified_ : bool
        Of these solvers: True, as the best labellings of chains are found for sure.

    See Also
    --------
    SequenceVectorizer : Encodes dicts or strings as a SequenceArray, once for many fits.
    FeatureTemplates : Encodes columns as a SequenceArray, by templates.
    GECRF : Learns from labelled features and unlabelled text, too.
    LatentChainCRF : Labels have hidden states.
    GraphCRF : A CRF for graphs instead of chains.
    sklearn_struct.inspection.explain : Why a labelling has its score.
    sklearn_struct.metrics.span_f1_score : Scores spans instead of single labels.

    References
    ----------
    .. [1] C. Sutton and A. McCallum, "An introduction to conditional random fields", Foundations
       and Trends in Machine Learning 4(4), 2012, chapter 5.
    .. [2] M. Collins, "Discriminative training methods for hidden Markov models: theory and
       experiments with perceptron algorithms", EMNLP 2002.
    .. [3] K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, "Online
       passive-aggressive algorithms", Journal of Machine Learning Research 7, 2006.
    .. [4] M. Schmidt, R. Babanezhad, M. O. Ahmed, A. Defazio, A. Clifton and A. Sarkar,
       "Non-uniform stochastic average gradient method for training conditional random fields",
       AISTATS 2015.
    .. [5] S. Kakade, Y. W. Teh and S. Roweis, "An alternate objective function for Markovian
       fields", ICML 2002.
    .. [6] R. Salakhutdinov, S. Roweis and Z. Ghahramani, "Optimization with EM and
       expectation-conjugate-gradient", ICML 2003.
    .. [7] K. Crammer, A. Kulesza and M. Dredze, "Adaptive regularization of weight vectors", NIPS
       2009.
    .. [8] K. Gimpel and N. A. Smith, "Softmax-margin CRFs: training log-linear models with cost
       functions", NAACL 2010.
    .. [9] I. Tsochantaridis, T. Joachims, T. Hofmann and Y. Altun, "Large margin methods for
       structured and interdependent output variables", Journal of Machine Learning Research 6,
       2005.
    .. [10] S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher, "Block-coordinate Frank-Wolfe
       optimization for structural SVMs", ICML 2013.
    .. [11] C. H. Teo, S. V. N. Vishwanathan, A. Smola and Q. V. Le, "Bundle methods for regularized
       risk minimization", Journal of Machine Learning Research 11, 2010.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> X = [["the", "cat", "sleeps"], ["the", "dog", "barks"], ["a", "dog", "sleeps"]]
    >>> y = [["DET", "NOUN", "VERB"]] * 3
    >>> crf = LinearChainCRF(C=10).fit(X, y)
    >>> crf.predict([["a", "cat", "barks"]])[0]
    ['DET', 'NOUN', 'VERB']
    >>> crf.predict_proba([["a", "cat"]])[0].round(1)
    array([[0.7, 0.2, 0.1],
           [0.1, 0.6, 0.3]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [StrOptions({*SOLVERS, *OF_PLANES, *OF_SOLVERS})],
    }
