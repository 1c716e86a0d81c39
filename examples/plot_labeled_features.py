"""
============================
Labelled words, no sentences
============================

Nobody has labelled these advertisements, but everybody knows that ``$`` means the rent and
``bedroom`` the size. A conditional random field learns from a few such words and from unlabelled
text, by generalized expectation criteria. The bars of the last picture compare it with three
others: a lookup of these words, a model of ten labelled advertisements, and a model of both
together, which is best.

The other pictures, and a report, show how to check labelled words. The guide has a page on
:doc:`few labels <../user_guide/few_labels>`.
"""

import re
from collections import Counter

import matplotlib.pyplot as plt
import pandas as pd

from sklearn_struct import GECRF, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.inspection import TargetDisplay, target_report
from sklearn_struct.labeled_features import suggest_labeled_features
from sklearn_struct.metrics import token_accuracy_score

# %%
# Data
# ----
# The features of a token are its word and the words beside it, with 9 for all digits. Labels are
# fields, without B- and I-. Ten advertisements have labels, which we use to choose words. 200
# others have no labels, and 100 more are to test on.

ads, labels = make_rental_ads(310, random_state=0)
y = [[label[2:] or label for label in ad] for ad in labels]


def describe(ad):
    words = ["<start>", *(re.sub(r"\d", "9", word.lower()) for word in ad), "<end>"]
    return [{"word": w, "before": b, "after": a} for b, w, a in zip(words, words[1:], words[2:])]


tokens = [describe(ad) for ad in ads]
X = SequenceVectorizer().fit_transform(tokens)
few = slice(0, 10)
unlabelled = slice(10, 210)
test = slice(210, 310)

# %%
# Which words
# -----------
# Each field gets at most four words: the most frequent ones that have this field at least seven
# times in ten. A person who reads ten advertisements might choose them, too.

rule = {"min_frequency": 2, "min_precision": 0.7, "features": re.compile("word:.*")}
words = suggest_labeled_features(X[few], y[few], n_per_label=4, **rule)
by_field = pd.Series(words).rename("field").rename_axis("feature").reset_index()
by_field["feature"] = by_field["feature"].str.removeprefix("word:")
by_field.groupby("field")["feature"].agg(" ".join).to_frame("words")

# %%
# A model of words alone
# ----------------------
# We compare the model with a lookup: labelled words get their label, and all others the most
# frequent one.

model = GECRF(words).fit(X[unlabelled], [None] * 200)
most_frequent = Counter(label for ad in y[few] for label in ad).most_common(1)[0][0]
lookup = [
    [words.get(f"word:{token['word']}", most_frequent) for token in ad] for ad in tokens[test]
]
print(f"labelled words, else {most_frequent}: {token_accuracy_score(y[test], lookup):.3f}")
print(f"GECRF, labelled words:   {model.score(X[test], y[test]):.3f}")

# %%
# For the following field no word was sure enough, so the model of words cannot know it:

print(sorted({label for ad in y[few] for label in ad} - set(words.values())))

# %%
# Targets and expectations
# ------------------------
# A row is a labelled word, and a column is a field. On the left you see what is asked for. On the
# right you see what a model expects: the mean of its probabilities over all tokens with the word.
# The first picture is of a model that learns from the ten labelled advertisements alone
# (``target_weight=0``). It agrees with most words, but is less sure.

mixed = y[few] + [None] * 200
deaf = GECRF(words, target_weight=0).fit(X[:210], mixed)
TargetDisplay.from_estimator(deaf, X[unlabelled])
plt.show()

# %%
# The model of words has learned what it was told. This does not mean that what it was told is true.

TargetDisplay.from_estimator(model, X[unlabelled])
plt.show()

# %%
# The report
# ----------
# The report shows the same as numbers. It says where words stand, what was asked for (``target``),
# what the model of words expects (``expected``), and what the model of ten advertisements expects
# (``before``). The first rows are the words that the model of ten advertisements doubts most. Look
# at these. "welcome" is no restriction in "welcome home". It should get another label,
# probabilities, or counts from some annotated tokens. "photos" is right: there the ten
# advertisements are too few.

report = target_report(model, X[unlabelled], before=deaf)
columns = ["feature", "label", "tokens", "sequences", "target", "expected", "before"]
report.sort_values("before")[columns].head(8).round(2)

# %%
# Words and labels
# ----------------
# The model can learn from the ten labelled advertisements, too. They have labels of 500 tokens, so
# they alone make a better model than the words. Both together are better still. Here the words come
# from the same ten advertisements. Words that somebody knew before add more, as the guide shows.

both = GECRF(words).fit(X[:210], mixed)
scores = {
    "words, looked up": token_accuracy_score(y[test], lookup),
    "words": model.score(X[test], y[test]),
    "ten labelled ads": deaf.score(X[test], y[test]),
    "words and ten ads": both.score(X[test], y[test]),
}
for name, value in scores.items():
    print(f"{name:18}{value:.3f}")

# sphinx_gallery_thumbnail_number = 3
_, ax = plt.subplots(layout="constrained", figsize=(6, 2.5))
bars = ax.barh(list(scores), list(scores.values()))
ax.bar_label(bars, fmt="%.2f", padding=3)
ax.invert_yaxis()
ax.set(xlabel="accuracy of tokens", xlim=(0, 1))
plt.show()
