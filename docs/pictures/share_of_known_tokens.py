"""Accuracy against the share of tokens whose labels are known, spread over all sequences."""

import matplotlib.pyplot as plt
import numpy as np
from advertisements import words_and_fields

from sklearn_struct import LinearChainCRF

X, y = words_and_fields(200)
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
