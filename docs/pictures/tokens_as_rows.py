"""How a SequenceArray stores sequences: one row for each token."""

import matplotlib.pyplot as plt

from sklearn_struct import SequenceVectorizer

sentences = [["the", "cat", "sleeps"], ["dogs", "bark"], ["a", "dog", "barks", "twice"]]
X = [[{"word": word, "end": word[-1]} for word in sentence] for sentence in sentences]
vectorizer = SequenceVectorizer()
packed = vectorizer.fit_transform(X)

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.imshow(packed.tokens.toarray(), cmap="Blues", vmax=1.5, aspect="auto")
names = vectorizer.get_feature_names_out()
ax.set_xticks(range(len(names)), names, rotation="vertical", fontsize=9)
words = [word for sentence in sentences for word in sentence]
ax.set_yticks(range(len(words)), words, fontsize=9)
for offset in packed.offsets[1:-1]:
    ax.axhline(offset - 0.5, color="tab:red", linewidth=2)
for i in range(len(packed)):
    middle = (packed.offsets[i] + packed.offsets[i + 1] - 1) / 2
    ax.text(len(names) - 0.3, middle, f"X[{i}]", va="center", fontsize=10)
ax.set(xlabel="column of X.tokens", ylabel="row of X.tokens")
