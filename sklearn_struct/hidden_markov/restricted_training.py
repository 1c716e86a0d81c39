"""EM for models of which only a part is learned, or that are restricted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.hidden_markov.base_training import BaseTraining, Expectation, Options
from sklearn_struct.hidden_markov.em_steps import Training
from sklearn_struct.hidden_markov.gaussian_moments import most_probable
from sklearn_struct.hidden_markov.gaussians import Gaussians
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import Markov
from sklearn_struct.hidden_markov.normal_priors import NormalPrior
from sklearn_struct.hidden_markov.observed import Observed
from sklearn_struct.hidden_markov.restricted_chains import ChainRules

__all__ = ["RestrictedSteps", "RestrictedTraining", "Restrictions"]


class Restrictions(NamedTuple):
    """Rules of the chain, the prior of Gaussians, and what is kept of a model: `fixed` are names of
    "emission", "means" and "covariances".
    """

    chain: ChainRules
    normal: NormalPrior | None
    fixed: frozenset[str]
    given: HiddenMarkov | None


class RestrictedSteps(BaseTraining):
    """The steps of EM under restrictions, which hold in each iteration, wherever the data are."""

    restrictions: Restrictions

    def nearest(self, model: HiddenMarkov) -> HiddenMarkov:
        """A model without what is forbidden, to start from."""
        return model._replace(markov=self.restrictions.chain.nearest(model.markov))

    def maximise(self, expectation: Expectation) -> HiddenMarkov:
        """The most probable parameters that are allowed, given expected counts."""
        model = super().maximise(expectation)
        model = model._replace(
            markov=self.restrictions.chain.estimate(expectation.markov),
            gaussians=self._gaussians(expectation, model.gaussians),
        )
        _, _, fixed, given = self.restrictions
        if given is not None and "emission" in fixed:
            model = model._replace(tables=given.tables, rates=given.rates, outcomes=given.outcomes)
        return model

    def _gaussians(self, expectation: Expectation, free: Gaussians) -> Gaussians:
        _, normal, fixed, given = self.restrictions
        kept = given.gaussians if given is not None else free
        if not free.named["means"].size or {"means", "covariances"} <= fixed:
            return kept if fixed else free
        if normal is not None or "means" in fixed:
            options = self.options
            moments = expectation.emitted.numbers
            # the least variances hold for the result, not for what it is made of
            likeliest = most_probable(
                moments, np.zeros_like(options.floor), options.covariance, self.spare_numbers
            )
            free = (normal or NormalPrior.none(likeliest)).most_probable(
                likeliest,
                moments.mass,
                options.floor,
                kept.mean if "means" in fixed else None,
            )
        return free._replace(covariance=kept.covariance) if "covariances" in fixed else free

    def prior(self, model: HiddenMarkov) -> float:
        """Log-density of the priors, up to a constant."""
        chain, normal, fixed, _ = self.restrictions
        # that of tables alone: 0 is the logarithm of 1, of which no prior says anything
        neutral = model._replace(markov=Markov(*(np.zeros(table.shape) for table in model.markov)))
        if "emission" in fixed:
            neutral = neutral._replace(
                tables=[np.zeros(table.shape) for table in model.tables],
                outcomes=np.zeros(model.outcomes.shape),
            )
        total = super().prior(neutral) + chain.prior(model.markov)
        if normal is not None and model.gaussians.named["means"].size:
            total += normal.log_density(model.gaussians)
        return total


class RestrictedTraining(RestrictedSteps, Training):
    """The same of data in one place.

    Parameters are those of `Training`, and ``restrictions``.
    """

    def __init__(
        self,
        observed: Observed,
        codes: np.ndarray,
        weight: np.ndarray,
        n_labels: int,
        options: Options,
        pool: Pool,
        restrictions: Restrictions,
    ) -> None:
        super().__init__(observed, codes, weight, n_labels, options, pool)
        self.restrictions = restrictions
