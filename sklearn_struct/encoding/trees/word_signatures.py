"""Classes of rare and unknown words, told by their letters alone."""

from __future__ import annotations

from collections.abc import Container

__all__ = ["signature"]

# those of the Berkeley parser; the first that fits counts
_SUFFIXES = ("ed", "ing", "ion", "er", "est", "ly", "ity", "y", "al")


def signature(word: str, position: int, known: Container[str] = ()) -> str:
    """The class of a rare English word: UNK with its capitals, digits, dash and suffix.

    The classes are those of the Berkeley parser. `position` is that in the sentence, from 0: a
    capitalised first word is looked up among the `known` words in small letters.
    """
    letters = [c for c in word if c.isalpha()]
    n_capitals = sum(not c.islower() for c in letters)
    lowered = word.lower()
    name = "UNK"
    if word[:1].isupper():
        if position == 0 and n_capitals == 1:
            name += "-INITC-KNOWNLC" if lowered in known else "-INITC"
        else:
            name += "-CAPS"
    elif n_capitals and not word[0].isalpha():
        name += "-CAPS"
    elif n_capitals < len(letters):
        name += "-LC"
    has_digit = any(c.isdigit() for c in word)
    has_dash = "-" in word
    name += "-NUM" * has_digit + "-DASH" * has_dash
    # 80s, but neither -ss nor Greek and Latin -is and -us
    if lowered.endswith("s") and len(word) >= 3:
        return name if lowered[-2] in "siu" else f"{name}-s"
    if len(word) < 5 or has_dash or (has_digit and n_capitals):
        return name
    return name + next((f"-{suffix}" for suffix in _SUFFIXES if lowered.endswith(suffix)), "")
