"""Pictures of hidden Markov models: what stands where."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.integrate
import scipy.stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_struct import HMM, LinearChainCRF, SequenceArray, TokenTransformer
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.inspection import (
    DurationDisplay,
    EmissionDisplay,
    MarginalDisplay,
    PosteriorDisplay,
    TransitionDisplay,
)

mpl.use("Agg")

WORDS = [["a", "b", "a", "c"], ["c", "c", "b"], ["a", "c", "c", "a"]]
TAGS = [["x", "x", "y", "y"], ["y", "y", "x"], ["x", "y", "y", "x"]]
RNG = np.random.RandomState(0)
NUMBERS = [
    RNG.normal(size=(len(tags), 2)) + 3.0 * (np.array(tags) == "y")[:, None] for tags in TAGS
]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def symbols(**options):
    return HMM(oov=None, **options).fit(WORDS, TAGS)


def numbers(**options):
    return HMM(**options).fit(NUMBERS, TAGS)


def names(ticks):
    return [tick.get_text() for tick in ticks]


# ---- transitions


def test_transitions_are_probabilities():
    hmm = symbols()
    display = TransitionDisplay.from_estimator(hmm)
    np.testing.assert_array_equal(display.im_.get_array(), np.exp(hmm.transition_logprob_))
    assert display.im_.get_clim() == (0, 1)
    assert names(display.ax_.get_yticklabels()) == ["x", "y"]
    assert display.text_[0, 1].get_text() == f"{np.exp(hmm.transition_logprob_[0, 1]):.2f}"
    assert display.figure_.axes[1].get_ylabel() == "probability"


def test_transitions_of_order_2_are_no_matrix():
    with pytest.raises(ValueError, match=r"order 2 depend on two labels"):
        TransitionDisplay.from_estimator(symbols(order=2))


# ---- emissions


def test_emissions_of_symbols():
    hmm = symbols()
    display = EmissionDisplay.from_estimator(hmm)
    columns = [hmm.vocabulary_[0][value] for value in names(display.ax_.get_xticklabels())]
    assert sorted(columns) == [0, 1, 2]
    wanted = np.exp(hmm.emission_logprob_[0])[:, columns]
    np.testing.assert_array_equal(display.im_.get_array(), wanted)
    # first those of x, the most probable one before others
    assert list(wanted.argmax(axis=0)) == sorted(wanted.argmax(axis=0))
    assert names(display.ax_.get_yticklabels()) == ["x", "y"]
    assert display.lines_ == []
    assert display.ax_.get_xlabel() == "stream 0"


def test_emissions_of_a_few_symbols_and_of_others():
    hmm = HMM(oov="smoothing").fit(WORDS, TAGS)
    display = EmissionDisplay.from_estimator(hmm, n=1)
    wanted = np.unique(np.exp(hmm.emission_logprob_[0]).argmax(axis=1))
    assert len(display.values) == len(wanted)
    assert "<OOV>" in EmissionDisplay.from_estimator(hmm, n=None).values


@pytest.mark.parametrize("kind", ["diag", "full", "tied", "spherical"])
@pytest.mark.parametrize("stream", [0, 1])
def test_densities_of_numbers(kind, stream):
    hmm = numbers(covariance_type=kind)
    display = EmissionDisplay.from_estimator(hmm, stream)
    assert [line.get_label() for line in display.lines_] == ["x", "y"]
    for k, line in enumerate(display.lines_):
        x, density = line.get_data()
        deviation = np.sqrt(hmm.variances_[k, stream])
        wanted = scipy.stats.norm.pdf(x, hmm.means_[k, stream], deviation)
        np.testing.assert_allclose(density, wanted)
        assert 0.99 < np.trapezoid(density, x) < 1.0
    assert display.im_ is None
    assert display.ax_.get_ylabel() == "density"


def test_streams_of_both_kinds():
    rows = [
        [(word, float(x[0])) for word, x in zip(*pair, strict=True)]
        for pair in zip(WORDS, NUMBERS, strict=True)
    ]
    hmm = HMM(oov=None).fit(rows, TAGS)
    assert EmissionDisplay.from_estimator(hmm, 0).im_ is not None
    assert len(EmissionDisplay.from_estimator(hmm, 1).lines_) == 2


def test_what_has_no_emissions():
    with pytest.raises(InputTypeError, match="must be a hidden Markov model such as HMM"):
        EmissionDisplay.from_estimator(LinearChainCRF().fit(WORDS, TAGS))
    with pytest.raises(ValueError, match="stream 2 is not there: the model has 2 streams"):
        EmissionDisplay.from_estimator(numbers(), 2)
    for wrong in ("speed", 1.0, True, None):
        with pytest.raises(InputTypeError, match=f"stream must be .* a stream, got {wrong!r}"):
            EmissionDisplay.from_estimator(numbers(), wrong)
    with pytest.raises(ValueError, match="'n' parameter"):
        EmissionDisplay.from_estimator(symbols(), n=0)
    with pytest.raises(LengthMismatchError, match=r"shape \(2, 2\) but there are 1 labels"):
        EmissionDisplay(np.eye(2), ["a", "b"], ["x"], "word").plot()


# ---- posteriors


def heights(area):
    """Of the corners of an area."""
    return area.get_paths()[0].vertices[:, 1]


@pytest.mark.parametrize("scaled", [False, True])
def test_posteriors_over_time(scaled):
    scaler = TokenTransformer(StandardScaler())
    model = make_pipeline(scaler, HMM()).fit(NUMBERS, TAGS) if scaled else numbers()
    display = PosteriorDisplay.from_estimator(model, NUMBERS[0], stream=1)
    [proba] = model.predict_proba(NUMBERS[:1])
    np.testing.assert_array_equal(display.proba, proba)
    assert len(display.areas_) == 2
    # areas lie on each other, from 0 to 1
    lower = heights(display.areas_[0])
    assert lower.min() == 0.0
    np.testing.assert_allclose(lower.max(), proba[:, 0].max())
    np.testing.assert_allclose(heights(display.areas_[1]).max(), 1.0)
    [line] = display.series_ax_.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), NUMBERS[0][:, 1])
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["x", "y"]


def test_posteriors_of_symbols_and_of_other_models_at_times():
    for model in (symbols(), LinearChainCRF().fit(WORDS, TAGS)):
        display = PosteriorDisplay.from_estimator(model, WORDS[0], times=[3, 4, 5, 7])
        assert display.series_ax_ is None
        assert display.ax_.get_xlim() == (3, 7)


def test_series_that_do_not_fit():
    hmm = numbers()
    with pytest.raises(LengthMismatchError, match="4 rows but times has 2 numbers"):
        PosteriorDisplay.from_estimator(hmm, NUMBERS[0], times=[1, 2])
    with pytest.raises(InputTypeError, match="stream 5 of x is no series of numbers"):
        PosteriorDisplay.from_estimator(hmm, NUMBERS[0], stream=5)
    with pytest.raises(InputTypeError, match="stream 0 of x is no series of numbers"):
        PosteriorDisplay.from_estimator(symbols(), WORDS[0], stream=0)
    with pytest.raises(InputTypeError, match="must have predict_proba"):
        PosteriorDisplay.from_estimator(TokenTransformer(StandardScaler()), NUMBERS[0])
    with pytest.raises(LengthMismatchError, match="2 columns but there are 1 labels"):
        PosteriorDisplay(np.eye(2), ["x"]).plot()
    for times, got in (
        (3, "int"),
        (range(4).__iter__(), "range_iterator"),
        (np.eye(4), r"\(4, 4\)"),
    ):
        with pytest.raises(InputTypeError, match=f"times must be a list of .*, got .*{got}"):
            PosteriorDisplay.from_estimator(hmm, NUMBERS[0], times=times)
    with pytest.raises(ValueError, match="stream must be at least 0, got -1"):
        PosteriorDisplay.from_estimator(hmm, NUMBERS[0], stream=-1)
    with pytest.raises(InputTypeError, match="stream must be a whole number, got bool"):
        PosteriorDisplay.from_estimator(hmm, NUMBERS[0], stream=True)


BATCHES = {
    "list": lambda x: [x],
    "three dimensions": lambda x: x[None],
    "SequenceArray": lambda x: SequenceArray(x, [0, len(x)]),
    "frame": lambda x: pd.DataFrame(x, columns=["a", "b"]),
    "list of rows": lambda x: x.tolist(),
    "lists": lambda x: [x.tolist()],
}


@pytest.mark.parametrize("form", BATCHES)
def test_posteriors_of_a_batch_of_one(form):
    for model in (numbers(), LinearChainCRF().fit(NUMBERS, TAGS)):
        display = PosteriorDisplay.from_estimator(model, BATCHES[form](NUMBERS[0]), stream=1)
        np.testing.assert_allclose(display.proba, model.predict_proba(NUMBERS[:1])[0])
        np.testing.assert_array_equal(display.series, NUMBERS[0][:, 1])


def test_posteriors_of_symbols_in_a_batch():
    rows = [[(0.5, "a"), (1.5, "b"), (0.1, "a")]]
    mixed = HMM(oov=None).fit(rows, [["x", "y", "x"]])
    for model, X in ((symbols(), WORDS[:1]), (mixed, rows)):
        for x in (X, X[0]):
            display = PosteriorDisplay.from_estimator(model, x)
            np.testing.assert_allclose(display.proba, model.predict_proba(X)[0])
    with pytest.raises(LengthMismatchError, match="x must be one sequence, got 2"):
        PosteriorDisplay.from_estimator(symbols(), WORDS[:2])
    with pytest.raises(LengthMismatchError, match="x must be one sequence, got 2"):
        PosteriorDisplay.from_estimator(numbers(), SequenceArray(NUMBERS[0], [0, 2, 4]))


# ---- names


def test_labels_are_written_as_they_are():
    """Neither as mathematics, which may be none, nor hidden as matplotlib hides _names."""
    odd = {"x": "_blank", "y": r"$\nonsense$"}
    y = [[odd[label] for label in labels] for labels in TAGS]
    hmm = HMM().fit(NUMBERS, y)
    drawn = [
        EmissionDisplay.from_estimator(hmm),
        DurationDisplay.from_estimator(hmm),
        PosteriorDisplay.from_estimator(hmm, NUMBERS[0]),
    ]
    for display in drawn:
        assert sorted(names(display.ax_.get_legend().get_texts())) == sorted(odd.values())
    words = [[rf"$\{word}$" for word in sentence] for sentence in WORDS]
    chain = LinearChainCRF().fit(words, y)
    drawn += [
        TransitionDisplay.from_estimator(hmm),
        EmissionDisplay.from_estimator(HMM().fit(words, y)),
        MarginalDisplay.from_estimator(chain, words[0]),
    ]
    for display in drawn:
        display.figure_.canvas.draw()


def test_a_legend_has_what_was_drawn_before():
    first = DurationDisplay.from_estimator(symbols())
    second = DurationDisplay(first.proba, ["_u", "v"]).plot(first.ax_, line_kw={"linestyle": ":"})
    assert names(second.ax_.get_legend().get_texts()) == ["x", "y", "_u", "v"]


# ---- durations


def test_durations_are_geometric():
    hmm = symbols(stop=False)
    hmm.transition_logprob_ = np.log([[0.9, 0.1], [0.5, 0.5]])
    display = DurationDisplay.from_estimator(hmm)
    for stay, line in zip([0.9, 0.5], display.lines_, strict=True):
        d, proba = line.get_data()
        np.testing.assert_allclose(proba, (1 - stay) * stay ** (d - 1))
    d = display.lines_[0].get_xdata()
    assert d[0] == 1
    assert 1 - 0.9 ** d[-1] >= 0.99 > 1 - 0.9 ** (d[-1] - 2)
    assert display.plot(longest=3).lines_[0].get_xdata().tolist() == [1, 2, 3]


def test_durations_of_predictions():
    hmm = HMM(stop=False, oov="smoothing", smoothing=0.01).fit(
        [list("aaabbaabbbba")], [list("xxxyyxxyyyyx")]
    )
    X = [list("aaabbaabbbba"), list("ab")]
    assert ["".join(y) for y in hmm.predict(X)] == ["xxxyyxxyyyyx", "xy"]
    display = DurationDisplay.from_estimator(hmm, X)
    # without the first and the last of each sequence
    assert [list(one) for one in display.observed] == [[2], [2, 4]]
    bars = [bar.get_height() for bar in display.ax_.patches]
    n = len(display.lines_[0].get_xdata())
    assert bars[:n] == [0, 1] + [0] * (n - 2)
    assert bars[n : n + 4] == [0, 0.5, 0, 0.5]


def test_a_label_that_never_ends():
    hmm = symbols(stop=False)
    hmm.transition_logprob_ = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    display = DurationDisplay.from_estimator(hmm, longest=5)
    assert np.all(display.lines_[0].get_ydata() == 0.0)


def test_what_has_no_durations():
    with pytest.raises(ValueError, match="give an HMM of order 1 or an HSMM"):
        DurationDisplay.from_estimator(symbols(order=2))
    with pytest.raises(LengthMismatchError, match="2 rows but there are 1 labels"):
        DurationDisplay(np.eye(2), ["x"]).plot()
    with pytest.raises(ValueError, match="longest must be at least 1"):
        DurationDisplay(np.eye(2), ["x", "y"]).plot(longest=0)
    with pytest.raises(InputTypeError, match="longest must be a whole number, got float"):
        DurationDisplay(np.eye(2), ["x", "y"]).plot(longest=1.5)


def test_a_narrow_peak_beside_a_wide_one():
    hmm = HMM.from_parameters(
        ["thin", "wide"],
        start=[0.5, 0.5],
        transition=[[0.5, 0.5], [0.5, 0.5]],
        means=[[0.3], [0.0]],
        covariances=[[1e-4], [1e4]],
    )
    display = EmissionDisplay.from_estimator(hmm)
    assert display.proba[0].max() == pytest.approx(scipy.stats.norm.pdf(0, scale=0.01))
    area = scipy.integrate.trapezoid(display.proba, display.values)
    np.testing.assert_allclose(area, 1.0, atol=0.01)


def test_means_that_depend_on_tokens_before_are_no_density():
    """A series around 100 has the constant 5, where it never is."""
    series = [100.0]
    for noise in np.random.RandomState(0).normal(size=200):
        series.append(5.0 + 0.95 * series[-1] + noise)
    hmm = HMM(n_states=1, autoregression=1).fit([np.array(series)[:, None]])
    with pytest.raises(ValueError, match="autoregression=1 the mean of a number depends"):
        EmissionDisplay.from_estimator(hmm)


@pytest.mark.parametrize("display", [EmissionDisplay, TransitionDisplay, DurationDisplay])
def test_draws_on_given_axes_and_out_of_pipelines(display):
    model = make_pipeline(TokenTransformer(StandardScaler()), HMM()).fit(NUMBERS, TAGS)
    figure, axes = plt.subplots(1, 2)
    drawn = display.from_estimator(model, ax=axes[1])
    assert drawn.ax_ is axes[1]
    assert drawn.figure_ is figure
    assert drawn.plot().ax_ is not axes[1]
