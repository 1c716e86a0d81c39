"""Hidden Markov models of given parameters, and fits that keep some of them."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import HMM
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError
from sklearn_struct.persistence import load, save

KINDS = pytest.mark.parametrize("order", [1, 2])
WEATHER = {
    "start": [0.6, 0.4],
    "transition": [[0.7, 0.2], [0.4, 0.5]],
    "stop": [0.1, 0.1],
    "vocabulary": ["clean", "shop", "walk"],
    "emission": [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]],
}
NUMBERS = {
    "start": [1.0, 0.0],
    "transition": [[0.9, 0.1], [0.2, 0.8]],
    "means": [[0.0, 1.0], [5.0, 0.0]],
    "covariances": [[1.0, 2.0], [0.5, 1.0]],
}


def written_out(hmm):
    """The arguments that make the same model."""
    shares = {
        name: np.exp(getattr(hmm, f"{name}_logprob_"))
        for name in ("start", "transition", "stop", "pair_start", "single_stop")
        if hasattr(hmm, f"{name}_logprob_")
    }
    if not hmm.stop:
        shares = {name: table for name, table in shares.items() if "stop" not in name}
    return shares | {
        "vocabulary": hmm.vocabulary_,
        "emission": [None if table is None else np.exp(table) for table in hmm.emission_logprob_],
        "means": hmm.means_,
        "covariances": hmm.covariances_,
        "covariance_type": hmm.covariance_type,
    }


def data(seed=0):
    rng = np.random.RandomState(seed)
    y = [rng.randint(3, size=n) for n in (3, 1, 0, 4, 2, 5, 3, 2)]
    X = [
        [("uvw"[(k + rng.randint(2)) % 3], rng.normal(k), rng.normal()) for k in labels]
        for labels in y
    ]
    return X, [["CAB"[k] for k in labels] for labels in y]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("kind", ["diag", "full", "tied", "spherical"])
def test_a_fitted_model_written_out_is_the_same(order, stop, kind, tmp_path):
    X, y = data()
    hmm = HMM(order=order, stop=stop, covariance_type=kind, transition_smoothing=0.1).fit(X, y)
    given = HMM.from_parameters(hmm.classes_, **written_out(hmm))
    assert given.get_params()["order"] == order
    assert given.stop == stop
    np.testing.assert_allclose(given.score_samples(X), hmm.score_samples(X), rtol=1e-12)
    assert given.predict(X).tolist() == hmm.predict(X).tolist()
    assert given.n_iter_ == given.n_parameters_ == 0
    save(given, tmp_path / "hmm")
    loaded = load(tmp_path / "hmm")
    np.testing.assert_array_equal(loaded.score_samples(X), given.score_samples(X))
    drawn = given.sample(2, 0, length=None if stop else 3)
    assert drawn[0].tolist() == loaded.sample(2, 0, length=None if stop else 3)[0].tolist()
    np.testing.assert_allclose(given.filter_proba(X)[0], hmm.filter_proba(X)[0], rtol=1e-9)


@pytest.mark.twins
def test_symbols_by_enumeration_with_labels_in_any_order():
    rows = [("walk",), ("shop",), ("clean",)]
    hmm = HMM.from_parameters(["sun", "rain"], **WEATHER)
    assert hmm.classes_.tolist() == ["rain", "sun"]
    np.testing.assert_allclose(np.exp(hmm.start_logprob_), [0.4, 0.6])
    np.testing.assert_allclose(np.exp(hmm.transition_logprob_), [[0.5, 0.4], [0.2, 0.7]])
    expected = np.logaddexp.reduce(naive.Hidden(hmm, rows).log_p)
    assert hmm.score_samples([["walk", "shop", "clean"]])[0] == pytest.approx(expected)
    assert HMM.from_parameters(2, **WEATHER).classes_.tolist() == [0, 1]


def test_numbers_and_where_em_starts():
    hmm = HMM.from_parameters(["low", "high"], **NUMBERS)
    X, y = hmm.sample(20, 0, length=30)
    assert X[0].shape == (30, 2)
    assert hmm.score(X, y) > 0.9
    learned = HMM(stop=False, tol=1e-3).fit(X, init=hmm)
    np.testing.assert_allclose(learned.means_, [[5.0, 0.0], [0.0, 1.0]], atol=0.3)
    with pytest.raises(InputTypeError, match=r"one sequence is \[X\]"):
        hmm.predict(X[0])
    one = HMM.from_parameters(
        2, start=[0.5, 0.5], transition=[[0.5, 0.5]] * 2, means=[[0.0], [1.0]],
        covariances=[1.0, 2.0], covariance_type="spherical",
    )  # fmt: skip
    assert one.variances_.tolist() == [[1.0], [2.0]]


def test_columns_of_other_values():
    table = [[0.5, 0.3, 0.1, 0.1], [0.1, 0.2, 0.6, 0.1]]
    hmm = HMM.from_parameters(2, **WEATHER | {"emission": table})
    assert hmm.log_likelihood([["sleep"]]) == pytest.approx(np.log(0.1 * 0.1))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"start": [0.6, 0.5]}, ValueError, "start sums to 1.1, it must be 1"),
        ({"start": [0.6]}, LengthMismatchError, r"start has the shape \(1,\), it must be \(2,\)"),
        ({"start": [-0.2, 1.2]}, ValueError, "start has a negative number: give probabilities"),
        ({"start": [np.nan, 1]}, NonFiniteError, "start must hold finite numbers"),
        ({"start": ["a", "b"]}, InputTypeError, "start must be an array of numbers"),
        (
            {"transition": [[0.7, 0.2], [0.4, 0.6]]},
            ValueError,
            r"transition\[1\] sums to 1.1 together with stop, it must be 1",
        ),
        ({"stop": None}, ValueError, r"transition\[0\] sums to 0.9, it must be 1"),
        ({"transition": [0.5, 0.5]}, LengthMismatchError, "transition must have two dimensions"),
        ({"pair_start": [[1, 0], [0, 1]]}, ValueError, "pair_start is for transitions of order 2"),
        ({"vocabulary": None}, ValueError, "vocabulary and emission belong together"),
        ({"vocabulary": None, "emission": None}, ValueError, "give emission and vocabulary, or"),
        ({"vocabulary": ["a", "a", "b"]}, ValueError, "vocabulary must hold different values"),
        ({"vocabulary": ["a"]}, LengthMismatchError, r"emission has the shape \(2, 3\)"),
        (
            {"emission": [[0.5, 0.4, 0.1], [0.1, 0.3, 0.7]]},
            ValueError,
            r"emission\[1\] sums to 1.1, it must be 1",
        ),
        ({"means": [[0.0], [1.0]]}, ValueError, "means and covariances belong together"),
        (
            {
                "emission": [WEATHER["emission"], None],
                "vocabulary": [["a", "b", "c"], None],
                "means": [[0.0], [1.0]],
                "covariances": [[1.0], [0.0]],
            },
            ValueError,
            "covariances_ must be positive",
        ),
        (
            {"emission": [WEATHER["emission"], None], "vocabulary": [["a", "b", "c"], None]},
            LengthMismatchError,
            "means have 0 columns, but 1 streams are of numbers",
        ),
        (
            {"emission": [None], "vocabulary": [["a", "b", "c"]]},
            ValueError,
            r"emission\[0\] and vocabulary\[0\] must both be None, or neither",
        ),
        ({"covariance_type": "round"}, ValueError, "covariance_type must be one of diag, full"),
    ],
)
def test_mistakes(change, error, message):
    with pytest.raises(error, match=message):
        HMM.from_parameters(["rain", "sun"], **WEATHER | change)


def test_mistakes_of_labels_matrices_and_order_2():
    with pytest.raises(ValueError, match="labels must be different labels"):
        HMM.from_parameters(["rain", "rain"], **WEATHER)
    matrix = [[[1.0, 2.0], [2.0, 1.0]], np.eye(2)]
    full = {"covariances": matrix, "covariance_type": "full"}
    with pytest.raises(ValueError, match=r"covariances_\[0\] is not positive definite"):
        HMM.from_parameters(2, **NUMBERS | full)
    second = NUMBERS | {"transition": np.full((2, 2, 2), 0.5)}
    with pytest.raises(ValueError, match="transitions of order 2 need pair_start"):
        HMM.from_parameters(2, **second)
    more = {"pair_start": np.full((2, 2), 0.5), "stop": np.full((2, 2), 0.5)}
    with pytest.raises(ValueError, match=r"transition\[0, 0\] sums to 1.5 together with stop"):
        HMM.from_parameters(2, **second | more | {"single_stop": [0.0, 0.0]})
    with pytest.raises(ValueError, match="single_stop needs stop"):
        HMM.from_parameters(2, **second | {"pair_start": np.eye(2), "single_stop": [1, 1]})
    with pytest.raises(LengthMismatchError, match=r"means have the shape \(1, 2\)"):
        HMM.from_parameters(2, **NUMBERS | {"means": [[0.0, 1.0]]})


# ---------------------------------------------------------------- fixed

PARTS = {
    "start": ("start_logprob_",),
    "transition": ("transition_logprob_", "stop_logprob_"),
    "stop": ("stop_logprob_",),
    "emission": ("emission_logprob_",),
    "means": ("means_",),
    "covariances": ("covariances_",),
}


@KINDS
@pytest.mark.parametrize("fixed", PARTS)
@pytest.mark.parametrize("kind", ["diag", "full", "tied", "spherical"])
@pytest.mark.parametrize("known", [True, False])
def test_what_is_fixed_stays_and_the_rest_is_learned(order, fixed, kind, known):
    X, y = data()
    options = {"order": order, "covariance_type": kind, "transition_smoothing": 0.1}
    init = HMM(**options).fit(X, y)
    more, labels = data(1)
    hmm = HMM(**options, fixed=(fixed,), max_iter=8, tol=0)
    if known:
        hmm.fit(more, labels, init=init)
    else:
        with pytest.warns(ConvergenceWarning):
            hmm.fit(more, init=init)
    for name in {name for names in PARTS.values() for name in names}:
        before = getattr(init, name)
        after = getattr(hmm, name)
        same = (
            all(np.array_equal(a, b) for a, b in zip(before, after, strict=True) if a is not None)
            if isinstance(before, list)
            else np.array_equal(before, after)
        )
        assert same == (name in PARTS[fixed]), name
    rows = np.exp(hmm.transition_logprob_).sum(axis=-1) + np.exp(hmm.stop_logprob_)
    np.testing.assert_allclose(rows, 1.0)
    assert np.all(np.diff(hmm.loss_curve_) <= 1e-9)


@pytest.mark.parametrize("kind", ["diag", "full", "tied", "spherical"])
def test_covariances_about_fixed_means_are_the_most_probable(kind):
    """By small steps of what was learned: none is better."""
    X, y = data(2)
    init = HMM(covariance_type=kind).fit(*data())
    hmm = HMM(covariance_type=kind, fixed=("means",), min_variance=1e-9).fit(X, y, init=init)
    best = hmm.log_joint(X, y).sum()
    learned = hmm.covariances_
    for factor in (0.98, 1.02):
        hmm.covariances_ = learned * factor
        assert hmm.log_joint(X, y).sum() < best


def test_number_of_parameters_that_are_left():
    X, y = data()
    init = HMM(transition_smoothing=0.1).fit(X, y)
    values = len(init.vocabulary_[0])
    counts = {"start": 2, "transition": 9, "stop": 3, "emission": 3 * values, "means": 6}
    for name, n in counts.items():
        hmm = HMM(fixed=[name], transition_smoothing=0.1).fit(X, y, init=init)
        assert init.n_parameters_ - hmm.n_parameters_ == n
    assert HMM(fixed=list(PARTS)).fit(X, y, init=init).n_parameters_ == 0


def test_mistakes_with_fixed_parameters():
    X, y = data()
    init = HMM().fit(X, y)
    words = [["a", "b"], ["b", "a"]]
    for fixed, options, arguments, message in (
        (("start",), {}, {}, "keeps parameters of a model: give it as `init` of fit"),
        (("begin",), {}, {"init": init}, "'begin' is none of start, transition, stop"),
        (("stop",), {"stop": False}, {"init": init}, "no probability of the end to keep"),
        (("transition",), {"stop": False}, {"init": init}, "was fitted with stop=True, not False"),
    ):
        with pytest.raises(ValueError, match=message):
            HMM(fixed=fixed, **options).fit(X, y, **arguments)
    symbols = HMM(oov="smoothing").fit(words, words)
    with pytest.raises(ValueError, match="no streams of numbers, so no means"):
        HMM(fixed=["means"]).fit(words, words, init=symbols)
    numbers = [np.array([[0.0], [1.0]])]
    gaussian = HMM().fit(numbers, [[0, 1]])
    with pytest.raises(ValueError, match="no streams of symbols or counts, so no emission"):
        HMM(fixed=["emission"]).fit(numbers, [[0, 1]], init=gaussian)


def test_states_that_are_never_reached_keep_what_they_forbid():
    """Nothing is known of what follows them, so what `init` says of it stays."""
    first = HMM(n_states=3, max_iter=1, tol=1.0, stop=False, transition_smoothing=0.0)
    first.fit([np.arange(5.0)[:, None]])
    given = np.array([[1.0, 0.0, 0.0], [0.0, 0.3, 0.7], [0.0, 0.0, 1.0]])
    with np.errstate(divide="ignore"):
        first.transition_logprob_ = np.log(given)
        first.start_logprob_ = np.log([1.0, 0.0, 0.0])
    first.means_ = np.array([[0.0], [1e4], [2e4]])
    first.covariances_ = np.ones((3, 1))
    model = HMM(max_iter=3, tol=10.0, stop=False, transition_smoothing=0.0, n_states=3)
    model.fit([np.array([[0.1], [-0.1], [0.2], [0.0]])], init=first)
    learned = np.exp(model.transition_logprob_)
    np.testing.assert_allclose(learned, given, atol=1e-12)
