"""Encoding of the chunking corpus, 19 attributes a token: tokens a second of ours and of
scikit-learn's vectorizers.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import Any

from lib.goals import Goal
from lib.side_by_side import Benchmark, Medians, Stopwatch, least
from lib.tasks import corpus

LEARN = "fit_transform, tokens / CPU s"
LOOK_UP = "transform, tokens / CPU s"
RATES = {"templates": 2e6, "strings": 550e3, "dicts": 300e3}
FORMS = {  # where it is not the name itself
    "templates": "columns",
    "DictVectorizer": "dicts",
    "FeatureHasher": "dicts",
    "FeatureHasher, strings": "strings",
}


def _encoder(name: str) -> Any:
    if name == "DictVectorizer":
        from sklearn.feature_extraction import DictVectorizer

        return DictVectorizer()
    if name.startswith("FeatureHasher"):
        from sklearn.feature_extraction import FeatureHasher

        return FeatureHasher(input_type="string" if "strings" in name else "dict")
    from sklearn_struct import FeatureTemplates, SequenceVectorizer

    return (
        FeatureTemplates("chunking", add_bos_eos=True)
        if name == "templates"
        else SequenceVectorizer()
    )


def encode(name: str, watch: Stopwatch) -> dict[str, float]:
    X, _, X_test, _ = corpus(watch, FORMS.get(name, name))
    n = sum(map(len, X))
    n_test = sum(map(len, X_test))
    if name not in RATES:  # scikit-learn's know no sequences
        X = list(chain.from_iterable(X))
        X_test = list(chain.from_iterable(X_test))
    _encoder(name).fit(X[:50]).transform(X[:50])
    encoder = _encoder(name)
    figures = {LEARN: n / least(lambda: encoder.fit_transform(X), 3)}
    return figures | {LOOK_UP: n_test / least(lambda: encoder.transform(X_test), 5)}


def goals(medians: Medians) -> list[Goal]:
    return [
        Goal(
            f"4. {name}: {what.replace(' / CPU s', ' a second')}",
            medians.figure(name, what),
            rate,
            rate,
        )
        for name, rate in RATES.items()
        for what in (LEARN, LOOK_UP)
    ]


BENCHMARKS = {
    "encoding": Benchmark(
        "Tokens encoded per second: CoNLL-2000, 19 attributes per token",
        {
            name: partial(encode, name)
            for name in (*RATES, "DictVectorizer", "FeatureHasher", "FeatureHasher, strings")
        },
        goals,
        "chunking",
        beside="scikit-learn: DictVectorizer, FeatureHasher",
    )
}
