"""Where EM starts: parameters that leave nothing impossible and do not treat all labels alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.hidden_markov import multinomial, poisson
from sklearn_struct.hidden_markov.base_training import BaseTraining, Expectation
from sklearn_struct.hidden_markov.densities import log_ratios
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import Markov, estimate, n_contexts

__all__ = ["labelled_start", "random_start"]


def labelled_start(training: BaseTraining, codes: Any, rng: np.random.RandomState) -> HiddenMarkov:
    """What labels say that are known (or guessed), with 1 added to each count.

    A label that is not among them emits at random: as nothing else would, that tells it from
    others.
    """
    # labels that are not known do not count: EM adds what is expected of them later
    counts = training.counted(codes, training.begin(codes, rng))
    raised = Markov(*(table + 1.0 for table in counts.markov))
    model = training.maximise(Expectation(raised, counts.emitted))
    emitted = counts.emitted
    tables = [log_ratios(table, 1.0) for table in emitted.values]
    rates = poisson.fit_rates(
        emitted.events, training.options.least_rates, training.spare_events, imagined=1.0
    )
    outcomes = multinomial.fit_outcomes(emitted.trials, 1.0)
    # labels that nobody has given begin at random, or all of them would stay the same
    unseen = training.masses(codes) == 0
    if np.any(unseen):
        spare = random_start(training, rng)
        model = model._replace(gaussians=model.gaussians.with_states_of(spare.gaussians, unseen))
        for table, other in zip(tables, spare.tables, strict=True):
            table[unseen] = other[unseen]
        rates[unseen] = spare.rates[unseen]
        outcomes[unseen] = spare.outcomes[unseen]
    return model._replace(tables=tables, rates=rates, outcomes=outcomes)


def random_start(training: BaseTraining, rng: np.random.RandomState) -> HiddenMarkov:
    """Random probabilities; those of values in proportion to their frequencies, means at random
    tokens.
    """
    K = training.n_labels
    options = training.options
    C = n_contexts(K, options.order)
    # exponential numbers over their sum are uniform among all distributions
    counts = Markov(*(rng.exponential(size=shape) for shape in (K, (C, K), C)))
    tables = []
    for frequency in training.frequencies():
        raised = frequency + options.smoothing
        # frequencies times noise as large as they are: states must differ, or EM never tells them
        # apart
        tables.append(log_ratios(raised * rng.exponential(size=(K, len(raised)))))
    gaussians = training.random_numbers(rng)
    rates = training.random_rates(rng)
    outcomes = training.random_outcomes(rng)
    return HiddenMarkov(estimate(counts, 0.0, options.stop), tables, gaussians, rates, outcomes)
