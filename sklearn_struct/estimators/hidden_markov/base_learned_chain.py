"""How a hidden Markov model of observation streams is fitted: what is read, and what EM starts
from.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.encoding.features import observation_streams as streams
from sklearn_struct.encoding.features.symbol_sequences import symbols
from sklearn_struct.encoding.labels import label_codes, partial_labels
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.encoding.three_dimensional_input import check_layout
from sklearn_struct.encoding.two_dimensional_input import has_label_a_row, refuse_without_labels
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.sample_weights import is_per_token, repeated, used_tokens
from sklearn_struct.estimators.hidden_markov.base_hidden_markov import BaseHiddenChain
from sklearn_struct.estimators.hidden_markov.clusters import clusters
from sklearn_struct.estimators.hidden_markov.em_fit import learn, start
from sklearn_struct.estimators.hidden_markov.stream_learning import (
    check_lengths,
    check_numbers_are_there,
    check_variances,
    kinds_of,
    largest_numbers,
    learn_streams,
    mean_trials,
    refuse_gaps,
)
from sklearn_struct.estimators.hidden_markov.stream_parameters import StreamParameters
from sklearn_struct.estimators.hidden_states.restarts import seeds
from sklearn_struct.exceptions import UnknownLabelError
from sklearn_struct.hidden_markov.base_number_steps import NumberSteps
from sklearn_struct.hidden_markov.base_training import Options
from sklearn_struct.hidden_markov.em_steps import Training
from sklearn_struct.hidden_markov.gaussian_moments import least_variances
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.observed import Observed
from sklearn_struct.hidden_markov.poisson import least_rates

__all__ = ["BaseLearnedChain", "Data"]

# the arguments of `Training`
Data: TypeAlias = tuple[Observed, np.ndarray, np.ndarray, int, Options, Pool]


class BaseLearnedChain(StreamParameters, BaseHiddenChain):
    """A hidden Markov model that counts, or maximises the likelihood by EM."""

    order: int
    stop: bool
    transition_smoothing: Any

    def _learn(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> Any:
        """What `fit` does; return the steps of EM that it took."""
        X = as_list(X)
        y = as_list(y)
        # the streams of a model say what the columns are
        check_layout(X, y, is_known=init is not None)
        columns, flat = self._read_columns(X if has_label_a_row(y) else symbols(X), reset=True)
        self._refuse_no_labels(y is not None, init)
        if flat and y is None:
            refuse_without_labels(len(columns.offsets) - 1, type(self).__name__)
        codes = self._learn_codes(y, columns.offsets, flat, init)
        weight = self._weight_of_sequences(sample_weight, len(columns.offsets) - 1)
        used = used_tokens(weight, np.diff(columns.offsets))
        self._kind = columns.kind
        observed = self._learn_observed(columns, used, init)
        # EM needs memory for other things
        del columns, used
        K = len(self.classes_)
        with Pool(self.n_jobs) as pool:
            options = self._options(observed, weight, init)
            training = self._training((observed, codes, weight, K, options, pool), init)
            self._learn_by(training, init, progress)
        return training

    def _learn_by(self, training: Any, init: Any, progress: Progress) -> None:
        """Learn the parameters, by steps of EM that know the data."""
        # -1, as EM raises the likelihood and loss curves fall
        iterations = Iterations(self._learned, progress, self._iteration_settings(), scale=-1.0)
        learned = learn(
            training,
            self._begins(training, init),
            iterations,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self.__dict__.update(learned)

    def _refuse_no_labels(self, has_y: bool, init: Any) -> None:
        """Raise ValueError if nothing says how many labels there are."""
        if not has_y and self.n_states is None and init is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None; without labels, set `n_states`"
            )

    def _learn_codes(self, y: Any, offsets: np.ndarray, flat: bool, init: Any) -> np.ndarray:
        """The classes, and the codes of labels in them, -1 where there is none."""
        # no list of None, which would be as long as a column of X
        labels = [] if y is None else self._flat_labels(y, offsets, flat)
        if init is not None:
            self._refuse_other_streams(init)
        self.classes_ = self._label_set(labels, offsets) if init is None else init.classes_
        if y is None:
            # read-only and without memory, as all tokens have the same
            return np.broadcast_to(np.int32(-1), (offsets[-1],))
        return partial_labels.encode(labels, self.classes_, offsets)

    def _begins(self, training: Any, init: Any) -> list[Callable[[], Any]]:
        """What makes the places where EM begins: one, unless these are drawn."""
        if init is not None or training.any_known or self.n_init == 1:
            rng = check_random_state(self.random_state)
            return [lambda: self._start(self.init, training, rng, init)]
        first, *others = seeds(self.random_state, self.n_init)
        if isinstance(self.random_state, Integral):
            # the start that is the only one of n_init=1
            first = int(self.random_state)
        # clusters of all starts are nearly the same, so that others would find nothing new
        way = "random" if self.init == "auto" else self.init
        return [
            partial(self._start_of_seed, self.init, training, first),
            *(partial(self._start_of_seed, way, training, seed) for seed in others),
        ]

    def _start_of_seed(self, way: str, training: Any, seed: int) -> Any:
        return self._start(way, training, np.random.RandomState(seed), None)

    def _training(self, data: Data, init: Any) -> Any:
        """The steps of EM."""
        return Training(*data)

    def _start(self, way: str, training: Any, rng: np.random.RandomState, init: Any) -> Any:
        """The model that EM starts from: `init`, or what is made in one of the ways of `start`."""
        if init is None:
            return start(way, training, rng)
        return self._taken_over(init, training.options.numbers)

    def _learn_observed(self, columns: streams.Columns, used: np.ndarray, init: Any) -> Observed:
        """What all tokens emit, and what the tokens used say about that."""
        if init is None:
            self._emissions = self._kinds_of(columns)
            self.vocabulary_, observed = learn_streams(columns, used, self._emissions, self.oov)
        else:
            self._emissions, self.vocabulary_, self.emission_logprob_ = self._streams_of(init)
            observed = self._observe(columns)
        check_numbers_are_there(observed, used, self._emissions, self._names)
        self._check_numbers(observed, used)
        self.n_trials_ = mean_trials(observed, used)
        return observed

    def _kinds_of(self, columns: streams.Columns) -> list[str]:
        """How each column is distributed."""
        return kinds_of(columns, self.emissions)

    def _streams_of(self, init: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """The kinds, vocabularies and tables of another model, for each column of X."""
        return init._kinds, init.vocabulary_, init.emission_logprob_

    def _check_numbers(self, observed: Observed, used: np.ndarray) -> None:
        """Raise unless measurements are what the parameters ask for."""
        self._check_asked(observed.numbers.shape[1])
        if self.autoregression:
            refuse_gaps(observed, self._kinds, self._names)
            check_lengths(observed, used, self.autoregression)

    def _check_asked(self, n_columns: int) -> None:
        """Raise unless the parameters fit so many columns of measurements."""
        several = {"n_mixtures": self.n_mixtures - 1, "autoregression": self.autoregression}
        asked = [name for name, more in several.items() if more > 0]
        if asked and not n_columns:
            raise ValueError(
                f"{asked[0]}={getattr(self, asked[0])} needs a stream of measurements, and X has "
                "none"
            )
        if len(asked) > 1:
            raise ValueError("autoregression goes with n_mixtures=1 only")

    def _taken_over(self, init: Any, numbers: NumberSteps) -> HiddenMarkov:
        """The model of another estimator, with covariances of this one's type."""
        model: HiddenMarkov = init._model()
        named = model.gaussians.named
        for name, table in (
            ("n_mixtures", "mixture_logprob"),
            ("autoregression", "autoregression"),
        ):
            there = named[table].shape[1]
            if there != getattr(self, name):
                raise ValueError(f"init has {name}={there}, not {getattr(self, name)}")
        return model._replace(gaussians=numbers.taken_over(model.gaussians))

    def _weight_of_sequences(self, sample_weight: Any, n: int) -> np.ndarray:
        if is_per_token(sample_weight):
            raise ValueError(
                "a hidden Markov model has weights of sequences; a sample_weight for each token is "
                "refused"
            )
        return self._read_weight(sample_weight, n)

    def _label_set(self, labels: list[Any], offsets: np.ndarray) -> np.ndarray:
        """The labels: those of `n_states`, or those of y."""
        known = any(label is not None for label in labels)
        if self.n_states is None:
            if not known:
                raise UnknownLabelError("y has no labels; set `n_states`")
            return partial_labels.known_labels(labels, offsets)
        if isinstance(self.n_states, Integral):
            return np.arange(int(self.n_states))
        if len(self.n_states) == 0:
            raise ValueError("n_states must hold a label")
        if len(set(self.n_states)) < len(self.n_states):
            raise ValueError(f"n_states must hold different labels, got {list(self.n_states)}")
        return label_codes.unique_labels(list(self.n_states), np.array([0, len(self.n_states)]))

    def _options(self, observed: Observed, weight: np.ndarray, init: Any) -> Options:
        of_tokens = repeated(weight, observed.lengths)
        floor = least_variances(observed.numbers, of_tokens, self.min_variance)
        check_variances(floor, partial(largest_numbers, observed), self._kinds, self._names)
        rates = least_rates(observed.events, of_tokens, self.min_variance)
        return self._options_above(floor, rates, init)

    def _options_above(self, floor: np.ndarray, rates: np.ndarray, init: Any) -> Options:
        """How parameters are estimated, with these least variances and rates."""
        tables = [values for values in self.vocabulary_ if values is not None]
        n_values = [len(values) + (self.oov is not None) for values in tables]
        if init is not None:
            n_values = [table.shape[1] for table in init.emission_logprob_ if table is not None]
        return Options(
            self.order,
            n_values,
            self.stop,
            self.smoothing,
            # a table is for restricted training
            self.transition_smoothing if np.ndim(self.transition_smoothing) == 0 else 0.0,
            floor,
            self.covariance_type,
            rates,
            self.n_mixtures,
            self.autoregression,
            clusters,
        )
