"""
=================================
Five ways to learn the same chain
=================================

The task is to find noun phrases in made-up sentences: which words belong to one, and where does the
next one begin? The picture shows how well five models find them. A model that learns the
probability of a whole labelling (CRF) is best. A hidden Markov model (HMM), which counts, is last,
because it cannot use features of neighbouring words.

Three others are in between. A maximum-entropy Markov model (MEMM) learns each label given the label
before. Pseudolikelihood learns each label given both neighbouring labels. M-estimation compares the
data with what an HMM expects. The guide has pages on :doc:`chains <../user_guide/sequences>`,
:doc:`hidden Markov models <../user_guide/hmm>` and :doc:`M-estimation
<../user_guide/m_estimation>`.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sklearn_struct import (
    HMM,
    MEMM,
    FeatureTemplates,
    LinearChainCRF,
    MEstimatedCRF,
    PseudoLikelihoodCRF,
)
from sklearn_struct.metrics import span_f1_score

# %%
# Data
# ----
# Sentences are drawn from patterns of tags, with brackets around noun phrases. The task is hard for
# the same reasons as in newspapers. "rising" is part of a phrase or a verb. "and" joins two words
# of one phrase, or two phrases. Where two phrases meet, only the words tell where the second one
# begins.

PHRASES = [
    *(
        "DT NN",
        "DT NN",
        "DT NN",
        "DT JJ NN",
        "NNS",
        "JJ NNS",
        "PRP",
        "NNP",
        "NNP NNP",
        "DT VBG NN",
        "VBG NNS",
    ),
    *(
        "NN CC NN NNS",
        "DT NN CC NN NN",
        "DT NNP NN",
        "NNP POS NN",
        "CD NNS",
        "DT JJ CC JJ NN",
        "CD NN NNS",
    ),
]
SENTENCES = [
    *(
        "[] VBD [] .",
        "[] VBD [] [] .",
        "[] VBD IN [] .",
        "[] VBZ VBG [] .",
        "[] VBD [] IN [] .",
        "[] CC [] VBD [] .",
    ),
    *(
        "IN [] , [] VBD [] .",
        "[] VBD [] CC VBD [] .",
        "[] VBZ VBG [] IN [] .",
        "[] VBD [] VBG [] .",
    ),
    *("RB [] VBD [] IN [] RB .", "[] , [] , VBD [] [] ."),
]
ROOTS = [
    "ba",
    "de",
    "fi",
    "go",
    "lu",
    "ma",
    "ne",
    "pi",
    "ro",
    "su",
    "ta",
    "ve",
    "wo",
    "zi",
    "ka",
    "mo",
]
ENDINGS = {
    "NN": "",
    "NNS": "s",
    "VBG": "ing",
    "VBD": "ed",
    "VBZ": "s",
    "JJ": "y",
    "RB": "ly",
    "NNP": "son",
    "CD": "0",
}
FIXED = {
    "DT": "the a this",
    "IN": "of in with",
    "CC": "and or",
    "PRP": "he she it",
    "POS": "'s",
    ",": ",",
    ".": ".",
}


def word(tag, rng):
    """A word for a tag; tags share their roots, and frequent words come up more often."""
    if tag in FIXED:
        return rng.choice(FIXED[tag].split())
    i, j = (int(len(ROOTS) * rng.beta(0.5, 2)) for _ in range(2))
    return ROOTS[i] + ROOTS[j] + "t" + ENDINGS[tag]


def sentence(rng):
    """A list of (word, tag) and a list of labels; one tag in twenty is wrong, as those of a tagger
    are.
    """
    tags = []
    labels = []
    for part in rng.choice(SENTENCES).split():
        phrase = rng.choice(PHRASES).split() if part == "[]" else [part]
        tags += phrase
        labels += ["B-NP"] + ["I-NP"] * (len(phrase) - 1) if part == "[]" else ["O"]
    words = [word(tag, rng) for tag in tags]
    noisy = [rng.choice(list(ENDINGS)) if rng.random() < 0.05 else tag for tag in tags]
    return list(zip(words, map(str, noisy))), labels


rng = np.random.default_rng(0)
X, y = zip(*(sentence(rng) for _ in range(900)))
X_train = X[:400]
y_train = y[:400]
X_tune = X[400:500]
y_tune = y[400:500]
X_test = X[500:]
y_test = y[500:]
pd.DataFrame(
    [(*token, label) for token, label in zip(X[0], y[0])], columns=["word", "tag", "label"]
)

# %%
# Features
# --------
# A hidden Markov model has two features for each token, its word and its tag. The other models see
# neighbours, too: the templates "sha-pereira" take words and tags up to two tokens away, and pairs
# and triples of them. M-estimation makes these features itself, because it must know how often its
# base, a hidden Markov model, expects each of them.

templates = FeatureTemplates("sha-pereira").fit(X_train)
rows = {"train": (X_train, y_train), "tune": (X_tune, y_tune), "test": (X_test, y_test)}
encoded = {part: (templates.transform(X_part), y_part) for part, (X_part, y_part) in rows.items()}

# %%
# Training
# --------
# For each model ``C`` is chosen on held-out sentences. The seconds are those of one fit. A fit with
# little data comes first, so the time for compiling does not count.


def m_estimated(C):
    return MEstimatedCRF("sha-pereira", base=HMM(order=2), C=C, max_iter=200, tol=1e-3)


MODELS = {
    "HMM": (lambda C: HMM(order=2), rows, [1]),
    "M-estimation": (m_estimated, rows, [0.1, 0.3, 1, 2, 3, 5, 10]),
    "MEMM": (lambda C: MEMM(C=C, solver="lbfgs"), encoded, [0.1, 1, 10]),
    "pseudolikelihood": (lambda C: PseudoLikelihoodCRF(C=C, solver="lbfgs"), encoded, [0.1, 1, 10]),
    "CRF": (lambda C: LinearChainCRF(C=C, solver="lbfgs"), encoded, [0.1, 1, 10]),
}

results = []
for name, (make, data, grid) in MODELS.items():
    (X_fit, y_fit), (X_new, y_new), (X_last, y_last) = data.values()
    make(1).fit(X_fit[:20], y_fit[:20]).predict(X_new[:2])
    for C in grid:
        start = time.process_time()
        model = make(C).fit(X_fit, y_fit)
        seconds = time.process_time() - start
        scores = (
            span_f1_score(y_new, model.predict(X_new)),
            span_f1_score(y_last, model.predict(X_last)),
        )
        results.append((name, C, seconds, *scores))
table = pd.DataFrame(results, columns=["model", "C", "seconds", "held-out F1", "test F1"])
best = table.loc[table.groupby("model", sort=False)["held-out F1"].idxmax()].set_index("model")
best.round(3)

# %%
# M-estimation has the features of the CRF, but is a joint model like the HMM. So the step from the
# HMM to M-estimation shows what the features are worth. The step from M-estimation to the CRF shows
# what conditional training is worth. M-estimation needs no inference in training. The more labels
# and sentences there are, the more time this saves. Here no fit takes long.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), width_ratios=(1, 2))
left.plot(best["test F1"], best.index, "o")
left.set(xlabel="test F1", xlim=(0.8, 1))
left.margins(y=0.2)
left.grid(axis="x")
for name, lines in table.groupby("model", sort=False):
    if name == "HMM":  # it has no C
        right.axhline(lines["held-out F1"].item(), color="grey", linestyle=":", label=name)
    else:
        right.plot(lines["C"], lines["held-out F1"], marker="o", label=name)
right.set(xscale="log", xlabel="C", ylabel="held-out F1")
right.legend(loc="center left", bbox_to_anchor=(1, 0.5))
figure.tight_layout()
plt.show()

# %%
# The C of M-estimation multiplies a mean of losses, not a sum, so good values differ from those of
# the other models. The range of good values is narrow: choose C on held-out data. With ``memory``
# the expectations are computed once, because they do not depend on C.
