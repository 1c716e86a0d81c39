"""
==========================================
Fields of addresses, from a few prototypes
==========================================

Nobody has labelled these addresses. A person names three typical words for each field, its
*prototypes*: "oak" is a street, and "ave" is a kind of street. The picture shows what such
prototypes are worth. A model that knows nothing else is as good as a conditional random field of
five labelled addresses.

`PrototypeMRF <sklearn_struct.PrototypeMRF>` learns from the unlabelled addresses which words behave
like the prototypes. The guide has a page on :doc:`few labels <../user_guide/few_labels>`.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import LinearChainCRF, PrototypeMRF

# %%
# Data
# ----
# Addresses are drawn from lists of words. Some parts may be missing, and nothing separates them:
# "12 old mill rd apt 4 salem or 97301".

rng = np.random.default_rng(0)
WORDS = {
    "street": ["oak", "elm", "maple", "cedar", "pine", "mill", "park", "lake", "church", "hill"],
    "kind": ["ave", "st", "rd", "dr", "ln", "blvd"],
    "city": ["salem", "dover", "troy", "york", "newport", "ashland", "franklin", "marion"],
    "state": ["or", "ny", "oh", "me", "ca", "tx", "va"],
    "unit": ["apt", "unit", "suite"],
}


def address():
    """Words and labels."""
    parts = [(str(rng.integers(1, 2000)), "number")]
    if rng.random() < 0.3:
        parts.append((rng.choice(["n", "s", "old", "new"]), "street"))
    parts += [(rng.choice(WORDS["street"]), "street"), (rng.choice(WORDS["kind"]), "kind")]
    if rng.random() < 0.4:
        parts += [(rng.choice(WORDS["unit"]), "unit"), (str(rng.integers(1, 40)), "unit")]
    parts += [(rng.choice(WORDS["city"]), "city"), (rng.choice(WORDS["state"]), "state")]
    if rng.random() < 0.8:
        parts.append((f"{rng.integers(10000, 99999)}", "code"))
    return [str(word) for word, _ in parts], [label for _, label in parts]


def describe(words):
    """The word, with 9 for all digits, and what kind of word it is."""
    shapes = ["9" * len(word) if word.isdigit() else word for word in words]
    return [
        {"word": shape, "letters": min(len(shape), 3) if shape[0] != "9" else 0, "first": t == 0}
        for t, shape in enumerate(shapes)
    ]


addresses, y = zip(*(address() for _ in range(400)))
X = [describe(words) for words in addresses]
train = slice(0, 300)
test = slice(300, 400)
print(" ".join(addresses[1]), y[1], sep="\n")

# %%
# Prototypes
# ----------
# A person who knows what an address looks like has chosen these words. ``given_features`` names the
# feature that says where a word stands. This feature is no part of the word.

PROTOTYPES = {
    "number": ["9", "999", "9999"],
    "street": ["oak", "elm", "pine"],
    "kind": ["ave", "st", "rd"],
    "unit": ["apt", "unit", "suite"],
    "city": ["salem", "dover", "troy"],
    "state": ["or", "ny", "oh"],
    "code": ["99999"],
}
prototypes = {f"word:{word}": label for label, words in PROTOTYPES.items() for word in words}
mrf = PrototypeMRF(prototypes, given_features=["first"], tol=1e-2)
of_prototypes = mrf.fit(X[train], [None] * 300).score(X[test], y[test])
looked_up = np.mean(
    [
        prototypes.get(f"word:{token['word']}") == label
        for tokens, labels in zip(X[test], y[test])
        for token, label in zip(tokens, labels)
    ]
)
print(f"prototypes, looked up {looked_up:.3f}, learned from {of_prototypes:.3f}")

# %%
# Labelled addresses
# ------------------
# Conditional random fields learn from the first 1, 2, 5, ... of 50 addresses. The accuracy is the
# mean over five draws.

SIZES = [1, 2, 5, 10, 20, 50]
draws = [rng.permutation(300) for _ in range(5)]


def of_labelled(n):
    """Test accuracy of a chain that learns from n labelled addresses."""
    scores = []
    for draw in draws:
        some = draw[:n]
        crf = LinearChainCRF(C=10.0, tol=1e-3).fit([X[i] for i in some], [y[i] for i in some])
        scores.append(crf.score(X[test], y[test]))
    return np.mean(scores)


curve = [of_labelled(n) for n in SIZES]
print(dict(zip(SIZES, np.round(curve, 3).tolist())))

# %%
# Results
# -------

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.plot(SIZES, curve, marker="o", label="labelled addresses (CRF)")
ax.axhline(of_prototypes, color="C1", label="19 prototypes (PrototypeMRF)")
ax.axhline(looked_up, color="C1", linestyle=":", label="19 prototypes, looked up")
ax.set(xscale="log", ylim=(0, 1.05), xlabel="labelled addresses", ylabel="accuracy of tokens")
ax.set_xticks(SIZES, [str(n) for n in SIZES])
ax.minorticks_off()
ax.legend(loc="lower right")
plt.show()
