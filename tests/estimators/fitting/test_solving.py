"""Which solver "auto" stands for, how long terms are, and that the choice repeats itself."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import (
    GECRF,
    LinearChainCRF,
    LogLinearClassifier,
    MEstimatedCRF,
    SequenceVectorizer,
)
from sklearn_struct.estimators.fitting import solving
from sklearn_struct.estimators.fitting.solving import OF_PLANES, term_tokens


def words(rng, n=60):
    X = [[f"w{rng.integers(500)}" for _ in range(rng.integers(1, 9))] for _ in range(n)]
    return X, [[word[-1] for word in sentence] for sentence in X]


@pytest.fixture
def chosen(monkeypatch):
    """The solvers that fits have called."""
    calls = []
    for name, solver in solving.SOLVERS.items():

        def spy(*args, name=name, solver=solver, **options):
            calls.append(name)
            return solver(*args, **options)

        monkeypatch.setitem(solving.SOLVERS, name, spy)
    return calls


def test_small_data(chosen):
    X, y = words(np.random.default_rng(0))
    LinearChainCRF().fit(X, y)
    LinearChainCRF(l1_ratio=0.5, max_iter=5, tol=1).fit(X, y)
    assert chosen == ["lbfgs", "owlqn"]


@pytest.mark.parametrize(
    ("parameters", "solver"),
    [
        ({}, "sag-lbfgs"),
        ({"C": 0.1, "fit_intercept": False}, "sag-lbfgs"),
        ({"C": 3.0}, "sag-lbfgs"),
        ({"l1_ratio": 1.0}, "sag"),
        ({"edge_features": "all"}, "lbfgs"),
        ({"edge_features": "all", "l1_ratio": 1.0}, "owlqn"),
        ({"loss": "pointwise"}, "lbfgs"),
        ({"solver": "cg"}, "cg"),
    ],
)
def test_large_data(parameters, solver, chosen, monkeypatch):
    monkeypatch.setattr(solving, "LARGE", 100)
    monkeypatch.setattr(solving, "LARGE_SCORES", 0)
    monkeypatch.setattr(solving, "FEWEST_EXAMPLES", 1)
    monkeypatch.setattr(solving, "LARGE_IF_L1", 100)
    X, y = words(np.random.default_rng(0))
    crf = LinearChainCRF(tol=0.1, **parameters).fit(X, y)
    assert chosen == [solver]
    assert crf.solver_ == solver


def test_large_dense_data(chosen, monkeypatch):
    monkeypatch.setattr(solving, "LARGE", 10)
    monkeypatch.setattr(solving, "LARGE_SCORES", 0)
    monkeypatch.setattr(solving, "FEWEST_EXAMPLES", 1)
    X = np.random.default_rng(0).normal(size=(20, 30))
    y = np.arange(20) % 3
    LinearChainCRF(tol=0.1).fit(X, y)
    assert chosen == ["sag-lbfgs"]


@pytest.mark.parametrize(("least", "solver"), [(800, "sag-lbfgs"), (801, "lbfgs")])
def test_large_data_of_few_labels(least, solver, chosen, monkeypatch):
    """What an evaluation takes is tokens times labels."""
    monkeypatch.setattr(solving, "LARGE", 100)
    monkeypatch.setattr(solving, "LARGE_SCORES", least)
    monkeypatch.setattr(solving, "FEWEST_EXAMPLES", 1)
    X = [["a", "b", "c", "d"]] * 100
    LinearChainCRF(tol=0.1).fit(X, [["x", "y", "x", "y"]] * 100)
    assert chosen == [solver]


def test_large_data_of_few_sequences(chosen, monkeypatch):
    """Terms of sag are whole sequences."""
    monkeypatch.setattr(solving, "LARGE", 100)
    monkeypatch.setattr(solving, "LARGE_SCORES", 0)
    monkeypatch.setattr(solving, "FEWEST_EXAMPLES", 61)
    LinearChainCRF(tol=0.1).fit(*words(np.random.default_rng(0)))
    assert chosen == ["lbfgs"]


def test_more_than_sag_may_remember(chosen, monkeypatch):
    monkeypatch.setattr(solving, "LARGE", 100)
    monkeypatch.setattr(solving, "LARGE_SCORES", 0)
    monkeypatch.setattr(solving, "FEWEST_EXAMPLES", 1)
    X, y = words(np.random.default_rng(0))
    monkeypatch.setattr(solving, "LARGEST_MEMORY", 16 * sum(map(len, X)) * 10 - 1)
    LinearChainCRF(tol=0.1).fit(X, y)
    assert chosen == ["lbfgs"]


def test_few_weights(chosen, monkeypatch):
    monkeypatch.setattr(solving, "LARGE", 100)
    monkeypatch.setattr(solving, "LARGE_SCORES", 0)
    monkeypatch.setattr(solving, "FEWEST_EXAMPLES", 1)
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(5, 3)) for _ in range(40)]
    LinearChainCRF(tol=0.1).fit(X, [["a", "b", "a", "b", "b"]] * 40)
    assert chosen == ["sag-lbfgs"]


def test_auto_repeats_itself(monkeypatch):
    monkeypatch.setattr(solving, "LARGE", 100)
    monkeypatch.setattr(solving, "LARGE_SCORES", 0)
    monkeypatch.setattr(solving, "FEWEST_EXAMPLES", 1)
    X, y = words(np.random.default_rng(0))
    packed = SequenceVectorizer().fit_transform(X)
    first, second, seeded = (
        LinearChainCRF(random_state=seed).fit(packed, y).coef_ for seed in (None, None, 0)
    )
    other = LinearChainCRF(random_state=1).fit(packed, y).coef_
    assert (first != second).nnz == (first != seeded).nnz == 0
    assert (first != other).nnz > 0


def test_terms():
    assert term_tokens("ap", 10**6, 9) == term_tokens("pa", 10**6, 9) == 1
    assert [term_tokens("sag", n, 9) for n in (10, 90_000, 10**6)] == [100, 200, 500]
    assert term_tokens("sag", 10, 300) == 300


# ------------------------------------------------------------------------------ numbers of any size

(CHOICES,) = LinearChainCRF._parameter_constraints["solver"]
# perceptrons have no penalty
NAMES = sorted(CHOICES.options - {"auto", "ap"})


def loss_of(solver):
    """One that the solver minimises."""
    return "hinge" if solver in OF_PLANES else "log_likelihood"


def numbers(scale=1.0):
    """Rows of which the first number is the label, nearly."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60, 4))
    return scale * X, np.where(X[:, 0] + 0.1 * rng.normal(size=60) > 0, "A", "B")


