"""How EM starts, goes on, stops and tells."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import HMM, HSMM, SequenceArray
from sklearn_struct.exceptions import LengthMismatchError

RNG = np.random.RandomState(0)
Z = [np.repeat(RNG.randint(3, size=5), 4) for _ in range(20)]
X = [np.column_stack([6.0 * z + RNG.normal(size=20), RNG.normal(size=20)]) for z in Z]
Y = [z.tolist() for z in Z]


@pytest.mark.parametrize("init", ["auto", "kmeans"])
def test_clusters_are_found(init):
    hmm = HMM(n_states=3, init=init, random_state=0).fit(X)
    order = np.argsort(hmm.means_[:, 0])
    np.testing.assert_allclose(hmm.means_[order, 0], [0, 6, 12], atol=0.5)
    found = [np.argsort(order)[labels].tolist() for labels in hmm.predict(X)]
    assert np.mean(np.concatenate(found) == np.concatenate(Z)) > 0.99


@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_the_same_seed_gives_the_same_bits(init):
    a, b = (HMM(n_states=3, init=init, random_state=1, max_iter=500).fit(X) for _ in range(2))
    assert a.loss_curve_ == b.loss_curve_
    assert a.means_.tobytes() == b.means_.tobytes()


def test_other_seeds_start_elsewhere():
    curves = {
        HMM(n_states=3, init="random", random_state=seed, tol=1.0).fit(X).loss_curve_[0]
        for seed in range(3)
    }
    assert len(curves) == 3


def test_known_labels_need_no_seed():
    partly = [labels if i < 3 else None for i, labels in enumerate(Y)]
    a, b = (HMM(init="random", random_state=seed).fit(X, partly) for seed in range(2))
    assert a.loss_curve_ == b.loss_curve_
    assert a.score(X, Y) > 0.99


def test_labels_of_weight_0_do_not_count():
    """EM begins where a token of positive weight has no label, and only there."""
    weight = [1.0] * 19 + [0.0]
    assert HMM().fit(X, [*Y[:19], None], weight).n_iter_ == 1
    assert HMM(tol=0, max_iter=500).fit(X, [None, *Y[1:]], weight).n_iter_ > 1


def test_tol_and_max_iter():
    loose, tight = (
        HMM(n_states=3, init="random", random_state=0, tol=tol, max_iter=500).fit(X)
        for tol in (1e-2, 1e-8)
    )
    assert loose.n_iter_ < tight.n_iter_
    gain = -np.diff(loose.loss_curve_) / 400
    assert np.all(gain[:-1] > 1e-2)
    assert gain[-1] <= 1e-2
    with pytest.warns(
        ConvergenceWarning, match="EM stopped after 2 iterations without reaching tol=0"
    ):
        hmm = HMM(n_states=3, init="random", random_state=0, tol=0, max_iter=2).fit(X)
    assert hmm.n_iter_ == len(hmm.loss_curve_) == 2


def test_lines_an_iteration(capsys):
    hmm = HMM(n_states=2, tol=1e-3, random_state=0, verbose=1).fit(X)
    *lines, end = capsys.readouterr().out.splitlines()
    stopped = f"[HMM] EM stopped after {hmm.n_iter_} iterations: tol=0.001 is reached; "
    assert end.startswith(stopped)
    assert lines == [
        f"[HMM] iteration {n + 1}, objective {v:.6f}" for n, v in enumerate(hmm.loss_curve_)
    ]
    HMM(verbose=1).fit(X, Y)
    assert capsys.readouterr().out.startswith("[HMM] iteration 1, objective ")


def test_the_curve_is_minus_the_log_likelihood():
    hmm = HMM(n_states=3, random_state=0).fit(X)
    assert hmm.loss_curve_[-1] == pytest.approx(-hmm.score_samples(X).sum())
    known = HMM().fit(X, Y)
    assert known.loss_curve_ == [pytest.approx(-known.log_joint(X, Y).sum())]


@pytest.mark.parametrize("covariance_type", ["diag", "full", "tied", "spherical"])
def test_more_labels_than_tokens(covariance_type):
    """Some begin at random, as there are fewer clusters than labels."""
    X = [np.array([[0.0, 1.0], [2.0, -1.0], [0.5, 3.0]])]
    hmm = HMM(n_states=8, covariance_type=covariance_type, random_state=0).fit(X)
    assert np.all(np.isfinite(hmm.means_))
    assert np.isfinite(hmm.score_samples(X)[0])


def test_vectors_of_counts_without_trials():
    """No share is known, so there is nothing to make clusters of."""
    X = [np.zeros((9, 2))]
    hmm = HMM(emissions="multinomial", n_states=2, stop=False, random_state=0).fit(X)
    np.testing.assert_allclose(hmm.score_samples(X), 0.0, atol=1e-12)


@pytest.mark.parametrize("shape", [(4, 2, 30), (4, 30, 2), (4, 3, 3), (4, 1, 30)])
def test_three_dimensions_need_their_layout(shape):
    X = np.random.RandomState(0).normal(size=shape)
    n, a, b = shape
    said = (
        f"X has the shape {shape}, and nothing says which dimension is time: write "
        f"SequenceArray.from_3d(X, layout='ntc') if these are {n} sequences of {a} tokens with {b} "
        f"streams, or layout='nct' if they are {n} sequences of {b} tokens with {a} streams"
    )
    for model in (HMM(n_states=2, random_state=0), HSMM(n_states=2, random_state=0)):
        for y in (None, [None] * n):
            with pytest.raises(ValueError, match=re.escape(said)):
                model.fit(X, y)
        assert not hasattr(model, "classes_")
    for layout, n_streams in (("ntc", b), ("nct", a)):
        hmm = HMM(n_states=2, random_state=0).fit(SequenceArray.from_3d(X, layout))
        assert hmm.n_features_in_ == n_streams
    assert HMM(n_states=2, random_state=0).fit(list(X)).n_features_in_ == b


def test_what_says_the_layout_of_three_dimensions():
    X = np.random.RandomState(0).normal(size=(4, 2, 30))
    time_first = X.swapaxes(1, 2)
    y = np.random.RandomState(1).randint(2, size=(4, 30))
    hmm = HMM().fit(time_first, y)
    same = HMM().fit(list(time_first), y)
    np.testing.assert_array_equal(hmm.means_, same.means_)
    # one sequence with labels is enough
    HMM(n_states=[0, 1], random_state=0).fit(time_first, [None, y[1].tolist(), None, None])
    with pytest.raises(LengthMismatchError):
        HMM().fit(X, y)
    # a model knows its streams
    np.testing.assert_array_equal(hmm.score_samples(time_first), same.score_samples(time_first))
    HMM(n_states=[0, 1]).fit(time_first, init=hmm)
    with pytest.raises(ValueError, match="30 features, but HMM is expecting 2"):
        hmm.predict(X)
    # but as many tokens as streams fit both ways
    for work in (hmm.predict, hmm.score_samples, lambda X: HMM().fit(X, y[:, :2])):
        with pytest.raises(ValueError, match=r"\(4, 2, 2\), and nothing says .*from_3d"):
            work(X[:, :, :2])
    # one stream: sequences of one token would have no chain
    assert HMM(n_states=2, random_state=0).fit(X[:, 0, :, None]).n_features_in_ == 1


def correlated(seed):
    """States that only correlations tell apart."""
    rng = np.random.RandomState(seed)
    states = [np.repeat(rng.randint(2, size=5), 10) for _ in range(40)]
    X = []
    for z in states:
        noise = rng.normal(size=(50, 2))
        noise[:, 1] = (1.8 * z - 0.9) * noise[:, 0] + np.sqrt(1 - 0.81) * noise[:, 1]
        X.append(noise)
    return X, np.concatenate(states)


def test_later_starts_are_random_and_the_first_is_that_of_one():
    """Clusters of such data say nothing, whatever their seed is."""
    X, z = correlated(1)
    options = {"n_states": 2, "covariance_type": "full", "stop": False, "random_state": 0}
    one = HMM(**options).fit(X)
    several = HMM(n_init=5, **options).fit(X)
    assert several.loss_curve_[-1] < one.loss_curve_[-1] - 100
    share = np.mean(np.concatenate([np.array(y) for y in several.predict(X)]) == z)
    assert max(share, 1 - share) > 0.95
    # of states that are far apart the first start is the best
    apart = [np.repeat(rng, 10)[:, None] + 0.1 * np.arange(30)[:, None] % 1 for rng in [[0, 9, 0]]]
    options["covariance_type"] = "diag"
    alone = HMM(**options).fit(apart)
    assert HMM(n_init=3, **options).fit(apart).loss_curve_[-1] <= alone.loss_curve_[-1] + 1e-9


@pytest.mark.parametrize("name", ["means_", "transition_logprob_", "start_logprob_"])
def test_what_is_put_into_the_place_of_parameters_is_no_nan(name):
    hmm = HMM(n_states=2, random_state=0).fit([np.arange(9.0)[:, None] % 4])
    getattr(hmm, name)[0] = np.nan
    with pytest.raises(ValueError, match=r"finite numbers|has NaN"):
        hmm.predict([np.zeros((2, 1))])
