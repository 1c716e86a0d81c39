"""The picture of "Getting started": the probability of each label at each token of an ad."""

from __future__ import annotations

from sklearn_struct import LinearChainCRF
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.inspection import MarginalDisplay

CHOSEN = 217  # the advertisement that the page explains
SHOWN = 12  # tokens, as many as can be read on a phone


def describe(tokens: list[str]) -> list[dict[str, object]]:
    """The features of the page."""
    words = ["<start>", *(token.lower() for token in tokens), "<end>"]
    return [
        {
            "word": words[t],
            "before": words[t - 1],
            "after": words[t + 1],
            "digit": words[t].isdigit(),
        }
        for t in range(1, len(words) - 1)
    ]


def main() -> None:
    ads, labels = make_rental_ads(300, random_state=0)
    crf = LinearChainCRF().fit([describe(tokens) for tokens in ads[:200]], labels[:200])
    tokens = ads[CHOSEN][:SHOWN]
    display = MarginalDisplay.from_estimator(
        crf, describe(tokens), tokens=tokens, n_labels=5, colorbar=False
    )
    display.ax_.set(xlabel="", ylabel="")


if __name__ == "__main__":
    main()
