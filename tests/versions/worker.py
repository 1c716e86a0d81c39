"""The side of one version: fits cases, saves and loads their models, and writes down what came of
it.

    worker.py fit FOLDER OUT PATTERN [MODELS]    fit; write outcomes to OUT; save models, too, if
    there is a folder worker.py load FOLDER OUT PATTERN MODELS     load the models; write outcomes
    to OUT

FOLDER is the checkout whose package must be the one that is imported. OUT gets a pickle for each
case.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from versions import renamed
from versions.cases import Case, built, named
from versions.data import CORPORA, FUNCTIONS, Data, bundle, has_corpora
from versions.outcomes import FAILED, Outcome, answers, learned, outcome, parameters, quietly
from versions.sides import check_package

__all__ = ["chosen", "file_name", "fitted"]

ERROR = "the fit"


def chosen(pattern: str) -> list[Case]:
    """Cases that match and whose data are here."""
    return [case for case in named(pattern) if has_corpora() or case.data not in CORPORA]


def file_name(case: Case) -> str:
    return hashlib.sha256(case.name.encode()).hexdigest()[:16]


def fitted(case: Case, data: Data) -> Any:
    """The estimator of a case, fitted in its way."""
    estimator = built(case.spec)
    if case.how == "batches":
        return _in_batches(estimator, data)
    if case.how == "init":
        short = clone(estimator).set_params(max_iter=2).fit(data.X, data.y)
        return estimator.fit(data.X, data.y, init=short)
    if case.how == "again":
        estimator.fit(data.X, data.y)
    n = data.X.shape[0] if hasattr(data.X, "shape") else len(data.X)
    weight: Any = 0.5 + np.arange(n) % 3
    if case.how == "tokens":
        weight = [w + np.arange(len(labels)) % 2 for w, labels in zip(weight, data.y, strict=True)]
    if case.how in ("sequences", "tokens"):
        return estimator.fit(data.X, data.y, sample_weight=weight)
    return estimator.fit(data.X, data.y)


def _in_batches(estimator: Any, data: Data) -> Any:
    classes = sorted({label for labels in data.y for label in labels})
    for start in range(0, len(data.X), 30):
        part = slice(start, start + 30)
        estimator.partial_fit(data.X[part], data.y[part], classes=classes)
    return estimator


def _of_fit(case: Case, models: Path | None) -> dict[str, Outcome]:
    data = bundle(case.data)
    try:
        estimator = quietly(lambda: fitted(case, data))
    except Exception as error:
        return {ERROR: outcome(f"{FAILED}{type(error).__name__}: {error}")}
    outcomes = learned(estimator) | answers(estimator, data)
    if models is not None:
        outcomes |= parameters(estimator) | _save(estimator, models / file_name(case))
    return outcomes


def _save(estimator: Any, path: Path) -> dict[str, Outcome]:
    """What has no file keeps none, and says why."""
    try:
        quietly(lambda: renamed.public("save")(estimator, path, functions=FUNCTIONS))
    except Exception as error:
        return {"saving": outcome(f"{type(error).__name__}: {error}")}
    return {}


def _of_load(case: Case, models: Path | None) -> dict[str, Outcome] | None:
    assert models is not None
    path = models / file_name(case)
    if not path.exists():
        return None
    try:
        estimator = quietly(lambda: renamed.public("load")(path, functions=FUNCTIONS))
    except Exception as error:
        return {ERROR: outcome(f"{FAILED}{type(error).__name__}: {error}")}
    return learned(estimator) | answers(estimator, bundle(case.data)) | parameters(estimator)


def main(job: str, folder: str, out: str, pattern: str, models: str = "") -> None:
    check_package(Path(folder))
    work = {"fit": _of_fit, "load": _of_load}[job]
    cases = chosen(pattern)
    for i, case in enumerate(cases):
        start = time.perf_counter()
        outcomes = work(case, Path(models) if models else None)
        if outcomes is not None:
            (Path(out) / file_name(case)).write_bytes(pickle.dumps(outcomes))
        seconds = time.perf_counter() - start
        print(f"{i + 1}/{len(cases)} {seconds:5.1f} s  {case.name}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
