"""Test accuracy of several losses, with few and with more features."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import (
    MEMM,
    LinearChainCRF,
    PiecewiseCRF,
    PseudoLikelihoodCRF,
    SequenceVectorizer,
)
from sklearn_struct.datasets import make_rental_ads


def describe(ad, reach):
    """The words at distances of up to `reach`."""
    words = ["<out>"] * reach + [word.lower() for word in ad] + ["<out>"] * reach
    places = range(2 * reach + 1)
    return [{str(d - reach): words[t + d] for d in places} for t in range(len(ad))]


ads, y = make_rental_ads(200, random_state=0)
losses = {
    "likelihood": LinearChainCRF(),
    "MEMM": MEMM(),
    "piecewise": PiecewiseCRF(),
    "piecewise, 3 tokens": PiecewiseCRF(piece_size=3),
    "pseudolikelihood": PseudoLikelihoodCRF(),
    "pseudolikelihood, 2 tokens": PseudoLikelihoodCRF(block_size=2),
}
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
places = np.arange(len(losses))
for reach, label in [(0, "the word"), (2, "the word and two on each side")]:
    X = SequenceVectorizer().fit_transform([describe(ad, reach) for ad in ads])
    scores = [model.fit(X[:100], y[:100]).score(X[100:], y[100:]) for model in losses.values()]
    bars = ax.barh(places + 0.19 * (reach - 1), scores, height=0.36, label=label)
    ax.bar_label(bars, fmt="%.2f", padding=2, fontsize=9)
ax.set_yticks(places, losses)
ax.invert_yaxis()
ax.set(xlim=(0, 1.1), xlabel="share of the test tokens that are labelled right")
figure.legend(loc="outside lower center", ncols=2, title="features of a token")
