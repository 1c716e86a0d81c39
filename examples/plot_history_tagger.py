"""
=============================
A tagger that goes by history
=============================

The picture compares three ways to label sequences with the same features. Two of them are greedy:
they choose one label after the other, each given the label just chosen. The third one looks for the
best labelling as a whole, and gets more tokens right.

One greedy tagger is a plain classifier, `LogLinearClassifier <sklearn_struct.LogLinearClassifier>`.
It classifies a *history*: the words, a place among them, and the label before (M. Collins's notes
on log-linear models). Such a tagger is a maximum-entropy Markov model. The other greedy tagger,
`MEMM <sklearn_struct.MEMM>`, minimises the same function, so the two agree. The guide has a page on
:doc:`log-linear models <../user_guide/log_linear>`.

The script also takes files of your own, in the form of the CoNLL shared tasks. Each line is a
token, its columns are separated by blanks, and an empty line ends a sentence. ::

    python plot_history_tagger.py TRAIN TEST [WORD LABEL]

``WORD`` and ``LABEL`` are the numbers of their columns, 0 and -1 by default. In CoNLL-U files words
are column 1 and tags are column 3.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import MEMM, LogLinearClassifier, ProductFeatures
from sklearn_struct.datasets import make_rental_ads, read_conll
from sklearn_struct.metrics import token_accuracy_score

START = "<start>"


def read(path, word=0, label=-1):
    """Words and labels of the sentences of a file."""
    columns = [int(word), int(label)]
    sentences = read_conll(path, columns=columns, conllu=path.endswith(".conllu"))
    return tuple([[token[c] for token in sentence] for sentence in sentences] for c in (0, 1))


if len(sys.argv) > 2:
    (X_train, y_train), (X_test, y_test) = (read(path, *sys.argv[3:]) for path in sys.argv[1:3])
else:
    X, y = make_rental_ads(200, random_state=0)
    X_train = X[:120]
    y_train = y[:120]
    X_test = X[120:]
    y_test = y[120:]

# %%
# Features of a history
# ---------------------
# A history is a tuple (words, place, label before). Its features are strings. The classifier pairs
# each of them with each label.


def word_features(words, t):
    padded = [START, *words, START]
    return [
        f"w={padded[t + 1]}",
        f"w-1={padded[t]}",
        f"w+1={padded[t + 2]}",
        f"suffix={padded[t + 1][-2:]}",
    ]


def features(history):
    words, t, before = history
    return [*word_features(words, t), f"before={before}"]


histories = [
    (words, t, ([START, *labels])[t])
    for words, labels in zip(X_train, y_train)
    for t in range(len(words))
]
flat = [label for labels in y_train for label in labels]
tagger = LogLinearClassifier(ProductFeatures(features), C=1.0, max_iter=200, tol=1e-5).fit(
    histories, flat
)

# %%
# Decoding
# --------
# At each place the tagger takes the most probable label, given the label just chosen. All sequences
# take a step together.


def greedy(X):
    chosen = [[] for _ in X]
    for t in range(max(map(len, X))):
        alive = [i for i, words in enumerate(X) if len(words) > t]
        labels = tagger.predict([(X[i], t, chosen[i][-1] if t else START) for i in alive])
        for i, label in zip(alive, labels):
            chosen[i].append(label)
    return chosen


# %%
# The same as a MEMM
# ------------------
# In a MEMM the transitions take the place of the feature "label before". The first token has no
# transition, so it gets the feature of the start.

tokens = [
    [word_features(words, t) + [f"before={START}"] * (t == 0) for t in range(len(words))]
    for words in X_train
]
test = [
    [word_features(words, t) + [f"before={START}"] * (t == 0) for t in range(len(words))]
    for words in X_test
]
memm = MEMM(C=1.0, solver="lbfgs", transition_features="observed", max_iter=200, tol=1e-5).fit(
    tokens, y_train
)

labellings = {
    "history, greedy": greedy(X_test),
    "MEMM, greedy": memm.set_params(decoder="greedy").predict(test),
    "MEMM, best labelling": memm.set_params(decoder="viterbi").predict(test),
}
accuracy = {name: token_accuracy_score(y_test, labels) for name, labels in labellings.items()}
for name, value in accuracy.items():
    print(f"{name:22} {value:.4f}")
same = np.mean(
    [
        a == b
        for x, z in zip(labellings["history, greedy"], labellings["MEMM, greedy"])
        for a, b in zip(x, z)
    ]
)
print(f"the two greedy ones agree on {100 * same:.2f} % of the tokens")

_, ax = plt.subplots(figsize=(6, 2.5), layout="constrained")
bars = ax.barh(list(accuracy), list(accuracy.values()))
ax.bar_label(bars, fmt="%.3f", padding=3)
ax.invert_yaxis()
ax.set(xlim=(0, 1), xlabel="accuracy of tokens")
plt.show()
