"""What labels emit in hidden Markov models of which somebody knows the parameters: checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.encoding.labels.label_codes import is_hashable
from sklearn_struct.encoding.parameter_checks import check_count
from sklearn_struct.encoding.sequences import is_list
from sklearn_struct.estimators.hidden_markov.learned_counts import check_rates
from sklearn_struct.estimators.hidden_markov.learned_covariances import (
    check_coefficients,
    check_covariances,
)
from sklearn_struct.estimators.hidden_markov.stream_learning import listed_kinds
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError
from sklearn_struct.hidden_markov.gaussians import KINDS, covariance_shape, no_lags

__all__ = ["Emissions", "check_sums", "given_emissions", "probabilities"]

ROUNDING = 1e-6  # by which a sum of probabilities may differ from 1
# which table a stream of each kind has, and how its streams are called
TABLES = {
    "gaussian": ("means have", "of numbers"),
    "poisson": ("rates have", "Poisson streams"),
    "multinomial": ("count_probabilities have", "multinomial streams"),
}


class Emissions(NamedTuple):
    """Vocabularies and tables of all streams, None for one of numbers or counts; how each stream
    is distributed; whether tokens are single symbols; attributes by their names, with
    probabilities, of which the first dimension is that of labels.
    """

    vocabularies: list[dict[Any, int] | None]
    tables: list[np.ndarray | None]
    kinds: list[str]
    single: bool
    attributes: dict[str, np.ndarray]

    @property
    def kind(self) -> str:
        """How tokens are written."""
        # counts of one stream may be written as symbols are, in lists of whole numbers
        if self.single or self.kinds == ["poisson"]:
            return "values"
        return "numbers" if all(table is None for table in self.tables) else "rows"

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of an estimator that learns such emissions."""
        means = self.attributes["means"]
        return {
            "n_mixtures": means.shape[1] if means.ndim == 3 else 1,
            "autoregression": self.attributes["autoregression"].shape[1],
            "emissions": self.kinds if {"poisson", "multinomial"} & {*self.kinds} else "auto",
        }


def given_emissions(given: dict[str, Any], K: int) -> Emissions:
    """The emissions of K labels that arguments of these names describe."""
    attributes = _normal(given, K)
    attributes["rates"] = _rates(given["rates"], K)
    attributes["count"] = _shares(given["count_probabilities"], K)
    check_count(given["n_trials"], "n_trials", least=0)
    if given["n_trials"] and not attributes["count"].size:
        raise ValueError("n_trials needs count_probabilities")
    columns = {
        "gaussian": attributes["means"].shape[-1],
        "poisson": attributes["rates"].shape[1],
        "multinomial": attributes["count"].shape[1],
    }
    vocabulary = given["vocabulary"]
    emission = given["emission"]
    if (vocabulary is None) != (emission is None):
        raise ValueError("vocabulary and emission belong together: give both or none")
    if emission is None:
        n = sum(columns.values())
        if n == 0:
            raise ValueError(
                "give emission and vocabulary, or means and covariances, or rates, or "
                "count_probabilities, or several of them"
            )
        kinds = _kinds(given["emissions"], [False] * n, columns)
        return Emissions([None] * n, [None] * n, kinds, False, attributes)
    vocabularies, tables, single = _symbols(vocabulary, emission, K)
    kinds = _kinds(given["emissions"], [table is not None for table in tables], columns)
    return Emissions(vocabularies, tables, kinds, single, attributes)


def _kinds(emissions: Any, is_coded: list[bool], columns: dict[str, int]) -> list[str]:
    """How each stream is distributed, by what is said of it and by the tables that there are."""
    if not isinstance(emissions, str) and not is_list(emissions):
        raise InputTypeError(f"emissions must be a list of kinds or a text, got {emissions!r}")
    listed = listed_kinds(emissions, len(is_coded))
    there = [kind for kind, count in columns.items() if count] or ["gaussian"]
    if len(there) > 1 and "auto" in [
        kind for kind, coded in zip(listed, is_coded, strict=True) if not coded
    ]:
        raise ValueError(
            f"these are tables of {' and '.join(there)} streams: say in emissions, a list, how "
            "each stream is distributed"
        )
    usual = ["categorical" if coded else there[0] for coded in is_coded]
    kinds = [one if kind == "auto" else kind for kind, one in zip(listed, usual, strict=True)]
    for s, (kind, coded) in enumerate(zip(kinds, is_coded, strict=True)):
        if (kind == "categorical") != coded:
            has = "a" if coded else "no"
            raise ValueError(f"emissions[{s}]={kind!r}, but stream {s} has {has} vocabulary")
    for kind, (name, of_kind) in TABLES.items():
        if kinds.count(kind) != columns[kind]:
            raise LengthMismatchError(
                f"{name} {columns[kind]} columns, but {kinds.count(kind)} streams are {of_kind}"
            )
    return kinds


