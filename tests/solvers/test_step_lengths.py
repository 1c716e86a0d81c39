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


def test_steps_are_halved_where_points_do_not_come_down():
    """Above the lowest value, and not below the last one."""
    course = module.Course(np.zeros(2))
    values = [5.0, 7.0, 6.5, 6.0, 6.2, 5.5, 5.4, 5.4, 4.0]
    lengths = []
    for n, value in enumerate(values, 1):
        course.come_to(module.PATIENCE * n, value, min(values[:n]))
        lengths.append(course.length)
    assert lengths == [1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125]
