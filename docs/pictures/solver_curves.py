"""How near to the optimum the solvers are after each iteration."""

import matplotlib.pyplot as plt

from sklearn_struct import LinearChainCRF, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.inspection import LossCurveDisplay

ads, y = make_rental_ads(100, random_state=0)
X = SequenceVectorizer().fit_transform(
    [[{"word": word.lower(), "end": word[-2:]} for word in ad] for ad in ads]
)
fitted = {}
for solver in ("lbfgs", "newton-cg", "cg", "sag", "sgd"):
    crf = LinearChainCRF(solver=solver, max_iter=40, tol=1e-6, random_state=0)
    fitted[solver] = crf.fit(X, y)

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
LossCurveDisplay.from_estimator(fitted, ax=ax, gap=True)
ax.set(xlabel="iteration (sag, sgd: pass over the data)", ylim=(1e-6, None))
ax.grid(alpha=0.3)
