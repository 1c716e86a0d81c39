"""Features of cliques, in the forms in which users have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Family
from sklearn_struct.containers.typing import Matrix
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.encoding.graphs import EDGES
from sklearn_struct.encoding.sequences import as_dtype, check_numbers, form, pack_arrays
from sklearn_struct.estimators.fitting.warm_start import positions
from sklearn_struct.estimators.graphs.words_of_graphs import of_graphs
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

__all__ = ["CliqueFeatures"]


class CliqueFeatures:
    """Reads the features of the cliques of one name, always as `fit` has.

    Parameters
    ----------
    name : str
        What errors call the cliques.

    Attributes
    ----------
    width : int
        The number of features; 0 if there are none.
    vectorizer : SequenceVectorizer or None
        Where they are dicts or strings.
    """

    def __init__(self, name: str) -> None:
        self.what = "edges" if name == EDGES else f"cliques {name!r}"
        self.width = 0
        self.vectorizer: SequenceVectorizer | None = None

    def read(self, given: Any, family: Family, dtype: str, reset: bool) -> Matrix | None:
        """The features of all cliques, one graph after the other; None if there are none."""
        n = len(family.nodes)
        # of lists without a clique nobody knows how many features there are
        is_told = given is not None and (n or isinstance(given, SequenceArray))
        packed = self._packed(given, dtype, reset) if is_told else None
        if packed is not None:
            lengths = zip(packed.lengths, np.diff(family.offsets), strict=True)
            for i, (length, n_cliques) in enumerate(lengths):
                if length != n_cliques:
                    raise LengthMismatchError(
                        f"X[{i}]: features of {length} {self.what}, but there are {n_cliques}"
                    )
        width = 0 if packed is None else packed.tokens.shape[1]
        if reset:
            self.width = width
        elif n and width != self.width:
            raise LengthMismatchError(f"{self.what} have {width} features, but {self.width} in fit")
        if packed is None:
            return None if not self.width else np.zeros((0, self.width), dtype)
        return packed.tokens if width else None

    def columns_in(self, other: CliqueFeatures) -> np.ndarray:
        """The number of each feature among those of another fit, by name where both have names; -1
        for none.

        Raises
        ------
        LengthMismatchError
            If there are no names, and another number of features.
        """
        if self.vectorizer is not None and other.vectorizer is not None:
            known = other.vectorizer.get_feature_names_out().tolist()
            return positions(known, self.vectorizer.get_feature_names_out().tolist())
        if self.width and self.width != other.width:
            raise LengthMismatchError(
                f"init has {other.width} features of {self.what}, but X has {self.width}"
            )
        return np.arange(self.width)

    def _packed(self, given: Any, dtype: str, reset: bool) -> SequenceArray:
        try:
            if form(given) == "attributes":
                if reset:
                    kind = np.dtype(dtype).type
                    self.vectorizer = SequenceVectorizer(dtype=kind).fit(given)
                elif self.vectorizer is None:
                    raise InputTypeError("dicts or strings, but numbers in fit")
                packed: SequenceArray = self.vectorizer.transform(given)
                return packed
            if self.vectorizer is not None:
                raise InputTypeError("numbers, but dicts or strings in fit")
            packed = given if isinstance(given, SequenceArray) else pack_arrays(given, dtype)
            if packed.tokens.ndim != 2 or packed.tokens.dtype.kind not in "fiub":
                raise InputTypeError(
                    f"they must be rows of real numbers, got dtype {packed.tokens.dtype}"
                )
            packed = as_dtype(packed, dtype)
            check_numbers(packed)
        except (ValueError, TypeError) as error:
            # readers speak of tokens in sequences
            said = of_graphs(str(error), "edge" if self.what == "edges" else "clique")
            raise type(error)(f"features of {self.what}: {said}") from None
        return packed
