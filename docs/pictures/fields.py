"""The picture of README: the fields of an advertisement, and how sure a chain is of them.

python docs/pictures/fields.py
"""

from __future__ import annotations

from pathlib import Path

from sklearn_struct import LinearChainCRF
from sklearn_struct.datasets import make_rental_ads
from sklearn_struct.inspection import MarginalDisplay

CHOSEN = 237  # a short one with several fields


def describe(tokens: list[str]) -> list[dict[str, str]]:
    """Words and their neighbours."""
    words = ["<start>", *(token.lower() for token in tokens), "<end>"]
    return [
        {"word": words[t], "before": words[t - 1], "after": words[t + 1]}
        for t in range(1, len(words) - 1)
    ]


def field(label: str) -> str:
    """The field of a label, with or without its ``B-`` or ``I-``."""
    return "none" if label == "O" else label[2:].lower()


def main() -> None:
    ads, labels = make_rental_ads(300, random_state=0)
    fields = [[field(label) for label in sequence] for sequence in labels]
    crf = LinearChainCRF().fit([describe(tokens) for tokens in ads[:200]], fields[:200])
    tokens = ads[CHOSEN]
    drawn = MarginalDisplay.from_estimator(crf, describe(tokens), tokens=tokens)
    n_labels = len(set(drawn.path.tolist()))
    display = drawn.plot(n_labels=n_labels, colorbar=False)
    display.ax_.set(xlabel="", ylabel="")
    path = Path(__file__).parents[1] / "_static" / "fields.png"
    display.figure_.savefig(path, dpi=80, bbox_inches="tight")
    print(path.name, " ".join(tokens))


if __name__ == "__main__":
    main()
