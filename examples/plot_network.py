"""
========================================
Neighbours in a network help each other
========================================

Each node of a network has a group and two noisy measurements. The picture shows the predicted
groups, with red rims around mistakes. A classifier of single nodes makes mistakes all over the
network. A model with edges uses the neighbours, and corrects many of these mistakes.

The model is a `GraphCRF <sklearn_struct.GraphCRF>` with belief propagation. The guide has a page on
:doc:`graphs <../user_guide/graphs>`.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import GraphCRF
from sklearn_struct.inspection import GraphDisplay

# %%
# Data
# ----
# A network is 60 stations at random places. Two stations that are near to each other have an edge.
# Each network is split into three regions, and the region of a station is its label. A region
# shifts the two measurements a little. The noise is larger than the shift.

rng = np.random.default_rng(0)
SHIFTS = np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])
REGIONS = np.array(["coast", "forest", "hills"])


def network(n_nodes=60):
    """Places, measurements, edges and labels of a network."""
    places = rng.random((n_nodes, 2))
    centres = rng.random((3, 2))
    region = np.linalg.norm(places[:, None] - centres, axis=2).argmin(axis=1)
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    edges = np.argwhere(np.triu(distances < 0.18, k=1))
    measured = SHIFTS[region] + rng.normal(size=(n_nodes, 2))
    return places, measured, edges, REGIONS[region].tolist()


places, nodes, edges, y = zip(*(network() for _ in range(60)))
train = slice(0, 30)
test = slice(30, 60)

# %%
# Two models
# ----------
# A graph is a tuple of nodes and edges. Without edges the model is a logistic regression of single
# nodes. With ``symmetric=True`` an edge has no direction.

alone = [(x, []) for x in nodes]
linked = list(zip(nodes, edges))
models = {
    "without edges": (GraphCRF(), alone),
    "with edges": (GraphCRF(symmetric=True, inference="bp"), linked),
}
for title, (model, graphs) in models.items():
    model.fit(graphs[train], y[train])
    print(f"{title:14} {model.score(graphs[test], y[test]):.3f} of the nodes are right")

# %%
# The model has learned that neighbours are mostly of the same region: the table of edge weights has
# its largest weights on the diagonal.

print(models["with edges"][0].transition_.round(2))

# %%
# One network
# -----------
# The pictures show a network that was not used in training.

chosen = 30
figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, (title, (model, graphs)) in zip(axes, models.items()):
    GraphDisplay.from_predictions(
        linked[chosen],
        model.predict(graphs[chosen : chosen + 1])[0],
        truth=y[chosen],
        positions=places[chosen],
        classes=REGIONS.tolist(),
        node_kw={"s": 80, "linewidths": 2.5},
        legend=ax is axes[-1],
        ax=ax,
    )
    ax.set_title(title)
plt.show()
