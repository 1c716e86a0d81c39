"""Hidden Markov models of which somebody knows the parameters: checked, and put where a fit puts
what it has learned.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.estimators.hidden_markov.base_streams import BaseStreams
from sklearn_struct.estimators.hidden_markov.given_emissions import (
    Emissions,
    check_sums,
    given_emissions,
    probabilities,
)
from sklearn_struct.estimators.hidden_markov.learned_counts import set_kinds
from sklearn_struct.exceptions import LengthMismatchError
from sklearn_struct.hidden_markov.markov_chain import named_shapes, order_of

__all__ = ["BaseGivenParameters"]


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
        mixture: ArrayLike | None = None,
        autoregression: ArrayLike | None = None,
        rates: ArrayLike | None = None,
        count_probabilities: ArrayLike | None = None,
        n_trials: int = 0,
        emissions: Any = "auto",
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
            for a stream of numbers or counts. None if no stream is of symbols. A dict of columns,
            as in ``vocabulary_``, may take the place of a list of values.
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
        mixture : array-like of shape (n_labels, n_mixtures), default=None
            Weights of the normal distributions of each label, if a label has several.
        autoregression : array-like of shape (n_labels, p, n_numeric_streams, n_numeric_streams), \
default=None
            Coefficients of the p tokens before, as in ``autoregression_``.
        rates : array-like of shape (n_labels, n_poisson_streams), default=None
            Means of the Poisson streams.
        count_probabilities : array-like of shape (n_labels, n_multinomial_streams), default=None
            Probabilities of the multinomial streams.
        n_trials : int, default=0
            Number of trials of the multinomial streams in the tokens that `sample` draws.
        emissions : "auto" or list of str, default="auto"
            How each stream is distributed, as in the constructor. You need it if streams of numbers
            and counts, or of both kinds of counts, stand side by side.

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
        classes, sort = _sorted(labels)
        if np.ndim(transition) not in (2, 3):
            raise LengthMismatchError("transition must have two dimensions, or three in order 2")
        order = order_of(np.asarray(transition))
        tables = {
            "start": start,
            "transition": transition,
            "stop": stop,
            "pair_start": pair_start,
            "single_stop": single_stop,
        }
        chain = _chain(tables, len(classes), order)
        emitted = given_emissions(
            {
                "vocabulary": vocabulary,
                "emission": emission,
                "means": means,
                "covariances": covariances,
                "covariance_type": covariance_type,
                "mixture": mixture,
                "autoregression": autoregression,
                "rates": rates,
                "count_probabilities": count_probabilities,
                "n_trials": n_trials,
                "emissions": emissions,
            },
            len(classes),
        )
        made = cls(
            order=order,
            stop=stop is not None,
            covariance_type=covariance_type,
            **emitted.parameters,
        )
        made.classes_ = classes
        made._take_chain(chain, sort)
        made._take_emissions(emitted, sort)
        made.n_trials_ = int(n_trials)
        made.n_iter_ = 0
        made.loss_curve_ = []
        made.n_parameters_ = 0
        return made

    def _take_chain(self, chain: dict[str, np.ndarray], sort: np.ndarray) -> None:
        """The tables of the chain, in the order of `classes_`."""
        with np.errstate(divide="ignore"):
            for name, table in chain.items():
                setattr(self, f"{name}_logprob_", np.log(table[np.ix_(*(sort,) * table.ndim)]))

    def _take_emissions(self, given: Emissions, sort: np.ndarray) -> None:
        """What labels emit, in the order of `classes_`."""
        self._covariance_type = self.covariance_type
        self.vocabulary_ = given.vocabularies
        tables = dict(given.attributes)
        # one matrix of all labels has no order
        if self.covariance_type != "tied" or tables["means"].ndim == 3:
            tables["covariances"] = tables["covariances"][sort]
        for name in ("means", "autoregression", "rates"):
            tables[name] = tables[name][sort]
        for name in ("means", "covariances", "autoregression", "rates"):
            setattr(self, f"{name}_", tables[name])
        with np.errstate(divide="ignore"):
            self.emission_logprob_ = [
                None if table is None else np.log(table[sort]) for table in given.tables
            ]
            for name in ("mixture", "count"):
                setattr(self, f"{name}_logprob_", np.log(tables[name][sort]))
        set_kinds(self, given.kinds)
        self._kind = given.kind
        self._rows_in = False
        self._names_in = None
        self.n_features_in_ = len(given.vocabularies)


def _sorted(labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """The labels as `classes_` has them, and the row that each has in the tables given."""
    given = list(range(labels)) if isinstance(labels, Integral) else list(labels)
    classes = label_codes.unique_labels(given, np.array([0, len(given)]))
    if len(classes) < len(given) or not given:
        raise ValueError(f"labels must be different labels, and at least one, got {given}")
    place = {label: k for k, label in enumerate(given)}
    return classes, np.array([place[label] for label in classes.tolist()])


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
            tables[name] = probabilities(table, name, shapes[name])
    check_sums(tables["start"][None], "start", "")
    for name, last in (("transition", "stop"), ("pair_start", "single_stop")):
        if name in tables:
            rows = tables[name]
            if ends:
                rows = np.concatenate([rows, tables[last][..., None]], axis=-1)
            check_sums(rows, name, f" together with {last}" if ends else "")
    return tables
