"""Files that are right in form and ask for what no fitted model has."""

from __future__ import annotations

import pytest
from fuzz import files

from sklearn_struct import LinearChainCRF, SequenceVectorizer
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence import load, save

WORDS = [["the", "cat", "sleeps"], ["a", "dog"]]
TAGS = [["DET", "NOUN", "VERB"], ["DET", "NOUN"]]


def changed(path, change):
    """Change the JSON of a file, under the right checksum."""
    header, model, arrays = files.taken_apart(path.read_bytes())
    change(model["estimator"])
    path.write_bytes(files.sealed(files.put_together(header, model, arrays)))


def in_the_vectorizer(**params):
    return lambda estimator: estimator["state"]["vectorizer"]["params"].update(params)


@pytest.mark.parametrize("n_features", [1000, 5])
def test_a_vectorizer_with_names_that_hashes(tmp_path, n_features):
    """It would give other columns than those that have weights."""
    path = tmp_path / "model"
    save(LinearChainCRF(tol=0.1).fit(WORDS, TAGS), path)
    changed(path, in_the_vectorizer(n_features=n_features))
    with pytest.raises(ModelFileError, match="not both"):
        load(path)


def test_a_vectorizer_that_hashes_into_other_columns(tmp_path):
    path = tmp_path / "model"
    save(SequenceVectorizer(n_features=16).fit(WORDS), path)
    changed(path, lambda estimator: estimator["params"].update(n_features=17))
    with pytest.raises(ModelFileError, match="a vectorizer of 16 columns has other names"):
        load(path)


def test_a_vectorizer_that_was_never_fitted_hashes_again(tmp_path):
    path = tmp_path / "model"
    save(SequenceVectorizer(n_features=16), path)
    assert load(path).set_params(n_features=17).transform(WORDS).tokens.shape[1] == 17
