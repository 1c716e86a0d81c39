"""Precision and recall of one label against its weight."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import precision_score, recall_score

from sklearn_struct import LinearChainCRF, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads

ads, labels = make_rental_ads(120, random_state=0)
y = [["O" if label == "O" else label[2:] for label in ad] for ad in labels]
X = SequenceVectorizer().fit_transform([[word.lower()[:2] for word in ad] for ad in ads])
truth = np.concatenate(y[60:])

weights = [0.25, 0.5, 1, 2, 4, 8, 16]
rows = []
for weight in weights:
    crf = LinearChainCRF(loss="pointwise", class_weight={"ROOMMATES": weight}, tol=1e-2)
    predicted = np.concatenate(crf.fit(X[:60], y[:60]).predict(X[60:]).tolist())
    options = {"labels": ["ROOMMATES"], "average": "macro", "zero_division": 0}
    rows.append([score(truth, predicted, **options) for score in (precision_score, recall_score)])
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, values in zip(["precision", "recall"], zip(*rows, strict=True), strict=True):
    ax.plot(weights, values, marker="o", label=name)
ax.set_xscale("log", base=2)
ax.set_xticks(weights, [f"{weight:g}" for weight in weights])
ax.set(xlabel="weight of the label ROOMMATES", ylabel="score of that label", ylim=(0, 1))
ax.grid(alpha=0.3)
ax.legend()
