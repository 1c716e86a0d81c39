"""Estimators to JSON and arrays, and back with every check: what is read predicts as what was saved, or is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_struct.encoding.features import SequenceVectorizer
from sklearn_struct.encoding.templates import FeatureTemplates
from sklearn_struct.estimators.base import BaseSequenceEstimator
from sklearn_struct.estimators.em_lpcfg import EMLPCFG
from sklearn_struct.estimators.ge_crf import GECRF
from sklearn_struct.estimators.hmm import HMM
from sklearn_struct.estimators.linear_chain_crf import LinearChainCRF
from sklearn_struct.estimators.log_linear_classifier import LogLinearClassifier
from sklearn_struct.estimators.m_estimated_crf import MEstimatedCRF
from sklearn_struct.estimators.memm import MEMM
from sklearn_struct.estimators.online import PASSES
from sklearn_struct.estimators.pcfg import PCFG
from sklearn_struct.estimators.piecewise_crf import PiecewiseCRF
from sklearn_struct.estimators.prepared import Prepared
from sklearn_struct.estimators.pseudo_likelihood_crf import PseudoLikelihoodCRF
from sklearn_struct.estimators.spectral_lpcfg import SpectralLPCFG
from sklearn_struct.estimators.trees import BaseParser
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.parameters import Pattern
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.based import check_based, check_parts
from sklearn_struct.persistence.encoders import Shared, put_templates, put_vectorizer, templates, vectorizer
from sklearn_struct.persistence.functions import check_params, put_params
from sklearn_struct.persistence.hidden import hidden, put_hidden
from sklearn_struct.persistence.joint import joint, put_joint
from sklearn_struct.persistence.trees import em, parser, put_em, put_parser, put_spectral, spectral
from sklearn_struct.persistence.values import (
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
from sklearn_struct.published import as_published
from sklearn_struct.solvers.result import Stream

__all__ = ["estimator", "put_estimator"]

OPTIONAL = (int, type(None))


def put_estimator(estimator: Any, where: str, shared: Shared) -> dict[str, Any]:
    """A fitted estimator as JSON; its arrays go to those of `shared`, under names that begin with `where`."""
    name = type(estimator).__name__
    if name == "Pipeline" and type(estimator) is _pipeline_class() and not where:
        return _put_pipeline(estimator, shared)
    if type(estimator) is not CLASSES.get(name):
        known = ", ".join(CLASSES)
        raise InputTypeError(f"{name} cannot be saved; what can are fitted {known}, and pipelines of these")
    estimator = as_published(estimator)
    check_is_fitted(estimator)
    params = put_params(estimator, shared.functions)
    return {"class": name, "params": params, "state": STATES[name][0](estimator, where, shared)}


def estimator(stored: Any, where: str, shared: Shared) -> Any:
    """The estimator of which `put_estimator` made this."""
    name, params, state = fields(stored, "an estimator", **{"class": str, "params": dict, "state": (dict, list)})
    if name == "Pipeline" and not where:
        return _pipeline(params, state, shared)
    if name not in CLASSES:
        raise ModelFileError(f"unknown class {name[:50]!r}")
    found = check_params(CLASSES[name], params, shared.functions)
    STATES[name][1](found, state, where, shared)
    return found


def _pipeline_class() -> Any:
    from sklearn.pipeline import Pipeline  # slow to import, and seldom needed

    return Pipeline


def _put_pipeline(pipeline: Any, shared: Shared) -> dict[str, Any]:
    others = {key: value for key, value in pipeline.get_params(deep=False).items() if key not in ("steps", "verbose")}
    kept = [key for key, value in others.items() if value is not None]
    if kept:
        raise InputTypeError(f"a pipeline's {kept[0]} cannot be saved; set it to None")
    steps = [
        [plain(name, "steps"), step if step == "passthrough" else put_estimator(step, f"step {i}/", shared)]
        for i, (name, step) in enumerate(pipeline.steps)
    ]
    return {"class": "Pipeline", "params": {"verbose": bool(pipeline.verbose)}, "state": steps}


def _pipeline(params: Any, stored: Any, shared: Shared) -> Any:
    [verbose] = fields(params, "the pipeline", verbose=bool)
    if not all(type(step) is list and len(step) == 2 and type(step[0]) is str for step in stored) or not stored:
        raise ModelFileError("a pipeline's steps are pairs of a name and an estimator")
    names = [name for name, _ in stored]
    if len(set(names)) < len(names) or any("__" in name for name in names):
        raise ModelFileError("the names of a pipeline's steps must differ, without two underscores")
    found = [
        step if step == "passthrough" else estimator(step, f"step {i}/", shared) for i, (_, step) in enumerate(stored)
    ]
    if any(isinstance(step, BaseSequenceEstimator | BaseParser | LogLinearClassifier) for step in found[:-1]):
        raise ModelFileError("a model must be the last step of a pipeline")
    return _pipeline_class()(list(zip(names, found)), verbose=verbose)


def _put_chain(chain: Any, where: str, shared: Shared) -> dict[str, Any]:
    pattern, arrays, has = chain._pattern, shared.arrays, vars(chain)
    for name, pairs in (("node", pattern.node), ("edge", pattern.edge)):
        if pairs is not None:
            checks.put_pairs(arrays, where + name, pairs)
    arrays[where + "edge_columns"] = np.asarray(pattern.edge_columns, np.int64)
    arrays[where + "transitions"] = np.asarray(pattern.transitions, np.int64)
    if pattern.order == 2:
        arrays[where + "order"] = np.array([2])
    arrays[where + "w"] = np.asarray(chain._w, np.float64)
    if "loss_curve_" in has:
        arrays[where + "loss_curve"] = np.array(chain.loss_curve_, np.float64)
    stream = None
    if chain._stream is not None:
        solver, (arrays[where + "last_w"], _, n, step) = chain._stream  # the mean is `_w`
        stream = {"solver": solver, "n": int(n), "step": float(step)}
    encoder = has.get("vectorizer_")
    names = has.get("_names_in") if encoder is None else encoder._names
    return {
        "labels": put_labels(arrays, where + "labels", chain.classes_),
        "n_features": int(pattern.n_features),
        "node": pattern.node is not None,
        "edge": pattern.edge is not None,
        "fit_intercept": bool(pattern.fit_intercept),
        "names": shared.put(names),
        "vectorizer": None if encoder is None else put_estimator(encoder, where + "vectorizer/", shared),
        "n_iter": int(chain.n_iter_),
        "t": int(chain.t_),
        "loss_curve": "loss_curve_" in has,
        "stream": stream,
        **put_optional(chain, "rows_in"),
    }


def _chain(chain: Any, stored: Any, where: str, shared: Shared) -> None:
    kinds = {"labels": (str, list), "n_features": int, "node": bool, "edge": bool, "fit_intercept": bool}
    kinds |= {"names": OPTIONAL, "vectorizer": (dict, type(None)), "n_iter": int, "t": int}
    kinds |= {"loss_curve": bool, "stream": (dict, type(None))}
    fields(stored, "the model", **kinds, **optional(stored, rows_in=bool))
    take_optional(chain, stored, "rows_in")
    arrays = shared.arrays
    chain.classes_ = labels(arrays, where + "labels", stored["labels"])
    chain._pattern = _pattern(stored, where, len(chain.classes_), shared)
    chain.n_features_in_ = chain._pattern.n_features
    size = chain._pattern.size
    chain._w = checks.weights(arrays, where + "w", size)
    checks.fit_into(chain._w, getattr(chain, "dtype", "float64"), where + "w")
    chain.n_iter_, chain.t_ = natural(stored["n_iter"], "n_iter"), natural(stored["t"], "t")
    if stored["loss_curve"]:
        chain.loss_curve_ = arrays.take(where + "loss_curve", np.float64).tolist()
    if stored["stream"] is None:
        chain._stream = None
    else:
        chain._stream = _stream(stored["stream"], checks.weights(arrays, where + "last_w", size), chain._w)
    _name_features(chain, stored, where, shared)
    chain._prepared = Prepared()


def _put_ge(chain: Any, where: str, shared: Shared) -> dict[str, Any]:
    features, tables = list(chain.targets_), [list(target.values()) for target in chain.targets_.values()]
    for m, table in enumerate(tables):
        shared.arrays[f"{where}target {m}"] = np.array(table, np.float64)
    return {"chain": _put_chain(chain, where, shared), "features": [plain(feature, "targets_") for feature in features]}


def _ge(chain: Any, stored: Any, where: str, shared: Shared) -> None:
    of_chain, features = fields(stored, "the model", chain=dict, features=list)
    _chain(chain, of_chain, where, shared)
    K, chain.targets_ = len(chain.classes_), {}
    for m, feature in enumerate(features):
        probability = shared.arrays.take(f"{where}target {m}", np.float64)
        if len(probability) not in (K, K * K) or not np.all(probability >= 0) or abs(probability.sum() - 1) > 1e-6:
            raise ModelFileError(f"target {m} is no distribution of labels or of label pairs")
        try:
            chain.targets_[restore(feature)] = chain._named(probability)
        except TypeError as error:
            raise ModelFileError(f"target {m} is of no feature: {error}") from None
    if len(chain.targets_) < len(features):
        raise ModelFileError("two targets of the same feature")


def _name_features(chain: Any, stored: Any, where: str, shared: Shared) -> None:
    """The names of the features and the vectorizer that gives them, of the right number."""
    names = shared.get(stored["names"])
    n_names = chain.n_features_in_ if names is None else _n_names(names)
    if stored["vectorizer"] is not None:
        chain.vectorizer_ = estimator(stored["vectorizer"], where + "vectorizer/", shared)
        if type(chain.vectorizer_) is not SequenceVectorizer or names is not getattr(chain.vectorizer_, "_names", 0):
            raise ModelFileError("the vectorizer does not give the model's features")
    if n_names != chain.n_features_in_:
        raise ModelFileError(f"{n_names} names for {chain.n_features_in_} features")
    chain._names_in = names


def _n_names(names: Any) -> int:
    return sum(map(len, names.indexes)) if hasattr(names, "indexes") else len(names)


def _pattern(stored: Any, where: str, K: int, shared: Shared) -> Pattern:
    n_features = natural(stored["n_features"], "n_features")
    arrays = shared.arrays
    columns = checks.ascending(arrays, where + "edge_columns", n_features)
    order = 1  # where the file says nothing else
    if where + "order" in arrays:
        order = 2
        if arrays.take(where + "order", np.int64).tolist() != [2]:
            raise ModelFileError(f"{where}order must be 2")
    width = K * K if order == 1 else K * K + K**3
    transitions = checks.ascending(arrays, where + "transitions", width)
    node = checks.pairs(arrays, where + "node", n_features, K) if stored["node"] else None
    edge = checks.pairs(arrays, where + "edge", len(columns), width) if stored["edge"] else None
    return Pattern(n_features, K, node, edge, columns, transitions, stored["fit_intercept"], order)


def _stream(stored: Any, w: np.ndarray, mean: np.ndarray) -> tuple[str, Stream]:
    solver, n, step = fields(stored, "the stream", solver=str, n=int, step=float)
    if solver not in PASSES or not 0 < step < np.inf:
        raise ModelFileError(f"no stream: {solver[:50]!r}, step {step}")
    return solver, Stream(w, mean, natural(n, "n"), step)


def _put_based(model: Any, where: str, shared: Shared) -> dict[str, Any]:
    check_parts(model)
    encoder, arrays = model.features_, shared.arrays
    arrays[where + "inputs"] = np.asarray(model.input_coef_, np.float64)
    arrays[where + "constant"] = np.array([model.constant_], np.float64)
    return {  # the encoder first: what spells out its names is known by them
        "features": None if encoder is None else put_estimator(encoder, where + "features/", shared),
        "base": put_estimator(model.base_, where + "base/", shared),
        "chain": _put_chain(model, where, shared),
    }


def _based(model: Any, stored: Any, where: str, shared: Shared) -> None:
    encoder, base, chain = fields(stored, "the model", features=(dict, type(None)), base=dict, chain=dict)
    model.features_ = None if encoder is None else estimator(encoder, where + "features/", shared)
    model.base_ = estimator(base, where + "base/", shared)
    _chain(model, chain, where, shared)
    arrays = shared.arrays
    n_inputs = model.n_features_in_ if np.size(arrays.get(where + "inputs", ())) else 0
    model.input_coef_ = checks.weights(arrays, where + "inputs", n_inputs)
    model.constant_ = float(checks.weights(arrays, where + "constant", 1)[0])
    check_based(model)
    if isinstance(model.base, FrozenEstimator):
        model.base = FrozenEstimator(model.base_)


CLASSES: dict[str, Any] = {
    "EMLPCFG": EMLPCFG,
    "SpectralLPCFG": SpectralLPCFG,
    "GECRF": GECRF,
    "HMM": HMM,
    "LinearChainCRF": LinearChainCRF,
    "LogLinearClassifier": LogLinearClassifier,
    "MEstimatedCRF": MEstimatedCRF,
    "MEMM": MEMM,
    "PCFG": PCFG,
    "PiecewiseCRF": PiecewiseCRF,
    "PseudoLikelihoodCRF": PseudoLikelihoodCRF,
    "SequenceVectorizer": SequenceVectorizer,
    "FeatureTemplates": FeatureTemplates,
}
STATES: dict[str, tuple[Any, Any]] = {
    "EMLPCFG": (put_em, em),
    "SpectralLPCFG": (put_spectral, spectral),
    "GECRF": (_put_ge, _ge),
    "HMM": (put_hidden, hidden),
    "LinearChainCRF": (_put_chain, _chain),
    "LogLinearClassifier": (put_joint, joint),
    "MEstimatedCRF": (_put_based, _based),
    "MEMM": (_put_chain, _chain),
    "PCFG": (put_parser, parser),
    "PiecewiseCRF": (_put_chain, _chain),
    "PseudoLikelihoodCRF": (_put_chain, _chain),
    "SequenceVectorizer": (put_vectorizer, vectorizer),
    "FeatureTemplates": (put_templates, templates),
}
