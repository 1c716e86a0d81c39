"""What a hidden Markov model may learn: forbidden transitions, fixed parameters, priors."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.containers.structures import blank, chain
from sklearn_struct.encoding.labels.allowed_transitions import SCHEMES, read_transitions
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.hidden_markov.base_learned_chain import BaseLearnedChain, Data
from sklearn_struct.estimators.hidden_markov.em_fit import spread_out, start
from sklearn_struct.exceptions import ForbiddenLabelError, LengthMismatchError, NonFiniteError
from sklearn_struct.hidden_markov.base_training import BaseTraining
from sklearn_struct.hidden_markov.em_starts import labelled_start
from sklearn_struct.hidden_markov.em_steps import Training
from sklearn_struct.hidden_markov.free_parameters import n_parameters
from sklearn_struct.hidden_markov.gaussian_moments import fit_gaussians
from sklearn_struct.hidden_markov.gaussians import Gaussians
from sklearn_struct.hidden_markov.hidden_markov_model import HiddenMarkov
from sklearn_struct.hidden_markov.markov_chain import Markov, ends_itself, reachable
from sklearn_struct.hidden_markov.normal_priors import NormalPrior, kind_of_all
from sklearn_struct.hidden_markov.restricted_chains import (
    ChainRules,
    added,
    all_allowed,
    allowed_steps,
)
from sklearn_struct.hidden_markov.restricted_training import (
    RestrictedSteps,
    RestrictedTraining,
    Restrictions,
)
from sklearn_struct.inference.chains.forbidden import Transitions, dead_ends, forbid
from sklearn_struct.inference.labelling_scores import forbid_labels

__all__ = ["LEFT_TO_RIGHT", "BaseRestrictedChain", "RestrictionParameters"]

LEFT_TO_RIGHT = "left-to-right"
FIXED = ("start", "transition", "stop", "emission", "means", "covariances")


@with_parameters
class RestrictionParameters:
    """What is forbidden, fixed, or expected before there are data.

    Parameters
    ----------
    allowed_transitions : None, {"left-to-right", "BIO", "IOB1", "BIOES"}, array-like of shape \
            (n_labels, n_labels) or dict, default=None
        Which labels may follow each other. All others have probability 0, whatever is added to
        counts. "left-to-right": in the order of ``classes_``, a sequence begins with the first
        label, and each label is followed by itself or by the next one. A matrix of booleans, in the
        same order, says which label (column) may follow which (row). A dict ``{label: [labels]}``
        lists what is *forbidden* after each label. Its key None lists what may not come first, and
        None in a list forbids that a sequence ends with this label. Schemes of spans are those of
        `LinearChainCRF`.
    transition_smoothing : float or array-like of shape (n_labels, n_labels), default=0.0
        Added to the counts of starts, transitions and stops. An array is added to the counts of
        transitions alone: ``[j, k]`` to that of k after j.
    mean_smoothing : float, default=0.0
        Number of imagined tokens, for each label, that have the mean of all of X. See Notes.
    covariance_smoothing : float, default=0.0
        Number of imagined tokens, for each label, that have the covariance of all of X. See Notes.
    fixed : tuple of {"start", "transition", "stop", "emission", "means", "covariances"}, default=()
        What is not learned: it stays as in the `init` that `fit` is given. "emission" is all
        distributions of symbols and counts. "transition" fixes the end, too, since both sum to 1.
        If "stop" alone is fixed, the transitions of a row sum to what it leaves.
    """

    allowed_transitions: Any = None
    transition_smoothing: Any = 0.0
    mean_smoothing: float = 0.0
    covariance_smoothing: float = 0.0
    fixed: Any = ()
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "allowed_transitions": [
            None,
            StrOptions({LEFT_TO_RIGHT, *SCHEMES}),
            dict,
            "array-like",
        ],
        "transition_smoothing": [Interval(Real, 0, None, closed="left"), "array-like"],
        "mean_smoothing": [Interval(Real, 0, None, closed="left")],
        "covariance_smoothing": [Interval(Real, 0, None, closed="left")],
        "fixed": [tuple, list],
    }


class BaseRestrictedChain(RestrictionParameters, BaseLearnedChain):
    """A hidden Markov model whose parameters may be forbidden, fixed, or expected before."""

    def _training(self, data: Data, init: Any) -> Any:
        observed, codes, weight, _, options, _ = data
        given = None if init is None else self._taken_over(init, options.numbers)

        def check(allowed: Transitions) -> None:
            self._check_labels(allowed, observed.offsets, codes, weight)

        def alike(kind: str) -> Gaussians:
            floor = np.zeros(observed.numbers.shape[1])
            of_tokens = np.repeat(weight, observed.lengths)[:, None]
            return fit_gaussians(observed.numbers, of_tokens, floor, kind)

        restrictions = self._restrictions(given, check, alike)
        return Training(*data) if restrictions is None else RestrictedTraining(*data, restrictions)

    def _start(self, way: str, training: Any, rng: np.random.RandomState, init: Any) -> Any:
        if init is not None:
            return _nearest(training, self._taken_over(init, training.options.numbers))
        rule = self.allowed_transitions
        in_order = isinstance(rule, str) and rule == LEFT_TO_RIGHT
        if in_order and not training.any_known and way != "random":
            # clusters have no order, labels from left to right have
            return _nearest(training, labelled_start(training, training.guess(spread_out), rng))
        return _nearest(training, start(way, training, rng))

    def _n_free(self, training: BaseTraining) -> int:
        """The number of parameters that were learned."""
        allowed = None
        if isinstance(training, RestrictedSteps):
            allowed = training.restrictions.chain.allowed
        return n_parameters(self._model(), self.stop, allowed, frozenset(self.fixed))

    def _restrictions(
        self,
        given: HiddenMarkov | None,
        check: Callable[[Transitions], None],
        alike: Callable[[str], Gaussians],
    ) -> Restrictions | None:
        """What the parameters say about a fit that may start from a given model; None if nothing
        but what every fit does.

        `check` raises unless labels keep to what is allowed; `alike` gives the normal distribution
        of all measurements, with a covariance of some kind.
        """
        fixed = self._fixed(given)
        allowed = self._allowed()
        smoothing = self._smoothing()
        imagined = self.mean_smoothing + self.covariance_smoothing
        several = self.n_mixtures > 1 or self.autoregression > 0
        if several and (imagined > 0 or fixed & {"means", "covariances"}):
            raise ValueError(
                "mean_smoothing, covariance_smoothing and fixed means or covariances are for one "
                "normal distribution of each label: n_mixtures=1 and autoregression=0"
            )
        if allowed is None and not fixed and np.ndim(smoothing) == 0 and imagined == 0:
            return None
        K = len(self.classes_)
        if allowed is not None:
            check(allowed)
        steps = (
            all_allowed(K, self.order) if allowed is None else allowed_steps(allowed, self.order)
        )
        more = added(smoothing, K, self.order)
        markov = None if given is None else given.markov
        if markov is not None:
            _check_fixed_steps(markov, steps, fixed)
        normal = None
        if imagined > 0:
            of_all = alike(kind_of_all(self.covariance_type))
            if of_all.mean.size:
                normal = NormalPrior.around(of_all, self.mean_smoothing, self.covariance_smoothing)
        chain_rules = ChainRules(steps, more, self.stop, fixed, markov)
        return Restrictions(chain_rules, normal, fixed, given)

    def _fixed(self, given: HiddenMarkov | None) -> frozenset[str]:
        for name in self.fixed:
            if name not in FIXED:
                raise ValueError(f"fixed={self.fixed!r}: {name!r} is none of {', '.join(FIXED)}")
        fixed = frozenset(self.fixed)
        if not fixed:
            return fixed
        if given is None:
            raise ValueError(
                f"fixed={self.fixed!r} keeps parameters of a model: give it as `init` of fit"
            )
        if "stop" in fixed and not self.stop:
            raise ValueError("fixed: without `stop` there is no probability of the end to keep")
        if fixed & {"transition", "stop"} and ends_itself(given.markov) != self.stop:
            raise ValueError(f"fixed: `init` was fitted with stop={not self.stop}, not {self.stop}")
        has_numbers = given.gaussians.named["means"].size > 0
        for name in sorted(fixed & {"means", "covariances"}):
            if not has_numbers:
                raise ValueError(f"fixed: `init` has no streams of numbers, so no {name}")
        others = given.rates.size + given.outcomes.size
        if "emission" in fixed and not given.tables and not others:
            raise ValueError("fixed: `init` has no streams of symbols or counts, so no emission")
        return fixed

    def _smoothing(self) -> Any:
        """`transition_smoothing`, checked."""
        smoothing = self.transition_smoothing
        if np.ndim(smoothing) == 0:
            return smoothing
        table = np.asarray(smoothing, dtype=np.float64)
        K = len(self.classes_)
        if table.shape != (K, K):
            raise LengthMismatchError(
                f"transition_smoothing has shape {table.shape}, but {K} labels need ({K}, {K})"
            )
        if not np.all(np.isfinite(table)):
            raise NonFiniteError("transition_smoothing must hold finite numbers")
        if np.any(table < 0):
            raise ValueError("transition_smoothing must not be negative")
        return table

    def _allowed(self) -> Transitions | None:
        """`allowed_transitions`, checked."""
        K = len(self.classes_)
        rule = self.allowed_transitions
        if isinstance(rule, str) and rule == LEFT_TO_RIGHT:
            step = np.arange(K) - np.arange(K)[:, None]
            everywhere = np.ones(K, dtype=bool)
            return Transitions(np.arange(K) == 0, (step == 0) | (step == 1), everywhere)
        allowed = read_transitions(rule, self.classes_)
        if allowed is None:
            return None
        labels = self.classes_.tolist()
        if not np.any(allowed.start):
            raise ValueError("allowed_transitions forbids every label at the start")
        if not self.stop and not np.all(allowed.end):
            label = labels[int(np.argmin(allowed.end))]
            raise ValueError(
                f"allowed_transitions forbids {label!r} at the end, which needs stop=True"
            )
        last = allowed.end if self.stop else np.zeros(K, dtype=bool)
        stuck = ~(allowed.pairs.any(axis=1) | last)
        if np.any(stuck):
            label = labels[int(np.argmax(stuck))]
            raise ValueError(f"allowed_transitions leaves no way on from label {label!r}")
        return allowed

    def _check_labels(
        self, allowed: Transitions, offsets: np.ndarray, codes: np.ndarray, weight: np.ndarray
    ) -> None:
        """Raise ForbiddenLabelError where no allowed labelling agrees with the known labels."""
        K = len(self.classes_)
        structure = chain(offsets)
        mask = (codes[:, None] < 0) | (codes[:, None] == np.arange(K))
        theta = forbid(forbid_labels(blank(structure, K), mask), structure, allowed)
        dead = dead_ends(theta, structure)
        wrong = np.flatnonzero((dead >= 0) & (weight > 0))
        if not len(wrong):
            return
        i = int(wrong[0])
        code = codes[offsets[i] + dead[i]]
        if code >= 0:
            raise ForbiddenLabelError(
                f"y[{i}], token {dead[i]}: allowed_transitions forbids the label "
                f"{self.classes_.tolist()[code]!r} here"
            )
        raise ForbiddenLabelError(
            f"X[{i}], token {dead[i]}: allowed_transitions allows no label here, whatever stands "
            "before it"
        )


def _nearest(training: BaseTraining, model: HiddenMarkov) -> HiddenMarkov:
    """The model without what is forbidden."""
    return training.nearest(model) if isinstance(training, RestrictedSteps) else model


def _check_fixed_steps(given: Markov, steps: Markov, fixed: frozenset[str]) -> None:
    """Raise ValueError if what is kept has a step that is forbidden."""
    reached = reachable(steps)
    kept = {"start": given.start[~steps.start]}
    kept["transition"] = given.transition[reached][~steps.transition[reached]]
    kept["stop"] = given.stop[reached & ~steps.stop]
    names = fixed | ({"stop"} if "transition" in fixed else set())
    for name in sorted(names & kept.keys()):
        if np.any(kept[name] > -np.inf):
            raise ValueError(
                f"fixed: {name} of `init` has a probability above 0 where allowed_transitions "
                "forbids it"
            )
