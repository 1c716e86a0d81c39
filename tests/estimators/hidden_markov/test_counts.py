"""Hidden Markov models of counts: Poisson streams, and multinomial vectors."""

from __future__ import annotations

import re

import naive
import numpy as np
import pytest
from hmmlearn.hmm import MultinomialHMM, PoissonHMM
from sklearn.base import clone

from sklearn_struct import HMM, HSMM, MEstimatedCRF, SequenceArray
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
)
from sklearn_struct.persistence import load, save

KINDS = ["poisson", "multinomial"]
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
RATES = np.array([[1.0, 4.0, 2.0], [5.0, 4.0, 0.5], [12.0, 1.0, 3.0]])
NAMES = {"poisson": "rates_", "multinomial": "count_logprob_"}


def data(seed=0, n=10, length=12):
    """Sequences of three counts, and labels."""
    rng = np.random.RandomState(seed)
    y = [np.repeat(rng.randint(3, size=length // 3), 3) for _ in range(n)]
    return [rng.poisson(RATES[labels]).astype(float) for labels in y], [s.tolist() for s in y]


def mixed(seed=0):
    """Rows of a symbol, counts and a measurement."""
    X, y = data(seed)
    rng = np.random.RandomState(seed)
    rows = [
        [("ab"[label % 2], *map(int, row), rng.normal()) for row, label in zip(x, s, strict=True)]
        for x, s in zip(X, y, strict=True)
    ]
    return rows, y


MIXED = ["categorical", "poisson", "multinomial", "multinomial", "gaussian"]


@pytest.mark.twins
@pytest.mark.parametrize("kind", [*KINDS, "mixed"])
@pytest.mark.parametrize("order", [1, 2])
def test_probabilities_are_those_of_all_labellings(kind, order):
    X, y = mixed() if kind == "mixed" else data()
    emissions = MIXED if kind == "mixed" else kind
    hmm = HMM(order=order, transition_smoothing=0.5, emissions=emissions).fit(X, y)
    test = [X[0][:3], X[1][2:6], X[2][:1]]
    joint = hmm.log_joint(test, hmm.predict(test))
    for i, (x, log_p, proba) in enumerate(
        zip(test, hmm.score_samples(test), hmm.predict_proba(test), strict=True)
    ):
        twin = naive.Hidden(hmm, x)
        assert log_p == pytest.approx(np.logaddexp.reduce(twin.log_p), abs=1e-9)
        np.testing.assert_allclose(proba, twin.marginals(), atol=1e-9)
        assert joint[i] == pytest.approx(twin.log_p.max(), abs=1e-9)


def test_known_labels_give_means_and_shares():
    X, y = data()
    x = np.vstack(X)
    labels = np.concatenate(y)
    sums = np.array([x[labels == k].sum(axis=0) for k in range(3)])
    poisson = HMM(emissions="poisson").fit(X, y)
    np.testing.assert_allclose(poisson.rates_, sums / np.bincount(labels)[:, None])
    multinomial = HMM(emissions="multinomial", smoothing=0.5).fit(X, y)
    raised = sums + 0.5
    expected = raised / raised.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(multinomial.count_logprob_), expected)
    assert multinomial.n_trials_ == round(x.sum(axis=1).mean())
    assert poisson.n_trials_ == 0


@EVERY_KIND
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("implementation", ["log", "scaling"])
def test_hmmlearn_agrees(kind, implementation):
    X, _ = data(n=20, length=30)
    flat = np.vstack(X).astype(int)
    if kind == "multinomial":
        flat[:, 0] += 1  # hmmlearn wants a trial in each token
    lengths = [30] * 20
    packed = SequenceArray.from_flat(flat, lengths)
    options = {"stop": False, "n_states": 3, "emissions": kind, "smoothing": 0.0}
    start = HMM(max_iter=1, random_state=0, **options).fit(packed)
    settings = {
        "n_iter": 15,
        "tol": -np.inf,
        "init_params": "",
        "implementation": implementation,
    }
    if kind == "poisson":
        theirs = PoissonHMM(3, lambdas_prior=0, lambdas_weight=0, **settings)
        theirs.lambdas_ = start.rates_
    else:
        theirs = MultinomialHMM(3, n_trials=flat.sum(axis=1), **settings)
        theirs.emissionprob_ = np.exp(start.count_logprob_)
    theirs.startprob_ = np.exp(start.start_logprob_)
    theirs.transmat_ = np.exp(start.transition_logprob_)
    assert start.score_samples(packed).sum() == pytest.approx(theirs.score(flat, lengths))
    theirs.fit(flat, lengths)
    ours = HMM(max_iter=15, tol=0, **options).fit(packed, init=start)
    np.testing.assert_allclose(np.exp(ours.transition_logprob_), theirs.transmat_, atol=1e-6)
    if kind == "poisson":
        np.testing.assert_allclose(ours.rates_, theirs.lambdas_, atol=1e-6)
    else:
        np.testing.assert_allclose(np.exp(ours.count_logprob_), theirs.emissionprob_, atol=1e-6)
    assert -ours.loss_curve_[-1] == pytest.approx(theirs.score(flat, lengths), rel=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [*KINDS, "mixed"])
@pytest.mark.parametrize("init", ["kmeans", "random"])
@pytest.mark.parametrize("known", ["none", "some"])
def test_em_never_lowers_the_likelihood(kind, init, known):
    X, y = mixed() if kind == "mixed" else data()
    hmm = HMM(
        emissions=MIXED if kind == "mixed" else kind,
        n_states=3,
        init=init,
        tol=0,
        max_iter=40,
        random_state=0,
        smoothing=0.5,
        oov="smoothing",
    ).fit(X, None if known == "none" else [*y[:2], *[None] * 8])
    assert np.all(np.diff(hmm.loss_curve_) <= 1e-8)
    assert hmm.loss_curve_[-1] < hmm.loss_curve_[0]


@EVERY_KIND
@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_em_finds_the_states(kind, init):
    X, y = data(n=60, length=30)
    hmm = HMM(emissions=kind, n_states=3, init=init, random_state=0).fit(X)
    learned = getattr(hmm, NAMES[kind])
    share = RATES / RATES.sum(axis=1, keepdims=True)
    expected = RATES if kind == "poisson" else np.log(share)
    order = np.argsort(learned[:, 0])
    np.testing.assert_allclose(learned[order], expected, atol=0.3)
    few = HMM(emissions=kind).fit(X, [y[0], y[1], y[2], *[None] * 57])
    assert few.score(X, y) > 0.9


@EVERY_KIND
def test_samples_have_these_distributions(kind):
    X, y = data()
    hmm = HMM(emissions=kind, stop=False, transition_smoothing=1).fit(X, y)
    drawn, labels = hmm.sample(100, random_state=0, length=200)
    assert drawn[0].dtype == np.float64
    assert drawn[0].shape == (200, 3)
    again = clone(hmm).fit(drawn, labels)
    name = NAMES[kind]
    np.testing.assert_allclose(getattr(again, name), getattr(hmm, name), atol=0.15)
    if kind == "multinomial":
        assert np.all(drawn[0].sum(axis=1) == hmm.n_trials_)


def test_samples_of_several_kinds_are_rows_as_they_were_given():
    rows, y = mixed()
    hmm = HMM(emissions=MIXED).fit(rows, y)
    [sequence], _ = hmm.sample(1, random_state=0)
    assert [type(value) for value in sequence[0]] == [str, int, int, int, float]
    assert clone(hmm).fit([*rows, sequence], [*y, [0] * len(sequence)]).n_features_in_ == 5


@EVERY_KIND
def test_forms_of_the_same_counts(kind):
    X, y = data()
    hmm = HMM(emissions=kind).fit(X, y)
    rows = [[tuple(map(int, row)) for row in x] for x in X]
    packed = SequenceArray.from_flat(np.vstack(X).astype(int), [len(x) for x in X])
    for form in (rows, packed, [x.astype(np.int32) for x in X]):
        other = HMM(emissions=kind).fit(form, y)
        np.testing.assert_array_equal(getattr(other, NAMES[kind]), getattr(hmm, NAMES[kind]))
        np.testing.assert_allclose(other.score_samples(form), hmm.score_samples(X))
    single = [[1, 2, 8, 9], [7, 0]]
    if kind == "poisson":
        model = HMM(emissions=kind).fit(single, [list("aabb"), list("ba")])
        np.testing.assert_allclose(model.rates_, [[1], [8]])
        assert model.predict([[0, 9, 8]])[0] == list("abb")


@EVERY_KIND
def test_weights_are_repetitions(kind):
    X, y = data(n=4)
    weighted = HMM(emissions=kind).fit(X, y, [2, 1, 0, 1])
    repeated = HMM(emissions=kind).fit([X[i] for i in (0, 0, 1, 3)], [y[i] for i in (0, 0, 1, 3)])
    np.testing.assert_allclose(getattr(weighted, NAMES[kind]), getattr(repeated, NAMES[kind]))
    assert weighted.n_states is None


@EVERY_KIND
def test_labels_that_nobody_has_seen(kind):
    X, y = data()
    hmm = HMM(emissions=kind, n_states=[0, 1, 2, 3], transition_smoothing=0.1).fit(X, y)
    expected = np.vstack(X).mean(axis=0) if kind == "poisson" else np.log([1 / 3] * 3)
    np.testing.assert_allclose(getattr(hmm, NAMES[kind])[3], expected)
    partly = HMM(emissions=kind, n_states=4, random_state=0).fit(X, [*y[:3], *[None] * 7])
    assert np.all(np.isfinite(getattr(partly, NAMES[kind])))


# ---------------------------------------------------------------- nothing is silently impossible


def test_rates_never_become_0():
    X = [np.array([[0.0, 0.0], [0.0, 0.0], [4.0, 0.0], [8.0, 0.0]])]
    hmm = HMM(emissions="poisson", min_variance=0.01, stop=False).fit(X, [list("aabb")])
    np.testing.assert_allclose(hmm.rates_, [[0.03, 0.01], [6, 0.01]])
    assert np.isfinite(hmm.score_samples([np.array([[5.0, 7.0]])]))[0]


def test_an_outcome_that_never_occurred_is_impossible_without_smoothing():
    X = [np.array([[3.0, 0.0], [2.0, 0.0], [1.0, 4.0], [2.0, 5.0]])]
    hmm = HMM(emissions="multinomial", smoothing=0).fit(X, [list("aabb")])
    assert hmm.count_logprob_[0, 1] == -np.inf
    assert hmm.predict(X)[0] == list("aabb")
    assert hmm.log_joint(X, [list("aaab")])[0] == -np.inf
    hmm.count_logprob_[1, 1] = -np.inf
    assert hmm.score_samples(X)[0] == -np.inf
    assert len(hmm.predict(X)[0]) == 4


def test_tokens_without_trials_say_nothing():
    X, y = data()
    hmm = HMM(emissions="multinomial", transition_smoothing=1, stop=False).fit(X, y)
    nothing = hmm.predict_proba([np.zeros((1, 3))])[0]
    np.testing.assert_allclose(nothing[0], np.exp(hmm.start_logprob_))
    X[0][:3] = 0
    assert np.isfinite(HMM(emissions="multinomial", n_states=3, random_state=0).fit(X).n_iter_)


# ---------------------------------------------------------------- missing counts


def test_missing_counts_are_summed_over():
    X, y = data()
    hmm = HMM(emissions="poisson", transition_smoothing=0.5).fit(X, y)
    x = X[0][:3].copy()
    x[1, 0] = np.nan
    total = []
    for value in range(100):
        filled = x.copy()
        filled[1, 0] = value
        total.append(hmm.score_samples([filled])[0])
    assert hmm.score_samples([x])[0] == pytest.approx(np.logaddexp.reduce(total), abs=1e-9)
    twin = naive.Hidden(hmm, x)
    np.testing.assert_allclose(hmm.predict_proba([x])[0], twin.marginals(), atol=1e-9)


@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_rates_are_learned_from_gaps(init):
    X, y = data(n=60)
    rng = np.random.RandomState(1)
    gaps = [np.where(rng.uniform(size=x.shape) < 0.2, np.nan, x) for x in X]
    gaps[0][2] = np.nan
    flat = np.vstack(gaps)
    labels = np.concatenate(y)
    known = HMM(emissions="poisson").fit(gaps, y)
    expected = [np.nanmean(flat[labels == k], axis=0) for k in range(3)]
    np.testing.assert_allclose(known.rates_, expected)
    hmm = HMM(emissions="poisson", n_states=3, init=init, random_state=0, tol=0, max_iter=500)
    hmm.fit(gaps)
    assert np.all(np.diff(hmm.loss_curve_) <= 1e-8)
    np.testing.assert_allclose(hmm.rates_[np.argsort(hmm.rates_[:, 0])], expected, atol=0.5)


def test_gaps_in_a_vector_of_counts_are_refused():
    X, y = data()
    X[1][2, 1] = np.nan
    with pytest.raises(
        NonFiniteError, match=re.escape("X[1], token 2, column 1: not finite (nan)")
    ):
        HMM(emissions="multinomial").fit(X, y)
    X[1][:, 1] = np.nan
    for x in X:
        x[:, 1] = np.nan
    with pytest.raises(EmptyDataError, match="column 1 of X has no number"):
        HMM(emissions="poisson").fit(X, y)


# ---------------------------------------------------------------- what is refused


@EVERY_KIND
@pytest.mark.parametrize("bad", [-1.0, 0.5, 1e300])
def test_what_is_no_count(kind, bad):
    X, y = data()
    hmm = HMM(emissions=kind).fit(X, y)
    before = dict(vars(hmm))
    X[1][2, 1] = bad
    rows = [[tuple(row) for row in x.tolist()] for x in X]
    for form in (X, rows):
        said = re.escape(f"X[1], token 2, column 1: {bad:g} is not a count")
        with pytest.raises(ValueError, match=said):
            hmm.fit(form, y)
        with pytest.raises(ValueError, match=said):
            hmm.predict(form)
    assert vars(hmm).keys() == before.keys()
    words = [[("a", 1, 2)]]
    with pytest.raises(InputTypeError, match=re.escape("X[0], token 0, column 0: 'a' is not a n")):
        HMM(emissions=kind).fit(words, [["A"]])


def test_wrong_emissions():
    X, y = data()
    with pytest.raises(ValueError, match="needs two streams or more"):
        HMM(emissions=["multinomial", "poisson", "gaussian"]).fit(X, y)
    with pytest.raises(LengthMismatchError, match="1 entries, but there are 3 streams: list one"):
        HMM(emissions=["poisson"]).fit(X, y)
    for wrong in ("x", 1, None, ["poisson"]):
        said = f"emissions[1]={wrong!r} must be one of 'auto', 'categorical', 'gaussian', 'poisson'"
        for model in (HMM(), HSMM()):
            before = dict(vars(model))
            model.set_params(emissions=["poisson", wrong, "auto"])
            with pytest.raises(ValueError, match=re.escape(said)):
                model.fit(X, y)
            assert vars(model).keys() == before.keys()
    with pytest.raises(ValueError, match="'emissions' parameter"):
        HMM(emissions="counts").fit(X, y)


@EVERY_KIND
def test_a_base_of_counts_is_refused(kind):
    X, y = data()
    with pytest.raises(ValueError, match=f"the base has streams with emissions='{kind}'"):
        MEstimatedCRF(base=HMM(emissions=kind)).fit(X, y)


@EVERY_KIND
@pytest.mark.parametrize(
    ("value", "said"),
    [(np.ones((2, 3)), "it must be (3, 3)"), (np.full((3, 3), np.nan), "must be")],
)
def test_wrong_attributes(kind, value, said):
    X, y = data()
    hmm = HMM(emissions=kind).fit(X, y)
    setattr(hmm, NAMES[kind], value)
    for method in (hmm.predict, hmm.score_samples):
        with pytest.raises(ValueError, match=re.escape(NAMES[kind]) + ".*" + re.escape(said)):
            method(X)


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("kind", [*KINDS, "mixed"])
def test_files(tmp_path, kind):
    X, y = mixed() if kind == "mixed" else data()
    hmm = HMM(emissions=MIXED if kind == "mixed" else kind).fit(X, y)
    save(hmm, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.rates_.tobytes() == hmm.rates_.tobytes()
    assert loaded.count_logprob_.tobytes() == hmm.count_logprob_.tobytes()
    np.testing.assert_array_equal(loaded.score_samples(X), hmm.score_samples(X))
    assert repr(loaded.sample(3, 0)) == repr(hmm.sample(3, 0))
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    loaded.set_params(emissions="auto")
    np.testing.assert_array_equal(loaded.score_samples(X), hmm.score_samples(X))


@EVERY_KIND
def test_threads_change_no_bit(kind):
    X, _ = data(n=40)
    one, two = (HMM(emissions=kind, n_states=3, random_state=0, n_jobs=n).fit(X) for n in (1, 2))
    assert getattr(one, NAMES[kind]).tobytes() == getattr(two, NAMES[kind]).tobytes()
