"""Hidden Markov models whose numbers depend on the tokens before."""

from __future__ import annotations

import re
from itertools import product

import naive
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import HMM, MEstimatedCRF
from sklearn_struct.exceptions import EmptyDataError, NonFiniteError
from sklearn_struct.persistence import load, save

TYPES = ["diag", "full", "tied", "spherical"]
EVERY_TYPE = pytest.mark.parametrize("kind", TYPES)
UNSETTLED = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SHAPES = {"diag": (2, 2), "full": (2, 2, 2), "tied": (2, 2), "spherical": (2,)}
CONSTANT = np.array([[1.0, -1.0], [-2.0, 0.5]])
LAGS = np.array(
    [
        [[[0.5, 0.2], [0.0, 0.3]], [[0.1, 0.0], [0.1, 0.2]]],
        [[[-0.6, 0.0], [0.3, -0.2]], [[0.0, -0.2], [0.0, 0.3]]],
    ]
)
# growth of the gross national product of the United States, in per cent a quarter, from 1951 to
# 1984 (Hamilton 1989)
_GROWTH = """
2.59316421 2.20217133 0.45827562 0.96874380 -0.24130757 0.89647478 2.05393219 1.73353648
0.93871289 -0.46477833 -0.80983406 -1.39763689 -0.39886093 1.19184160 1.45620048 2.11808228
1.08957863 1.32390273 0.87296367 -0.19773273 0.45420215 0.07221876 1.10303640 0.82097489
-0.05795795 0.58447772 -1.56192672 -2.05041027 0.53637183 2.33676839 2.34014559 1.23392630
1.88696480 -0.45920792 0.84940469 1.70139849 -0.28756312 0.09594627 -0.86080289 1.03447127
1.23685944 1.42004502 2.22410631 1.30210173 1.03517699 0.92534250 -0.16559951 1.34443820
1.37500131 1.73222184 0.71605635 2.21032143 0.85333031 1.00238776 0.42725441 2.14368343
1.43789184 1.57959926 2.27469826 1.95962656 0.25992399 1.01946914 0.49016398 0.56363380
0.59595460 1.43082857 0.56230122 1.15388393 1.68722844 0.77438205 -0.09647045 1.39600146
0.13646798 0.55223715 -0.39944872 -0.61671102 -0.08722561 1.21018350 -0.90729755 2.64916158
-0.00806940 0.51111895 -0.00401437 2.16821432 1.92586732 1.03504717 1.85897219 2.32004929
0.25570789 -0.09855274 0.89073682 -0.55896485 0.28350255 -1.31155407 -0.88278776 -1.97454941
1.01275265 1.68264723 1.38271284 1.86073637 0.44473770 0.41449001 0.99202275 1.36283576
1.59970522 1.98845816 -0.25684232 0.87786949 3.10956550 0.85324478 1.23337317 0.00314302
-0.09433369 0.89883322 -0.19036628 0.99772376 -2.39120054 0.06649673 1.26136017 1.91637838
-0.33480290 0.44207108 -1.40664911 -1.52129889 0.29919869 -0.80197448 0.15204792 0.98585027
2.13034606 1.34397924 1.61550522 2.70930099 1.24461412 0.50835466 0.14802167
"""
GROWTH = np.array(_GROWTH.split(), dtype=float)


