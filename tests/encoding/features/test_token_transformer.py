"""Transformers of rows on the tokens of sequences: the same as on one table of all tokens."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.manifold import TSNE
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from sklearn_struct import LinearChainCRF, SequenceArray, SequenceUnion, TokenTransformer
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, LengthMismatchError

RNG = np.random.default_rng(0)
LENGTHS = [3, 0, 1, 4]
TABLE = RNG.normal(size=(8, 3)) * [1.0, 100.0, 0.01]
X = SequenceArray.from_flat(TABLE, LENGTHS)
Y = [["a", "b", "a"], [], ["b"], ["a", "a", "b", "b"]]
LABELS = [label for labels in Y for label in labels]
FORMS = {
    "packed": X,
    "arrays": list(X),
    "lists": [sequence.tolist() for sequence in X],
    "sparse": [sp.csr_array(sequence) for sequence in X],
    "frames": [pd.DataFrame(sequence, columns=list("uvw")) for sequence in X],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "transformer",
    [MaxAbsScaler(), TruncatedSVD(2, random_state=0), SelectKBest(f_classif, k=2)],
    ids=lambda transformer: type(transformer).__name__,
)
def test_as_on_one_table(transformer, form):
    given = FORMS[form]
    table = sp.csr_array(TABLE) if form == "sparse" else TABLE
    model = TokenTransformer(transformer)
    first = model.fit_transform(given, Y)
    expected = clone(transformer).fit_transform(table, LABELS)
    for encoded in (first, model.transform(given), model.fit(given, Y).transform(given)):
        assert isinstance(encoded, SequenceArray)
        np.testing.assert_array_equal(encoded.lengths, LENGTHS)
        assert sp.issparse(encoded.tokens) == sp.issparse(expected)
        np.testing.assert_allclose(dense(encoded.tokens), dense(expected), rtol=1e-12)
    assert model.n_features_in_ == 3
    assert model.n_features_out_ == expected.shape[1]


def dense(table):
    return table.toarray() if sp.issparse(table) else table


def test_what_was_learned_in_fit_is_used_in_transform():
    model = TokenTransformer(StandardScaler()).fit(X)
    one = model.transform(X[3:])
    np.testing.assert_array_equal(one.tokens, model.transform(X)[3])
    assert not hasattr(model.transformer, "mean_")


def test_missing_values_may_be_imputed():
    holes = TABLE.copy()
    holes[2, 1] = np.nan
    model = TokenTransformer(SimpleImputer())
    filled = model.fit_transform(SequenceArray.from_flat(holes, LENGTHS))
    assert filled.tokens[2, 1] == pytest.approx(np.delete(TABLE[:, 1], 2).mean())


def test_tokens_that_are_no_numbers():
    dicts = [[{"u": 1.0, "word": "a"}, {"word": "b"}], [{"u": 2.0}]]
    encoded = TokenTransformer(DictVectorizer()).fit_transform(dicts)
    assert encoded.feature_names.tolist() == ["u", "word=a", "word=b"]
    np.testing.assert_array_equal(encoded[0].toarray(), [[1, 1, 0], [0, 0, 1]])
    rows = [[("a", "x"), ("b", "x")], [("a", "y")]]
    encoded = TokenTransformer(OneHotEncoder()).fit_transform(rows)
    np.testing.assert_array_equal(encoded[1].toarray(), [[1, 0, 0, 1]])
    words = [["ab", "b"], [], ["abb"]]
    letters = TokenTransformer(CountVectorizer(analyzer="char")).fit(words)
    crf = LinearChainCRF(C=100).fit(letters.transform(words), [["P", "Q"], [], ["P"]])
    assert crf.predict(letters.transform(words[:1])).tolist() == [["P", "Q"]]


def test_names_of_features():
    frames = TokenTransformer(StandardScaler()).fit(FORMS["frames"])
    assert frames.get_feature_names_out().tolist() == ["u", "v", "w"]
    assert frames.transform(X).feature_names.tolist() == ["u", "v", "w"]
    assert TokenTransformer(PCA(2)).fit_transform(X).feature_names.tolist() == ["pca0", "pca1"]
    crf = make_pipeline(TokenTransformer(StandardScaler()), LinearChainCRF())
    assert crf.fit(FORMS["frames"], Y)[-1].feature_names_in_.tolist() == ["u", "v", "w"]


class Nameless(BaseEstimator):
    """A transformer without names, and without fit_transform."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, :1]


def test_a_transformer_without_names():
    encoded = TokenTransformer(Nameless()).fit_transform(X)
    assert encoded.feature_names is None
    np.testing.assert_array_equal(encoded.tokens, TABLE[:, :1])


def test_two_dimensional_X_stays_two_dimensional():
    scaled = TokenTransformer(StandardScaler()).fit_transform(TABLE, LABELS)
    np.testing.assert_array_equal(scaled, StandardScaler().fit_transform(TABLE))


def test_in_pipelines_unions_and_searches():
    union = SequenceUnion(
        [("scaled", TokenTransformer(StandardScaler())), ("raw", TokenTransformer(MaxAbsScaler()))]
    )
    search = GridSearchCV(
        make_pipeline(union, LinearChainCRF()),
        {"sequenceunion__scaled__transformer__with_mean": [True, False]},
        cv=2,
    )
    chosen = search.fit(X[[0, 2, 3, 0]], [Y[i] for i in (0, 2, 3, 0)])
    copied = pickle.loads(pickle.dumps(chosen))
    assert copied.predict(X).tolist() == chosen.predict(X).tolist()


def test_no_tokens():
    model = TokenTransformer(StandardScaler())
    with pytest.raises(EmptyDataError, match="X has no tokens"):
        model.fit([[], []])
    nothing = model.fit(X).transform([[], []])
    assert nothing.lengths.tolist() == [0, 0]
    assert nothing.tokens.shape == (0, 3)


class Halving(BaseEstimator):
    """Gives a row for two."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[::2]


class Flattening(Halving):
    """Gives no table."""

    def transform(self, X):
        return X[:, 0]


@pytest.mark.parametrize(
    ("transformer", "given", "labels", "error", "match"),
    [
        (StandardScaler, X, None, InputTypeError, "transformer must be an estimator"),
        ("scale", X, None, InputTypeError, "transformer must be an estimator"),
        (TSNE(), X, None, InputTypeError, "fit and transform"),
        (StandardScaler(), X, Y[:-1], LengthMismatchError, "X has 4 sequences but y has 3"),
        (StandardScaler(), X, [Y[3], *Y[1:]], LengthMismatchError, r"X\[0\] has 3 tokens"),
        (
            StandardScaler(),
            [["a"], "b"],
            None,
            InputTypeError,
            r"X\[1\] is a .*, not a sequence of tokens",
        ),
        (Halving(), X, None, LengthMismatchError, "4 rows for 8 tokens"),
        (Flattening(), X, None, InputTypeError, "two-dimensional array"),
    ],
)
def test_bad_input_changes_nothing(transformer, given, labels, error, match):
    model = TokenTransformer(transformer)
    before = dict(vars(model))
    with pytest.raises(error, match=match):
        model.fit(given, labels)
    assert vars(model) == before


def test_labels_of_many_parts():
    """A label may be anything that can be hashed, of any length."""
    seen = []

    class Seen(StandardScaler):
        def fit(self, X, y=None):
            seen.extend(y)
            return super().fit(X)

    labels = [[range(2), "a"], ["b"]]
    TokenTransformer(Seen()).fit([np.ones((2, 1)), np.ones((1, 1))], labels)
    assert seen == [range(2), "a", "b"]
