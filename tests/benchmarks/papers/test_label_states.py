"""What chains with hidden states learn from in benchmarks."""

from __future__ import annotations

import numpy as np
import pytest
from real_data import NEEDS_HOME


def test_a_fold_is_held_out():
    from papers.label_states import _parted

    rest, held = _parted([1, 2, 3, 4], [["a"], ["b"], ["c"], ["d"]], np.array([0, 1, 0, 2]), 0)
    assert rest == ([2, 4], [["b"], ["d"]])
    assert held == ([1, 3], [["a"], ["c"]])


def test_settings_say_which_model():
    from papers.label_states import FIELDS, LETTERS, model_of

    for settings in (LETTERS, FIELDS):
        names = {name: type(model_of(one)).__name__ for name, one in settings.items()}
        assert names == {"chain": "LinearChainCRF", "hidden states": "LatentChainCRF"}
    assert model_of(LETTERS["hidden states"], max_iter=7).max_iter == 7


def test_what_was_chosen_was_among_the_choices():
    from papers import label_states as benchmark

    for chosen in benchmark.LETTERS.values():
        assert chosen in benchmark.LETTER_CHOICES
    for chosen in benchmark.FIELDS.values():
        assert chosen in benchmark.FIELD_CHOICES


@NEEDS_HOME
@pytest.mark.corpus
def test_the_split_of_letters():
    from papers.label_states import letters

    train, test = letters()
    assert [sum(map(len, y)) for _, y in (train, test)] == [5_375, 46_777]
    assert [len(X) for X, _ in (train, test)] == [704, 6_173]
    assert train[0][0].shape == (len(train[1][0]), 128)
    assert set(np.unique(train[0][0])) == {0.0, 1.0}
