"""Factorial conditional random fields: several labels of each token."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Structure
from sklearn_struct.encoding.graphs import GivenCliques
from sklearn_struct.encoding.labels import label_codes, label_rows, partial_labels
from sklearn_struct.encoding.sequences import as_list, form
from sklearn_struct.encoding.skip_edges import neighbours
from sklearn_struct.estimators.fitting.base_sequence import logarithms
from sklearn_struct.estimators.fitting.finite_scores import NodePlace
from sklearn_struct.estimators.fitting.parameters import with_parameters
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.graphs.base_graph import Graphs
from sklearn_struct.estimators.graphs.base_graph_crf import BaseGraphCRF
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.objectives.linear_potentials import Inputs, Kinds

__all__ = ["FactorialCRF", "Rows"]


class Rows(NamedTuple):
    """How many rows there are, and how far apart labels of two rows may be that score each other;
    this says which kinds of cliques a model has, and in which order.
    """

    n: int
    reach: int

    @classmethod
    def of_kinds(cls, n: int, n_kinds: int) -> Rows:
        """The n rows of a model with so many kinds of cliques."""
        n_pairs = n * (n - 1) // 2
        # each distance has a kind for each of two rows that may be the earlier one
        return cls(n, (n_kinds - n - n_pairs) // (2 * n_pairs) if n_pairs else 0)

    def names(self) -> list[str]:
        """The kinds of cliques."""
        return list(self.edges(0))

    def edges(self, length: int) -> dict[str, np.ndarray]:
        """The edges of each kind between the nodes of a sequence, which stand row by row."""
        nodes = np.arange(self.n * length).reshape(self.n, length)
        kinds = {_row(r): r * length + neighbours(length) for r in range(self.n)}
        for r, s in combinations(range(self.n), 2):
            kinds[_pair(r, s)] = np.column_stack([nodes[r], nodes[s]])
        for r, s, d in self.distant():
            # no node has one so far behind it where the sequence is shorter
            n = max(length - d, 0)
            kinds[_distant(r, s, d)] = np.column_stack([nodes[r, :n], nodes[s, length - n :]])
        return kinds

    def distant(self) -> list[tuple[int, int, int]]:
        """Row of the earlier label, row of the later one, and their distance."""
        distances = range(1, self.reach + 1)
        return [(r, s, d) for d in distances for r, s in permutations(range(self.n), 2)]


@with_parameters
class FactorialCRF(BaseGraphCRF):
    """Conditional random field of several labels for each token, such as part of speech and chunk.

    A row is one kind of label, such as the parts of speech. The labels of each row are a chain, as
    in `LinearChainCRF`. Each two labels of one token have a score, too (a dynamic CRF [1]_). With
    two rows of many labels the tables of exact inference are large; then belief propagation is
    used, see `inference`.

    Read more in :doc:`/user_guide/factorial`.

    Parameters
    ----------
    reach : int, default=0
        Largest distance between two tokens whose labels of different rows have a score together.
        0: labels of one token. 1: also those of neighbours, so that the part of speech of a word
        helps to find the chunks of the words before and after it. Each distance adds two tables of
        weights for each pair of rows, and takes time. Distances that are longer than all sequences
        of `fit` get no weights.

    Attributes
    ----------
    row_classes_ : list of ndarray
        The labels of each row, sorted.
    classes_ : ndarray of int, shape (n_labels,)
        Numbers of the labels of all rows, one row after the other.
    row_transition_ : list of ndarray
        For each row the weights of neighbours, from the label of the first token to that of the
        second one.
    pair_transition_ : dict of (int, int) to ndarray
        For each pair of rows the weights of the two labels of a token.
    distant_transition_ : dict of (int, int, int) to ndarray
        By (r, s, d), with d from 1 to `reach`, the weights of a label of row r and one of row s
        that stands d tokens after it; shape (n_labels of row r, n_labels of row s).

    See Also
    --------
    LinearChainCRF : A single label for each token.
    GraphCRF : Any graph.

    References
    ----------
    .. [1] C. Sutton, A. McCallum and K. Rohanimanesh, "Dynamic conditional random fields:
       factorized probabilistic models for labeling and segmenting sequence data", Journal of
       Machine Learning Research 8, 2007.

    Examples
    --------
    >>> from sklearn_struct import FactorialCRF
    >>> X = [["the", "old", "man", "sleeps"], ["dogs", "bark"]]
    >>> y = [
    ...     [("DT", "B-NP"), ("JJ", "I-NP"), ("NN", "I-NP"), ("VB", "O")],
    ...     [("NN", "B-NP"), ("VB", "O")],
    ... ]
    >>> crf = FactorialCRF(C=10).fit(X, y)
    >>> crf.predict([["the", "old", "man", "sleeps"]])[0]
    [('DT', 'B-NP'), ('JJ', 'I-NP'), ('NN', 'I-NP'), ('VB', 'O')]
    >>> crf.pair_transition_[0, 1].shape  # parts of speech, chunks
    (4, 3)

    With ``reach=1`` a part of speech scores the next chunk, too, and a chunk the next part of
    speech:

    >>> crf = FactorialCRF(reach=1, C=10).fit(X, y)
    >>> {rows: table.shape for rows, table in crf.distant_transition_.items()}
    {(0, 1, 1): (4, 3), (1, 0, 1): (3, 4)}
    """

    reach: int = 0
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "reach": [Interval(Integral, 0, None, closed="left")],
    }

    @property
    def row_transition_(self) -> list[np.ndarray]:
        """For each row the weights of neighbours."""
        tables = self.clique_transition_
        return [tables[_row(r)][rows, rows] for r, rows in enumerate(self._slices())]

    @property
    def pair_transition_(self) -> dict[tuple[int, int], np.ndarray]:
        """For each pair of rows the weights of the two labels of a token."""
        tables = self.clique_transition_
        slices = self._slices()
        pairs = combinations(range(len(slices)), 2)
        return {(r, s): tables[_pair(r, s)][slices[r], slices[s]] for r, s in pairs}

    @property
    def distant_transition_(self) -> dict[tuple[int, int, int], np.ndarray]:
        """For rows r and s, and a distance d, the weights of a label of row r and one of row s that
        stands d tokens behind it.
        """
        tables = self.clique_transition_
        slices = self._slices()
        distant = self._rows().distant()
        return {(r, s, d): tables[_distant(r, s, d)][slices[r], slices[s]] for r, s, d in distant}

    def _rows(self) -> Rows:
        """The rows as `fit` has seen them."""
        return Rows.of_kinds(len(self._fitted("row_classes_")), len(self.templates_))

    def _slices(self) -> list[slice]:
        """The numbers of the labels of each row."""
        bounds = np.cumsum([0, *map(len, self._fitted("row_classes_"))]).tolist()
        return [slice(first, last) for first, last in pairwise(bounds)]

    # ---- reading: a node for each label of each token

    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None:
        X = as_list(X)
        y = None if y is None else as_list(y)
        # nodes are made of tokens before labels are read
        self._n_rows = label_rows.n_rows(y, form(X) == "flat")
        self.row_classes_: list[np.ndarray] = []
        super()._fit(X, y, sample_weight, init, progress)

    def _read_X(self, X: Any, reset: bool) -> Any:
        sequences = self._read_nodes(X, reset)
        offsets = sequences.X.offsets
        lengths = np.diff(offsets).tolist()
        # no two tokens are farther apart
        longest = max([1, *lengths]) - 1
        rows = Rows(self._n_rows, min(self.reach, longest)) if reset else self._rows()
        edges = {n: rows.edges(n) for n in set(lengths)}
        given = {
            name: GivenCliques(2, [edges[n][name] for n in lengths], None, False)
            for name in rows.names()
        }
        tokens, _ = label_rows.nodes(rows.n, offsets)
        nodes = SequenceArray(sequences.X.stored[tokens], rows.n * offsets, sequences.X.names)
        families, features = self._read_cliques(given, nodes.offsets, reset)
        return Graphs(nodes, sequences.flat, Structure(nodes.offsets, families), features)

    def _read_labels(
        self, y: Any, sequences: Any, reset: bool, unseen: int | None = None
    ) -> np.ndarray:
        R = self._n_rows if reset else len(self.row_classes_)
        offsets = sequences.X.offsets // R
        if reset and y is None:
            return self._read_y(y, sequences, reset)  # which says that it is needed
        if sequences.flat and R > 1:
            flat = label_rows.of_table(y, offsets)
        else:
            flat = self._flat_labels(y, offsets, sequences.flat)
        rows = label_rows.parted(flat, R, offsets)
        if reset:
            self.row_classes_ = [partial_labels.known_labels(row, offsets) for row in rows]
            self.classes_ = np.arange(sum(map(len, self.row_classes_)))
        tokens, row = label_rows.nodes(R, offsets)
        firsts = [part.start for part in self._slices()]
        if not any(map(partial_labels.is_partial, rows)):
            codes = np.empty((R, offsets[-1]), np.int32)
            for r, (labels, classes) in enumerate(zip(rows, self.row_classes_, strict=True)):
                known = label_codes.encode(labels, classes, offsets, unseen)
                codes[r] = np.where(known >= 0, known + firsts[r], known)
            of_nodes: np.ndarray = codes[row, tokens]
            return of_nodes
        masks = np.zeros((R, offsets[-1], len(self.classes_)), bool)
        for r, (labels, classes) in enumerate(zip(rows, self.row_classes_, strict=True)):
            allowed = partial_labels.masks(labels, classes, offsets, unseen)
            masks[r][:, self._slices()[r]] = allowed
            # other rows' labels are impossible anyway, and so "unknown" means the same for all
            masks[r][[label is None for label in labels]] = True
        allowed_at: np.ndarray = masks[row, tokens]
        return allowed_at

    def _structure(self, sequences: Any, learned: bool) -> Structure:
        R = len(self.row_classes_)
        _, row = label_rows.nodes(R, sequences.X.offsets // R)
        sizes = np.array([len(classes) for classes in self.row_classes_])
        sequences = sequences._replace(structure=sequences.structure._replace(sizes=sizes[row]))
        return super()._structure(sequences, learned)

    def _inputs(self, sequences: Any) -> Inputs:
        R = len(self.row_classes_)
        _, row = label_rows.nodes(R, sequences.X.offsets // R)
        allowed = np.full((R, len(self.classes_)), -np.inf)
        for r, labels in enumerate(self._slices()):
            allowed[r, labels] = 0.0
        return super()._inputs(sequences)._replace(kinds=Kinds(row, allowed))

    def _score_of(self, place: NodePlace, code: int | None) -> str:
        # the nodes of a sequence stand row by row
        row, token = divmod(place.node, place.n_nodes // len(self.row_classes_))
        of = "a transition"
        if code is not None:
            label = self.row_classes_[row].tolist()[code - self._slices()[row].start]
            of = f"the label {label!r}"
        return f"X[{place.example}], token {token}, row {row}: the score of {of}"

    def _transferred(self, start: Any) -> np.ndarray:
        known = getattr(start, "row_classes_", [])
        same = [a.tolist() for a in known] == [b.tolist() for b in self.row_classes_]
        if not same:
            raise InputTypeError("init must be a fitted FactorialCRF with the same labels")
        return super()._transferred(start)

    # ---- predictions: a tuple of labels for each token

    def _labels(self, codes: np.ndarray, sequences: Any) -> np.ndarray:
        R = len(self.row_classes_)
        offsets = sequences.X.offsets // R
        tokens, row = label_rows.nodes(R, offsets)
        of_tokens = np.empty((offsets[-1], R), codes.dtype)
        of_tokens[tokens, row] = codes
        of_tokens -= np.array([part.start for part in self._slices()], codes.dtype)
        if sequences.flat:
            columns = [classes[of_tokens[:, r]] for r, classes in enumerate(self.row_classes_)]
            return columns[0] if R == 1 else np.column_stack(columns)
        return label_rows.decode(of_tokens, self.row_classes_, offsets)

    def predict_proba(self, X: Any) -> Any:
        """Marginal probability of each label of each row, p(y_tr = k | x).

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        list of ndarray of shape (n_sequences,)
            For each row an array of dtype object, an array (n_tokens, n_labels) each, columns in
            the order of ``row_classes_``; for two-dimensional X arrays (n, n_labels). A single row
            gives its array alone.
        """
        graphs: Any = self._read_X(X, reset=False)
        R = len(self.row_classes_)
        offsets = graphs.X.offsets // R
        tokens, row = label_rows.nodes(R, offsets)
        node = self._label_marginals(graphs)
        answers = []
        for r, labels in enumerate(self._slices()):
            of_row = np.empty((offsets[-1], labels.stop - labels.start))
            of_row[tokens[row == r]] = node[row == r, labels]
            answers.append(of_row if graphs.flat else object_array(cut(of_row, offsets)))
        return answers[0] if len(answers) == 1 else answers

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of `predict_proba`, in the same form.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        list of ndarray
            -inf where a probability is 0, or below the smallest float.
        """
        proba = self.predict_proba(X)
        return (
            [logarithms(part) for part in proba] if isinstance(proba, list) else logarithms(proba)
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, init: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X
            As in `LinearChainCRF.fit`.
        y : list of sequences, or array-like of shape (n, n_rows)
            A tuple, list or array of labels for each token, all of one length; two-dimensional if X
            is. None for a tuple, or for a label, that is not known, a set for one of several.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weight of each sequence's loss.
        init : fitted FactorialCRF, default=None
            Start from its weights; it must have the same labels.

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


def _row(r: int) -> str:
    """The name of the cliques of neighbours in a row."""
    return f"row {r}"


def _pair(r: int, s: int) -> str:
    """The name of the cliques of two labels of a token."""
    return f"rows {r} and {s}"


def _distant(r: int, s: int, d: int) -> str:
    """The name of the cliques of a label of row r and one of row s that is d tokens behind it."""
    return f"row {r}, and row {s} {d} later"
