"""What the states of a grammar's symbols, or of a chain's labels, stand for."""

from __future__ import annotations

from difflib import get_close_matches
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, validate_params

from sklearn_struct.containers.trees import Tensors
from sklearn_struct.containers.typing import Label
from sklearn_struct.encoding.trees.lexicon import observations
from sklearn_struct.estimators.graphs.base_graph import BaseGraph
from sklearn_struct.estimators.hidden_states.base_latent_chain import BaseLatentChain
from sklearn_struct.estimators.hidden_states.class_predictions import BaseClassPredictions
from sklearn_struct.estimators.trees.base_parser import BaseParser
from sklearn_struct.exceptions import InputTypeError, UnknownLabelError
from sklearn_struct.inspection.fitted_model import (
    feature_names,
    label_codes,
    last_step,
    linear_model_of,
    parser_of,
)
from sklearn_struct.inspection.optional_imports import pandas

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["CHOICE", "OTHER", "StateItems", "latent_states", "state_items"]

OTHER = "(other)"
CHOICE = {
    "n": [None, Interval(Integral, 1, None, closed="left")],
    "grammar": [Interval(Integral, 0, None, closed="left")],
}


@validate_params(CHOICE, prefer_skip_nested_validation=True)
def latent_states(
    estimator: BaseEstimator, symbol: str | int, *, n: int | None = 5, grammar: int = 0
) -> DataFrame:
    """Show what the hidden states of a symbol, or of a label, stand for, as a data frame.

    For a symbol of a grammar the table has its most probable words, if it is a tag, or its most
    probable rules, if it is a phrase. Rare and unknown words are shown as their signatures, such as
    ``UNK-CAPS``, and words without a known signature as ``(other)``. For a label of a
    `LatentChainCRF` the table has the features whose weights in a state are most above their means
    over all states of the label. The numbers of the states are arbitrary.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    estimator : fitted EMLPCFG, LatentChainCRF, GraphCRF or HiddenStateClassifier
        Or another tree parser whose states have probabilities. Also a pipeline or a search that
        ends in one.
    symbol : str or int
        A name in the parser's ``symbols_``, or its place there; or a label of the chain, the graphs
        or the classifier.
    n : int or None, default=5
        Number of words, rules or features for each state; None: all of them. Probabilities of 0,
        and weights that are not above the mean, are left out.
    grammar : int, default=0
        The number of the grammar, if the parser has several.

    Returns
    -------
    pandas.DataFrame
        Columns ``state``, ``item`` and ``probability``, p(item | symbol, state); the items of a
        state by falling probability. Rules are summed over the states of their children. Of a chain
        the third column is ``weight``, less the mean weight over the states of the label.

    Raises
    ------
    ImportError
        If pandas is not installed.
    UnknownLabelError
        If there is no such symbol, or label.
    InputTypeError
        If the parser has no states, or none with probabilities.
    ValueError
        If it has no such grammar, or several symbols have this name.

    See Also
    --------
    LatentStateDisplay : The same as a picture.
    sklearn_struct.EMLPCFG : A grammar whose symbols have states.
    sklearn_struct.LatentChainCRF : A chain whose labels have states.

    Examples
    --------
    >>> from sklearn_struct import EMLPCFG
    >>> from sklearn_struct.datasets import make_treebank
    >>> from sklearn_struct.inspection import latent_states
    >>> X, y = make_treebank(n_samples=300, random_state=0)
    >>> parser = EMLPCFG(n_states=4, random_state=0).fit(X, y)
    >>> nouns = latent_states(parser, "N", n=2)
    >>> nouns.columns.tolist(), len(nouns)
    (['state', 'item', 'probability'], 8)
    >>> nouns.groupby("state")["item"].agg(" ".join).tolist()  # doctest: +SKIP
    ['houses books', 'friend pictures', 'night house', 'children women']
    """
    pd = pandas("latent_states")
    below = state_items(estimator, symbol, grammar)
    top = [below.top(state, n) for state in range(len(below.proba))]
    state = np.repeat(np.arange(len(top)), [len(places) for places in top])
    places = np.concatenate(top)
    items = np.array(below.items, dtype=object)[places]
    return pd.DataFrame({"state": state, "item": items, below.kind: below.proba[state, places]})


