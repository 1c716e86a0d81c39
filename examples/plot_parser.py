"""
=================================
A parser that finds hidden states
=================================

From a file of bracketed trees to a parser, to pictures of its parses, and to what its hidden states
stand for. The trees are made up by a grammar that knows more than it shows: *sees the doctors near
the garden* and *sees the doctors with the book* look alike to a grammar of phrases and parts of
speech, but people can be near something, and one sees with something.
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
# `read_treebank` takes a file, or its lines. It returns the words, which are what is to be parsed,
# and the trees as they stand there.

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
# A probabilistic context-free grammar is read off the trees. The other one learns, by expectation
# maximisation, states for each symbol. Both turn trees into binary ones, and back.

plain = PCFG().fit(X_train, y_train)
hidden = EMLPCFG(n_states=8, n_grammars=3, random_state=0).fit(X_train, y_train)
pd.Series(
    {"PCFG": plain.score(X_test, y_test), "EMLPCFG": hidden.score(X_test, y_test)}, name="F1"
).round(3).to_frame()

# %% The report has a row for each label. Clauses (SBAR) and prepositional phrases (PP) gain: where
# they belong is hidden.

print(bracket_report(y_test, plain.predict(X_test)))
print(bracket_report(y_test, hidden.predict(X_test)))

# %%
# Pictures of parses
# ------------------
# Shades are posterior probabilities. The grammar without states gets one phrase wrong, without
# being sure.

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

# %%
# What the states stand for
# -------------------------
# The most probable words of each state of a noun. Nobody has told the parser of singular and
# plural, of people and things, or of times.

latent_states(hidden, "N", n=6).groupby("state")["item"].agg(" ".join).to_frame("nouns")

# %%
# And of verbs: with a subject in the singular or the plural, alone or with objects.

display = LatentStateDisplay.from_estimator(hidden, "V", n=3)

# %%
# How many states?
# ----------------
# A grid search, as for any estimator. With ``memory`` it would encode the trees of each split once.

search = GridSearchCV(
    EMLPCFG(random_state=0), {"n_states": [1, 4, 16]}, cv=KFold(3), refit=False
).fit(X_train, y_train)
pd.DataFrame(search.cv_results_)[
    ["param_n_states", "mean_test_score", "std_test_score", "mean_fit_time"]
].round(3)

# %%
# Real trees
# ----------
# `fetch_treebank_sample` loads 3,914 trees of the Wall Street Journal. The guide says how well
# these parsers do there.
