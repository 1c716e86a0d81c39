"""
==================================================
An image segmented from the scores of a classifier
==================================================

A heat camera tells materials apart, but its images are noisy. A classifier that labels each pixel
alone makes errors everywhere. A CRF on the grid of pixels takes its scores, and learns how much
neighbours agree. The last picture shows an image of the test set: with ``pairwise="contrast"`` the
CRF also sees a photograph, and finds the borders of objects.

The images are generated. The guide has a page on :doc:`images <../user_guide/images>`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from sklearn_struct import GridCRF
from sklearn_struct.inspection import GridDisplay
from sklearn_struct.metrics import mean_iou_score

# %%
# Data
# ----
# Each scene has a wall, a floor, and some discs of wood and metal. The heat image has two channels
# with much noise. In the photograph each object has a colour of its own, whatever its material is:
# it shows where objects end, but not what they are.

rng = np.random.default_rng(0)
NAMES = np.array(["floor", "metal", "wall", "wood"])
HEAT = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def scene(height=48, width=64):
    """The material of each pixel, and a photograph."""
    row, column = np.indices((height, width))
    objects = (row > height * rng.uniform(0.3, 0.7)).astype(int)
    materials = [2, 0]  # above the wall, below the floor
    for _ in range(rng.integers(3, 7)):
        centre = rng.uniform(0, [height, width])
        radius = rng.uniform(4, 11)
        inside = (row - centre[0]) ** 2 + (column - centre[1]) ** 2 < radius**2
        objects[inside] = len(materials)
        materials.append(rng.choice([1, 3]))
    colours = rng.uniform(0.2, 0.9, size=(len(materials), 3))
    photograph = colours[objects] + rng.normal(scale=0.1, size=(height, width, 3))
    return np.array(materials)[objects], photograph.clip(0, 1)


y, photographs = map(np.array, zip(*(scene() for _ in range(40))))
heat = HEAT[y] + rng.normal(scale=0.5, size=(*y.shape, 2))
first = slice(0, 10)  # for the classifier
train = slice(10, 16)  # for the CRF
test = slice(20, 40)

# %%
# A classifier of pixels
# ----------------------
# It learns from ten scenes. For each image it then gives log-probabilities, an array (h, w,
# n_labels). The CRF learns from scenes that the classifier has not seen: for those that it has
# seen its scores may be too good.

classifier = LogisticRegression().fit(heat[first].reshape(-1, 2), y[first].ravel())
scores = classifier.predict_log_proba(heat.reshape(-1, 2)).reshape(*y.shape, len(NAMES))
alone = scores.argmax(axis=-1)

# %%
# The grid
# --------
# With ``unary="scores"`` all scores share one weight, ``scale_``. With ``pairwise="potts"`` there
# is one more weight, for neighbours with the same label. With "contrast" a third one is for such
# neighbours with the same colour. There an item of X is a tuple of scores and a picture.

X = list(zip(scores, photographs))
results = {"classifier": alone[test]}
for pairwise in ("potts", "contrast"):
    crf = GridCRF(unary="scores", pairwise=pairwise, decoder="marginal").fit(X[train], y[train])
    results[pairwise] = np.array(list(crf.predict(X[test])))
    print(f"{pairwise}: scale {crf.scale_:.2f}, smoothness {crf.smoothness_:.2f}")
print(f"weight of contrast {crf.contrast_:.2f}")

# %%
# Of the weight of neighbours, most depends on the photograph. Accuracy, and mean intersection over
# union, on scenes that nobody has seen:

for name, labels in results.items():
    accuracy = np.mean(labels == y[test])
    print(f"{name:10} {accuracy:.3f} {mean_iou_score(y[test], labels):.3f}")

# %%
# One scene
# ---------

gain = np.mean(results["contrast"] == y[test], axis=(1, 2)) - np.mean(
    results["potts"] == y[test], axis=(1, 2)
)
chosen = int(np.argsort(gain)[len(gain) // 2])  # one in the middle
truth = NAMES[y[test][chosen]]
panels = {"classifier alone": "classifier", "CRF, Potts": "potts", "CRF, contrast": "contrast"}
figure, axes = plt.subplots(1, 5, figsize=(13, 2.3), layout="constrained")
axes[0].imshow(photographs[test][chosen])
axes[0].set(title="photograph", xticks=[], yticks=[])
GridDisplay(None, truth, classes=NAMES).plot(axes[1:2], titles=("", "", "truth"), legend=False)
for ax, (title, name) in zip(axes[2:], panels.items()):
    labels = NAMES[results[name][chosen]]
    display = GridDisplay(None, labels, classes=NAMES)
    display.plot([ax], titles=("", "", title), legend=ax is axes[-1])
plt.show()
