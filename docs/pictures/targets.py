"""Which labels were asked of some words, and which the model gives them."""

import matplotlib.pyplot as plt
from advertisements import words_and_fields

from sklearn_struct import GECRF
from sklearn_struct.inspection import TargetDisplay

X, _ = words_and_fields(200)
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
