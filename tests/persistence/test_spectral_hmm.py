"""Hidden Markov models whose labels have states in files."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz import files

from sklearn_struct import SpectralHMM, SpectralLPCFG
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.persistence import load, save

WORDS = files.WORDS
TAGS = files.TAGS
UNKNOWN = [["The", "mouse", "sleeps"], [], ["x1-Y"]]


def first_word(nodes, t):
    return str(t)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_states": 3, "nodes": "one", "random_state": 0, "decoder": "viterbi"},
        {"n_states": 2, "nodes": "one-unweighted", "random_state": 0, "svd_solver": "randomized"},
        {"n_states": 1, "min_frequency": 1, "unknown_weight": 0.5},
    ],
)
def test_an_equal_model_comes_back(tmp_path, options):
    hmm = SpectralHMM(**options).fit(WORDS, TAGS)
    save(hmm, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.get_params() == hmm.get_params()
    for X in (WORDS, UNKNOWN):
        assert loaded.predict(X).tolist() == hmm.predict(X).tolist()
        assert all(map(np.array_equal, loaded.predict_proba(X), hmm.predict_proba(X)))
        np.testing.assert_array_equal(loaded.score_samples(X), hmm.score_samples(X))
    np.testing.assert_array_equal(loaded.log_joint(WORDS, TAGS), hmm.log_joint(WORDS, TAGS))
    for name in ("classes_", "n_states_", "singular_values_", "n_negative_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(hmm, name))


@pytest.mark.parametrize("model", [SpectralHMM, SpectralLPCFG])
def test_functions_in_a_list_go_by_their_names(tmp_path, model):
    y = TAGS if model is SpectralHMM else files.TREES
    fitted = model(n_states=1, inside_features=[first_word]).fit(WORDS, y)
    with pytest.raises(InputTypeError, match=r"functions=\{'inside_features': first_word\}"):
        save(fitted, tmp_path / "model")
    save(fitted, tmp_path / "model", functions={"first": first_word})
    loaded = load(tmp_path / "model", functions={"first": first_word})
    assert loaded.inside_features == [first_word]
    with pytest.raises(ModelFileError, match="it needs the function 'first'"):
        load(tmp_path / "model")


def test_what_is_no_distribution_of_labels(tmp_path):
    hmm = SpectralHMM(n_states=1).fit(WORDS, TAGS)
    hmm._frequency = hmm._frequency * 2
    with pytest.raises(ModelFileError, match="frequency must be probabilities"):
        save(hmm, tmp_path / "model")
