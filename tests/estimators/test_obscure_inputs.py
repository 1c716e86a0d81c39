"""What looks almost like data: each gets an error with place, reason and remedy, or is read as what
it is.
"""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import polars
import pytest
import scipy.sparse as sp
from public_estimators import CLASSIFIERS, READ_TABLES, SEQUENCE_MODELS, small
from sklearn.preprocessing import StandardScaler

from sklearn_struct import (
    GECRF,
    HMM,
    PCFG,
    FactorialCRF,
    FeatureTemplates,
    LinearChainCRF,
    LogLinearClassifier,
    MEstimatedCRF,
    SequenceUnion,
    SequenceVectorizer,
    SpectralHMM,
    TokenTransformer,
)
from sklearn_struct.datasets import read_conll
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, NonFiniteError
from sklearn_struct.metrics import token_accuracy_score

WORDS = [["the", "cat", "sleeps"], ["a", "dog"]]
TAGS = [["DET", "NOUN", "VERB"], ["DET", "NOUN"]]
NUMBERS = [np.arange(6.0).reshape(3, 2), np.arange(4.0).reshape(2, 2)]


@pytest.mark.parametrize("missing", [None, pd.NA, pd.NaT, np.nan, 5])
@pytest.mark.parametrize("cls", SEQUENCE_MODELS)
def test_a_sequence_that_is_missing(cls, missing):
    with pytest.raises(
        InputTypeError,
        match=r"X\[1\].* (a list of words|a list of tokens|not a sequence of tokens)",
    ):
        small(cls).fit([WORDS[0], missing], TAGS)


@pytest.mark.parametrize("missing", [None, pd.NA, pd.NaT])
@pytest.mark.parametrize("cls", SEQUENCE_MODELS)
def test_a_token_that_is_missing(cls, missing):
    with pytest.raises(InputTypeError, match=r"X\[1\], token 1"):
        small(cls).fit([WORDS[0], ["a", missing]], TAGS)


@pytest.mark.parametrize("cls", [HMM, MEstimatedCRF])
def test_dicts_where_values_are_meant(cls):
    with pytest.raises(
        InputTypeError, match=r"tokens that are a dict; give a string.*SequenceVectorizer"
    ):
        cls().fit([[{"word": word} for word in words] for words in WORDS], TAGS)


@pytest.mark.parametrize("cls", READ_TABLES)
def test_sparse_arrays_of_one_dimension(cls):
    with pytest.raises(
        InputTypeError, match=r"X\[0\] must have two dimensions \(tokens, features\), got 1"
    ):
        small(cls).fit([sp.coo_array(rows[:, 0]) for rows in NUMBERS], TAGS)
    with pytest.raises(
        (TypeError, ValueError),
        match=r"two dimensions, got a coo_array of 1|dense data is required",
    ):
        small(cls).fit(sp.coo_array(np.arange(3.0)), TAGS[0])


@pytest.mark.parametrize("cls", READ_TABLES)
@pytest.mark.parametrize("as_form", [np.asarray, sp.csr_array])
def test_tokens_without_features(cls, as_form):
    X = [as_form(np.empty((3, 0))), as_form(np.empty((2, 0)))]
    with pytest.raises(
        EmptyDataError, match=r"X\[0\] has 3 tokens without features, its shape \(3, 0\)"
    ):
        cls().fit(X, TAGS)


# those of FactorialCRF are rows of labels
OF_TOKENS = [cls for cls in READ_TABLES if cls not in (FactorialCRF, *CLASSIFIERS)]


@pytest.mark.parametrize("cls", OF_TOKENS)
def test_one_hot_labels(cls):
    with pytest.raises(
        InputTypeError, match=r"y\[0\], token 0: .* cannot be a label; .*numpy.argmax"
    ):
        small(cls).fit(NUMBERS, [np.eye(3), np.eye(3)[:2]])
    with pytest.raises(
        ValueError, match=r"y should be a 1d array, got an array of .* instead: .*numpy.argmax"
    ):
        small(cls).fit(NUMBERS[0], np.eye(3))


