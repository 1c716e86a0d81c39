"""
======================================
From a data frame to a model in a file
======================================

This example has all steps of a small project, in the order of a notebook. It begins with a table of
tokens, features, and a grid search with a progress bar. Then it shows what was learned, explains
one prediction, and writes a file that another program can load. The last picture shows one new
advertisement: how probable each label is at each token, with a frame around the predicted one.

The guide has pages on :doc:`chains <../user_guide/sequences>`,
:doc:`explanations <../user_guide/inspection>` and :doc:`files <../user_guide/persistence>`.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.callback import ProgressBar
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

from sklearn_struct import LinearChainCRF, SequenceArray, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.inspection import (
    FeatureWeightsDisplay,
    LossCurveDisplay,
    MarginalDisplay,
    TransitionDisplay,
    explain,
    feature_weights,
)
from sklearn_struct.metrics import span_classification_report, span_f1_scorer
from sklearn_struct.persistence import load, save

# %%
# Data
# ----
# Annotated text often comes as a table with a row for each token, and a column that says which text
# it is from.

ads, labels = make_rental_ads(120, random_state=0)
frame = pd.DataFrame(
    [
        (i, word, label)
        for i, (ad, row) in enumerate(zip(ads, labels))
        for word, label in zip(ad, row)
    ],
    columns=["ad", "word", "label"],
)
frame.head(8)

# %%
# Features
# --------
# Each new column is a feature. The words beside a token are made by shifts within its
# advertisement.

frame["word"] = frame["word"].str.lower()
frame["shape"] = (
    frame["word"].str.replace(r"\d", "9", regex=True).str.replace(r"[a-z]+", "a", regex=True)
)
frame["before"] = frame.groupby("ad")["word"].shift(1, fill_value="<start>")
frame["after"] = frame.groupby("ad")["word"].shift(-1, fill_value="<end>")

X = SequenceArray.from_frame(frame, "ad", ["word", "shape", "before", "after"])
y = SequenceArray.from_frame(frame, "ad", "label")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
print(X_train, X_test)

# %%
# Search
# ------
# The search tries penalties of several strengths. Labels are in the BIO scheme, and with
# ``allowed_transitions`` all predictions obey it. A bar shows how far the search is. It needs
# scikit-learn 1.9 and the package rich.

model = make_pipeline(SequenceVectorizer(), LinearChainCRF(tol=1e-3, allowed_transitions="BIO"))
grid = {"linearchaincrf__C": [0.1, 1.0, 10.0], "linearchaincrf__l1_ratio": [0.0, 0.5]}
search = GridSearchCV(model, grid, scoring=span_f1_scorer, cv=3).set_callbacks(
    ProgressBar(max_propagation_depth=0)
)
search.fit(X_train, y_train)
pd.DataFrame(search.cv_results_)[
    ["param_linearchaincrf__C", "param_linearchaincrf__l1_ratio", "mean_test_score"]
]

# %%
print(span_classification_report(y_test, search.predict(X_test)))

# %%
# What was learned
# ----------------
# The functions for tables and pictures take the search, a pipeline or the model itself.

crf = search.best_estimator_[-1]
TransitionDisplay.from_estimator(search)
feature_weights(search, n=3, labels=["B-RENT", "B-SIZE"])

# %%
FeatureWeightsDisplay.from_estimator(search, labels=["B-RENT", "B-SIZE"], n=6)

# %%
# The objective after each iteration of the solver:

LossCurveDisplay.from_estimator(crf)

# %%
# One prediction
# --------------
# The picture shows the probability of each label at each token of an advertisement that was not
# used in training. Below it is a table of the features that speak for the predicted labels.

# sphinx_gallery_thumbnail_number = 4

shortest = int(np.argmin(np.diff(X_test.offsets)))
chosen = X_test[shortest : shortest + 1]
MarginalDisplay.from_estimator(search, chosen, n_labels=12)

# %%
explanation = explain(search, chosen)
explanation.to_frame().query("token < 3")

# %%
# The contributions add up to the score of the labelling:

print(explanation.to_frame()["contribution"].sum(), explanation.score)

# %%
# A file
# ------
# The pipeline is saved with its vocabulary, in a file of numbers and text, without pickle. A
# damaged file raises an error.

path = Path(tempfile.mkdtemp()) / "advertisements.safetensors"
save(search.best_estimator_, path)
loaded = load(path)
print(f"{path.stat().st_size / 1000:.0f} kB")
print("the same labels:", list(loaded.predict(X_test)) == list(search.predict(X_test)))
