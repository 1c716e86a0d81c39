"""Fields of an advertisement: each token alone, and as a chain."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import LinearChainCRF
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.inspection import MarginalDisplay

CHOSEN = 202  # the advertisement in the picture
SHOWN = 23  # its first tokens


def describe(ad):
    """The word, and whether it is a number."""
    return [{"word": word.lower(), "number": word.isdigit()} for word in ad]


ads, labels = make_rental_ads(300, random_state=0)
y = [["none" if label == "O" else label[2:].lower() for label in ad] for ad in labels]
X = [describe(ad) for ad in ads]

chain = LinearChainCRF().fit(X[:200], y[:200])
# sequences of one token: a logistic regression, which sees no neighbours
alone = LinearChainCRF().fit(
    [[token] for ad in X[:200] for token in ad], [[label] for ad in y[:200] for label in ad]
)
by_token = np.concatenate(alone.predict_proba([[token] for token in X[CHOSEN]]).tolist())
by_chain = chain.predict_proba(X[CHOSEN : CHOSEN + 1])[0]
path = np.searchsorted(chain.classes_, chain.predict([X[CHOSEN]])[0])

figure, axes = plt.subplots(2, 1, figsize=(6, 4.6), sharex=True, layout="constrained")
choices = [("each token alone", by_token, by_token.argmax(axis=1)), ("a chain", by_chain, path)]
rows = np.union1d(choices[0][2][:SHOWN], path[:SHOWN])  # the labels that are predicted
for ax, (title, proba, best) in zip(axes, choices, strict=True):
    best = np.searchsorted(rows, best[:SHOWN])
    names = chain.classes_[rows].tolist()
    display = MarginalDisplay(proba[:SHOWN, rows], names, ads[CHOSEN][:SHOWN], best)
    display.plot(ax, colorbar=False)
    ax.set(title=title, xlabel="", ylabel="")
