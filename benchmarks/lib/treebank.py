"""The sample of the Penn Treebank; kernels of parsers, loaded before the clock starts."""

from __future__ import annotations

from typing import Any

from lib.side_by_side import Stopwatch


def treebank(
    subset: str, longest: int | None, watch: Stopwatch
) -> tuple[list[list[str]], list[str]]:
    from sklearn_struct.datasets import fetch_treebank_sample

    X, y = fetch_treebank_sample(subset=subset, max_length=longest, return_X_y=True)
    n = len(X) if not watch.quick else 500 if subset == "train" else 30
    return X[:n], y[:n]


def load_kernels(parser: Any, **limits: int) -> None:
    """Learn and parse a little, so that compiling or loading kernels is not counted."""
    from sklearn.base import clone

    from sklearn_struct.datasets import make_treebank

    X, y = make_treebank(20, random_state=0)
    small = clone(parser).set_params(**limits).fit(X, y)
    small.predict(X[:2])
    small.log_joint(X[:2], y[:2])
