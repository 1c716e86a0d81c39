"""How far log Z is from the exact one, by the strength of edges, on a grid of 6 x 6 nodes."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import GraphCRF

rng = np.random.default_rng(0)
nodes = np.arange(36).reshape(6, 6)
across = np.column_stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()])
down = np.column_stack([nodes[:-1].ravel(), nodes[1:].ravel()])
labels = (nodes % 6 > 2).ravel().astype(int)  # the left half and the right half
X = [(rng.normal(size=(36, 1)) + labels[:, None] / 2, np.concatenate([across, down]))]

strengths = []
differences = {"trw": [], "bp": [], "mean_field": []}
for C in np.logspace(-3, 0, 13):  # a larger C allows stronger edges
    crf = GraphCRF(loss="pseudo", symmetric=True, C=C).fit(X, [labels])
    strengths.append(crf.transition_.trace() / 2 - crf.transition_[0, 1])
    exact = crf.set_params(inference="exact").log_partition(X)[0]
    for inference, values in differences.items():
        values.append(crf.set_params(inference=inference).log_partition(X)[0] - exact)

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
for inference, values in differences.items():
    ax.plot(strengths, values, "o-", ms=4, label=f'"{inference}"')
ax.axhline(0, color="black", lw=1)
ax.set(xlabel="strength of an edge", ylabel="log Z less the exact log Z", xlim=(0, None))
ax.legend()
