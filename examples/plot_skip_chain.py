"""
=====================================
Skip chains: names that come up again
=====================================

Announcements say once who speaks and where: "Speaker : Green", "Place : Hill". Later they mention
these names without such words. The first picture shows the share of names that are labelled
rightly. At later mentions a chain can only guess, because it forgets what it has read a few words
ago. A skip-chain CRF has edges between equal names, and gets them right.

The model is by C. Sutton and A. McCallum (ICML workshop on statistical relational learning, 2004).
The announcements are made up by a few lines of code. The guide has a page on
:doc:`skip chains <../user_guide/skip_chains>`.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import LinearChainCRF, SkipChainCRF
from sklearn_struct.inspection import GraphDisplay

# %%
# Data
# ----
# Names are drawn from a list, and any of them may be a person or a place. Two lines tell which is
# which, in either order. At the later mentions, persons and places have the same words around them.

rng = np.random.default_rng(0)
NAMES = [
    first + last
    for first in "BCDFGHKLMNPRSTVW"
    for last in ("all", "ark", "eld", "ill", "ing", "olt", "ost", "und")
]
MENTIONS = ("we hear of", "all about", "more on", "questions about", "news of")


def announcement():
    """Words, and a label for each."""
    speaker, place = rng.choice(NAMES, 2, replace=False)
    lines = [(f"Speaker : {speaker} .", "speaker"), (f"Place : {place} .", "place")]
    order = rng.permutation(2)
    words = []
    labels = []
    for line, label in (lines[i] for i in order):
        words += line.split()
        labels += ["other", "other", label, "other"]
    kinds = {"speaker": speaker, "place": place}
    for label in rng.choice(list(kinds), 3):
        opening = rng.choice(MENTIONS).split()
        words += [*opening, kinds[label], "."]
        labels += ["other"] * len(opening) + [label, "other"]
    return words, labels


documents, y = zip(*(announcement() for _ in range(300)))
X = [
    [
        {"word": word, "before": before, "first": first, "capital": word[0].isupper()}
        for word, before, first in zip(words, ["^", *words], ["^", "^", *words])
    ]
    for words in documents
]
train = slice(0, 150)
test = slice(150, 300)
print(" ".join(documents[0]))

# %%
# Models
# ------
# ``key`` is a function of a token. Tokens with the same key get an edge. Tokens with the key None
# get none. Here the key is the word, if it has a capital. All other parameters are those of a
# chain.


def name(token):
    return token["word"] if token["capital"] else None


chain = LinearChainCRF(C=10.0).fit(X[train], y[train])
skip = SkipChainCRF(key=name, C=10.0).fit(X[train], y[train])
for label, weight in zip(skip.classes_, skip.skip_transition_.diagonal()):
    print(f"{label:8} {weight:+.1f}")
print(skip.converged_, skip.inference_report_["n_calls"])

# %%
# Documents are narrow graphs, so inference is exact for all of them. The weights are positive:
# words at the two ends of a skip edge tend to have the same label.
#
# Where it helps
# --------------
# At the first mention both models are right. At later mentions the chain guesses. The dotted line
# is the share of names that a guess gets right.


def share_right(model, first):
    """Of the names that stand there for the first time, or later."""
    right = []
    for words, truth, labels in zip(documents[test], y[test], model.predict(X[test])):
        seen = set()
        for word, label, guess in zip(words, truth, labels):
            if label != "other":
                if (word not in seen) == first:
                    right.append(label == guess)
                seen.add(word)
    return np.mean(right)


figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
places = np.arange(2)
for offset, (title, model) in zip((-0.2, 0.2), {"chain": chain, "skip chain": skip}.items()):
    shares = [share_right(model, first) for first in (True, False)]
    print(title, np.round(shares, 3))
    ax.bar(places + offset, shares, width=0.38, label=title)
ax.axhline(0.5, color="grey", linestyle=":", linewidth=1)
ax.set(xticks=places, ylim=(0, 1.05), ylabel="share of names that are right")
ax.set_xticklabels(["first mention", "later mentions"])
ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
plt.show()

# %%
# One document
# ------------
# The words stand on a line, with speakers above it and places below. Lines between names are skip
# edges. Red rims mark the mistakes of the chain.

wrong = [
    np.sum(np.array(labels) != truth) for labels, truth in zip(chain.predict(X[test]), y[test])
]
chosen = 150 + int(np.argmax(wrong))
words = documents[chosen]
near = [[t, t + 1] for t in range(len(words) - 1)]
alike = [
    [s, t]
    for t in range(len(words))
    for s in range(t - 1)
    if words[s] == words[t] and words[t][0].isupper()
]
height = {"other": 0.0, "speaker": 2.0, "place": -2.0}
positions = [[t, height[label]] for t, label in enumerate(y[chosen])]
figure, axes = plt.subplots(2, 1, figsize=(12, 6), layout="constrained")
for ax, (title, model, edges) in zip(
    axes, [("chain", chain, near), ("skip chain", skip, near + alike)]
):
    [labels] = model.predict(X[chosen : chosen + 1])
    GraphDisplay.from_predictions(
        (list(words), edges),
        labels,
        truth=y[chosen],
        positions=positions,
        texts=words,
        classes=skip.classes_.tolist(),
        node_kw={"s": 60},
        ax=ax,
    )
    ax.set_title(title)
plt.show()