def data(seed=0, n=12, length=24):
    """Sequences of two numbers that depend on the two before, and labels."""
    rng = np.random.RandomState(seed)
    X = []
    y = [np.repeat(rng.randint(2, size=length // 4), 4).tolist() for _ in range(n)]
    for labels in y:
        x = rng.normal(size=(length, 2))
        for t in range(2, length):
            k = labels[t]
            x[t] += CONSTANT[k] + LAGS[k, 0] @ x[t - 1] + LAGS[k, 1] @ x[t - 2]
        X.append(x)
    return X, y


def fitted(kind, X, y, **options):
    settings = {"transition_smoothing": 0.5, "random_state": 0, "autoregression": 2, **options}
    return HMM(covariance_type=kind, **settings).fit(X, y)


@pytest.mark.twins
@EVERY_TYPE
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("p", [1, 2])
def test_probabilities_are_those_of_all_labellings(kind, order, p):
    X, y = data()
    hmm = fitted(kind, X, y, order=order, autoregression=p)
    assert hmm.autoregression_.shape == (2, p, 2, 2)
    assert hmm.covariances_.shape == SHAPES[kind]
    test = [X[0][:5], X[1][2:6], X[2][:1], X[3][:2]]
    joint = hmm.log_joint(test, hmm.predict(test))
    for i, (x, log_p, proba) in enumerate(
        zip(test, hmm.score_samples(test), hmm.predict_proba(test), strict=True)
    ):
        twin = naive.Hidden(hmm, x.tolist())
        assert log_p == pytest.approx(np.logaddexp.reduce(twin.log_p), abs=1e-9)
        np.testing.assert_allclose(proba, twin.marginals(), atol=1e-9)
        assert joint[i] == pytest.approx(twin.log_p.max(), abs=1e-9)


def test_several_kinds_of_streams():
    X, y = data()
    rng = np.random.RandomState(0)
    rows = [[("ab"[rng.randint(2)], row[0], rng.poisson(3), row[1]) for row in x] for x in X]
    kinds = ["categorical", "gaussian", "poisson", "gaussian"]
    hmm = fitted("full", rows, y, emissions=kinds)
    twin = naive.Hidden(hmm, rows[0][:4])
    assert hmm.score_samples([rows[0][:4]])[0] == pytest.approx(np.logaddexp.reduce(twin.log_p))
    [drawn], _ = hmm.sample(1, random_state=0)
    assert [type(value) for value in drawn[0]] == [str, float, int, float]


@EVERY_TYPE
def test_known_labels_give_least_squares(kind):
    X, y = data()
    hmm = fitted(kind, X, y)
    assert hmm.n_iter_ == 1
    design = np.vstack([np.column_stack([np.ones(len(x) - 2), x[1:-1], x[:-2]]) for x in X])
    target = np.vstack([x[2:] for x in X])
    labels = np.concatenate([labels[2:] for labels in y])
    moments = []
    for k in range(2):
        here = labels == k
        slope, *_ = np.linalg.lstsq(design[here], target[here], rcond=None)
        np.testing.assert_allclose(hmm.means_[k], slope[0])
        np.testing.assert_allclose(hmm.autoregression_[k, 0], slope[1:3].T)
        np.testing.assert_allclose(hmm.autoregression_[k, 1], slope[3:5].T)
        left = target[here] - design[here] @ slope
        moments.append(left.T @ left / here.sum())
    moments = np.array(moments)
    expected = {
        "diag": np.diagonal(moments, axis1=1, axis2=2),
        "full": moments,
        "tied": np.tensordot(np.bincount(labels) / len(labels), moments, 1),
        "spherical": moments.trace(axis1=1, axis2=2) / 2,
    }[kind]
    np.testing.assert_allclose(hmm.covariances_, expected)


@UNSETTLED
@EVERY_TYPE
@pytest.mark.parametrize("known", ["none", "some"])
@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_em_never_lowers_the_likelihood(kind, known, init):
    X, y = data()
    labels = None if known == "none" else [*y[:3], *[None] * 9]
    options = {"n_states": 2, "init": init, "tol": 0, "max_iter": 30}
    hmm = fitted(kind, X, labels, transition_smoothing=0.0, **options)
    assert np.all(np.diff(hmm.loss_curve_) <= 1e-8)
    if known == "none":
        assert -hmm.loss_curve_[-1] == pytest.approx(hmm.score_samples(X).sum())


@UNSETTLED
def test_em_ends_at_a_maximum():
    X, _ = data()
    options = {"n_states": 2, "tol": 1e-13, "max_iter": 5000, "transition_smoothing": 0.0}
    hmm = fitted("full", X, None, **options)
    best = hmm.score_samples(X).sum()
    rng = np.random.RandomState(0)
    means = hmm.means_
    lags = hmm.autoregression_
    for _ in range(20):
        hmm.means_ = means + rng.normal(size=means.shape) * 1e-3
        hmm.autoregression_ = lags + rng.normal(size=lags.shape) * 1e-3
        assert hmm.score_samples(X).sum() < best


def test_em_finds_the_regressions():
    X, y = data(n=100, length=60)
    hmm = fitted("full", X, [y[0], *[None] * 99])
    np.testing.assert_allclose(hmm.autoregression_, LAGS, atol=0.06)
    np.testing.assert_allclose(hmm.means_, CONSTANT, atol=0.1)
    assert hmm.score(X, y) > 0.9


@EVERY_TYPE
def test_samples_have_these_regressions(kind):
    X, y = data(n=40)
    hmm = fitted(kind, X, y, stop=False)
    drawn, labels = hmm.sample(100, random_state=0, length=300)
    again = clone(hmm).fit(drawn, labels)
    np.testing.assert_allclose(again.autoregression_, hmm.autoregression_, atol=0.04)
    np.testing.assert_allclose(again.means_, hmm.means_, atol=0.06)
    np.testing.assert_allclose(again.covariances_, hmm.covariances_, atol=0.06)


def test_samples_begin_at_the_level_of_their_label():
    x = np.array([100.0, 102.0, 99.0, 101.0, 100.0, 98.0, 101.0, 99.5])[:, None]
    hmm = HMM(autoregression=1, stop=False).fit([x], [["A"] * 8])
    drawn, _ = hmm.sample(200, random_state=0, length=5)
    assert abs(np.mean([sequence[0] for sequence in drawn]) - 100) < 0.5


@UNSETTLED
@EVERY_TYPE
def test_weights_are_repetitions(kind):
    X, y = data(n=4)
    weighted = HMM(autoregression=2, covariance_type=kind).fit(X, y, [2, 1, 0, 1])
    chosen = (0, 0, 1, 3)
    repeated = HMM(autoregression=2, covariance_type=kind).fit(
        [X[i] for i in chosen], [y[i] for i in chosen]
    )
    np.testing.assert_allclose(weighted.autoregression_, repeated.autoregression_)
    np.testing.assert_allclose(weighted.covariances_, repeated.covariances_)


@EVERY_TYPE
def test_labels_that_nobody_or_few_have(kind):
    X, y = data()
    hmm = fitted(kind, X, y, n_states=[0, 1, 2])
    one = fitted(kind, X, [[0] * len(labels) for labels in y])
    np.testing.assert_allclose(hmm.autoregression_[2], one.autoregression_[0])
    few = [[5, 5, 5, *labels[3:]] for labels in y[:1]] + y[1:]
    rare = fitted(kind, X, few)
    assert np.all(np.isfinite(rare.score_samples(X)))
    partly = fitted(kind, X, [*y[:2], *[None] * 10], n_states=3, max_iter=500)
    assert np.all(np.isfinite(partly.autoregression_))


@EVERY_TYPE
def test_streams_that_repeat_each_other(kind):
    X, y = data()
    twice = [np.hstack([x, x[:, :1]]) for x in X]
    hmm = fitted(kind, twice, y, min_variance=0.01)
    assert np.all(np.isfinite(hmm.score_samples(twice)))


# ---------------------------------------------------------------- Hamilton's model


def hamilton():
    """The model of Hamilton (1989) as a hidden Markov model: a label is a tuple of the last five
    regimes, and only those may follow each other that have four in common. Parameters are those
    that statsmodels' MarkovAutoregression(growth, k_regimes=2, order=4, switching_ar=False) finds.
    """
    stay = 0.75466432
    change = 0.09591505
    level = np.array([-0.35880262, 1.16352203])
    variance = 0.59136383
    lags = np.array([0.01347989, -0.05752976, -0.24699183, -0.21292759])
    after = np.array([[stay, 1 - stay], [change, 1 - change]])
    labels = list(product(range(2), repeat=5))  # the latest regime first
    transition = np.zeros((32, 32))
    for i, before in enumerate(labels):
        for j, now in enumerate(labels):
            if now[1:] == before[:-1]:
                transition[i, j] = after[before[0], now[0]]
    start = np.linalg.matrix_power(transition, 4000)[0]
    with pytest.warns(ConvergenceWarning):
        hmm = HMM(n_states=32, autoregression=4, stop=False, max_iter=1, random_state=0).fit(
            [GROWTH[:, None]]
        )
    with np.errstate(divide="ignore"):
        hmm.start_logprob_ = np.log(start)
        hmm.transition_logprob_ = np.log(transition)
    means = level[np.array(labels)]
    hmm.means_ = (means[:, 0] - means[:, 1:] @ lags)[:, None]
    hmm.autoregression_ = np.tile(lags.reshape(4, 1, 1), (32, 1, 1, 1))
    hmm.covariances_ = np.full((32, 1), variance)
    return hmm


def test_hamiltons_model_of_growth():
    hmm = hamilton()
    # statsmodels' log-likelihood of these parameters; the published one is -181.263
    assert hmm.score_samples([GROWTH[:, None]])[0] == pytest.approx(-181.26339428124083, abs=1e-6)
    # a recession has the first regime now
    recession = hmm.predict_proba([GROWTH[:, None]])[0][:, :16].sum(axis=1)
    assert recession[26] > 0.9  # the fourth quarter of 1957
    assert recession[60] < 0.1


# ---------------------------------------------------------------- what is refused


def test_gaps_are_refused():
    X, y = data()
    hmm = fitted("diag", X, y)
    X[1][3, 1] = np.nan
    said = re.escape("X[1], token 3, column 1: not finite (nan); with `autoregression` no measur")
    for attempt in (lambda: fitted("diag", X, y), lambda: hmm.predict(X)):
        with pytest.raises(NonFiniteError, match=said):
            attempt()
    assert HMM().fit(X, y, init=None).autoregression_.shape == (2, 0, 2, 2)
    # the same estimator may learn from gaps once it has no lags
    hmm.set_params(autoregression=0).fit(X, y, init=HMM(transition_smoothing=1).fit(X, y))
    assert len(hmm.predict(X)) == 12


def test_what_is_refused():
    X, y = data()
    with pytest.raises(ValueError, match="autoregression=2 needs a stream of measurements"):
        HMM(autoregression=2).fit([["a", "b"]], [["A", "B"]])
    with pytest.raises(ValueError, match="autoregression goes with n_mixtures=1 only"):
        HMM(autoregression=2, n_mixtures=2).fit(X, y)
    with pytest.raises(EmptyDataError, match="needs a sequence of more than 24 tokens; the longe"):
        HMM(autoregression=24).fit(X, y)
    with pytest.raises(EmptyDataError, match="needs a sequence of more than 2 tokens; the longest"):
        HMM(autoregression=2).fit([X[0], X[1][:2]], [y[0], y[1][:2]], [0, 1])
    with pytest.raises(ValueError, match="the base has `autoregression`"):
        MEstimatedCRF(base=HMM(autoregression=1)).fit(X, y)
    first = fitted("diag", X, y)
    with pytest.raises(ValueError, match="init has autoregression=2, not 1"):
        HMM(autoregression=1).fit(X, init=first)
    first.autoregression_ = np.zeros((2, 2, 1, 2))
    with pytest.raises(ValueError, match=re.escape("it must be (2, p, 2, 2)")):
        first.predict(X)
    first.autoregression_ = np.full((2, 2, 2, 2), np.inf)
    with pytest.raises(ValueError, match="autoregression_ must be finite"):
        first.predict(X)


@UNSETTLED
@EVERY_TYPE
@pytest.mark.parametrize("other", TYPES)
def test_a_start_of_another_type(kind, other):
    X, y = data()
    hmm = HMM(covariance_type=other, autoregression=2, max_iter=3)
    assert hmm.fit(X, init=fitted(kind, X, y)).covariances_.shape == SHAPES[other]


@EVERY_TYPE
def test_files(tmp_path, kind):
    X, y = data()
    hmm = fitted(kind, X, y)
    save(hmm, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.autoregression_.tobytes() == hmm.autoregression_.tobytes()
    assert vars(loaded).keys() == vars(hmm).keys() | {"_names_in"}
    np.testing.assert_array_equal(loaded.score_samples(X), hmm.score_samples(X))
    assert repr(loaded.sample(3, 0)) == repr(hmm.sample(3, 0))
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@UNSETTLED
def test_threads_change_no_bit():
    X, _ = data(n=40)
    one, two = (fitted("full", X, None, n_states=2, n_jobs=n, max_iter=20) for n in (1, 2))
    assert one.autoregression_.tobytes() == two.autoregression_.tobytes()
