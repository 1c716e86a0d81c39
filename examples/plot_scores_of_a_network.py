"""
=============================================
Digits in order, from the scores of a network
=============================================

A neural network reads noisy digits one by one. The digits come in sequences, and most are one more
than the digit before. ``potentials.log_partition`` returns the gradient by which a table of pairs
is learned, and ``potentials.viterbi`` reads whole sequences. The picture shows a sequence: above,
what the network reads, and below, what Viterbi's algorithm reads from the same scores.

The user guide has a page about :doc:`scores that you already have <../user_guide/potentials>`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from sklearn_struct import potentials

LENGTH = 12

# %%
# A network for single digits
# ---------------------------
# The images of scikit-learn's digits get so much noise that the network often errs. A third of the
# images trains it.

rng = np.random.RandomState(0)
images, digits = load_digits(return_X_y=True)
images = images + 6 * rng.randn(*images.shape)
part = rng.randint(3, size=len(digits))
network = MLPClassifier(32, alpha=1.0, max_iter=1000, random_state=0)
network.fit(images[part == 0], digits[part == 0])

# %%
# Sequences
# ---------
# Seven of ten digits are one more than the digit before, with 0 after 9. All others are random. The
# second third of the images learns the table of pairs, and the last third tests it.


def sequences(n, images, digits):
    """Images (n, LENGTH, 64) and labels (n, LENGTH)."""
    labels = np.empty((n, LENGTH), int)
    labels[:, 0] = rng.randint(10, size=n)
    for t in range(1, LENGTH):
        is_next = rng.rand(n) < 0.7
        labels[:, t] = np.where(is_next, (labels[:, t - 1] + 1) % 10, rng.randint(10, size=n))
    rows = [rng.choice(np.flatnonzero(digits == label)) for label in labels.ravel()]
    return images[rows].reshape(n, LENGTH, -1), labels


def scores(images):
    """What the network says: log-probabilities of the ten digits for each image."""
    unary = network.predict_log_proba(images.reshape(-1, images.shape[-1]))
    return unary.reshape(*images.shape[:2], 10)


X_train, y_train = sequences(200, images[part == 1], digits[part == 1])
X_test, y_test = sequences(200, images[part == 2], digits[part == 2])

# %%
# Learn the table
# ---------------
# The loss of a conditional random field is log Z less the score of the right labelling. Its
# gradient in the table is the expected number of each pair of digits less its number in the labels.

unary = scores(X_train)
observed = np.zeros((10, 10))
np.add.at(observed, (y_train[:, :-1], y_train[:, 1:]), 1)
table = np.zeros((10, 10))
for _ in range(100):
    _, gradient = potentials.log_partition(unary, table, return_gradient=True)
    table -= 0.02 * (gradient.pairwise - observed)

# %%
# Read the test sequences
# -----------------------

unary = scores(X_test)
alone = unary.argmax(axis=2)
best, _ = potentials.viterbi(unary, table)
print(f"right digits, the network alone: {np.mean(alone == y_test):.1%}")
print(f"right digits, by Viterbi: {np.mean(best == y_test):.1%}")

# %%
# A sequence of the test data. Wrong digits are red.

gain = np.sum(best == y_test, axis=1) - np.sum(alone == y_test, axis=1)
shown = np.argsort(-gain)[5]

figure, axes = plt.subplots(1, LENGTH, figsize=(8, 1.7), layout="constrained")
for t, ax in enumerate(axes):
    ax.imshow(X_test[shown, t].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    for labels, place in ((alone, {"y": 1.25}), (best, {"y": -0.25})):
        is_right = labels[shown, t] == y_test[shown, t]
        ax.text(
            0.5,
            s=str(labels[shown, t]),
            color="black" if is_right else "red",
            weight="normal" if is_right else "bold",
            size=14,
            ha="center",
            va="center",
            transform=ax.transAxes,
            **place,
        )
figure.suptitle("Above the network alone, below Viterbi", fontsize="medium")
plt.show()
