"""Where EM starts: parameters that leave nothing impossible and do not treat all labels alike."""

from __future__ import annotations

import numpy as np

from sklearn_struct.hidden_markov import multinomial, poisson
from sklearn_struct.hidden_markov.densities import log_ratios, value_counts
from sklearn_struct.hidden_markov.em_steps import Expectation, Training
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import Markov, estimate, n_contexts

__all__ = ["labelled_start", "random_start"]


def labelled_start(
    training: Training, codes: np.ndarray, rng: np.random.RandomState
) -> HiddenMarkov:
    """What labels say that are known (or guessed; others are -1), with 1 added to each count.

    A label that is not among them emits at random: as nothing else would, that tells it from
    others.
    """
    # labels that are not known do not count: EM adds what is expected of them later
    observed = training.observed
    weight = training.token_weight
    K = training.n_labels
    begin = training.options.numbers.begin(
        observed.numbers, observed.offsets, codes, weight, K, rng
    )
    counts = training.counted(codes, begin)
    raised = Markov(*(table + 1.0 for table in counts.markov))
    model = training.maximise(Expectation(raised, counts.emitted))
    emitted = counts.emitted
    tables = [log_ratios(table, 1.0) for table in emitted.values]
    rates = poisson.fit_rates(
        emitted.events, training.options.least_rates, training.spare_events, imagined=1.0
    )
    outcomes = multinomial.fit_outcomes(emitted.trials, 1.0)
    # labels that nobody has given begin at random, or all of them would stay the same
    known = codes >= 0
    unseen = np.bincount(codes[known], weights=weight[known], minlength=K) == 0
    if np.any(unseen):
        spare = random_start(training, rng)
        model = model._replace(gaussians=model.gaussians.with_states_of(spare.gaussians, unseen))
        for table, other in zip(tables, spare.tables, strict=True):
            table[unseen] = other[unseen]
        rates[unseen] = spare.rates[unseen]
        outcomes[unseen] = spare.outcomes[unseen]
    return model._replace(tables=tables, rates=rates, outcomes=outcomes)


def random_start(training: Training, rng: np.random.RandomState) -> HiddenMarkov:
    """Random probabilities; those of values in proportion to their frequencies, means at random
    tokens.
    """
    K = training.n_labels
    options = training.options
    observed = training.observed
    C = n_contexts(K, options.order)
    # exponential numbers over their sum are uniform among all distributions
    counts = Markov(*(rng.exponential(size=shape) for shape in (K, (C, K), C)))
    tables = []
    for column, n in zip(observed.codes, options.n_values, strict=True):
        counts_of_all = value_counts(column, training.token_weight[:, None], n)[0]
        frequency = counts_of_all + options.smoothing
        # frequencies times noise as large as they are: states must differ, or EM never tells them
        # apart
        tables.append(log_ratios(frequency * rng.exponential(size=(K, n))))
    share = training.token_weight
    share /= share.sum()
    gaussians = options.numbers.random(observed.numbers, observed.offsets, share, K, rng)
    rates = poisson.random_rates(observed.events, share, K, options.least_rates, rng)
    outcomes = multinomial.random_outcomes(
        observed.trials, training.token_weight, K, options.smoothing, rng
    )
    return HiddenMarkov(estimate(counts, 0.0, options.stop), tables, gaussians, rates, outcomes)
