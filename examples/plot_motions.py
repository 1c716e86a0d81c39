"""
===========================================
Signals told apart by the order of strokes
===========================================

Four kinds of motions consist of the same three strokes, in different orders. The picture shows one
recording of each kind, and below it the hidden states that the classifier goes through. Nobody has
marked them: the training data only have a label for each recording.

The model is a `HiddenStateClassifier <sklearn_struct.HiddenStateClassifier>`. The guide has a page
on :doc:`hidden states <../user_guide/hidden_states>`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_struct import HiddenStateClassifier
from sklearn_struct.datasets import make_motions

# %%
# Data
# ----
# A recording has 40 moments of six channels. Only the first three channels show the strokes.

recordings, y = make_motions(400, n_steps=40, random_state=0)
train = slice(0, 300)
test = slice(300, 400)
print(recordings.shape)

# %%
# Two classifiers
# ---------------
# The mean, the deviation and the extremes of each channel do not tell the order of the strokes. A
# logistic regression of these numbers is no better than chance, which is 0.25. The second
# classifier has hidden states. Each of them sees one moment: its values and their squares. With
# "left-to-right" the seven states of a class can follow each other in one order only: four pauses
# and three strokes.

summaries = np.hstack([f(recordings, axis=1) for f in (np.mean, np.std, np.min, np.max)])
flat = make_pipeline(StandardScaler(), LogisticRegression()).fit(summaries[train], y[train])
X = [np.hstack([moments, moments**2]) for moments in recordings]
hidden = HiddenStateClassifier(
    n_states=7, state_transitions="left-to-right", C=0.01, tol=1e-3, random_state=0
).fit(X[train], y[train])
print(f"summaries      {flat.score(summaries[test], y[test]):.3f}")
print(f"hidden states  {hidden.score(X[test], y[test]):.3f}")

# %%
# Which states a recording goes through
# -------------------------------------
# You see one test recording of each kind, the first one that is classified rightly. The lines are
# the three channels with strokes. The strip below has a colour for each state. Training only asks
# that the states tell the kinds apart, so a state need not be a stroke.

predicted = hidden.predict(X[test])
figure, axes = plt.subplots(
    2, 4, figsize=(11, 3.6), sharex=True, sharey="row", height_ratios=[5, 1], layout="constrained"
)
for (above, below), kind in zip(axes.T, hidden.classes_):
    chosen = 300 + int(np.flatnonzero((y[test] == kind) & (predicted == kind))[0])
    states = hidden.predict_states(X[chosen : chosen + 1])[0]
    above.plot(recordings[chosen][:, :3], linewidth=1)
    above.set_title(kind)
    below.imshow([states], cmap="Set2", vmin=0, vmax=7, aspect="auto")
    below.set(yticks=[], xlabel="moment")
axes[0, 0].set_ylabel("measured")
axes[1, 0].set_ylabel("state", rotation="horizontal", ha="right", va="center")
plt.show()
