"""Hidden Markov models of which somebody knows the parameters: checked, and put where a fit puts
what it has learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.encoding.labels.label_codes import is_hashable
from sklearn_struct.encoding.sequences import is_list
from sklearn_struct.estimators.hidden_markov.base_streams import BaseStreams
from sklearn_struct.estimators.hidden_markov.learned_covariances import check_covariances
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError
from sklearn_struct.hidden_markov.gaussians import KINDS, covariance_shape, no_lags
from sklearn_struct.hidden_markov.markov_chain import named_shapes, order_of

__all__ = ["BaseGivenParameters"]

ROUNDING = 1e-6  # by which a sum of probabilities may differ from 1


class Streams(NamedTuple):
    """Vocabularies and tables of all streams, None for one of numbers; whether tokens are single
    symbols.
    """

    vocabularies: list[dict[Any, int] | None]
    tables: list[np.ndarray | None]
    single: bool

    @property
    def kind(self) -> str:
        """How tokens are written."""
        if self.single:
            return "values"
        return "numbers" if all(table is None for table in self.tables) else "rows"


class BaseGivenParameters(BaseStreams):
    """A model can be made of its parameters."""

    n_parameters_: int

    @classmethod
    def from_parameters(
        cls,
        labels: Any,
        *,
        start: ArrayLike,
        transition: ArrayLike,
        stop: ArrayLike | None = None,
        pair_start: ArrayLike | None = None,
        single_stop: ArrayLike | None = None,
        vocabulary: Any = None,
        emission: Any = None,
        means: ArrayLike | None = None,
        covariances: ArrayLike | None = None,
        covariance_type: str = "diag",
    ) -> Self:
        """A fitted model with parameters that you know: probabilities, not their logarithms.

        You can predict and sample with it, or start from it: ``HMM().fit(X, init=model)``.

        Parameters
        ----------
        labels : list of labels, or int
            The labels, in the order of the rows and columns of all tables; a number n stands for 0,
            1, ..., n - 1.
        start : array-like of shape (n_labels,)
            Probabilities of the first label.
        transition : array-like of shape (n_labels, n_labels) or (n_labels, n_labels, n_labels)
            ``[j, k]`` is the probability of k after j, and in order 2 ``[i, j, k]`` that of k after
            i and j.
        stop : array-like of shape (n_labels,) or (n_labels, n_labels), default=None
            Probability of the end after a label, or in order 2 after two labels. It sums to 1 with
            the transitions of its row. None makes a model without `stop`.
        pair_start : array-like of shape (n_labels, n_labels), default=None
            In order 2, ``[j, k]`` is the probability of the second label k after the first label j.
        single_stop : array-like of shape (n_labels,), default=None
            In order 2 with `stop`, the probability of the end after the first label. It sums to 1
            with the row of `pair_start`.
        vocabulary : list, default=None
            The values of a stream of symbols. With several streams a list of such lists, with None
            for a stream of numbers. None if all streams are of numbers. A dict of columns, as in
            ``vocabulary_``, may take the place of a list of values.
        emission : array-like of shape (n_labels, n_values), or list of these, default=None
            Probabilities of the values given each label; a last column more is that of values which
            are not in the vocabulary. With several streams a list, with None for a stream of
            numbers.
        means : array-like of shape (n_labels, n_numeric_streams), default=None
            Means of the streams of numbers.
        covariances : array-like, default=None
            Variances or covariance matrices, in the shape of `covariances_`.
        covariance_type : {"diag", "full", "tied", "spherical"}, default="diag"
            As in the constructor.

        Returns
        -------
        HMM
            Its ``n_parameters_`` is 0, as nothing was learned.

        Raises
        ------
        ValueError, LengthMismatchError, NonFiniteError, InputTypeError
            With the name of the table and the row, if these are no probabilities that sum to 1 or
            no covariances, or if shapes do not fit.

        Examples
        --------
        >>> from sklearn_struct import HMM
        >>> weather = HMM.from_parameters(
        ...     ["rain", "sun"],
        ...     start=[0.6, 0.4],
        ...     transition=[[0.7, 0.3], [0.4, 0.6]],
        ...     vocabulary=["clean", "shop", "walk"],
        ...     emission=[[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]],
        ... )
        >>> weather.predict([["walk", "shop", "clean"]])[0]
        ['sun', 'rain', 'rain']
        """
        given = list(range(labels)) if isinstance(labels, Integral) else list(labels)
        classes = label_codes.unique_labels(given, np.array([0, len(given)]))
        if len(classes) < len(given) or not given:
            raise ValueError(f"labels must be different labels, and at least one, got {given}")
        if np.ndim(transition) not in (2, 3):
            raise LengthMismatchError("transition must have two dimensions, or three in order 2")
        order = order_of(np.asarray(transition))
        place = {label: k for k, label in enumerate(given)}
        # tables are sorted as `classes_` are
        sort = np.array([place[label] for label in classes.tolist()])
        tables = {
            "start": start,
            "transition": transition,
            "stop": stop,
            "pair_start": pair_start,
            "single_stop": single_stop,
        }
        chain = _chain(tables, len(given), order)
        mean, covariance = _normal(means, covariances, covariance_type, len(given))
        streams = _streams(vocabulary, emission, mean.shape[1], len(given))
        n_numeric = streams.vocabularies.count(None)
        if mean.shape[1] != n_numeric:
            raise LengthMismatchError(
                f"means have {mean.shape[1]} columns, but {n_numeric} streams are of numbers"
            )
        made = cls(order=order, stop=stop is not None, covariance_type=covariance_type)
        made.classes_ = classes
        with np.errstate(divide="ignore"):
            for name, table in chain.items():
                setattr(made, f"{name}_logprob_", np.log(table[np.ix_(*(sort,) * table.ndim)]))
            made.emission_logprob_ = [
                None if table is None else np.log(table[sort]) for table in streams.tables
            ]
        made.vocabulary_ = streams.vocabularies
        made.means_ = mean[sort]
        made.covariances_ = covariance if covariance_type == "tied" else covariance[sort]
        made._covariance_type = covariance_type
        K, n_numbers = mean.shape
        made.mixture_logprob_ = np.zeros((K, 1))
        made.autoregression_ = no_lags(K, n_numbers)
        made.rates_ = np.empty((K, 0))
        made.count_logprob_ = np.empty((K, 0))
        made.n_trials_ = 0
        made._kind = streams.kind
        made._rows_in = False
        made._names_in = None
        made.n_features_in_ = len(streams.vocabularies)
        made.n_iter_ = 0
        made.loss_curve_ = []
        made.n_parameters_ = 0
        return made


def _chain(given: dict[str, Any], K: int, order: int) -> dict[str, np.ndarray]:
    """The tables of the chain, by name."""
    shapes = named_shapes(K, order)
    ends = given["stop"] is not None
    tables = {}
    for name, table in given.items():
        if name not in shapes:
            if table is not None:
                raise ValueError(f"{name} is for transitions of order 2")
        elif name in ("stop", "single_stop") and not ends:
            if table is not None:
                raise ValueError(f"{name} needs stop")
            # the end has no probability: its logarithm is 0
            tables[name] = np.ones(shapes[name])
        elif table is None:
            raise ValueError(f"transitions of order 2 need {name}")
        else:
            tables[name] = _probabilities(table, name, shapes[name])
    _check_sums(tables["start"][None], "start", "")
    for name, last in (("transition", "stop"), ("pair_start", "single_stop")):
        if name in tables:
            rows = tables[name]
            if ends:
                rows = np.concatenate([rows, tables[last][..., None]], axis=-1)
            _check_sums(rows, name, f" together with {last}" if ends else "")
    return tables


def _probabilities(table: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    try:
        numbers = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"{name} must be an array of numbers: {error}") from None
    if numbers.shape != shape:
        raise LengthMismatchError(f"{name} has the shape {numbers.shape}, it must be {shape}")
    if not np.all(np.isfinite(numbers)):
        raise NonFiniteError(f"{name} must hold finite numbers")
    if np.any(numbers < 0):
        raise ValueError(f"{name} has a negative number: give probabilities, not their logarithms")
    return numbers


def _check_sums(rows: np.ndarray, name: str, also: str) -> None:
    """Raise ValueError for the first row that does not sum to 1."""
    total = rows.sum(axis=-1)
    wrong = np.argwhere(np.abs(total - 1) > ROUNDING)
    if len(wrong):
        at = tuple(wrong[0].tolist())
        place = "" if name == "start" else f"[{', '.join(map(str, at))}]"
        raise ValueError(f"{name}{place} sums to {total[at]:.6g}{also}, it must be 1")


def _streams(vocabulary: Any, emission: Any, n_numeric: int, K: int) -> Streams:
    """The streams as the two arguments say."""
    if (vocabulary is None) != (emission is None):
        raise ValueError("vocabulary and emission belong together: give both or none")
    if emission is None:
        if n_numeric == 0:
            raise ValueError("give emission and vocabulary, or means and covariances, or all")
        return Streams([None] * n_numeric, [None] * n_numeric, False)
    # rows of a single table have one dimension
    single = len(emission) > 0 and np.ndim(emission[0]) == 1
    of_streams: Sequence[Any] = [emission] if single else list(emission)
    values: Sequence[Any] = [vocabulary] if single else list(vocabulary)
    if len(of_streams) != len(values):
        raise LengthMismatchError(f"{len(of_streams)} tables of {len(values)} vocabularies")
    vocabularies: list[dict[Any, int] | None] = []
    tables: list[np.ndarray | None] = []
    for s, (table, known) in enumerate(zip(of_streams, values, strict=True)):
        name = "" if single else f"[{s}]"
        if (table is None) != (known is None):
            raise ValueError(f"emission{name} and vocabulary{name} must both be None, or neither")
        vocabularies.append(None if known is None else _codes(known, f"vocabulary{name}"))
        tables.append(None if table is None else _table(table, known, f"emission{name}", K))
    return Streams(vocabularies, tables, single)


def _codes(values: Any, name: str) -> dict[Any, int]:
    # as `vocabulary_` has it
    values = sorted(values, key=values.__getitem__) if isinstance(values, Mapping) else values
    if not is_list(values) or not all(map(is_hashable, values)):
        raise InputTypeError(f"{name} must be a list of values, got {values!r}")
    codes = {value: code for code, value in enumerate(values)}
    if len(codes) < len(values):
        raise ValueError(f"{name} must hold different values")
    return codes


def _table(table: Any, values: Any, name: str, K: int) -> np.ndarray:
    # one more column is that of all other values
    more = np.shape(table)[-1:] == (len(values) + 1,)
    numbers = _probabilities(table, name, (K, len(values) + more))
    _check_sums(numbers, name, "")
    return numbers


def _normal(means: Any, covariances: Any, kind: str, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances, checked; those of no stream where none are given."""
    if kind not in KINDS:
        raise ValueError(f"covariance_type must be one of {', '.join(KINDS)}, got {kind!r}")
    if (means is None) != (covariances is None):
        raise ValueError("means and covariances belong together: give both or none")
    if means is None:
        return np.empty((K, 0)), np.ones(covariance_shape(kind, K, 0))
    mean = np.asarray(means, dtype=np.float64)
    if mean.ndim != 2 or len(mean) != K:
        raise LengthMismatchError(f"means have the shape {mean.shape}, {K} labels need ({K}, d)")
    if not np.all(np.isfinite(mean)):
        raise NonFiniteError("means must be finite numbers")
    covariance = np.asarray(covariances, dtype=np.float64)
    check_covariances(covariance, kind, mean.shape)
    return mean, covariance
