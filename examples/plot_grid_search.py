"""
===========================
Choosing the regularisation
===========================

``C`` says how much the data count against the penalty on large weights. As in any other
scikit-learn model, the best value is found by cross-validation: the vectorizer and the CRF form a
pipeline, and the score is the F1 of whole spans rather than the accuracy of tokens.
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
# A token is a dict with its word and the two words around it. The features stay lists of dicts: the
# vocabulary is part of the pipeline, so each fold learns its own, from its training part alone.


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

# %% Too small a ``C`` leaves the weights near zero. On the right the curve flattens and does not
# fall again: these advertisements come from a grammar, without mistakes of annotators, so large
# weights do no harm.

mean = search.cv_results_["mean_test_score"]
deviation = search.cv_results_["std_test_score"]
_, ax = plt.subplots(layout="constrained")
ax.errorbar(grid["crf__C"], mean, yerr=deviation, marker="o", capsize=3)
ax.set(xscale="log", xlabel="C", ylabel="span F1, three folds", title="Strength of the penalty")
plt.show()
