"""What a hidden Markov model learned as a chain of contexts; reading and writing its streams."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.features import observation_streams as streams
from sklearn_struct.encoding.features.stream_vocabularies import OOV, encode, first_occurrences
from sklearn_struct.encoding.features.symbol_sequences import check_single_values, symbols
from sklearn_struct.encoding.parameter_checks import (
    check_params,
)
from sklearn_struct.encoding.sequences import as_list, form, refuse_texts
from sklearn_struct.encoding.three_dimensional_input import refuse_squares
from sklearn_struct.encoding.two_dimensional_input import check_table, refuse_one_dimension
from sklearn_struct.estimators.fitting.base_sequence import (
    BaseSequenceEstimator,
    Sequences,
)
from sklearn_struct.estimators.hidden_markov.learned_counts import BaseCounts
from sklearn_struct.estimators.hidden_markov.learned_covariances import BaseCovariances
from sklearn_struct.estimators.hidden_markov.stream_learning import (
    COUNTED,
    read_streams,
    refuse_gaps,
)
from sklearn_struct.exceptions import EmptyDataError, InputTypeError
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import named, named_shapes, of_named, order_of
from sklearn_struct.hidden_markov.observed import Observed

__all__ = ["BaseStreams"]


class BaseStreams(BaseCovariances, BaseCounts, BaseSequenceEstimator):
    """A hidden Markov model as its learned attributes say: they are the truth, and replaceable."""

    emission_logprob_: list[np.ndarray | None]
    # whether states last as long as distributions of their own say
    _has_durations = False

    def _model(self) -> HiddenMarkov:
        """The learned attributes as a chain of contexts."""
        K = len(self.classes_)
        # somebody may have put something into their place
        transition = np.asarray(self.transition_logprob_)
        shapes = named_shapes(K, 2 if order_of(transition) == 2 else 1)
        chain = {
            name: _log_probabilities(getattr(self, f"{name}_logprob_"), f"{name}_logprob_", [shape])
            for name, shape in shapes.items()
        }
        tables = [
            # one more column than values is that of all others
            _log_probabilities(
                table, f"emission_logprob_[{c}]", [(K, len(values)), (K, len(values) + 1)]
            )
            for c, (values, table) in enumerate(
                zip(self.vocabulary_, self.emission_logprob_, strict=True)
            )
            if values is not None
        ]
        return HiddenMarkov(
            of_named(chain), tables, self._gaussians(), self._rates(), self._outcomes()
        )

    def _learned(self, model: HiddenMarkov) -> dict[str, Any]:
        """A chain of contexts as learned attributes."""
        gaussians = model.gaussians
        left = iter(model.tables)
        attributes: dict[str, Any] = {
            **{f"{name}_": table for name, table in gaussians.named.items()},
            "_covariance_type": gaussians.kind,
            "rates_": model.rates,
            "count_logprob_": model.outcomes,
        }
        attributes["emission_logprob_"] = [
            None if values is None else next(left) for values in self.vocabulary_
        ]
        return attributes | {
            f"{name}_logprob_": table for name, table in named(model.markov).items()
        }

    @property
    def _names(self) -> np.ndarray | None:
        """Names of the columns of X, where it had any."""
        return getattr(self, "feature_names_in_", None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.dict = False
        tags.input_tags.allow_nan = True
        return tags

    def _read_columns(self, X: Any, reset: bool) -> tuple[streams.Columns, bool]:
        """The columns of X, checked against those of `fit`, and whether X is a batch of sequences
        of length 1.
        """
        if not reset:
            check_is_fitted(self)
            check_params(self, *self._settings)
            # lists of whole numbers are symbols only for a model of symbols
            X = symbols(X) if self._kind == "values" else X
        refuse_squares(X)
        check_single_values(X)
        if form(X) == "flat":
            self._accept_rows(X, reset)
            refuse_one_dimension(X)
            refuse_texts(X)
            check_table(X)
            tokens = validate_data(
                self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset
            )
            names = getattr(self, "feature_names_in_", None)
            return streams.of_numbers(
                SequenceArray(tokens, np.arange(len(tokens) + 1), names), missing=True
            ), True
        columns = streams.read(X, missing=True)
        if columns.offsets[-1] == 0:
            if reset:
                raise EmptyDataError("X has no tokens")
            empty = streams.Column(np.empty(0), None)
            none = [empty] * self.n_features_in_
            return columns._replace(columns=none, table=None), False
        self._learn_features(
            SequenceArray(np.empty((0, len(columns.columns))), [0], columns.names), reset
        )
        self._learn_lengths(np.diff(columns.offsets), reset)
        return columns, False

    def _read_X(self, X: Any, reset: bool) -> Sequences:
        columns, flat = self._read_columns(as_list(X), reset)
        observed: Any = self._observe(columns)
        if self._lags:
            refuse_gaps(observed, self._kinds, self._names)
        return Sequences(observed, flat)

    def _observe(self, columns: streams.Columns) -> Observed:
        """Codes and numbers of columns by the vocabularies learned before."""

        def encoded(column: streams.Column, c: int) -> np.ndarray:
            values = self.vocabulary_[c] or {}
            table = self.emission_logprob_[c]
            # one more column than values is that of all others
            shape = () if table is None else np.shape(table)
            oov = None if shape[1:] == (len(values),) else "smoothing"
            return encode(column, values, oov, columns.offsets, c)

        return read_streams(columns, self._kinds, encoded)

    def _rows(self, codes: list[np.ndarray], numeric: dict[str, np.ndarray]) -> Any:
        """Codes, and numbers by their kinds, as rows: an array if all are numbers, else tuples."""
        of_values = iter(codes)
        of_numbers = {kind: iter(numbers.T) for kind, numbers in numeric.items()}
        columns: list[Any] = []
        for kind, values in zip(self._kinds, self.vocabulary_, strict=True):
            if values is None:
                numbers = next(of_numbers[kind])
                is_whole = kind in COUNTED and not np.isnan(numbers).any()
                columns.append(numbers.astype(np.int64) if is_whole else numbers)
            else:
                columns.append(object_array([*values, OOV])[next(of_values)])
        if not codes:
            return np.column_stack(columns).astype(np.float64, copy=False)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def _written(self, rows: Any) -> Any:
        """The rows of a sequence in the form of X."""
        return (
            [value for (value,) in rows]
            if self._kind == "values" and isinstance(rows, list)
            else rows
        )

    def _seen(
        self,
        observed: Observed,
        used: np.ndarray | None,
        firsts: list[np.ndarray] | None = None,
    ) -> np.ndarray:
        """What `replace_oov` returns; the first occurrences are those among the tokens that are
        `used`. Of a part of the data, `firsts` says which codes of each stream come first there.
        """
        tables = (values for values in self.vocabulary_ if values is not None)
        all_codes = observed.codes
        if used is not None:
            all_codes = [codes.copy() for codes in all_codes]
            for s, (codes, values) in enumerate(zip(all_codes, tables, strict=True)):
                # -1 is no value, so that tokens which are not used are no first occurrences
                counted = used if firsts is None else used & np.isin(codes, firsts[s])
                codes[first_occurrences(np.where(counted, codes, -1))] = len(values)
        rows = self._rows(all_codes, observed.numeric)
        return object_array([self._written(part) for part in cut(rows, observed.offsets)])

    def _n_columns_like(self, init: Any) -> int:
        """How many columns of X are such as another model may have."""
        n: int = self.n_features_in_
        return n

    def _refuse_other_streams(self, init: Any) -> None:
        """Raise unless the streams and labels of a fitted model are those of the data."""
        if not isinstance(init, BaseStreams):
            raise InputTypeError(
                f"init must be a fitted hidden Markov model, got {type(init).__name__}"
            )
        check_is_fitted(init)
        if init._has_durations and not self._has_durations:
            raise InputTypeError(
                f"init must be a hidden Markov model without durations, got {type(init).__name__}: "
                "its states never follow themselves, so EM would never let them"
            )
        if init._has_inputs and not self._has_inputs:
            raise InputTypeError(
                f"init must be a hidden Markov model without inputs, got {type(init).__name__}: "
                "some of its columns are not emitted"
            )
        n = self._n_columns_like(init)
        if init.n_features_in_ != n:
            raise ValueError(f"init has {init.n_features_in_} streams, X has {n}")
        transition = init.transition_logprob_
        if transition.shape != named_shapes(len(init.classes_), self.order)["transition"]:
            raise ValueError(f"init has order {order_of(transition)}, not {self.order}")


def _log_probabilities(table: Any, name: str, shapes: list[tuple[int, ...]]) -> np.ndarray:
    """Raise ValueError unless a learned table has one of these shapes and no NaN: kernels read it
    as that.
    """
    logs: np.ndarray = np.asarray(table)
    if logs.shape not in shapes:
        wanted = " or ".join(str(shape) for shape in shapes)
        raise ValueError(f"{name} has the shape {logs.shape}, but must have {wanted}")
    if np.isnan(logs.sum()):
        raise ValueError(f"{name} has NaN; probabilities of 0 have the logarithm -inf")
    return logs
