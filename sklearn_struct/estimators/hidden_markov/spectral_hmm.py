"""Hidden Markov model whose labels have states that the data do not show, learned by singular value
decompositions.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.parameter_checks import check_params
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.encoding.trees import labels_as_trees
from sklearn_struct.encoding.trees.labels_as_trees import LabelTrees
from sklearn_struct.encoding.trees.words import is_table, read_words
from sklearn_struct.estimators.fitting.base_sequence import (
    Sequences,
)
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.sample_weights import check_sum, is_per_token
from sklearn_struct.estimators.fitting.shared_parameters import ThreadParameters
from sklearn_struct.estimators.fitting.spectral_steps import BaseSpectral
from sklearn_struct.estimators.hidden_markov.label_tree_predictions import BaseLabelTreePredictions
from sklearn_struct.exceptions import EmptyDataError
from sklearn_struct.grammars.node_features import (
    above,
    first_leaf,
    leaf_after,
    leaf_before,
    right_leaf,
    right_rule,
    rule,
    second_leaf_before,
    symbol_after,
    symbol_before,
    three_above,
    two_above,
)
from sklearn_struct.grammars.parsing import (
    TreeModel,
    counted,
    one_state,
    tree_log_probabilities,
)

__all__ = ["SpectralHMM"]


# labels of a sequence say little of states: without words, nodes that stand for all that follows
# would have none
FEATURES = (
    (rule, right_rule, first_leaf, right_leaf),
    (
        above,
        two_above,
        three_above,
        symbol_before,
        symbol_after,
        leaf_after,
        leaf_before,
        second_leaf_before,
    ),
)


@with_parameters
class SpectralHMM(BaseSpectral, ThreadParameters, BaseLabelTreePredictions):
    """Latent-variable hidden Markov model of labels and words, by spectral estimation [1]_.

    Each label has hidden states: kinds of nouns, say. A label and its state depend on those of the
    word before, and the word on the label and its state. Labelled sequences are trees that branch
    to the right, so this is a special case of `SpectralLPCFG`, on the same code: no iterations, no
    starts. With one state a label it is an `HMM` of order 1.

    Read more in :doc:`/user_guide/trees`.

    Parameters
    ----------
    n_states : int, default=8
        The most states of a label, and of a label over its word. There are fewer where singular
        values are below a thousandth of the largest.
    smoothing : float, default=10.0
        How much averages over few edges are drawn to products of averages of lower order; 0 not at
        all.
    shrinkage : float, default=0.1
        How much less directions of small singular values count, which are noise in part: those
        below this share of the largest one by half or more. With 0 not at all; with that, and no
        smoothing, estimates are consistent.
    inside_features : list of callables, default=None
        Feature functions of what is below nodes, as in `SpectralLPCFG`. None: those of the two
        words and labels behind, and a third label.
    outside_features : list of callables, default=None
        The same of what is around nodes. None: those of the two words and labels before and behind,
        and a third label.
    min_frequency : int, default=2
        Words seen less often are taken for their signatures: capitals, digits, dashes and English
        endings.
    unknown_weight : float, default=1.0
        How many times each known word is taken to have been seen, besides, with the labels that
        rare words of its signature have.
    decoder : {"marginal", "viterbi"}, default="marginal"
        Whether `predict` takes the label of the largest posterior probability at each word, or the
        labels whose pairs of neighbours have the largest product of posterior probabilities.
    n_jobs : int, default=None
        Threads over sequences, in joblib's meaning. Results have the same bits for any number.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
    n_states_ : ndarray of shape (n_labels,)
        Number of states of each label.
    singular_values_ : ndarray of shape (n_labels, n_states)
    n_negative_ : int
        How many sequences of the training data have an estimate that is no positive probability.
    n_features_in_ : int
        1, the words.

    See Also
    --------
    HMM : Without states, or with all labels hidden.
    SpectralLPCFG : The same for trees.
    LatentChainCRF : A model of labels given words, whose labels have states.

    References
    ----------
    .. [1] S. B. Cohen, K. Stratos, M. Collins, D. P. Foster and L. Ungar, "Spectral learning of
       latent-variable PCFGs", ACL 2012, section 8.

    Examples
    --------
    >>> from sklearn_struct import SpectralHMM
    >>> X = [["the", "dog", "barks"], ["the", "old", "dog", "sleeps"], ["dogs", "sleep"]]
    >>> y = [["D", "N", "V"], ["D", "A", "N", "V"], ["N", "V"]]
    >>> hmm = SpectralHMM(n_states=2, min_frequency=1).fit(X, y)
    >>> hmm.predict([["the", "dog", "sleeps"]])[0]
    ['D', 'N', 'V']
    """

    n_states: int = 8
    smoothing: float = 10.0
    shrinkage: float = 0.1
    min_frequency: int = 2
    unknown_weight: float = 1.0
    decoder: str = "marginal"
    _settings = ("decoder", "n_jobs")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "min_frequency": [Interval(Integral, 1, None, closed="left")],
        "unknown_weight": [Interval(Real, 0, None, closed="neither")],
        "decoder": [StrOptions({"marginal", "viterbi"})],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Estimate the model.

        Parameters
        ----------
        X : list of sequences, SequenceArray, or array of shape (n, 1)
            A sequence is a list of words, or of whole numbers, which are the words that their
            digits are. A two-dimensional array of whole numbers is a batch of sequences of length
            1.
        y : list of label sequences, SequenceArray, or array-like of shape (n,)
            A label for each word.
        sample_weight : array-like of shape (n_sequences,), default=None
            How often each sequence counts where probabilities are averages and relative
            frequencies. One of weight 0 is left out. Which words are rare, and how features are
            scaled, are decided by what is seen.

        Returns
        -------
        self

        Raises
        ------
        InputTypeError, LengthMismatchError, UnknownLabelError, EmptyDataError
            With the place; a wrong `sample_weight` may get scikit-learn's own ValueError. The
            estimator is then as it was before.
        """
        super().fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None:
        sequences = self._read_X(X, reset=True)
        words: Any = sequences.X
        codes = self._read_y(y, sequences, reset=True)
        if not len(codes):
            raise EmptyDataError("X has no words")
        if is_per_token(sample_weight):
            raise ValueError(
                "a hidden Markov model has weights of sequences; a sample_weight for each token is "
                "refused"
            )
        weight = self._read_weight(as_list(sample_weight), len(words))
        used = (weight > 0) & (words.lengths > 0)
        if not np.any(used):
            raise EmptyDataError("no sequence with words has a positive weight")
        codes = codes[np.repeat(used, words.lengths)]
        given = [sentence for sentence, kept in zip(words.sentences, used) if kept]
        data = labels_as_trees.learn(
            given, codes, len(self.classes_), self.min_frequency, self.unknown_weight
        )
        # without weights counts are whole numbers
        self._estimate(data, codes, None if sample_weight is None else check_sum(weight[used]))

    def _estimate(self, data: LabelTrees, codes: np.ndarray, weight: np.ndarray | None) -> None:
        """Set what is learned from trees that count so often each (None: once)."""
        treebank = data.treebank
        forest = treebank.forest
        K = len(self.classes_)
        spectrum = self._spectrum(treebank, data.sums, FEATURES, weight)
        n_nodes = np.diff(forest.offsets)
        ones = np.ones(len(n_nodes)) if weight is None else weight
        counts = data.sums(np.repeat(ones, n_nodes)[forest.leaf >= 0, None])[:, 0]
        plain = counted(treebank, counts, 0.0, weight)
        # a tree has two nodes a word, and one for the end
        frequency = np.bincount(codes, np.repeat(ones, n_nodes // 2), minlength=K)
        self._codes = data.codes
        self._frequency = frequency / frequency.sum()
        self._model = TreeModel(treebank.grammar, treebank.leaf_symbol, plain, (spectrum.tensors,))
        self._plain_states = one_state(self._model)
        self.n_states_ = spectrum.n_states[K + 1 :]
        self.singular_values_ = spectrum.singular_values[K + 1 :]
        self.n_negative_ = int(np.sum(tree_log_probabilities(self._model, forest)[0] == -np.inf))

    def _read_X(self, X: Any, reset: bool) -> Sequences:
        if not reset:
            check_is_fitted(self)
            check_params(self, *self._settings)
        X = as_list(X)
        flat = is_table(X)
        if flat:
            self._accept_rows(X, reset)
            tokens = validate_data(self, X, dtype=np.float64, reset=reset)
            X = SequenceArray(tokens, np.arange(len(tokens) + 1))
        words: Any = read_words(X)
        if reset:
            self.n_features_in_ = 1
        self._learn_lengths(words.lengths, reset)
        return Sequences(words, flat)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.dict = False
        tags.input_tags.three_d_array = False
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags
