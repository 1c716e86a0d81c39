"""
==================================
Vowels told apart by how they move
==================================

A speaker says "eye", "yah" or "ah". The tongue moves, so the resonances of the voice (the
*formants*) move, too: "eye" goes from an open to a closed vowel, "yah" goes back, and "ah" stays in
between. The picture shows recordings by speakers that the classifiers have not heard. Below each
are the hidden states that the model goes through. "eye" and "yah" have the same means, but a
different order of the states.

The model is a `HiddenStateClassifier <sklearn_struct.HiddenStateClassifier>`. The recordings are
made up by a few lines of code. The guide has a page on :doc:`hidden states
<../user_guide/hidden_states>`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_struct import HiddenStateClassifier

# %%
# Data
# ----
# The tongue is at a place between 0 (open) and 1 (closed). The first formant falls when the vowel
# closes, and the second one rises. A speaker has a throat of some length, which scales both
# formants. The classifiers see two numbers for each moment: the logarithms of the two formants,
# minus those of the speaker's middle vowel. A recording has 14 to 30 moments and some noise.

rng = np.random.default_rng(0)
ENDS = {"eye": (0.15, 0.85), "yah": (0.85, 0.15), "ah": (0.5, 0.5)}
OPEN = np.array([750.0, 1200.0])  # Hz
CLOSED = np.array([350.0, 2200.0])
MIDDLE = np.sqrt(OPEN * CLOSED)


def recording(sound, throat):
    """Formants of a sound at each moment, relative to the speaker's middle vowel."""
    length = rng.integers(14, 31)
    first, last = ENDS[sound]
    glide = 1 / (1 + np.exp(-np.linspace(-6, 6, length) + rng.normal(scale=1.5)))
    place = first + (last - first) * glide + rng.normal(scale=0.12)
    hertz = throat * OPEN ** (1 - place[:, None]) * CLOSED ** place[:, None]
    heard = hertz * np.exp(rng.normal(scale=0.08, size=hertz.shape))
    middle = throat * MIDDLE * np.exp(rng.normal(scale=0.05))  # not known exactly
    return np.log(heard / middle)


throats = rng.uniform(0.85, 1.2, size=12)
sounds = list(ENDS)
X = []
y = []
speakers = []
for speaker, throat in enumerate(throats):
    for sound in sounds * 8:
        X.append(recording(sound, throat))
        y.append(sound)
        speakers.append(speaker)
heard_before = np.array(speakers) < 6
train = np.flatnonzero(heard_before)
test = np.flatnonzero(~heard_before)
X_train = [X[i] for i in train]
y_train = [y[i] for i in train]
X_test = [X[i] for i in test]
y_test = np.array([y[i] for i in test])
print(
    f"{len(train)} recordings of six speakers to learn from, {len(test)} of six others to test on"
)

# %%
# Two classifiers
# ---------------
# The first classifier is a logistic regression of the mean and the deviation of each formant. The
# second one has three states for each sound. Its states see one moment each.


def summaries(recordings):
    return np.array([np.hstack([x.mean(axis=0), x.std(axis=0)]) for x in recordings])


flat = make_pipeline(StandardScaler(), LogisticRegression()).fit(summaries(X_train), y_train)
hidden = HiddenStateClassifier(n_states=3, C=1.0, random_state=0).fit(X_train, y_train)
print(f"means          {flat.score(summaries(X_test), y_test):.3f}")
print(f"hidden states  {hidden.score(X_test, y_test):.3f}")

# %%
# Where the means go wrong
# ------------------------
# "eye" and "yah" pass through the same vowels, so their means and deviations are the same. The
# picture shows a recording of each sound by a new speaker. The strip below has a colour for each
# state. The title has the sound, and what the classifier of means predicts. The classifier with
# hidden states is right about all three.

predicted = hidden.predict(X_test)
by_means = flat.predict(summaries(X_test))
figure, axes = plt.subplots(
    2, 3, figsize=(9, 3.8), sharey="row", height_ratios=[5, 1], layout="constrained"
)
for (above, below), sound in zip(axes.T, sounds):
    right = np.flatnonzero((y_test == sound) & (predicted == sound))
    wrong_by_means = right[by_means[right] != sound]
    chosen = int(wrong_by_means[0] if len(wrong_by_means) else right[0])
    states = hidden.predict_states(X_test[chosen : chosen + 1])[0]
    above.plot(X_test[chosen][:, 0], label="first formant")
    above.plot(X_test[chosen][:, 1], label="second formant")
    above.set_title(f'"{sound}"; by means: "{by_means[chosen]}"')
    below.imshow([states], cmap="Set2", vmin=0, vmax=7, aspect="auto")
    below.set(yticks=[], xlabel="moment")
axes[0, 0].set_ylabel("log of Hz / middle")
axes[0, 2].legend(fontsize="small", loc="lower right")
axes[1, 0].set_ylabel("state", rotation="horizontal", ha="right", va="center")
plt.show()
