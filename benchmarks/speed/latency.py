"""What a prediction of one sentence takes: microseconds of CPU a call, for sentences of about 20
tokens of CoNLL-2000, one after the other; and for all test sentences in one call.

Models are fitted for a few iterations, as what a call takes does not depend on how good they are.
"versions end-to-end" has the same beside an earlier version.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch, least
from lib.tasks import corpus
from peers.crfsuite import loaded_trainer, open_tagger, train

CALL = "one sentence, CPU us a call"
ALL = "all sentences, tokens / CPU s"
SKLEARN_CRFSUITE = "sklearn-crfsuite, dicts"
PYTHON_CRFSUITE = "python-crfsuite, strings"
LENGTHS = range(18, 23)  # tokens of the sentences
N_SENTENCES = 100
ROUNDS = 20
FEW = 15  # iterations of the fits


def _figures(
    one: Callable[[Any], Any], every: Callable[[], Any], sentences: list[Any], n_tokens: int
) -> dict[str, float]:
    """The median of many calls of `one`, and the best of some of `every`."""
    for sentence in sentences:
        one(sentence)
    seconds = []
    for _ in range(ROUNDS):
        for sentence in sentences:
            start = time.process_time_ns()
            one(sentence)
            seconds.append(time.process_time_ns() - start)
    return {CALL: statistics.median(seconds) / 1000, ALL: n_tokens / least(every)}


def _of_length(X: Any) -> list[Any]:
    return [sentence for sentence in X if len(sentence) in LENGTHS][:N_SENTENCES]


def ours(form: str, kind: str, watch: Stopwatch) -> dict[str, float]:
    from sklearn.pipeline import make_pipeline

    import sklearn_struct
    from sklearn_struct import FeatureTemplates

    warnings.simplefilter("ignore")
    X, y, X_test, y_test = corpus(watch, "columns" if form == "packed" else form)
    options: dict[str, Any] = {} if kind == "HMM" else {"max_iter": FEW}
    model = getattr(sklearn_struct, kind)(**options)
    sentences: list[Any] = [[sentence] for sentence in _of_length(X_test)]
    if form == "packed":
        templates = FeatureTemplates("chunking", add_bos_eos=True)
        X = templates.fit_transform(X)
        sentences = [templates.transform(sentence) for sentence in sentences]
        X_test = templates.transform(X_test)
    elif form == "columns" and kind != "HMM":
        model = make_pipeline(FeatureTemplates("chunking", add_bos_eos=True), model)
    model.fit(X, y)
    n_tokens = sum(map(len, y_test))
    return _figures(model.predict, partial(model.predict, X_test), sentences, n_tokens)


def sklearn_crfsuite(watch: Stopwatch) -> dict[str, float]:
    from sklearn_crfsuite import CRF

    X, y, X_test, y_test = corpus(watch, "dicts")
    crf = CRF(algorithm="lbfgs", max_iterations=FEW, all_possible_transitions=True).fit(X, y)
    every = partial(crf.predict, X_test)
    return _figures(crf.predict_single, every, _of_length(X_test), sum(map(len, y_test)))


def python_crfsuite(watch: Stopwatch) -> dict[str, float]:
    path = watch.scratch / "latency.model"
    X, y, X_test, y_test = corpus(watch, "strings")
    train(loaded_trainer(X, y), path, FEW)
    tagger = open_tagger(path)

    def every() -> None:
        for sentence in X_test:
            tagger.tag(sentence)

    return _figures(tagger.tag, every, _of_length(X_test), sum(map(len, y_test)))


def goals(medians: Medians) -> list[Goal]:
    all_dicts = medians.ratio(("dicts", ALL), (SKLEARN_CRFSUITE, ALL))
    return [Goal("predict all sentences from dicts: ours / sklearn-crfsuite", all_dicts, 4, 3)]


BENCHMARKS = {
    "latency": Benchmark(
        "A prediction of one sentence of about 20 tokens: CoNLL-2000 chunking",
        {
            "dicts": partial(ours, "dicts", "LinearChainCRF"),
            "strings": partial(ours, "strings", "LinearChainCRF"),
            "columns": partial(ours, "columns", "LinearChainCRF"),
            "packed": partial(ours, "packed", "LinearChainCRF"),
            "MEMM, dicts": partial(ours, "dicts", "MEMM"),
            "HMM, columns": partial(ours, "columns", "HMM"),
            SKLEARN_CRFSUITE: sklearn_crfsuite,
            PYTHON_CRFSUITE: python_crfsuite,
        },
        goals,
        "chunking",
        beside="sklearn-crfsuite, python-crfsuite",
    )
}
