"""Label bias: a MEMM cannot take back what it decided before."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import MEMM, LinearChainCRF
from sklearn_struct.inspection import MarginalDisplay

# "rib" goes through the labels 1 2 3, "rob" through 4 5 6; "rob" is more frequent
X = [list("rib")] * 4 + [list("rob")] * 6
y = [list("123")] * 4 + [list("456")] * 6

figure, axes = plt.subplots(1, 2, figsize=(6, 2.8), sharey=True, layout="constrained")
for ax, model in zip(axes, [LinearChainCRF(C=10), MEMM(C=10)], strict=True):
    model.fit(X, y)
    display = MarginalDisplay.from_estimator(model, list("rib"), ax=ax, colorbar=False)
    for (row, column), p in np.ndenumerate(display.proba.T):
        if p > 0.05:
            colour = "white" if p > 0.5 else "black"
            ax.text(column, row, f"{p:.2f}", ha="center", va="center", color=colour, fontsize=9)
    ax.set(title=type(model).__name__, xlabel="")
    ax.tick_params("x", rotation=0)
axes[1].set(ylabel="")
