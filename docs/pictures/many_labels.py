"""What pairs of labels learn, beside the pairs of the training rows."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import MultiLabelCRF

NAMES = ["beach", "sea", "sunset", "mountain", "city"]
# log-odds with which the pairs of labels were drawn
TRUE = np.zeros((5, 5))
TRUE[0, 1] = 2.5  # beach and sea
TRUE[1, 2] = 1.0
TRUE[1, 3] = -1.5
TRUE[3, 4] = -2.5  # mountain and city
TRUE[0, 4] = -1.0
TRUE += TRUE.T

rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 5))
y = np.zeros((1000, 5), dtype=int)
for _ in range(100):  # Gibbs sampling, label after label
    for k in range(5):
        p = 1 / (1 + np.exp(-(X[:, k] - 1.0 + y @ TRUE[k])))
        y[:, k] = rng.random(1000) < p

crf = MultiLabelCRF(C=10).fit(X, y)
figure, axes = plt.subplots(1, 2, figsize=(7.5, 3.6), layout="constrained")
titles = ("as the rows were drawn", "as learned")
for ax, title, table in zip(axes, titles, (TRUE, crf.associations_), strict=True):
    image = ax.imshow(table, cmap="RdBu", vmin=-3, vmax=3)
    for (j, k), value in np.ndenumerate(table):
        if j != k:
            colour = "white" if abs(value) > 2 else "black"
            ax.text(k, j, f"{value:.1f}", ha="center", va="center", color=colour)
    ax.set(title=title)
    ax.set_xticks(range(5), NAMES, rotation=45, ha="right")
    ax.set_yticks(range(5), NAMES)
figure.colorbar(image, ax=axes, label="log-odds ratio")
