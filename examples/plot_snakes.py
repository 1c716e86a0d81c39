"""
=======================
Snakes: labels of grids
=======================

A picture is a grid of coloured cells with a snake in it. The model has to number the cells of the
snake from tail to head. The colour of a cell says where the next cell is. You see the predictions
of three models for the same grid, with red rims around wrong cells. A model of single cells finds
the snake, but cannot number it. A graph whose edges see the colours numbers all cells rightly.

The data are made up by the rule of S. Nowozin et al., "Decision tree fields", ICCV 2011. The guide
has a page on :doc:`graphs <../user_guide/graphs>`.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import GraphCRF
from sklearn_struct.datasets import make_snakes
from sklearn_struct.inspection import GraphDisplay, explain

# %%
# Data
# ----
# A graph is a tuple of nodes, edges and features of edges. Nodes are the cells, row by row. The
# features of a cell are the colours of the 3 by 3 cells around it. Edges join neighbours. In this
# form of the data an edge has one feature: whether it leads to the right or down.

X, y, shapes = make_snakes(300, return_shapes=True, random_state=0)
train = slice(0, 200)
test = slice(200, 300)
print(X)
print(np.reshape(y[0], shapes[0]))

# %%
# Cells alone
# -----------
# Without edges the model is a logistic regression of cells. It finds the background, but it has to
# guess where in the snake a cell is.

options = {"C": 1.0, "tol": 1e-2, "max_iter": 200}
nodes = [(cells, []) for cells, *_ in X]
alone = GraphCRF(**options).fit(nodes[train], y[train])
print(f"cells that are right: {alone.score(nodes[test], y[test]):.3f}")
print(f"background: {np.mean(np.concatenate(y[test]) == 0):.3f}")

# %%
# Neighbours
# ----------
# With edges the labels of neighbours count. Each direction has its own table of weights. The grids
# have many cycles, so inference is belief propagation, which is an approximation. ``converged_``
# says whether its messages have settled.

directions = GraphCRF(inference="bp", inference_tol=1e-4, **options).fit(X[train], y[train])
print(f"cells that are right: {directions.score(X[test], y[test]):.3f}")
print(directions.converged_, directions.inference_report_)

# %%
# Such a table says which numbers stand side by side. It does not know the colours, so it cannot say
# which cell leads into which. In the other form of the data, the features of an edge are the
# colours around both of its ends, for each direction.

X_ends, _ = make_snakes(300, edge_features="ends", random_state=0)
ends = GraphCRF(inference="bp", inference_tol=1e-4, **options).fit(X_ends[train], y[train])
print(f"cells that are right: {ends.score(X_ends[test], y[test]):.3f}")

# %%
# Pictures
# --------
# `GraphDisplay` draws a graph with labels. Red rims mark wrong cells. The grid is the one where the
# last model gains most over the second one.


def mistakes(model, graphs):
    """How many cells of each test picture are wrong."""
    pairs = zip(model.predict(graphs[test]), y[test])
    return np.array([np.sum(np.array(labels) != truth) for labels, truth in pairs])


chosen = 200 + int(np.argmax(mistakes(directions, X) - mistakes(ends, X_ends)))
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
models = {
    "cells alone": (alone, nodes[chosen]),
    "directions": (directions, X[chosen]),
    "colours of both ends": (ends, X_ends[chosen]),
}
for ax, (title, (model, graph)) in zip(axes, models.items()):
    GraphDisplay.from_estimator(model, graph, y[chosen], positions=shapes[chosen], ax=ax)
    ax.set_title(title)
plt.show()

# %%
# Why this labelling?
# -------------------
# The score of a labelling is a sum over nodes and edges. `explain` compares the true labels with
# the prediction of the second model. The difference comes from the edges, which know the colours.

rival = directions.predict(X[chosen : chosen + 1])[0]
terms = explain(ends, X_ends[chosen], y[chosen], rival=rival)
print(f"nodes {terms.node_scores.sum():+.1f}, edges {terms.edge_scores.sum():+.1f}")
for e in np.argsort(-terms.edge_scores)[:5]:
    a, b = terms.edges[e]
    print(
        f"cells {a} and {b}: {y[chosen][a]}, {y[chosen][b]} instead of {rival[a]}, {rival[b]}: "
        f"{terms.edge_scores[e]:+.1f}"
    )
