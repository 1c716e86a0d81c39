"""
================================================
What is cheaper to label: sentences or features?
================================================

You have an hour for labelling. Do you label whole advertisements, token by token, or do you say
what single words mean? The picture shows accuracy against the number of labels. A star is a set of
words with the labels that they usually have. A coloured line is a set of words that were labelled
in 1 to 100 places. With few labels, words are better. With some thousand labels, whole
advertisements are better.

A script plays the annotator and counts labels, as in Mann and McCallum (ACL 2008, figure 2). The
advertisements are generated, so all true labels are known. The guide has a page on
:doc:`few labels <../user_guide/few_labels>`.
"""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sklearn_struct import GECRF, LinearChainCRF, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.labeled_features import sample_targets, suggest_labeled_features

# %%
# Data
# ----
# There are 150 advertisements to learn from and 100 to test on. Labels are fields, without B- and
# I-. Both models see a token's word and the words beside it.

ads, labels = make_rental_ads(250, random_state=0)
y = [[label[2:] or label for label in ad] for ad in labels]


def describe(ad):
    words = ["<start>", *(re.sub(r"\d", "9", word.lower()) for word in ad), "<end>"]
    return [{"word": w, "before": b, "after": a} for b, w, a in zip(words, words[1:], words[2:])]


X = SequenceVectorizer().fit_transform([describe(ad) for ad in ads])
X_train = X[:150]
y_train = y[:150]
X_test = X[150:]
y_test = y[150:]

# %%
# Whole advertisements
# --------------------
# A CRF learns from the first 2 to 80 advertisements in a random order. The accuracy is the mean
# over three orders.

rng = np.random.default_rng(0)
ORDERS = [rng.permutation(150) for _ in range(3)]


def label_ads(n):
    """Labelled tokens and test accuracy."""
    scores = []
    for order in ORDERS:
        X_n = X_train[order[:n]]
        y_n = [y_train[i] for i in order[:n]]
        scores.append(
            (sum(map(len, y_n)), LinearChainCRF(C=10).fit(X_n, y_n).score(X_test, y_test))
        )
    return np.mean(scores, axis=0)


whole = pd.DataFrame(
    [label_ads(n) for n in (2, 5, 10, 15, 20, 40, 80)], columns=["tokens", "accuracy"]
)

# %%
# Words
# -----
# Eleven labels are not rare. For each of them we take the three, six or nine most frequent words
# that have this label more often than not: 33, 66 or 99 words, as in the paper. A person would
# choose them by reading. The time for that is not counted, neither here nor in the paper.
#
# The annotator either says what a word usually means, which counts as one label, or labels it in 1,
# 2, 5, 10 or 100 of its places, which are drawn at random.

UNLABELLED = [None] * len(X_train)
RULE = {"min_label_tokens": 240, "min_precision": 0.5, "features": re.compile("word:.*")}


def label_words(words, n_tokens):
    """Labelled tokens and test accuracy; what words usually mean if `n_tokens` is None."""
    targets = words
    n_labels = len(words)
    if n_tokens:
        targets = sample_targets(X_train, y_train, words, n_tokens, random_state=0)
        n_labels = sum(count.total() for count in targets.values())
    model = GECRF(targets, tol=1e-3).fit(X_train, UNLABELLED)
    return n_labels, model.score(X_test, y_test)


curves = pd.DataFrame(
    [
        (len(words), places or "usually", *label_words(words, places))
        for n in (3, 6, 9)
        for words in [suggest_labeled_features(X_train, y_train, n_per_label=n, **RULE)]
        for places in (None, 1, 2, 5, 10, 100)
    ],
    columns=["words", "places", "tokens", "accuracy"],
)

# %%
# Accuracy against labels
# -----------------------

_, ax = plt.subplots(layout="constrained", figsize=(9, 4.5))
ax.plot(whole["tokens"], whole["accuracy"], "k.-", label="whole advertisements")
for (n, curve), color in zip(curves.groupby("words"), ("C0", "C1", "C2")):
    sampled = curve[curve["places"] != "usually"]
    usual = curve[curve["places"] == "usually"]
    ax.plot(
        sampled["tokens"],
        sampled["accuracy"],
        ".-",
        color=color,
        label=f"{n} words, 1 to 100 places each",
    )
    ax.plot(
        usual["tokens"],
        usual["accuracy"],
        "*",
        color=color,
        markersize=12,
        label=f"{n} words, what they usually mean",
    )
ax.set(xscale="log", xlabel="labelled tokens", ylabel="accuracy of tokens")
ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
plt.show()

# %%
# How much is saved
# -----------------
# The saving is a ratio: how many times as many labels the CRF of whole advertisements needs for the
# same accuracy. It is read off the curve of the CRF (NaN beyond its ends).

needed = np.interp(
    curves["accuracy"],
    np.maximum.accumulate(whole["accuracy"]),
    np.log(whole["tokens"]),
    left=np.nan,
    right=np.nan,
)
curves["saving"] = np.exp(needed) / curves["tokens"]
curves.pivot(index="places", columns="words", values="saving").loc[
    ["usually", 1, 2, 5, 10, 100]
].round(1)

# %%
best = curves.loc[curves["saving"].idxmax()]
print(
    f"{best['words']} words, places: {best['places']}; accuracy {best['accuracy']:.2f}, for which "
    "whole advertisements "
    f"need {best['saving']:.1f} times as many labels"
)

# %%
# Words are the better start. You save most if you say what a word usually means. To label one place
# of each word costs as much and says less, because this place may be an exception. Beyond some
# 1,200 labels whole advertisements are better, and much earlier if fewer words are labelled. These
# advertisements come from a small grammar, so a few of them show nearly everything. In the real
# advertisements of the paper, labelled words stay ahead for longer.
