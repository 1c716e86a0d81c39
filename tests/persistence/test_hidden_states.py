"""Chains of hidden states, to files and back; files that lie about states."""

from __future__ import annotations

import numpy as np
import pytest
from states_in_files import check_there_and_back

from sklearn_struct import HiddenStateClassifier, LatentChainCRF
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence import hidden_states

WORDS = [["the", "cat", "sleeps"], ["a", "dog"], ["the", "dog", "barks", "."]]
TAGS = [["DET", "NOUN", "VERB"], ["DET", "NOUN"], ["DET", "NOUN", "VERB", "."]]
NUMBERS = [np.arange(3.0 * len(words)).reshape(-1, 3) % 4 for words in WORDS]
OPTIONS = [
    {},
    {"n_states": 1},
    {"n_states": {"NOUN": 3, "DET": 1}, "order": 2},
    {"n_states": {"DET": 0}, "shared_states": {("DET", "VERB"): 2}, "edge_features": "all"},
    {"state_transitions": "left-to-right", "transition_features": "observed"},
    {"state_transitions": {"NOUN": [[True, False], [True, True]]}, "decoder": "viterbi"},
]


def fitted(options, X=WORDS):
    return LatentChainCRF(random_state=0, tol=0.1, **options).fit(X, TAGS)


@pytest.mark.parametrize("X", [WORDS, NUMBERS], ids=["words", "numbers"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_there_and_back(options, X, tmp_path):
    check_there_and_back(fitted(options, X), X, TAGS, tmp_path / "model")


def lies(name, value):
    """A model whose file has another array in the place of one."""

    def put(chain, where, shared):
        told = hidden_states.put_latent(chain, where, shared)
        shared.arrays[where + name] = value
        return told

    return put


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("label of state", np.array([0, 0, 1, 1, 2, 2, 3, 4]), "each label must have a state"),
        ("label of state", np.array([0, 0, 0, 1, 1, 2, 2, 2]), "each label must have a state"),
        ("label of state", np.array([0, 0, 1, 1, 3, 3, 3, 3]), "from 0 on, in order"),
        ("label of state", np.array([1, 1, 1, 1, 2, 2, 3, 3]), "from 0 on, in order"),
        ("label of state", np.zeros(0, np.int64), "from 0 on, in order"),
        ("group of state", np.arange(7), "each state must have a group"),
        ("group of state", np.arange(8) - 1, "each state must have a group"),
        ("first states", np.ones(7, bool), "steps of 8 states"),
        ("steps", np.ones((8, 7), bool), "steps of 8 states"),
        ("steps", np.ones((8, 8)), "no array 'steps' of 2 dimensions of bool"),
    ],
    ids=str,
)
def test_lies_about_states(name, value, message):
    """The reader of what `put_latent` writes, without a file around it."""
    from sklearn_struct.persistence.encoders import Shared
    from sklearn_struct.persistence.plain_values import Arrays

    crf = fitted({"state_transitions": "left-to-right"}, NUMBERS)
    shared = Shared(Arrays(), [])
    told = lies(name, value)(crf, "", shared)
    with pytest.raises(ModelFileError, match=message):
        hidden_states.read_latent(LatentChainCRF(), told, "", shared)


# ------------------------------------------------------------------ classes of whole sequences

CLASSES = ["question", "answer", "question"]
OF_CLASSIFIERS = [
    {},
    {"n_states": 1, "fit_intercept": False},
    {"tied": True, "tied_transitions": True, "dtype": "float32"},
    {"state_transitions": "left-to-right", "solver": "em", "n_init": 2},
]


def classifier(options, X=WORDS):
    settings = {"n_states": 2, "random_state": 0, "max_iter": 5, "tol": 9.0}
    return HiddenStateClassifier(**settings | options).fit(X, CLASSES)


@pytest.mark.parametrize("X", [WORDS, NUMBERS], ids=["words", "numbers"])
@pytest.mark.parametrize("options", OF_CLASSIFIERS, ids=str)
def test_classifiers_there_and_back(options, X, tmp_path):
    check_there_and_back(classifier(options, X), X, CLASSES, tmp_path / "model")


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        ({"label of state": np.array([0, 1, 1, 1])}, "all classes must have as many states"),
        # weights of a feature for each pair of the four states
        (
            {"edge_columns": np.array([0]), "w": np.zeros(40)},
            "moves between states of classes have no features",
        ),
    ],
    ids=str,
)
def test_lies_about_states_of_classes(lie, message):
    from sklearn_struct.persistence.encoders import Shared
    from sklearn_struct.persistence.plain_values import Arrays

    shared = Shared(Arrays(), [])
    told = hidden_states.put_latent(classifier({}, NUMBERS), "", shared)
    for name, value in lie.items():
        shared.arrays[name] = value
    with pytest.raises(ModelFileError, match=message):
        hidden_states.read_classes(HiddenStateClassifier(), told, "", shared)
