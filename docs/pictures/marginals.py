"""How sure is a chain of each label?"""

import matplotlib.pyplot as plt

from sklearn_struct import LinearChainCRF
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.inspection import MarginalDisplay

X, y = make_rental_ads(n_samples=300, random_state=0)
crf = LinearChainCRF().fit([[[word] for word in ad] for ad in X[:200]], y[:200])
words = ["rent", "is", "$", "695", "1", "br", "2", "bath", "available", "9", "/", "15"]

figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
MarginalDisplay.from_estimator(
    crf, [[word] for word in words], tokens=words, n_labels=7, colorbar=False, ax=ax
)
