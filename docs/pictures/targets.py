"""Which labels were asked of some words, and which the model gives them."""

import matplotlib.pyplot as plt

from sklearn_struct import GECRF, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.inspection import TargetDisplay

ads, _ = make_rental_ads(200, random_state=0)
words = [["<out>", *(word.lower() for word in ad), "<out>"] for ad in ads]
X = SequenceVectorizer().fit_transform(
    [
        [{"before": w[t - 1], "word": w[t], "after": w[t + 1]} for t in range(1, len(w) - 1)]
        for w in words
    ]
)
labeled = {
    "word:$": "RENT",
    "word:bedroom": "SIZE",
    "word:call": "CONTACT",
    "word:street": "ADDRESS",
    "after:parking": "FEATURES",  # "street parking": against the line above
    "word:.": "O",
    "word:,": {"O": 0.5, "FEATURES": 0.3, "ADDRESS": 0.2},
}
crf = GECRF(labeled).fit(X, [None] * len(X))

figure, axes = plt.subplots(1, 2, figsize=(6, 3.4), sharey=True, layout="constrained")
TargetDisplay.from_estimator(crf, X, axes=axes, colorbar=False)
