"""The protocol of losses, and that each loss of the package keeps it."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil

import contracts
import criteria
import numpy as np
import pytest

from sklearn_struct import losses
from sklearn_struct.containers.structures import chain
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.forbidden import Transitions
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.believed_labels import BelievedLabels, BesideBeliefs
from sklearn_struct.losses.blocks import Blocks
from sklearn_struct.losses.conditionals import Conditionals
from sklearn_struct.losses.constrained import Constrained
from sklearn_struct.losses.contrastive import Contrastive
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.expectation_criteria import Criteria, Expectation
from sklearn_struct.losses.generated_words import FreeTexts, GeneratedWords
from sklearn_struct.losses.latent_margin import LatentMargin
from sklearn_struct.losses.log_likelihood import LogLikelihood
from sklearn_struct.losses.log_partition import LogPartition
from sklearn_struct.losses.marginal_likelihood import MarginalLikelihood
from sklearn_struct.losses.max_margin import MaxMargin, MaxMarginBound
from sklearn_struct.losses.pieces import Pieces
from sklearn_struct.losses.piecewise_factors import Factors
from sklearn_struct.losses.pointwise import Pointwise
from sklearn_struct.losses.posterior_regularisation import (
    NearestLabellings,
    PosteriorRegularisation,
)
from sklearn_struct.losses.pseudolikelihood import Pseudolikelihood
from sklearn_struct.losses.sample_rank import SampleRank
from sklearn_struct.losses.semi_supervised import SemiSupervised
from sklearn_struct.losses.tree_pieces import TreePieces
from sklearn_struct.losses.windows import Windows

FLAGS = ("convex", "token_weights", "twice_differentiable", "couples", "sampled")
K = criteria.K
RULE = Transitions(np.ones(K, dtype=bool), ~np.eye(K, k=2, dtype=bool), np.ones(K, dtype=bool))
NO_CRITERIA = (
    Criteria(np.zeros((0, K)), np.zeros(0), "kl"),
    Criteria(np.zeros((0, K * K)), np.zeros(0), "kl"),
)
EXPECTATION = criteria.problem(0)[0]
SQUARED = criteria.problem(0, "squared")[0]  # finite where what a target asks for is forbidden
ENTROPY = Expectation(Chain(), *NO_CRITERIA, 0.3)
MARGINAL = MarginalLikelihood(Chain())
NEAREST = NearestLabellings(Chain(), EXPECTATION.node, EXPECTATION.edge)
FREE = FreeTexts(chain([0, 3, 4]), np.zeros(4, np.int64), 0, np.array([2.0, 0.5]))
POSTERIOR = PosteriorRegularisation(NEAREST)

# each with the flags that are true
LOSSES = [
    (Conditionals(), "convex twice_differentiable"),
    (Conditionals(right=False), "convex twice_differentiable"),
    (Factors(), "convex twice_differentiable"),
    (LogLikelihood(Chain()), "convex twice_differentiable"),
    (MarginalLikelihood(Chain()), "twice_differentiable"),
    (MaxMargin(Chain()), "convex"),
    (MaxMargin(Chain(), margin=0.5), "convex"),
    (LatentMargin(Chain()), ""),
    (Pointwise(Chain()), "token_weights"),
    (Pieces(), "convex twice_differentiable"),
    (Pseudolikelihood(), "convex twice_differentiable"),
    (BelievedLabels(), "convex token_weights"),
    (BesideBeliefs(), "convex token_weights"),
    (Blocks(LogLikelihood(Chain()), 1), "convex twice_differentiable"),
    (TreePieces(LogLikelihood(Chain())), "convex twice_differentiable"),
    (Contrastive(2), "sampled"),
    (SampleRank(2), "sampled"),
    (EXPECTATION, "couples"),
    (ENTROPY, ""),
    (SemiSupervised(MARGINAL, EXPECTATION), "couples"),
    (SemiSupervised(MARGINAL, ENTROPY), ""),
    (NEAREST, "convex couples"),
    (POSTERIOR, "couples"),
    (SemiSupervised(MARGINAL, POSTERIOR), "couples"),
    (GeneratedWords(LogPartition(Chain()), FREE), "convex twice_differentiable"),
    (Windows(LogLikelihood(Chain()), 2), "convex twice_differentiable"),
    (Windows(MaxMargin(Chain()), 2), "convex"),
    (Windows(Pointwise(Chain()), 2), ""),
    (Constrained(LogLikelihood(Chain()), RULE), "convex twice_differentiable"),
    (Constrained(MARGINAL, RULE), "twice_differentiable"),
    (Constrained(MaxMargin(Chain()), RULE), "convex"),
    (Constrained(Pointwise(Chain()), RULE), "token_weights"),
    (Constrained(SQUARED, RULE), "couples"),
    (Constrained(POSTERIOR, RULE), "couples"),
]


def public_losses():
    """All losses of potentials that the package has."""
    names = [module.name for module in pkgutil.iter_modules(losses.__path__)]
    modules = [importlib.import_module(f"{losses.__name__}.{name}") for name in names]
    public = [
        getattr(module, name) for module in modules for name in getattr(module, "__all__", ())
    ]
    classes = [one for one in public if isinstance(one, type) and issubclass(one, Loss)]
    # a bound is the value of no derivatives, and only certifies what was learned
    return [one for one in classes if one not in (Loss, MaxMarginBound)]


def needs_inference_alone(cls):
    arguments = inspect.signature(cls).parameters.values()
    return [a.name for a in arguments if a.default is a.empty] == ["inference"]


LISTED = {type(loss) for loss, _ in LOSSES}
# a new loss that needs an inference, and nothing else, enrols by itself
LOSSES += [
    (cls(Chain()), " ".join(flag for flag in FLAGS if getattr(cls, flag)))
    for cls in public_losses()
    if cls not in LISTED and needs_inference_alone(cls)
]
EACH = pytest.mark.parametrize(
    ("loss", "flags"), LOSSES, ids=[f"{type(loss).__name__}-{flags}" for loss, flags in LOSSES]
)


class Mass(Loss):
    """The sum of the scores of all nodes: a loss that has only what each must have."""

    def __call__(self, batch, out, value):
        for i, (a, b) in enumerate(zip(batch.structure.offsets, batch.structure.offsets[1:])):
            value[i] = batch.potentials.node[a:b].sum() if batch.weight[i] else 0.0
            out.node[a:b] += batch.weight[i]


def of_flags(loss):
    return [name for name in FLAGS if getattr(loss, name)]


def batch():
    """Chains with all that any loss asks for."""
    _, potentials, structure, evidence = criteria.problem(1)
    n = len(potentials.node)
    rng = np.random.default_rng(2)
    labels = (np.arange(n) % K).astype(np.int32)  # what RULE allows
    allowed = np.ones((n, K), dtype=bool)
    allowed[7:11] = np.eye(K, dtype=bool)[labels[7:11]]
    weight = rng.random(n)
    beliefs = rng.dirichlet(np.ones(K), n)
    scores = rng.normal(size=(n, K))
    evidence = Evidence(labels, allowed, weight, evidence.fired, beliefs=beliefs, scores=scores)
    return Batch(potentials, evidence, structure, np.array([1.0, 1.0, 2.0, 0.5, 0.0]))


def everything(loss, batch):
    """Values, derivatives, and what else the loss has, as one list of arrays."""
    found = []
    if loss.couples:
        statistics = loss.statistics(batch)
        value, loss = loss.settle(lambda asked: asked.statistics(batch))
        found += [statistics, np.array(value)]
    value, out = contracts.evaluate(loss, *batch)
    found += [value, contracts.flat(out)]
    if loss.twice_differentiable:
        out = contracts.mapped(np.zeros_like, batch.potentials)
        loss.hess_vec(batch, batch.potentials, out)
        found.append(contracts.flat(out))
    return found


def test_default_flags():
    assert of_flags(Mass()) == ["convex"]
    assert of_flags(Loss) == ["convex"]


def test_a_loss_must_be_callable():
    class Nothing(Loss):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Nothing()


def test_what_a_loss_does_not_have():
    loss = Mass()
    nothing = batch()
    with pytest.raises(NotImplementedError, match=r"^Mass has no second derivative$"):
        loss.hess_vec(nothing, nothing.potentials, nothing.potentials)
    for question in (loss.statistics, loss.outer):
        with pytest.raises(NotImplementedError, match=r"^examples of Mass do not depend on each"):
            question(nothing)
    assert loss.scaled(0.5) is loss


test_contract = contracts.loss(Mass())


@EACH
def test_flags(loss, flags):
    assert isinstance(loss, Loss)
    assert of_flags(loss) == flags.split()


@EACH
def test_flags_are_true(loss, flags):
    """What a flag says is there can be asked for, what it denies cannot."""
    given = batch()
    if loss.couples:
        value, inner = loss.settle(lambda asked: asked.statistics(given))
        assert np.isfinite(value)
        assert isinstance(inner, Loss)
    elif not isinstance(loss, Expectation | SemiSupervised):  # these do not without criteria
        with pytest.raises(NotImplementedError, match="do not depend on each other"):
            loss.statistics(given)
    if not loss.twice_differentiable:
        out = contracts.mapped(np.zeros_like, given.potentials)
        with pytest.raises(NotImplementedError, match="has no second derivative"):
            loss.hess_vec(given, given.potentials, out)
    heavy = given._replace(evidence=given.evidence._replace(weight=np.full(16, 7.0)))
    values = [contracts.evaluate(loss, *b)[0] for b in (given, heavy)]
    assert loss.token_weights == (not np.array_equal(*values))


def test_no_loss_of_the_package_is_left_out():
    assert set(public_losses()) == {type(loss) for loss, _ in LOSSES}


@EACH
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_a_loss_pickles(loss, flags, protocol):
    again = pickle.loads(pickle.dumps(loss, protocol))
    assert type(again) is type(loss)
    assert of_flags(again) == of_flags(loss)
    given = batch()
    found = everything(again, given)
    expected = everything(loss, given)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_outer_gives_pickles():
    loss = Constrained(SemiSupervised(MARGINAL, SQUARED), RULE)
    given = batch()
    _, inner = loss.outer(loss.statistics(given))
    again = pickle.loads(pickle.dumps(inner))
    found = contracts.evaluate(again, *given)
    expected = contracts.evaluate(inner, *given)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(contracts.flat(found[1]), contracts.flat(expected[1]))


@EACH
def test_what_is_asked_of_labels_is_not_scaled(loss, flags):
    """A share of 1 changes nothing, and no share changes a loss of labels."""
    given = batch()
    labels_only = "couples" not in flags and not isinstance(loss, Expectation | SemiSupervised)
    for share in (1.0, 0.5) if labels_only else (1.0,):
        scaled = loss.scaled(share)
        assert type(scaled) is type(loss)
        for a, b in zip(everything(scaled, given), everything(loss, given), strict=True):
            np.testing.assert_array_equal(a, b)
