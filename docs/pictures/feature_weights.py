"""Which words speak for a label, and which against it?"""

from sklearn_struct import LinearChainCRF
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.inspection import FeatureWeightsDisplay

X, y = make_rental_ads(n_samples=300, random_state=0)
crf = LinearChainCRF().fit([[[word.lower()] for word in ad] for ad in X], y)
display = FeatureWeightsDisplay.from_estimator(crf, n=6, labels=["B-RENT", "B-SIZE"])
