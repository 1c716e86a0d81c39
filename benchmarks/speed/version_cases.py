"""The side of one version: CPU seconds of its fits, predictions and encodings.

    version_cases.py FOLDER GROUP SCRATCH [--quick]    one of `GROUPS`
    version_cases.py FOLDER prepare SCRATCH [--quick]  write the data that groups read

A process waits for its turn: it reads a line, works, and answers with a line. "next" prepares the
next case and answers with its name, with an empty line after the last one; "run" runs the case and
answers with its seconds.

FOLDER is the checkout whose package must be the one that is imported. Only public names occur here,
those of today; `versions.renamed` knows the former ones. Fits end after some iterations: what is
compared is the work of each, and equal versions do the same number.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from lib.fitting import load_kernels
from lib.side_by_side import Stopwatch, least
from lib.tasks import TASKS, corpus, packed, write
from lib.treebank import treebank
from papers.noun_phrase_models import EXTENDED, HMM_FEATURES, LABEL_PAIRS, TEMPLATES, parts
from peers.training import OURS
from versions import renamed
from versions.sides import check_package

from speed.parsers import PARSERS

PREPARE = "prepare"

# the name of each case, and what runs it once and gives its CPU seconds
Cases = Iterator[tuple[str, Callable[[], float]]]

N_SINGLE = 200  # sentences that are predicted one by one
N_SMALL = 50  # sequences of the fit that loads kernels
PASSES = {"lbfgs": 15, "sag": 4, "sdca": 4}
FITS = {"fit_intercept": False, "C": 0.5, "tol": 0.0, "random_state": 0}

# Class, settings and features of models of noun phrases.
NOUN_PHRASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "HMM": ("HMM", {"oov": None}, HMM_FEATURES),
    "HMM, order 2": ("HMM", {"oov": None, "order": 2}, HMM_FEATURES),
    "CRF": ("LinearChainCRF", {}, HMM_FEATURES),
    "CRF, order 2": ("LinearChainCRF", {"order": 2}, HMM_FEATURES),
    "CRF, extended": ("LinearChainCRF", {}, EXTENDED),
    "PL, extended": ("PseudoLikelihoodCRF", {}, EXTENDED),
    "MEMM, extended": ("MEMM", {}, EXTENDED),
    "MEMM, order 2, extended": ("MEMM", {"order": 2}, EXTENDED),
    "M-est., extended": ("MEstimatedCRF", {"solver": "sdca"}, EXTENDED),
    "M-est., L-BFGS, extended": ("MEstimatedCRF", {"solver": "lbfgs"}, EXTENDED),
}


def training(task: str, watch: Stopwatch) -> Cases:
    """Fits of packed data, by each solver in both precisions."""
    X, y, X_test, _ = packed(task, watch)
    for name, (solver, dtype) in OURS.items():
        settings = FITS | {"solver": solver, "dtype": dtype, "max_iter": PASSES[solver]}
        yield from _fit_and_predict(name, renamed.make("LinearChainCRF", settings), X, y, X_test)


def end_to_end(watch: Stopwatch) -> Cases:
    """From columns, dicts or strings to a fitted model, and to predictions."""
    from sklearn.pipeline import make_pipeline

    for form in ("columns", "dicts", "strings"):
        X, y, X_test, _ = corpus(watch, form)
        crf = renamed.make("LinearChainCRF", FITS | {"max_iter": PASSES["sag"]})
        steps = [_encoder(form)] if form == "columns" else []
        model = make_pipeline(*steps, crf)
        yield from _fit_and_predict(form, model, X, y, X_test)
        one_by_one = partial(_one_by_one, model, X_test[:N_SINGLE])
        yield f"{form}: predict, a sentence a call", partial(least, one_by_one, 5)
        yield f"{form}: predict_proba", partial(least, partial(model.predict_proba, X_test), 3)


def _one_by_one(model: Any, X: list[Any]) -> None:
    for sentence in X:
        model.predict([sentence])


def encoding(watch: Stopwatch) -> Cases:
    for form in ("columns", "strings", "dicts"):
        X, _, X_test, _ = corpus(watch, form)
        encoder = _encoder(form)
        encoder.fit(X[:N_SMALL]).transform(X[:N_SMALL])
        yield f"{form}: fit_transform", partial(least, partial(encoder.fit_transform, X), 3)
        yield f"{form}: transform", partial(least, partial(encoder.transform, X_test), 5)


def _encoder(form: str) -> Any:
    if form == "columns":
        return renamed.public("FeatureTemplates")("chunking", add_bos_eos=True)
    return renamed.public("SequenceVectorizer")()


def parsers(watch: Stopwatch) -> Cases:
    X, y = treebank("train", 40, watch)
    X_dev, _ = treebank("dev", 40, watch)
    for name, made in PARSERS.items():
        parser = renamed.make(made.args[0], made.keywords)
        if "max_iter" in parser.get_params():
            parser.set_params(max_iter=4)
        yield from _fit_and_predict(name, parser, X, y, X_dev, repeats=1)


def noun_phrases(watch: Stopwatch) -> Cases:
    """Models of Smith, Vail and Lafferty: of rows, or of packed features."""
    rows = parts(watch)
    features = {}
    for kind in (HMM_FEATURES, EXTENDED):
        templates = renamed.public("FeatureTemplates")(TEMPLATES[kind]).fit(rows["train"].X)
        features[kind] = [templates.transform(rows[part].X) for part in ("train", "tune")]
    for name, (kind, settings, shown) in NOUN_PHRASES.items():
        X = rows["train"].X
        X_test = rows["tune"].X
        options: dict[str, Any] = dict(settings)
        if kind != "HMM":
            options = {"solver": "lbfgs", "tol": 0.0, "edge_features": LABEL_PAIRS[shown]} | options
            options["max_iter"] = PASSES[options["solver"]]
        if kind == "MEstimatedCRF":
            base = renamed.make("HMM", {"order": 2, "oov": None})
            options |= {"features": TEMPLATES[shown], "base": base, "random_state": 0}
        elif kind != "HMM":
            X, X_test = features[shown]
        yield from _fit_and_predict(name, renamed.make(kind, options), X, rows["train"].y, X_test)


def _fit_and_predict(name: str, model: Any, X: Any, y: Any, X_test: Any, repeats: int = 5) -> Cases:
    load_kernels(model, X[:N_SMALL], y[:N_SMALL])
    yield f"{name}: fit", partial(least, partial(model.fit, X, y), 1)
    yield f"{name}: predict", partial(least, partial(model.predict, X_test), repeats)


GROUPS: dict[str, Callable[[Stopwatch], Cases]] = {
    **{f"training-{task}": partial(training, task) for task in TASKS},
    "end-to-end": end_to_end,
    "encoding": encoding,
    "parsers": parsers,
    "np": noun_phrases,
}


def main(folder: str, group: str, scratch: str, *flags: str) -> None:
    check_package(Path(folder))
    warnings.simplefilter("ignore")
    watch = Stopwatch(Path(scratch), quick="--quick" in flags)
    if group == PREPARE:
        for task in TASKS:
            write(task, watch.scratch, watch.quick)
        return

    cases = GROUPS[group](watch)
    for line in sys.stdin:
        if line.strip() == "next":
            name, run = next(cases, ("", least))
            print(name, flush=True)
        else:
            print(run(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
