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
    """Latent-variable probabilistic context-free grammar, by expectation maximisation [1]_, and a
    parser.

    Each symbol of a PCFG gets states, which trees do not show: kinds of noun phrases, say. Rules
    then have a probability for all states of their three symbols. EM finds a local optimum of the
    likelihood of the trees.

    Some trees may be known in part, or not at all [3]_. In `y`, None in the place of a tree is a
    sentence without brackets. A tree with a label that is None, of nltk's nodes or written as
    ``(None (D the) (N cat))``, is partly bracketed: all its nodes are in the tree, under any
    label where theirs is None, and others may be between them; a None over a word is any tag. EM
    then sums over all trees that have the known brackets, and are probable under the grammar
    without states (`pruning`). Symbols, rules and words are those of whole trees, of which there
    must be one at least.

    Read more in :doc:`/user_guide/trees`.

    Parameters
    ----------
    n_states : int, default=16
        The most states of a symbol. One that is seen n times has at most sqrt(n) / 2, so that rare
        ones stay plain.
    n_grammars : int, default=1
        Learn so many grammars, from different starts, and let them vote: "max-recall" takes the
        mean of their posterior probabilities, "max-rule" the product [2]_. That makes better
        parsers than more states do.
    init : {"clusters", "random"}, default="clusters"
        Where EM starts: from clusters of nodes, by k-means, in the coordinates that `SpectralLPCFG`
        finds, or at random. From clusters, a few iterations make the best single parser; grammars
        from random starts differ more, and are better together.
    shrinkage : float, default=0.1
        How far, in each iteration, the expected counts of a symbol's states are moved towards their
        mean: 0 not at all, 1 makes them equal. It keeps states of rare rules alike.
    decoder : {"max-recall", "max-rule", "viterbi"}, default="max-recall"
        What `predict` looks for: the tree with the largest expected number of right constituents;
        the one with the most probable rules, each given the sentence; or the one that is most
        probable together with its states, which takes one grammar.
    max_iter : int, default=100
        Largest number of iterations.
    tol : float, default=5e-3
        EM stops when the log-likelihood rises by less than this a token.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.

    Attributes
    ----------
    n_states_ : ndarray of int
        How many states each of them has.
    n_iter_ : int
    loss_curve_ : list of float
        Minus the log-likelihood of the trees after each iteration; of several grammars, the sum.
        Where trees are not wholly known, that of what is known.

    See Also
    --------
    PCFG : without states.
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
