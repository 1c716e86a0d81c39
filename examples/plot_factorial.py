"""
======================================
Two labels a token: one model, or two?
======================================

Each word has two labels: a part of speech, and a chunk label. The chunk label says whether a noun
phrase begins at the word (B), goes on (I), or neither (O). The picture shows the share of words
with the right labels, for three ways to predict them. A factorial CRF, which is one model of both
labels, gets both right for more words than two separate models, or two models in turn.

The sentences are drawn from a small grammar. The model is by C. Sutton, A. McCallum and
K. Rohanimanesh (Journal of Machine Learning Research 2007). The guide has a page on
:doc:`factorial chains <../user_guide/factorial>`.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import FactorialCRF, LinearChainCRF

# %%
# Data
# ----
# Many words may be several parts of speech ("saw", "light"), and a phrase may stand right behind
# another one. So neither label follows from the word.

rng = np.random.default_rng(0)
WORDS = {
    "D": ["the", "a", "this", "her"],
    "A": ["light", "old", "fast", "round", "back"],
    "N": ["light", "saw", "man", "round", "back", "her", "fast", "duck"],
    "V": ["saw", "light", "duck", "round", "man", "fast"],
    "R": ["fast", "back", "round"],
}


def phrase():
    """Parts of speech of a noun phrase."""
    return ["D"] * (rng.random() < 0.5) + ["A"] * rng.integers(3) + ["N"]


def sentence():
    """Words, and their pairs of labels."""
    parts = [*phrase(), "|", "V", "|"]
    parts += [*phrase(), "|"] * rng.integers(3) + ["R"] * rng.integers(2)
    words = []
    labels = []
    begins = True
    for part in parts:
        if part == "|":
            begins = True
            continue
        words.append(str(rng.choice(WORDS[part])))
        chunk = "O" if part in "VR" else "B" if begins else "I"
        labels.append((part, chunk))
        begins = False
    return words, labels


documents, y = map(list, zip(*(sentence() for _ in range(800))))
X = [
    [{"word": b, "before": a, "after": c} for a, b, c in zip(["^", *s], s, [*s[1:], "$"])]
    for s in documents
]
test = slice(400, 800)
print(list(zip(documents[0], y[0])))

# %%
# Three ways
# ----------
# "Apart" is two chains that know nothing of each other. "In turn" is also two chains. The first one
# predicts parts of speech. The second one predicts chunks, and its features include the predicted
# parts of speech of a word and its neighbours. It is trained on predicted parts of speech, too,
# from a chain that has not seen the sentence. "Jointly" is the factorial CRF.


def with_parts(sentences, parts):
    """The same tokens, with parts of speech."""
    return [
        [
            token | {"part": b, "part before": a, "part after": c}
            for token, a, b, c in zip(tokens, ["^", *row], row, [*row[1:], "$"])
        ]
        for tokens, row in zip(sentences, parts)
    ]


def split(labels):
    """Parts of speech, and chunks."""
    return [[[pair[r] for pair in row] for row in labels] for r in range(2)]


def right(parts, chunks):
    """The shares of words of which the part, the chunk, and both are right."""
    truth = [np.concatenate(row) for row in split(y[test])]
    same = [np.concatenate(list(rows)) == t for rows, t in zip((parts, chunks), truth)]
    return [same[0].mean(), same[1].mean(), (same[0] & same[1]).mean()]


def shares(n):
    """Of the three ways, trained on n sentences."""
    options = {"C": 1.0, "tol": 1e-2}
    parts, chunks = split(y[:n])
    tagger = LinearChainCRF(**options).fit(X[:n], parts)
    chunker = LinearChainCRF(**options).fit(X[:n], chunks)
    tagged = tagger.predict(X[test])
    half = n // 2
    halves = [slice(0, half), slice(half, n)]
    seen = [None] * n
    for one, other in (halves, halves[::-1]):
        guess = LinearChainCRF(**options).fit(X[:n][one], parts[one]).predict(X[:n][other])
        seen[other] = list(guess)
    behind = LinearChainCRF(**options).fit(with_parts(X[:n], seen), chunks)
    both = FactorialCRF(**options).fit(X[:n], y[:n])
    return {
        "apart": right(tagged, chunker.predict(X[test])),
        "in turn": right(tagged, behind.predict(with_parts(X[test], tagged))),
        "jointly": right(*split(both.predict(X[test]))),
    }


sizes = [25, 50, 100, 200]
table = {n: shares(n) for n in sizes}
for n, ways in table.items():
    print(n, {way: np.round(values, 3).tolist() for way, values in ways.items()})

# %%
# Results
# -------
# "In turn" gets both labels right for more words than "apart", and "jointly" for still more. Parts
# of speech alone are no better, because chunks say little about them that neighbours do not say.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained", sharex=True)
for r, (ax, title) in enumerate(zip(axes, ("part of speech", "chunk", "both"))):
    for way, line in {"apart": "-", "in turn": "--", "jointly": "-"}.items():
        ax.plot(sizes, [table[n][way][r] for n in sizes], line, marker="o", label=way)
    ax.set(title=title, xscale="log", xlabel="training sentences")
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.minorticks_off()
axes[0].set_ylabel("share of words that are right")
axes[2].legend()
plt.show()

# %%
# What it has learned
# -------------------
# The picture shows the weights between the two labels of a word. No verb is in a noun phrase, and
# no article continues one.

both = FactorialCRF(C=1.0).fit(X[:200], y[:200])
weights = both.pair_transition_[0, 1]
parts, chunks = both.row_classes_
figure, ax = plt.subplots(figsize=(3.5, 4), layout="constrained")
most = np.abs(weights).max()
picture = ax.imshow(weights, cmap="RdBu_r", vmin=-most, vmax=most)
ax.set_xticks(range(len(chunks)), chunks.tolist())
ax.set_yticks(range(len(parts)), parts.tolist())
ax.set(xlabel="chunk", ylabel="part of speech", title="pair_transition_")
figure.colorbar(picture)
plt.show()
