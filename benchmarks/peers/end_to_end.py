"""Chunking from columns, dicts or strings to a fitted model, and from the same to predicted labels.

What the peers need before, attributes as dicts or strings made in Python, is not counted; ours has
none.
"""

from __future__ import annotations

import warnings
from functools import partial

from lib.fitting import load_kernels, scores
from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch, least
from lib.tasks import corpus

from peers.crfsuite import loaded_trainer, open_tagger, train

TASK = "chunking"
FIT = "fit, CPU s"
END = "objective at the end"
MEMORY = "peak memory, MB"
PREDICT = "predict, tokens / CPU s"
DECODE = "decoding packed data, tokens / CPU s"
PROBA = "predict_proba / predict on packed data"
SKLEARN_CRFSUITE = "sklearn-crfsuite, dicts"
PYTHON_CRFSUITE = "python-crfsuite, strings"


def ours(form: str, solver: str, watch: Stopwatch) -> dict[str, float]:
    from sklearn.pipeline import make_pipeline

    from sklearn_struct import FeatureTemplates, LinearChainCRF

    warnings.simplefilter("ignore")
    X, y, X_test, y_test = corpus(watch, form)
    crf = LinearChainCRF(C=0.5, fit_intercept=False, solver=solver, random_state=watch.run)
    templates = [FeatureTemplates("chunking", add_bos_eos=True)] if form == "columns" else []
    load_kernels(make_pipeline(*templates, crf), X[:50], y[:50])
    model = make_pipeline(*templates, crf)
    with watch.part("fit"):
        model.fit(X, y)
    watch.note_memory()
    predicted = model.predict(X_test)
    n_tokens = sum(map(len, y_test))
    figures = {END: crf.loss_curve_[-1], PREDICT: n_tokens / least(lambda: model.predict(X_test))}
    packed = templates[0].transform(X_test) if templates else crf.vectorizer_.transform(X_test)
    seconds = least(lambda: crf.predict(packed), 10)
    figures |= {
        DECODE: n_tokens / seconds,
        PROBA: least(lambda: crf.predict_proba(packed), 10) / seconds,
    }
    return figures | scores(TASK, y_test, predicted)


def sklearn_crfsuite(watch: Stopwatch) -> dict[str, float]:
    from sklearn_crfsuite import CRF

    X, y, X_test, y_test = corpus(watch, "dicts")
    crf = CRF(algorithm="lbfgs", c1=0.0, c2=1.0, all_possible_transitions=True)
    with watch.part("fit"):
        crf.fit(X, y)
    watch.note_memory()
    predicted = crf.predict(X_test)
    n_tokens = sum(map(len, y_test))
    figures = {
        PREDICT: n_tokens / least(lambda: crf.predict(X_test), 3),
        END: crf.training_log_.last_iteration["loss"],
    }
    return figures | scores(TASK, y_test, list(predicted))


def python_crfsuite(watch: Stopwatch) -> dict[str, float]:
    """From lists of strings; and, as the decoding of packed data, from items made before."""
    from pycrfsuite import ItemSequence

    path = watch.scratch / "crfsuite.model"
    X, y, X_test, y_test = corpus(watch, "strings")
    with watch.part("fit"):
        noted = train(loaded_trainer(X, y), path)
    watch.note_memory()
    tagger = open_tagger(path)
    n_tokens = sum(map(len, y_test))
    predicted = [tagger.tag(sentence) for sentence in X_test]
    items = [ItemSequence(sentence) for sentence in X_test]
    figures = {PREDICT: n_tokens / least(lambda: [tagger.tag(sentence) for sentence in X_test], 3)}
    figures |= {
        DECODE: n_tokens / least(lambda: [tagger.tag(item) for item in items], 3),
        END: noted[-1][1],
    }
    return figures | scores(TASK, y_test, predicted)


def goals(medians: Medians) -> list[Goal]:
    def over(name: str, above: str, below: str) -> float | None:
        return medians.ratio((above, name), (below, name))

    peer = SKLEARN_CRFSUITE
    tagger = PYTHON_CRFSUITE
    return [
        Goal(
            "3. columns to fitted model: sklearn-crfsuite / ours", over(FIT, peer, "columns"), 12, 8
        ),
        Goal("3. dicts to fitted model: sklearn-crfsuite / ours", over(FIT, peer, "dicts"), 18, 14),
        Goal("3. predict from dicts: ours / sklearn-crfsuite", over(PREDICT, "dicts", peer), 4, 3),
        Goal(
            "3. predict from columns: ours / sklearn-crfsuite",
            over(PREDICT, "columns", peer),
            10,
            6,
        ),
        Goal(
            "3. decoding packed data: ours / CRFsuite's tagger, items",
            over(DECODE, "columns", tagger),
            25,
            18,
        ),
        Goal(
            "3. peak memory from columns: ours / sklearn-crfsuite",
            over(MEMORY, "columns", peer),
            1,
            1,
            True,
        ),
        Goal(
            "3. peak memory from dicts: ours / sklearn-crfsuite",
            over(MEMORY, "dicts", peer),
            0.95,
            1,
            True,
        ),
        Goal(
            "4. predict_proba / predict on packed data",
            medians.figure("columns", PROBA),
            2,
            2,
            True,
        ),
    ]


BENCHMARKS = {
    "end-to-end": Benchmark(
        "Time, memory and F1 end to end: CoNLL-2000 chunking, c2 = 1",
        {
            "columns": partial(ours, "columns", "auto"),
            "dicts": partial(ours, "dicts", "auto"),
            "strings": partial(ours, "strings", "auto"),
            "columns, lbfgs": partial(ours, "columns", "lbfgs"),
            SKLEARN_CRFSUITE: sklearn_crfsuite,
            PYTHON_CRFSUITE: python_crfsuite,
        },
        goals,
        TASK,
        beside="sklearn-crfsuite, python-crfsuite",
    )
}
