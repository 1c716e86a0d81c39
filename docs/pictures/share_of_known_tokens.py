"""Accuracy against the share of tokens whose labels are known, spread over all sequences."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import LinearChainCRF, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads

ads, labels = make_rental_ads(200, random_state=0)
y = [[label[2:] or label for label in ad] for ad in labels]
words = [["<out>", *(word.lower() for word in ad), "<out>"] for ad in ads]
X = SequenceVectorizer().fit_transform(
    [
        [{"before": w[t - 1], "word": w[t], "after": w[t + 1]} for t in range(1, len(w) - 1)]
        for w in words
    ]
)
rng = np.random.default_rng(0)
shares = [0.05, 0.1, 0.25, 0.5, 1]
spread, whole = [], []
for share in shares:
    partly = [[label if rng.random() < share else None for label in ad] for ad in y[:100]]
    n = round(100 * share)
    spread.append(LinearChainCRF(C=10).fit(X[:100], partly).score(X[100:], y[100:]))
    whole.append(LinearChainCRF(C=10).fit(X[:n], y[:n]).score(X[100:], y[100:]))

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
percent = [100 * share for share in shares]
ax.plot(percent, spread, marker="o", label="tokens here and there, None for the others")
ax.plot(percent, whole, marker="s", label="as many tokens, in whole sequences")
ax.set(xlabel="labelled tokens, per cent", ylabel="token accuracy on test ads", ylim=(0, 1))
ax.legend(loc="lower right")
ax.grid(alpha=0.3)