class StateItems(NamedTuple):
    """The words or rules below the symbol `name`, and a row of their probabilities by state; of a
    chain features and their weights.
    """

    name: str
    items: list[str]
    proba: np.ndarray
    kind: str = "probability"

    def top(self, state: int, n: int | None) -> np.ndarray:
        """Places of the `n` most probable items of a state, or of all that have a probability."""
        row = self.proba[state]
        return np.argsort(-row, kind="stable")[: np.sum(row > 0)][:n]


def state_items(estimator: BaseEstimator, symbol: str | int, grammar: int) -> StateItems:
    """All that may stand directly below a symbol, in one of the grammars of a parser."""
    if isinstance(last_step(estimator), BaseLatentChain | BaseClassPredictions | BaseGraph):
        return _features(estimator, symbol)
    parser = parser_of(estimator)
    all_states = parser._model.states
    if not all_states:
        raise InputTypeError(
            f"{type(parser).__name__} has no states; those of an EMLPCFG can be shown"
        )
    if grammar >= len(all_states):
        raise ValueError(f"grammar must be from 0 to {len(all_states) - 1}, got {grammar}")
    code = _code(parser, symbol)
    items, rows = (_words if parser._codes.symbols[code].tag else _rules)(
        parser, all_states[grammar], code
    )
    proba = rows[:, : all_states[grammar].n_states[code]].T
    total = proba.sum(axis=1)
    # spectral estimates have negative numbers, and rows that do not sum to 1
    if np.any(proba < 0) or np.any(np.abs(total[total > 0] - 1) > 1e-6):
        raise InputTypeError(f"the states of this {type(parser).__name__} have no probabilities")
    return StateItems(str(parser.symbols_[code]), items, proba)


def _features(estimator: BaseEstimator, label: Label) -> StateItems:
    """The features of the states of a label, with their weights less the mean."""
    model = linear_model_of(estimator)
    if not hasattr(model, "states_"):
        raise InputTypeError(
            f"labels of this {type(model).__name__} have no states; those of GraphCRF(n_states=2) "
            "can be shown"
        )
    if label not in model.classes_.tolist():
        known = ", ".join(map(repr, model.classes_.tolist()[:20]))
        raise UnknownLabelError(f"symbol: label {label!r} was not seen in fit (known: {known})")
    rows = model.coef_[label_codes(model, [label])]
    weights: np.ndarray = rows.toarray() if sp.issparse(rows) else rows
    names = feature_names(model).tolist()
    return StateItems(str(label), names, weights - weights.mean(axis=0), "weight")


def _code(parser: BaseParser, symbol: str | int) -> int:
    names = parser.symbols_.tolist()
    if isinstance(symbol, Integral):
        if not 0 <= symbol < len(names):
            raise UnknownLabelError(
                f"symbol: there are {len(names)} symbols, none has the number {symbol}"
            )
        return int(symbol)
    codes = [code for code, name in enumerate(names) if name == symbol]
    if not codes:
        by_letters = {name.upper(): name for name in names}
        close = get_close_matches(str(symbol).upper(), by_letters, n=5, cutoff=0.4)
        known = ", ".join(repr(by_letters[name]) for name in close) or "none"
        raise UnknownLabelError(
            f"symbol: {symbol!r} is not among symbols_; of a similar name are: {known}"
        )
    if len(codes) > 1:
        raise ValueError(f"symbol: several are called {symbol!r}; give the number of one: {codes}")
    return codes[0]


def _words(parser: BaseParser, states: Tensors, code: int) -> tuple[list[str], np.ndarray]:
    """The words that a tag may have, and a row of probabilities by state for each."""
    lexicon = parser._codes.lexicon
    names = observations(lexicon, OTHER)
    entries = np.flatnonzero(lexicon.symbol == code)
    rows = [states.leaf[slice(*states.leaf_start[entry : entry + 2])] for entry in entries]
    return [names[entry] for entry in entries], np.array(rows)


def _rules(parser: BaseParser, states: Tensors, code: int) -> tuple[list[str], np.ndarray]:
    """The rules below a phrase, and a row of probabilities by state for each."""
    rules = parser._codes.grammar
    names = parser.symbols_
    below = rules.down[slice(*rules.down_indptr[code : code + 2])]
    width = states.root_start[code + 1] - states.root_start[code]
    rows = [
        states.rule[slice(*states.rule_start[r : r + 2])].reshape(-1, width).sum(axis=0)
        for r in below
    ]
    items = [f"{names[code]} -> {names[rules.left[r]]} {names[rules.right[r]]}" for r in below]
    return items, np.array(rows).reshape(-1, width)
