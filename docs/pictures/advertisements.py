"""Advertisements as several pictures read them: words beside each other, and whole fields."""

from __future__ import annotations

from sklearn_struct import SequenceArray, SequenceVectorizer
from sklearn_struct.datasets import make_rental_ads


def words_and_fields(n: int) -> tuple[SequenceArray, list[list[str]]]:
    """Features "before", "word" and "after" of each token of `n` advertisements, and its field."""
    ads, labels = make_rental_ads(n, random_state=0)
    padded = [["<out>", *(word.lower() for word in ad), "<out>"] for ad in ads]
    X = SequenceVectorizer().fit_transform(
        [
            [{"before": w[t - 1], "word": w[t], "after": w[t + 1]} for t in range(1, len(w) - 1)]
            for w in padded
        ]
    )
    return X, [[label[2:] or label for label in ad] for ad in labels]
