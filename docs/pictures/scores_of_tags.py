"""A log-linear model: weights of features add up to scores, scores make probabilities."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import LogLinearClassifier


def features(word, tag):
    """The word and its last letters, each with the tag."""
    yield f"word={word},{tag}"
    for n in (1, 2):
        yield f"suffix={word[-n:]},{tag}"


words = ["walked", "talked", "cats", "dogs", "quickly", "slowly", "beds", "red"]
tags = ["VERB", "VERB", "NOUN", "NOUN", "ADV", "ADV", "NOUN", "ADJ"]
model = LogLinearClassifier(features, C=10).fit(words, tags)
weights = dict(zip(model.joint_feature_names_, model.coef_, strict=True))

NEW = "jumped"
labels = model.classes_.tolist()
places = np.arange(len(labels))
figure, (left, right) = plt.subplots(
    1, 2, figsize=(6, 2.8), sharey=True, layout="constrained", width_ratios=[3, 2]
)
for shift, suffix in [(-0.2, "ed"), (0.2, "d")]:
    values = [weights.get(f"suffix={suffix},{label}", 0.0) for label in labels]
    left.barh(places + shift, values, height=0.38, label=f"suffix={suffix}")
left.set_yticks(places, labels)
left.set(xlabel=f"weights of the features of {NEW!r}")
left.legend(loc="center right", fontsize=9)
left.axvline(0, color="grey", linewidth=1)
bars = right.barh(places, model.predict_proba([NEW])[0], color="tab:grey")
right.bar_label(bars, fmt="%.2f", padding=2, fontsize=9)
right.set(xlim=(0, 1.2), xlabel="probability")
