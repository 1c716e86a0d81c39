"""What weights of neighbours do to scores of labels, without and with contrast."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import GridCRF
from sklearn_struct.inspection import GridDisplay

SHAPE = (32, 40)
rng = np.random.default_rng(1)


def scene() -> np.ndarray:
    """A bar and a disc on a ground."""
    row, column = np.indices(SHAPE)
    labels = np.zeros(SHAPE, int)
    left = rng.integers(3, 30)
    labels[:, left : left + 4] = 1
    centre = rng.uniform(8, [SHAPE[0] - 8, SHAPE[1] - 8])
    labels[(row - centre[0]) ** 2 + (column - centre[1]) ** 2 < 49] = 2
    return labels


y = np.array([scene() for _ in range(12)])
scores = np.eye(3)[y] + rng.normal(scale=0.7, size=(*y.shape, 3))
pictures = np.array([0.3, 0.6, 0.9])[y] + rng.normal(scale=0.1, size=y.shape)
X = list(zip(scores, pictures, strict=True))

panels = {"truth": y[0], "largest score": scores[0].argmax(axis=-1)}
for pairwise in ("potts", "contrast"):
    crf = GridCRF(unary="scores", pairwise=pairwise, decoder="marginal").fit(X[1:], y[1:])
    panels[f'"{pairwise}"'] = crf.predict(X[:1])[0]

figure, axes = plt.subplots(1, 5, figsize=(11, 2.2), layout="constrained")
axes[0].imshow(pictures[0], cmap="gray")
axes[0].set(title="picture", xticks=[], yticks=[])
for ax, (title, labels) in zip(axes[1:], panels.items(), strict=True):
    display = GridDisplay(None, labels, classes=range(3))
    display.plot([ax], titles=("", "", title), legend=ax is axes[-1])