@pytest.mark.parametrize("solver", NAMES)
@pytest.mark.parametrize("C", [5e-324, 1e-300, 1e-103])
def test_a_penalty_that_leaves_nothing(solver, C):
    crf = LinearChainCRF(C=C, solver=solver, loss=loss_of(solver), random_state=0)
    with pytest.raises(
        ValueError, match=r"C=.* times the weights of the data \(60 in all\) is below 1e-100"
    ):
        crf.fit(*numbers())
    assert not hasattr(crf, "_w")
    if hasattr(crf, "partial_fit"):
        with pytest.raises(
            ValueError, match="is below 1e-100: under such a penalty nothing is learned"
        ):
            crf.partial_fit(*numbers())


@pytest.mark.parametrize("solver", [*NAMES, "ap"])
@pytest.mark.parametrize("weight", [5e-324, 1e-310, 1e-300])
def test_weights_that_are_next_to_zero(solver, weight):
    X, y = numbers()
    with pytest.raises(
        ValueError, match=r"the sum of sample_weight, .*, is below 1e-290: multiply the weights"
    ):
        LinearChainCRF(solver=solver, C=1e100, random_state=0).fit(X, y, np.full(60, weight))
    with pytest.raises(
        ValueError, match=r"the sum of sample_weight, .*, is below 1e-290: multiply the weights"
    ):
        GECRF(C=1e100).fit(X, y, np.full(60, weight))


@pytest.mark.parametrize("model", [LogLinearClassifier, MEstimatedCRF])
def test_what_has_losses_of_its_own(model):
    X = (numbers()[0][:, [0]] > 0).astype(float)
    y = numbers()[1]
    X, y = (
        (X, y)
        if model is LogLinearClassifier
        else ([[str(x)] for x in X[:, 0]], [[label] for label in y])
    )
    with pytest.raises(ValueError, match=r"sum of sample_weight, .*, is below 1e-290"):
        model().fit(X, y, np.full(60, 1e-300))
    with pytest.raises(ValueError, match="C=1e-300 times the weights"):
        model(C=1e-300).fit(X, y)


@pytest.mark.blas
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # few iterations
@pytest.mark.parametrize("solver", [*NAMES, "ap"])
@pytest.mark.parametrize(
    ("weight", "C"), [(1e-200, 1e200), (1e200, 1e-200), (1.0, 1e-95), (1.0, 1e308), (1e-280, 1e290)]
)
def test_what_is_learned_from_weights_of_any_size(solver, weight, C):
    X, y = numbers()
    crf = LinearChainCRF(solver=solver, loss=loss_of(solver), C=C, max_iter=15, random_state=0)
    if solver in OF_PLANES and C == 1e308:  # which is no penalty
        with pytest.raises(ValueError, match="needs an L2 penalty"):
            crf.fit(X, y, np.full(60, weight))
        return
    crf.fit(X, y, np.full(60, weight))
    assert np.all(np.isfinite(crf._w))
    # without a penalty this one believes each example, and these are noisy
    if weight * C > 0.5 and (solver, C) != ("arow", 1e308):
        assert crf.score(X, y) > 0.9


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["sag", "sgd", "pa", "ap"])
@pytest.mark.parametrize("scale", [1.0, 1e10, 1e50, 1e70])
def test_large_features(solver, scale):
    """Steps are as much shorter as features are longer."""
    X, y = numbers(scale)
    crf = LinearChainCRF(solver=solver, max_iter=15, random_state=0).fit(X, y)
    assert crf.score(X, y) > 0.9


@pytest.mark.parametrize("scale", [30.0, 1e3, 1e5, 1e8, 1e30])
def test_sgd_that_is_slow_says_so(scale):
    """Features of which one is far larger than the constants: passes soon improve little, far from
    the minimum.
    """
    rng = np.random.RandomState(0)
    X = [np.column_stack([rng.randint(0, 2, 10), rng.randn(10)]) for _ in range(30)]
    y = [["AB"[int(number)] for number in rows[:, 0]] for rows in X]
    with pytest.warns(
        ConvergenceWarning, match="'sgd' stopped after 100 iterations .* scale numeric features"
    ):
        LinearChainCRF(solver="sgd", max_iter=100, random_state=0).fit(
            [scale * rows for rows in X], y
        )
    assert LinearChainCRF(solver="sgd", random_state=0).fit(X, y).score(X, y) == 1.0


def test_sgd_that_finds_nothing_says_so():
    X, y = numbers()
    with pytest.warns(
        ConvergenceWarning, match="'sgd' stopped after 3 iterations .* it finds nothing better"
    ):
        LinearChainCRF(solver="sgd", C=1e-40, random_state=0).fit(X, y)
