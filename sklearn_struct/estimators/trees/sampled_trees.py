"""Trees drawn from a grammar."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_struct._whole_fits import Published
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.trees import Forest, Trees, examples
from sklearn_struct.containers.typing import Seed
from sklearn_struct.encoding.features.stream_vocabularies import OOV
from sklearn_struct.encoding.parameter_checks import check_count, generator
from sklearn_struct.encoding.trees import binarization, brackets
from sklearn_struct.encoding.trees.lexicon import observations
from sklearn_struct.encoding.trees.tree_corpus import TreeCodes
from sklearn_struct.grammars.parsing import TreeModel, one_state
from sklearn_struct.grammars.tree_sampling import draw

__all__ = ["TreeDrawingMixin"]


class TreeDrawingMixin(Published):
    """`sample`, for grammars whose numbers are probabilities."""

    _codes: TreeCodes
    _model: TreeModel

    def sample(
        self, n_samples: int = 1, random_state: Seed = None, *, max_length: int = 100
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw sentences and their trees from p(x, y).

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState or None, default=None
        max_length : int, default=100
            The most words of a sentence; longer ones are drawn again.

        Returns
        -------
        X : ndarray of shape (n_samples,)
            dtype object, a list of words each. Words that are not known are their signatures, such
            as ``UNK-CAPS``, or ``"<OOV>"``.
        y : ndarray of shape (n_samples,)
            dtype object, an nltk tree each.

        Raises
        ------
        TypeError, ValueError
            If `n_samples` or `max_length` is less than 1, or hardly any tree is that short.
        """
        check_is_fitted(self)
        check_count(n_samples, "n_samples", 8)
        check_count(max_length, "max_length")
        rng = generator(random_state)
        model = self._model
        grammars = model.states or (one_state(model),)
        # p is the mean over the grammars, so each tree comes from one of them, drawn for it
        which = rng.randint(len(grammars), size=n_samples)
        names = observations(self._codes.lexicon, OOV)
        accepted = {}
        for g, tensors in enumerate(grammars):
            places = np.flatnonzero(which == g)
            drawn = draw(model.grammar, tensors, model.symbol, len(places), rng, max_length)
            for i, place in enumerate(places.tolist()):
                accepted[place] = self._drawn(examples(drawn, i, i + 1), names)
        X, y = zip(*(accepted[i] for i in range(n_samples)), strict=True)
        return object_array(X), object_array(y)

    def _drawn(self, drawn: Forest, names: list[str]) -> tuple[list[str], Any]:
        left, right = np.full((2, len(drawn.symbol)), -1, np.int32)
        inner = np.flatnonzero(np.diff(drawn.indptr))
        left[inner] = drawn.left
        right[inner] = drawn.right
        words = [names[leaf] for leaf in drawn.leaf[drawn.leaf >= 0].tolist()]
        trees = Trees(
            drawn.offsets,
            drawn.symbol,
            left,
            right,
            np.full(len(left), -1, np.int32),
            drawn.start,
            drawn.stop,
        )
        return words, brackets.to_nltk(binarization.restore(trees, self._codes.symbols, [words])[0])
