"""Parameters that are changed after `fit`: read as documented, refused, or for the next fit."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from public_estimators import (
    CHAINS,
    CLASSIFIERS,
    GRAPHS,
    GRAPHS_OF_SEQUENCES,
    IMAGES,
    MULTILABEL,
    PARSERS,
    PREDICTORS,
    small,
)
from sklearn.exceptions import ConvergenceWarning

import sklearn_struct
from sklearn_struct import (
    EMLPCFG,
    PCFG,
    FeatureTemplates,
    LinearChainCRF,
    LogLinearClassifier,
    MEstimatedCRF,
    ProductFeatures,
    SequenceUnion,
    SequenceVectorizer,
    SpectralHMM,
)
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.persistence import save

WORDS = [["the", "cat", "sleeps"], ["a", "dog"], ["the", "dog", "barks", "."]]
DICTS = [[{"word": word, "size": len(word)} for word in sentence] for sentence in WORDS]
TAGS = [["DET", "NOUN", "VERB"], ["DET", "NOUN"], ["DET", "NOUN", "VERB", "."]]
TREES = [
    "(S (NP (DET the) (NOUN cat)) (VP (VERB sleeps)))",
    "(NP (DET a) (NOUN dog))",
    "(S (NP (DET the) (NOUN dog)) (VP (VERB barks)) (. .))",
]

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"
)


def crf(X=DICTS, cls=LinearChainCRF):
    return small(cls, max_iter=3).fit(X, TAGS)


# ---- what encodes X


@pytest.mark.parametrize("cls", CHAINS + GRAPHS_OF_SEQUENCES)
@pytest.mark.parametrize("change", [{"n_features": 1000}, {"n_features": 8}, {"separator": "|"}])
def test_a_vectorizer_that_would_name_columns_otherwise(cls, change):
    """More columns than weights were read beyond the end of these; as many gave other labels."""
    model = crf(cls=cls)
    model.vectorizer_.set_params(**change)
    for method in (model.predict, model.predict_proba, lambda X: model.score(X, TAGS)):
        with pytest.raises(
            ValueError, match=r"of this SequenceVectorizer was .* in fit and is .*: set it back"
        ):
            method(DICTS)
    with pytest.raises(ValueError, match="set it back, or fit again"):
        save(model, "nowhere")
    model.vectorizer_.set_params(n_features=None, separator=":")
    assert len(model.predict(DICTS)) == 3


@pytest.mark.parametrize(
    ("change", "name"), [({"dtype": "int8"}, "dtype"), ({"keep_zeros": "x"}, "keep_zeros")]
)
def test_settings_of_a_vectorizer_are_looked_at(change, name):
    model = crf()
    model.vectorizer_.set_params(**change)
    with pytest.raises(ValueError, match=name):
        model.predict(DICTS)


def test_settings_of_a_vectorizer_that_change_no_column():
    model = crf()
    expected = crf().predict(DICTS).tolist()
    for change in ({"keep_zeros": True}, {"dtype": np.float32}, {"min_frequency": 9}):
        model.vectorizer_.set_params(**change)
        assert model.predict(DICTS).tolist() == expected


def test_hashing_needs_no_fit_but_keeps_what_was_fitted():
    vectorizer = SequenceVectorizer(n_features=16)
    assert vectorizer.transform(WORDS).tokens.shape[1] == 16
    assert vectorizer.set_params(n_features=32).transform(WORDS).tokens.shape[1] == 32
    vectorizer.fit(WORDS)
    with pytest.raises(
        ValueError, match="n_features of this SequenceVectorizer was 32 in fit and is 16"
    ):
        vectorizer.set_params(n_features=16).transform(WORDS)


class Wider(SequenceVectorizer):
    """Gives a column more than it has learnt."""

    def transform(self, X):
        encoded = super().transform(X)
        encoded.tokens.resize((encoded.tokens.shape[0], encoded.tokens.shape[1] + 1))
        encoded.names = None
        return encoded


@pytest.mark.parametrize("cls", CHAINS + GRAPHS_OF_SEQUENCES)
def test_x_of_another_width_meets_no_weights(cls):
    """However it came about."""
    model = crf(cls=cls)
    model.vectorizer_.__class__ = Wider
    for method in (model.predict, model.predict_proba, lambda X: model.score(X, TAGS)):
        with pytest.raises(ValueError, match="X has 9 features, but the model has weights of 8"):
            method(DICTS)


def test_a_vectorizer_that_was_fitted_again():
    model = crf(WORDS)
    model.vectorizer_.fit([["other", "words", "of", "the", "same", "number", "as"]])
    with pytest.raises(ValueError, match="feature names of X are not those"):
        model.predict(WORDS)


def test_templates_that_were_changed():
    """What they have learnt stays until they are fitted again."""
    model = MEstimatedCRF(FeatureTemplates(["%x[0,0]", "%x[-1,0]"])).fit(WORDS, TAGS)
    expected = model.predict(WORDS).tolist()
    model.features_.set_params(templates=["%x[0,0]"], boundary="pad", columns=["x"])
    assert model.predict(WORDS).tolist() == expected
    model.features_.fit([[("a",), ("b",)]])
    with pytest.raises(ValueError, match="features"):
        model.predict(WORDS)


def test_a_union_that_was_changed():
    union = SequenceUnion([("a", SequenceVectorizer()), ("b", SequenceVectorizer(separator="|"))])
    model = LinearChainCRF(max_iter=3).fit(union.fit_transform(DICTS), TAGS)
    with pytest.raises(ValueError, match="16 features"):
        model.predict(union.set_params(b="drop").transform(DICTS))
    with pytest.raises(InputTypeError, match="transformer_list must be a list of pairs"):
        union.set_params(transformer_list=[5]).transform(DICTS)
    with pytest.raises(ValueError, match="n_jobs"):
        union.set_params(n_jobs=0).transform(DICTS)


# ---- parameters of the model


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"dtype": "int8"}, "dtype"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"n_jobs": "all"}, "n_jobs"),
        ({"allowed_transitions": "BIOX"}, "allowed_transitions"),
        ({"allowed_transitions": 5}, "allowed_transitions"),
        ({"allowed_transitions": [[True]]}, "allowed_transitions"),
    ],
)
@pytest.mark.parametrize("cls", CHAINS)
def test_settings_of_a_chain_are_looked_at(cls, change, match):
    model = crf(cls=cls).set_params(**change)
    with pytest.raises(ValueError, match=match):
        model.predict(DICTS)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"dtype": "int8"}, "dtype"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"inference": "tree"}, "inference"),
        ({"max_sweeps": 0}, "max_sweeps"),
        ({"max_sweeps": 10**80}, "max_sweeps must be at most 2,147,483,647, got 1000"),
        ({"inference_tol": -1.0}, "inference_tol"),
    ],
)
@pytest.mark.parametrize("cls", GRAPHS_OF_SEQUENCES)
def test_settings_of_a_graph_are_looked_at(cls, change, match):
    model = crf(cls=cls).set_params(**change)
    for method in (model.predict, model.predict_proba, model.log_partition):
        with pytest.raises(ValueError, match=match):
            method(DICTS)


def test_a_vectorizer_of_edges_that_would_name_columns_otherwise():
    X = [(sentence, [[0, 1]], [{"far": 1.0, "near": 2.0}]) for sentence in DICTS]
    model = GRAPHS[0](max_iter=3).fit(X, TAGS)
    for vectorizer in (model.vectorizer_, model.edge_vectorizer_):
        vectorizer.set_params(n_features=1000)
        for method in (model.predict, model.predict_proba, lambda X: model.score(X, TAGS)):
            with pytest.raises(ValueError, match="set it back, or fit again"):
                method(X)
        vectorizer.set_params(n_features=None)
    model.edge_vectorizer_.__class__ = Wider
    with pytest.raises(ValueError, match="features"):
        model.predict(X)


@pytest.mark.parametrize("cls", CHAINS + GRAPHS_OF_SEQUENCES)
def test_others_are_for_the_next_fit(cls):
    model = crf(cls=cls)
    params = {
        "C": "x",
        "order": 2,
        "edge_features": "all",
        "feature_pairs": 0,
        "fit_intercept": None,
    }
    expected = model.predict(DICTS).tolist()
    model.set_params(
        **{name: value for name, value in params.items() if name in model.get_params()}
    )
    assert model.predict(DICTS).tolist() == expected


def test_order_of_a_model_over_a_base():
    model = MEstimatedCRF().fit(WORDS, TAGS)
    expected = model.predict_proba(WORDS)[2]
    np.testing.assert_array_equal(model.set_params(order=2).predict_proba(WORDS)[2], expected)


def test_how_many_grammars_vote():
    model = EMLPCFG(n_states=2, n_grammars=2, max_iter=1, tol=9.0, random_state=0).fit(WORDS, TREES)
    with pytest.raises(ValueError, match="takes one grammar, got n_grammars=2"):
        model.set_params(n_grammars=1, decoder="viterbi").predict(WORDS)


@pytest.mark.parametrize(
    ("change", "match"), [({"decoder": "beam"}, "decoder"), ({"n_jobs": 0}, "n_jobs")]
)
@pytest.mark.parametrize("cls", [PCFG, SpectralHMM])
def test_settings_of_parsers_are_looked_at(cls, change, match):
    model = cls().fit(WORDS, TREES if cls is PCFG else TAGS).set_params(**change)
    for method in (model.predict, model.score_samples):
        with pytest.raises(ValueError, match=match):
            method(WORDS)


# ---- functions


def last(x):
    return ["any", x[-1]]


def first(x):
    return ["other", x[0]]


def test_joint_features_that_were_changed(tmp_path):
    """The model keeps those of its fit; it cannot be saved with others."""
    features = ProductFeatures(last)
    model = LogLinearClassifier(features).fit(WORDS[2], TAGS[2])
    expected = model.predict_proba(WORDS[0])
    features.set_params(context=first)
    np.testing.assert_array_equal(model.predict_proba(WORDS[0]), expected)
    with pytest.raises(InputTypeError, match="features are others than in fit"):
        save(model, tmp_path / "model", functions={"first": first, "last": last})


@pytest.mark.parametrize("change", [{"features": None}, {"candidates": first}, {"n_features": 3}])
def test_the_form_of_joint_features_is_that_of_the_fit(tmp_path, change):
    model = LogLinearClassifier(ProductFeatures(last)).fit(WORDS[2], TAGS[2])
    expected = model.predict_proba(WORDS[0])
    model.set_params(**change)
    np.testing.assert_array_equal(model.predict_proba(WORDS[0]), expected)
    with pytest.raises(InputTypeError, match="are others than in fit"):
        save(model, tmp_path / "model", functions={"first": first, "last": last})


# ---- all of them

OF_X = [
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_nbest",
    "predict_edge_proba",
    "score_samples",
    "marginals",
]
OF_X_AND_Y = ["score", "log_proba", "log_joint"]
PACKAGE = Path(sklearn_struct.__file__).parent


def data(cls):
    if cls is LogLinearClassifier:
        return [[1.0], [2.0]], ["A", "B"]
    if cls in MULTILABEL:
        return np.eye(4, 3), np.array([[0, 1], [1, 0], [1, 1], [0, 0]])
    if cls in CLASSIFIERS:
        return WORDS, [f"class {i}" for i in range(len(WORDS))]
    if cls in GRAPHS:
        return [(sentence, [[0, 1]]) for sentence in WORDS], TAGS
    if cls in IMAGES:
        return [np.eye(2)[..., None]] * 2, [np.eye(2, dtype=int)] * 2
    return WORDS, TREES if cls in PARSERS else TAGS


def read_by_predictions(cls):
    """The parameters for which code of the package asks a fitted estimator while it predicts."""
    X, y = data(cls)
    names = set(cls().get_params())
    read = set()

    class Watched(cls):
        def __getattribute__(self, name):
            if name in names and Path(sys._getframe(1).f_code.co_filename).is_relative_to(PACKAGE):
                read.add(name)
            return super().__getattribute__(name)

    model = small(cls, **({"tol": 9.0} if "tol" in names else {})).fit(X, y)
    model.__class__ = Watched
    of_states = ["predict_states", "predict_state_proba"] if cls in CLASSIFIERS else []
    for method in OF_X + of_states + OF_X_AND_Y:
        if hasattr(model, method):
            getattr(model, method)(X, *[y] * (method in OF_X_AND_Y))
    # which scikit-learn's tags of LogLinearClassifier and of MultiLabelCRF depend on
    return read - {"features", "estimator"}


@pytest.mark.parametrize("cls", PREDICTORS)
def test_predictions_read_what_is_said_and_looked_at(cls):
    """A new parameter that predictions read must be checked there: `set_params` may change it."""
    assert read_by_predictions(cls) == {"n_jobs", *getattr(cls, "_settings", ())}


def test_settings_of_a_parser_that_would_be_valid_in_a_file(tmp_path):
    """numpy's True is no number for scikit-learn, and Python's is, as which it would come back."""
    model = PCFG().fit(WORDS, TREES).set_params(pruning=np.True_)
    for use in (lambda: save(model, tmp_path / "model"), lambda: model.predict(WORDS)):
        with pytest.raises(ValueError, match="'pruning' parameter of PCFG must be"):
            use()


def test_numbers_that_numpy_does_not_know():
    """A fraction is a real number, and no argument for ``isnan``, which scikit-learn's check of
    intervals calls.
    """
    model = PCFG().fit(WORDS, TREES).set_params(pruning=Fraction(1, 3))
    with pytest.raises(InputTypeError, match="'pruning' parameter of PCFG cannot be a Fraction"):
        model.predict(WORDS)
    model = LinearChainCRF().fit(WORDS, TAGS).set_params(n_jobs=np.timedelta64(1, "s"))
    with pytest.raises(
        InputTypeError, match="'n_jobs' parameter of LinearChainCRF cannot be a span of time"
    ):
        model.predict(WORDS)
