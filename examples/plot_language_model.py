"""
===========================
A log-linear language model
===========================

A language model predicts the next word of a text. The picture compares the perplexity of three
models. Lower bars are better. A trigram model counts what followed the last two words. A log-linear
model with more features, among them the names in the text so far, predicts names and pronouns much
better. With n-grams alone the log-linear model is no better than the trigram model.

The text is made up here: short stories about a person, who is named first and then called "he" or
"she". The features are those of M. Collins's lecture notes "Log-linear models". The guide has a
page on :doc:`log-linear models <../user_guide/log_linear>`.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import LogLinearClassifier, ProductFeatures

# %%
# Stories
# -------
# The pronoun depends on the name several words before, which a trigram cannot see. The past tense
# of verbs always ends alike.

WOMEN = ["Ada", "Grace", "Emmy", "Sofia"]
MEN = ["Alan", "Kurt", "Emil", "Otto"]
VERBS = ["walked", "hurried", "returned", "looked"]
PLACES = ["garden", "station", "harbour", "market", "library"]
THINGS = ["letter", "book", "lamp", "coat"]
OTHERS = ["quickly", "slowly", "again", "alone"]


def story(rng):
    """A few sentences about one person, word by word."""
    woman = rng.random() < 0.5
    name = rng.choice(WOMEN if woman else MEN)
    pronoun = "she" if woman else "he"
    words = []
    for sentence in range(rng.integers(3, 6)):
        subject = name if sentence == 0 or rng.random() < 0.3 else pronoun
        words += [subject, rng.choice(VERBS)]
        words += [rng.choice(OTHERS)] if rng.random() < 0.4 else []
        words += ["to", "the", rng.choice(PLACES)]
        if rng.random() < 0.5:
            words += [
                "and",
                rng.choice(["forgot", "found", "sold"]),
                rng.choice(["the", "a"]),
                rng.choice(THINGS),
            ]
        words.append(".")
    return [str(word) for word in words]


rng = np.random.default_rng(0)
train, held_out, test = ([story(rng) for _ in range(n)] for n in (120, 40, 60))


def histories(stories):
    """The words before each word, and that word."""
    X = [["<s>", "<s>", *words[:t]] for words in stories for t in range(len(words))]
    return X, [word for words in stories for word in words]


X, y = histories(train)
X_held_out, y_held_out = histories(held_out)
X_test, y_test = histories(test)
print(f"{len(y)} words to learn from, {len(set(y))} different ones")

# %%
# An interpolated trigram
# -----------------------
# The probability of a word w after the words u and v is a mean of relative frequencies:
#
# ``a q(w | u, v) + b q(w | v) + c q(w) + d / V``
#
# The weights a to d are the best ones on held-out stories. They are found by expectation
# maximisation.

ORDERS = (0, 1, 2)
counts = [Counter((tuple(x[len(x) - n :]), word) for x, word in zip(X, y)) for n in ORDERS]
totals = [Counter(tuple(x[len(x) - n :]) for x in X) for n in ORDERS]


def frequencies(X, y):
    """Relative frequencies of each order, and a uniform one."""
    keys = [[(tuple(x[len(x) - n :]), word) for x, word in zip(X, y)] for n in ORDERS]
    columns = [[counts[n][key] / max(totals[n][key[0]], 1) for key in keys[n]] for n in ORDERS]
    return np.column_stack([*columns, np.full(len(y), 1 / len(set(y)))])


weights = np.full(4, 0.25)
q = frequencies(X_held_out, y_held_out)
for _ in range(200):
    shares = weights * q
    weights = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
interpolated = np.log(frequencies(X_test, y_test) @ weights)

# %%
# The log-linear model
# --------------------
# The features are bigrams and trigrams, a bigram that skips a word, the suffix of the last word,
# and which names are in the history. The intercepts are the weights of single words. ``C`` is
# chosen on the held-out stories.


def trigrams(history):
    u, v = history[-2:]
    return [f"bigram={v}", f"trigram={u},{v}"]


def everything(history):
    skip = f"skip={history[-2]}"
    suffix = f"suffix={history[-1][-2:]}"
    return [
        *trigrams(history),
        skip,
        suffix,
        *{f"present={word}" for word in history if word.istitle()},
    ]


def fit(context):
    models = [
        LogLinearClassifier(ProductFeatures(context), C=C, tol=1e-3).fit(X, y)
        for C in (0.1, 0.3, 1, 3)
    ]
    return max(models, key=lambda model: model.log_proba(X_held_out, y_held_out).mean())


log_p = {"interpolated trigram": interpolated}
models = {"log-linear, n-grams": fit(trigrams), "log-linear, all": fit(everything)}
log_p |= {name: model.log_proba(X_test, y_test) for name, model in models.items()}
perplexity = {name: float(np.exp(-np.mean(values))) for name, values in log_p.items()}
for name, value in perplexity.items():
    print(f"{name:>22}: perplexity {value:.2f}")

# %%
# Where the difference comes from
# -------------------------------
# The name at the beginning decides between "he" and "she".

model = models["log-linear, all"]
text = ["<s>", "<s>", "Ada", "hurried", "to", "the", "station", "."]
for name in ("Ada", "Kurt"):
    p = dict(
        zip(
            model.classes_,
            model.predict_proba([[name if word == "Ada" else word for word in text]])[0],
        )
    )
    print(
        f"{name} hurried to the station . she {p['she']:.2f}, he {p['he']:.2f}, {name} "
        f"{p[name]:.2f}"
    )

kinds = {
    "names": {*WOMEN, *MEN},
    "pronouns": {"he", "she"},
    "all others": set(y) - {*WOMEN, *MEN, "he", "she"},
}
masks = {kind: np.array([word in words for word in y_test]) for kind, words in kinds.items()}
fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for i, (name, values) in enumerate(log_p.items()):
    bars = [np.exp(-values[mask].mean()) for mask in masks.values()]
    ax.bar(
        np.arange(len(masks)) + 0.27 * (i - 1), bars, 0.25, label=f"{name} ({perplexity[name]:.2f})"
    )
ax.set_xticks(range(len(masks)), list(masks))
ax.set_ylabel("perplexity of held-out words")
ax.legend(title="model (perplexity of all words)")
plt.show()
