"""
=======================================
Templates chosen with a quick estimator
=======================================

Which templates should a conditional random field (CRF) have? The picture has a point for each set
of templates. Its horizontal position is the accuracy of a quick estimator, and its vertical
position is that of the CRF. Both put the sets in nearly the same order. So you can choose with the
quick estimator, and train the CRF only once.

The quick estimator is M-estimation, which does not sum over labellings. Smith, Vail and Lafferty
(ACL 2007) proposed it for this. The guide has a page on
:doc:`M-estimation <../user_guide/m_estimation>`.
"""

import time

import matplotlib.pyplot as plt
import pandas as pd

from sklearn_struct import FeatureTemplates, LinearChainCRF, MEstimatedCRF
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.metrics import token_accuracy_score

# %%
# Candidates
# ----------
# The data are apartment advertisements, whose fields are labelled. Each candidate has the word of a
# token. It may also have words to the left and to the right, and pairs of words.

X, y = make_rental_ads(260, random_state=0)
X = [[(word.lower(),) for word in ad] for ad in X]
train = (X[:160], y[:160])
tune = (X[160:], y[160:])

OWN = ["w:%x[0,0]"]
LEFT = ["w-1:%x[-1,0]"]
RIGHT = ["w+1:%x[1,0]"]
FAR = ["w-2:%x[-2,0]", "w+2:%x[2,0]"]
PAIRS = ["w-1|w:%x[-1,0]/%x[0,0]", "w|w+1:%x[0,0]/%x[1,0]"]
CANDIDATES = {
    "word": OWN,
    "+ left": OWN + LEFT,
    "+ right": OWN + RIGHT,
    "+ both": OWN + LEFT + RIGHT,
    "+ both, far": OWN + LEFT + RIGHT + FAR,
    "+ both, pairs": OWN + LEFT + RIGHT + PAIRS,
    "everything": OWN + LEFT + RIGHT + FAR + PAIRS,
}

# %%
# A quick look at all of them
# ---------------------------
# Each candidate is fitted by M-estimation over a hidden Markov model. To see whether you can trust
# this, each is also fitted as a conditional random field.


def quick(templates):
    return MEstimatedCRF(templates, C=0.5)


def slow(templates):
    return LinearChainCRF(C=1.0, tol=1e-3)


def look(name, templates):
    row = {"templates": name}
    start = time.perf_counter()
    row["M-estimation"] = quick(templates).fit(*train).score(*tune)
    row["seconds"] = time.perf_counter() - start
    encoder = FeatureTemplates(templates)
    start = time.perf_counter()
    crf = slow(templates).fit(encoder.fit_transform(train[0]), train[1])
    row["CRF"] = crf.score(encoder.transform(tune[0]), tune[1])
    row["seconds of the CRF"] = time.perf_counter() - start
    return row


look("warm up", OWN)  # kernels are compiled at their first use
scores = pd.DataFrame([look(*item) for item in CANDIDATES.items()]).set_index("templates")
scores.round(3)

# %%
# The order of the candidates
# ---------------------------
# The quick model may be worse than the CRF. What matters is that both put the candidates in the
# same order.

ranks = scores[["M-estimation", "CRF"]].rank()
print(f"rank correlation {ranks.corr().iloc[0, 1]:.2f}")
print(
    f"M-estimation {scores['seconds'].sum():.1f} s, CRF {scores['seconds of the CRF'].sum():.1f} s"
)

_, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.scatter(scores["M-estimation"], scores["CRF"])
for name, row in scores.iterrows():
    ax.annotate(name, (row["M-estimation"], row["CRF"]), xytext=(7, -4), textcoords="offset points")
ax.margins(y=0.1)
least = scores["M-estimation"].min()
most = scores["M-estimation"].max()
ax.set_xlim(least - 0.1 * (most - least), most + 0.4 * (most - least))  # room for the names
ax.set(
    xlabel="accuracy by M-estimation",
    ylabel="accuracy of the CRF",
    title="Templates, by two estimators",
)

# %%
# One conditional random field
# ----------------------------
# The CRF can start from the weights of the quick model, which are matched by the names of the
# features.

winner = scores["M-estimation"].idxmax()
encoder = FeatureTemplates(CANDIDATES[winner])
start = quick(CANDIDATES[winner]).fit(*train)
crf = slow(CANDIDATES[winner]).fit(encoder.fit_transform(train[0]), train[1], init=start)
print(winner, f"{token_accuracy_score(tune[1], crf.predict(encoder.transform(tune[0]))):.3f}")
plt.show()
