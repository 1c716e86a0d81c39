"""Grammar whose symbols have states that the trees do not show, learned by expectation
maximisation.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.trees import Tensors, Treebank
from sklearn_struct.containers.typing import Sequences
from sklearn_struct.encoding.trees.tree_corpus import TreeCorpus
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.shared_parameters import (
    IterationParameters,
    RandomParameters,
)
from sklearn_struct.estimators.trees.base_tree_parser import BaseTreeParser, plain_model
from sklearn_struct.estimators.trees.clustered_starts import clustered, coordinates
from sklearn_struct.estimators.trees.partly_bracketed import packed, parted, with_leaves
from sklearn_struct.estimators.trees.sampled_trees import TreeDrawingMixin
from sklearn_struct.grammars.latent_em import Expected, LatentEM
from sklearn_struct.grammars.partial_forests import joined
from sklearn_struct.solvers.em import em

__all__ = ["EMLPCFG"]


@with_parameters
class EMLPCFG(TreeDrawingMixin, BaseTreeParser, IterationParameters, RandomParameters):
    """Latent-variable probabilistic context-free grammar, by EM, and a parser.

    Each symbol of a PCFG gets hidden states, such as kinds of noun phrases [1]_. Trees do not show
    them. A rule has a probability for each combination of states of its three symbols. Expectation
    maximisation (EM) finds a local optimum of the likelihood of the trees.

    Trees may be known in part, or not at all [3]_. In `y`, None in the place of a tree is a
    sentence without brackets. A tree in which the label of a node is None, such as
    ``(None (D the) (N cat))``, is partly bracketed: the brackets of its nodes are known, a label
    None may be any label, and there may be further brackets. A None over a word is any tag. EM then
    sums over all trees that have the known brackets and are probable under the grammar without
    states (see `pruning`). Symbols, rules and words come from the whole trees; y needs at least
    one.

    Read more in :doc:`/user_guide/trees`.

    Parameters
    ----------
    n_states : int, default=16
        Largest number of states of a symbol. A symbol that is seen n times has at most sqrt(n) / 2
        states.
    n_grammars : int, default=1
        Number of grammars, learned from different starts, which vote. "max-recall" takes the mean
        of their posterior probabilities, "max-rule" the product [2]_. More grammars help more than
        more states.
    init : {"clusters", "random"}, default="clusters"
        Where EM starts. "clusters": at clusters of nodes, by k-means, in the coordinates that
        `SpectralLPCFG` finds. This gives the best single grammar after a few iterations. "random":
        at random. Such grammars differ more, so several of them vote better.
    shrinkage : float, default=0.1
        How far each iteration moves the expected counts of the states of a symbol towards their
        mean, from 0 (not at all) to 1 (equal counts). It smooths the probabilities of rare rules.
    decoder : {"max-recall", "max-rule", "viterbi"}, default="max-recall"
        Which tree `predict` returns. "max-recall": the tree with the largest expected number of
        right constituents. "max-rule": the tree with the most probable rules, each given the
        sentence. "viterbi": the tree that is most probable together with its states; it needs
        ``n_grammars=1``.
    max_iter : int, default=100
        Largest number of iterations.
    tol : float, default=5e-3
        EM stops when an iteration raises the log-likelihood per token by less than this.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.

    Attributes
    ----------
    n_states_ : ndarray of int
        Number of states of each symbol.
    n_iter_ : int
    loss_curve_ : list of float
        Minus the log-likelihood of the trees after each iteration; a sum over the grammars. For a
        tree that is known in part, it is that of the known part.

    See Also
    --------
    PCFG : Symbols without states.
    SpectralLPCFG : The same model, without iterations.
    sklearn_struct.inspection.latent_states : What the states stand for.

    References
    ----------
    .. [1] T. Matsuzaki, Y. Miyao and J. Tsujii, "Probabilistic CFG with latent annotations", ACL
       2005.
    .. [2] S. Petrov, "Products of random latent variable grammars", NAACL 2010.
    .. [3] F. Pereira and Y. Schabes, "Inside-outside reestimation from partially bracketed
       corpora", ACL 1992.

    Examples
    --------
    >>> from sklearn_struct import EMLPCFG
    >>> from sklearn_struct.datasets import make_treebank
    >>> X, y = make_treebank(n_samples=300, random_state=0)
    >>> parser = EMLPCFG(n_states=4, random_state=0).fit(X, y)
    >>> sentence = "the women in the garden that run sleep"
    >>> print(parser.predict([sentence.split()])[0])
    (ROOT
      (S
        (NP
          (NP (NP (D the) (N women)) (PP (P in) (NP (D the) (N garden))))
          (SBAR (W that) (VP (V run))))
        (VP (V sleep))))
    """

    n_states: int = 16
    n_grammars: int = 1
    init: str = "clusters"
    shrinkage: float = 0.1
    max_iter: int = 100
    tol: float = 5e-3
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_states": [Interval(Integral, 1, None, closed="left")],
        "n_grammars": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"clusters", "random"})],
        "shrinkage": [Interval(Real, 0, 1, closed="both")],
    }

    def _check_decoding(self) -> None:
        super()._check_decoding()
        self._check_one_grammar(len(self._model.states))

    def _check_one_grammar(self, n_grammars: int) -> None:
        if self.decoder == "viterbi" and n_grammars > 1:
            raise ValueError(f"decoder='viterbi' takes one grammar, got n_grammars={n_grammars}")

    def _learn(self, X: list[list[str]], y: Sequences, progress: Progress) -> None:
        # the grammar is read off whole trees; `_fit` takes the others from here
        X, y, self._rest = parted(X, y)
        super()._learn(X, y, progress)

    def _fit(self, corpus: TreeCorpus, progress: Progress) -> None:
        rest = self.__dict__.pop("_rest")
        self._check_one_grammar(self.n_grammars)
        forest = corpus.treebank.forest
        rng = check_random_state(self.random_state)
        n_nodes = np.bincount(forest.symbol, minlength=len(self.symbols_))
        self.n_states_ = np.clip(np.sqrt(n_nodes) / 2, 1, self.n_states).astype(int)
        self._model = plain_model(corpus)
        with Pool(self.n_jobs) as pool:
            steps = LatentEM(
                corpus.treebank, corpus.emissions.sums, self.n_states_, self.shrinkage, pool
            )

            def expect(models: tuple[Tensors, ...]) -> tuple[list[Expected], float]:
                expected, values = zip(*(steps.expect(model) for model in models), strict=True)
                return list(expected), sum(values)

            def maximise(expected: list[Expected]) -> tuple[Tensors, ...]:
                return tuple(steps.maximise(counts) for counts in expected)

            start = self._start(corpus.treebank, steps, rng)
            n_tokens = int(np.sum(forest.leaf >= 0))
            others = packed(rest, self._codes.symbols, self._model, self._candidates, self.pruning)
            if others:
                n_leaves = len(corpus.treebank.leaf_symbol)
                steps = LatentEM(
                    corpus.treebank._replace(forest=joined([forest, *others])),
                    with_leaves(corpus.emissions.sums, n_tokens, n_leaves, others),
                    self.n_states_,
                    self.shrinkage,
                    pool,
                )
                n_tokens += sum(int(other.stop[-1]) for other in others)
            # -1, as EM climbs and loss curves fall
            iterations = Iterations(self._learned, progress, self._iteration_settings(), scale=-1.0)
            iterations.begin(start)
            # of a token and a grammar, as the value is the sum over both
            tol = self.tol * self.n_grammars * n_tokens
            result = em(
                expect, maximise, start, max_iter=self.max_iter, tol=tol, callback=iterations
            )
        stopped = f"EM stopped after {result.n_iter} iterations"
        self.__dict__.update(iterations.end(result, stopped, "allow more iterations"))

    def _start(
        self, treebank: Treebank, steps: LatentEM, rng: np.random.RandomState
    ) -> tuple[Tensors, ...]:
        if self.init == "random":
            return tuple(steps.random_start(rng) for _ in range(self.n_grammars))
        rows = coordinates(treebank, self.n_states)
        states = (clustered(treebank, rows, self.n_states_, rng) for _ in range(self.n_grammars))
        return tuple(steps.maximise(steps.start(given)) for given in states)

    def _learned(self, models: tuple[Tensors, ...]) -> dict[str, Any]:
        return {"_model": self._model._replace(states=models)}
