"""Fields of announcements, by chains and by skip chains, on five splits.

Both see the same tokens and have the same C, the default one. Edges join a word that is capitalised
or has digits with its last mention, but for words that more than 5 % of the texts have, and have
the features of both ends, as in Sutton and McCallum (2004).

That was chosen on the training texts of split 0: each sixth was labelled after learning from the
others. By marginals, the six parts gain .3, .2, .4, 1.9, .6 and 3.1 points over the chain, 1.1 on
average; by joint labellings the skip chain is .3 points below it. Shares of texts of 3 and 10 %
gain .8 and 1.0 points. All capitalised words, common ones too, gain .3, and with edges to two
mentions lose .2. Products of the features of both ends gain .7, and .9 with common words. With
fewer features of tokens and C=3 chains gain 2 to 4 points, and skip chains add nothing to that.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from lib.fitting import FIT, fit_seconds
from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source
from lib.word_features import shape, word_features

from papers.field_corpora import Announcement, announcements

MARKS = ".,:;()<>\"'"
COMMON = 0.05  # the share of texts above which what they have tells nothing
SETTINGS: dict[str, Any] = {"max_iter": 100, "tol": 1e-3}
F1 = "F1 of nodes"


def tokens_and_labels(texts: list[Announcement]) -> tuple[list[Any], list[list[str]]]:
    """What models see of texts, and what they learn or predict."""
    return [features(text) for text in texts], [text.labels for text in texts]


def features(text: Announcement) -> list[dict[str, Any]]:
    """Of each word itself, of those around it, and of its place in a line, such as "Who: ..."."""
    words, lines, _ = text
    length = Counter(lines)
    first: dict[int, int] = {}
    told = []
    for t, line in enumerate(lines):
        start = first.setdefault(line, t)
        token = word_features(words, t) | {
            "line": words[start].lower() if start < t else "<first>",
            "place": str(min(t - start, 4)),
            "line length": str(min(length[line], 8)),
        }
        token |= {
            f"word {step}": words[t + step].lower()
            for step in (-4, -3, 3, 4)
            if 0 <= t + step < len(words)
        }
        token |= {
            f"shape {step}": shape(words[t + step])
            for step in (-1, 1)
            if 0 <= t + step < len(words)
        }
        told.append(token)
    return told


def alike(texts: list[Announcement]) -> dict[str, Any]:
    """Settings of a skip chain that learns from texts."""
    counts = Counter(name for text in texts for name in set(map(_name, text.words)))
    common = {name for name, n in counts.items() if n > COMMON * len(texts)}

    def key(token: dict[str, Any]) -> str | None:
        word = token["itself"].strip(MARKS)
        is_name = word[:1].isupper() and len(word) > 1
        is_number = any(map(str.isdigit, word)) and len(word) > 2
        name = _name(word)
        return name if (is_name or is_number) and name not in common else None

    # the nearest mention alone: with all pairs, a name of many places is sure of itself
    return {"key": key, "max_pairs": 1, "skip_features": "either"}


def _name(word: str) -> str:
    """A word without marks, possessive and capitals, so that JONES, Jones and Jones's are alike."""
    return word.strip(MARKS).removesuffix("'s").lower()


def fields(split: int, skip: bool, watch: Stopwatch) -> dict[str, float]:
    from sklearn_struct import LinearChainCRF, SkipChainCRF
    from sklearn_struct.metrics import span_f1_score

    train, test = announcements(split)
    if watch.quick:
        train = train[:40]
    X, y = tokens_and_labels(train)
    X_test, y_test = tokens_and_labels(test)
    model: Any = LinearChainCRF(**SETTINGS)
    if skip:
        model = SkipChainCRF(**SETTINGS, **alike(train), inference_tol=1e-3)
    seconds = fit_seconds(model, X, y)
    by_nodes = [model.classes_[p.argmax(axis=1)].tolist() for p in model.predict_proba(X_test)]
    return {
        F1: span_f1_score(y_test, by_nodes, scheme="IO"),
        "F1 of labellings": span_f1_score(y_test, model.predict(X_test), scheme="IO"),
        FIT: seconds,
    }


def goals(medians: Medians) -> list[Goal]:
    gains = [medians.points(f"skip chain, split {i}", f"chain, split {i}", F1) for i in range(5)]
    known = [gain for gain in gains if gain is not None]
    mean = sum(known) / len(known) if known else None
    return [Goal("points of F1, skip chain over chain", mean, 1.5, 0.0)]


BENCHMARKS = {
    "graph-skip-chain": Benchmark(
        "Fields of announcements, by chains and by skip chains",
        {
            f"{'skip ' if skip else ''}chain, split {i}": partial(fields, i, skip)
            for i in range(5)
            for skip in (False, True)
        },
        goals,
        papers=(Source("sutton-2004", "skip chains"), Source("sutton-2012", "section 5.1.2")),
    ),
}
