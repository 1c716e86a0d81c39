"""Grammars over trees in files."""

from __future__ import annotations

import re

import numpy as np
import pytest
from nltk.tree import Tree
from sklearn.pipeline import make_pipeline
from tree_checks import X, Y, fitted, outputs

from sklearn_struct import EMLPCFG, PCFG, SpectralLPCFG
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.persistence import load, save
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import Arrays
from sklearn_struct.persistence.registry import estimator, put_estimator

STRANGE = [
    Tree("A+B", [Tree("X Y", ["\ud800"]), Tree("@Z", ["^"])]),
    Tree(
        "\ud83d\ude00",
        [Tree("Z|<", ["-LRB-"]), Tree("X Y", ["a\0b"]), Tree("Q", ["😀"]), Tree("Z|<", ["UNK"])],
    ),
    Tree("A", [Tree("B", [Tree("A", [Tree("(", ["\x85"]), Tree("Q", [" "])])]), Tree("Q", ["."])]),
]
FEW = {"n_states": 3, "max_iter": 3, "random_state": 0}


def there_and_back(model, folder):
    save(model, folder / "model")
    loaded = load(folder / "model")
    save(loaded, folder / "again")
    assert (folder / "again").read_bytes() == (folder / "model").read_bytes()
    return loaded


def same(a, b):
    """Equal, arrays bit by bit."""
    if isinstance(a, np.ndarray):
        equal = a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
        return a.dtype == b.dtype and a.shape == b.shape and equal
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return bool(a == b) and (not isinstance(a, dict) or list(a) == list(b))


@pytest.mark.parametrize(
    "model",
    [
        PCFG(),
        PCFG(
            horizontal_order=2,
            vertical_order=3,
            min_frequency=1,
            decoder="max-recall",
            smoothing=0.5,
        ),
        EMLPCFG(**FEW),
        EMLPCFG(**(FEW | {"n_states": 9}), n_grammars=2, decoder="max-rule", vertical_order=2),
        EMLPCFG(**FEW, decoder="viterbi", n_jobs=2),
        SpectralLPCFG(n_states=3),
    ],
)
def test_an_equal_estimator_comes_back(tmp_path, model):
    model = fitted(model)
    loaded = there_and_back(model, tmp_path)
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert vars(loaded).keys() == vars(model).keys()
    for name, value in vars(model).items():
        assert same(value, vars(loaded)[name]), name
    assert outputs(loaded) == outputs(model)
    assert outputs(fitted(loaded)) == outputs(model)


@pytest.mark.parametrize(
    "model", [PCFG(horizontal_order=3, vertical_order=4), EMLPCFG(n_states=2, tol=9.0)]
)
def test_labels_and_words_of_any_characters(tmp_path, model):
    sentences = [tree.leaves() for tree in STRANGE]
    loaded = there_and_back(model.fit(sentences, STRANGE), tmp_path)
    assert same(loaded._codes, model._codes)
    assert list(loaded.predict(sentences)) == list(model.predict(sentences))
    assert (
        loaded.log_joint(sentences, STRANGE).tolist()
        == model.log_joint(sentences, STRANGE).tolist()
    )


@pytest.mark.parametrize("model", [PCFG(), EMLPCFG(n_states=2, tol=9.0)])
def test_a_grammar_without_rules(tmp_path, model):
    """Sentences of single words have none."""
    loaded = there_and_back(
        model.fit([["yes"], ["no"], ["no"]], ["(S (U yes))", "(S (U no))", "(U no)"]), tmp_path
    )
    assert len(loaded._model.grammar.parent) == 0
    assert same(loaded._model, model._model)
    assert list(loaded.predict([["no"], ["Yes"]])) == list(model.predict([["no"], ["Yes"]]))


def test_a_pipeline_and_a_changed_parameter(tmp_path):
    pipeline = make_pipeline("passthrough", fitted(PCFG()))
    pipeline[-1].set_params(decoder="max-recall", vertical_order=1)  # the grammar keeps its own
    loaded = there_and_back(pipeline, tmp_path)
    assert outputs(loaded[-1]) == outputs(pipeline[-1])
    assert loaded[-1]._codes.orders == (1, 2)


def test_only_the_last_step_is_a_parser(tmp_path):
    pipeline = make_pipeline(fitted(PCFG()), fitted(PCFG()))
    with pytest.raises(ModelFileError, match="must be the last step"):
        save(pipeline, tmp_path / "model")


def test_a_cache_that_is_an_object_cannot_be_saved(tmp_path):
    import joblib

    model = PCFG(memory=joblib.Memory(None)).fit(X, Y)
    with pytest.raises(InputTypeError, match="memory: Memory"):
        save(model, tmp_path / "model")


def damage(change):
    """A model with one thing wrong: its JSON, and its arrays."""
    model = EMLPCFG(**(FEW | {"tol": 9.0}), horizontal_order=1, vertical_order=2).fit(
        X[:40], Y[:40]
    )
    shared = Shared(Arrays())
    stored = put_estimator(model, "", shared)
    change(stored["state"]["model"]["parser"], shared.arrays)
    return stored, shared


