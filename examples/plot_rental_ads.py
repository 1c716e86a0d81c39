"""
========================
Fields of advertisements
========================

An advertisement for an apartment is a row of fields: size, rent, address and so on. Nothing
separates them reliably. The picture shows one advertisement: how probable each field is at each
token, as a chain model predicts it.

A linear-chain CRF learns which labels follow each other, and chooses the labels of an advertisement
together. The number behind a ``$`` belongs to the rent, and so does the ``per month`` that follows
it. A classifier of single tokens sees the same features, but chooses each label alone. It finds
fewer fields. The guide has a page on :doc:`chains <../user_guide/sequences>`.
"""

from sklearn.linear_model import LogisticRegression

from sklearn_struct import LinearChainCRF, SequenceArray, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.metrics import extract_spans, span_classification_report, span_f1_score

# %%
# Data
# ----
# The advertisements come from a generator that is part of the package. The first token of a field
# has the label ``B-`` and the name of the field. Its other tokens have ``I-`` and the name. Tokens
# outside of all fields have ``O``.

ads, labels = make_rental_ads(300, random_state=0)
train = slice(0, 200)
test = slice(200, 300)
print(" ".join(ads[0][:12]))
print(" ".join(labels[0][:12]))

# %%
# Features
# --------
# A token is described by a dict. A string value becomes a feature of its own, such as
# ``word:rent``. A number is used as it is.


def shape(word):
    """The word with its letters as x or X and its digits as 0: ``Rent`` is ``Xxxx``, ``1,250`` is
    ``0,000``.
    """
    return "".join(
        "0" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in word
    )


def describe(tokens):
    """A dict of features for each token of one advertisement."""
    words = ["<start>", *(token.lower() for token in tokens), "<end>"]
    return [
        {
            "word": words[t + 1],
            "before": words[t],
            "after": words[t + 2],
            "shape": shape(token),
            "suffix": token[-3:].lower(),
            "position": t / len(tokens),
        }
        for t, token in enumerate(tokens)
    ]


vectorizer = SequenceVectorizer()
X_train = vectorizer.fit_transform([describe(tokens) for tokens in ads[train]])
X_test = vectorizer.transform([describe(tokens) for tokens in ads[test]])
print(X_train)

# %%
# Two models on the same features
# -------------------------------
# ``X_train.tokens`` is an ordinary sparse matrix with a row for each token. So the classifier of
# single tokens can be scikit-learn's logistic regression. Both models have the same penalty.

crf = LinearChainCRF(C=1.0).fit(X_train, labels[train])
crf_labels = crf.predict(X_test)

classifier = LogisticRegression(C=1.0, max_iter=1000)
classifier.fit(X_train.tokens, [label for sequence in labels[train] for label in sequence])
classifier_labels = SequenceArray(classifier.predict(X_test.tokens), X_test.offsets)

print(f"span F1, single tokens: {span_f1_score(labels[test], classifier_labels):.3f}")
print(f"span F1, chain:         {span_f1_score(labels[test], crf_labels):.3f}")

# %%
# A span counts as right if its field, its first token and its last token are right. The report has
# a row for each field:

print(span_classification_report(labels[test], crf_labels))

# %%
# One advertisement
# -----------------
# ``predict_proba`` gives the probability of each label at each token. It tells how sure the model
# is of a label.

tokens = ads[test][0]
truth = labels[test][0]
guess = crf_labels[0]
proba = crf.predict_proba(X_test[:1])[0]
column = {label: k for k, label in enumerate(crf.classes_)}
confidence = [proba[t, column[label]] for t, label in enumerate(guess)]

print(f"{'token':<20}{'label':<18}{'confidence':<12}truth, where it differs")
for token, label, sure, true_label in zip(tokens, guess, confidence, truth):
    print(
        f"{token:<20}{label:<18}{sure:<12.2f}{'' if label == true_label else true_label}".rstrip()
    )

# %%
# The same prediction as a list of fields:

for field, start, stop in extract_spans(guess):
    print(f"{field:<14}{' '.join(tokens[start:stop]):<58}{min(confidence[start:stop]):.2f}")

# %%
# The picture shows the probabilities of fields. Those of ``B-`` and ``I-`` of a field are added up.


def plot_fields(tokens, proba, classes):
    """Show the probability of each field at each token."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("The picture needs matplotlib.")
        return
    fields = sorted({label[2:] or label for label in classes})
    table = [
        [sum(row[k] for k, c in enumerate(classes) if (c[2:] or c) == field) for row in proba]
        for field in fields
    ]
    _, ax = plt.subplots(figsize=(12, 4), layout="constrained")
    image = ax.imshow(table, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    ax.set_xticks(range(len(tokens)), tokens, rotation=90)
    ax.set_yticks(range(len(fields)), fields)
    plt.colorbar(image, label="probability")
    plt.show()


plot_fields(tokens, proba, crf.classes_)