def _numbers(table: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"{name} must be an array of numbers: {error}") from None


def probabilities(table: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The table, of this shape and without negative numbers."""
    numbers = _numbers(table, name)
    if numbers.shape != shape:
        raise LengthMismatchError(f"{name} has the shape {numbers.shape}, it must be {shape}")
    if not np.all(np.isfinite(numbers)):
        raise NonFiniteError(f"{name} must hold finite numbers")
    if np.any(numbers < 0):
        raise ValueError(f"{name} has a negative number: give probabilities, not their logarithms")
    return numbers


def check_sums(rows: np.ndarray, name: str, also: str) -> None:
    """Raise ValueError for the first row that does not sum to 1."""
    total = rows.sum(axis=-1)
    wrong = np.argwhere(np.abs(total - 1) > ROUNDING)
    if len(wrong):
        at = tuple(wrong[0].tolist())
        place = "" if name == "start" else f"[{', '.join(map(str, at))}]"
        raise ValueError(f"{name}{place} sums to {total[at]:.6g}{also}, it must be 1")


def _symbols(
    vocabulary: Any, emission: Any, K: int
) -> tuple[list[dict[Any, int] | None], list[np.ndarray | None], bool]:
    """Vocabularies and tables of all streams, and whether there is but one, of single symbols."""
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
    return vocabularies, tables, single


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
    numbers = probabilities(table, name, (K, len(values) + more))
    check_sums(numbers, name, "")
    return numbers


def _normal(given: dict[str, Any], K: int) -> dict[str, np.ndarray]:
    """What normal distributions have, checked; of no stream where no means are given."""
    kind = given["covariance_type"]
    if kind not in KINDS:
        raise ValueError(f"covariance_type must be one of {', '.join(KINDS)}, got {kind!r}")
    if (given["means"] is None) != (given["covariances"] is None):
        raise ValueError("means and covariances belong together: give both or none")
    if given["means"] is None:
        for name in ("mixture", "autoregression"):
            if given[name] is not None:
                raise ValueError(f"{name} needs means and covariances")
        return {
            "means": np.empty((K, 0)),
            "covariances": np.ones(covariance_shape(kind, K, 0)),
            "mixture": np.ones((K, 1)),
            "autoregression": no_lags(K, 0),
        }
    mean = _numbers(given["means"], "means")
    mixed = given["mixture"] is not None
    shape = f"({K}, {'M, ' if mixed else ''}d)"
    if mean.ndim != 2 + mixed or len(mean) != K:
        and_so = " with a mixture" if mixed else ""
        also = "; means of several normal distributions a label need mixture"
        raise LengthMismatchError(
            f"means have the shape {mean.shape}, {K} labels{and_so} need {shape}"
            + (also if mean.ndim == 3 else "")
        )
    if not np.all(np.isfinite(mean)):
        raise NonFiniteError("means must be finite numbers")
    covariance = _numbers(given["covariances"], "covariances")
    check_covariances(covariance, kind, mean.shape)
    return {
        "means": mean,
        "covariances": covariance,
        "mixture": _weights(given["mixture"], mean.shape),
        "autoregression": _coefficients(given["autoregression"], mean.shape),
    }


def _weights(mixture: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The weights of the normal distributions of each label."""
    if mixture is None:
        return np.ones((shape[0], 1))
    if shape[1] == 1:
        raise ValueError("a mixture of one normal distribution is this one: leave mixture out")
    weight = probabilities(mixture, "mixture", shape[:2])
    check_sums(weight, "mixture", "")
    return weight


def _coefficients(autoregression: Any, shape: tuple[int, ...]) -> np.ndarray:
    if autoregression is None:
        return no_lags(shape[0], shape[-1])
    if len(shape) == 3:
        raise ValueError("autoregression does not go with mixture")
    return check_coefficients(_numbers(autoregression, "autoregression"), shape)


def _rates(rates: Any, K: int) -> np.ndarray:
    """The rates of the Poisson streams."""
    if rates is None:
        return np.empty((K, 0))
    table = _numbers(rates, "rates")
    if table.ndim != 2 or len(table) != K:
        raise LengthMismatchError(f"rates have the shape {table.shape}, {K} labels need ({K}, c)")
    return check_rates(table, table.shape)


def _shares(shares: Any, K: int) -> np.ndarray:
    """The probabilities of the multinomial streams."""
    if shares is None:
        return np.empty((K, 0))
    name = "count_probabilities"
    width = np.shape(shares)[1:2] or (0,)
    if width == (1,):
        raise ValueError(f"{name} needs two streams or more; for one stream of counts give rates")
    table = probabilities(shares, name, (K, *width))
    check_sums(table, name, "")
    return table
