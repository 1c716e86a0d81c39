"""
========================================
Many labels: one by one, or all together
========================================

A photo may have several labels at once. You can learn each label alone, or a chain of classifiers,
in which a label sees those before it, or a conditional random field of all labels. The picture
shows the two usual scores of the three. The field gets the most rows right as a whole, and the
fewest single labels wrong.

The data are drawn so that labels depend on each other. The guide has a page on :doc:`many labels
<../user_guide/many_labels>`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, hamming_loss
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

from sklearn_struct import MultiLabelCRF

# %%
# Data
# ----
# Six labels and ten features. Two pairs of labels often come together. Four pairs exclude each
# other, as "day" and "night" do.

N_LABELS = 6
N_TRAIN = 600
ATTRACTS = np.zeros((N_LABELS, N_LABELS))
PAIRS = ((0, 1, 3), (4, 5, 3), (0, 2, -4), (1, 2, -4), (3, 4, -4), (2, 5, -2))
for first, second, strength in PAIRS:
    ATTRACTS[first, second] = ATTRACTS[second, first] = strength

rng = np.random.default_rng(0)
X = rng.normal(size=(1600, 10))
weights = rng.normal(size=(10, N_LABELS))
y = np.zeros((len(X), N_LABELS), dtype=int)
for _ in range(100):  # Gibbs sampling, label after label
    for k in range(N_LABELS):
        p = 1 / (1 + np.exp(-(X @ weights[:, k] + y @ ATTRACTS[k])))
        y[:, k] = rng.random(len(X)) < p
X_train = X[:N_TRAIN]
y_train = y[:N_TRAIN]
X_test = X[N_TRAIN:]
y_test = y[N_TRAIN:]
print(y_train[:5])

# %%
# Three models
# ------------
# All have the same features. ``decoder="balanced"`` predicts sets that do well in both scores.

models = {
    "each label alone": MultiOutputClassifier(LogisticRegression()),
    "chain": ClassifierChain(LogisticRegression()),
    "CRF of all labels": MultiLabelCRF(decoder="balanced"),
}
whole = {}
single = {}
for name, model in models.items():
    predicted = model.fit(X_train, y_train).predict(X_test)
    whole[name] = accuracy_score(y_test, predicted)
    single[name] = hamming_loss(y_test, predicted)
    print(f"{name:18} subset accuracy {whole[name]:.3f}, Hamming loss {single[name]:.3f}")

# %%
# What the field has learned
# --------------------------
# The log-odds ratio of a pair says how much its labels attract each other.

print(models["CRF of all labels"].associations_.round(1))

# %%
# Both scores
# -----------

figure, axes = plt.subplots(1, 2, figsize=(8, 2.6), layout="constrained", sharey=True)
titles = ("rows with all labels right", "labels that are wrong")
for ax, scores, title in zip(axes, (whole, single), titles, strict=True):
    bars = ax.barh(list(scores)[::-1], list(scores.values())[::-1])
    ax.bar_label(bars, fmt="%.3f", padding=3)
    ax.set(title=title, xlabel="share", xlim=(0, 1.25 * max(scores.values())))

plt.show()
