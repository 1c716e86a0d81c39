"""What fits and predictions do with the memory of X."""

from __future__ import annotations

import gc
import pickle
import re
import tracemalloc
import weakref

import numpy as np
import pytest

from sklearn_struct import HMM, HSMM, ConstraintDrivenHMM, NonHomogeneousHMM, SequenceArray
from sklearn_struct.estimators.fitting.sample_weights import repeated, used_tokens
from sklearn_struct.estimators.hidden_markov import stream_learning
from sklearn_struct.exceptions import EmptyDataError, NonFiniteError

OFFSETS = [0, 40, 40, 100]
COMMON = {"n_states": 2, "max_iter": 3, "random_state": 0}
MODELS = {
    "diag": HMM(**COMMON),
    "full": HMM(covariance_type="full", init="random", **COMMON),
    "mixtures": HMM(n_mixtures=2, **COMMON),
    "autoregression": HMM(autoregression=1, **COMMON),
    "poisson": HMM(emissions="poisson", **COMMON),
    "multinomial": HMM(emissions="multinomial", **COMMON),
    "mixed": HMM(emissions=["gaussian", "poisson", "gaussian"], **COMMON),
    "priors": HMM(mean_smoothing=1.0, covariance_smoothing=1.0, **COMMON),
    "durations": HSMM(max_length=30, **COMMON),
    "inputs": NonHomogeneousHMM(transition_inputs=[0], **COMMON),
}
# EM is stopped early
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def numbers():
    rng = np.random.RandomState(0)
    return rng.poisson(3.0 + 5.0 * np.repeat(rng.randint(2, size=10), 10)[:, None], size=(100, 3))


def outputs(model, X):
    arrays = [*model.predict_proba(X), model.score_samples(X), *model.predict(X)]
    if hasattr(model, "filter_proba"):
        proba, states = model.filter_proba(X, return_state=True)
        return arrays, [*proba, *(state.last for state in states)]
    return arrays, []


@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_written_to_numbers(name):
    table = numbers().astype(np.float64)
    # kernels do not see this mark, so that only a comparison tells
    table.flags.writeable = False
    X = SequenceArray(table, OFFSETS)
    model = pickle.loads(pickle.dumps(MODELS[name])).fit(X)
    outputs(model, X)
    np.testing.assert_array_equal(table, numbers())


@pytest.mark.parametrize("name", MODELS)
def test_numbers_are_not_kept(name):
    table = numbers().astype(np.float64)
    X = SequenceArray(table, OFFSETS)
    model = pickle.loads(pickle.dumps(MODELS[name])).fit(X)
    made = outputs(model, X)
    before = pickle.dumps((model, made))
    table[:] = 1e3
    assert pickle.dumps((model, made)) == before
    alive = weakref.ref(table)
    del table, X
    gc.collect()
    assert alive() is None


def test_other_memory_gives_the_same_model():
    table = numbers().astype(np.float64)
    expected = HMM(**COMMON).fit(SequenceArray(table, OFFSETS))
    parts = [table[:40], np.empty((0, 3)), table[40:]]
    for X in (
        parts,
        SequenceArray(numbers(), OFFSETS),
        SequenceArray(table.astype(np.float32), OFFSETS),
        SequenceArray(np.asfortranarray(table), OFFSETS),
    ):
        model = HMM(**COMMON).fit(X)
        assert model.means_.tobytes() == expected.means_.tobytes()
        assert model.loss_curve_ == expected.loss_curve_
    stacked = SequenceArray.from_3d(np.stack([table[:60]] * 3), layout="ntc")
    once, thrice = (HMM(**COMMON).fit(X) for X in ([table[:60]], stacked))
    np.testing.assert_allclose(thrice.means_, once.means_, rtol=0.1)


def test_numbers_of_one_kind_are_those_of_x():
    table = numbers().astype(np.float64)
    X = SequenceArray(table, OFFSETS)
    for name, kind in (("diag", "gaussian"), ("poisson", "poisson"), ("multinomial",) * 2):
        observed = MODELS[name].fit(X)._read_X(X, reset=False).X
        assert np.shares_memory(observed.numeric[kind], table)
    observed = MODELS["mixed"].fit(X)._read_X(X, reset=False).X
    np.testing.assert_array_equal(observed.numbers, table[:, [0, 2]])
    np.testing.assert_array_equal(observed.events.numbers, table[:, [1]])
    assert not any(np.shares_memory(part, table) for part in observed.numeric.values())


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_whole_numbers_are_what_they_are_as_floats(name, dtype):
    """To the last bit, also where they are read in place."""
    table = numbers().astype(dtype)
    X = SequenceArray(table, OFFSETS)
    model = pickle.loads(pickle.dumps(MODELS[name])).fit(X)
    other = pickle.loads(pickle.dumps(MODELS[name])).fit(
        SequenceArray(table.astype(float), OFFSETS)
    )
    assert model.loss_curve_ == other.loss_curve_
    for a, b in zip(outputs(model, X), outputs(other, X), strict=True):
        for of_whole, of_floats in zip(a, b, strict=True):
            np.testing.assert_array_equal(of_whole, of_floats)
    if name in ("poisson", "multinomial"):
        observed = model._read_X(X, reset=False).X
        assert np.shares_memory(observed.numeric[name], table)