@pytest.mark.parametrize("cls", [*READ_TABLES, LogLinearClassifier])
def test_labels_that_no_array_holds(cls):
    y = ["A", np.zeros((2, 3)), "B"]
    with pytest.raises(InputTypeError, match=r"y\[1\]"):
        small(cls).fit(NUMBERS[0], y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", READ_TABLES)
def test_frames_of_polars(cls):
    """Rows of single tokens or sequences, as pandas' are."""
    frames = [polars.DataFrame(rows, schema=["a", "b"]) for rows in NUMBERS]
    given = {"max_iter": 3, "random_state": 0}
    options = {name: value for name, value in given.items() if name in small(cls).get_params()}
    labels = ["A", "B"] if cls in CLASSIFIERS else TAGS
    for X, y, same in ((frames[0], TAGS[0], NUMBERS[0]), (frames, labels, NUMBERS)):
        model = small(cls, **options).fit(X, y)
        other = small(cls, **options).fit(same, y)
        assert list(model.predict(X)) == list(other.predict(same))
    with pytest.raises(InputTypeError, match=r"table of numbers|must hold numbers"):
        small(cls).fit(polars.DataFrame({"a": ["x", "y"]}), ["A", "B"])


@pytest.mark.parametrize("cls", [SequenceVectorizer, FeatureTemplates, SpectralHMM, PCFG])
def test_frames_where_sequences_are_meant(cls):
    with pytest.raises(InputTypeError, match=r"X is a DataFrame: SequenceArray.from_frame"):
        cls().fit(pd.DataFrame({"word": ["a", "b"], "tag": ["D", "N"]}), TAGS)


@pytest.mark.parametrize("cls", [LinearChainCRF, GECRF, LogLinearClassifier])
def test_tables_of_what_is_no_number(cls):
    with pytest.raises(InputTypeError, match=r"X\[1\], feature 0: 'x' is not a number"):
        cls().fit(pd.DataFrame({"a": [1.0, "x"], "b": [2.0, 3.0]}, dtype=object), ["A", "B"])
    with pytest.raises(EmptyDataError, match="X has no columns"):
        cls().fit(pd.DataFrame(index=range(2)), ["A", "B"])


@pytest.mark.parametrize("cls", [*SEQUENCE_MODELS, SequenceVectorizer])
@pytest.mark.parametrize("single", [np.array(5.0), np.float64(5), np.array("a")])
def test_arrays_without_dimensions(cls, single):
    with pytest.raises(InputTypeError, match=r"X (is|must be) a"):
        cls().fit(single, TAGS)


def test_the_path_of_a_template_file():
    with pytest.raises(
        ValueError, match=r"malformed template 'my/template'.*Path\(name\).read_text\(\)"
    ):
        FeatureTemplates("my/template").fit([[("a",)]])
    with pytest.raises(ValueError, match=r"malformed template 'U:%x\[0': .*\)$"):
        FeatureTemplates("U:%x[0").fit([[("a",)]])


@pytest.mark.parametrize("name", ["file.conllu", "file.conllu.gz"])
def test_conllu_that_is_read_as_conll(tmp_path, name):
    text = b"# text = the\n1\tthe\t_\tDET\t_\t_\t2\t_\t_\t_\n\n"
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    with pytest.raises(
        ValueError, match=r"line 2: 10 columns, but there are 4 in line 1; .* with conllu=True"
    ):
        read_conll(tmp_path / name)
    assert len(read_conll(tmp_path / name, conllu=True)) == 1


@pytest.mark.parametrize("cls", SEQUENCE_MODELS)
def test_one_sentence_where_a_batch_is_meant(cls):
    with pytest.raises(InputTypeError, match=r"X\[0\] is a str, .* is \[sentence\]"):
        small(cls).fit(WORDS, TAGS).predict(WORDS[0])


@pytest.mark.parametrize(
    "bad",
    [
        *("3", 2.0, None, [2], True, np.array([1, 2]), sp.csr_array(np.eye(2))),
        np.timedelta64(2, "s"),
    ],
)
def test_numbers_of_results(bad):
    crf = LinearChainCRF(max_iter=100).fit(WORDS, TAGS)
    with pytest.raises(InputTypeError, match="n must be a whole number"):
        crf.predict_nbest(WORDS, bad)
    with pytest.raises(InputTypeError, match="n_samples must be a whole number"):
        crf.sample(WORDS, bad)


@pytest.mark.parametrize("cls", [LinearChainCRF, HMM, LogLinearClassifier])
def test_weights_that_are_no_numbers_or_too_large(cls):
    with pytest.raises(InputTypeError, match="sample_weight must hold real numbers"):
        cls().fit(NUMBERS[0], TAGS[0], ["a", 1, 2])
    with pytest.raises(NonFiniteError, match="sum of sample_weight is not finite"):
        cls().fit(NUMBERS[0], TAGS[0], [1e308] * 3)


@pytest.mark.parametrize("seed", [2**63, -1, "1", [1], 0.5])
def test_seeds_that_are_none(seed):
    crf = LinearChainCRF(max_iter=100).fit(WORDS, TAGS)
    for sample in (
        lambda: crf.sample(WORDS, 1, seed),
        lambda: HMM().fit(WORDS, TAGS).sample(1, seed),
    ):
        with pytest.raises(ValueError, match="'random_state' parameter of sample must be"):
            sample()


@pytest.mark.parametrize("label", [pd.NA, np.zeros(3)])
def test_labels_that_cannot_be_compared(label):
    with pytest.raises(InputTypeError, match=r"y_true\[0\], token 1: .* is no label"):
        token_accuracy_score([["O", label]], [["O", "O"]])


@pytest.mark.parametrize("huge", [10**400, -(10**400)])
def test_numbers_that_no_float_holds(huge):
    for X in ([NUMBERS[0], huge], [NUMBERS[0], [[huge, 1], [2, 3]]]):
        with pytest.raises((InputTypeError, NonFiniteError), match=r"X\[1\]"):
            LinearChainCRF().fit(X, TAGS)
    with pytest.raises(InputTypeError, match=r"X\[0\], feature 0.*too large"):
        LinearChainCRF().fit([[huge, 1.0], [2.0, 3.0]], ["A", "B"])
    with pytest.raises(InputTypeError, match="sample_weight must hold real numbers: int too large"):
        LinearChainCRF().fit(NUMBERS, TAGS, [huge, 1])


def test_weights_whose_sum_over_tokens_is_too_large():
    with pytest.raises(NonFiniteError, match="sum of sample_weight over all tokens is not finite"):
        HMM().fit(WORDS, TAGS, [1e308, 1.0])
    for cls in (HMM, LinearChainCRF):
        with pytest.raises(
            NonFiniteError, match="sum of sample_weight over all tokens is not finite"
        ):
            cls().fit(WORDS, TAGS).score(WORDS, TAGS, [1e308, 1.0])


@pytest.mark.parametrize("bad", [5, [5], [["a"]], [(None, SequenceVectorizer())], {"a": 1}])
def test_lists_of_transformers(bad):
    union = SequenceUnion([("a", SequenceVectorizer())]).fit(WORDS)
    with pytest.raises(InputTypeError, match="transformer_list must be a list of pairs"):
        union.set_params(transformer_list=bad)
    assert union.transform(WORDS).tokens.shape[1] == 5
    union.transformer_list = bad
    for method in (
        lambda: union.transform(WORDS),
        union.get_feature_names_out,
        lambda: union.fit(WORDS),
    ):
        with pytest.raises(InputTypeError, match="transformer_list must be a list of pairs"):
            method()


def test_errors_inside_a_transformer_name_it():
    with pytest.raises(
        ValueError, match="StandardScaler cannot read the tokens of X: could not convert string"
    ):
        TokenTransformer(StandardScaler()).fit([[["a"], ["b"]]])
