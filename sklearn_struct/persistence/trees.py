"""Grammars over trees to JSON and arrays, and back with every check."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.containers.csr import CSR
from sklearn_struct.containers.trees import Grammar, grammar, tensors
from sklearn_struct.encoding.trees.binarization import Symbol
from sklearn_struct.encoding.trees.lexicon import Lexicon
from sklearn_struct.encoding.trees.tree_corpus import TreeCodes
from sklearn_struct.estimators.trees.base_parser import BaseParser
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.grammars.parsing import Plain, TreeModel
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import (
    Arrays,
    Json,
    fields,
    natural,
    plain,
    put_texts,
    restore,
    texts,
)

__all__ = [
    "em",
    "latent",
    "lexicon",
    "parser",
    "put_em",
    "put_latent",
    "put_lexicon",
    "put_parser",
    "put_spectral",
    "put_states",
    "spectral",
    "states",
]

SIDES = "left", "right", "parent"
TABLES = "rule", "leaf", "root"  # numbers of Tensors


# ---- a parser without states


def put_parser(parser: BaseParser, where: str, shared: Shared) -> dict[str, Any]:
    rules, symbols, words, orders = parser._codes
    arrays = shared.arrays
    put_lexicon(words, where, arrays)
    for side in SIDES:
        arrays[f"{where}rules/{side}"] = np.asarray(getattr(rules, side), np.int32)
    for name, table in parser._model.plain._asdict().items():
        arrays[f"{where}log_p/{name}"] = np.asarray(table, np.float64)
    arrays[where + "tag_counts"] = np.asarray(parser._tag_counts, np.int64)
    return {
        "symbols": [_put_symbol(symbol) for symbol in symbols],
        "orders": list(map(int, orders)),
    }


def _put_symbol(symbol: Symbol) -> dict[str, Any]:
    """A symbol as a JSON object; tuples become lists."""
    parts = {
        name: list(part) if isinstance(part, tuple) else part
        for name, part in symbol._asdict().items()
    }
    return {name: plain(part, "a symbol") for name, part in parts.items()}


def parser(restored: BaseParser, stored: Json, where: str, shared: Shared) -> None:
    rows, orders = fields(stored, "the parser", symbols=list, orders=list)
    if list(map(type, orders)) != [int, int] or orders[1] < 1:
        raise ModelFileError(
            "a parser has a horizontal order, from 0 on, and a vertical one, from 1 on"
        )
    h, v = (natural(order, "an order") for order in orders)
    symbols = _symbols(rows, (h, v))
    arrays = shared.arrays
    n_tags = sum(symbol.tag for symbol in symbols)
    rules = _rules(arrays, where, n_tags, len(symbols))
    words = lexicon(arrays, where, n_tags)
    sizes = {"rule": len(rules.parent), "root": len(symbols), "leaf": len(words.symbol)}
    tables = (
        checks.log_probabilities(arrays, f"{where}log_p/{name}", (sizes[name],))
        for name in Plain._fields
    )
    restored._codes = TreeCodes(rules, symbols, words, (h, v))
    restored._model = TreeModel(rules, words.symbol, Plain(*tables))
    restored._tag_counts = arrays.take(where + "tag_counts", np.int64)
    if len(restored._tag_counts) != len(symbols) or np.any(restored._tag_counts < 0):
        raise ModelFileError(f"{where}tag_counts must be {len(symbols)} numbers of words")
    restored.symbols_ = np.array([str(symbol) for symbol in symbols], dtype=object)
    restored.tags_ = sorted({symbol.chain[-1] for symbol in symbols[:n_tags]})


def _symbols(stored: list[Any], orders: tuple[int, int]) -> list[Symbol]:
    """Different symbols, at least one tag, and the tags first."""
    symbols = [_symbol(row, orders) for row in stored]
    tags = [symbol.tag for symbol in symbols]
    if len(set(symbols)) != len(symbols) or not any(tags) or tags != sorted(tags, reverse=True):
        raise ModelFileError("symbols must be different, tags first")
    return symbols


def _symbol(stored: Any, orders: tuple[int, int]) -> Symbol:
    kinds = {"chain": list, "tag": bool, "siblings": (list, type(None)), "above": list}
    chain, tag, siblings, above = fields(stored, "a symbol", **kinds)
    chain, rest, above = (tuple(restore(part)) for part in (chain, siblings or [], above))
    if not all(isinstance(label, str) and label for label in (*chain, *rest, *above)):
        raise ModelFileError("labels must be strings that are not empty")
    symbol = Symbol(chain, tag, None if siblings is None else rest, above)
    fits = len(rest) <= orders[0] and len(above) < orders[1]
    if not chain or not fits or (tag and symbol != Symbol(chain, tag=True)):
        raise ModelFileError(f"no symbol of the orders {orders}: {str(symbol)[:50]!r}")
    return symbol


def _rules(arrays: Arrays, where: str, n_tags: int, n_symbols: int) -> Grammar:
    """Different rules in order, whose parents are no tags."""
    left, right, parent = rules = [arrays.take(f"{where}rules/{side}", np.int32) for side in SIDES]
    if not len(left) == len(right) == len(parent):
        raise ModelFileError(f"{where}rules: a rule has three symbols")
    if any(np.any(column < 0) or np.any(column >= n_symbols) for column in rules) or np.any(
        parent < n_tags
    ):
        raise ModelFileError(f"{where}rules are of symbols that they cannot have")
    (more, same), (more2, same2), (more3, _) = (
        (np.diff(column) > 0, np.diff(column) == 0) for column in rules
    )
    if not np.all(more | (same & (more2 | (same2 & more3)))):
        raise ModelFileError(f"{where}rules must be in order and all different")
    return grammar(left, right, parent, n_symbols)


def put_lexicon(words: Lexicon, where: str, arrays: Arrays) -> None:
    put_texts(arrays, where + "words", sorted(words.words, key=words.words.__getitem__))
    put_texts(
        arrays, where + "signatures", sorted(words.signatures, key=words.signatures.__getitem__)
    )
    checks.put_pairs(arrays, where + "entries", CSR(words.indptr, words.symbol, np.empty(0)))


def lexicon(arrays: Arrays, where: str, n_tags: int) -> Lexicon:
    """Words and signatures, each with tags, and other words, which may have all of them."""
    words = texts(arrays, where + "words")
    signatures = texts(arrays, where + "signatures")
    n = len(words) + len(signatures)
    indptr, symbol, _ = checks.pairs(arrays, where + "entries", n + 1, n_tags)
    if np.any(np.diff(indptr) == 0) or indptr[n + 1] - indptr[n] != n_tags:
        raise ModelFileError(f"{where}entries: a word has no tag, or other words lack one")
    of_words = dict(zip(words, range(n)))
    of_signatures = dict(zip(signatures, range(len(words), n)))
    if len(of_words) + len(of_signatures) < n:
        raise ModelFileError(f"{where}words: one occurs twice")
    return Lexicon(of_words, of_signatures, indptr, symbol)


# ---- and with states


def put_latent(parser: BaseParser, where: str, shared: Shared) -> dict[str, Any]:
    put_states(parser._model, where, shared.arrays)
    return {"parser": put_parser(parser, where, shared), "n_grammars": len(parser._model.states)}


def put_states(model: TreeModel, where: str, arrays: Arrays) -> None:
    arrays[where + "n_states"] = n_states = model.states[0].n_states
    real = _real(model, n_states)
    for g, of_grammar in enumerate(model.states):
        for name, mask in zip(TABLES, real):
            arrays[f"{where}states/{g}/{name}"] = getattr(of_grammar, name)[mask]


def latent(restored: BaseParser, stored: Json, where: str, shared: Shared) -> None:
    of_parser, n_grammars = fields(stored, "the model", parser=dict, n_grammars=int)
    parser(restored, of_parser, where, shared)
    restored._model = states(restored._model, n_grammars, where, shared.arrays)
    restored.n_states_ = restored._model.states[0].n_states.astype(np.int64)


def states(model: TreeModel, n_grammars: int, where: str, arrays: Arrays) -> TreeModel:
    """The model with the states that `put_states` has put."""
    S = len(model.plain.root)
    n_states = arrays.take(where + "n_states", np.int32)
    if len(n_states) != S or np.any(n_states < 1) or n_grammars < 1:
        raise ModelFileError(
            f"{where}n_states must be {S} numbers of states, of at least one grammar"
        )
    n = n_states.astype(float)
    left, right, parent = (getattr(model.grammar, side) for side in SIDES)
    # as integers they may overflow
    sizes = np.sum(n[left] * n[right] * n[parent]), np.sum(n[model.symbol]), np.sum(n)
    for g in range(n_grammars):
        for name, size in zip(TABLES, sizes):
            if np.size(arrays.get(f"{where}states/{g}/{name}", ())) != size:
                raise ModelFileError(f"{where}states/{g}/{name} must have {size:.0f} numbers")
    real = _real(model, n_states)
    numbers = [tensors(model.grammar, n_states, model.symbol) for _ in range(n_grammars)]
    for g, of_grammar in enumerate(numbers):
        for name, mask, size in zip(TABLES, real, sizes):
            getattr(of_grammar, name)[mask] = checks.weights(
                arrays, f"{where}states/{g}/{name}", int(size)
            )
    return model._replace(states=tuple(numbers))


def _real(model: TreeModel, n_states: np.ndarray) -> list[np.ndarray]:
    """Masks of the numbers of Tensors: what is no padding, which files do not have."""
    left, right, parent = (
        n_states[getattr(model.grammar, side)].astype(np.int64) for side in SIDES
    )
    masks = []
    for n in (np.repeat(parent, left * right), n_states[model.symbol], n_states):
        width = (n + 7) // 8 * 8
        lane = np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width)
        masks.append(lane < np.repeat(n, width))
    return masks


def put_em(parser: BaseParser, where: str, shared: Shared) -> dict[str, Any]:
    shared.arrays[where + "loss_curve"] = np.array(parser.loss_curve_, np.float64)
    return {"model": put_latent(parser, where, shared), "n_iter": int(parser.n_iter_)}


def em(restored: BaseParser, stored: Json, where: str, shared: Shared) -> None:
    of_model, n_iter = fields(stored, "EM", model=dict, n_iter=int)
    latent(restored, of_model, where, shared)
    restored.n_iter_ = natural(n_iter, "n_iter")
    restored.loss_curve_ = shared.arrays.take(where + "loss_curve", np.float64).tolist()


def put_spectral(parser: BaseParser, where: str, shared: Shared) -> dict[str, Any]:
    shared.arrays[where + "singular_values"] = np.ascontiguousarray(parser.singular_values_)
    return {"model": put_latent(parser, where, shared), "n_negative": int(parser.n_negative_)}


def spectral(restored: BaseParser, stored: Json, where: str, shared: Shared) -> None:
    of_model, n_negative = fields(stored, "spectral", model=dict, n_negative=int)
    latent(restored, of_model, where, shared)
    restored.n_negative_ = natural(n_negative, "n_negative")
    values = shared.arrays.take(where + "singular_values", np.float64, 2)
    if len(values) != len(restored.symbols_):
        raise ModelFileError(f"{where}singular_values: not a row for each symbol")
    restored.singular_values_ = values
