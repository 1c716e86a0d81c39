"""CPU seconds of a fit, by the number of tokens and by the number of labels."""

import warnings
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import LinearChainCRF, SequenceArray

warnings.simplefilter("ignore", ConvergenceWarning)  # 30 iterations are enough to measure
rng = np.random.default_rng(0)


def seconds(n_tokens, n_labels):
    """30 iterations on eight random numbers a token."""
    X = SequenceArray.from_flat(rng.normal(size=(n_tokens, 8)), [20] * (n_tokens // 20))
    y = rng.integers(n_labels, size=(n_tokens // 20, 20))
    start = process_time()
    LinearChainCRF(solver="lbfgs", max_iter=30, tol=0).fit(X, y)
    return process_time() - start


seconds(2000, 8)  # compiles the kernels, or loads them
tokens = np.array([20_000, 40_000, 80_000, 120_000, 160_000])
labels = np.array([4, 8, 16, 32, 48, 64])

figure, axes = plt.subplots(1, 2, figsize=(6.4, 3), layout="constrained")
axes[0].plot(tokens / 1000, [seconds(n, 8) for n in tokens], "o-")
axes[1].plot(labels, [seconds(20_000, k) for k in labels], "o-")
axes[0].set(xlabel="thousands of tokens (8 labels)", ylabel="CPU seconds", ylim=(0, None))
axes[1].set(xlabel="labels (20,000 tokens)", ylim=(0, None), xlim=(0, None))
axes[0].set_xlim(0, None)
