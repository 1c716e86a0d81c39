"""What the chains whose labels are all known share: objectives, solvers, starting others,
threads.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from public_estimators import of_base
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from sklearn_struct import (
    MEMM,
    LinearChainCRF,
    PiecewiseCRF,
    PseudoLikelihoodCRF,
    SequenceArray,
    SequenceVectorizer,
)
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.estimators.chains.partial_fit import BaseOnlineChain
from sklearn_struct.estimators.fitting.partly_labelled import BasePartlyLabelled
from sklearn_struct.inference.chains.chain import Chain

MODELS = [
    *(cls() for cls in of_base(BaseOnlineChain, but=(BasePartlyLabelled,))),
    PseudoLikelihoodCRF(block_size=3),
    PiecewiseCRF(piece_size=2),
    MEMM(order=2),
    PseudoLikelihoodCRF(order=2, block_size=2),
    PiecewiseCRF(order=2),
]

every_model = pytest.mark.parametrize("model", MODELS, ids=repr)


@pytest.fixture(scope="module")
def ads():
    """Advertisements of some blocks, encoded."""
    X, y = make_rental_ads(250, random_state=0)
    X = [
        [{"w": w.lower(), "prev": s[t - 1].lower() if t else "^"} for t, w in enumerate(s)]
        for s in X
    ]
    X = SequenceVectorizer().fit_transform(X)
    y = SequenceArray.from_sequences(y)
    assert len(Chain().blocks(Chain().structure(X.offsets), len(set(y.tokens)))) >= 10
    return X, y


def data(ads, order, n=250):
    """The first n, with three labels for chains of second order, which are slow with more."""
    X = ads[0][:n]
    y = ads[1][:n]
    return (
        (X, y)
        if order == 1
        else (X, SequenceArray(np.unique(y.tokens, return_inverse=True)[1] % 3, y.offsets))
    )


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


# ---------------------------------------------------------------- what they find


@every_model
def test_two_dimensional_X_is_logistic_regression(model):
    """And no transition has a weight, as none has been seen."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(150, 4))
    y = (X @ rng.normal(size=(4, 3)) + rng.gumbel(size=(150, 3))).argmax(axis=1)
    expected = LogisticRegression(tol=1e-12, max_iter=20_000).fit(X, y)
    found = clone(model).set_params(tol=1e-8).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-5)
    assert not found.transition_.any()


@pytest.mark.parametrize(
    "options", [{}, {"edge_features": "all"}, {"l1_ratio": 0.5}, {"order": 2}], ids=repr
)
@pytest.mark.parametrize(
    "model", [PseudoLikelihoodCRF(block_size=10**6), PiecewiseCRF(piece_size=10**6)], ids=repr
)
def test_windows_of_whole_sequences_are_the_likelihood(ads, model, options):
    X, y = data(ads, options.get("order", 1), 5)
    expected = LinearChainCRF(tol=1e-6, **options).fit(X, y)
    found = clone(model).set_params(tol=1e-6, **options).fit(X, y)
    assert found.loss_curve_[-1] == pytest.approx(expected.loss_curve_[-1], rel=1e-9)
    np.testing.assert_allclose(dense(found.coef_), dense(expected.coef_), atol=1e-3)
    np.testing.assert_allclose(found.transition_, expected.transition_, atol=1e-3)


# ---------------------------------------------------------------- solvers, starts, threads


@every_model
@pytest.mark.parametrize("options", [{}, {"edge_features": ["w:,"]}], ids=["nodes", "edges"])
def test_every_solver_finds_the_same(ads, model, options):
    X, y = data(ads, model.order, 4)
    model = clone(model).set_params(C=0.1, tol=1e-6, random_state=0, **options)
    best = clone(model).fit(X, y)
    for solver in ("newton-cg",) if options else ("owlqn", "newton-cg", "sag"):
        found = clone(model).set_params(solver=solver).fit(X, y)
        assert found.loss_curve_[-1] == pytest.approx(best.loss_curve_[-1], rel=1e-6)
        np.testing.assert_allclose(dense(found.coef_), dense(best.coef_), atol=2e-3)
    found = clone(model).set_params(solver="sgd", tol=1e-5).fit(X, y)
    assert best.loss_curve_[-1] <= found.loss_curve_[-1] < 1.01 * best.loss_curve_[-1]


