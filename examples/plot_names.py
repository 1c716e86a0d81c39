"""
========================================
Names that the training data do not have
========================================

A chain finds names of people, places and companies. The picture compares three sets of features,
for names that are in the training sentences and for new names. A new name tells the model nothing
by itself, so the neighbouring words and the form of the word decide. At the end `explain
<sklearn_struct.inspection.explain>` lists what decided in one case.

The guide has a page on :doc:`chains <../user_guide/sequences>` and one on
:doc:`explanations <../user_guide/inspection>`.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import LinearChainCRF
from sklearn_struct.inspection import explain
from sklearn_struct.metrics import extract_spans

# %%
# Data
# ----
# Sentences are filled-in patterns. Names are made of syllables. Some patterns are alike, such as
# "ORG thanked PER" and "PER thanked ORG". In these, only the form of a name may tell its kind. Half
# of the names are in no training sentence.

rng = np.random.default_rng(0)
PATTERNS = (
    "Mr PER met PER in LOC .",
    "shares of ORG fell after PER left .",
    "PER thanked ORG .",
    "ORG thanked PER .",
    "LOC thanked ORG .",
    "yesterday ORG moved to LOC .",
    "yesterday PER moved to ORG .",
)
SYLLABLES = ["ba", "del", "fen", "gor", "hal", "kim", "lor", "mar", "nes", "pol", "ras", "sol"]
ENDINGS = {"PER": ["", "son", "er"], "LOC": ["", "ville", "ton"], "ORG": ["", "tec", "co"]}
stems = rng.permutation([a + b for a in SYLLABLES for b in SYLLABLES])
names = {
    kind: [stem.title() + rng.choice(ENDINGS[kind]) for stem in stems[start : start + 40]]
    for start, kind in zip((0, 40, 80), ENDINGS)
}


def sentence(n_names):
    """Words and BIO labels, with some of the first `n_names` names of each kind."""
    words = []
    labels = []
    for part in rng.choice(PATTERNS).split():
        if part in names:
            new = [str(rng.choice(names[part][:n_names]))]
            new += ["Ltd"] * (part == "ORG" and rng.random() < 0.3)
        else:
            new = [part]
        words += new
        labels += [f"B-{part}", f"I-{part}"][: len(new)] if part in names else ["O"]
    return words, labels


sentences, y = zip(*(sentence(n) for n in [20] * 200 + [40] * 300))
train = slice(0, 200)
test = slice(200, 500)
print(" ".join(sentences[0]))
print(" ".join(y[0]))

# %%
# Three sets of features
# ----------------------
# A token is a dict. Each set has the features of the one before, and some more.

SETS = {
    "word": ["word"],
    "+ neighbours": ["word", "before", "after"],
    "+ form of the word": ["word", "before", "after", "capital", "ending"],
}


def describe(words, keys):
    """The features `keys` of each word."""
    rows = zip(["<start>", *words], words, [*words[1:], "<end>"])
    tokens = [
        {"word": w, "before": b, "after": a, "capital": w.istitle(), "ending": w[-3:]}
        for b, w, a in rows
    ]
    return [{key: token[key] for key in keys} for token in tokens]


X = {title: [describe(words, keys) for words in sentences] for title, keys in SETS.items()}
models = {
    title: LinearChainCRF(C=3.0, allowed_transitions="BIO").fit(X[title][train], y[train])
    for title in SETS
}

# %%
# Known names and new names
# -------------------------

known = {word for words in sentences[train] for word in words}


def recall(labels, new):
    """The share of new, or known, names whose kind and extent are predicted rightly."""
    hits = []
    for words, truth, guess in zip(sentences[test], y[test], labels):
        predicted = extract_spans(guess)
        for kind, start, stop in extract_spans(truth):
            if (words[start] not in known) == new:
                hits.append((kind, start, stop) in predicted)
    return np.mean(hits)


figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for offset, (title, model) in zip((-0.27, 0, 0.27), models.items()):
    labels = model.predict(X[title][test])
    shares = [recall(labels, new) for new in (False, True)]
    bars = ax.bar(np.arange(2) + offset, shares, width=0.25, label=title)
    ax.bar_label(bars, fmt="%.2f", padding=2)
ax.set(xticks=range(2), ylim=(0, 1.1), ylabel="share of names that are right")
ax.set_xticklabels(["names in the training data", "new names"])
ax.legend(title="features", loc="upper left", bbox_to_anchor=(1, 1))
plt.show()

# %%
# One decision
# ------------
# "Kimville" is no name in the data. Why does the model predict a place and not a person? `explain`
# takes both labellings and lists how much each feature speaks for the first one. Terms below 0.1
# are left out. The ending decides.

title = "+ form of the word"
tokens = describe(["Kimville", "thanked", names["ORG"][0], "."], SETS[title])
print(models[title].predict([tokens])[0])
place = ["B-LOC", "O", "B-ORG", "O"]
person = ["B-PER", "O", "B-ORG", "O"]
terms = explain(models[title], tokens, place, rival=person).to_frame()
terms[terms["contribution"].abs() > 0.1].round(2)
