"""
===========================
Choosing the regularisation
===========================

``C`` is the inverse strength of the penalty on large weights. The picture shows the score of
cross-validation for six values of it. With a small ``C`` the weights stay near zero and the score
is low. Beyond 1 the score rises little.

A vectorizer and a conditional random field form a pipeline, as with any scikit-learn model. The
score is the F1 of whole spans, not the accuracy of tokens. The guide has a page on
:doc:`chains <../user_guide/sequences>`.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from sklearn_struct import LinearChainCRF, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.metrics import span_f1_scorer

# %%
# Data
# ----
# A token is a dict with its word and the two words around it. The vectorizer is part of the
# pipeline, so each fold learns its vocabulary from its training part alone.


def describe(tokens):
    """A dict of features for each token of one advertisement."""
    words = ["<start>", *(token.lower() for token in tokens), "<end>"]
    return [
        {"before": words[t - 1], "word": words[t], "after": words[t + 1]}
        for t in range(1, len(words) - 1)
    ]


ads, labels = make_rental_ads(80, random_state=0)
X = [describe(tokens) for tokens in ads]
print(X[0][1])

# %%
# Search
# ------
# Sequences are never cut: a fold is a set of whole advertisements.

pipeline = Pipeline([("vectorizer", SequenceVectorizer()), ("crf", LinearChainCRF())])
grid = {"crf__C": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]}
search = GridSearchCV(pipeline, grid, scoring=span_f1_scorer, cv=3)
search.fit(X, labels)
print(search.best_params_, f"span F1 {search.best_score_:.3f}")

# %%
# On the right the curve does not fall again. These advertisements come from a grammar, without
# mistakes of annotators, so large weights do no harm.

mean = search.cv_results_["mean_test_score"]
deviation = search.cv_results_["std_test_score"]
_, ax = plt.subplots(layout="constrained")
ax.errorbar(grid["crf__C"], mean, yerr=deviation, marker="o", capsize=3)
ax.set(xscale="log", ylim=(0, 1), xlabel="C", ylabel="span F1, mean and deviation of three folds")
plt.show()
