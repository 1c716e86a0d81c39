"""Training goes on getting better; the score on other data does not."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import LinearChainCRF, SequenceVectorizer
from sklearn_struct.callbacks import EarlyStopping
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.inspection import LossCurveDisplay
from sklearn_struct.metrics import token_accuracy_scorer

ads, y = make_rental_ads(150, random_state=0)
X = SequenceVectorizer().fit_transform([[{"word": word.lower()} for word in ad] for ad in ads])
stopping = EarlyStopping(X[50:], y[50:], scoring=token_accuracy_scorer, patience=40)
crf = LinearChainCRF(C=1000, tol=0).set_callbacks(stopping).fit(X[:50], y[:50])

figure, (above, below) = plt.subplots(2, 1, figsize=(6, 4), sharex=True, layout="constrained")
LossCurveDisplay.from_estimator(crf, ax=above)
above.set(xlabel="", ylabel="objective / C\non training ads", ylim=(0, None))
iterations = np.arange(1, crf.n_iter_ + 1)
below.plot(iterations, stopping.scores_, color="tab:orange")
best = int(np.argmax(stopping.scores_))
below.annotate(
    f"best: iteration {best + 1}",
    (iterations[best], stopping.scores_[best]),
    (iterations[best], 0.4),
    arrowprops={"arrowstyle": "->"},
    ha="center",
)
below.set(xlabel="iteration", ylabel="token accuracy\non held-out ads", ylim=(0, 1))
for ax in (above, below):
    ax.grid(alpha=0.3)
