"""The line of `fit` over partitions: each step is made where the data are, and what they learn
together is merged here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from sklearn_struct.compiled.threads import ONE_BLAS_THREAD
from sklearn_struct.distributed.based_fitting import check_based, learn_based
from sklearn_struct.distributed.criteria import pose_criteria
from sklearn_struct.distributed.hidden_fitting import learn_hidden
from sklearn_struct.distributed.merging import (
    class_weights,
    merge,
    merged_pattern,
    of_partitions,
)
from sklearn_struct.distributed.objective import CoupledObjective, ShardedObjective
from sklearn_struct.distributed.partitions import (
    bind,
    check_weights,
    label,
    label_sums,
    observe,
    read,
    summarise,
    weigh,
)
from sklearn_struct.distributed.shards import Shards
from sklearn_struct.distributed.solver_choice import choice_for_partitions, refuse_stochastic
from sklearn_struct.encoding.features.merged_encoders import MERGED
from sklearn_struct.estimators.chains.ge_crf import GECRF
from sklearn_struct.estimators.chains.linear_chain_crf import LinearChainCRF
from sklearn_struct.estimators.chains.memm import MEMM
from sklearn_struct.estimators.chains.piecewise_crf import PiecewiseCRF
from sklearn_struct.estimators.chains.pseudo_likelihood_crf import PseudoLikelihoodCRF
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.prepared_weights import Prepared
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.solving import solve
from sklearn_struct.estimators.hidden_markov.hmm import HMM
from sklearn_struct.estimators.m_estimation.m_estimated_crf import MEstimatedCRF
from sklearn_struct.exceptions import EmptyDataError, InputTypeError
from sklearn_struct.losses.evidence import Evidence

__all__ = ["ESTIMATORS", "Posed", "fit_partitions", "parts_of", "pose"]

# of which each example needs its own partition alone: objectives are sums over them, and so are the
# counts of EM
OF_FEATURES = (LinearChainCRF, MEMM, PseudoLikelihoodCRF, PiecewiseCRF, GECRF)
# these read X itself
OF_VALUES = (HMM, MEstimatedCRF)
ESTIMATORS = (*OF_FEATURES, *OF_VALUES)


def parts_of(estimator: Any) -> tuple[Any, Any]:
    """The encoder, or None, and the model that an estimator or a Pipeline consists of.

    Raises
    ------
    InputTypeError
        If this is nothing that can be fitted on partitions.
    """
    steps = estimator.steps if isinstance(estimator, Pipeline) else [("", estimator)]
    model = steps[-1][1]
    if type(model) not in ESTIMATORS:
        names = ", ".join(kind.__name__ for kind in ESTIMATORS)
        raise InputTypeError(
            f"{type(model).__name__} cannot be fitted on partitions; these can: {names}"
        )
    before = [step for _, step in steps[:-1] if step not in (None, "passthrough")]
    if not before:
        return None, model
    encoder = before[0]
    if type(model) in OF_VALUES:
        raise InputTypeError(
            f"{type(model).__name__} reads X itself, so a Pipeline on partitions has no "
            f"{type(encoder).__name__} before it: apply that to each partition before"
        )
    if len(before) > 1 or type(encoder) not in MERGED:
        wrong = before[1] if type(encoder) in MERGED else encoder
        names = " or ".join(kind.__name__ for kind in MERGED)
        raise InputTypeError(
            f"a Pipeline on partitions has one {names} before the model, and no "
            f"{type(wrong).__name__}: apply that to each partition before"
        )
    return encoder, model


def fit_partitions(estimator: Any, shards: Shards, init: Any = None) -> Any:
    """A copy of an estimator, or of a Pipeline, fitted on all partitions.

    Read more in :doc:`/user_guide/large_data`.

    Parameters
    ----------
    estimator : LinearChainCRF, MEMM, PseudoLikelihoodCRF, PiecewiseCRF, GECRF, HMM, \
            MEstimatedCRF or Pipeline
        It is not changed. A Pipeline has a `FeatureTemplates` or a `SequenceVectorizer` before the
        model, and nothing before an `HMM` or a `MEstimatedCRF`.
    shards : FileShards
        The partitions.
    init : fitted estimator of the same family, default=None
        Start from its weights.

    Returns
    -------
    estimator
        What its own `fit` would be on all data, up to rounding. An `HMM` of numbers without labels
        begins at clusters; of more than 50,000 tokens these are found in a sample.

    Raises
    ------
    InputTypeError
        If this is nothing that can be fitted on partitions.
    EmptyDataError
        If there is nothing to learn from.
    ValueError
        If the solver goes from one example to the next, or for an option that needs all data in one
        place; the user guide has a table. Other errors are those of the estimator's
        own `fit`; a note says in which partition.

    See Also
    --------
    FileShards : Partitions in files.
    sklearn_struct.dask.Distributed : The same on a cluster.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn_struct import MEMM
    >>> from sklearn_struct.distributed import FileShards, fit_partitions
    >>> first = [["the", "cat"]], [["DET", "NOUN"]]
    >>> second = [["a", "bird"]], [["DET", "NOUN"]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     memm = fit_partitions(MEMM(), FileShards(folder, [first, second]))
    >>> memm.predict([["the", "bird"]])[0]
    ['DET', 'NOUN']
    """
    if len(shards) == 0:
        raise EmptyDataError("there are no partitions")
    encoder, model = parts_of(estimator)
    model = clone(model)
    model._validate_params()
    progress = Progress(model, None, None, None)
    fitted = None
    # also for what is done here: the solver's products
    with ONE_BLAS_THREAD:
        if isinstance(model, HMM):
            learn_hidden(model, shards, init, progress)
        elif isinstance(model, MEstimatedCRF):
            check_based(model)
            learn_based(model, shards, init, progress, fit_partitions)
        else:
            # before anything is read
            refuse_stochastic(model.solver, getattr(model, "loss", "") != "hinge")
            posed = pose(model, encoder, shards)
            fitted = posed.encoder
            _learn(model, posed, init, progress)
    progress.end()
    return _whole(estimator, encoder, fitted, model) if isinstance(estimator, Pipeline) else model


def _whole(pipeline: Pipeline, encoder: Any, fitted: Any, model: Any) -> Pipeline:
    """A copy of a Pipeline with the fitted encoder and model."""
    whole = clone(pipeline)
    whole.steps = [(name, step) for name, step in whole.steps]
    for s, (name, step) in enumerate(pipeline.steps):
        if step is encoder:
            whole.steps[s] = (name, fitted)
    whole.steps[-1] = (whole.steps[-1][0], model)
    return whole


class Posed(NamedTuple):
    """What is to be minimised, by which solver, and the encoder that was learned on the way."""

    encoder: Any
    solver: str
    objective: ShardedObjective
    n_examples: int


def pose(model: Any, encoder: Any, shards: Shards) -> Posed:
    """Read all partitions, and pose what is to be learned of them; `model` learns vocabulary,
    labels and which weights exist.
    """
    n = len(shards)
    shards.advance(read, [model] * n, [encoder] * n)
    merged = merge(model, encoder, shards.ask(summarise))
    K = len(merged.classes)
    evidence = Evidence()
    if merged.has_masks:
        evidence = Evidence(allowed=np.ones((0, K), bool))
    solver = choice_for_partitions(model._minimisation(), model._loss(evidence))
    shards.advance(label, merged.labellings())
    class_weight = getattr(model, "class_weight", None)
    if class_weight == "balanced":
        class_weight = class_weights(model, shards.ask(label_sums))
    shards.advance(weigh, [class_weight] * n)
    loss = pose_criteria(model, merged, shards) if isinstance(model, GECRF) else None
    observed = shards.ask(observe)
    model._pattern = pattern = merged_pattern(
        merged,
        observed,
        model.n_features_in_,
        model.min_frequency,
        model.transition_features == "observed",
    )
    total = sum(seen.weight for seen in observed)
    of_shards = of_partitions(pattern, merged, observed)
    shards.advance(bind, of_shards, [solver] * n, [total] * n, [merged.size] * n, [loss] * n)
    n_free = K if pattern.fit_intercept else 0
    places = [part.place for part in of_shards]
    objective = ShardedObjective(shards, places, pattern.size, n_free, total)
    if loss is not None:
        objective = CoupledObjective(objective, model._constrained(loss))
    return Posed(merged.encoder, solver, objective, sum(seen.n_examples for seen in observed))


def _learn(model: Any, posed: Posed, init: Any, progress: Progress) -> None:
    """Learn the weights at the minimum of the objective."""
    objective = posed.objective
    w0 = np.zeros(objective.size) if init is None else model._transferred(init)
    model.t_ = posed.n_examples
    model._stream = None
    model._prepared = Prepared()
    settings = model._iteration_settings()
    w0 = model._begin(posed.solver, objective, w0)
    iterations = Iterations(model._learned, progress, settings, objective.total_weight)
    learned = solve(model._minimisation(), posed.solver, objective, w0, iterations)
    model.__dict__.update(learned | {"solver_": posed.solver})
    objective.shards.ask(check_weights, objective.slices(model._w))
