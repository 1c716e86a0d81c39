"""How well a hidden Markov model fits data, and how well for its size."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.estimators.hidden_markov.base_hidden_markov import BaseHiddenChain
from sklearn_struct.hidden_markov.free_parameters import n_parameters
from sklearn_struct.hidden_markov.markov_chain import ends_itself

__all__ = ["BaseInformationCriteria"]


class BaseInformationCriteria(BaseHiddenChain):
    """Sums of log-likelihoods, and criteria that weigh them against the number of parameters."""

    n_parameters_: int

    def log_likelihood(self, X: Any) -> float:
        """log p(x), summed over the sequences: the sum of `score_samples`.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        float
            -inf if there is a sequence that the model cannot emit.
        """
        return float(self.score_samples(X).sum())

    def aic(self, X: Any) -> float:
        """Akaike's information criterion; lower is better.

        This is ``2 * n_parameters_ - 2 * log_likelihood(X)``.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        float
        """
        # a model that is not fitted says so here
        log_likelihood = self.log_likelihood(X)
        return 2.0 * self._n_parameters() - 2.0 * log_likelihood

    def bic(self, X: Any) -> float:
        """Bayesian information criterion; lower is better.

        This is ``log(n_tokens) * n_parameters_ - 2 * log_likelihood(X)``, where n_tokens is the
        number of tokens of X.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        float
        """
        observed: Any = self._read_X(X, reset=False).X
        n_tokens = max(int(observed.offsets[-1]), 1)
        return float(np.log(n_tokens)) * self._n_parameters() - 2.0 * self.log_likelihood(X)

    def _n_parameters(self) -> int:
        """The number that a fit has counted; files of earlier versions lack it."""
        if hasattr(self, "n_parameters_"):
            return self.n_parameters_
        model = self._model()
        return n_parameters(model, ends_itself(model.markov))
