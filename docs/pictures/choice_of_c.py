"""Two scores against C, by cross-validation."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_validate

from sklearn_struct import LinearChainCRF, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.metrics import span_f1_scorer, token_accuracy_scorer

ads, y = make_rental_ads(100, random_state=0)
X = SequenceVectorizer().fit_transform(
    [[{"word": word.lower(), "number": word.isdigit()} for word in ad] for ad in ads]
)
scoring = {"tokens": token_accuracy_scorer, "spans": span_f1_scorer}
values = np.logspace(-2, 2, 7)
scores = [cross_validate(LinearChainCRF(C=C), X, y, cv=3, scoring=scoring) for C in values]

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
names = [("tokens", "accuracy of tokens"), ("spans", "F1 of spans")]
for name, label in names:
    ax.plot(values, [score[f"test_{name}"].mean() for score in scores], marker="o", label=label)
ax.set(xscale="log", xlabel="C", ylabel="score on held-out ads", ylim=(0, 1))
ax.grid(alpha=0.3)
ax.legend()
