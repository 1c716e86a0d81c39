"""
================================================
Segments: fields that only their lengths tell
================================================

A form has dates of three numbers and telephone numbers of four, often side by side. All numbers
look alike, so only the length of a field tells what it is. The picture shows one line: what is
true, what a linear chain finds, and what a semi-Markov CRF finds. The chain sees two tags at a time
and cannot count. The semi-Markov CRF has a weight for each length of a field.

The model is a `SemiMarkovCRF <sklearn_struct.SemiMarkovCRF>`, by S. Sarawagi and W. W. Cohen (NIPS
2004). The guide has a page on :doc:`segments <../user_guide/segments>`.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Patch

from sklearn_struct import LinearChainCRF, SemiMarkovCRF
from sklearn_struct.metrics import span_f1_score

# %%
# Data
# ----
# A line has some entries, with a word before each. An entry is a date, a telephone number, or a
# date and then a telephone number. The features of a token are its word, or that it is a number.

rng = np.random.default_rng(0)
LENGTHS = {"date": 3, "phone": 4}
ENTRIES = (["date"], ["phone"], ["date", "phone"])


def line():
    """Tokens, and their tags."""
    tokens = []
    tags = []
    for i in rng.integers(3, size=4):
        tokens.append(str(rng.choice(["for", "at", "and", "see"])))
        tags.append("O")
        for field in ENTRIES[i]:
            tokens += [f"{n:02}" for n in rng.integers(100, size=LENGTHS[field])]
            tags += [f"B-{field}"] + [f"I-{field}"] * (LENGTHS[field] - 1)
    return tokens, tags


lines, y = zip(*(line() for _ in range(150)))
X = [[{"word": "number" if token.isdigit() else token} for token in tokens] for tokens in lines]
print(" ".join(lines[0]))

# %%
# Models
# ------
# Both see the same features and learn from the same 100 lines. F1 is that of whole fields: a field
# counts if its label, its first token and its last token are right.

chain = LinearChainCRF(C=10.0).fit(X[:100], y[:100])
segments = SemiMarkovCRF(C=10.0).fit(X[:100], y[:100])
for title, model in (("chain", chain), ("segments", segments)):
    print(f"{title:10} F1 {span_f1_score(y[100:], model.predict(X[100:])):.2f}")

# %%
# The weights of lengths say it: three tokens for a date, four for a telephone number.

for label, weights in zip(segments.classes_, segments.length_coef_.T):
    print(f"{label:6}", weights.round(1))

# %%
# One line
# --------
# Each cell is a token. A field is a run of cells with a rim around it.

COLOURS = {"date": "#f0b37e", "phone": "#7fb2e5", "O": "#eeeeee"}
words = lines[100]
rows = {"true fields": y[100]}
rows |= {"chain": chain.predict(X[100:101])[0], "segments": segments.predict(X[100:101])[0]}

figure, ax = plt.subplots(figsize=(11, 2.6), layout="constrained")
for r, tags in enumerate(rows.values()):
    for t, tag in enumerate(tags):
        kind = tag[2:] or "O"
        ax.barh(-r, 1, left=t, height=0.8, color=COLOURS[kind])
        ax.text(t + 0.5, -r, words[t], ha="center", va="center", fontsize=8)
        if tag[0] in "BO":
            ax.plot([t, t], [-r - 0.4, -r + 0.4], color="black", linewidth=1.5)
ax.set(yticks=[0, -1, -2], xticks=[], xlim=(0, len(words)))
ax.set_yticklabels(rows)
ax.legend(
    [Patch(color=COLOURS[kind]) for kind in ("date", "phone")],
    ["date", "phone"],
    loc="upper left",
    bbox_to_anchor=(1, 1),
)
plt.show()
