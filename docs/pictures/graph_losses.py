"""Which losses find the strength of edges that made the data?"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import GraphCRF

TRUE = 1.2  # what an edge with equal labels scores above one with different labels
nodes = np.arange(36).reshape(6, 6)
across = np.column_stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()])
down = np.column_stack([nodes[:-1].ravel(), nodes[1:].ravel()])
edges = np.concatenate([across, down])
adjacency = np.zeros((36, 36))
adjacency[edges[:, 0], edges[:, 1]] = 1
adjacency += adjacency.T

rng = np.random.default_rng(0)
x = rng.normal(size=(100, 36))
y = np.zeros((100, 36), dtype=int)
black = (nodes // 6 + nodes % 6).ravel() % 2  # of a chessboard: no edge joins two of them
for sweep in range(400):  # Gibbs sampling, one colour after the other
    p = 1 / (1 + np.exp(-x - TRUE * (2 * y - 1) @ adjacency))
    y = np.where(black == sweep % 2, rng.random(x.shape) < p, y)

X = [(grid[:, None], edges) for grid in x]
learned = {}
for loss in ("log_likelihood", "composite", "pseudo", "contrastive", "piecewise"):
    crf = GraphCRF(loss=loss, symmetric=True, C=10, random_state=0).fit(X, y)
    learned[f'"{loss}"'] = crf.transition_.trace() / 2 - crf.transition_[0, 1]

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
bars = ax.barh(list(learned)[::-1], list(learned.values())[::-1])
ax.bar_label(bars, fmt="%.2f", padding=3)
ax.axvline(TRUE, color="black", ls="--")
ax.set(xlabel="strength of an edge, as learned", xlim=(0, 1.2 * max(learned.values())))
