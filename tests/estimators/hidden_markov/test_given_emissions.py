"""Hidden Markov models of given parameters whose labels emit counts, mixtures or regressions."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import HMM
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError
from sklearn_struct.persistence import load, save

CHAIN = {"start": [0.6, 0.4], "transition": [[0.7, 0.3], [0.4, 0.6]]}
MIXED = ["categorical", "poisson", "multinomial", "gaussian", "multinomial", "gaussian"]
KINDS = {
    "poisson": {"emissions": "poisson"},
    "multinomial": {"emissions": "multinomial"},
    "mixtures": {"n_mixtures": 2, "tol": 0.1},
    "lags": {"autoregression": 2},
    "mixed": {"emissions": MIXED},
    "mixed mixtures": {"emissions": MIXED, "n_mixtures": 2, "tol": 0.1},
    "mixed lags": {"emissions": MIXED, "autoregression": 1},
}
EVERY_KIND = pytest.mark.parametrize("name", KINDS)


def data(name, seed=0):
    """Sequences for a model of this kind; labels are not in the order of the alphabet."""
    rng = np.random.RandomState(seed)
    y = [np.repeat(rng.randint(3, size=4), 3) for _ in range(8)]
    X = []
    for k in y:
        counts = rng.poisson(2 + 2 * k, size=(3, len(k))).T
        numbers = rng.normal(3 * k * rng.choice([-1, 1], size=len(k)), size=(2, len(k))).T
        words = [("uvw"[(i + rng.randint(2)) % 3]) for i in k]
        if "mixed" in name:
            rows = zip(words, counts.tolist(), numbers.tolist(), strict=True)
            X.append([(w, c[0], c[1], x[0], c[2], x[1]) for w, c, x in rows])
        else:
            X.append(counts.astype(float) if name in ("poisson", "multinomial") else numbers)
    return X, [["CAB"[i] for i in k] for k in y]


def fitted(name, kind="diag", **options):
    X, y = data(name)
    settings = {"transition_smoothing": 0.1, "random_state": 0, **KINDS[name], **options}
    return HMM(covariance_type=kind, **settings).fit(X, y)


def written_out(hmm):
    """The arguments that make the same model."""
    names = ["start", "transition", *(["stop"] if hmm.stop else [])]
    if hmm.order == 2:
        names += ["pair_start", *(["single_stop"] if hmm.stop else [])]
    arguments = {name: np.exp(getattr(hmm, f"{name}_logprob_")) for name in names}
    if any(hmm.vocabulary_):
        tables = hmm.emission_logprob_
        arguments["vocabulary"] = hmm.vocabulary_
        arguments["emission"] = [None if table is None else np.exp(table) for table in tables]
    if hmm.means_.size:
        arguments["means"] = hmm.means_
        arguments["covariances"] = hmm.covariances_
        arguments["covariance_type"] = hmm.covariance_type
    if hmm.means_.ndim == 3:
        arguments["mixture"] = np.exp(hmm.mixture_logprob_)
    if hmm.autoregression_.size:
        arguments["autoregression"] = hmm.autoregression_
    if hmm.rates_.size:
        arguments["rates"] = hmm.rates_
    if hmm.count_logprob_.size:
        arguments["count_probabilities"] = np.exp(hmm.count_logprob_)
        arguments["n_trials"] = hmm.n_trials_
    return arguments | ({"emissions": MIXED} if hmm.emissions == MIXED else {})


@EVERY_KIND
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["diag", "full", "tied", "spherical"])
def test_a_fitted_model_written_out_is_the_same(name, order, kind, tmp_path):
    X, _ = data(name, 1)
    hmm = fitted(name, kind, order=order, stop=order == 1)
    given = HMM.from_parameters(hmm.classes_, **written_out(hmm))
    for parameter in ("n_mixtures", "autoregression", "order", "stop", "covariance_type"):
        if hmm.means_.size or parameter != "covariance_type":
            assert getattr(given, parameter) == getattr(hmm, parameter)
    np.testing.assert_allclose(given.score_samples(X), hmm.score_samples(X), rtol=1e-10)
    assert given.predict(X).tolist() == hmm.predict(X).tolist()
    for one, other in zip(given.predict_next(X, 2), hmm.predict_next(X, 2), strict=True):
        for array in ("proba", "mean", "variance", "count_mean", "count_shares"):
            np.testing.assert_allclose(getattr(one, array), getattr(other, array), rtol=1e-8)
    length = None if order == 1 else 4
    # probabilities differ by rounding, so that the same draws come out
    drawn = given.sample(2, 0, length=length)
    assert drawn[1].tolist() == hmm.sample(2, 0, length=length)[1].tolist()
    save(given, tmp_path / "hmm")
    loaded = load(tmp_path / "hmm")
    np.testing.assert_array_equal(loaded.score_samples(X), given.score_samples(X))
    assert repr(loaded.sample(2, 0, length=length)) == repr(drawn)


@EVERY_KIND
@pytest.mark.parametrize("kind", ["diag", "tied"])
def test_labels_in_any_order(name, kind):
    X, _ = data(name, 1)
    hmm = fitted(name, kind)
    arguments = written_out(hmm)
    turned = [2, 0, 1]
    for argument in ("start", "stop", "mixture", "rates", "count_probabilities"):
        if argument in arguments:
            arguments[argument] = arguments[argument][turned]
    arguments["transition"] = arguments["transition"][np.ix_(turned, turned)]
    for argument in ("means", "autoregression", "covariances"):
        shared = argument == "covariances" and kind == "tied" and hmm.means_.ndim == 2
        if argument in arguments and not shared:
            arguments[argument] = arguments[argument][turned]
    if "emission" in arguments:
        arguments["emission"] = [
            None if table is None else table[turned] for table in arguments["emission"]
        ]
    given = HMM.from_parameters(hmm.classes_[turned], **arguments)
    np.testing.assert_allclose(given.score_samples(X), hmm.score_samples(X), rtol=1e-10)
    assert given.predict(X).tolist() == hmm.predict(X).tolist()


@EVERY_KIND
def test_em_starts_there(name):
    X, _ = data(name)
    given = HMM.from_parameters([*"ABC"], **written_out(fitted(name)))
    with pytest.warns(ConvergenceWarning):
        hmm = HMM(**KINDS[name] | {"max_iter": 2, "tol": 0}).fit(X, init=given)
    assert np.diff(hmm.loss_curve_)[-1] <= 1e-9
    assert hmm.n_parameters_ > 0


@pytest.mark.twins
def test_written_by_hand():
    hmm = HMM.from_parameters(
        ["calm", "busy"],
        **CHAIN,
        rates=[[1.0], [6.0]],
        means=[[[0.0], [5.0]], [[1.0], [9.0]]],
        covariances=[[[1.0], [2.0]], [[1.0], [0.5]]],
        mixture=[[0.25, 0.75], [1.0, 0.0]],
        emissions=["gaussian", "poisson"],
    )
    assert hmm.classes_.tolist() == ["busy", "calm"]
    np.testing.assert_allclose(np.exp(hmm.mixture_logprob_), [[1, 0], [0.25, 0.75]])
    rows = [(0.5, 2), (4.0, 7), (float("nan"), 1)]
    expected = np.logaddexp.reduce(naive.Hidden(hmm, rows).log_p)
    assert hmm.score_samples([rows])[0] == pytest.approx(expected)
    shares = HMM.from_parameters(
        2, **CHAIN, count_probabilities=[[0.5, 0.5], [0.9, 0.1]], n_trials=12
    )
    [drawn], _ = shares.sample(1, 0, length=5)
    assert drawn.sum(axis=1).tolist() == [12] * 5
    assert hmm.emissions == ["gaussian", "poisson"]
    assert shares.emissions == ["multinomial", "multinomial"]


def test_counts_of_one_stream_in_each_form(tmp_path):
    hmm = HMM.from_parameters(2, **CHAIN, rates=[[2.0], [6.0]])
    lists = [[1, 2, 9], [7, 6]]
    arrays = [np.array([[1], [2], [9]]), np.array([[7], [6]])]
    rows = [[(1,), (2,), (9,)], [(7,), (6,)]]
    expected = [np.logaddexp.reduce(naive.Hidden(hmm, x).log_p) for x in rows]
    save(hmm, tmp_path / "hmm")
    for model in (hmm, load(tmp_path / "hmm")):
        for X in (lists, arrays, rows):
            np.testing.assert_allclose(model.score_samples(X), expected)
        [drawn], _ = model.sample(1, 0, length=3)
        assert drawn.shape == (3, 1)
    fitted = HMM(emissions="poisson", stop=False, tol=0.1).fit(lists, init=hmm)
    assert fitted.rates_.shape == (2, 1)


NUMBERS = {"means": [[0.0], [1.0]], "covariances": [[1.0], [1.0]]}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"rates": [[1.0]]}, LengthMismatchError, r"rates have the shape \(1, 1\), 2 labels need"),
        ({"rates": [[1.0], [0.0]]}, ValueError, "rates_ must be positive"),
        ({"rates": [["a"], ["b"]]}, InputTypeError, "rates must be an array of numbers"),
        (
            {"count_probabilities": [[1.0], [1.0]]},
            ValueError,
            "count_probabilities needs two streams or more; for one stream of counts give rates",
        ),
        (
            {"count_probabilities": [[0.5, 0.5], [0.5, 0.6]]},
            ValueError,
            r"count_probabilities\[1\] sums to 1.1, it must be 1",
        ),
        (
            {"count_probabilities": [0.5, 0.5]},
            LengthMismatchError,
            r"count_probabilities has the shape \(2,\), it must be \(2, 0\)",
        ),
        ({"rates": [[1.0], [2.0]], "n_trials": 3}, ValueError, "n_trials needs count_probabi"),
        (
            {"count_probabilities": [[0.5, 0.5]] * 2, "n_trials": -1},
            ValueError,
            "n_trials must be at least 0",
        ),
        ({"mixture": [[1.0], [1.0]]}, ValueError, "mixture needs means and covariances"),
        ({"autoregression": [[1.0]]}, ValueError, "autoregression needs means and covariances"),
        (
            NUMBERS | {"mixture": [[0.5, 0.5]] * 2},
            LengthMismatchError,
            r"means have the shape \(2, 1\), 2 labels with a mixture need \(2, M, d\)",
        ),
        (
            {"means": [[[0.0]]] * 2, "covariances": [[[1.0]]] * 2},
            LengthMismatchError,
            "means of several normal distributions a label need mixture",
        ),
        (
            {"means": [[[0.0]]] * 2, "covariances": [[[1.0]]] * 2, "mixture": [[1.0]] * 2},
            ValueError,
            "a mixture of one normal distribution is this one: leave mixture out",
        ),
        (
            {
                "means": [[[0.0], [1.0]]] * 2,
                "covariances": [[[1.0], [1.0]]] * 2,
                "mixture": [[0.5, 0.5], [0.5, 0.4]],
            },
            ValueError,
            r"mixture\[1\] sums to 0.9",
        ),
        (
            {
                "means": [[[0.0], [1.0]]] * 2,
                "covariances": [[[1.0], [1.0]]] * 2,
                "mixture": [[0.5, 0.5]] * 2,
                "autoregression": [[[[1.0]]]] * 2,
            },
            ValueError,
            "autoregression does not go with mixture",
        ),
        (NUMBERS | {"autoregression": [[1.0]]}, ValueError, "autoregression_ has the shape"),
        (NUMBERS | {"means": [[0.0], [np.inf]]}, NonFiniteError, "means must be finite numbers"),
        (NUMBERS | {"means": [["a"], ["b"]]}, InputTypeError, "means must be an array of numbers"),
        (
            NUMBERS | {"rates": [[1.0], [2.0]]},
            ValueError,
            "tables of gaussian and poisson streams: say in emissions, a list",
        ),
        (
            NUMBERS | {"rates": [[1.0], [2.0]], "emissions": ["poisson", "poisson"]},
            LengthMismatchError,
            "means have 1 columns, but 0 streams are of numbers",
        ),
        (
            {"rates": [[1.0], [2.0]], "emissions": ["gaussian"]},
            LengthMismatchError,
            "means have 0 columns, but 1 streams are of numbers",
        ),
        (
            {"rates": [[1.0], [2.0]], "emissions": ["categorical"]},
            ValueError,
            r"emissions\[0\]='categorical', but stream 0 has no vocabulary",
        ),
        (
            {"rates": [[1.0], [2.0]], "emissions": ["gamma"]},
            ValueError,
            r"emissions\[0\]='gamma' must be one of 'auto', 'categorical', 'gaussian', 'poisson', ",
        ),
        (
            {"rates": [[1.0], [2.0]], "emissions": 3},
            InputTypeError,
            "emissions must be a list of kinds or a text, got 3",
        ),
        (
            {"vocabulary": ["a"], "emission": [[1.0], [1.0]], "emissions": "poisson"},
            ValueError,
            r"emissions\[0\]='poisson', but stream 0 has a vocabulary",
        ),
    ],
)
def test_mistakes(given, error, message):
    with pytest.raises(error, match=message):
        HMM.from_parameters(2, **CHAIN, **given)


@pytest.mark.parametrize("name", ["poisson", "multinomial", "mixed"])
@pytest.mark.parametrize("known", [True, False])
def test_fixed_emissions_of_counts(name, known):
    """ "emission" keeps all tables, rates and shares; the rest is learned."""
    init = fitted(name)
    X, y = data(name, 1)
    hmm = HMM(**KINDS[name], fixed=["emission"], transition_smoothing=0.1, max_iter=4, tol=0)
    if known:
        hmm.fit(X, y, init=init)
    else:
        with pytest.warns(ConvergenceWarning):
            hmm.fit(X, init=init)
    for kept in ("rates_", "count_logprob_"):
        np.testing.assert_array_equal(getattr(hmm, kept), getattr(init, kept))
    for one, other in zip(hmm.emission_logprob_, init.emission_logprob_, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(hmm.transition_logprob_, init.transition_logprob_)
    assert np.all(np.diff(hmm.loss_curve_) <= 1e-9)
    if name == "mixed":
        assert not np.array_equal(hmm.means_, init.means_)
    tables = [table for table in hmm.emission_logprob_ if table is not None]
    free = sum(table.size - len(table) for table in tables) + hmm.rates_.size
    free += hmm.count_logprob_.size - (3 if hmm.count_logprob_.size else 0)
    whole = HMM(**KINDS[name], transition_smoothing=0.1, max_iter=1).fit(X, y, init=init)
    assert whole.n_parameters_ - hmm.n_parameters_ == free
