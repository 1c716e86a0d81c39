"""Chains to JSON and arrays, and back with every check: what is read predicts as what was saved, or
is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.containers.structures import n_columns
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.estimators.chains.base_chain import BaseChain
from sklearn_struct.estimators.chains.partial_fit import PASSES
from sklearn_struct.estimators.fitting.base_structured import BaseStructured
from sklearn_struct.estimators.fitting.prepared_weights import Prepared
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.objectives.weight_patterns import Pattern
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.clique_weights import OF_CHAINS, CliqueFiles
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.nested_estimators import estimator, put_estimator
from sklearn_struct.persistence.plain_values import (
    Arrays,
    Json,
    fields,
    labels,
    natural,
    optional,
    plain,
    put_labels,
    put_optional,
    restore,
    take_optional,
)
from sklearn_struct.solvers.result import Stream

__all__ = [
    "SOLVER_FIELDS",
    "put_chain",
    "put_ge",
    "put_prototype_mrf",
    "put_solver",
    "read_chain",
    "read_ge",
    "read_prototype_mrf",
    "take_solver",
]

OPTIONAL = (int, type(None))
SOLVER_FIELDS: dict[str, Any] = {"solver": str, "gap": float, "gap_certified": bool}


def put_chain(
    chain: BaseStructured, where: str, shared: Shared, cliques: CliqueFiles = OF_CHAINS
) -> dict[str, Any]:
    pattern = chain._pattern
    arrays = shared.arrays
    has = vars(chain)
    if pattern.node is not None:
        checks.put_pairs(arrays, where + "node", pattern.node)
    of_cliques = cliques.put(pattern, where, arrays)
    place = cliques.place(pattern)
    arrays[where + "w"] = _filed(chain._w, place)
    if "loss_curve_" in has:
        arrays[where + "loss_curve"] = np.array(chain.loss_curve_, np.float64)
    stream = None
    if chain._stream is not None:
        solver, (last, _, n, step) = chain._stream  # the mean is `_w`
        arrays[where + "last_w"] = _filed(last, place)
        stream = {"solver": solver, "n": int(n), "step": float(step)}
    encoder = has.get("vectorizer_")
    names = has.get("_names_in") if encoder is None else encoder._names
    return {
        "labels": put_labels(arrays, where + "labels", chain.classes_),
        "n_features": int(pattern.n_features),
        "node": pattern.node is not None,
        **of_cliques,
        "fit_intercept": bool(pattern.fit_intercept),
        "names": shared.put(names),
        "vectorizer": None
        if encoder is None
        else put_estimator(encoder, where + "vectorizer/", shared),
        "n_iter": int(chain.n_iter_),
        "t": int(chain.t_),
        "loss_curve": "loss_curve_" in has,
        "stream": stream,
        **put_optional(chain, "rows_in"),
        **({"n_scales": int(pattern.n_scales)} if pattern.n_scales else {}),
        **put_solver(chain),
    }


def read_chain(
    chain: Any,
    stored: dict[str, Any],
    where: str,
    shared: Shared,
    cliques: CliqueFiles = OF_CHAINS,
) -> None:
    kinds = {
        "labels": (str, list),
        "n_features": int,
        "node": bool,
        "fit_intercept": bool,
        **cliques.kinds,
    }
    kinds |= {"names": OPTIONAL, "vectorizer": (dict, type(None)), "n_iter": int, "t": int}
    kinds |= {"loss_curve": bool, "stream": (dict, type(None))}
    fields(
        stored,
        "the model",
        **kinds,
        **optional(stored, rows_in=bool, n_scales=int, **SOLVER_FIELDS),
    )
    take_optional(chain, stored, "rows_in")
    take_solver(chain, stored)
    arrays = shared.arrays
    chain.classes_ = labels(arrays, where + "labels", stored["labels"])
    chain._pattern = _pattern(chain, stored, where, arrays, cliques)
    chain.n_features_in_ = chain._pattern.n_features
    size = chain._pattern.size
    stored_w = checks.weights(arrays, where + "w", size)
    place = cliques.place(chain._pattern)  # only now: a number in a file may claim any size
    chain._w = _placed(stored_w, place)
    checks.fit_into(chain._w, getattr(chain, "dtype", "float64"), where + "w")
    chain.n_iter_ = natural(stored["n_iter"], "n_iter")
    chain.t_ = natural(stored["t"], "t")
    if stored["loss_curve"]:
        chain.loss_curve_ = arrays.take(where + "loss_curve", np.float64).tolist()
    if stored["stream"] is None:
        chain._stream = None
    else:
        last = _placed(checks.weights(arrays, where + "last_w", size), place)
        chain._stream = _stream(stored["stream"], last, chain._w)
    _name_features(chain, stored, where, shared)
    # weights as predictions read them are made again, not read
    chain._prepared = Prepared()


def put_solver(chain: Any) -> dict[str, Any]:
    """Which solver the fit used, and how far it may be from its optimum, where the solver knows."""
    has = vars(chain)
    stored: dict[str, Any] = {"solver": str(chain.solver_)} if "solver_" in has else {}
    if "gap_" not in has:
        return stored
    certified = bool(chain.gap_certified_)
    stored |= {"gap_certified": certified}
    return stored | ({"gap": float(chain.gap_)} if certified else {})


def take_solver(chain: Any, stored: dict[str, Any]) -> None:
    if "solver" in stored:
        chain.solver_ = stored["solver"]
    certified = stored.get("gap_certified", False)
    if ("gap" in stored) != certified:
        raise ModelFileError("there is a gap where it is certified, and nowhere else")
    gap = stored.get("gap", np.nan)
    if certified and not 0.0 <= gap < np.inf:
        raise ModelFileError(f"a gap cannot be {gap}")
    if "gap_certified" in stored:
        chain.gap_ = gap
        chain.gap_certified_ = certified


def _filed(w: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Weights in the order of the file."""
    w = np.asarray(w, np.float64)
    # those of another number stay as they are: the file is checked before it is written
    return w[place] if len(w) == len(place) else w


