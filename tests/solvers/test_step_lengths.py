"""Steps of stochastic average gradient get shorter where points go to and fro."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.solvers import step_lengths as module


def test_a_straight_way_is_followed_and_a_crooked_one_gets_shorter_steps():
    course = module.Course(np.zeros(2))
    assert course.follow(np.array([1.0, 0.0])) is None
    np.testing.assert_allclose(course.follow(np.array([1.5, 0.0])), [0.5, 0.0])  # 1/4 + 1/8 + ...
    np.testing.assert_allclose(course.follow(np.array([2.0, 0.0])), [1.5, 0.0])  # not forever
    assert course.follow(np.array([2.0, 1.0])) is None
    assert course.length == module.SHORTER
    assert course.follow(np.array([2.0, 0.5])) is None
    assert course.length == module.SHORTER**2
    assert course.follow(np.array([2.0, 0.2])) is not None
    assert course.length == pytest.approx(module.SHORTER)
