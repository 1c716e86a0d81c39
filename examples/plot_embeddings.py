"""
=====================================
Embeddings beside the words of a text
=====================================

A model of names has not seen most names of a new text. A word *embedding*, a row of numbers for
each word, helps: words of the same kind have similar numbers. But the numbers do not tell how a
word is written and which word stands before it. The picture compares three models: one sees
attributes of words, one sees embeddings, and one sees both.

The model is a `LinearChainCRF <sklearn_struct.LinearChainCRF>`. The texts and the embeddings are
made up by a few lines of code. The guide has a page on :doc:`data and features
<../user_guide/sequence_data>`.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import LinearChainCRF
from sklearn_struct.metrics import span_f1_score

# %%
# Data
# ----
# There are 600 names of persons, 600 names of places and 300 other words. The embedding of a word
# has 16 numbers: the centre of its kind, and noise. So two words of one kind are similar, but some
# words are nearer to another kind.

rng = np.random.default_rng(0)
SYLLABLES = ["ba", "do", "fi", "gu", "ka", "le", "mo", "na", "pi", "ro", "su", "ta", "ve", "zo"]
KINDS = {"PER": 600, "LOC": 600, "O": 300}

words = set()
while len(words) < sum(KINDS.values()):
    words.add("".join(rng.choice(SYLLABLES, size=3)))
words = list(rng.permutation(sorted(words)))
kinds = np.repeat(list(KINDS), list(KINDS.values()))
centres = {kind: rng.normal(scale=0.5, size=16) for kind in KINDS}
vectors = {w: centres[k] + rng.normal(size=16) for w, k in zip(words, kinds)}
of_kind = {kind: [w for w, k in zip(words, kinds) if k == kind] for kind in KINDS}

# %%
# A text has names of one or two words. Names have capital letters, and so have some other words.
# Before a person there is often "says", before a place often "in".

CUES = {"PER": ["says", "says", "and"], "LOC": ["in", "in", "and"]}


def text():
    """Words and their labels."""
    tokens = []
    labels = []
    for _ in range(4):
        kind = str(rng.choice(["PER", "LOC"]))
        name = rng.choice(of_kind[kind], size=rng.integers(1, 3))
        others = rng.choice(of_kind["O"], size=rng.integers(1, 4))
        tokens += [w.title() if rng.random() < 0.2 else str(w) for w in others]
        tokens += [str(rng.choice(CUES[kind])), *(w.title() for w in name)]
        labels += ["O"] * (len(others) + 1) + [f"B-{kind}"] + [f"I-{kind}"] * (len(name) - 1)
    return tokens, labels


texts, y = zip(*(text() for _ in range(300)))
print(" ".join(texts[0]))
seen = {w.lower() for tokens in texts[:60] for w in tokens}
new = [w for tokens in texts[60:] for w in tokens if w.lower() in vectors]
share = np.mean([w.lower() not in seen for w in new])
print(f"{share:.0%} of the names and other words of the test texts are new")

# %%
# Features
# --------
# A token is a dict. The vector of a word is one value of it, under a key of our choice. "says",
# "in" and "and" have no vector here, so their dicts leave the key out. With ``|`` a token gets the
# keys of both dicts.


def attributes(tokens):
    return [
        {
            "word": word.lower(),
            "capital": word[0].isupper(),
            "before": tokens[t - 1].lower() if t > 0 else "(start)",
        }
        for t, word in enumerate(tokens)
    ]


def embeddings(tokens):
    return [{"vector": vectors[w.lower()]} if w.lower() in vectors else {} for w in tokens]


def both(tokens):
    return [a | b for a, b in zip(attributes(tokens), embeddings(tokens))]


# %%
# Three models
# ------------
# All learn from the same 60 texts. F1 is that of whole names on the other 240 texts. In the model
# with both, attributes stay sparse and vectors stay dense.

f1 = {}
for features in (attributes, embeddings, both):
    X = [features(tokens) for tokens in texts]
    crf = LinearChainCRF().fit(X[:60], y[:60])
    f1[features.__name__] = span_f1_score(y[60:], crf.predict(X[60:]))
    print(f"{features.__name__:10} {crf.n_features_in_:5} features", end=", ")
    print(f"F1 {f1[features.__name__]:.3f}")

# %%
# Why both?
# ---------
# On the left are the embeddings, projected on the plane through the three centres. The kinds
# overlap, so embeddings alone confuse them. Attributes alone know the words of 60 texts only. The
# model with both knows that a word with a capital letter after "in" is probably a place, and that
# it lies among the places.

origin = np.mean(list(centres.values()), axis=0)
plane = np.linalg.svd(np.array(list(centres.values())) - origin, full_matrices=False)[2][:2]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for kind, name in {"PER": "persons", "LOC": "places", "O": "other words"}.items():
    points = (np.array([vectors[w] for w in of_kind[kind]]) - origin) @ plane.T
    left.plot(*points.T, ".", markersize=4, alpha=0.6, label=name)
left.set(xticks=[], yticks=[], title="embeddings of all words")
left.legend()
bars = right.barh(list(f1), list(f1.values()), color=["tab:gray", "tab:gray", "tab:red"])
right.bar_label(bars, fmt=" {:.3f}")
right.invert_yaxis()
right.set(xlim=(0, 1.1), xlabel="F1 of names in new texts")
plt.show()
