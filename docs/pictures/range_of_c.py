"""M-estimation: test accuracy against C, beside the base and a CRF."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import HMM, FeatureTemplates, LinearChainCRF, MEstimatedCRF
from sklearn_struct.datasets import make_rental_ads

ads, y = make_rental_ads(300, random_state=0)
X = [[(word.lower(),) for word in ad] for ad in ads]
templates = ["word:%x[0,0]", "before:%x[-1,0]", "after:%x[1,0]"]
encoder = FeatureTemplates(templates)
tokens = encoder.fit_transform(X)

values = np.logspace(-2, 2, 9)
scores = [
    MEstimatedCRF(templates, C=C).fit(X[:200], y[:200]).score(X[200:], y[200:]) for C in values
]
base = HMM().fit(X[:200], y[:200]).score(X[200:], y[200:])
crf = LinearChainCRF().fit(tokens[:200], y[:200]).score(tokens[200:], y[200:])

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot(values, scores, marker="o", label="MEstimatedCRF")
ax.axhline(crf, color="tab:green", linestyle="--", label="LinearChainCRF, the same features")
ax.axhline(base, color="tab:orange", linestyle=":", label="its base, a hidden Markov model")
ax.set(
    xscale="log", xlabel="C of MEstimatedCRF", ylabel="token accuracy on test ads", ylim=(0.5, 1)
)
ax.legend(loc="lower left")
ax.grid(alpha=0.3)
