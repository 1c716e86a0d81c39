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
    """Latent-variable hidden Markov model of labels and words, by spectral estimation.

    Each label has hidden states, such as kinds of nouns. A label and its state depend on the label
    and the state of the word before. A word depends on its label and state. A labelled sequence is
    a tree that branches to the right, so the model is a special case of `SpectralLPCFG` [1]_. It
    needs neither iterations nor starting values. With one state for each label it is an `HMM` of
    order 1.

    Read more in :doc:`/user_guide/trees`.

    Parameters
    ----------
    n_states : int, default=8
        Largest number of states of a label. A label has fewer states if some of its singular values
        are below a thousandth of the largest.
    smoothing : float, default=10.0
        How strongly averages over few edges are smoothed towards products of averages of lower
        order. 0 is no smoothing.
    shrinkage : float, default=0.1
        How strongly directions with small singular values, which are partly noise, are weakened. A
        direction whose singular value is below this share of the largest one loses half of its
        weight or more. 0 weakens none. With 0, and no smoothing, estimates are consistent.
    inside_features : list of callables, default=None
        Feature functions of what is below nodes, as in `SpectralLPCFG`. None: the next two words
        and labels, and a third label.
    outside_features : list of callables, default=None
        The same of what is around nodes. None: the two words and labels before and after, and a
        third label.
    min_frequency : int, default=2
        Words seen less often are replaced by their signatures: capitals, digits, dashes and English
        endings.
    unknown_weight : float, default=1.0
        A pseudo-count. Each known word counts as seen this many more times, with the labels that
        rare words of its signature have.
    decoder : {"marginal", "viterbi"}, default="marginal"
        What `predict` returns. "marginal": at each word the label with the largest posterior
        probability. "viterbi": the labels whose pairs of neighbours have the largest product of
        posterior probabilities.
    n_jobs : int, default=None
        Threads over sequences, in joblib's meaning. Results have the same bits for any number.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
    n_states_ : ndarray of shape (n_labels,)
        Number of states of each label.
    singular_values_ : ndarray of shape (n_labels, n_states)
    n_negative_ : int
        How many sequences of the training data have an estimated probability that is not positive.
    n_features_in_ : int
        1, the words.

    See Also
    --------
    HMM : Labels without states, or labels that are all hidden.
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
