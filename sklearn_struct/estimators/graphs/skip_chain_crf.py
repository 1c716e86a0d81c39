"""Skip-chain conditional random fields."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Structure
from sklearn_struct.encoding.graphs import EDGES, GivenCliques
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.encoding.skip_edges import KEYS, features_of_either, neighbours, skip_edges
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.graphs.base_graph import Graphs
from sklearn_struct.estimators.graphs.base_graph_crf import BaseGraphCRF

__all__ = ["SkipChainCRF"]

SKIP = "skip"


@with_parameters
class SkipChainCRF(BaseGraphCRF):
    """Linear-chain conditional random field with edges between distant tokens that are alike.

    A document may make clear in one place what a word is, and name it again in another place. An
    edge between both places makes one help the other [1]_. The model is the `LinearChainCRF` of
    order 1, and each edge (s, t) between tokens with the same key adds skip_transition[y_s, y_t].
    Inference is exact in documents with few such edges, and by belief propagation in others; see
    `inference`.

    Read more in :doc:`/user_guide/skip_chains`.

    Parameters
    ----------
    key : None, {"capitalized"} or callable, default=None
        A function of a token, as X has it. Tokens for which it returns the same hashable value are
        alike; it returns None for tokens that are like no other. "capitalized", for tokens that are
        strings: the word itself if it begins with a capital letter. None: no tokens are alike, and
        the model is a plain chain. Predictions read it, too.
    max_pairs : int or None, default=None
        Largest number of edges from a token to alike tokens before it; the nearest ones are taken.
        None is no limit. Neighbouring tokens get no second edge.
    skip_features : {None, "either"}, default=None
        Features of the edges between alike tokens. "either": each feature of X with the larger of
        its two values at the tokens, so that the surroundings of one token speak for the other, too
        [1]_. None: these edges have no features.

    Attributes
    ----------
    transition_ : ndarray of shape (n_labels, n_labels)
        Weights of neighbours, from the label of the first token (row) to that of the second one.
    skip_transition_ : ndarray of shape (n_labels, n_labels)
        Weights of tokens that are alike, from the label of the earlier one (row) to that of the
        later one. Those of their features are ``clique_coef_["skip"]``.

    See Also
    --------
    LinearChainCRF : Without such edges, and with features of transitions.
    GraphCRF : Edges of your own.

    References
    ----------
    .. [1] C. Sutton and A. McCallum, "Collective segmentation and labeling of distant entities in
       information extraction", ICML workshop on statistical relational learning, 2004.

    Examples
    --------
    >>> from sklearn_struct import SkipChainCRF
    >>> texts = ["Speaker : Green . Later Green talks", "Place : Hill . Then Hill"]
    >>> X = [text.split() for text in texts]
    >>> y = [["O", "O", "NAME", "O", "O", "NAME", "O"],
    ...      ["O", "O", "PLACE", "O", "O", "PLACE"]]
    >>> crf = SkipChainCRF(key="capitalized", C=10).fit(X, y)
    >>> crf.predict(X)[1]
    ['O', 'O', 'PLACE', 'O', 'O', 'PLACE']
    >>> stays = crf.skip_transition_.diagonal()  # both words have the same label
    >>> print(crf.classes_[stays.argmax()])
    PLACE
    """

    key: Any = None
    max_pairs: int | None = None
    skip_features: str | None = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "key": [None, StrOptions(set(KEYS)), callable],
        "max_pairs": [Interval(Integral, 1, None, closed="left"), None],
        "skip_features": [StrOptions({"either"}), None],
    }
    _settings: ClassVar[tuple[str, ...]] = (*BaseGraphCRF._settings, "key", "max_pairs")

    @property
    def skip_transition_(self) -> np.ndarray:
        """Weights (n_labels, n_labels) of tokens that are alike."""
        self._family(SKIP)
        return self.clique_transition_[SKIP]

    def _read_X(self, X: Any, reset: bool) -> Any:
        X = as_list(X)
        sequences = self._read_nodes(X, reset)
        key = KEYS[self.key] if isinstance(self.key, str) else self.key
        lengths = sequences.X.lengths.tolist()
        alike = [np.zeros((0, 2), np.int64)] * len(lengths)
        if not sequences.flat and key is not None:
            alike = [skip_edges(tokens, key, self.max_pairs, i) for i, tokens in enumerate(X)]
        # predictions see what `fit` has seen
        seen = self.skip_features is not None if reset else self._has_skip_features()
        features = _of_edges(sequences.X, alike) if seen else None
        given = {
            EDGES: GivenCliques(2, list(map(neighbours, lengths)), None, False),
            SKIP: GivenCliques(2, alike, features, False),
        }
        families, rows = self._read_cliques(given, sequences.X.offsets, reset)
        structure = Structure(sequences.X.offsets, families)
        return Graphs(sequences.X, sequences.flat, structure, rows)

    def _has_skip_features(self) -> bool:
        return self.templates_[SKIP].features.width > 0

    def _clique_columns(self, name: str, source: Any, feature: np.ndarray) -> np.ndarray:
        # their features are those of tokens
        if name == SKIP and isinstance(source, SkipChainCRF):
            return feature
        return super()._clique_columns(name, source, feature)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X
            As in `LinearChainCRF.fit`.
        y : list of label sequences, SequenceArray, or array-like of shape (n,)
            One label a token; one-dimensional if X is two-dimensional. None for a label that is not
            known, a set for one of several.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of each sequence's loss; with ``loss="pointwise"`` it may have a sequence of
            weights for each sequence, one a token.
        init : fitted estimator with the same kinds of weights, default=None
            Start from its weights, matched by label and by feature name (by position where there
            are no names), such as those of a `LinearChainCRF`.

        Returns
        -------
        self

        Raises
        ------
        LengthMismatchError, UnknownLabelError, EmptyDataError, InputTypeError
            With the place; ValueError for a sequence that is too wide for exact inference. The
            estimator is then as it was before.

        Warns
        -----
        InferenceWarning
            If inference does not settle at the weights that are learned.
        """
        super().fit(X, y, sample_weight, init=init)
        return self


def _of_edges(X: SequenceArray, edges: list[np.ndarray]) -> SequenceArray:
    """Features of the edges of each sequence, whose tokens are counted from its first one."""
    rows = np.concatenate([table + first for table, first in zip(edges, X.offsets)])
    bounds = np.cumsum([0, *map(len, edges)])
    return SequenceArray(features_of_either(X.tokens, rows), bounds)
