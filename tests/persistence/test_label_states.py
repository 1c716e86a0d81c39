"""States of labels of graphs, to files and back; files that lie about them."""

from __future__ import annotations

import numpy as np
import pytest
from states_in_files import check_there_and_back

from sklearn_struct import GraphCRF, SkipChainCRF
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence import graphs, load, save
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import Arrays

WORDS = [["the", "cat", "sleeps"], ["a", "dog"], ["the", "dog", "barks", "."]]
TAGS = [["DET", "NOUN", "VERB"], ["DET", "NOUN"], ["DET", "NOUN", "VERB", "."]]
EDGES = [[[0, 1], [1, 2], [2, 0]], [[0, 1]], [[1, 0], [1, 2], [3, 2], [0, 3]]]
NUMBERS = [np.arange(3.0 * len(words)).reshape(-1, 3) % 4 for words in WORDS]
OPTIONS = [
    {},
    {"n_states": 1},
    {"n_states": {"NOUN": 3, "DET": 1}, "symmetric": True, "decoder": "states"},
    {"n_states": {"DET": 0}, "shared_states": {("DET", "VERB"): 2}, "solver": "em"},
    {"inference": "bp", "init": "random", "n_init": 2, "dtype": "float32"},
]


def fitted(options, X=WORDS):
    given = {"n_states": 2, "random_state": 0, "max_iter": 5, "tol": 9.0} | options
    return GraphCRF(**given).fit(list(zip(X, EDGES, strict=True)), TAGS)


@pytest.mark.parametrize("X", [WORDS, NUMBERS], ids=["words", "numbers"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_there_and_back(options, X, tmp_path):
    given = list(zip(X, EDGES, strict=True))
    check_there_and_back(fitted(options, X), given, TAGS, tmp_path / "model")


def test_models_without_states_have_none_in_files(tmp_path):
    crf = fitted({"n_states": None})
    save(crf, tmp_path / "model")
    assert b"label of state" not in (tmp_path / "model").read_bytes()
    assert not hasattr(load(tmp_path / "model"), "states_")


@pytest.mark.parametrize(
    ("arrays", "told", "message"),
    [
        ({"label of state": np.array([0, 0, 1, 1, 2, 2, 3, 4])}, {}, "each label must have a"),
        ({"label of state": np.array([0, 0, 0, 1, 1, 2, 2, 2])}, {}, "each label must have a"),
        ({"label of state": np.array([0, 0, 1, 1, 3, 3, 3, 3])}, {}, "from 0 on, in order"),
        ({"label of state": np.zeros(0, np.int64)}, {}, "from 0 on, in order"),
        ({"label of state": np.array([0, 1, 2, 3])}, {}, "each state must have a group"),
        ({"group of state": np.arange(8) - 1}, {}, "each state must have a group"),
        (
            {"label of state": np.array([0, 1, 2, 3]), "group of state": np.arange(4)},
            {},
            "numbers below 16",
        ),
        ({}, {"states": False}, "named where there are some"),
        ({}, {"states": 1}, "states"),
    ],
    ids=str,
)
def test_lies_about_states(arrays, told, message):
    """The reader of what `put_graphs` writes, without a file around it."""
    shared = Shared(Arrays(), [])
    stored = graphs.put_graphs(fitted({}, NUMBERS), "", shared) | told
    for name, value in arrays.items():
        shared.arrays[name] = value
    with pytest.raises(ModelFileError, match=message):
        graphs.read_graphs(GraphCRF(), stored, "", shared)


def test_other_graphs_have_no_states():
    shared = Shared(Arrays(), [])
    stored = graphs.put_graphs(fitted({}, NUMBERS), "", shared)
    with pytest.raises(ModelFileError, match="labels of a SkipChainCRF have no states"):
        graphs.read_graphs(SkipChainCRF(), stored, "", shared)