@pytest.mark.parametrize("X", [[[]], [np.empty((0, 3))], SequenceArray(np.empty((0, 0)), [0])])
def test_no_tokens_have_the_columns_of_the_model(X):
    model = HMM(**COMMON).fit(SequenceArray(numbers(), OFFSETS))
    assert model._read_X(X, reset=False).X.numbers.shape == (0, 3)
    assert [len(labels) for labels in model.predict(X)] == [0] * len(X)


def most_memory(call):
    tracemalloc.start()
    call()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_memory_of_reading_and_of_a_fit():
    x = np.random.RandomState(0).normal(size=(100_000, 20))
    X = SequenceArray(x, np.arange(0, 100_001, 1000))
    model = HMM(n_states=2, init="random", max_iter=1, random_state=0)
    model.fit(X)  # kernels that are loaded or compiled need memory, too
    assert most_memory(lambda: model._read_X(X, reset=False)) < x.nbytes / 10
    # three copies were needed before
    assert most_memory(lambda: model.fit(X)) < x.nbytes


@pytest.mark.parametrize(
    ("emissions", "d"), [("poisson", 1), ("multinomial", 5), ("categorical", 1)]
)
def test_memory_of_whole_numbers(emissions, d):
    """Neither floats of all tokens are needed nor logarithms, and codes are small."""
    x = np.random.RandomState(0).randint(1, 20, size=(400_000, d))
    X = SequenceArray(x, np.arange(0, 400_001, 1000))
    model = HMM(n_states=2, emissions=emissions, max_iter=1, random_state=0, init="random")
    start = HMM(n_states=2, emissions=emissions, max_iter=1, random_state=0, init="random").fit(X)
    model.fit(X, init=start)
    assert most_memory(lambda: model.fit(X, init=start)) < 400_000 * 5


def test_bits_of_symbols_do_not_depend_on_threads():
    x = np.random.RandomState(0).randint(20, size=(60_000, 2))
    X = SequenceArray(x, np.arange(0, 60_001, 100))
    one, several = (
        HMM(n_states=3, emissions="categorical", max_iter=3, random_state=0, n_jobs=n).fit(X)
        for n in (1, 3)
    )
    assert one.loss_curve_ == several.loss_curve_
    for a, b in zip(one.emission_logprob_, several.emission_logprob_, strict=True):
        assert a.tobytes() == b.tobytes()


def test_a_number_in_the_last_piece():
    """The first in the order of reading is reported, and a column that has numbers late is not."""
    x = np.zeros((70_000, 2))
    x[69_999, 0] = np.inf
    x[69_998, 1] = -np.inf
    with pytest.raises(
        NonFiniteError, match=re.escape("X[1], token 29998, feature 1: not finite (-inf)")
    ):
        HMM(n_states=1).fit(SequenceArray(x, [0, 40_000, 70_000]))
    x[:] = np.nan
    x[69_999] = 1.0
    X = SequenceArray(x, [0, 40_000, 70_000])
    HMM(n_states=1, init="random", max_iter=1).fit(X)
    with pytest.raises(EmptyDataError, match="column 0 of X has no number"):
        HMM(n_states=1).fit(X, sample_weight=[1, 0])
    with pytest.raises(NonFiniteError, match=re.escape("X[0], token 0, column 0: not")):
        HMM(n_states=1, autoregression=1).fit(X)


def test_a_count_in_the_last_piece():
    x = np.ones((70_000, 2))
    x[69_999, 0] = -1.0
    x[69_998, 1] = 0.5
    X = SequenceArray(x, [0, 40_000, 70_000])
    for kind in stream_learning.COUNTED:
        with pytest.raises(
            ValueError, match=re.escape("X[1], token 29999, column 0: -1 is not a count")
        ):
            HMM(n_states=1, emissions=kind).fit(X)
    x[69_999] = [1.0, np.nan]
    x[0, 1] = 0.5
    with pytest.raises(
        NonFiniteError, match=re.escape("X[1], token 29999, column 1: not finite (nan)")
    ):
        HMM(n_states=1, emissions="multinomial").fit(X)


