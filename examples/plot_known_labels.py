"""
==============================
One correction, several labels
==============================

A person reads what a model has predicted, and corrects the first wrong label of each advertisement.
With ``allowed`` the model then looks for the best labelling that agrees with the correction. The
picture compares this search with a plain replacement of one label. The search also corrects labels
beside the corrected one. The rule ``allowed_transitions="BIO"`` holds all the time, so no field
begins with ``I-``.

The guide has a page on :doc:`constraints <../user_guide/constraints>`.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import LinearChainCRF, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads

# %%
# Data
# ----
# The model learns from 20 advertisements.

ads, y = make_rental_ads(120, random_state=0)


def describe(ad):
    """The word and its neighbours for each token."""
    words = ["<start>", *(word.lower() for word in ad), "<end>"]
    return [{"word": w, "before": b, "after": a} for b, w, a in zip(words, words[1:], words[2:])]


X = SequenceVectorizer().fit_transform([describe(ad) for ad in ads])
crf = LinearChainCRF(C=1.0).fit(X[:20], y[:20])
X_test = X[20:]
y_test = y[20:]

# %%
# A rule
# ------
# Predictions read the parameter ``allowed_transitions`` each time. So you can fit once, and compare
# predictions with and without the rule.


def malformed(labels):
    """Whether an I- follows neither B- nor I- of its field."""
    return any(b.startswith("I-") and a[2:] != b[2:] for a, b in zip(["O", *labels], labels))


for rule in (None, "BIO"):
    predicted = crf.set_params(allowed_transitions=rule).predict(X_test)
    print(f"{rule}: {sum(map(malformed, predicted))} of {len(predicted)} labellings are malformed")

# %%
# Corrections
# -----------
# In each round a person corrects the first wrong label of each advertisement. ``allowed`` has an
# entry for each token: its label if it is known, else None.


def first_wrong(labels, truth):
    """The place of the first label that is wrong, or None."""
    return next((t for t, pair in enumerate(zip(labels, truth)) if pair[0] != pair[1]), None)


def count_wrong(labels):
    return sum(a != b for row, truth in zip(labels, y_test) for a, b in zip(row, truth))


searched = predicted
replaced = [list(row) for row in predicted]
known = [[None] * len(truth) for truth in y_test]
wrong = {"replace the label": [count_wrong(replaced)], "search again": [count_wrong(searched)]}
for _ in range(6):
    for i, truth in enumerate(y_test):
        for rows, target in ((searched, known), (replaced, replaced)):
            t = first_wrong(rows[i], truth)
            if t is not None:
                target[i][t] = truth[t]
    searched = crf.predict(X_test, allowed=known)
    wrong["replace the label"].append(count_wrong(replaced))
    wrong["search again"].append(count_wrong(searched))
print(wrong)

# %%
# Results
# -------

n_tokens = sum(map(len, y_test))
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for title, counts in wrong.items():
    ax.plot(np.arange(len(counts)), np.array(counts) / n_tokens, marker="o", label=title)
ax.set(xlabel="corrections of each advertisement", ylabel="share of wrong labels")
ax.set_ylim(0, None)
ax.legend()
plt.show()
