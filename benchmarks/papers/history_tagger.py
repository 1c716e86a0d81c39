"""A history-based tagger, P(t_i | t_i-2, t_i-1, words, i) by a log-linear model, decoded greedily
or with a beam.

Of order 1, without t_i-2, it is a `MEMM` on the same features, for which `memm_features` are: both
minimise the same function of the same weights.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct import LogLinearClassifier, ProductFeatures

START = "<s>"


class Context(NamedTuple):
    """A place in a sentence and the two tags before it; `fixed` are the features of its words."""

    fixed: list[str]
    before: str
    last: str


def word_features(words: list[str], common: set[str]) -> list[list[str]]:
    """The features of each place that need no tags; those of spelling for words that are not
    common.
    """
    padded = [START, START, *words, START, START]
    features = []
    for i, word in enumerate(words, 2):
        names = [
            f"w={word}",
            f"w-1={padded[i - 1]}",
            f"w+1={padded[i + 1]}",
            f"w-2={padded[i - 2]}",
        ]
        names += [f"w+2={padded[i + 2]}", f"w-1,w={padded[i - 1]},{word}", f"suffix2={word[-2:]}"]
        if word not in common:
            names += [f"prefix{n}={word[:n]}" for n in (1, 2, 3, 4)] + [
                f"suffix{n}={word[-n:]}" for n in (1, 3, 4)
            ]
            names += [f"{kind}" for kind, test in TESTS.items() if test(word, i)]
        features.append(names)
    return features


TESTS = {
    "capital": lambda word, i: word[:1].isupper() and i > 2,
    "first": lambda word, i: word[:1].isupper() and i == 2,
    "upper": lambda word, i: word.isupper(),
    "digit": lambda word, i: any(c.isdigit() for c in word),
    "hyphen": lambda word, i: "-" in word,
    "symbols": lambda word, i: not any(c.isalnum() for c in word),
}


def first_order(x: Context) -> list[str]:
    return [*x.fixed, f"t-1={x.last}", f"t-1,{x.fixed[0]}={x.last}"]


def second_order(x: Context) -> list[str]:
    return [*first_order(x), f"t-2,t-1={x.before},{x.last}"]


def memm_features(words: list[str], common: set[str]) -> list[list[str]]:
    """With those of the first tag that a MEMM cannot have as transitions; `WORD_AND_TAG` are the
    edge features.
    """
    first, *others = word_features(words, common)
    return [first_order(Context(first, START, START)), *others]


WORD_AND_TAG = [re.compile("w=.*")]  # `edge_features`


def common_words(X: list[list[str]]) -> set[str]:
    return {word for word, n in Counter(word for words in X for word in words).items() if n >= 5}


class HistoryTagger:
    """Each tag given the one or two before it; trained on the tags of the data, decoded with those
    that it has found.

    Parameters
    ----------
    order : {1, 2}
        How many tags before are features.
    options
        Of `LogLinearClassifier`.
    """

    def __init__(self, order: int = 2, **options: Any) -> None:
        context = first_order if order == 1 else second_order
        self.order = order
        self.model = LogLinearClassifier(ProductFeatures(context), **options)

    def fit(self, X: list[list[str]], y: list[list[str]]) -> HistoryTagger:
        self.common = common_words(X)
        places = []
        for words, tags in zip(X, y):
            padded = [START, START, *tags]
            fixed = word_features(words, self.common)
            places += [Context(names, *padded[i : i + 2]) for i, names in enumerate(fixed)]
        self.model.fit(places, [tag for tags in y for tag in tags])
        return self

    def predict(self, X: list[list[str]], beam: int = 1, batch: int = 500) -> list[list[str]]:
        """The labellings that a beam finds; sentences advance together, some hundred at a time.

        `beam` partial labellings are kept; 1 is greedy. As many as there are tags, or pairs of
        them, find the best.
        """
        order = sorted(range(len(X)), key=lambda i: len(X[i]))
        labellings: list[list[str]] = [[]] * len(X)
        for start in range(0, len(X), batch):
            chosen = order[start : start + batch]
            for i, labels in zip(chosen, self._decode([X[i] for i in chosen], beam)):
                labellings[i] = labels
        return labellings

    def _decode(self, X: list[list[str]], beam: int) -> list[list[str]]:
        fixed = [word_features(words, self.common) for words in X]
        beams: list[list[tuple[float, tuple[str, ...]]]] = [[(0.0, (START, START))] for _ in X]
        for t in range(max(map(len, X))):
            alive = [i for i, words in enumerate(X) if len(words) > t]
            places = [Context(fixed[i][t], *tags[-2:]) for i in alive for _, tags in beams[i]]
            log_p = self.model.predict_log_proba(places)
            row = 0
            for i in alive:
                n = len(beams[i])
                beams[i] = self._extend(beams[i], log_p[row : row + n], beam)
                row += n
        return [list(kept[0][1][2:]) for kept in beams]

    def _extend(
        self, beam: list[tuple[float, tuple[str, ...]]], log_p: np.ndarray, width: int
    ) -> list:
        """The best continuations of the labellings of a beam; of those whose future is the same,
        the best.
        """
        scores = log_p + np.array([score for score, _ in beam])[:, None]
        kept: dict[tuple[str, ...], tuple[float, tuple[str, ...]]] = {}
        for place in np.argsort(-scores, axis=None, kind="stable"):
            b, k = divmod(int(place), scores.shape[1])
            tags = (*beam[b][1], str(self.model.classes_[k]))
            kept.setdefault(tags[-self.order :], (float(scores[b, k]), tags))
            if len(kept) == width:
                break
        return list(kept.values())


def accuracy(predicted: list[list[str]], y: list[list[str]]) -> float:
    pairs = [(a, b) for tags, gold in zip(predicted, y) for a, b in zip(tags, gold)]
    return float(np.mean([a == b for a, b in pairs]))
