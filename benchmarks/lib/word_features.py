"""What taggers of the benchmarks see of a word, where nothing hangs on it."""

from __future__ import annotations

from typing import Any


def word_features(words: list[str], t: int) -> dict[str, Any]:
    """What a model sees of a token."""
    word = words[t]
    features: dict[str, Any] = {
        "word": word.lower(),
        "shape": shape(word),
        "suffix": word[-3:].lower(),
        "capital": word[:1].isupper(),
        "digit": any(map(str.isdigit, word)),
    }
    for step in (-2, -1, 1, 2):
        if 0 <= t + step < len(words):
            near = words[t + step]
            features[f"word {step}"] = near.lower()
            features[f"capital {step}"] = near[:1].isupper()
    return features | {"itself": word}


def shape(word: str) -> str:
    """X and x in the place of letters; six characters at most."""
    return "".join("X" if c.isupper() else "x" if c.islower() else c for c in word)[:6]
