"""Words and what tags they may have: words seen often enough are known, all others are their
signatures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.encoding.trees.word_signatures import signature

__all__ = ["Emissions", "Lexicon", "entries", "learn", "observations", "observe"]

RARE = 5  # words seen less often show what tags words of their signature have
RESERVE = 0.01  # how often, relative to rare words, words of no known signature are as any


class Lexicon(NamedTuple):
    """What a word is taken for, and the tags it may then have.

    ``words`` and ``signatures`` give codes of observations; another one, the last, is any other
    word. Observation o has the tags ``symbol[indptr[o] : indptr[o + 1]]``, ascending, codes of
    symbols; each such pair of an observation and a tag is an entry.
    """

    words: dict[str, int]
    signatures: dict[str, int]
    indptr: np.ndarray
    symbol: np.ndarray


class Emissions(NamedTuple):
    """How tokens of the training data count for the entries of a lexicon: ``of_tokens + spread @
    of_rare``.

    Matrices with a row an entry; ``of_tokens`` and ``of_rare`` have a column a token, the rows of
    ``of_rare`` are the columns of ``spread``. Apart, since their product has many more entries.
    """

    of_tokens: sp.csr_array
    of_rare: sp.csr_array
    spread: sp.csr_array

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """Sums over tokens, of a row of numbers a token: (n_entries, width)."""
        return self.of_tokens @ rows + self.spread @ (self.of_rare @ rows)


def observe(lexicon: Lexicon, sentence: Sequence[str]) -> list[int]:
    """Codes of what the words of a sentence are taken for."""
    words = lexicon.words
    signatures = lexicon.signatures
    found = [words.get(word, -1) for word in sentence]
    for i, code in enumerate(found):
        if code < 0:
            found[i] = signatures.get(signature(sentence[i], i, words), len(lexicon.indptr) - 2)
    return found


def observations(lexicon: Lexicon, other: str) -> list[str]:
    """What words may be taken for, of each entry; `other` is what any other word is called."""
    shown = [*lexicon.words, *lexicon.signatures, other]  # in the order of their codes
    return [shown[o] for o in np.repeat(np.arange(len(shown)), np.diff(lexicon.indptr)).tolist()]


def learn(
    X: Sequence[Sequence[str]], tags: np.ndarray, n_tags: int, min_frequency: int, unknown: float
) -> tuple[Lexicon, Emissions, np.ndarray]:
    """A lexicon from sentences and the tag of each token; and the entry of each token.

    A word seen at least `min_frequency` times is known, and counts for its tags as often as it was
    seen with them; besides, `unknown` times for the tags that rare words of its signature have. Of
    all other words, signatures count, as often as rare words have them. What has neither form
    counts `unknown` times, as rare words do, and a little as any word. The counts of entries,
    divided by the sums of their tags, are probabilities of what tags emit.
    """
    tokens = list(chain.from_iterable(X))
    n_seen = Counter(tokens)
    words = {
        word: code
        for code, word in enumerate(
            sorted(word for word, n in n_seen.items() if n >= min_frequency)
        )
    }
    rare = np.flatnonzero([n_seen[word] < max(RARE, min_frequency) for word in tokens])
    position = np.concatenate(
        [np.empty(0, np.int64), *(np.arange(len(sentence)) for sentence in X)]
    )
    names = [signature(tokens[t], position[t], words) for t in rare.tolist()]
    signatures = {name: len(words) + code for code, name in enumerate(sorted(set(names)))}
    other = len(words) + len(signatures)

    observed = np.array([words.get(word, -1) for word in tokens], dtype=np.int64)
    shown = np.array([signatures[name] for name in names], dtype=np.int64)
    known = np.flatnonzero(observed >= 0)
    observed[rare] = np.where(observed[rare] >= 0, observed[rare], shown)
    pairs, pair, n_pairs = np.unique(
        shown * n_tags + tags[rare], return_inverse=True, return_counts=True
    )
    to, of, share = _spread(words, signatures, pairs, n_pairs, n_tags)
    everywhere = other * n_tags + tags
    entries, entry = np.unique(
        np.concatenate([observed * n_tags + tags, to, everywhere]), return_inverse=True
    )
    own, to, everywhere = np.split(entry, np.cumsum([len(tokens), len(to)]))

    n = len(tokens)
    weight = np.where(np.arange(len(of)) < len(pairs), 1.0, unknown) * share
    counts = np.concatenate([np.ones(len(known)), np.full(n, RESERVE * unknown / max(n, 1))])
    of_tokens = np.concatenate([own[known], everywhere]), np.concatenate([known, np.arange(n)])
    emissions = Emissions(
        sp.csr_array((counts, of_tokens), shape=(len(entries), n)),
        sp.csr_array((np.ones(len(rare)), (pair, rare)), shape=(len(pairs), n)),
        sp.csr_array((weight, (to, of)), shape=(len(entries), len(pairs))),
    )
    indptr = np.searchsorted(entries, np.arange(other + 2) * n_tags)
    return (
        Lexicon(words, signatures, indptr, (entries % n_tags).astype(np.int32)),
        emissions,
        own.astype(np.int32),
    )


def _spread(
    words: dict[str, int],
    signatures: dict[str, int],
    pairs: np.ndarray,
    n_pairs: np.ndarray,
    n_tags: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which entries get what share of rare words, which count by (signature, tag): entries, pairs,
    and shares.

    First these pairs themselves; then known words and, last, all others.
    """
    own = [signatures.get(signature(word, 1, words), -1) for word in words]
    codes = np.array([*own, -1], dtype=np.int64)[:-1]
    first = np.searchsorted(pairs, codes * n_tags)
    stop = np.searchsorted(pairs, (codes + 1) * n_tags)
    n_of_word = np.where(codes >= 0, stop - first, 0)
    word = np.repeat(np.arange(len(codes)), n_of_word)
    of = np.arange(len(word)) - np.repeat(np.cumsum(n_of_word) - n_of_word, n_of_word) + first[word]
    n_shown = np.bincount(pairs // n_tags, weights=n_pairs, minlength=len(words) + len(signatures))
    every = np.arange(len(pairs))
    other = len(words) + len(signatures)
    return (
        np.concatenate(
            [pairs, word * n_tags + pairs[of] % n_tags, other * n_tags + pairs % n_tags]
        ),
        np.concatenate([every, of, every]),
        np.concatenate(
            [
                np.ones(len(pairs)),
                1 / n_shown[pairs[of] // n_tags],
                np.full(len(pairs), 1 / max(n_pairs.sum(), 1)),
            ]
        ),
    )


def entries(
    lexicon: Lexicon, code: int, allowed: np.ndarray | None = None, relaxed: bool = False
) -> np.ndarray:
    """The entries of an observation; `allowed` is a mask of tags.

    Those of other words take their place if no tag is allowed, and are added, for tags that are
    missing, if `relaxed`.
    """
    found, other = (np.arange(*lexicon.indptr[o : o + 2]) for o in (code, len(lexicon.indptr) - 2))
    if allowed is not None:
        found, other = (rows[allowed[lexicon.symbol[rows]]] for rows in (found, other))
    if relaxed or not len(found):
        missing = np.isin(lexicon.symbol[other], lexicon.symbol[found], invert=True)
        found = np.concatenate([found, other[missing]])
    return found
