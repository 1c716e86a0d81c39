"""Attributes and vectors of tokens side by side."""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_struct import SequenceVectorizer

rng = np.random.default_rng(0)
kind = {"the": 0, "a": 0, "cat": 1, "dog": 1, "sleeps": 2, "barks": 2}
centres = rng.normal(size=(3, 8))
words = ["the", "cat", "sleeps", "a", "dog", "barks"]
vectors = {word: centres[kind[word]] + 0.3 * rng.normal(size=8) for word in words}
tokens = [
    {"word": word, "first": t in (0, 3), "vector": vectors[word]} for t, word in enumerate(words)
]
vectorizer = SequenceVectorizer()
rows = vectorizer.fit_transform([tokens])[0].toarray()
names = vectorizer.get_feature_names_out()
n_sparse = len(names) - vectorizer.embedding_lengths_["vector"]

figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
masked = np.ma.masked_equal(rows, 0)  # a sparse matrix does not store zeros
image = ax.imshow(masked, cmap="RdBu", vmin=-3, vmax=3, aspect="auto")
figure.colorbar(image, ax=ax, label="value")
ax.axvline(n_sparse - 0.5, color="black")
ax.set_xticks(range(len(names)), names, rotation="vertical", fontsize=9)
ax.set_yticks(range(len(words)), words)
ax.text((n_sparse - 1) / 2, -0.7, "attributes: sparse", ha="center")
ax.text((n_sparse + len(names) - 1) / 2, -0.7, "vectors: dense", ha="center")
