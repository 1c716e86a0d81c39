"""
=================================
A parser that finds hidden states
=================================

The picture shows one sentence as two parsers read it. *See the doctors near the gardens with the
book*: the doctors are near the gardens, and one sees with the book. Phrases and parts of speech do
not tell which verb or noun these words belong to, so the first grammar gets it wrong. The second
grammar has learned hidden states of its symbols, such as singular and plural, or people and things.
It gets the sentence right.

The trees are made up by a grammar whose states the parsers do not see. The guide has a page on
:doc:`trees <../user_guide/trees>`.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_struct import EMLPCFG, PCFG
from sklearn_struct.datasets import make_treebank, read_treebank
from sklearn_struct.inspection import LatentStateDisplay, TreeDisplay, latent_states
from sklearn_struct.metrics import bracket_report

# %%
# A treebank
# ----------
# `read_treebank` takes a file, or its lines. It returns the words, which the parser gets, and the
# trees in brackets.

with TemporaryDirectory() as folder:
    path = Path(folder) / "made_up.mrg"
    path.write_text("\n".join(make_treebank(500, random_state=0)[1]))
    X, y = read_treebank(path)
X_train = X[:400]
y_train = y[:400]
X_test = X[400:]
y_test = y[400:]
print(y_train[4])

# %%
# Two grammars
# ------------
# `PCFG` counts the rules in the trees. `EMLPCFG` also learns states for each symbol, by expectation
# maximisation. Both turn trees into binary ones, and back.

plain = PCFG().fit(X_train, y_train)
hidden = EMLPCFG(n_states=8, n_grammars=3, random_state=0).fit(X_train, y_train)
pd.Series(
    {"PCFG": plain.score(X_test, y_test), "EMLPCFG": hidden.score(X_test, y_test)}, name="F1"
).round(3).to_frame()

# %%
# The report has a row for each label. Clauses (SBAR) and prepositional phrases (PP) gain most:
# where they belong depends on what the labels do not show.

print(bracket_report(y_test, plain.predict(X_test)))
print(bracket_report(y_test, hidden.predict(X_test)))

# %%
# Pictures of parses
# ------------------
# Shades are the probabilities of phrases, given the sentence. The grammar without states puts "near
# long gardens" beside the verb, and is not sure of it.

sentence = [
    "some",
    "doctors",
    "see",
    "the",
    "doctors",
    "near",
    "long",
    "gardens",
    "with",
    "the",
    "book",
]
figure, axes = plt.subplots(2, 1, figsize=(9, 9), layout="constrained")
for parser, ax in zip((plain, hidden), axes):
    TreeDisplay.from_estimator(parser, sentence, ax=ax)
    ax.set_title(type(parser).__name__)
plt.show()

# %%
# What the states stand for
# -------------------------
# The table has the most probable words of each state of a noun. Nobody has told the parser about
# singular and plural, people and things, or times.

latent_states(hidden, "N", n=6).groupby("state")["item"].agg(" ".join).to_frame("nouns")

# %%
# The states of verbs: with a subject in the singular or the plural, without objects or with
# objects.

display = LatentStateDisplay.from_estimator(hidden, "V", n=3)

# %%
# How many states?
# ----------------
# Choose the number of states by a grid search, as for any estimator. With ``memory`` the search
# would encode the trees of each split only once.

search = GridSearchCV(
    EMLPCFG(random_state=0), {"n_states": [1, 4, 16]}, cv=KFold(3), refit=False
).fit(X_train, y_train)
pd.DataFrame(search.cv_results_)[
    ["param_n_states", "mean_test_score", "std_test_score", "mean_fit_time"]
].round(3)

# %%
# Real trees
# ----------
# The data sets of the package include a sample of 3,914 trees of the Wall Street Journal. The guide
# says how well these parsers do there.
