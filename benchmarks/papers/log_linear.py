"""The two examples of Collins's notes on real text: a language model against interpolated trigrams,
and a tagger.

The language model learns from Wall Street Journal sentences (those of CoNLL-2000) and chooses among
the most frequent words of them; the strength of its penalty and the weights of interpolation come
from held-out sentences; perplexity is that of the test set, sentence ends and unknown words
included. The tagger learns universal parts of speech (EWT) and is scored on the dev set, beside a
MEMM on the same features, which should find the same.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source

PERPLEXITY = "perplexity"
ACCURACY = "accuracy, %"
TRIGRAM = "interpolated trigram"
BUCKETS = "interpolated, by counts"
OURS = "LogLinearClassifier"
OBJECTIVE = "losses + penalty / C"
CHAIN = "MEMM"
TAGGERS = ("history-based, order 1", "history-based, order 2")
BEAMS = {"greedy": 1, "beam of 5": 5, "beam of 17": 17}
OPTIONS: dict[str, Any] = {"C": 1.0, "max_iter": 300, "tol": 1e-5}
HELD_OUT = 1000
WORDS = 4000
STRENGTHS = (0.5, 1.0)


def text(watch: Stopwatch) -> dict[str, tuple[Any, Any]]:
    """Histories and next words of three parts of the corpus."""
    from papers.word_histories import histories, vocabulary
    from sklearn_struct.datasets import fetch_conll2000

    everything = [[word for word, _ in sentence] for sentence in fetch_conll2000().data]
    test = [[word for word, _ in sentence] for sentence in fetch_conll2000(subset="test").data]
    train = everything[:-HELD_OUT]
    held_out = everything[-HELD_OUT:]
    if watch.quick:
        train = train[:500]
        held_out = held_out[:100]
        test = test[:100]
    words = vocabulary(train, WORDS // 8 if watch.quick else WORDS)
    return {
        name: histories(s, words)
        for name, s in (("train", train), ("held out", held_out), ("test", test))
    }


def interpolated(buckets: bool, watch: Stopwatch) -> dict[str, float]:
    from papers.word_histories import InterpolatedTrigram, perplexity

    data = text(watch)
    with watch.part("fit"):
        model = InterpolatedTrigram(len(set(data["train"][1])), buckets).fit(
            *data["train"], *data["held out"]
        )
    return {PERPLEXITY: perplexity(model.log_proba(*data["test"]))}


def log_linear(watch: Stopwatch) -> dict[str, float]:
    """The strength of the penalty that is best on held-out text."""
    from papers.word_histories import context, is_feature, perplexity
    from sklearn_struct import LogLinearClassifier, ProductFeatures

    warnings.simplefilter("ignore")  # the last digits of the weights change no perplexity
    data = text(watch)
    models = []
    features = ProductFeatures(context, keep=is_feature)
    for C in STRENGTHS:
        start = time.process_time()
        models.append(
            LogLinearClassifier(features, C=C, max_iter=200, tol=1e-5).fit(*data["train"])
        )
        watch.figures[f"fit, C={C:g}, CPU s"] = time.process_time() - start
    watch.note_memory()
    best = max(models, key=lambda model: model.log_proba(*data["held out"]).mean())
    figures = {"C": best.C, "weights": len(best.coef_), "iterations": best.n_iter_}
    with watch.part("probabilities of the test set"):
        log_p = best.log_proba(*data["test"])
    return figures | {PERPLEXITY: perplexity(log_p)}


def parts_of_speech(watch: Stopwatch) -> tuple[Any, Any, Any, Any]:
    """Words and tags to learn from, and those to be tagged."""
    from sklearn_struct.datasets import fetch_ud_ewt

    n = 500 if watch.quick else None
    train = fetch_ud_ewt()
    dev = fetch_ud_ewt(subset="dev")
    X, X_dev = ([[word for (word,) in sentence] for sentence in part.data] for part in (train, dev))
    return X[:n], train.target[:n], X_dev, dev.target


def scored(predict: Callable[[int], Any], y: Any, watch: Stopwatch) -> dict[str, float]:
    """Accuracies of beams, the last of which is as wide as there are tags."""
    from papers.history_tagger import accuracy

    figures = {}
    for name, width in BEAMS.items():
        with watch.part(f"predict, {name}"):
            tags = predict(width)
        figures[f"{ACCURACY}, {name}"] = 100 * accuracy(tags, y)
    return figures


def tagger(order: int, watch: Stopwatch) -> dict[str, float]:
    from papers.history_tagger import HistoryTagger

    warnings.simplefilter("ignore")  # the last digits of the weights change no tag
    X, y, X_dev, y_dev = parts_of_speech(watch)
    with watch.part("fit"):
        model = HistoryTagger(order, **OPTIONS).fit(X, y)
    figures = {
        OBJECTIVE: model.model.loss_curve_[-1],
        "weights": len(model.model.coef_) + len(model.model.classes_),
    }
    return figures | scored(lambda width: model.predict(X_dev, width), y_dev, watch)


def memm(watch: Stopwatch) -> dict[str, float]:
    from papers.history_tagger import WORD_AND_TAG, common_words, memm_features
    from sklearn_struct import MEMM

    warnings.simplefilter("ignore")
    X, y, X_dev, y_dev = parts_of_speech(watch)
    common = common_words(X)
    with watch.part("fit"):
        model = MEMM(
            solver="lbfgs", edge_features=WORD_AND_TAG, transition_features="observed", **OPTIONS
        )
        model.fit([memm_features(words, common) for words in X], y)
    rows = [memm_features(words, common) for words in X_dev]
    figures = {OBJECTIVE: model.loss_curve_[-1], "weights": len(model._w)}
    return figures | scored(
        lambda n: model.set_params(decoder="beam", beam_width=n).predict(rows), y_dev, watch
    )


def lower_perplexity(medians: Medians) -> list[Goal]:
    ours = medians.ratio((OURS, PERPLEXITY), (TRIGRAM, PERPLEXITY))
    harder = medians.ratio((OURS, PERPLEXITY), (BUCKETS, PERPLEXITY))
    return [
        Goal(
            "perplexity of the log-linear model / interpolated trigram",
            ours,
            0.9,
            1.0,
            at_most=True,
        ),
        Goal(
            "perplexity of the log-linear model / interpolated by counts",
            harder,
            1.0,
            1.05,
            at_most=True,
        ),
    ]


def equal_accuracy(medians: Medians) -> list[Goal]:
    figure = f"{ACCURACY}, {list(BEAMS)[-1]}"
    same, more = (medians.ratio((name, figure), (CHAIN, figure)) for name in TAGGERS)
    return [
        Goal(
            "accuracy of the history-based tagger / MEMM with the same features", same, 1.0, 0.9995
        ),
        Goal("accuracy with the tag before the last, too / MEMM", more, 1.0, 0.999),
    ]


BENCHMARKS = {
    "language-model": Benchmark(
        f"Perplexity of language models: CoNLL-2000, {WORDS:,} words",
        {},
        lower_perplexity,
        once={
            TRIGRAM: partial(interpolated, False),
            BUCKETS: partial(interpolated, True),
            OURS: log_linear,
        },
        papers=(Source("collins-notes", "the language model"),),
    ),
    "history-tagger": Benchmark(
        "Accuracy of taggers P(tag | tags before, words): EWT, universal tags",
        {},
        equal_accuracy,
        once={TAGGERS[0]: partial(tagger, 1), TAGGERS[1]: partial(tagger, 2), CHAIN: memm},
        papers=(Source("collins-notes", "the tagger"),),
    ),
}
