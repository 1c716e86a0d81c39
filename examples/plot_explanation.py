"""
=============================
Why did the model say that?
=============================

A model of apartment advertisements labels one token wrongly. The picture shows why. It compares the
predicted labelling with the true one. On the left you see how much each token speaks for the
prediction. On the right you see the terms of the score: features, intercepts and transitions. In
both panels the bars add up to the difference of the two scores.

The guide has a page on :doc:`explanations <../user_guide/inspection>`.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import LinearChainCRF
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.inspection import explain

# %%
# A model
# -------
# A token is described by its word and its two neighbours. Labels are fields, without B- and I-.

ads, labels = make_rental_ads(200, random_state=0)
y = [[label[2:] or label for label in ad] for ad in labels]


def describe(ad):
    words = ["<start>", *(word.lower() for word in ad), "<end>"]
    return [{"word": w, "before": b, "after": a} for b, w, a in zip(words, words[1:], words[2:])]


X = [describe(ad) for ad in ads]
crf = LinearChainCRF(C=1.0).fit(X[:60], y[:60])
predicted = crf.predict(X[60:])
print(f"{crf.score(X[60:], y[60:]):.3f} of the tokens are right")

# %%
# A mistake
# ---------
# Some advertisements have exactly one wrong label. We take the one whose two labellings differ in
# the most terms.

candidates = []
for i, (guess, truth) in enumerate(zip(predicted, y[60:])):
    if sum(a != b for a, b in zip(guess, truth)) == 1:
        explanation = explain(crf, X[60 + i], guess, rival=truth)
        candidates.append((int((np.abs(explanation.contributions) > 0.05).sum()), i))
chosen = 60 + max(candidates)[1]
guess = predicted[chosen - 60]
truth = y[chosen]
t = next(t for t, pair in enumerate(zip(guess, truth)) if pair[0] != pair[1])
print(f'"{ads[chosen][t]}": predicted {guess[t]}, right is {truth[t]}')

# %%
# The explanation
# ---------------
# The true labelling is the ``rival``, so each contribution is a difference. A contribution above 0
# speaks for the prediction, and one below 0 speaks for the truth. Their sum is the difference of
# log p(y | x).

explanation = explain(crf, X[chosen], guess, rival=truth)
log_p = crf.log_proba([X[chosen]] * 2, [guess, truth])
print(f"{explanation.score:.3f} = {log_p[0] - log_p[1]:.3f}")
terms = explanation.to_frame()
terms = terms[terms["contribution"].abs() > 0.05]
terms.round(2)

# %%
# The same as a picture
# ---------------------
# Blue bars speak for the prediction, red bars for the truth.

window = slice(max(t - 4, 0), t + 5)
names = [
    f"{ads[chosen][token]}: {feature or kind}"
    for token, feature, kind in zip(terms["token"], terms["feature"], terms["kind"])
]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
panels = {
    "tokens": (ads[chosen][window], explanation.token_scores[window]),
    "terms": (names, terms["contribution"].to_numpy()),
}
for ax, (title, (texts, values)) in zip(axes, panels.items()):
    places = np.arange(len(texts))
    ax.barh(places, values, color=np.where(values > 0, "C0", "C3"))
    ax.axvline(0, color="black", linewidth=1)
    ax.set(title=title, xlabel="contribution (blue: for the prediction)")
    ax.set_yticks(places, texts)
    ax.invert_yaxis()
figure.suptitle(f'"{ads[chosen][t]}": {guess[t]} (predicted) or {truth[t]} (right)?')
plt.show()
