"""Parts of speech and chunks of CoNLL-2000, one after the other and jointly.

One after the other: two chains, of which that of chunks sees the parts of speech of a token and its
neighbours. In the test these are predicted; in training they are the true ones, or, as in the test,
predicted by taggers that have not seen the sentence. Jointly: one `FactorialCRF` (Sutton, McCallum
and Rohanimanesh, 2007), compared with the better of the two. It sees what the others see: chunks,
too, are scored by the parts of speech of a token and its neighbours, with ``reach=1``.

C is chosen within the training part, the same way for all: of 0.1, 0.3, 1, 3, 10 and 30 (jointly
without 30), 3 has the best chunks and most words with both labels right on sentences 2,000 to 2,600
after learning from 800, one after the other as well as jointly.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from lib.fitting import FIT, fit_seconds
from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source
from lib.word_features import word_features

CHUNKS = "chunk F1"
BOTH = "both labels right"
TRUE_TAGS = "one after the other, true tags"
PREDICTED_TAGS = "one after the other, predicted tags"
JOINTLY = "jointly"
FOLDS = 5
SETTINGS: dict[str, Any] = {"C": 3.0, "max_iter": 100, "tol": 1e-2}
JOINT: dict[str, Any] = {"reach": 1, "inference_tol": 1e-3}


class Sentences:
    """Features of words, parts of speech and chunks of the first sentences of a subset."""

    def __init__(self, subset: str, most: int) -> None:
        from sklearn_struct.datasets import fetch_conll2000

        rows, chunks = fetch_conll2000(subset=subset, return_X_y=True)
        words = [[token[0] for token in tokens] for tokens in rows[:most]]
        self.X = [[word_features(each, t) for t in range(len(each))] for each in words]
        self.tags = [[token[1] for token in tokens] for tokens in rows[:most]]
        self.chunks = chunks[:most]


def one_by_one(predicted: bool, watch: Stopwatch) -> dict[str, float]:
    """A tagger, and a chunker that learns from true tags or from predicted ones."""
    from sklearn_struct import LinearChainCRF

    train, test = _data(watch)
    tagger = LinearChainCRF(**SETTINGS)
    chunker = LinearChainCRF(**SETTINGS)
    seconds = 0.0
    tags = train.tags
    if predicted:
        tags = list(tags)
        for fold in range(FOLDS):
            rest = [i for i in range(len(tags)) if i % FOLDS != fold]
            seconds += fit_seconds(
                tagger, [train.X[i] for i in rest], [train.tags[i] for i in rest]
            )
            tags[fold::FOLDS] = tagger.predict(train.X[fold::FOLDS])
    seconds += fit_seconds(tagger, train.X, train.tags)
    seconds += fit_seconds(chunker, with_tags(train.X, tags), train.chunks)
    known_tags = list(tagger.predict(test.X))
    known_chunks = list(chunker.predict(with_tags(test.X, known_tags)))
    return _figures(test, known_tags, known_chunks) | {FIT: seconds}


def jointly(watch: Stopwatch) -> dict[str, float]:
    from sklearn_struct import FactorialCRF

    train, test = _data(watch)
    model = FactorialCRF(**SETTINGS, **JOINT)
    y = [list(zip(*pair, strict=True)) for pair in zip(train.tags, train.chunks, strict=True)]
    seconds = fit_seconds(model, train.X, y)
    pairs = model.predict(test.X)
    known_tags = [[tag for tag, _ in sentence] for sentence in pairs]
    known_chunks = [[chunk for _, chunk in sentence] for sentence in pairs]
    return _figures(test, known_tags, known_chunks) | {FIT: seconds}


def _data(watch: Stopwatch) -> tuple[Sentences, Sentences]:
    return Sentences("train", 300 if watch.quick else 2000), Sentences(
        "test", 300 if watch.quick else 1000
    )


def _figures(test: Sentences, tags: list[Any], chunks: list[Any]) -> dict[str, float]:
    import numpy as np

    from sklearn_struct.metrics import span_f1_score

    tags_right = np.concatenate(tags) == np.concatenate(test.tags)
    chunks_right = np.concatenate(chunks) == np.concatenate(test.chunks)
    return {
        CHUNKS: span_f1_score(test.chunks, chunks),
        "tags right": float(np.mean(tags_right)),
        BOTH: float(np.mean(tags_right & chunks_right)),
    }


def with_tags(X: list[Any], tags: list[Any]) -> list[Any]:
    """Tokens that say which part of speech they, and their neighbours, have."""
    told = []
    for tokens, known in zip(X, tags, strict=True):
        around = [known[0], *known, known[-1]]
        triples = zip(tokens, around, known, around[2:])
        told.append(
            [
                token | {"tag -1": before, "tag": tag, "tag 1": after}
                for token, before, tag, after in triples
            ]
        )
    return told


def goals(medians: Medians) -> list[Goal]:
    limits = {CHUNKS: (0.3, 0.0), BOTH: (0.5, 0.0)}
    return [
        Goal(f"points of {name}, jointly over one after the other", _gain(medians, name), *limit)
        for name, limit in limits.items()
    ]


def _gain(medians: Medians, name: str) -> float | None:
    """By how many hundredths the joint model is above the better of the two others."""
    joint = medians.figure(JOINTLY, name)
    others = [medians.figure(other, name) for other in (TRUE_TAGS, PREDICTED_TAGS)]
    known = [figure for figure in others if figure is not None]
    return None if joint is None or len(known) < 2 else 100 * (joint - max(known))


BENCHMARKS = {
    "graph-joint-chunking": Benchmark(
        "Parts of speech and chunks, one after the other and jointly",
        {
            TRUE_TAGS: partial(one_by_one, False),
            PREDICTED_TAGS: partial(one_by_one, True),
            JOINTLY: jointly,
        },
        goals,
        papers=(Source("sutton-2007", "chunks"), Source("sutton-2012", "section 5.1.2")),
    ),
}