def put(name, place, value):
    """Another number in an array."""

    def change(state, arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value

    return change


def other(name, array):
    return lambda state, arrays: arrays.update({name: array(arrays[name])})


def symbol(**parts):
    """The last symbol, or the one of this number, with other parts."""
    number = parts.pop("number", -1)
    return lambda state, arrays: state["symbols"][number].update(parts)


def swapped(state, arrays):
    state["symbols"][0], state["symbols"][-1] = state["symbols"][-1], state["symbols"][0]


def without_tags(state, arrays):
    """The first word has none."""
    n = arrays["entries/indptr"][1]
    arrays["entries/indices"] = arrays["entries/indices"][n:]
    arrays["entries/indptr"] = np.maximum(arrays["entries/indptr"] - n, 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda state, arrays: state.update(orders=[1]), "a horizontal order"),
        (lambda state, arrays: state.update(orders=[1, True]), "a horizontal order"),
        (lambda state, arrays: state.update(orders=[1, 0]), "a horizontal order"),
        (lambda state, arrays: state.update(orders=[-1, 2]), "an order is not a number"),
        (lambda state, arrays: state.update(orders=[0, 2]), "no symbol of the orders (0, 2): '@"),
        (lambda state, arrays: state.update(orders=[1, 1]), "no symbol of the orders (1, 1)"),
        (lambda state, arrays: state.update(symbols=[]), "symbols must be different"),
        (lambda state, arrays: state["symbols"].pop(), "rules are of symbols"),
        (
            lambda state, arrays: state["symbols"].append(state["symbols"][-1]),
            "symbols must be different",
        ),
        (swapped, "tags first"),
        (symbol(chain=[]), "no symbol of the orders"),
        (symbol(chain=["A", ""]), "not empty"),
        (symbol(chain=["A", 3]), "not empty"),
        (symbol(chain="A"), "chain cannot be of type str"),
        (symbol(above=[["A"]]), "not empty"),
        (symbol(siblings=["A", "B"]), "no symbol of the orders"),
        (symbol(siblings=[None]), "not empty"),
        (symbol(tag=1), "tag cannot be of type int"),
        (symbol(tag=True), "no symbol of the orders"),
        (symbol(number=0, above=["A"]), "no symbol of the orders"),
        (symbol(number=0, siblings=[]), "no symbol of the orders"),
        (put("rules/left", 0, -1), "rules are of symbols"),
        (put("rules/right", 0, 2**31 - 1), "rules are of symbols"),
        (put("rules/parent", 3, 0), "rules are of symbols"),
        (other("rules/parent", lambda a: a[1:]), "a rule has three symbols"),
        (other("rules/left", lambda a: a[::-1].copy()), "in order"),
        (other("rules/left", lambda a: a.astype(np.int64)), "no array 'rules/left'"),
        (put("entries/indptr", 1, 2**40), "other bounds"),
        (without_tags, "a word has no tag"),
        (put("entries/indices", 0, 2**20), "ascending"),
        (put("entries/indices", 0, -1), "ascending"),
        (other("words/ends", lambda a: a - 1), "strings do not end"),
        (
            lambda state, arrays: arrays.update(
                {"words/ends": arrays["words/ends"] * 0, "words/utf8": np.empty(0, "u1")}
            ),
            "occurs twice",
        ),
        (put("log_p/rule", 0, np.nan), "log_p/rule must have log-probabilities"),
        (put("log_p/root", 0, np.inf), "log_p/root must have log-probabilities"),
        (other("log_p/leaf", lambda a: a[1:]), "log_p/leaf must have log-probabilities"),
        (put("tag_counts", 0, -1), "tag_counts must be"),
        (other("tag_counts", lambda a: a[1:]), "tag_counts must be"),
        (put("n_states", 0, 0), "n_states must be"),
        (put("n_states", 0, 2**31 - 1), "states/0/rule must have"),
        (other("n_states", lambda a: a * 46341), "states/0/rule must have"),
        (other("n_states", lambda a: a[1:]), "n_states must be"),
        (put("states/0/rule", 5, np.nan), "finite"),
        (put("states/0/root", 0, np.inf), "finite"),
        (other("states/0/leaf", lambda a: a[1:]), "states/0/leaf must have"),
        (other("states/0/leaf", lambda a: a.astype(np.float32)), "no array 'states/0/leaf'"),
        (lambda state, arrays: arrays.pop("states/0/root"), "states/0/root must have"),
    ],
)  # fmt: skip
def test_damaged_models_are_refused(change, said):
    stored, shared = damage(change)
    with pytest.raises(ModelFileError, match=re.escape(said)):
        estimator(stored, "", shared)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda state: state.update(n_iter=-1), "n_iter"),
        (lambda state: state["model"].update(n_grammars=2**62), "states/1/rule must have"),
        (lambda state: state["model"].update(n_grammars=0), "at least one grammar"),
        (lambda state: state["model"].update(more=0), "must have the fields"),
    ],
)
def test_damaged_states_are_refused(change, said):
    stored, shared = damage(lambda state, arrays: None)
    change(stored["state"])
    with pytest.raises(ModelFileError, match=re.escape(said)):
        estimator(stored, "", shared)


def test_other_words_have_all_tags():
    """Else there might be no tag for a word."""
    model = PCFG().fit(X, Y)
    words = model._codes.lexicon
    shorter = words._replace(indptr=words.indptr.copy(), symbol=words.symbol[:-1])
    shorter.indptr[-1] -= 1
    model._codes = model._codes._replace(lexicon=shorter)
    shared = Shared(Arrays())
    stored = put_estimator(model, "", shared)
    with pytest.raises(ModelFileError, match="other words lack one"):
        estimator(stored, "", shared)
