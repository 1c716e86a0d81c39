"""Log-linear models of trees in files."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz import files
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sklearn_struct import PCFG, MEstimatedPCFG
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.grammars.fragments import TEMPLATES
from sklearn_struct.persistence import load, save

WORDS = files.WORDS
TREES = files.TREES
QUICK = {"max_iter": 5, "tol": 9.0}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {
            "templates": TEMPLATES,
            "pieces": "trees",
            "C": 10.0,
            "constant": False,
            "decoder": "viterbi",
        },
        {"templates": "rule-word", "base": PCFG(smoothing=0.5, vertical_order=1)},
        {"base": FrozenEstimator(PCFG().fit(WORDS, TREES)), "l1_ratio": 1.0},
    ],
)
def test_an_equal_model_comes_back(tmp_path, options):
    parser = MEstimatedPCFG(**QUICK, **options).fit(WORDS, TREES)
    save(parser, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert repr(loaded) == repr(parser)
    assert list(map(str, loaded.predict(WORDS))) == list(map(str, parser.predict(WORDS)))
    np.testing.assert_array_equal(loaded.score_samples(WORDS), parser.score_samples(WORDS))
    np.testing.assert_array_equal(loaded.log_joint(WORDS, TREES), parser.log_joint(WORDS, TREES))
    assert loaded.marginals(WORDS).tolist() == parser.marginals(WORDS).tolist()
    for name in ("coef_", "feature_names_", "symbols_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(parser, name))
    for name in ("constant_", "n_iter_", "loss_curve_", "tags_"):
        assert getattr(loaded, name) == getattr(parser, name)
    again = clone(loaded).fit(WORDS, TREES)
    np.testing.assert_array_equal(again.coef_, parser.coef_)


def test_a_base_that_was_fitted_again(tmp_path):
    base = PCFG().fit(WORDS, TREES)
    parser = MEstimatedPCFG(base=FrozenEstimator(base), **QUICK).fit(WORDS, TREES)
    base.fit(WORDS[:2], TREES[:2])
    with pytest.raises(InputTypeError, match="another one than in fit"):
        save(parser, tmp_path / "model")


@pytest.mark.parametrize("template", TEMPLATES)
def test_pieces_that_no_tree_has(tmp_path, template):
    """A code that is larger, or belongs to another place of the tree."""
    parser = MEstimatedPCFG(template, **QUICK).fit(WORDS, TREES)
    save(parser, tmp_path / "model")
    [codes] = parser._fragments.codes
    for wrong in (-1, int(codes[-1]) * 100 + 10**6):
        changed = np.sort(np.append(codes[1:], wrong))
        parser._fragments = parser._fragments._replace(codes=(changed,))
        with pytest.raises(ModelFileError, match=r"pieces that no tree has|ascending"):
            save(parser, tmp_path / "model")
