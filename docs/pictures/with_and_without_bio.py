"""The same model and sentence, without and with the rule of BIO."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import LinearChainCRF
from sklearn_struct.inspection import MarginalDisplay

X = [["to", "New", "York", "City"], ["York", "is", "old"], ["from", "New", "Delhi"]]
y = [["O", "B-LOC", "I-LOC", "I-LOC"], ["B-LOC", "O", "O"], ["O", "B-LOC", "I-LOC"]]
crf = LinearChainCRF(C=10).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(6, 2.6), sharey=True, layout="constrained")
for ax, rule in zip(axes, [None, "BIO"], strict=True):
    crf.set_params(allowed_transitions=rule)
    display = MarginalDisplay.from_estimator(crf, ["City", "from", "Delhi"], ax=ax, colorbar=False)
    for (row, column), p in np.ndenumerate(display.proba.T):
        colour = "white" if p > 0.5 else "black"
        ax.text(column, row, f"{p:.2f}", ha="center", va="center", color=colour, fontsize=9)
    ax.set(title="no constraint" if rule is None else "allowed_transitions='BIO'")
    ax.set(xlabel="", ylabel="")
    ax.tick_params("x", rotation=0)
