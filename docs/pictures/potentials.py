"""Scores of a network, and what a chain makes of them: each token alone, Viterbi, marginals."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import potentials

N_TOKENS = 60
N_LABELS = 5

rng = np.random.RandomState(1)
truth = np.repeat([1, 3, 2, 4, 0, 3], 10)
unary = rng.randn(N_TOKENS, N_LABELS) + 1.5 * np.eye(N_LABELS)[truth]
pairwise = 2.5 * np.eye(N_LABELS)  # neighbours like to have the same label

best, _ = potentials.viterbi(unary, pairwise)
proba = potentials.marginals(unary, pairwise)

figure, axes = plt.subplots(2, 1, figsize=(6.4, 4), sharex=True, layout="constrained")
titles = [
    ("scores of labels, and the best label of each token alone", unary, unary.argmax(axis=1)),
    ("marginal probabilities, and the best labelling by Viterbi", proba, best),
]
for ax, (title, values, labels) in zip(axes, titles, strict=True):
    ax.imshow(values.T, aspect="auto", cmap="Blues", interpolation="nearest")
    ax.plot(labels, "o", color="C1", markersize=4)
    ax.set(ylabel="label", yticks=range(N_LABELS))
    right = np.count_nonzero(labels == truth)
    ax.set_title(f"{title}: {right} of {N_TOKENS} right", fontsize="medium")
axes[1].set(xlabel="token")
