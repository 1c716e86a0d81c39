"""Fields and noun phrases by linear chains and by semi-Markov CRFs, with the same features of
tokens.

Both minimise the same objective by L-BFGS with the same settings. The chain of noun phrases has
tags with B- and I-. Fields have labels without letters: those of announcements of seminars (five
splits), of addresses (usaddress) and of citations (UMass). The models see the same features in
each: of noun phrases those of windows of words and tags, of announcements those of `skip_chains`,
of addresses and citations a word, its neighbours and their forms.

Sums over segmentations are timed on random scores, by the longest segment.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from lib.fitting import FIT, fit_seconds
from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch
from lib.sources import Source
from lib.tasks import packed
from lib.word_features import word_features

from papers.field_corpora import announcements, load
from papers.skip_chains import tokens_and_labels

# near the optimum: models are compared, and segments need more iterations than chains
SETTINGS: dict[str, Any] = {"solver": "lbfgs", "max_iter": 1000, "tol": 1e-5}
F1 = "F1 of spans"
PREDICT = "predict, CPU s"
SUM = "log Z and marginals, ns a token"
LENGTHS = (1, 2, 4, 8, 16, 32)
SOURCE = Source("sarawagi-2004", "table 1")


def _model(segments: bool) -> Any:
    from sklearn_struct import LinearChainCRF, SemiMarkovCRF

    return SemiMarkovCRF(**SETTINGS) if segments else LinearChainCRF(**SETTINGS)


def _figures(model: Any, data: tuple[Any, Any, Any, Any], scheme: str | None) -> dict[str, float]:
    from sklearn_struct.metrics import span_f1_score

    X, y, X_test, y_test = data
    seconds = fit_seconds(model, X, y)
    start = time.process_time()
    predicted = model.predict(X_test)
    figures = {PREDICT: time.process_time() - start, FIT: seconds}
    return {F1: span_f1_score(y_test, predicted, scheme=scheme)} | figures


def fields(split: int, segments: bool, watch: Stopwatch) -> dict[str, float]:
    train, test = announcements(split)
    if watch.quick:
        train = train[:40]
    data = (*tokens_and_labels(train), *tokens_and_labels(test))
    return _figures(_model(segments), data, "IO")


def corpus(name: str, segments: bool, watch: Stopwatch) -> dict[str, float]:
    split = load(name)
    n = 40 if watch.quick else len(split.X_train)
    X, X_test = (
        [[word_features(words, t) for t in range(len(words))] for words in texts]
        for texts in (split.X_train[:n], split.X_test)
    )
    return _figures(_model(segments), (X, split.y_train[:n], X_test, split.y_test), "IO")


def phrases(segments: bool, watch: Stopwatch) -> dict[str, float]:
    return _figures(_model(segments), packed("noun-phrases", watch), None)


def one_sum(longest: int, n_labels: int, watch: Stopwatch) -> dict[str, float]:
    """Log Z and marginals of sequences of 25 tokens, of a chain where `longest` is 0."""
    import numpy as np

    from sklearn_struct.containers.structures import Potentials, zeros
    from sklearn_struct.inference.chains.chain import Chain
    from sklearn_struct.inference.segments.segmentations import Segmentations

    rng = np.random.default_rng(watch.run)
    inference: Any = Segmentations((longest,) * n_labels) if longest else Chain()
    structure = inference.structure(np.arange(0, 3001, 25))
    lengths = structure.families[1:]
    tables = [rng.normal(size=(1, n_labels**2)), *(rng.normal(size=(1, n_labels)) for _ in lengths)]
    potentials = Potentials(rng.normal(size=(3000, n_labels)), tuple(tables))
    n = structure.n_examples
    seconds = []
    for _ in range(30):
        start = time.process_time()
        inference.marginals(potentials, structure, np.ones(n), zeros(potentials), np.empty(n))
        seconds.append(time.process_time() - start)
    return {SUM: min(seconds) / 3000 * 1e9}


def goals_of_fields(medians: Medians) -> list[Goal]:
    splits = [f"seminars {i}" for i in range(5)]
    gains = [medians.points(f"{split}, segments", f"{split}, chain", F1) for split in splits]
    known = [gain for gain in gains if gain is not None]
    mean = sum(known) / len(known) if known else None
    of_phrases = medians.points("noun phrases, segments", "noun phrases, chain", F1)
    return [
        Goal("points of F1, segments over chain, seminars", mean, 1.0, 0.3),
        Goal("points of F1, segments over chain, noun phrases", of_phrases, 0.0, -0.1),
    ]


def goals_of_sums(medians: Medians) -> list[Goal]:
    ratio = medians.ratio(("segments, 8", SUM), ("chain", SUM))
    longer = medians.ratio(("segments, 32", SUM), ("segments, 8", SUM))
    return [
        Goal("time of segments up to 8 tokens / of a chain", ratio, 4.0, 6.0, at_most=True),
        Goal("time of segments up to 32 / up to 8 tokens", longer, 4.0, 4.0, at_most=True),
    ]


CORPORA: dict[str, Any] = {
    **{f"seminars {i}": partial(fields, i) for i in range(5)},
    "addresses": partial(corpus, "usaddress"),
    "citations": partial(corpus, "umass_citations"),
    "noun phrases": phrases,
}
BENCHMARKS = {
    "semi-markov-fields": Benchmark(
        "Fields and noun phrases, by chains and by segments",
        {
            f"{corpus_name}, {'segments' if segments else 'chain'}": partial(function, segments)
            for corpus_name, function in CORPORA.items()
            for segments in (False, True)
        },
        goals_of_fields,
        task="noun-phrases",
        papers=(SOURCE,),
    ),
    "semi-markov-growth": Benchmark(
        "Sums over segmentations, by the longest segment; 22 labels",
        {
            "chain": partial(one_sum, 0, 22),
            **{f"segments, {longest}": partial(one_sum, longest, 22) for longest in LENGTHS},
        },
        goals_of_sums,
        papers=(SOURCE,),
    ),
}
