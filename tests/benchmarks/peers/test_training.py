"""Time to an objective."""

from __future__ import annotations


def test_time_to_a_value():
    from peers.training import first_within

    assert first_within([(0.1, 5.0), (0.2, 2.0), (0.3, 3.0)], 3.0) == 0.2
    assert first_within([(0.1, 5.0)], 3.0) == float("inf")
