"""
=====================================
Hidden states: the phases of gestures
=====================================

Somebody moves a hand to the right and back, or to the left and back, and rests in between. The last
picture shows the speed of the hand. Below it are the labels "right", "left" and "rest": the true
ones, those of a chain, and those of a chain with hidden states. The plain chain confuses the two
gestures, because both have the same two phases in a different order. With hidden states a label has
two phases, and the model finds them by itself.

The model is a latent-dynamic CRF (L.-P. Morency, A. Quattoni and T. Darrell, CVPR 2007). The
recordings are made up by a few lines of code. The guide has a page on
:doc:`hidden states <../user_guide/hidden_states>`.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import LatentChainCRF, LinearChainCRF
from sklearn_struct.inspection import LatentStateDisplay, TransitionDisplay

# %%
# Data
# ----
# At each moment you see only how fast the hand moves to either side, with much noise. Each phase of
# a gesture, and each rest, takes four to eight moments.

rng = np.random.default_rng(0)
PARTS = {"right": [1.0, -1.0], "left": [-1.0, 1.0], "rest": [0.0]}


def recording(n_gestures=4):
    """Speeds of the hand, and a label for each."""
    names = ["rest"]
    for gesture in rng.choice(["right", "left"], n_gestures):
        names += [gesture, "rest"]
    speeds = []
    labels = []
    for name in names:
        for speed in PARTS[name]:
            length = rng.integers(4, 9)
            speeds += (speed + 0.6 * rng.normal(size=length)).tolist()
            labels += [name] * length
    return speeds, labels


recordings, y = zip(*(recording() for _ in range(120)))
X = [
    [{"to the right": max(speed, 0.0), "to the left": max(-speed, 0.0)} for speed in speeds]
    for speeds in recordings
]
train = slice(0, 60)
test = slice(60, 120)

# %%
# Models
# ------
# Each gesture has two states, and a rest has one. With ``state_transitions="left-to-right"`` a
# gesture begins in its first state and goes on to the second. Training starts three times from
# random weights (``n_init=3``), and keeps the model with the lowest objective.

chain = LinearChainCRF(C=10.0).fit(X[train], y[train])
latent = LatentChainCRF(
    n_states={"right": 2, "left": 2},
    state_transitions="left-to-right",
    init="random",
    n_init=3,
    C=10.0,
    random_state=0,
).fit(X[train], y[train])
for title, model in {"chain": chain, "hidden states": latent}.items():
    print(f"{title:14} {model.score(X[test], y[test]):.3f} of the labels are right")

# %%
# What the states stand for
# -------------------------
# Both gestures have a phase to the right and one to the left, in a different order. The picture
# shows the weights of the features. The mean over the states of the label is subtracted.

figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for ax, label in zip(axes, ["right", "left"]):
    LatentStateDisplay.from_estimator(latent, label, ax=ax)
    ax.set_title(label)
plt.show()

# %%
# Transitions are between states. Those that "left-to-right" forbids have no weight.

TransitionDisplay.from_estimator(latent)
plt.show()

# %%
# One recording
# -------------
# Below the speeds you see the true labels, the labels of both models, and the states of the second
# model. To the plain chain both gestures look alike.

# sphinx_gallery_thumbnail_number = 3
chosen = slice(60, 61)
colours = {"rest": "#dddddd", "right": "#4477aa", "left": "#cc6677"}
pale = {"right": "#aac4dd", "left": "#e8bcc3"}
rows = {
    "truth": y[chosen][0],
    "chain": chain.predict(X[chosen])[0],
    "hidden states": latent.predict(X[chosen])[0],
    "states": latent.predict_states(X[chosen])[0],
}
figure, (above, below) = plt.subplots(
    2, 1, figsize=(9, 4.5), sharex=True, height_ratios=[2, 1.4], layout="constrained"
)
above.plot(recordings[60], color="black", linewidth=1)
above.axhline(0, color="grey", linestyle=":", linewidth=1)
above.set(ylabel="speed to the right")
for height, (title, row) in enumerate(reversed(rows.items())):
    for t, item in enumerate(row):
        label, state = item if title == "states" else (item, 0)
        shade = pale[label] if state else colours[label]
        below.add_patch(plt.Rectangle((t - 0.5, height - 0.4), 1, 0.8, color=shade))
below.set(ylim=(-0.6, 3.6), yticks=range(4), xlabel="moment")
below.set_yticklabels(list(reversed(rows)))
handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in colours.values()]
handles += [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in pale.values()]
names = [*colours, *(f"{label}, second phase" for label in pale)]
figure.legend(handles, names, loc="outside right upper")
plt.show()
