"""Shares of planes, against the same with dense slopes."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.losses.planes import MOST, Planes


def filled(rng, n_planes, size=6):
    """Random planes whose slopes are mostly zero; potentials are the parameters themselves."""
    planes = Planes()
    slopes = [np.zeros(size)]
    for _ in range(n_planes):
        slope = rng.normal(size=size) * (rng.uniform(size=size) < 0.6)
        slopes.append(slope)
        planes.add(slope, float(rng.uniform()), slope)
    return planes, np.array(slopes)


def test_values_and_products():
    rng = np.random.default_rng(0)
    planes, slopes = filled(rng, 5)
    theta = rng.normal(size=6)
    np.testing.assert_allclose(planes.values(theta), planes.offset + slopes @ theta, rtol=1e-14)
    np.testing.assert_allclose(planes.product, slopes @ slopes.T, rtol=1e-13, atol=1e-15)
    assert planes.height == 0.0


@pytest.mark.parametrize("curvature", [0.01, 1.0, 100.0])
def test_shares_are_the_best_ones(curvature):
    """The dual of the term, sum of shares times offsets less half the squared length of the mean,
    is as high as any other shares make it.
    """
    rng = np.random.default_rng(1)
    planes, slopes = filled(rng, 4)

    def dual(share):
        mean = share @ slopes
        return share @ planes.offset - curvature / 2 * mean @ mean

    theta = np.zeros(6)
    for _ in range(30):
        before = planes.share.copy()
        change = np.zeros(6)
        planes.share_anew(theta, curvature, 1.0, change)
        assert planes.share.min() >= 0.0
        assert planes.share.sum() == pytest.approx(1.0, abs=1e-12)
        assert dual(planes.share) >= dual(before) - 1e-15
        np.testing.assert_allclose(change, (planes.share - before) @ slopes, atol=1e-14)
        theta = theta - curvature * change
    best = dual(planes.share)
    others = rng.dirichlet(np.ones(5), size=2000)
    assert best >= max(map(dual, others)) - 1e-12
    # in any direction towards a single plane nothing is to be gained
    for p in range(5):
        moved = 0.999 * planes.share
        moved[p] += 0.001
        assert dual(moved) <= best + 1e-9


def test_of_two_planes_a_single_move_is_the_best():
    """In closed form, by the length of the difference of both slopes."""
    planes = Planes()
    slopes = np.array([[2.0, 1.0], [1.0, 1.5]])
    for slope, offset in zip(slopes, [5.0, 5.75], strict=True):
        planes.add(slope, offset, slope)
    planes.share[:] = [0.0, 1.0, 0.0]
    planes.share_anew(np.zeros(2), 2.0, 1.0, np.zeros(2))
    moved = 0.75 / (2.0 * (1.0 + 0.25))
    np.testing.assert_allclose(planes.share, [0.0, 1.0 - moved, moved], rtol=1e-12)


def test_one_visit_gets_nearly_all_that_a_term_can_gain():
    """The dual of many visits is hardly higher than that of one."""
    for seed in range(10):
        planes, slopes = filled(np.random.default_rng(seed), 6)
        duals = []
        theta = np.zeros(6)
        for _ in range(30):
            change = np.zeros(6)
            planes.share_anew(theta, 1.0, 1.0, change)
            theta -= change
            mean = planes.share @ slopes
            duals.append(planes.share @ planes.offset - mean @ mean / 2)
        assert 0.98 * duals[-1] <= duals[0] <= duals[-1] + 1e-12


def test_the_gap_is_what_the_highest_plane_has_above_the_mean():
    planes, _ = filled(np.random.default_rng(2), 3)
    theta = np.random.default_rng(3).normal(size=6)
    values = planes.values(theta)
    change = np.zeros(6)
    gap = planes.share_anew(theta, 1.0, 1.0, change)
    assert gap == pytest.approx(values.max() - values[0], rel=1e-14)
    assert np.any(change)
    # nothing moves where the mean is the highest already
    alone = Planes()
    change = np.zeros(6)
    assert alone.share_anew(theta, 1.0, 1.0, change) == 0.0
    assert not np.any(change)


def test_the_point_itself_may_be_moved():
    planes, _ = filled(np.random.default_rng(6), 4)
    others, _ = filled(np.random.default_rng(6), 4)
    theta = np.random.default_rng(7).normal(size=6)
    moved = theta.copy()
    gap = planes.share_anew(moved, 0.5, -0.5, moved)
    change = np.zeros(6)
    assert others.share_anew(theta, 0.5, 1.0, change) == gap
    assert np.any(change)
    np.testing.assert_array_equal(planes.share, others.share)
    np.testing.assert_allclose(moved, theta - 0.5 * change, rtol=1e-14)


def test_planes_without_a_share_make_room():
    rng = np.random.default_rng(4)
    planes, _ = filled(rng, MOST - 1)
    planes.share_anew(rng.normal(size=6), 1.0, 1.0, np.zeros(6))
    kept = planes.share > 0
    kept[0] = True
    shares = planes.share[kept]
    offsets = planes.offset[kept]
    values = planes.values(np.ones(6))[kept]
    slope = rng.normal(size=6)
    planes.add(slope, 0.5, slope)
    assert len(planes) == kept.sum() + 1 < MOST
    np.testing.assert_array_equal(planes.share, [*shares, 0.0])
    np.testing.assert_array_equal(planes.offset, [*offsets, 0.5])
    np.testing.assert_allclose(planes.values(np.ones(6)), [*values, 0.5 + slope.sum()], rtol=1e-13)
    assert planes.product.shape == (len(planes), len(planes))
