"""
=========================
How fast are the solvers?
=========================

All solvers here minimise the same convex function, so in the end they find the same model. The
picture shows how far each solver is above the minimum, against seconds. The lower a curve, the
better. The times are measured on the machine that built this page.

The guide has a page on :doc:`speed <../user_guide/speed>`, which says how to choose a solver.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import LinearChainCRF, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads

# %%
# Data
# ----
# There are 250 advertisements. The features of a token are its word, and two words on either side.

ads, y = make_rental_ads(250, random_state=0)


def describe(ad):
    """Five words for each token."""
    words = ["<start>"] * 2 + [word.lower() for word in ad] + ["<end>"] * 2
    return [{str(k): words[t + k + 2] for k in range(-2, 3)} for t in range(len(ad))]


X = SequenceVectorizer().fit_transform([describe(ad) for ad in ads])
print(X)

# %%
# The function
# ------------
# The objective is C times the negative log-likelihood, plus half the sum of the squared weights.
# Intercepts have no penalty.

C = 0.3


def objective(crf):
    """What `fit` minimises."""
    squares = np.square(crf.coef_).sum() + np.square(crf.transition_).sum()
    return -C * crf.log_proba(X, y).sum() + squares / 2


minimum = objective(LinearChainCRF(C=C, solver="sag", tol=1e-8, random_state=0).fit(X, y))

# %%
# The fits
# --------
# Each solver is stopped after 1, 2, 4, ... iterations. The first fit of each solver is not counted,
# because it compiles the code of the solver. A fit that stops early usually warns. Here it stops on
# purpose, so the warnings are switched off.

warnings.simplefilter("ignore", ConvergenceWarning)
MOST_ITERATIONS = {"lbfgs": 128, "newton-cg": 8, "sag": 32, "sgd": 16}
curves = {}
for solver, most in MOST_ITERATIONS.items():
    options = {"C": C, "solver": solver, "tol": 1e-9, "random_state": 0}
    LinearChainCRF(max_iter=1, **options).fit(X, y)
    points = []
    for max_iter in 2 ** np.arange(int(np.log2(most)) + 1):
        start = time.process_time()
        crf = LinearChainCRF(max_iter=max_iter, **options).fit(X, y)
        points.append((time.process_time() - start, objective(crf) / minimum - 1))
    curves[solver] = np.transpose(points)
    print(f"{solver:10} {points[-1][0]:.2f} s, {points[-1][1]:.0e} above the minimum")

# %%
# Results
# -------
# On sparse text "sag" is ahead. "lbfgs" needs more seconds, but works with any data. "sgd" is near
# the minimum soon and then slows down.

figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for solver, (seconds, above) in curves.items():
    ax.plot(seconds, np.maximum(above, 1e-9), marker="o", label=solver)
ax.set(xscale="log", yscale="log", xlabel="seconds of one fit")
ax.set_ylabel("above the minimum, as a share of it")
ax.legend(title="solver", loc="upper left", bbox_to_anchor=(1, 1))
ax.grid(alpha=0.3)
plt.show()