@every_model
def test_a_fitted_one_starts_the_likelihood(ads, model):
    X, y = data(ads, model.order, 30)
    start = clone(model).fit(X, y)
    crf = LinearChainCRF(order=model.order)
    cold = clone(crf).fit(X, y)
    warm = clone(crf).fit(X, y, init=start)
    assert warm.loss_curve_[0] < cold.loss_curve_[0] / 1.5
    assert warm.loss_curve_[-1] == pytest.approx(cold.loss_curve_[-1], rel=1e-5)
    assert clone(model).fit(X, y, init=start).n_iter_ <= 1
    assert clone(model).set_params(warm_start=True).fit(X, y).fit(X, y).n_iter_ <= 1


@every_model
@pytest.mark.parametrize(
    "options", [{}, {"edge_features": ["w:,", "w:."], "dtype": "float32"}], ids=["", "float32"]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_equal_bits_for_any_number_of_threads(ads, model, options):
    X, y = data(ads, model.order)
    weight = np.random.RandomState(0).uniform(size=len(X))
    bits = set()
    for n_jobs in (1, 3):
        fit = (
            clone(model)
            .set_params(max_iter=2, n_jobs=n_jobs, solver="lbfgs", **options)
            .fit(X, y, weight)
        )
        learned = [
            dense(fit.coef_),
            fit.transition_,
            fit.intercept_,
            np.array(fit.loss_curve_),
            fit.log_proba(X, y),
        ]
        learned += [np.concatenate(fit.predict_proba(X)), dense(fit.edge_coef_)]
        bits.add((b"".join(part.tobytes() for part in learned), str(fit.predict(X)), fit.n_iter_))
    assert len(bits) == 1


@every_model
def test_batches(ads, model):
    X, y = data(ads, model.order, 60)
    model = clone(model).set_params(solver="sgd", feature_pairs="all", random_state=0)
    for _ in range(5):
        for batch in (slice(0, 20), slice(20, 40), slice(40, 60)):
            model.partial_fit(X[batch], y[batch], classes=np.unique(y.tokens))
    assert model.score(X, y) > 1.3 * np.unique(y.tokens, return_counts=True)[1].max() / len(
        y.tokens
    )
    assert (model.t_, model.n_iter_) == (300, 15)
    with pytest.raises(AttributeError) as raised:
        model.set_params(solver="lbfgs").partial_fit(X, y)
    assert str(raised.value.__cause__).endswith("partial_fit takes one of 'sgd'")


@every_model
def test_training_among_allowed_labellings(model):
    """Forbidden transitions are not learnt, and get weight 0."""
    X = [["to", "New", "York", "City"], ["York", "is", "old"], ["from", "New", "Delhi"]]
    y = [["O", "B", "I", "I"], ["B", "O", "O"], ["O", "B", "I"]]
    fit = (
        clone(model).set_params(allowed_transitions="BIO", constrain_training=True, C=10).fit(X, y)
    )
    assert fit.transition_[2, 1] == 0
    assert fit.predict([["City"]])[0] in (["B"], ["O"])
    assert all("O I" not in " ".join(labels) for labels in fit.predict(X))


def test_pieces_without_three_labels():
    with pytest.raises(ValueError, match="with order=2 piece_size must be 1 or from 3 on"):
        PiecewiseCRF(order=2, piece_size=2).fit([["a", "b", "c"]], [["x", "y", "x"]])
    assert (
        PiecewiseCRF(order=2, piece_size=3)
        .fit([["a", "b", "c"]], [["x", "y", "x"]])
        .transition2_[0, 1, 0]
        > 0
    )


@every_model
def test_tokens_have_no_weights(model):
    with pytest.raises(
        ValueError,
        match=r"sample_weight for each token needs .* such as LinearChainCRF\(loss='pointwise'\)",
    ):
        clone(model).fit([["a", "b"]], [["x", "y"]], sample_weight=[[1.0, 2.0]])