def _placed(stored: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Weights in the order of the pattern, from that of the file."""
    w = np.empty_like(stored)
    w[place] = stored
    return w


def put_ge(chain: BaseChain, where: str, shared: Shared) -> dict[str, Any]:
    features = list(chain.targets_)
    tables = [list(target.values()) for target in chain.targets_.values()]
    for m, table in enumerate(tables):
        shared.arrays[f"{where}target {m}"] = np.array(table, np.float64)
    return {
        "chain": put_chain(chain, where, shared),
        "features": [plain(feature, "targets_") for feature in features],
    }


def read_ge(chain: BaseChain, stored: Json, where: str, shared: Shared) -> None:
    of_chain, features = fields(stored, "the model", chain=dict, features=list)
    read_chain(chain, of_chain, where, shared)
    K = len(chain.classes_)
    chain.targets_ = {}
    for m, feature in enumerate(features):
        probability = shared.arrays.take(f"{where}target {m}", np.float64)
        if (
            len(probability) not in (K, n_columns(K, 2))
            or not np.all(probability >= 0)
            or abs(probability.sum() - 1) > 1e-6
        ):
            raise ModelFileError(f"target {m} is no distribution of labels or of label pairs")
        try:
            chain.targets_[restore(feature)] = chain._named(probability)
        except TypeError as error:
            raise ModelFileError(f"target {m} is of no feature: {error}") from None
    if len(chain.targets_) < len(features):
        raise ModelFileError("two targets of the same feature")


def put_prototype_mrf(chain: Any, where: str, shared: Shared) -> dict[str, Any]:
    shared.arrays[where + "prototype_columns"] = np.array(chain.prototype_columns_, np.int64)
    labels_of = np.asarray(chain.prototype_labels_, np.int64)
    shared.arrays[where + "prototype_labels"] = labels_of.ravel()
    return {"chain": put_chain(chain, where, shared), "n_words": int(chain.n_words_)}


def read_prototype_mrf(chain: Any, stored: Json, where: str, shared: Shared) -> None:
    of_chain, n_words = fields(stored, "the model", chain=dict, n_words=int)
    read_chain(chain, of_chain, where, shared)
    arrays = shared.arrays
    columns = checks.ascending(arrays, where + "prototype_columns", chain.n_features_in_)
    masks = arrays.take(where + "prototype_labels", np.int64)
    shape = len(columns), len(chain.classes_)
    if len(masks) != shape[0] * shape[1] or not np.all((masks == 0) | (masks == 1)):
        raise ModelFileError("prototypes have a mask of labels each")
    chain.prototype_columns_ = columns
    chain.prototype_labels_ = masks.reshape(shape) == 1
    if not np.all(chain.prototype_labels_.any(axis=1)):
        raise ModelFileError("a prototype has no label")
    chain.n_words_ = natural(n_words, "n_words")


def _name_features(chain: Any, stored: dict[str, Any], where: str, shared: Shared) -> None:
    """The names of the features and the vectorizer that gives them, of the right number."""
    names = shared.get(stored["names"])
    n_names = chain.n_features_in_ if names is None else _n_names(names)
    if stored["vectorizer"] is not None:
        chain.vectorizer_ = estimator(stored["vectorizer"], where + "vectorizer/", shared)
        # identity: both must read their names from the same array
        if type(chain.vectorizer_) is not SequenceVectorizer or names is not getattr(
            chain.vectorizer_, "_names", 0
        ):
            raise ModelFileError("the vectorizer does not give the model's features")
    if n_names != chain.n_features_in_:
        raise ModelFileError(f"{n_names} names for {chain.n_features_in_} features")
    chain._names_in = names


def _n_names(names: Any) -> int:
    return sum(map(len, names.indexes)) if hasattr(names, "indexes") else len(names)


def _pattern(
    chain: Any, stored: dict[str, Any], where: str, arrays: Arrays, cliques: CliqueFiles
) -> Pattern:
    K = checks.n_rows(chain)
    n_features = natural(stored["n_features"], "n_features")
    families, columns = cliques.read(chain, stored, where, arrays)
    node = checks.pairs(arrays, where + "node", n_features, K) if stored["node"] else None
    pattern = Pattern(n_features, K, node, families, columns, stored["fit_intercept"])
    n_scales = stored.get("n_scales", 0)
    if "n_scales" in stored:
        right = n_scales in (1, K) and n_features == K and node is None
        right &= checks.is_allowed(chain, "unary", "scores")
        if not right or pattern.fit_intercept:
            raise ModelFileError(f"{K} labels cannot have {n_scales} scales of {n_features} scores")
    return pattern._replace(n_scales=n_scales)


def _stream(stored: Json, w: np.ndarray, mean: np.ndarray) -> tuple[str, Stream]:
    solver, n, step = fields(stored, "the stream", solver=str, n=int, step=float)
    if solver not in PASSES or not 0 < step < np.inf:
        raise ModelFileError(f"no stream: {solver[:50]!r}, step {step}")
    return solver, Stream(w, mean, natural(n, "n"), step)
