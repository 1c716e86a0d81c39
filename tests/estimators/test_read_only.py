"""What properties make of learned attributes cannot be written into: that would change nothing."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from fuzz.subjects import first
from public_estimators import public_classes

from sklearn_struct import HMM, GraphCRF, LinearChainCRF
from sklearn_struct.persistence import load, save

WORDS = [["the", "cat", "sleeps"], ["a", "dog"]]
TAGS = [["DET", "NOUN", "VERB"], ["DET", "NOUN"]]
NUMBERS = [np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0]]), np.array([[0.5, 1.0], [1.0, 0.0]])]


def properties(cls):
    """Names of those that show what was learned."""
    names = [name for name in dir(cls) if name.endswith("_") and not name.startswith("_")]
    return [name for name in names if isinstance(getattr(cls, name), property)]


def arrays(value):
    """All arrays in a value."""
    if isinstance(value, np.ndarray):
        return [value]
    if sp.issparse(value):
        return [value.data]
    if isinstance(value, dict):
        value = list(value.values())
    return [a for item in value for a in arrays(item)] if isinstance(value, list | tuple) else []


def made(model):
    """By names of properties the arrays that these make; not those that the model stores."""
    values = {name: getattr(model, name, None) for name in properties(type(model))}
    stored = {id(value) for value in vars(model).values()}
    return {name: arrays(value) for name, value in values.items() if id(value) not in stored}


@pytest.mark.parametrize(
    "cls", [*filter(properties, public_classes())], ids=lambda cls: cls.__name__
)
def test_what_a_property_makes_is_read_only(cls):
    model = first(cls).fitted()
    assert {
        name: [a.flags.writeable for a in of_name] for name, of_name in made(model).items()
    } == {name: [False] * len(of_name) for name, of_name in made(model).items()}


def fitted_models():
    return {
        "chain of words": LinearChainCRF().fit(WORDS, TAGS),
        "chain of numbers": LinearChainCRF(order=2, edge_features="all").fit(NUMBERS, TAGS),
        "graph": GraphCRF().fit([(words, [[0, 1]]) for words in WORDS], TAGS),
    }


COPIES = {
    "itself": lambda model, path: model,
    "a copy": lambda model, path: copy.deepcopy(model),
    "pickled": lambda model, path: pickle.loads(pickle.dumps(model)),
    "saved": lambda model, path: load(saved(model, path)),
}
ATTRIBUTES = {
    "chain of words": ["coef_", "transition_", "intercept_"],
    "chain of numbers": ["coef_", "transition_", "transition2_", "edge_coef_", "edge_features_"],
    "graph": ["coef_", "transition_", "clique_transition_"],
}


def saved(model, path):
    save(model, path)
    return path


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize(("name", "attribute"), [(n, a) for n in ATTRIBUTES for a in ATTRIBUTES[n]])
def test_writing_is_an_error_of_numpy(name, attribute, way, tmp_path):
    model = COPIES[way](fitted_models()[name], tmp_path / "model.safetensors")
    before = arrays(getattr(model, attribute))
    assert before
    table = getattr(model, attribute)
    if isinstance(table, dict):
        table = table["edges"]
    place = (0,) * table.ndim
    with pytest.raises(ValueError, match="read-only"):
        table[place] = 5
    with pytest.raises(ValueError, match="read-only"):
        table *= 2
    for now, then in zip(arrays(getattr(model, attribute)), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_a_new_place_of_a_sparse_matrix_is_an_error_too():
    coef = LinearChainCRF().fit(WORDS, TAGS).coef_
    row, column = np.argwhere(coef.toarray() == 0)[0]
    with pytest.raises(ValueError, match="read-only"), pytest.warns(sp.SparseEfficiencyWarning):
        coef[row, column] = 1.0


def test_a_copy_may_be_changed():
    crf = LinearChainCRF().fit(WORDS, TAGS)
    for attribute in ("coef_", "transition_"):
        mine = getattr(crf, attribute).copy()
        mine *= 2
        assert abs(mine - 2 * getattr(crf, attribute)).max() == 0


def test_what_is_stored_may_be_written_into():
    """It is what predictions read."""
    hmm = HMM().fit(NUMBERS, TAGS)
    before = hmm.score_samples(NUMBERS)
    assert hmm.variances_ is hmm.covariances_
    hmm.variances_[:] = 7.0
    assert hmm.covariances_[0, 0] == 7.0
    assert np.all(hmm.score_samples(NUMBERS) != before)
    full = HMM(covariance_type="full").fit(NUMBERS, TAGS)
    with pytest.raises(ValueError, match="read-only"):
        full.variances_[:] = 7.0