def test_trials_of_the_tokens_used():
    x = np.tile([[1.0, 2.0]], (70_000, 1))
    x[40_000:] = 7.0
    X = SequenceArray(x, [0, 40_000, 70_000])
    for weight, expected in (([1, 0], 3), ([0, 2], 14), (None, round((3 * 4 + 14 * 3) / 7))):
        model = HMM(n_states=1, emissions="multinomial", init="random", max_iter=1)
        assert model.fit(X, sample_weight=weight).n_trials_ == expected


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float64])
def test_more_trials_than_whole_numbers_hold(dtype):
    """The sum of 2,048 counts of 2 ** 53 is 2 ** 64, or 0 where that overflows."""
    x = np.ones((4, 2048), dtype)
    x[2] = 2**53
    said = "X[1], token 0: its counts sum to 1.845e+19, but a token has at most 2 ** 53 trials"
    hmm = HMM(n_states=1, emissions="multinomial", init="random", max_iter=1)
    with pytest.raises(ValueError, match=re.escape(said)):
        hmm.fit([x[:2], x[2:]])
    assert not hasattr(hmm, "classes_")
    # tokens that are not used do not matter
    assert hmm.fit([x[:2], x[2:]], sample_weight=[1, 0]).n_trials_ == 2048


def test_the_mean_of_many_trials_is_exact():
    """Also where sums of all tokens overflow, or are not floats."""
    x = np.full((3000, 2), 2**52)
    x[0, 0] -= 9000
    hmm = HMM(n_states=1, emissions="multinomial", init="random", max_iter=1).fit([x])
    assert hmm.n_trials_ == 2**53 - 3
    assert set(hmm.sample(3, random_state=0)[0][0].sum(axis=1)) == {hmm.n_trials_}


def test_what_is_the_same_for_all_tokens_has_no_memory():
    lengths = np.array([3, 0, 2])
    alike = repeated(np.full(3, 0.5), lengths)
    assert alike.tolist() == [0.5] * 5
    assert alike.strides == (0,)
    assert repeated(np.array([1.0, 2.0, 3.0]), lengths).tolist() == [1, 1, 1, 3, 3]
    assert repeated(np.ones(1), np.array([1])).flags.writeable
    assert repeated(np.empty(0), np.empty(0, dtype=int)).shape == (0,)
    assert used_tokens(np.array([0.0, 1.0, 2.0]), lengths).tolist() == [False] * 3 + [True] * 2
    with pytest.raises(NonFiniteError, match="over all tokens is not finite"):
        used_tokens(np.array([1e308, 0.0, 0.0]), lengths)


# ---------------------------------------------------------------- which column is at fault


def refused(model, x, y=None, names=None):
    """What a fit on one sequence says."""
    X = SequenceArray(x, [0, len(x)], names)
    with pytest.raises((NonFiniteError, EmptyDataError)) as error:
        model.fit(X, y)
    return str(error.value)


NAMES = np.array(["steps", "speed", "height"], dtype=object)
FAULTS = pytest.mark.parametrize(
    ("options", "value", "says"),
    [
        ({}, -1e200, "{} of X has numbers of up to 1e+200, so its variance is not finite: scale"),
        ({"autoregression": 1}, np.nan, "X[0], token 40, {}: not finite (nan); with `autoregr"),
    ],
)


@FAULTS
@pytest.mark.parametrize("emissions", ["auto", ["poisson", "gaussian", "gaussian"]])
def test_errors_name_columns(options, value, says, emissions):
    x = numbers().astype(float)
    x[40, 2] = value
    model = HMM(emissions=emissions, **COMMON, **options)
    assert refused(model, x).startswith(says.format("column 2"))
    assert refused(model, x, names=NAMES).startswith(says.format("column 'height'"))
    if options:
        model.fit(SequenceArray(x[:40], [0, 40], NAMES))
        with pytest.raises(NonFiniteError, match=re.escape(says.format("column 'height'"))):
            model.predict(SequenceArray(x, [0, 100], NAMES))


@FAULTS
def test_errors_name_columns_beside_inputs(options, value, says):
    x = numbers().astype(float)
    x[40, 2] = value
    model = NonHomogeneousHMM(transition_inputs=[0], **COMMON, **options)
    assert refused(model, x).startswith(says.format("column 2"))


def test_errors_name_columns_of_a_model_with_constraints():
    x = numbers().astype(float)
    x[40, 2] = 1e200
    said = refused(ConstraintDrivenHMM(), x, [["a", "b"] * 50], NAMES)
    assert said.startswith("column 'height' of X has numbers of up to 1e+200")


def test_a_column_of_nan_alone_is_named():
    x = numbers().astype(float)
    x[:, 1] = np.nan
    assert refused(HMM(**COMMON), x).startswith("column 1 of X has no number to learn from")
    assert refused(HMM(**COMMON), x, names=NAMES).startswith("column 'speed' of X has no number")
