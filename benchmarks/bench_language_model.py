"""The two examples of Collins's notes on real text: a language model against interpolated trigrams, and a tagger.

The language model learns from Wall Street Journal sentences (those of CoNLL-2000) and chooses among the most frequent
words of them; the strength of its penalty and the weights of interpolation come from held-out sentences; perplexity is
that of the test set, sentence ends and unknown words included. The tagger learns universal parts of speech (EWT) and is
scored on the dev set.
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import Any

from goals import Goal
from side_by_side import Benchmark, Medians, Stopwatch

PERPLEXITY, ACCURACY = "perplexity", "accuracy, %"
TRIGRAM, BUCKETS, OURS = "interpolated trigram", "interpolated, by counts", "LogLinearClassifier"
HELD_OUT, WORDS, STRENGTHS = 1000, 4000, (0.5, 1.0)


def text(watch: Stopwatch) -> dict[str, tuple[Any, Any]]:
    """Histories and next words of three parts of the corpus."""
    from language_models import histories, vocabulary

    from sklearn_struct.datasets import fetch_conll2000

    everything = [[word for word, _ in sentence] for sentence in fetch_conll2000().data]
    test = [[word for word, _ in sentence] for sentence in fetch_conll2000(subset="test").data]
    train, held_out = everything[:-HELD_OUT], everything[-HELD_OUT:]
    if watch.quick:
        train, held_out, test = train[:500], held_out[:100], test[:100]
    words = vocabulary(train, WORDS // 8 if watch.quick else WORDS)
    return {name: histories(s, words) for name, s in (("train", train), ("held out", held_out), ("test", test))}


def interpolated(buckets: bool, watch: Stopwatch) -> dict[str, float]:
    from language_models import InterpolatedTrigram, perplexity

    data = text(watch)
    with watch.part("fit"):
        model = InterpolatedTrigram(len(set(data["train"][1])), buckets).fit(*data["train"], *data["held out"])
    return {PERPLEXITY: perplexity(model.log_proba(*data["test"]))}


def log_linear(watch: Stopwatch) -> dict[str, float]:
    """The strength of the penalty that is best on held-out text."""
    from language_models import context, is_feature, perplexity

    from sklearn_struct import LogLinearClassifier, ProductFeatures

    warnings.simplefilter("ignore")  # the last digits of the weights change no perplexity
    data, models = text(watch), []
    features = ProductFeatures(context, keep=is_feature)
    for C in STRENGTHS:
        start = time.process_time()
        models.append(LogLinearClassifier(features, C=C, max_iter=200, tol=1e-5).fit(*data["train"]))
        watch.figures[f"fit, C={C:g}, CPU s"] = time.process_time() - start
    watch.note_memory()
    best = max(models, key=lambda model: model.log_proba(*data["held out"]).mean())
    figures = {"C": best.C, "weights": len(best.coef_), "iterations": best.n_iter_}
    with watch.part("probabilities of the test set"):
        log_p = best.log_proba(*data["test"])
    return figures | {PERPLEXITY: perplexity(log_p)}


def tagger(beam: int, watch: Stopwatch) -> dict[str, float]:
    from history_tagger import HistoryTagger, accuracy

    from sklearn_struct.datasets import fetch_ud_ewt

    warnings.simplefilter("ignore")
    n = 500 if watch.quick else None
    train, dev = fetch_ud_ewt(), fetch_ud_ewt(subset="dev")
    X, X_dev = ([[word for (word,) in sentence] for sentence in found.data] for found in (train, dev))
    with watch.part("fit"):
        model = HistoryTagger(beam, C=1.0, max_iter=100, tol=1e-5).fit(X[:n], train.target[:n])
    with watch.part("predict"):
        found = model.predict(X_dev)
    return {ACCURACY: 100 * accuracy(found, dev.target)}


def lower_perplexity(medians: Medians) -> list[Goal]:
    ours = medians.ratio((OURS, PERPLEXITY), (TRIGRAM, PERPLEXITY))
    harder = medians.ratio((OURS, PERPLEXITY), (BUCKETS, PERPLEXITY))
    return [
        Goal("perplexity of the log-linear model / interpolated trigram", ours, 0.9, 1.0, at_most=True),
        Goal("perplexity of the log-linear model / interpolated by counts", harder, 1.0, 1.05, at_most=True),
    ]


def no_goals(medians: Medians) -> list[Goal]:
    return []


BENCHMARKS = {
    "language-model": Benchmark(
        f"Language models: CoNLL-2000, {WORDS:,} words",
        {},
        lower_perplexity,
        once={TRIGRAM: partial(interpolated, False), BUCKETS: partial(interpolated, True), OURS: log_linear},
    ),
    "history-tagger": Benchmark(
        "A tagger P(tag | two tags before, words): EWT, universal parts of speech",
        {},
        no_goals,
        once={"greedy": partial(tagger, 1), "beam of 5": partial(tagger, 5), "beam of 20": partial(tagger, 20)},
    ),
}
