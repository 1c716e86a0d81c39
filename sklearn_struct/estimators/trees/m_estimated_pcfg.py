"""M-estimation of trees: a log-linear model over a probabilistic grammar, trained without
inference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.trees import Forest
from sklearn_struct.containers.typing import Sequences
from sklearn_struct.encoding.trees import binarization, brackets, tree_corpus
from sklearn_struct.encoding.trees.fragment_names import names
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.shared_parameters import (
    IterationParameters,
    PenaltyParameters,
    RandomParameters,
)
from sklearn_struct.estimators.fitting.solving import Minimisation, choice_for_rows, solve
from sklearn_struct.estimators.m_estimation.base_distribution import fit_base
from sklearn_struct.estimators.trees.base_parser import BaseParser
from sklearn_struct.estimators.trees.pcfg import PCFG
from sklearn_struct.exceptions import ForbiddenLabelError, InputTypeError, NonFiniteError
from sklearn_struct.grammars.fragment_parsing import (
    WeightedTrees,
    best,
    log_probability,
    log_scores,
    parses,
)
from sklearn_struct.grammars.fragments import (
    TEMPLATES,
    Fragments,
    counted,
    distinct,
    expected,
    observed,
    places,
)
from sklearn_struct.grammars.parsing import Candidates, Parses
from sklearn_struct.grammars.sums_over_trees import tree_sums
from sklearn_struct.inference.trees.chart_decoding import Nodes
from sklearn_struct.linear.sparse_rows import SparseRows
from sklearn_struct.losses.losses_of_rows import Exponential, RowExamples
from sklearn_struct.objectives.boundedness import has_minimum
from sklearn_struct.objectives.rows_objective import RowsObjective

__all__ = ["MEstimatedPCFG"]

LARGEST = 1e300  # of a weight: any number of them can be added up
DEFAULT = tuple(template for template in TEMPLATES if not template.endswith("symbol"))


@with_parameters
class MEstimatedPCFG(BaseParser, PenaltyParameters, IterationParameters, RandomParameters):
    r"""Log-linear model of trees, whose weights are found without inference, and a parser.

    The model is p(x, y) = q0(x, y) exp(w . f(x, y)) / Z [1]_. The base q0 is a `PCFG`. f counts
    connected pieces of trees, such as a production below another one, which a PCFG takes to be
    independent. Fitting minimises a convex loss. It needs the pieces of the true trees alone, and
    the expectations of f under q0, which are computed once and exactly. Predictions take the best
    tree by log q0(x, y) + w . f(x, y).

    Read more in :doc:`/user_guide/trees` and :doc:`/user_guide/m_estimation`.

    Parameters
    ----------
    templates : None, str, or list of str, default=None
        Which pieces are counted. A name says first what is around a node: ``"parent"`` (the symbol
        above it), ``"sibling"`` (the symbol beside it), ``"rule"`` (both, in their order), or
        nothing. Then it says what the node is: ``"rule"`` (the rule to its children), ``"word"``
        (the word below it) or ``"symbol"`` (its symbol). So ``"rule-rule"`` is a rule below a rule,
        ``"rule-word"`` a word below a rule, ``"parent-symbol"`` a pair of symbols, and ``"rule"`` a
        rule alone. None: all templates that end in a rule or a word.
    base : None or PCFG, default=None
        The distribution q0. It is fitted on the same data, unless it is in scikit-learn's
        `FrozenEstimator`. None is ``PCFG()``. Its symbols and words are those of the model. The
        expected size of its finite trees must be finite.
    pieces : {"nodes", "trees"}, default="nodes"
        What the terms of the loss are. "trees": the trees, 1/n * sum_i exp(-w . f(x_i, y_i)), as in
        [1]_. These terms differ by orders of magnitude, so only small weights can be learned.
        "nodes": the nodes v of the trees, each with what is around it, 1/n * sum_i sum_v
        exp(-w . f(v)), as in piecewise training. This gives much better parsers.
    C : float, default=300.0
        Inverse strength of the penalty ||w||**2 / (2 C) on a *mean* over trees. Good values are 100
        to 1000 with ``pieces="nodes"``, and 10 to 30 with "trees", where the default overfits.
        ``np.inf``: no penalty.
    min_frequency : int, default=1
        Pieces that are seen fewer times get no weight.
    constant : bool, default=True
        Whether there is a feature that is always 1, for each tree or each node, without penalty.
    decoder : {"max-recall", "max-rule", "viterbi"}, default="max-recall"
        Which tree `predict` returns, as in `PCFG`.
    pruning : float, default=1e-4
        Parts of trees whose posterior probability under the base is smaller are left out. 0 leaves
        out none, and takes much memory.
    solver : {"auto", "sdca", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg"}, default="auto"
        As in `MEstimatedCRF`.
    tol : float, default=1e-5
        The solver stops when no entry of the gradient of the loss, as a mean over trees or nodes,
        exceeds `tol`.
    random_state : int, RandomState or None, default=None
        Seed of the order of the terms with "sdca". With "auto", None means 0.

    Attributes
    ----------
    base_ : PCFG
        The base, fitted.
    symbols_ : ndarray of str
        Those of the base.
    tags_ : list of str
        Those of the base.
    coef_ : ndarray of shape (n_features,)
        Weights: how the model differs from its base.
    feature_names_ : ndarray of str
        The pieces: the template, what is above, the side, and the production or symbol.
    constant_ : float
        Weight of the constant feature; 0 without.
    n_iter_ : int
    loss_curve_ : list of float
        Objective after each iteration.

    See Also
    --------
    PCFG : The base.
    MEstimatedCRF : The same for chains.

    References
    ----------
    .. [1] N. A. Smith, D. L. Vail and J. D. Lafferty, "Computationally efficient M-estimation of
       log-linear structure models", ACL 2007, section 4.1.2.

    Notes
    -----
    `log_joint` and `score_samples` are log q0 + w . f and its sum over trees. They are
    log-probabilities as far as the constant's weight has come near to -log Z.

    Examples
    --------
    >>> from sklearn_struct import MEstimatedPCFG
    >>> from sklearn_struct.datasets import make_treebank
    >>> X, y = make_treebank(n_samples=300, random_state=0)
    >>> parser = MEstimatedPCFG().fit(X, y)
    >>> print(parser.predict([["the", "doctor", "sees", "a", "house"]])[0])
    (ROOT
      (S (NP (D the) (N doctor)) (VP (V sees) (NP (D a) (N house)))))
    """

    templates: str | Sequence[str] | None = field(default=None, kw_only=False)
    base: Any = None
    pieces: str = "nodes"
    C: float = 300.0
    min_frequency: int = 1
    constant: bool = True
    pruning: float = 1e-4
    solver: str = "auto"
    tol: float = 1e-5
    _fragments: Fragments = field(init=False)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "templates": [None, str, list, tuple],
        "base": [None, HasMethods(["fit"])],
        "pieces": [StrOptions({"nodes", "trees"})],
        "min_frequency": [Interval(Integral, 1, None, closed="left")],
        "constant": ["boolean"],
        "solver": [StrOptions({"auto", "sdca", "lbfgs", "owlqn", "newton-cg", "trust-ncg", "cg"})],
    }

    def _learn(self, X: list[list[str]], y: Sequences, progress: Progress) -> None:
        templates = self._templates()
        self.base_ = fit_base(PCFG() if self.base is None else self.base, X, y, None)
        if not isinstance(self.base_, PCFG):
            raise InputTypeError(f"base must be a PCFG, got {type(self.base_).__name__}")
        self._codes = self.base_._codes
        self._model = self.base_._model
        self._tag_counts = self.base_._tag_counts
        self.symbols_ = self.base_.symbols_
        self.tags_ = self.base_.tags_
        self._per_node = self.pieces == "nodes"
        trees = self._forest(X, y)
        seen = places(trees, len(self._model.plain.rule))
        self._fragments = observed(templates, self._model, seen, self.min_frequency)
        with Pool(self.n_jobs) as pool:
            objective, scale = self._objective(trees, pool)
            solver = choice_for_rows(self.solver, self.C, self.l1_ratio, objective.rows)
            settings = Minimisation(
                self.solver,
                self.C,
                self.tol,
                self.max_iter,
                self.l1_ratio,
                self.random_state,
            )
            iterations = Iterations(self._learned, progress, self._iteration_settings(), scale)
            learned = solve(settings, solver, objective, np.zeros(objective.size), iterations)
        self.__dict__.update(learned)

    def _templates(self) -> tuple[str, ...]:
        if self.templates is None:
            return DEFAULT
        templates = (self.templates,) if isinstance(self.templates, str) else tuple(self.templates)
        for template in templates:
            if template not in TEMPLATES:
                raise ValueError(
                    f"templates has {template!r}, which is none of {', '.join(TEMPLATES)}"
                )
        return templates

    def _forest(self, X: list[list[str]], y: Sequences) -> Forest:
        """The trees as the base sees them; it must give each a probability."""
        plain = binarization.read(y)
        binarization.check_words(X, [brackets.words(tree) for tree in plain], ("X", "y"))
        trees = tree_corpus.forest(self._codes, X, plain)
        impossible = np.flatnonzero(self.base_._log_joint(trees) == -np.inf)
        if len(impossible):
            raise ForbiddenLabelError(f"y[{impossible[0]}]: the base gives this tree probability 0")
        return trees

    def _objective(self, trees: Forest, pool: Pool) -> tuple[RowsObjective, float]:
        """The loss as a mean, and how many of its terms there are for a tree."""
        model = self._model
        n = len(trees.offsets) - 1
        seen = places(trees, len(self._model.plain.rule))
        weight = np.ones(n)
        owner = np.repeat(np.arange(n), np.diff(trees.offsets))
        if self._per_node:
            seen, weight = distinct(seen)
            owner = np.arange(len(weight))
        rows = counted(self._fragments, model, seen, owner, len(weight))
        linear = self._expected()
        scale = float(weight.sum() / n)
        if self.constant:
            rows = sp.csr_array(sp.hstack([rows, np.ones((len(weight), 1))]))
        if np.isinf(self.C) and not has_minimum(rows, linear):
            raise ValueError(
                "with C=inf the loss has no minimum: what the base expects is no mixture of what "
                "the trees show, as it "
                "is whenever there are more features than terms; choose a finite C"
            )
        data = RowExamples.single(weight.astype(float))
        objective = RowsObjective(
            SparseRows(rows), Exponential(), data, linear / scale, n_free=int(self.constant)
        )
        return objective.on(pool), scale

    def _expected(self) -> np.ndarray:
        """What the base expects of each feature in a tree, and of the constant."""
        sums = tree_sums(self._model)
        total = (sums.outside if self._per_node else np.exp(self._model.plain.root)) @ sums.inside
        return np.concatenate(
            [expected(self._fragments, self._model, sums), [total] * self.constant]
        )

    def _learned(self, w: np.ndarray) -> dict[str, Any]:
        coef, constant = np.split(w, [self._fragments.size])
        return {"coef_": coef.copy(), "constant_": float(constant.sum())}

    @property
    def feature_names_(self) -> np.ndarray:
        return np.array(names(self._fragments, self._model, self._codes), dtype=object)

    @property
    def _weighted(self) -> WeightedTrees:
        if not (np.all(np.abs(self.coef_) < LARGEST) and abs(self.constant_) < LARGEST):
            raise NonFiniteError(
                f"coef_ or constant_ has a weight that is NaN or beyond {LARGEST}, too large for "
                "sums"
            )
        constants = (0.0, self.constant_) if self._per_node else (self.constant_, 0.0)
        return WeightedTrees(self._model, self._fragments, self.coef_, *constants)

    def _best(self) -> Callable[[Candidates], Nodes]:
        trees = self._weighted
        return lambda candidates: best(trees, candidates, self.decoder, self.pruning)

    def _log_p(self, candidates: Candidates) -> float:
        return log_probability(self._weighted, candidates, self.pruning)

    def _log_joint(self, trees: Forest) -> np.ndarray:
        return log_scores(self._weighted, trees)

    def _parses(self, candidates: Candidates) -> Parses:
        return parses(self._weighted, candidates, self.pruning)
